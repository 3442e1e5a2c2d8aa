// Where a number comes from, as text: for phones and for screens without pictures. Elsewhere the canvas shows it.
import { element } from "./dom.mjs";
import { text, word } from "./words.mjs";

const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };
const SCALES = {
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  binary: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  "bytes/s": [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
  "FLOP/s": [[1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1, "FLOP/s"]],
  FLOP: [[1e12, "TFLOP"], [1e9, "GFLOP"], [1, "FLOP"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
};

// At most four digits, by the same rule as everywhere on the page.
export function quantity(value, unit, memory) {
  const scales = SCALES[unit === "bytes" && memory === "GiB" ? "binary" : unit];
  if (!scales || value === 0) {
    const plain = Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
    return unit ? `${plain} ${unit}` : plain;
  }
  const [scale, name] = scales.find(([least]) => Math.abs(value) >= least) ?? scales.at(-1);
  const size = Math.abs(value / scale);
  const decimals = size >= 1000 ? 0 : size >= 100 && name !== "GB" && name !== "GiB" ? 0 : size >= 10 ? 1 : 2;
  return `${(value / scale).toFixed(decimals)} ${name}`;
}

export function showExplanation(dialog, explanation, label, memory, open) {
  const { symbol, formula, values = [], result, unit, kind, band, sources = [] } = explanation;
  dialog.replaceChildren(
    element("button", { type: "button", class: "icon close", "aria-label": word("close", "Close"), onclick: () => dialog.close() }, "×"),
    element("h2", { id: "explain-name" }, label || explanation.key),
    element("p", { class: "value" }, `${quantity(result, unit, memory)} `, element("span", { class: "tag" }, `${SIGNS[kind] ?? ""} ${text(`claim.${kind}`, kind)}`)),
    ...(band ? [element("p", {}, `${quantity(band.low, unit, memory)} … ${quantity(band.high, unit, memory)}`)] : []),
    kind === "estimate" ? element("button", { type: "button", "data-do": "accuracy" }, text("accuracy.ask", "")) : "",
    element("h3", {}, text("explain.formula", "Formula")),
    element("pre", {}, `${symbol} = ${formula}`),
    element("h3", {}, text("explain.where", "Where")),
    element(
      "dl",
      {},
      ...values.flatMap((v) => [
        element("dt", {}, v.symbol),
        element("dd", {}, quantity(v.value, v.unit, memory)),
        element("dd", {}, v.key && v.kind !== "count" ? element("button", { type: "button", onclick: () => open(v.key) }, v.meaning) : v.meaning),
      ]),
    ),
    ...(sources.length ? [element("h3", {}, text("explain.sources", "Sources")), element("p", {}, sources.join(", "))] : []),
  );
  if (!dialog.open) dialog.showModal();
}
