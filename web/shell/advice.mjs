// What should I change first? The module's advice as a table, each change one click away, with the lines of the plan's trainer that make it.
import { element } from "./dom.mjs";
import { quantity } from "./explain.mjs";
import { scrolling } from "./aside.mjs";
import { text } from "./words.mjs";

const MOST = 12;
const MOST_LINES = 8;  // more is a new configuration

// The fields that knobs change, for "instead of {from}".
const FIELDS = {
  recompute: (p) => p.training.recompute,
  "micro-batch": (p) => p.training.micro_batch_size,
  sharding: (p) => p.parallel.data_sharding,
  tensor: (p) => p.parallel.tensor,
  pipeline: (p) => p.parallel.pipeline,
  context: (p) => p.parallel.context,
  expert: (p) => p.parallel.expert,
  gpus: (p) => p.cluster.nodes * p.cluster.gpus_per_node,
  nodes: (p) => p.cluster.nodes,
};
const LABELS = { ddp: "DDP", zero1: "ZeRO-1", zero2: "ZeRO-2", zero3: "ZeRO-3", fsdp: "FSDP", hsdp: "HSDP" };
const shown = (value) => (value === undefined ? "" : LABELS[value] ?? (typeof value === "object" ? Object.entries(value ?? {}).flat().join(" ") : String(value)));

// In English as the module says it; elsewhere from the parts of its key, "sharding=zero2+micro-batch=2".
export function changeLabel(change, plan, language) {
  if (language === "en") return change.label;
  return change.key
    .split("+")
    .map((part) => {
      const [knob, to = ""] = part.split("=");
      const words = text(`advice.${knob}`, change.label);
      const values = { to: shown(to), from: shown(FIELDS[knob]?.(plan)), n: plan.model?.num_layers ?? "" };
      return words.replace(/\{(\w+)\}/g, (whole, of) => values[of] ?? whole);
    })
    .join("; ");
}

const signed = (value, unit, memory) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${quantity(Math.abs(value), unit, memory)}`;

export function adviceParts(advice, plan, state, use) {
  const unit = state.unit ?? "GB";
  const head = (words, numeric = true) => element("th", { scope: "col", class: numeric ? "num" : null }, words);
  const row = (change) => {
    const lines = change.trainer_lines ?? [];
    const label = changeLabel(change, plan, state.language);
    return element(
      "tr",
      { "data-change": change.key },
      element("th", { scope: "row" }, label, ...(lines.length && lines.length <= MOST_LINES ? [element("details", {}, element("summary", {}, text("advice.lines", "in the trainer")), element("pre", {}, lines.join("\n")))] : [])),
      element("td", { class: "num", "data-value": change.time_change_s }, signed(change.time_change_s, "s")),
      element("td", { class: "num", "data-need": change.need_change_bytes }, signed(change.need_change_bytes, "bytes", unit), change.fits ? "" : element("span", { class: "bad" }, ` ${text("verdict.does-not-fit", "does not fit")}`)),
      element("td", { class: "num" }, `${change.tokens_change > 0 ? "+" : change.tokens_change < 0 ? "−" : ""}${Math.abs(100 * change.tokens_change).toFixed(1)} %`),
      element("td", { class: "remark" }, text(`advice.kind.${change.kind}`, change.kind)),
      element("td", { class: "remark" }, use(change, label)),
    );
  };
  const title = text("advice.title", "What to change first?");
  if (!advice.changes.length) return [element("h3", {}, title), element("p", {}, text("advice.nothing", advice.text))];
  return [
    element("h3", {}, title),
    ...(state.language === "en" ? [element("p", { id: "layouts-advice" }, advice.text)] : []),
    scrolling(
      title,
      element(
        "table",
        { id: "layouts-changes" },
        element("caption", { class: "vh" }, title),
        element("thead", {}, element("tr", {}, head(text("advice.change", "Change"), false), head(text("advice.step", "Step")), head(text("advice.need", "Need")), head(text("advice.speed", "Tokens/s")), element("td", {}), element("td", {}))),
        element("tbody", {}, ...advice.changes.slice(0, MOST).map(row)),
      ),
    ),
  ];
}
