// What a comparison says in words: what a plan is called, which is fastest, how far a number is from the baseline's.
import { quantity } from "./explain.mjs";

export const LETTERS = ["A", "B", "C", "D"];
const SHARDINGS = { ddp: "DDP", zero1: "ZeRO-1", zero2: "ZeRO-2", zero3: "ZeRO-3", fsdp: "FSDP", hsdp: "HSDP" };

function sharding({ parallel: p }) {
  const name = SHARDINGS[p.data_sharding] ?? p.data_sharding;
  const ranks = p.data * p.context;
  return p.data_sharding === "hsdp" && p.shard_group > 0 ? `${name} ${p.shard_group} × ${ranks / p.shard_group}` : name;
}

// Fields by which plans are told apart, the most telling first.
const TELLING = {
  model: (say, v) => (typeof v === "string" ? v : say("own_model", "own model")),
  "cluster.node": (say, v) => (typeof v === "string" ? v : say("own_node", "own node")),
  "cluster.nodes": (say, v) => (v === 1 ? say("one_node", "1 node") : say("nodes", "{n} nodes", { n: v })),
  "cluster.gpus_per_node": (say, v) => say("gpus", "{n} GPUs a node", { n: v }),
  "cluster.network": (say, v) => (typeof v === "string" ? v : say("network", "own network")),
  "parallel.framework": (say, v) => v,
  "parallel.data_sharding": (say, v, plan) => sharding(plan),
  "parallel.tensor": (say, v) => `TP ${v}`,
  "parallel.pipeline": (say, v) => `PP ${v}`,
  "parallel.context": (say, v) => `CP ${v}`,
  "parallel.expert": (say, v) => `EP ${v}`,
  "training.recompute": (say, v) => say("recompute", "recompute {v}", { v: typeof v === "string" ? v : JSON.stringify(v).replace(/[{}"]/g, "") }),
  "training.micro_batch_size": (say, v) => `micro-batch ${v}`,
  "training.global_batch_size": (say, v) => `batch ${v}`,
  "training.sequence_length": (say, v) => `${v} tokens`,
  "training.parameter_dtype": (say, v) => say("weights", "weights {v}", { v }),
  "training.gradient_dtype": (say, v) => say("gradients", "gradients {v}", { v }),
  "training.optimizer": (say, v) => v,
  "training.optimizer_state_dtype": (say, v) => say("states", "states {v}", { v }),
  "training.master_weights_dtype": (say, v) => (v ? say("master", "master {v}", { v }) : say("no_master", "no master copy")),
};
const MOST_PARTS = 3;

const at = (plan, path) => path.split(".").reduce((json, key) => json?.[key], plan);

// What it was called, else what differs, else how it shards.
export function nameOf(say, given, estimate, different) {
  if (given || !estimate) return given;
  const { plan, assumed } = estimate;
  const follows = new Set(assumed.map(({ path }) => path));  // what nobody stated only follows from what is stated
  const telling = Object.keys(TELLING).filter((path) => different.some((one) => one === path || one.startsWith(`${path}.`)));
  const stated = telling.filter((path) => !follows.has(path));
  const parts = (stated.length ? stated : telling).slice(0, MOST_PARTS).map((path) => TELLING[path](say, at(plan, path), plan));
  return parts.join(" · ") || sharding(plan);
}

export const verdictWord = (say, { verdict }) =>
  ({ fits: say("fits", "fits"), tight: say("tight", "fits, tightly"), "may-not-fit": say("may_not_fit", "may not fit"), "does-not-fit": say("does_not_fit", "does not fit") })[verdict];

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

// "+22.8 GB", "−19.5 s", as far from the baseline's; nothing where they are the same.
export function distance(say, value, base, unit, memory) {
  if (value === base || !Number.isFinite(value) || !Number.isFinite(base)) return "";
  const sign = value > base ? "+" : "−";
  const size = Math.abs(value - base);
  if (unit === "share") return `${sign}${say("points", "{n} points", { n: (100 * size).toFixed(1) })}`;
  return `${sign}${quantity(size, unit, memory)}`;
}

const tokensOfStep = ({ plan: { training: t } }) => t.global_batch_size * t.sequence_length;

// The index of the fastest plan that fits; −1 where none does. By tokens a second: steps may differ in their tokens.
export function fastest(estimates) {
  let best = -1;
  estimates.forEach((e, i) => {
    if (e?.memory.fits && (best < 0 || e.step.tokens_per_s > estimates[best].step.tokens_per_s)) best = i;
  });
  return best;
}

// [[text, tone], …]: which is fastest and fits, and what it costs against the baseline.
export function headline(say, names, estimates, memory) {
  const there = estimates.map((e, i) => ({ e, name: names[i] })).filter(({ e }) => e);
  if (there.length < 2) return [];
  const best = fastest(estimates);
  if (best < 0) {
    const over = ({ e }) => e.memory.need_bytes.value - e.memory.capacity_bytes;
    const near = there.reduce((a, b) => (over(b) < over(a) ? b : a));
    return [[say("none", "None of these {n} plans fits.", { n: there.length }), "bad"], [` ${say("nearest", "Nearest is {a}: {m} over.", { a: near.name, m: quantity(over(near), "bytes", memory) })}`, ""]];
  }
  const [first] = there;
  const e = estimates[best];
  const alike = there.every((one) => tokensOfStep(one.e) === tokensOfStep(first.e));
  const speed = alike ? say("a_step", "{t} per step", { t: quantity(e.step.time_s.value, "s") }) : say("a_second", "{r} tokens/s", { r: Math.round(e.step.tokens_per_s).toLocaleString("en") });
  const start = [[names[best], "good"], [` ${say("is_fastest", "is fastest and fits:")} `, ""], [speed, "strong"]];
  const than = (other) => {
    const factor = e.step.tokens_per_s / other.step.tokens_per_s;
    return factor >= 2 ? say("times", "{f} × as fast as", { f: factor.toFixed(1) }) : factor < 1.005 ? say("as_fast", "as fast as") : say("faster", "{p} % faster than", { p: ((factor - 1) * 100).toFixed(factor < 1.1 ? 1 : 0) });
  };
  if (e !== first.e && !first.e.memory.fits) return [...start, [say("base_not", "; {a} does not fit.", { a: first.name }), ""]];
  const others = there.filter((one) => one.e !== e && one.e.memory.fits);
  if (!others.length) return [...start, [say("alone", "; no other fits."), ""]];
  const other = e === first.e ? others.reduce((a, b) => (b.e.step.tokens_per_s > a.e.step.tokens_per_s ? b : a)) : first;
  const more = e.memory.need_bytes.value - other.e.memory.need_bytes.value;
  const m = quantity(Math.abs(more), "bytes", memory);
  const price = more > 0 ? say("for_more", ", for {m} more per GPU.", { m }) : more < 0 ? say("for_less", ", with {m} less per GPU.", { m }) : say("for_same", ", with as much memory per GPU.");
  return [...start, [`, ${than(other.e)} ${other.name}${price}`, ""]];
}

// "300B", "15T", "2e12" as a number; null for nothing, NaN for what is none.
export function amount(text) {
  if (!text.trim()) return null;
  const [, digits, scale] = /^\s*((?:\d+\.?\d*|\.\d+)(?:e\+?\d+)?)\s*([kMBGT]?)\s*$/i.exec(text.replaceAll(",", "")) ?? [];
  return Number(digits) * { "": 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 }[(scale ?? "").toLowerCase()];
}
