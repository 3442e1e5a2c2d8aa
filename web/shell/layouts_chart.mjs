// Memory against time, a mark for every layout that was evaluated; lower left is better.

import { draw } from "./aside.mjs";

// Each sharding has a shape of its own, so that colour is free to say how a layout does.
const SHAPES = {
  ddp: (x, y) => `M${x - 3} ${y - 3}l6 6m0-6l-6 6`,
  zero1: (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  zero2: (x, y) => `M${x} ${y - 4}l4 4-4 4-4-4z`,
  zero3: (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z`,
  fsdp: (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z`,
  hsdp: (x, y) => `M${x} ${y - 4}l4 7h-8z`,
};
const LABELS = { ddp: "DDP", zero1: "ZeRO-1", zero2: "ZeRO-2", zero3: "ZeRO-3", fsdp: "FSDP", hsdp: "HSDP" };
const MOST_MARKS = 1500;  // more hide each other

function ticks(low, high) {
  for (const steps of [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]]) {
    const found = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); ++decade) for (const s of steps) found.push(s * 10 ** decade);
    const inside = found.filter((v) => v >= low && v <= high);
    if (inside.length >= 3) return inside;
  }
  return [low, high];
}

// Of many, every n-th of those that neither win nor are on the front.
function thinned(points) {
  if (points.length <= MOST_MARKS) return points;
  const step = Math.ceil(points.length / MOST_MARKS);
  return points.filter((_, i) => i % step === 0);
}

const plain = (v) => String(Number(v.toPrecision(3)));

export function drawTrade(figure, answer, say, label, unit) {
  const scale = unit === "GiB" ? 2 ** 30 : 1e9;
  const points = thinned(answer.points ?? []).map(([need, time, exposed, sharding, reason]) => ({ need: need / scale, time, exposed, sharding, reason }));
  const front = answer.pareto.map((i) => ({ need: answer.plans[i].need_bytes / scale, time: answer.plans[i].time_s, sharding: answer.plans[i].plan.parallel.data_sharding }));
  const yours = answer.yours && { need: answer.yours.need_bytes / scale, time: answer.yours.time_s };
  const capacity = answer.capacity_bytes / scale;
  const all = [...points, ...front, ...(yours ? [yours] : [])];
  const most = capacity * 2.5;
  const lowNeed = Math.min(capacity, ...all.map((p) => p.need)) / 1.1;
  const highNeed = Math.min(most, Math.max(capacity * 1.2, ...all.map((p) => p.need)) * 1.05);
  const lowTime = Math.min(...all.map((p) => p.time)) / 1.08;
  const highTime = Math.min(Math.max(...all.map((p) => p.time)), lowTime * 12) * 1.08;

  function render(width) {
    const narrow = width < 480;
    const [left, right, top, plot] = [48, 10, 20, narrow ? 220 : 300];
    const bottom = top + plot;
    const x = (need) => left + ((width - left - right) * Math.log(Math.min(need, highNeed) / lowNeed)) / Math.log(highNeed / lowNeed);
    const y = (time) => bottom - (plot * Math.log(Math.min(time, highTime) / lowTime)) / Math.log(highTime / lowTime);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${bottom + 58}`, width, height: bottom + 58, role: "img", "aria-label": label, class: "times trade" });
    svg.append(draw("rect", { x: x(capacity), y: top, width: Math.max(0, width - right - x(capacity)), height: plot, class: "beyond" }));
    let last = Infinity;
    for (const v of ticks(lowTime, highTime)) {
      svg.append(draw("path", { d: `M${left} ${y(v)}H${width - right}`, class: "grid" }));
      if (last - y(v) < 14) continue;
      last = y(v);
      svg.append(draw("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, plain(v)));
    }
    last = -Infinity;
    for (const v of ticks(lowNeed, highNeed)) {
      svg.append(draw("path", { d: `M${x(v)} ${top}V${bottom}`, class: "grid" }));
      if (x(v) - last < 34) continue;
      last = x(v);
      svg.append(draw("text", { x: x(v), y: bottom + 16, "text-anchor": "middle" }, plain(v)));
    }
    svg.append(draw("text", { x: left, y: 12 }, say("axis.time", "s per step")));
    svg.append(draw("text", { x: width - right, y: bottom + 32, "text-anchor": "end" }, say("axis.memory", "{u} per GPU", { u: unit })));
    svg.append(draw("path", { d: `M${x(capacity)} ${top}V${bottom}`, class: "limit" }));
    svg.append(draw("text", { x: x(capacity) + (x(capacity) > width - 110 ? -4 : 4), y: 12, "text-anchor": x(capacity) > width - 110 ? "end" : "start", class: "strong" }, `${plain(capacity)} ${unit}`));
    for (const p of points) {
      const look = p.reason === "does-not-fit" ? "unfit" : p.exposed > 0.25 ? "waits" : "plain";
      svg.append(draw("path", { d: (SHAPES[p.sharding] ?? SHAPES.ddp)(x(p.need), y(p.time)), class: `mark ${look}` }));
    }
    let path = "";
    front.forEach((p, i) => (path += i ? `V${y(p.time).toFixed(1)}H${x(p.need).toFixed(1)}` : `M${x(p.need).toFixed(1)} ${y(p.time).toFixed(1)}`));
    svg.append(draw("path", { d: path, class: "front" }));
    for (const p of front) svg.append(draw("path", { d: (SHAPES[p.sharding] ?? SHAPES.ddp)(x(p.need), y(p.time)), class: "mark best" }));
    if (yours) {
      svg.append(draw("circle", { cx: x(yours.need), cy: y(yours.time), r: 7, class: "yours" }));
      const end = x(yours.need) > width - 90;
      svg.append(draw("text", { x: x(yours.need) + (end ? -11 : 11), y: y(yours.time) - 8, "text-anchor": end ? "end" : "start", class: "strong" }, say("your_plan", "your plan")));
    }
    // What the marks mean, as far as there is room.
    let at = left;
    const legend = [...new Set([...points, ...front].map((p) => p.sharding))].map((s) => [SHAPES[s], "plain", LABELS[s] ?? s]);
    legend.push([SHAPES.fsdp, "best", say("legend.front", "best trade-offs")], [SHAPES.fsdp, "waits", say("legend.waits", "> 25 % waiting")]);
    for (const [shape, look, name] of legend) {
      if (at + 18 + name.length * 6.2 > width - right) break;
      svg.append(draw("path", { d: shape(at + 5, bottom + 47), class: `mark ${look}` }), draw("text", { x: at + 14, y: bottom + 51 }, name));
      at += 26 + name.length * 6.2;
    }
    return svg;
  }

  let width = 0;
  new ResizeObserver(() => {
    const now = Math.round(figure.clientWidth);
    if (!now || now === width) return;
    width = now;
    figure.replaceChildren(render(width));
  }).observe(figure);
}
