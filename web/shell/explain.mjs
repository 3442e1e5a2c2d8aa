// Where a number comes from, as text: for phones and for screens without pictures. Elsewhere the canvas shows it.
import { element } from "./dom.mjs";

const SIGNS = { count: "= count", bound: "≤ bound", estimate: "≈ estimate", measured: "● measured" };
const SCALES = {
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  "bytes/s": [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
  "FLOP/s": [[1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1, "FLOP/s"]],
  FLOP: [[1e12, "TFLOP"], [1e9, "GFLOP"], [1, "FLOP"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
};

export function quantity(value, unit) {
  const scales = SCALES[unit];
  if (!scales || value === 0) return `${Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(4))}${unit ? ` ${unit}` : ""}`;
  const [scale, name] = scales.find(([s]) => Math.abs(value) >= s) ?? scales.at(-1);
  return `${Number((value / scale).toPrecision(4))} ${name}`;
}

export function showExplanation(dialog, explanation, label, open) {
  const { symbol, formula, values = [], result, unit, kind, band, sources = [] } = explanation;
  dialog.replaceChildren(
    element("button", { type: "button", class: "icon close", "aria-label": "Close", onclick: () => dialog.close() }, "×"),
    element("h2", { id: "explain-name" }, label || explanation.key),
    element("p", { class: "value" }, `${quantity(result, unit)} `, element("span", { class: "tag" }, SIGNS[kind] ?? kind)),
    band ? element("p", {}, `${quantity(band.low, unit)} … ${quantity(band.high, unit)}`) : null,
    element("h3", {}, "Formula"),
    element("pre", {}, `${symbol} = ${formula}`),
    element("h3", {}, "Where"),
    element(
      "dl",
      {},
      ...values.flatMap((v) => [
        element("dt", {}, v.symbol),
        element("dd", {}, quantity(v.value, v.unit)),
        element("dd", {}, v.key && v.kind !== "count" ? element("button", { type: "button", onclick: () => open(v.key) }, v.meaning) : v.meaning),
      ]),
    ),
    ...(sources.length ? [element("h3", {}, "Sources"), element("p", {}, sources.join(", "))] : []),
  );
  if (!dialog.open) dialog.showModal();
}
