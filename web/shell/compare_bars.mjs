// The bars of a comparison: memory against the capacity line, the step as its parts. All columns share one scale, given from outside.
import { draw } from "./aside.mjs";
import { quantity } from "./explain.mjs";

const BAR = 24, TOP = 6;
const GLYPH = 6.4;  // of a figure at 11 px, for deciding whether a label fits

// [path, key of its words, English], in the order they stand in the bar; the last is what the allocator cannot give back, and the runtime.
export const MEMORY_PARTS = [
  ["parameters", "parameters", "Parameters"],
  ["gradients", "gradients", "Gradients"],
  ["optimizer_states", "optimizer", "Optimizer states"],
  ["master_weights", "master", "Master weights"],
  ["activations", "activations", "Activations"],
  ["logits", "logits", "Logits"],
  ["unsharded_parameters", "gathered", "Gathered units"],
  ["communication_buffers", "buffers", "Comm. buffers"],
  ["temporary", "temporary", "Temporary"],
  ["slack", "slack", "Slack, runtime"],
];
export const memoryPart = (memory, path) => (path === "slack" ? memory.need_bytes.value - memory.allocated_bytes.value : memory.parts[path]);

export const STEP_PARTS = [
  ["compute_s", "compute", "compute"],
  ["exposed_communication_s", "waiting", "waiting for communication"],
  ["bubble_s", "bubble", "pipeline bubble"],
  ["optimizer_s", "optimizer", "optimizer"],
  ["other", "other", "host, offload"],
];
export const stepPart = (step, path) => (path === "other" ? step.host_s + step.offload_s + step.straggler_s : step[path]);

const HATCHED = new Set(["master_weights", "temporary", "slack", "exposed_communication_s"]);

export const swatch = (path) =>
  draw("svg", { viewBox: "0 0 12 12", class: "swatch", "aria-hidden": "true" }, draw("rect", { width: 12, height: 12, class: `part ${path}` }), ...(HATCHED.has(path) ? [hatch(0, 0, 12, 12, 4)] : []));

// Diagonals within a rectangle. No pattern: its id would have to be the only one on the page.
function hatch(x, y, width, height, gap, kind = "hatch") {
  let d = "";
  for (let at = gap; at < width + height; at += gap) {
    const [left, right] = [Math.max(0, at - height), Math.min(width, at)];
    d += `M${(x + left).toFixed(1)} ${(y + at - left).toFixed(1)}L${(x + right).toFixed(1)} ${(y + at - right).toFixed(1)}`;
  }
  return draw("path", { d, class: kind });
}

// Parts one after the other, with a gap of the ground between them, pale beyond `limit`; where a value has room, and no
// whisker lies over it, it stands in its part.
function stack(svg, parts, x, label, { low, high }, limit = Infinity) {
  let at = 0;
  for (const [path, value] of parts) {
    const [left, right] = [x(at), x(at + value)];
    at += value;
    if (right - left < 0.5) continue;
    const width = right - left - (right - left > 3 ? 1 : 0);
    const inside = Math.max(0, Math.min(width, limit - left));
    svg.append(draw("rect", { x: left, y: TOP, width, height: BAR, class: `part ${path}${inside < width ? " beyond" : ""}`, "data-part": path }));
    if (0 < inside && inside < width) svg.append(draw("rect", { x: left, y: TOP, width: inside, height: BAR, class: `part ${path}` }));
    if (HATCHED.has(path)) svg.append(hatch(left, TOP, width, BAR, 6));
    const words = label(value);
    const wide = words.length * GLYPH;
    if (wide + 8 > inside || inside < width / 2) continue;
    const middle = left + inside / 2;
    if (x(low) < middle + wide / 2 && x(high) > middle - wide / 2) continue;
    if (HATCHED.has(path)) svg.append(draw("rect", { x: middle - wide / 2 - 2, y: TOP + 4, width: wide + 4, height: BAR - 8, class: `part ${path}` }));
    svg.append(draw("text", { x: middle, y: TOP + BAR / 2 + 4, "text-anchor": "middle", class: `on ${path}` }, words));
  }
  return at;
}

function whisker(svg, low, high) {
  if (high - low < 1) return;
  const y = TOP + BAR / 2;
  const d = `M${low} ${y}H${high}M${low} ${y - 4}v8M${high} ${y - 4}v8`;
  svg.append(draw("path", { d, class: "halo" }), draw("path", { d, class: "whisker" }));
}

const bare = (value, unit, memory) => quantity(value, unit, memory).replace(/ .*$/, "");

export function memoryBar(memory, width, most, unit, label) {
  const x = (bytes) => (width * bytes) / most;
  const height = TOP + BAR + 20;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "bar-of-plan" });
  const line = x(memory.capacity_bytes);
  const end = stack(svg, MEMORY_PARTS.map(([path]) => [path, memoryPart(memory, path)]), x, (value) => bare(value, "bytes", unit), memory.need_bytes, line);
  if (x(end) > line + 1) {
    svg.append(hatch(line, TOP, x(end) - line, BAR, 7, "over"), draw("rect", { x: line, y: TOP + 1, width: x(end) - line, height: BAR - 2, class: "over" }));
  }
  whisker(svg, x(memory.need_bytes.low), x(memory.need_bytes.high));
  const anchor = line > width - 40 ? "end" : line < 40 ? "start" : "middle";
  svg.append(draw("path", { d: `M${line} 1V${TOP + BAR + 5}`, class: "capacity" }), draw("text", { x: anchor === "end" ? Math.min(width, line + 2) : line, y: height - 3, "text-anchor": anchor, class: "strong" }, quantity(memory.capacity_bytes, "bytes", unit)));
  return svg;
}

// Below: communication that compute hides, as long as it takes.
export function stepBar(estimate, width, most, label) {
  const { step, communication, memory } = estimate;
  const x = (seconds) => (width * seconds) / most;
  const height = TOP + BAR + 12;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: `bar-of-plan${memory.fits ? "" : " unfit"}` });
  stack(svg, STEP_PARTS.map(([path]) => [path, stepPart(step, path)]), x, (value) => quantity(value, "s"), step.time_s);
  const hidden = communication.reduce((sum, row) => sum + Math.max(0, row.time_s.value - row.exposed_s), 0);
  if (x(hidden) > 0.5) svg.append(draw("rect", { x: 0, y: TOP + BAR + 3, width: Math.min(x(hidden), width), height: 5, class: "part hidden-communication" }));
  whisker(svg, x(step.time_s.low), Math.min(width, x(step.time_s.high)));
  return svg;
}
