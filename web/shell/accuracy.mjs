// How accurate the answers are: the errors beside what was measured, all of them. The figures are docs/accuracy.json, which
// tools/accuracy.py makes; fetched when first asked for.
import { makeAside, phrases, scrolling, wrong } from "./aside.mjs";
import { element } from "./dom.mjs";
import { text } from "./words.mjs";

let aside = null;
let figures = null;
let shown = "";  // the language that stands there
let turn = 0;

// In percent: what should be exact to the last byte, and what is an estimate.
const percent = (share) => (share < 0.01 ? (100 * share).toFixed(2) : share < 0.1 ? (100 * share).toFixed(1) : (100 * share).toFixed(0));
const nearly = (say, share) => (share === 0 ? say("exact", "exact") : `${(100 * share).toFixed(share < 9.5e-5 ? 3 : 2)} %`);
const signed = (share) => `${share > 0 ? "+" : share < 0 ? "−" : ""}${percent(Math.abs(share))}`;
const counted = (n) => n.toLocaleString("en");

const cell = (words, value, more) => element("td", { "data-value": value ?? null, class: "num" }, words, ...(more ? [more] : []));
const worstOf = ({ worst, worst_id: id }, words) => cell(worst ? `${words(worst)} ` : words(worst), worst, worst && element("code", {}, id));
const head = (words, isNumber) => element(words ? "th" : "td", { scope: words ? "col" : null, class: isNumber ? "num" : null }, words);
const table = (caption, heads, rows) =>
  scrolling(caption, element("table", {}, element("caption", { class: "vh" }, caption), element("thead", {}, element("tr", {}, ...heads.map((h, i) => head(h, i > 0)))), element("tbody", {}, ...rows)));
const row = (id, label, ...cells) => element("tr", { "data-row": id }, element("th", { scope: "row" }, ...[label].flat()), ...cells);

// Names of sources stay as they are, with the way to them.
function source({ name, urls = [] }) {
  if (!urls.length) return [name];
  const link = (url, words) => element("a", { href: url, target: "_blank", rel: "noopener" }, words);
  return [link(urls[0], name), ...urls.slice(1).flatMap((url, i) => [" ", link(url, `[${i + 2}]`)])];
}

const LABELS = {
  traced: "Memory, traced in real training code",
  gpus: "Memory on GPUs, as published",
  nccl: "What NCCL decides",
  collectives: "Time of collectives",
  step: "Seconds per step",
  peak: "peak of a step",
  "peak.pt": "peak of a step: {n}",
  "peak.hf": "peak of a step: {n}",
  "peak.ds": "peak of a step: {n}",
  first_step_allocated_bytes: "peak of the first step",
  between_steps_bytes: "between steps",
  after_forward_bytes: "kept after forward",
  after_backward_bytes: "after backward, DeepSpeed",
  initialize_peak_bytes: "highest at the start, DeepSpeed",
  event: "where the peak is",
  "collectives.bytes": "collectives: kinds, calls, bytes",
  allocated_bytes: "allocated",
  reserved_bytes: "reserved",
  "nccl.nodes": "nodes as NCCL counts them",
  "nccl.paths": "kinds of paths, rates, transports",
  "nccl.graphs": "graphs: channels, rates",
  "nccl.rings": "rings",
  "nccl.trees": "trees",
  "nccl.choice": "algorithm and protocol by size",
  "nccl.time": "NCCL's own time for it",
  all: "all",
  one_node: "one node",
  several_nodes: "several nodes",
  pcie: "PCIe boxes and bridges, one node",
  no_campaign: "without the one large campaign",
  large: "{g}, from 1 MiB on",
  small: "{g}, below 1 MiB",
};

const three = (s, words = percent) => cell(`${words(s.median)} / ${words(s.p90)} / ${words(s.worst)}`, s.median);

function renders(say) {
  const label = (id, values) => say(id, LABELS[id] ?? id, values);
  const [rows, median, p90, worst] = [say("rows", "rows"), say("median", "median"), "90 %", say("worst", "worst, and its row")];
  const right = ({ right, rows: all }) => cell(say("right", "{r} of {n} right", { r: counted(right), n: counted(all) }), right);
  const estimate = (share) => `${percent(share)} %`;
  const shipped = say("as_shipped", "as shipped");
  const worstLeft = say("worst_left", "worst, source left out");
  const triple = say("triple", "median / 90 % / worst, %");

  const spread = (id, name, r, words) =>
    row(id, name, cell(counted(r.rows), r.rows), cell(words(r.as_shipped.median), r.as_shipped.median), cell(words(r.as_shipped.p90), r.as_shipped.p90), worstOf(r.as_shipped, words));

  return {
    overview(kinds) {
      const words = { traced: (share) => nearly(say, share) };
      return table(
        say("overview", "In short"),
        ["", rows, median, p90, say("worst_short", "worst"), say("left", "source left out: median")],
        kinds.map((kind) => {
          const { total } = kind;
          const name = total.id === "all" ? label(kind.id) : `${label(kind.id)}: ${label(total.id)}`;
          if ("right" in total) return row(kind.id, name, cell(counted(total.rows), total.rows), element("td", { class: "num", colspan: 4, "data-value": total.right }, say("right", "{r} of {n} right", { r: counted(total.right), n: counted(total.rows) })));
          const as = words[kind.id] ?? estimate;
          const { as_shipped: s, left_out: left } = total;
          return row(kind.id, name, cell(counted(total.rows), total.rows), cell(as(s.median), s.median), cell(as(s.p90), s.p90), cell(as(s.worst), s.worst), left ? cell(as(left.source.median), left.source.median) : cell("–"));
        }),
      );
    },
    traced({ id, rows: found }) {
      const words = (share) => nearly(say, share);
      return [table(label(id), ["", rows, median, p90, worst], found.map((r) => ("right" in r ? row(r.id, label(r.id), cell(counted(r.rows), r.rows), element("td", { colspan: 3, class: "num" }, right(r).textContent)) : spread(r.id, label(r.id, { n: r.name }), r, words))))];
    },
    gpus({ id, rows: found, verdicts: v }) {
      return [
        table(label(id), [say("source", "source"), say("figure", "figure"), rows, median, p90, worst], found.map((r) => {
          const made = spread(`${r.id}.${r.figure}`, source(r), r, estimate);
          made.children[0].after(element("td", { class: "remark" }, label(r.figure)));
          return made;
        })),
        element("p", { "data-verdicts": v.fits }, say("verdicts", "Of {ran} published plans that ran {fits} are called fits or tight, {may} may not fit, {no} does not fit.", { ran: v.ran, fits: v.fits, may: v.may_not_fit, no: v.does_not_fit })),
      ];
    },
    nccl({ id, rows: found }) {
      return [table(label(id), ["", say("right_head", "right"), say("wrong_in", "wrong in")], found.map((r) => ("right" in r
        ? row(r.id, label(r.id), right(r), cell("", null, element("code", {}, r.wrong_ids.join(", "))))
        : row(r.id, label(r.id), three(r.as_shipped, estimate), cell("", null, element("code", {}, r.as_shipped.worst_id))))))];
    },
    collectives({ id, rows: found, sources }) {
      const group = (key) => {
        const [of, size] = key.split(".");
        return label(size, { g: label(of) });
      };
      const by = ["source", "machine", "wiring"];
      return [
        element("p", { class: "small" }, triple),
        table(label(id), ["", say("points", "points"), shipped, say("without.source", "source left out"), say("without.machine", "machine left out"), say("without.wiring", "kind of wiring left out"), worstLeft], found.map((r) =>
          row(r.id, group(r.id), cell(counted(r.rows), r.rows), three(r.as_shipped), ...by.map((b) => three(r.left_out[b])), worstOf(r.left_out.source, estimate)))),
        element("details", {},
          element("summary", {}, say("each", "Each of the {n} sources", { n: sources.length })),
          table(say("sources", "Sources of collectives"), [say("source", "source"), say("points", "points"), shipped, say("without.source", "source left out"), worstLeft], sources.map((r) =>
            row(r.id, source(r), cell(counted(r.rows), r.rows), three(r.as_shipped), three(r.left_out.source), worstOf(r.left_out.source, estimate))))),
      ];
    },
    step(kind) {
      const { id, rows: found, total, aims, ranking, median_of_sources: of } = kind;
      const line = (r, name) => {
        const left = r.left_out.source;
        return row(r.id, name, cell(counted(r.rows), r.rows), three(r.as_shipped), cell(signed(r.as_shipped.leans), r.as_shipped.leans), three(left), cell(signed(left.leans), left.leans), cell("", null, element("code", {}, left.worst_id)));
      };
      const all = line(total, label("all"));
      all.className = "chosen";
      const aim = (key, name, aimed, left, isMet, words) =>
        row(`aim.${key}`, name, cell(words(aimed), aimed), cell(words(left), left), element("td", { class: `num ${isMet ? "good" : "bad"}` }, isMet ? `✓ ${say("met", "met")}` : `✕ ${say("unmet", "not met")}`));
      const [one, best] = [total.left_out.source, ranking.left_out];
      return [
        element("p", { class: "small" }, say("leans_how", "{t}; leans: the median with its sign, minus is too fast", { t: triple })),
        table(label(id), [say("source", "source"), rows, shipped, say("leans", "leans"), say("without.source", "source left out"), say("leans", "leans"), say("worst_row", "worst row")],
          [...found.map((r) => line(r, source(r))), all, row("median_of_sources", say("of_sources", "median over the sources"), cell(""), cell(percent(of.as_shipped), of.as_shipped), cell(""), cell(percent(of.left_out), of.left_out), cell(""), cell(""))]),
        table(say("aims", "Aims, source left out"), [say("aims", "Aims, source left out"), say("aim", "aim"), say("reached", "reached"), ""], [
          aim("median", say("aim.median", "median of all rows, at most"), aims.median, one.median, one.median <= aims.median, estimate),
          aim("p90", say("aim.p90", "90 % of all rows, at most"), aims.p90, one.p90, one.p90 <= aims.p90, estimate),
          aim("regret", say("aim.regret", "layouts: mean loss by choosing the predicted best of {n} groups, at most", { n: best.groups }), aims.mean_regret, best.mean_regret, best.mean_regret <= aims.mean_regret, estimate),
          aim("spearman", say("aim.spearman", "layouts: median rank correlation of {n} groups, at least", { n: best.spearman_groups }), aims.median_spearman, best.median_spearman, best.median_spearman >= aims.median_spearman, (v) => v.toFixed(2)),
        ]),
      ];
    },
    causes({ id, causes }) {
      return element("ul", {}, ...causes.map((c) => element("li", { "data-cause": c.id }, c.of ? element("code", {}, `${c.of.join(", ")} `) : null, say(`cause.${id}.${c.id}`, c.text))));
    },
    label,
  };
}

async function fill(language) {
  if (language === shown) return;
  const mine = ++turn;
  aside.body.setAttribute("aria-busy", "true");
  try {
    const say = await phrases("accuracy", language);
    figures ??= await (await fetch("accuracy.json")).json();
    if (mine !== turn) return;
    const { kinds } = figures;
    const draw = renders(say);
    aside.name(text("accuracy.ask", "How accurate is this?"));
    aside.body.replaceChildren(
      element("p", {}, say("how", "An error is predicted / measured − 1; shown is its size. Half of the rows are nearer than the median, nine of ten nearer than 90 %. Rows are published or traced runs; none is left out because it is wrong.")),
      draw.overview(kinds),
      ...kinds.map((kind) =>
        element("section", { "data-kind": kind.id }, element("h3", {}, draw.label(kind.id)), ...draw[kind.id](kind), element("p", { class: "small" }, say("behind", "What is behind the larger errors, and what is missing:")), draw.causes(kind)),
      ),
    );
    shown = language;
  } catch (error) {
    if (mine === turn) aside.body.replaceChildren(wrong(String(error?.message ?? error)));
  }
  if (mine === turn) aside.body.removeAttribute("aria-busy");
}

export async function open(app, state) {
  aside ??= makeAside("accuracy");
  aside.box.classList.add("large");
  aside.name(text("accuracy.ask", "How accurate is this?"));
  await aside.show();
  await fill(state.language);
}

export function follow(state) {
  if (aside?.box.open) fill(state.language);
}
