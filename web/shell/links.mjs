// What faster or slower links would bring to the plan, as the module works it out; loaded with it when first asked for.
import { makeAside, phrases, scrolling, wrong } from "./aside.mjs";
import { drawTimes, LOOKS } from "./links_chart.mjs";
import { element } from "./dom.mjs";
import { quantity } from "./explain.mjs";
import { text } from "./words.mjs";

const MOST_NICS = 16;  // more are no proposal: core/answer/crossover.cpp
let core = null;
let aside = null;
let page = null;
let shown = "";  // the plan and the language that stand there
let turn = 0;

const decimals = (value, digits) => value.toFixed(digits);
export const times = (factor) => decimals(factor, factor < 0.1 ? 3 : factor < 10 ? 2 : 0);
const percent = (share) => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`);
export function rate(bytes) {
  const [scale, name] = bytes >= 1e13 ? [1e12, "TB/s"] : bytes >= 1e8 ? [1e9, "GB/s"] : bytes >= 1e5 ? [1e6, "MB/s"] : [1e3, "kB/s"];
  return `${decimals(bytes / scale, bytes / scale >= 99.95 ? 0 : 1)} ${name}`;
}

// The module's names of links and of their kinds hold words between the proper names.
const named = (say, name) =>
  name
    .replace("copies through host memory, ", () => say("host", "copies through host memory, "))
    .replace("an NVLink bridge of ", () => say("bridge", "an NVLink bridge of "))
    .replace(/(\d+) links$/, (_, n) => say("of_links", "{n} links", { n }))
    .replace(" per NIC", () => say("per_nic", " per NIC"));

function speed(say, link, need) {
  const isNetwork = link.place === "network";
  let extra = "";
  if (need.class) extra += say("reached", ", reached by {c}", { c: named(say, need.class) });
  else if (link.has_classes) extra += say("beyond", ", faster than any kind of link there is a name for");
  if (need.nics > link.nics && need.nics <= MOST_NICS) extra += say("nics", ", or reached by {n} of today's NICs", { n: need.nics });
  return say("speed", "{r}{p} ({f} × today's{e})", { r: rate(need.bytes_per_s), p: isNetwork ? say("per_nic", " per NIC") : "", f: times(need.factor), e: extra });
}

// The module says these three in English; elsewhere they are made of what it says them from.
export function exposedText(say, { link, limit, now, at_fastest, answer, from }) {
  const values = { now: percent(now), limit: percent(limit), at: percent(at_fastest) === percent(limit) ? say("a_little_more", "a little more") : percent(at_fastest), links: link.place === "network" ? say("the_nics", "the NICs") : say("the_links", "links inside a node") };
  const start = say("exposed", "Communication that shows is {now} of the step now. By {links} alone it is at most {limit}", values);
  if (answer === "always") return start + say("exposed.always", ", even if they were 64 times slower.", values);
  if (answer === "never") return start + say("exposed.never", " at no speed within 64 × today's: at that it still is {at}.", values);
  return start + say("exposed.from", " from {s} on.", { s: speed(say, link, from) });
}

export function fastestText(say, { link, shardings, fastest }, parallel) {
  const label = (name) => shardings.find((s) => s.sharding === name).label;
  const fitting = shardings.filter((s) => s.fits);
  if ((parallel.data ?? 1) * (parallel.context ?? 1) < 2) return say("fastest.one_rank", "There is one data-parallel rank: nothing to shard, and no sharding sends anything.");
  if (!fitting.length) return say("fastest.none", "No sharding fits, so none can be used; their times are shown all the same.");
  if (fitting.length === 1) return say("fastest.one", "Only {n} fits, whatever the links; the others are timed as if they did.", { n: fitting[0].label });
  const [first, ...rest] = fastest;
  if (!rest.length) return say("fastest.all", "Of those that fit {n} is the fastest at every speed from 1/64 to 64 × today's.", { n: label(first.sharding) });
  const then = rest.map(({ sharding, from }) => say("fastest.from", ", {n} from {s} on", { n: label(sharding), s: speed(say, link, from) }));
  return `${say("fastest.slow", "Of those that fit {n} is the fastest on slow links", { n: label(first.sharding) })}${then.join("")}.`;
}

export function basisText(say, { link, bound_from }) {
  const values = { r: rate(link.bytes_per_s), n: named(say, link.name), d: rate(link.nominal_bytes_per_s ?? 0) };
  let said;
  if (link.place === "network") said = say("basis.network", "Scaled: the NICs of every node alike, {r} each way per NIC now ({n})", values);
  else {
    said = say("basis.node", "Scaled: all links inside a node alike; speeds are those of {n}, {r} each way now", values);
    said += link.stated ? say("basis.stated", " as stated") : say("basis.planned", " by NCCL's planning rate");
    if (link.nominal_bytes_per_s && link.nominal_bytes_per_s !== link.bytes_per_s) said += say("basis.nominal", ", {d} by its data sheet", values);
  }
  if (bound_from) {
    const by = link.place === "network" ? say("bound.network", "copies to the NICs or the fabric's own limit bind") : say("bound.node", "the number of channels that NCCL plans binds");
    said += say("basis.bound", ". From {f} × today's speed on {by} instead", { f: times(bound_from), by });
  }
  return said + say("basis.held", ". Held as they are: NCCL's choices, latencies, and what measurements say of calls of these sizes on today's links.");
}

function shardingTable(say, { shardings, factors }) {
  const columns = [0, 6, 12, 18, 24];
  const head = (i) => (factors[i] === 1 ? say("now", "now") : `${factors[i] < 1 ? `1/${1 / factors[i]}` : factors[i]} ×`);
  const side = (i) => (i % 12 ? "num wide-only" : "num");
  const row = ({ sharding, label, fits, chosen, times_s }, look) =>
    element(
      "tr",
      { "data-sharding": sharding, class: chosen ? "chosen" : null },
      element("th", { scope: "row" }, LOOKS[look].swatch(), label),
      ...columns.map((i) => element("td", { class: side(i), "data-value": times_s[i] }, quantity(times_s[i], "s"))),
      element("td", { class: "remark" }, chosen ? say("this", "this plan") : "", chosen && !fits ? ", " : "", fits ? "" : element("span", { class: "bad" }, say("unfit", "does not fit"))),
    );
  return element(
    "table",
    {},
    element("caption", { class: "vh" }, say("table", "Seconds per step at multiples of today's link speed")),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, say("sharding", "sharding")), ...columns.map((i) => element("th", { scope: "col", class: side(i) }, head(i))), element("td", {}))),
    element("tbody", {}, ...shardings.map(row)),
  );
}

function fill(say, answer, isStale, language) {
  const { crossover, plan } = answer;
  // The module's own words where they are the reader's.
  const exposed = language === "en" ? crossover.exposed.text : exposedText(say, crossover.exposed);
  const fastest = language === "en" ? crossover.text : fastestText(say, crossover, plan.parallel);
  const basis = language === "en" ? crossover.basis : basisText(say, crossover);
  const chart = element("figure", {});
  aside.body.replaceChildren(
    ...(isStale ? [element("p", { class: "notice" }, say("stale", "The last edit cannot be; this is the plan before it."))] : []),
    element("p", { id: "links-exposed" }, exposed),
    element("p", { id: "links-fastest" }, fastest),
    element("h3", {}, say("chart", "Seconds per step against the speed of the links")),
    chart,
    scrolling(say("table", "Seconds per step at multiples of today's link speed"), shardingTable(say, crossover)),
    element("p", { id: "links-basis", class: "basis" }, basis),
  );
  drawTimes(chart, crossover, say, `${exposed} ${fastest}`, rate(crossover.link.bytes_per_s));
}

// A turn of the screen, so that the page shows that it was asked before a large plan keeps it busy.
const drawn = () => new Promise((done) => setTimeout(done, 30));

async function answer(state) {
  const document_ = page.text("json");
  const key = state.language + state.stale + document_;
  if (key === shown) return;
  shown = key;
  const mine = ++turn;
  aside.body.replaceChildren();
  aside.body.setAttribute("aria-busy", "true");
  try {
    const say = await phrases("links", state.language);
    if (mine !== turn) return;
    aside.name(text("links.ask", "What would faster links bring?"));
    core ??= await import("./wireplan.mjs").then((found) => found.ready.then(() => found));
    await drawn();
    if (mine !== turn) return;
    const said = core.estimate(JSON.parse(document_).plan, { crossover: true });
    if (!said.errors) fill(say, said, state.stale, state.language);
    else {
      const isUnused = said.errors.every(({ path }) => path === "crossover");
      aside.body.replaceChildren(...said.errors.map((error) => wrong(isUnused ? say("unused", "Nothing that the plan sends crosses links between GPUs.") : error.text)));
    }
  } catch (error) {
    if (mine === turn) aside.body.replaceChildren(wrong(String(error?.message ?? error)));
    shown = "";
  }
  if (mine === turn) aside.body.removeAttribute("aria-busy");
}

export async function open(app, state) {
  page = app;
  aside ??= makeAside("links", "polite");
  aside.name(text("links.ask", "What would faster links bring?"));
  await aside.show();
  await answer(state);
}

// The plan may change under it: by the browser's way back, or by undoing.
export function follow(state) {
  if (aside?.box.open) answer(state);
}
