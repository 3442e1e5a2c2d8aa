// Where a number comes from, as text: for phones and for screens without pictures. Elsewhere the canvas shows it.
import { style } from "./aside.mjs";
import { element } from "./dom.mjs";
import { quantity } from "./wireplan-quantity.mjs";
import { text, word } from "./words.mjs";

export { quantity };

const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };

export async function showExplanation(dialog, explanation, label, memory, open) {
  await style();
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
