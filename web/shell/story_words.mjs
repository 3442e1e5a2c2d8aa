// The numbers of the story's sentences: from the app, or from the module for plans that stand beside the shown one. None is written into a text.
import { element } from "./dom.mjs";
import { quantity } from "./explain.mjs";

const unitOf = (path) => (/bytes$/.test(path) ? "bytes" : /_s$/.test(path) ? "s" : "");
const at = (document_, path) => path.split(".").reduce((value, key) => value?.[key], document_);

// A document's ranges stand for their middle.
function inside(document_, path) {
  const value = at(document_, path);
  return { value: value?.value ?? value, unit: unitOf(path) };
}

// "strategies.fsdp.need_bytes": a plan beside the answer; "row.PATH": a result as the page writes it; "beside.NAME.PATH": of the module's estimate;
// "PATH#m": a number that the explanation of another puts in; else the number of that path.
export function lookUp(app, state, beside, path) {
  const [first, key, ...rest] = path.split(".");
  if (first === "beside") return inside(beside?.[key], rest.join("."));
  if (first === "row") return { words: state.rows.find((row) => row.path === path.slice(4))?.text };
  if (/^(strategies|wirings|recipes)$/.test(first)) {
    const one = app.alternatives()?.[first]?.find((alternative) => alternative.key === key);
    return { value: one?.[rest[0]], unit: unitOf(path) };
  }
  const [whole, symbol] = path.split("#");
  const found = app.explanation(whole);
  if (!symbol) return { value: found?.result, unit: found?.unit ?? "" };
  return { value: found?.values?.find((one) => one.symbol === symbol)?.value, unit: "" };
}

function shown({ value, unit, words } = {}, memory) {
  if (words) return words;
  if (typeof value === "number" && Number.isFinite(value)) return quantity(value, unit, memory);
  return "–";
}

// "**Fits:** {need} of {capacity}" as nodes: numbers and what stands between ** are strong.
export function sentence(text, values, memory) {
  return text
    .split(/(\{\w+\}|\*\*[^*]+\*\*)/)
    .filter(Boolean)
    .map((piece) => {
      if (piece.startsWith("{")) return element("b", {}, shown(values[piece.slice(1, -1)], memory));
      return piece.startsWith("**") ? element("b", {}, piece.slice(2, -2)) : piece;
    });
}

export const plain = (text, values, memory) => sentence(text, values, memory).map((node) => node.textContent ?? node).join("");
