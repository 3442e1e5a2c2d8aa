// The step against the speed of the links, a line for every sharding.

import { draw } from "./aside.mjs";

// Each line has a colour and a shape of its own.
const SHAPES = [
  (x, y) => draw("circle", { cx: x, cy: y, r: 3.5 }),
  (x, y) => draw("rect", { x: x - 3, y: y - 3, width: 6, height: 6 }),
  (x, y) => draw("path", { d: `M${x} ${y - 4.5}l4.5 4.5-4.5 4.5-4.5-4.5z` }),
  (x, y) => draw("path", { d: `M${x} ${y - 4}l4 7h-8z` }),
  (x, y) => draw("path", { d: `M${x - 3} ${y - 3}l6 6m0-6l-6 6` }),
  (x, y) => draw("circle", { cx: x, cy: y, r: 3, class: "hollow" }),
];
export const LOOKS = SHAPES.map((shape, i) => ({
  shape: (x, y) => {
    const mark = shape(x, y);
    mark.classList.add("mark", `line${i}`);
    return mark;
  },
  swatch: () => {
    const mark = shape(12, 7);
    mark.classList.add("mark", `line${i}`);
    return draw("svg", { viewBox: "0 0 24 14", class: "swatch", "aria-hidden": "true" }, draw("path", { d: "M1 7h22", class: `line line${i}` }), mark);
  },
}));

const seconds = (s) => (s >= 1 ? `${Number(s.toPrecision(3))} s` : s >= 1e-3 ? `${Number((s * 1e3).toPrecision(3))} ms` : `${Number((s * 1e6).toPrecision(3))} µs`);

// 1, 2, 5 of every decade; with few of them also the numbers between.
function ticks(low, high) {
  for (const steps of [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5]]) {
    const found = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); ++decade) for (const s of steps) found.push(s * 10 ** decade);
    const inside = found.filter((v) => v >= low && v <= high);
    if (inside.length >= 3) return inside;
  }
  return [low, high];
}

const factorText = (f) => (f < 1 ? `1/${1 / f}` : String(f));

export function drawTimes(figure, crossover, say, label, nowRate) {
  const { factors, shardings, fastest, exposed, link } = crossover;
  const all = shardings.flatMap((s) => s.times_s);
  const low = Math.min(...all) / 1.15;
  const high = Math.max(...all) * 1.15;

  function render(width) {
    const narrow = width < 480;
    const [left, right, top, plot, strip] = [52, 10, 22, narrow ? 180 : 220, 18];
    const bottom = top + plot;
    const x = (factor) => left + ((width - left - right) * (Math.log2(factor) + 6)) / 12;
    const y = (s) => bottom - (plot * Math.log(s / low)) / Math.log(high / low);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${bottom + 46 + strip}`, width, height: bottom + 46 + strip, role: "img", "aria-label": label, class: "times" });
    let last = Infinity;
    for (const v of ticks(low, high)) {
      svg.append(draw("path", { d: `M${left} ${y(v)}H${width - right}`, class: "grid" }));
      if (last - y(v) < 14) continue;
      last = y(v);
      svg.append(draw("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, seconds(v)));
    }
    for (const f of narrow ? [1 / 64, 1 / 8, 1, 8, 64] : [1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64]) {
      const anchor = f === 64 ? "end" : "middle";
      svg.append(draw("path", { d: `M${x(f)} ${top}V${bottom}`, class: f === 1 ? "now" : "grid" }));
      svg.append(draw("text", { x: x(f) + (f === 64 ? 6 : 0), y: bottom + 16, "text-anchor": anchor }, `${factorText(f)} ×`));
    }
    svg.append(draw("text", { x: x(1), y: 12, "text-anchor": "middle", class: "strong" }, `${say("now", "now")} · ${nowRate}`));
    // Only where both questions are about the same links.
    if (exposed.from && exposed.link.place === link.place && exposed.link.name === link.name) {
      const at = x(exposed.from.factor);
      svg.append(draw("path", { d: `M${at} ${top}V${bottom}`, class: "need" }));
      const far = Math.abs(at - x(1)) > 150;
      if (far) svg.append(draw("text", { x: at, y: 12, "text-anchor": at > width - 60 ? "end" : at < left + 60 ? "start" : "middle", class: "exposed" }, say("need", "≤ {l} % waits", { l: Math.round(exposed.limit * 100) })));
    }
    shardings.forEach((s, i) => {
      const at = s.times_s.map((t, k) => `${x(factors[k]).toFixed(1)} ${y(t).toFixed(1)}`);
      svg.append(draw("path", { d: `M${at.join("L")}`, class: `line line${i}${s.chosen ? " chosen" : ""}${s.fits ? "" : " unfit"}`, "data-sharding": s.sharding }));
    });
    shardings.forEach((s, i) => {
      for (let k = 2 * i; k < factors.length; k += 10) svg.append(LOOKS[i].shape(x(factors[k]), y(s.times_s[k])));
    });
    // Which is the fastest of those that fit, as a strip below.
    const over = bottom + 28;
    fastest.forEach(({ sharding, from }, i) => {
      const [start, end] = [x(from?.factor ?? factors[0]), x(fastest[i + 1]?.from.factor ?? factors.at(-1))];
      const which = shardings.findIndex((s) => s.sharding === sharding);
      svg.append(draw("rect", { x: start, y: over, width: Math.max(0, end - start - 1), height: strip, class: `fastest line${which}` }));
      const name = say("fastest", "fastest: {n}", { n: shardings[which].label });
      const text = end - start > name.length * 6.6 + 8 ? name : end - start > shardings[which].label.length * 7 + 6 ? shardings[which].label : "";
      if (text) svg.append(draw("text", { x: (start + end) / 2, y: over + 13, "text-anchor": "middle", class: "strong" }, text));
    });
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
