// Wireplan as a module: the planner without its page, for documentation sites, notebooks and scripts.
//
//   import { ready, estimate, toMarkdown } from "./wireplan.mjs";
//   await ready;
//   const answer = estimate("story");
//   console.log(answer.memory.fits, toMarkdown(answer));
//
// Works in browsers, workers and node. Importing it is safe on a server that renders pages: no window is needed, and a
// missing wireplan.wasm shows when `ready` is awaited, not before. The file lies beside this one.
import createCore from "./core.mjs";

let core;

/** The version of the engine; the build puts it in. */
export const version = "@VERSION@";

/** Fulfilled when the functions below can be called. The build puts in the hash of the wasm, so that a hash of this file covers both. */
export const ready = createCore({ fetchSettings: { credentials: "same-origin", integrity: "@WASM@" } }).then((loaded) => {
  core = loaded;
});
ready.catch(() => {}); // whoever awaits it sees the error; nobody awaiting is no fault

const failure = (path, value, limit, text) => ({ errors: [{ path, value, limit, text }] });

// One command of the C ABI. What cannot be written as JSON, and a core that is not there, are errors like all others.
function call(command, request) {
  if (!core) return failure("", "", "after `await ready`", "the planner is not loaded yet: await ready first");
  let json;
  try {
    json = JSON.stringify(request, (key, value) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${key} is ${value}`);
      return value;
    });
  } catch (error) {
    return failure("", "", "a value that JSON can hold", `the request is not JSON: ${error.message}`);
  }
  const name = core.stringToNewUTF8(command);
  const text = core.stringToNewUTF8(json ?? "null");
  const answer = core._wireplan_call(name, text);
  core._free(name);
  core._free(text);
  const document = JSON.parse(core.UTF8ToString(answer));
  core._wireplan_free(answer);
  return document;
}

// Where a plan is wanted, an answer may stand: an estimate for its plan, a comparison for its plans. What was stated is kept
// beside the estimate, since the plan in it has every default filled in and no longer says what was assumed.
const statements = new WeakMap();
const planOf = (stated) => (stated?.schema === "wireplan.estimate/1" ? statements.get(stated) ?? stated.plan : stated);
const about = (stated) => (stated?.schema === "wireplan.compare/1" ? { plans: stated.estimates.map(planOf) } : { plan: planOf(stated) });

function remember(estimate, stated) {
  if (!estimate.errors) statements.set(estimate, typeof stated === "string" ? stated : JSON.parse(JSON.stringify(stated)));
}

/**
 * Whether a plan fits, what travels, how long a step takes. A plan is a document, a scenario id or a link;
 * {timeline: true}: also what every stream does when, and the memory over one step; {placement: true}: also the best mapping of ranks to GPUs;
 * {tokens, price}: a budget; {scaling: "weak" | "strong", up_to: nodes}: fewer and more GPUs; {crossover: true, exposed: percent}:
 * the link speeds at which another sharding is faster; {advise: true}: what to change first, and the smallest clusters that would do.
 */
export function estimate(plan, { timeline = false, placement = false, ...questions } = {}) {
  const stated = planOf(plan);
  const has_edits = typeof stated === "object" && stated !== null && "plan" in stated;
  const answer = call("estimate", timeline || placement || Object.keys(questions).length ? { ...(has_edits ? stated : { plan: stated }), timeline, placement, ...questions } : stated);
  remember(answer, stated);
  return answer;
}

/** Plans side by side; the first is the baseline. */
export function compare(plans) {
  const stated = Array.isArray(plans) ? plans.map(planOf) : plans;
  const answer = call("compare", { plans: stated });
  answer.estimates?.forEach((estimate, i) => remember(estimate, stated[i]));
  return answer;
}

/** The best mapping of ranks to GPUs, and the best {gpus: k} of a node's GPUs (left out: as many as the plan uses). */
export const placement = (plan, { gpus } = {}) => call("placement", { plan: planOf(plan), gpus });

/** The largest micro-batch or the longest sequence that fits: {max: "micro_batch_size" | "sequence_length"}. */
export const fit = (plan, { max } = {}) => call("fit", { plan: planOf(plan), max });

/** Where one number of the estimate comes from: symbol, formula, the values put in, sources. */
export const explain = (plan, path) => call("explain", { plan: planOf(plan), path });

/**
 * Predicted times and bandwidths of collectives by size: {cluster, op, sizes: [bytes] or {begin, end, factor}, gpus or per_node,
 * nodes, dtype}.
 */
export const collectives = (request) => call("collectives", request);

/** A machine's chips and links, the way between any two GPUs, and what a ring over them (or over {gpus}) reaches. */
export const topology = (cluster, { gpus } = {}) => call("topology", { cluster, gpus });

/**
 * What NCCL decides on a machine: graphs, rings, trees, channels, algorithm and protocol by size. A cluster as above, or {xml: the text of
 * an NCCL topology file}; {nodes, gpus, p2p, gpudirect, rack_nodes, env: {NCCL_ALGO: "Ring"}, nccl: "2.28.9"}.
 */
export const nccl = (cluster, options) => call("nccl", { ...options, ...(typeof cluster === "object" && cluster?.xml !== undefined ? cluster : { cluster }) });

/** All kinds; the presets of one kind; or one preset as it is written. */
export const presets = (kind, id) => call("presets", { kind, id });

/** A link as a plan document: {plan, view, notes}. */
export const parseLink = (link) => call("parse_link", { link });

/** A plan as a link: "#v=1&m=…". */
export function formatLink(plan) {
  const answer = call("format_link", planOf(plan));
  return answer.errors ? answer : answer.link;
}

function rendered(format, stated, options) {
  const unit = options?.unit;
  const answer = call("render", { ...about(stated), format, unit });
  return answer.errors ? answer : answer.text;
}

/** A plan, an estimate or a comparison as aligned text; {unit: "GB" | "GiB"}. */
export const toText = (stated, options) => rendered("text", stated, options);

/** The same as Markdown with tables, link and version. */
export const toMarkdown = (stated, options) => rendered("markdown", stated, options);

/** The same as CSV: one line for each plan, every number at full precision, units in the header. */
export const toCsv = (stated, options) => rendered("csv", stated, options);

/**
 * A machine's wiring as a cluster document, out of `nvidia-smi topo -m` (with its other outputs beside it) or an NCCL topology XML.
 * {gpu, network} state what the text does not say; the rest stands under `assumed`.
 */
export const importTopology = (text, { gpu, network } = {}) => call("import_topology", { text, gpu, network });

/**
 * A log of nccl-tests (text, or the file of -J) as measurements: {profile, gpus, notes}. `op` says what a table measured that
 * does not say so itself.
 */
export const importNcclTests = (text, { op } = {}) => call("import_nccl_tests", { text, op });

/**
 * A model's config.json as the model of a plan: {model, parameters, presets, fields, notes, …}; `presets` are the ids that are the same model.
 * {weights}: the header of a .safetensors file or its index, to compare the count with; {model_type, set: [["model.mlp", "swiglu"]]} state what the text
 * does not say.
 */
export const importConfig = (text, { weights, model_type, set } = {}) => call("import_config", { text, weights, model_type, set });

// Lets everything else that waits have its turn.
const pause = () =>
  new Promise((go) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      go();
    };
    port2.postMessage(null);
  });

const SLICE_MS = 12; // of work between two pauses: a frame is 16

/**
 * The best layouts for a plan's model, training and cluster: {objective: "throughput" | "memory" | "gpus" | "cost", gpus, cluster, vary: [names],
 * fix: [[path, value]], top, verdict, unit, points}. `onProgress` is told {progress, counts, best, done} now and then. A signal that aborts ends it
 * with what is known by then: `complete` is false.
 */
export async function search(plan, options = {}, onProgress, signal) {
  if (!core) return failure("", "", "after `await ready`", "the planner is not loaded yet: await ready first");
  const stated = planOf(plan);
  const has_edits = typeof stated === "object" && stated !== null && "plan" in stated;
  const json = core.stringToNewUTF8(JSON.stringify({ ...(has_edits ? stated : { plan: stated }), ...options }));
  const handle = core._wireplan_search_open(json);
  core._free(json);
  const read = (text) => {
    const document = JSON.parse(core.UTF8ToString(text));
    core._wireplan_free(text);
    return document;
  };
  try {
    for (let pieces = 8; ; ) {
      const start = performance.now();
      const known = read(core._wireplan_search_step(handle, pieces));
      if (known.errors) return known;
      onProgress?.(known);
      if (known.done || signal?.aborted) break;
      const spent = performance.now() - start;
      pieces = Math.max(1, Math.min(4096, Math.round(pieces * Math.min(2, SLICE_MS / Math.max(spent, 0.1)))));
      await pause();
      if (signal?.aborted) break;
    }
    return read(core._wireplan_search_answer(handle));
  } finally {
    core._wireplan_search_close(handle);
  }
}

/** A plan as the files of a trainer: "torchtitan", "deepspeed", "accelerate", ...; left out: the usual one of the plan. */
export const exportPlan = (plan, trainer) => call("export", { plan: planOf(plan), trainer });

/** The parts of a plan that a trainer's configuration states; {onto: plan}: that plan with them; {trainer} where its content does not say. */
export const importTrainer = (text, { trainer, onto } = {}) => call("import_trainer", { text, trainer, ...(onto === undefined ? {} : { onto: planOf(onto) }) });
