// What a comparison says in words: what a plan is called, which is fastest, how far a number is from the baseline's.
import { quantity } from "./explain.mjs";

export const LETTERS = ["A", "B", "C", "D"];
const SHARDINGS = { ddp: "DDP", zero1: "ZeRO-1", zero2: "ZeRO-2", zero3: "ZeRO-3", fsdp: "FSDP", hsdp: "HSDP" };

function sharding({ parallel: p }) {
  const name = SHARDINGS[p.data_sharding] ?? p.data_sharding;
  const ranks = p.data * p.context;
  return p.data_sharding === "hsdp" && p.shard_group > 0 ? `${name} ${p.shard_group}\u00a0×\u00a0${ranks / p.shard_group}` : name;
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

// As few of the telling fields as tell all plans apart: each time the one that leaves fewest alike.
function chosenFields(plans, fields) {
  const alike = (some) => new Set(plans.map((plan) => JSON.stringify(some.map((path) => at(plan, path) ?? null)))).size;
  let chosen = [];
  while (chosen.length < MOST_PARTS) {
    const [best] = fields.filter((path) => !chosen.includes(path)).map((path) => [alike([...chosen, path]), path]).sort((a, b) => b[0] - a[0]);
    if (!best || best[0] === alike(chosen)) break;
    chosen = [...chosen, best[1]];
  }
  return fields.filter((path) => chosen.includes(path));
}

// What each was called, else what tells it from the others, else how it shards.
export function namesOf(say, given, estimates, different) {
  const there = estimates.filter(Boolean);
  // What nobody stated only follows from what is stated.
  const isStated = (path) => there.some(({ assumed }) => !assumed.some((one) => one.path === path));
  const telling = Object.keys(TELLING).filter((path) => isStated(path) && different.some((one) => one === path || one.startsWith(`${path}.`)));
  const fields = chosenFields(there.map(({ plan }) => plan), telling);
  return estimates.map((e, i) => given[i] || (!e ? say("unread", "not read") : fields.map((path) => TELLING[path](say, at(e.plan, path), e.plan)).join(" · ") || sharding(e.plan)));
}

export const verdictWord = (say, { verdict }) =>
  ({ fits: say("fits", "fits"), tight: say("tight", "fits, tightly"), "may-not-fit": say("may_not_fit", "may not fit"), "does-not-fit": say("does_not_fit", "does not fit") })[verdict];

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

const UNITS = {
  GB: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  GiB: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
};

// How the numbers of one row are written: in one unit, with as many decimals as the largest has.
export function formatOf(values, unit, memory) {
  if (unit === "share") return percent;
  if (unit === "tokens") return (value) => Math.round(value).toLocaleString("en");
  const scales = UNITS[unit === "bytes" ? memory : unit];
  if (!scales) return (value) => quantity(value, unit, memory);
  const most = Math.max(...values.map(Math.abs));
  // Memory stays in the unit that was chosen as long as that says anything.
  const [scale, name] = scales.find(([least]) => most >= (unit === "bytes" && least === scales[0][0] ? 0.01 * least : least)) ?? scales.at(-1);
  const decimals = most >= 100 * scale && unit === "s" ? 0 : most >= 10 * scale ? 1 : 2;
  return (value) => (value === 0 ? "0" : `${(value / scale).toFixed(scale === 1 && unit === "bytes" ? 0 : decimals)} ${name}`);
}

// "+22.8 GB", "−19.5 s", as far from the baseline's; nothing where they are the same.
export function distance(say, value, base, shown, unit) {
  if (value === base || !Number.isFinite(value) || !Number.isFinite(base)) return "";
  const size = Math.abs(value - base);
  return (value > base ? "+" : "−") + (unit === "share" ? say("points", "{n} points", { n: (100 * size).toFixed(1) }) : shown(size));
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
