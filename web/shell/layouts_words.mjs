// What a search found, in words: from its numbers, so that both languages say the same.
import { quantity } from "./explain.mjs";

export const percent = (share) => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`);

// The module's label of a layout: terms of the field stay, what is said about them does not.
export const named = (say, label) =>
  label
    .replace(/full recompute of (\d+) layers a piece/, (_, n) => say("recompute.pieces", "full recompute of {n} layers a piece", { n }))
    .replace(/full recompute of (\d+) layers/, (_, n) => say("recompute.layers", "full recompute of {n} layers", { n }))
    .replace(/recompute of every (\d+)\. layer/, (_, n) => say("recompute.every", "recompute of every {n}. layer", { n }))
    .replace("selective recompute", () => say("recompute.selective", "selective recompute"))
    .replace("full recompute", () => say("recompute.full", "full recompute"))
    .replace(/(fused|chunked) loss/, (_, kind) => say("loss", "{k} loss", { k: kind }))
    .replace("parameters and optimizer on the host", () => say("host.all", "parameters and optimizer on the host"))
    .replace("optimizer on the host", () => say("host", "optimizer on the host"))
    .replace(/order (\S+)/, (_, order) => say("order", "order {o}", { o: order }));

const PARTS = [
  ["compute_s", "compute", "compute"],
  ["exposed_communication_s", "waits", "waiting for communication"],
  ["bubble_s", "bubble", "pipeline bubble"],
  ["optimizer_s", "optimizer", "optimizer"],
  ["host_s", "launching", "host"],
  ["offload_s", "offload", "offload"],
];

// "17.0 s less waiting for communication, 1.2 s more compute": what of a step one spends more or less of than another.
export function difference(say, plan, other) {
  return PARTS.map(([key, word, english]) => ({ more: plan[key] - other[key], what: say(`part.${word}`, english) }))
    .filter(({ more }) => Math.abs(more) > 0.005 * other.time_s)
    .sort((a, b) => Math.abs(b.more) - Math.abs(a.more))
    .slice(0, 3)
    .map(({ more, what }) => (more > 0 ? say("more", "{t} more {w}", { t: quantity(more, "s"), w: what }) : say("less", "{t} less {w}", { t: quantity(-more, "s"), w: what })))
    .join(", ");
}

export function headline(say, answer, unit) {
  const [best] = answer.top ? answer.plans : [];
  if (!best) return say("nothing", "Nothing fits: none of {n} layouts holds this training in {c} a GPU.", { n: answer.counts.candidates.toLocaleString("en"), c: quantity(answer.capacity_bytes, "bytes", unit) });
  const values = { l: named(say, best.label), t: quantity(best.time_s, "s"), m: quantity(best.need_bytes, "bytes", unit), g: best.gpus.toLocaleString("en") };
  const OBJECTIVES = { memory: "Smallest that fits", gpus: "On fewest GPUs", cost: "Cheapest that fits" };
  const start = say(`best.${answer.objective}`, OBJECTIVES[answer.objective] ?? "Fastest that fits");
  let said = say("headline", "{s}: {l}, {t} per step at {m}", { ...values, s: start });
  if (answer.objective === "gpus" || answer.objective === "cost") said += say("headline.gpus", " on {g} GPUs", values);
  if (answer.yours) {
    const yours = { t: quantity(answer.yours.time_s, "s") };
    said += answer.yours.fits ? say("yours", "; your plan takes {t}", yours) : say("yours.unfit", "; your plan takes {t} and does not fit", yours);
  }
  return `${said}.`;
}

export function why(say, plan, i, answer) {
  const best = answer.plans[0];
  if (i > 0) {
    const slower = plan.time_s / best.time_s - 1;
    const speed = slower < 5e-4 ? say("as_fast", "as fast as the first") : say("slower", "{p} slower than the first", { p: percent(slower) });
    const parts = difference(say, plan, best);
    return parts ? `${speed}: ${parts}` : speed;
  }
  if (!plan.edits.length) return say("is_yours", "your plan as it is");
  if (!answer.yours) return say("mfu", "{p} MFU", { p: percent(plan.mfu) });
  if (!answer.yours.fits) return say("fits_where", "fits where your plan does not");
  const parts = difference(say, plan, answer.yours);
  return say("faster", "{f} × as fast as your plan", { f: (answer.yours.time_s / plan.time_s).toFixed(2) }) + (parts ? `: ${parts}` : "");
}

const LOSSES = {
  "does-not-fit": "does not fit",
  "nearly-as-fast": "nearly as fast",
  "waits-for-wires": "waits for the wires",
  "computes-twice": "computes twice",
  "splits-matrices": "splits matrices",
  bubble: "idles in the pipeline",
  rest: "optimizer, host and offload",
  "slower-at-least": "cannot be faster",
};
export const reason = (say, name) => say(`loss.${name}`, LOSSES[name] ?? name);

export function loses(say, { reason: name, example, at_least_s }, answer, unit) {
  const best = answer.plans[0];
  if (name === "slower-at-least") return say("at_least", "compute, the pipeline's schedule and what layers wait for take {t} at least", { t: quantity(at_least_s, "s") });
  if (name === "nearly-as-fast") return say("nearly", "within 10 % of the best; pick by memory left");
  if (!example) return say("states", "parameters, master weights and optimizer states alone are larger than the GPU");
  const values = { l: named(say, example.label), m: quantity(example.need_bytes, "bytes", unit), c: quantity(answer.capacity_bytes, "bytes", unit), t: quantity(example.time_s, "s"), w: quantity(example.exposed_communication_s, "s"), b: quantity(example.bubble_s, "s") };
  if (name === "does-not-fit") return say("smallest", "the smallest of them, {l}, needs {m} of {c}", values);
  if (name === "waits-for-wires") {
    const most = example.waits_most;
    return say("waits", "{l} waits {w} of {t}", values) + (most ? say("waits.most", ", most of it for {o} at {b}", { o: most.collective, b: most.bottleneck || most.dimension }) : "");
  }
  if (name === "bubble") return say("idles", "{l} idles {b} of {t}", values);
  return `${values.l}: ${difference(say, example, best)}`;
}

const CHOICES = [
  [/^(\S+) inside nodes on all GPUs$/, "choice.inside", "{n} inside nodes, on all GPUs"],
  [/^(\S+) on all GPUs$/, "choice.all", "{n} on all GPUs"],
  [/^(TP \d+), data parallel between nodes$/, "choice.data", "{n}, data parallel between nodes"],
  [/^(TP \d+) with a pipeline between nodes$/, "choice.pipeline", "{n} with a pipeline between nodes"],
  [/^(TP \d+) on all GPUs$/, "choice.all", "{n} on all GPUs"],
];
export function choice(say, name) {
  for (const [form, key, english] of CHOICES) {
    const found = form.exec(name);
    if (found) return say(key, english, { n: found[1] });
  }
  return name;
}

export function popular(say, one, answer, unit) {
  const best = answer.plans[0];
  if (!one.fits) {
    if (!one.need_bytes) return say("no_layout", "its states alone do not fit, or batch and layers do not divide");
    return say("needs", "does not fit: needs {m} of {c} at least", { m: quantity(one.need_bytes, "bytes", unit), c: quantity(answer.capacity_bytes, "bytes", unit) });
  }
  const values = { t: quantity(one.time_s, "s"), l: named(say, one.label) };
  const slower = answer.top ? one.time_s / best.time_s - 1 : 0;
  if (slower < 5e-4) return say("popular.best", "{t} with {l}: as fast as the best", values);
  const parts = difference(say, one, best);
  const most = one.waits_most;
  const shows = most && one.exposed_communication_s - best.exposed_communication_s > 0.02 * best.time_s;
  return (
    say("popular.slower", "{t} with {l}: {p} slower than the best", { ...values, p: percent(slower) }) +
    (parts ? `, ${parts}` : "") +
    (shows ? say("waits.for", " ({o} at {b})", { o: most.collective, b: most.bottleneck || most.dimension }) : "")
  );
}
