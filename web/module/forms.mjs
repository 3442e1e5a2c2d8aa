// Numbers of an estimate in the unit that a writer asks for, and numbers that a writer wrote.
import { decimalsOf, scaleOf } from "./wireplan-quantity.mjs";

// By the unit the planner gives: what one of each is.
const FORMS = {
  bytes: { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  "bytes/s": { "B/s": 1, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "MiB/s": 2 ** 20, "GiB/s": 2 ** 30 },
  s: { s: 1, ms: 1e-3, "µs": 1e-6, us: 1e-6, min: 60, h: 3600 },
  FLOP: { FLOP: 1, GFLOP: 1e9, TFLOP: 1e12, PFLOP: 1e15 },
  "FLOP/s": { "FLOP/s": 1, "TFLOP/s": 1e12, "PFLOP/s": 1e15 },
  "TFLOP/s": { "TFLOP/s": 1, "PFLOP/s": 1e3 },
  "tokens/s": { "tokens/s": 1 },
  "": { "%": 0.01, x: 1, "×": 1, million: 1e6, billion: 1e9, trillion: 1e12 },
};
const WRITTEN = { us: "µs", x: "×" };

export const formsOf = (unit) => Object.keys(FORMS[unit] ?? {});

/** The form that is taken where none is asked for: memory as the tools beside the planner print it, shares as per cent. */
export function usualForm(value, unit) {
  if (unit === "") return value > 0 && value < 1 ? "%" : "";
  return scaleOf(value, unit, "GiB")?.[1] ?? (unit in FORMS ? unit : "");
}

/** A number in a form: {number, unit, digits, text}; null where the planner's unit has no such form. `digits`: after the point. */
export function formed(value, unit, form, digits) {
  const forms = FORMS[unit] ?? {};
  if (form && !Object.hasOwn(forms, form)) return null;  // nor "constructor", which every object has
  const one = form ? forms[form] : 1;
  const size = Math.abs(value / one);
  const plain = !form && Number.isInteger(value);
  digits ??= plain || value === 0 ? 0 : form === "%" ? 1 : size < 0.1 ? 4 : size < 1 ? 3 : decimalsOf(size, form);
  const number = (value / one).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
  const name = form ? (WRITTEN[form] ?? form) : unit;
  return { number, unit: name, digits, text: `${number}${name && name !== "×" ? "\u00a0" : ""}${name}` };
}

/** "14.5 GB" as {value: 14.5, digits: 1, form: "GB"}; null where it holds no number. */
export function written(text) {
  const [, sign, figure, form] = /^\s*([-−+]?)\s*([\d,]*\.?\d+)\s*(.*?)\s*$/.exec(text ?? "") ?? [];
  if (figure === undefined) return null;
  const plain = figure.replaceAll(",", "");
  return { value: (sign && sign !== "+" ? -1 : 1) * Number(plain), digits: (plain.split(".")[1] ?? "").length, form };
}
