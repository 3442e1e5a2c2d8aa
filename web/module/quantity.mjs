// A number with its unit as text, by one rule for the page and the elements.

const SCALES = {
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  binary: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  "bytes/s": [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
  "FLOP/s": [[1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1, "FLOP/s"]],
  FLOP: [[1e12, "TFLOP"], [1e9, "GFLOP"], [1, "FLOP"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
};

/** What one of the unit that suits a number is, and its name; undefined where the planner's unit has no other sizes. */
export function scaleOf(value, unit, memory) {
  const scales = SCALES[unit === "bytes" && memory === "GiB" ? "binary" : unit];
  return scales?.find(([least]) => Math.abs(value) >= least) ?? scales?.at(-1);
}

/** Digits after the point of a number of this size. */
export const decimalsOf = (size, name) => (size >= 1000 ? 0 : size >= 100 && name !== "GB" && name !== "GiB" ? 0 : size >= 10 ? 1 : 2);

/** At most four digits. */
export function quantity(value, unit, memory) {
  const [scale, name] = scaleOf(value, unit, memory) ?? [];
  if (!name || value === 0) {
    const plain = Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
    return unit ? `${plain} ${unit}` : plain;
  }
  return `${(value / scale).toFixed(decimalsOf(Math.abs(value / scale), name))} ${name}`;
}
