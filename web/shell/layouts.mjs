// Which layout is fastest? A worker has the module search; what it knows shows while it goes on. Loaded when first asked for.
import { draw, makeAside, phrases, scrolling, wrong } from "./aside.mjs";
import { adviceParts } from "./advice.mjs";
import { drawTrade } from "./layouts_chart.mjs";
import { choice, headline, loses, named, percent, popular, reason, why } from "./layouts_words.mjs";
import { element, set } from "./dom.mjs";
import { quantity } from "./explain.mjs";
import { text } from "./words.mjs";

const ASK = "Which layout is fastest?";
const VARY = {
  data_sharding: "sharding",
  tensor: "tensor",
  pipeline: "pipeline",
  context: "context",
  expert: "experts",
  pipeline_schedule: "schedule",
  micro_batch_size: "micro-batch",
  recompute: "recompute",
  sequence_parallel: "sequence parallel",
  loss: "loss",
  offload: "offload",
  order: "order",
};
const OBJECTIVES = { throughput: "fastest", memory: "least memory", gpus: "fewest GPUs", cost: "fewest GPU-hours" };

let aside = null;
let page = null;
let worker = null;
let shown = "";  // the plan, the wishes and the language that stand there
let turn = 0;
const wishes = { objective: "throughput", vary: null };  // vary: null as the module has it

const count = (n) => n.toLocaleString("en");

function run(plan, options, tell, advise) {
  worker ??= new Worker(new URL("./layouts_worker.mjs", import.meta.url), { type: "module" });
  const id = turn;
  return new Promise((done) => {
    worker.onerror = (event) => done({ answer: { errors: [{ path: "", text: event.message || "the search could not start" }] } });
    worker.onmessage = ({ data }) => {
      if (data.id !== turn) return;
      if (data.known) tell(data.known);
      else if (data.advice) advise(data);
      else done(data);
    };
    worker.postMessage({ id, plan, options });
  });
}

function controls(say, answer, state) {
  const again = () => ask(state);
  const select = element("select", { "aria-label": say("objective", "What is best") }, ...Object.entries(OBJECTIVES).map(([value, english]) => element("option", { value, selected: wishes.objective === value }, say(`objective.${value}`, english))));
  select.addEventListener("change", () => {
    wishes.objective = select.value;
    again();
  });
  const now = wishes.vary ?? answer?.vary ?? Object.keys(VARY);
  const chip = ([name, english]) =>
    element(
      "button",
      {
        type: "button",
        "aria-pressed": String(now.includes(name)),
        "data-vary": name,
        onclick: () => {
          const next = now.includes(name) ? now.filter((one) => one !== name) : [...now, name];
          if (!next.length) return;
          wishes.vary = next;
          again();
        },
      },
      say(`vary.${name}`, english),
    );
  return element("div", { class: "wishes" }, element("label", {}, `${say("objective.label", "Best is")} `, select), element("div", { class: "varied", role: "group", "aria-label": say("vary", "What may change") }, element("span", {}, say("vary", "What may change")), ...Object.entries(VARY).map(chip)));
}

function useButton(say, { edits }, label) {
  const use = say("use", "Use");
  return element(
    "button",
    {
      type: "button",
      "aria-label": `${use} ${label}`,
      onclick: () => {
        // One edit for the page: some of these are valid only together.
        const said = page.adopt("edits", JSON.stringify(edits.map(({ path, value }) => [path, value])));
        if (said?.errors?.length) aside.body.prepend(wrong(said.errors[0].text));
        else aside.box.close();
      },
    },
    use,
  );
}

function bestTable(say, answer, unit) {
  const gpus = answer.objective === "gpus" || answer.objective === "cost";
  const head = (words, numeric = true) => element("th", { scope: "col", class: numeric ? "num" : null }, words);
  const row = (plan, i) =>
    element(
      "tr",
      { class: i === 0 ? "chosen" : null },
      element("td", { class: "num" }, String(i + 1)),
      element("th", { scope: "row" }, named(say, plan.label)),
      gpus ? element("td", { class: "num" }, count(plan.gpus)) : null,
      element("td", { class: "num", "data-value": plan.time_s }, quantity(plan.time_s, "s")),
      element("td", { class: "num" }, percent(plan.exposed_communication_s / plan.time_s)),
      element("td", { class: "num", "data-need": plan.need_bytes }, quantity(plan.need_bytes, "bytes", unit)),
      element("td", { class: "num" }, quantity(answer.capacity_bytes - plan.need_bytes, "bytes", unit)),
      element("td", { class: "num" }, percent(plan.mfu)),
      element("td", { class: "remark" }, plan.edits.length ? useButton(say, plan, named(say, plan.label)) : say("this", "this plan")),
    );
  return element(
    "table",
    { id: "layouts-best" },
    element("caption", { class: "vh" }, say("best", "Best that fit")),
    element("thead", {}, element("tr", {}, head("#"), head(say("layout", "layout"), false), gpus ? head("GPU") : null, head(say("step", "step")), head(say("waiting", "waiting")), head(say("memory", "memory")), head(say("free", "free")), head("MFU"), element("td", {}))),
    element("tbody", {}, ...answer.plans.slice(0, answer.top).map(row)),
  );
}

function losersPart(say, answer, unit) {
  const total = answer.losers.reduce((sum, { count: n }) => sum + n, 0);
  // Widths as classes of a style sheet would be: the page allows no inline styles.
  const bar = draw("svg", { viewBox: "0 0 1000 14", preserveAspectRatio: "none", class: "losers", "aria-hidden": "true" });
  let at = 0;
  for (const { reason: name, count: n } of answer.losers) {
    const width = (1000 * n) / total;
    bar.append(draw("rect", { x: at, y: 0, width: Math.max(0, width - 2), height: 14, class: name }));
    at += width;
  }
  const item = (one) =>
    element("li", { "data-reason": one.reason }, element("b", {}, reason(say, one.reason)), ` · ${say("layouts", "{n} layouts", { n: count(one.count) })} · `, loses(say, one, answer, unit));
  return [element("h3", {}, say("losers", "Why the others lose")), bar, element("ul", { id: "layouts-losers" }, ...answer.losers.map(item))];
}

function fill(say, answer, state, spent) {
  const unit = state.unit ?? "GB";
  const said = headline(say, answer, unit);
  const chart = element("figure", {});
  const counts = answer.counts;
  const parts = [
    ...(state.stale ? [element("p", { class: "notice" }, say("stale", "The last edit cannot be; this is the plan before it."))] : []),
    element("p", { id: "layouts-answer", class: "lead" }, said),
    controls(say, answer, state),
    element("p", { class: "small" }, say("tried", "{n} layouts, {e} evaluated, {f} fit; {p} left out by bounds that cannot discard an answer · {t}", { n: count(counts.candidates), e: count(counts.evaluated), f: count(counts.fit), p: count(counts.pruned), t: quantity(spent / 1000, "s") })),
  ];
  if (answer.top) {
    parts.push(
      element("h3", {}, say("trade", "Memory against time")),
      chart,
      element("h3", {}, say("best", "Best that fit")),
      scrolling(say("best", "Best that fit"), bestTable(say, answer, unit)),
      element("ol", { id: "layouts-why" }, ...answer.plans.slice(0, Math.min(3, answer.top)).map((plan, i) => element("li", {}, why(say, plan, i, answer)))),
    );
  }
  if (answer.losers.length) parts.push(...losersPart(say, answer, unit));
  if (answer.popular.length)
    parts.push(element("h3", {}, say("popular", "What people commonly take")), element("ul", { id: "layouts-popular" }, ...answer.popular.map((one) => element("li", {}, element("b", {}, choice(say, one.name)), " · ", popular(say, one, answer, unit)))));
  parts.push(element("div", { id: "layouts-first" }));  // what to change first comes a moment later
  aside.body.replaceChildren(...parts);
  if (answer.top && answer.points?.length) drawTrade(chart, answer, say, said, unit);
}

async function ask(state) {
  const document_ = page.text("json");
  const key = state.language + state.stale + state.unit + JSON.stringify(wishes) + document_;
  if (key === shown) return;
  shown = key;
  if (worker && turn) worker.postMessage({ id: turn, stop: true });
  const mine = ++turn;
  aside.body.setAttribute("aria-busy", "true");
  try {
    const say = await phrases("layouts", state.language);
    if (mine !== turn) return;
    aside.name(text("layouts.ask", ASK));
    const status = element("p", { class: "small", role: "status" }, say("searching", "Searching…"));
    const stop = element("button", { type: "button", onclick: () => worker.postMessage({ id: mine, stop: true }) }, say("stop", "Stop"));
    aside.body.replaceChildren(controls(say, null, state), status, stop);
    const options = { objective: wishes.objective, points: true, unit: state.unit, ...(wishes.vary ? { vary: wishes.vary } : {}) };
    // The link leaves open what the plan leaves open; only what no link holds is stated whole.
    const done = await run(state.link || JSON.parse(document_).plan, options, ({ progress, counts, best }) => {
      const so_far = best ? say("so_far", "; best so far {l}, {t} per step", { l: named(say, best.label), t: quantity(best.time_s, "s") }) : "";
      set(status, `${percent(progress)}, ${say("layouts", "{n} layouts", { n: count(counts.candidates) })}${so_far}`);
    }, ({ advice, plan }) => document.querySelector("#layouts-first")?.replaceChildren(...adviceParts(advice, plan, state, (change, label) => useButton(say, change, label))));
    if (mine !== turn) return;
    if (done.answer.errors) aside.body.replaceChildren(controls(say, null, state), ...done.answer.errors.map((error) => wrong(error.text)));
    else fill(say, done.answer, state, done.spent_ms);
  } catch (error) {
    if (mine === turn) aside.body.replaceChildren(wrong(String(error?.message ?? error)));
    shown = "";
  }
  if (mine === turn) aside.body.removeAttribute("aria-busy");
}

export async function open(app, state) {
  page = app;
  if (!aside) {
    aside = makeAside("layouts");
    aside.box.classList.add("large");
    // Nobody waits for it any more.
    aside.box.addEventListener("close", () => {
      if (aside.body.hasAttribute("aria-busy")) {
        worker?.postMessage({ id: turn, stop: true });
        shown = "";
      }
    });
  }
  aside.name(text("layouts.ask", ASK));
  await aside.show();
  await ask(state);
}

// The plan may change under it: by the browser's way back, or by undoing.
export function follow(state) {
  if (aside?.box.open) ask(state);
}
