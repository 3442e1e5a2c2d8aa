// Types of wireplan.mjs. The documents are described in docs/module.md.

export interface WireplanError {
  path: string;
  value: string;
  limit: string;
  text: string;
}
export interface Errors {
  errors: WireplanError[];
}

export interface Range {
  low: number;
  value: number;
  high: number;
}

/** A plan document (wireplan.plan/1); left-out fields have defaults. */
export interface PlanDocument {
  schema?: "wireplan.plan/1";
  model: string | Record<string, unknown>;
  training?: Record<string, unknown>;
  parallel?: Record<string, unknown>;
  cluster: string | Record<string, unknown>;
}

/** A plan document, a scenario id or a share link; with changes; or the estimate of a plan. */
export type Stated = string | PlanDocument | { plan: Stated; set?: [path: string, value: unknown][] } | Estimate;

export interface Note {
  severity: "info" | "warning" | "error";
  path: string;
  text: string;
}

export interface Communication {
  name: string;
  collective: string;
  dimension: "tensor" | "pipeline" | "context" | "expert" | "data" | "shard" | "replicate" | "expert-data";
  ranks: number;
  bytes: number;
  calls: number;
  algorithm: string;
  protocol: string;
  bus_bandwidth_bytes_per_s: number;
  time_s: Range;
  exposed_s: number;
  bottleneck: string;
  basis: "profile" | "measured" | "interpolated" | "formula" | "extrapolated";
}

/** A link that a ring uses: flows × bus bandwidth is what a direction carries; "forward" is from a to b. */
export interface LinkLoad {
  a: string;
  b: string;
  kind: "nvlink" | "pcie" | "socket" | "c2c" | "xgmi" | "eth" | "ib";
  flows_forward: number;
  flows_backward: number;
  /** NCCL's planning rate, one direction, unless the link's rate was stated. */
  planning_bytes_per_s: number;
  nominal_bytes_per_s: number | null;
}

/** Where the groups of one dimension lie on a node. */
export interface WiringGroup {
  dimension: Communication["dimension"];
  collective: string;
  ranks: number;
  nodes: number;
  groups_per_node: number;
  /** GPUs of the first group, as its ring visits them. */
  order: number[];
  bus_bandwidth_bytes_per_s: number;
  bottleneck: string;
  bottleneck_planning_bytes_per_s: number;
  bottleneck_nominal_bytes_per_s: number | null;
  host_memory: boolean;
  links: LinkLoad[];
  /** Links in use beyond the 64 that are listed. */
  links_left_out: number;
}

export interface Mapping {
  placement: number[] | null;
  order: string;
  gpus: number[] | null;
  time_s: Range;
  communication_s: number;
  exposed_communication_s: Range;
  groups: {
    dimension: Communication["dimension"];
    gpus: number[][];
    bus_bandwidth_bytes_per_s: number;
    bottleneck: string;
    bottleneck_planning_bytes_per_s: number;
    bottleneck_nominal_bytes_per_s: number | null;
    time_s: number;
    exposed_s: number;
  }[];
}

export interface GpuSubset {
  gpus: number[];
  bus_bandwidth_bytes_per_s: number;
  all_to_all_bandwidth_bytes_per_s: number;
  bottleneck: string;
  bottleneck_planning_bytes_per_s: number;
  bottleneck_nominal_bytes_per_s: number | null;
}

export interface Placement {
  schema: "wireplan.placement/1";
  current: Mapping;
  best: Mapping & {
    edits: { path: string; value: unknown }[];
    gain_s: number;
    gain_low_s: number;
    gain_high_s: number;
    gain_share: number;
    /** What of the gain survives the bands of both. */
    certainty: "apart" | "same-constants" | "open";
    exact: boolean;
    compared: number;
    text: string;
  };
  subsets: GpuSubset[];
  first_subset: GpuSubset;
  subsets_exact: boolean;
  subsets_text: string;
}

/** A speed of the asked link: factor × what it is now; `class` the slowest kind of link that reaches it; `nics` of today's that do. */
export interface LinkNeed {
  factor: number;
  bytes_per_s: number;
  class: string | null;
  nics: number | null;
}

export interface AskedLink {
  place: "node" | "network";
  name: string;
  bytes_per_s: number;
  nominal_bytes_per_s: number | null;
  /** By the user; else the rate is NCCL's planning rate. */
  stated: boolean;
  /** Whether there are names for kinds of such links at other speeds. */
  has_classes: boolean;
  nics: number | null;
}

export interface Crossover {
  link: AskedLink;
  /** Half octaves from 1/64 to 64 times today's speed; in the middle 1. */
  factors: number[];
  /** `times_s`: the step at each of the factors. */
  shardings: { sharding: string; label: string; fits: boolean; chosen: boolean; time_s: number; time_slowest_s: number; time_fastest_s: number; times_s: number[] }[];
  /** The fastest of those that fit; `from` null: from the slowest links on. */
  fastest: { sharding: string; from: LinkNeed | null }[];
  /** Without crossings `faster` is faster all along, null: neither. */
  pairs: { less: string; more: string; crossings: (LinkNeed & { faster_above: string })[]; faster: string | null; largest_difference: number; text: string }[];
  exposed: { link: AskedLink; limit: number; now: number; at_fastest: number; answer: "always" | "from" | "never"; from: LinkNeed | null; text: string };
  /** The factor from which on the plan waits for something else than these links. */
  bound_from: number | null;
  text: string;
  basis: string;
}

/** Utilization as others count the FLOPs of a token; "palm" is step.mfu. An opaque model has "palm" alone. */
export interface Convention {
  name: "palm" | "palm-causal" | "megatron-paper" | "megatron-hardware" | "megatron-lm" | "torchtitan" | "6n";
  flops_per_token: number;
  tflops_per_gpu: number;
  mfu: number;
}

export interface Estimate {
  schema: "wireplan.estimate/1";
  engine: string;
  plan: PlanDocument;
  assumed: { path: string; value: unknown; why: string }[];
  model: { parameters: number; active_parameters: number; flops_per_token: number };
  memory: {
    capacity_bytes: number;
    fits: boolean;
    verdict: "fits" | "tight" | "may-not-fit" | "does-not-fit";
    states: Record<"parameters" | "gradients" | "master_weights" | "optimizer_states", number>;
    allocated_bytes: Range;
    need_bytes: Range;
    reserved_bytes: Range;
    device_bytes: Range;
    parts: Record<
      | "parameters"
      | "gradients"
      | "master_weights"
      | "optimizer_states"
      | "activations"
      | "logits"
      | "unsharded_parameters"
      | "communication_buffers"
      | "temporary",
      number
    >;
    allocator_slack_bytes: number;
    runtime_bytes: number;
    peak_at: string;
    worst_rank: number;
    ranks: { stage: number; allocated_bytes: number; reserved_bytes: number; device_bytes: number }[];
    phases: Record<"load" | "initialize" | "first_step" | "steady" | "between_steps" | "save", number>;
    after_forward_bytes: number;
    after_backward_bytes: number;
    host_bytes: number;
    fits_host: boolean | null;
  };
  communication: Communication[];
  wiring: { groups: WiringGroup[] };
  step: { time_s: Range } & Record<
    | "compute_s"
    | "exposed_communication_s"
    | "bubble_s"
    | "optimizer_s"
    | "host_s"
    | "offload_s"
    | "straggler_s"
    | "on_ideal_wiring_s"
    | "wiring_bandwidth_s"
    | "wiring_latency_s"
    | "tokens_per_s"
    | "tokens_per_s_per_gpu"
    | "model_tflops_per_gpu"
    | "hardware_tflops_per_gpu"
    | "mfu"
    | "hfu",
    number
  > & { conventions: Convention[] };
  notes: Note[];
  /** Asked for by {timeline: true}: what each stream of the slowest stage's first rank (and the compute stream of every stage) does when, in the order of time, none at once with the
   * next; and for every stage [seconds, allocated bytes] over one step. `communication` is an index of `communication`; `waits_for`: why the stream stood still before. */
  timeline?: {
    streams: {
      rank: number;
      stage: number;
      stream: "compute" | "network" | "layers" | "copy";
      events: {
        name: string;
        start_s: number;
        duration_s: number;
        kind: "forward" | "backward" | "weight-gradient" | "forward-and-backward" | "optimizer" | "communication" | "copy" | "host" | "straggler";
        micro_batch: number | null;
        communication: number | null;
        waits_for: string | null;
      }[];
    }[];
    memory: { stage: number; points: [time_s: number, allocated_bytes: number][] }[];
  };
  /** Asked for by {placement: true}. */
  placement?: Placement;
  /** Asked for by {advise}. */
  advice?: Advice;
  /** Asked for by {tokens, price}. */
  budget?: { tokens: number; steps: number; time_s: Range; gpu_hours: Range; price_per_gpu_hour: number | null; cost: Range | null };
  /** Asked for by {scaling}: the plan on fewer and more GPUs. `efficiency`: tokens/s of a GPU against the first. */
  scaling?: { gpus: number; nodes: number; time_s: number; tokens_per_s: number; exposed_communication_s: number; fits: boolean; efficiency: number }[];
  scaling_notes?: { mode: "weak" | "strong"; breaks_at_gpus: number | null; left_out: { gpus: number; nodes: number; reason: string }[]; text: string };
  /** Asked for by {crossover}. */
  crossover?: Crossover;
}

/** One edit of a plan: as a pair of `set`, or --set path=value. */
export interface Edit {
  path: string;
  value: unknown;
}

export interface Advice {
  /** With true or "changes". */
  text?: string;
  changes?: {
    /** Stable: "sharding=fsdp"; parts of a combination joined by "+". */
    key: string;
    label: string;
    edits: Edit[];
    /** The edits as arguments of the program. */
    set: string;
    /** free: the same training; numerics: another one; hardware: another machine. */
    kind: "free" | "numerics" | "hardware";
    fits: boolean;
    verdict: "fits" | "tight" | "may-not-fit" | "does-not-fit";
    need_bytes: number;
    time_s: number;
    tokens_per_s: number;
    need_change_bytes: number;
    time_change_s: number;
    /** A share: 0.12 is 12 % more tokens/s. */
    tokens_change: number;
    price: string;
    text: string;
    /** What the plan's trainer is told instead; empty where nothing is known of it. */
    trainer_lines: string[];
  }[];
  /** With true or "smallest": of each kind of node the fewest GPUs that hold the training. */
  smallest?: {
    node: string;
    nodes: number;
    /** Of all nodes. */
    gpus: number;
    edits: Edit[];
    need_bytes: number;
    time_s: number;
    tokens_per_s: number;
    gpu_hours_per_billion_tokens: number;
    /** Every layer, which the plan does not. */
    recomputes: boolean;
    text: string;
  }[];
  smallest_left_out?: { node: string; reason: string }[];
}

/** The largest value that fits; `estimate` is of the plan with it, or with the smallest where none fits (largest null). */
export interface Fit {
  path: string;
  largest: number | null;
  limit: "memory" | "batch" | "range";
  next: number | null;
  next_need_bytes: number | null;
  global_batch_size: number;
  /** The global batch was a default and goes along with the micro-batch. */
  moves_batch: boolean;
  text: string;
  estimate: Estimate;
}

export interface Comparison {
  schema: "wireplan.compare/1";
  baseline: number;
  estimates: Estimate[];
  differences: { path: string; values: unknown[] }[];
}

/** A cluster document (wireplan.cluster/1), accepted as the `cluster` of a plan. */
export interface Cluster {
  schema: "wireplan.cluster/1";
  nodes: number;
  node: Record<string, unknown>;
  network: string | Record<string, unknown> | null;
  gpus_per_node: number;
  rack_nodes: number | null;
  profile: Record<string, unknown> | null;
  assumed: { path: string; value: unknown; why: string }[];
}

export type Claim = "count" | "bound" | "estimate" | "measured";

export interface Explanation {
  key: string;
  symbol: string;
  formula: string;
  values: { symbol: string; value: number; unit: string; kind: Claim; meaning: string; key: string }[];
  result: number;
  unit: string;
  kind: Claim;
  band: Range | null;
  sources: string[];
}

export interface PresetKinds {
  kinds: { kind: string; count: number; what: string }[];
}
export interface PresetList {
  kind: string;
  presets: ({ id: string; name: string | null; verified: string | null; source: string | null } & Record<string, unknown>)[];
}

/** A cluster document, the id of a node, or a plan: its cluster. */
export type StatedCluster = string | Record<string, unknown>;
export type Operation =
  | "all_reduce" | "all_gather" | "reduce_scatter" | "broadcast" | "reduce" | "all_to_all" | "send_recv" | "scatter" | "gather";
type Assumed = { path: string; value: unknown; why: string }[];

export interface CollectivesRequest {
  cluster: StatedCluster;
  op?: Operation | "all";
  sizes?: number[] | { begin?: number; end?: number; factor?: number; step?: number };
  /** GPUs of each node, or per_node: so many of them. */
  gpus?: number[];
  per_node?: number;
  nodes?: number;
  dtype?: string;
  redop?: "sum" | "prod" | "min" | "max" | "avg";
}
export interface Collectives {
  schema: "wireplan.collectives/1";
  cluster: Record<string, unknown>;
  dtype: string;
  curves: {
    op: Operation;
    ranks: number;
    nodes: number;
    gpus: number[];
    bottleneck: string;
    bottleneck_planning_bytes_per_s: number | null;
    bottleneck_nominal_bytes_per_s: number | null;
    points: {
      size_bytes: number;
      count: number;
      time_s: Range;
      algorithm_bandwidth_bytes_per_s: number;
      bus_bandwidth_bytes_per_s: number;
      algorithm: string;
      protocol: string;
      basis: Communication["basis"];
    }[];
  }[];
  assumed: Assumed;
}

interface Reached {
  bus_bandwidth_bytes_per_s: number;
  bottleneck: string;
  bottleneck_planning_bytes_per_s: number | null;
  bottleneck_nominal_bytes_per_s: number | null;
}
interface Ring extends Reached {
  nodes: number;
  order: number[];
  loads: { link: number; direction: "a-b" | "b-a"; flows: number }[];
}
export interface Topology {
  schema: "wireplan.topology/1";
  cluster: Record<string, unknown>;
  components: { id: string; kind: string; numa: number | null; model?: string; bytes_per_s?: number | null; gpudirect?: boolean }[];
  links: {
    a: string;
    b: string;
    kind: string;
    generation: number | null;
    lanes?: number | null;
    count?: number | null;
    planning_bytes_per_s: number;
    nominal_bytes_per_s: number | null;
    stated: boolean;
  }[];
  /** Row by row; null beyond 256 GPUs. */
  paths: { types: string[][]; bytes_per_s: (number | null)[][]; p2p: boolean[][] } | null;
  ring: Ring;
  cluster_ring: Ring | null;
  pairs: ({ type: string; p2p: boolean; first: [number, number]; count: number } & Reached)[];
  assumed: Assumed;
}

/** What NCCL reads beside the machine. */
export interface NcclOptions {
  /** So many hosts like this one. */
  nodes?: number;
  /** GPUs of each host, in the order of ranks. */
  gpus?: number[];
  /** "all", "none", or a row of 0 and 1 for each GPU, with / between. */
  p2p?: string;
  gpudirect?: boolean;
  rack_nodes?: number;
  env?: Record<string, string>;
  /** A release; left out: 2.28.9. */
  nccl?: string;
}
type NcclPath = "LOC" | "NVL" | "NVB" | "C2C" | "PIX" | "PXB" | "P2C" | "PXN" | "PHB" | "SYS" | "NET" | "DIS";
export interface Nccl {
  schema: "wireplan.nccl/1";
  nccl: string;
  ranks: number;
  nccl_nodes: number;
  paths: { gpus: number[]; types: NcclPath[][]; bytes_per_s: number[][]; transport: string[][] };
  graphs: {
    kind: "ring" | "tree" | "nvls";
    pattern: string;
    channels: number;
    intra_bytes_per_s: number;
    inter_bytes_per_s: number;
    intra_type: NcclPath;
    inter_type: NcclPath;
    cross_nic: number;
    same_channels: number;
    /** GPUs by channel; null for nvls, which has heads. */
    order: number[][] | null;
    heads?: number[];
    nets?: [into: number, out: number][];
  }[];
  channels: { coll: number; nvls: number; p2p: number; p2p_per_peer: number };
  ring_limit: { from: number | string; to: number | string; link: string; bytes_per_s: number; uses: number; filled: number } | null;
  rings: { channels: number[]; order: number[] }[];
  trees: { channels: number[]; parent: number[] }[];
  /** By operation and "algorithm/protocol". */
  tuning: Record<string, Record<string, [latency_s: number, bytes_per_s: number]>>;
  choices: {
    op: Operation;
    points: [size_bytes: number, algorithm: string, protocol: string, time_s: number, max_channels: number, threads: number, channels: number][];
    switches: [size_bytes: number, algorithm: string, protocol: string][];
  }[];
  assumed: Assumed;
  notes: Note[];
}

export interface TextOptions {
  /** Unit of memory; left out: as the scenario or link asks, else GiB. */
  unit?: "GB" | "GiB";
}

/** Fulfilled when the functions below can be called. */
export const ready: Promise<void>;
/** The version of the engine. */
export const version: string;

export function estimate(
  plan: Stated,
  options?: {
    timeline?: boolean;
    placement?: boolean;
    /** "smallest" takes longest. */
    advise?: boolean | "changes" | "smallest";
    /** A number, or text as "15T", "300B". */
    tokens?: number | string;
    /** Of one GPU-hour, in any currency; with tokens. */
    price?: number | string;
    scaling?: boolean | "weak" | "strong";
    /** Nodes; with scaling. */
    up_to?: number;
    crossover?: boolean | "node" | "network";
    /** Percent of the step that may show; with crossover. */
    exposed?: number;
  },
): Estimate | Errors;
export function compare(plans: Stated[]): Comparison | Errors;
export function placement(plan: Stated, options?: { gpus?: number }): Placement | Errors;
export function fit(plan: Stated, options: { max: "micro_batch_size" | "sequence_length" }): Fit | Errors;
export function explain(plan: Stated, path: string): Explanation | Errors;
export function collectives(request: CollectivesRequest): Collectives | Errors;
export function topology(cluster: StatedCluster, options?: { gpus?: number[] }): Topology | Errors;
export function nccl(cluster: StatedCluster | { xml: string }, options?: NcclOptions): Nccl | Errors;
export function presets(): PresetKinds;
export function presets(kind: string): PresetList | Errors;
export function presets(kind: string, id: string): Record<string, unknown> | Errors;
export function parseLink(link: string): { plan: PlanDocument; view: Record<string, string>; notes: Note[] } | Errors;
export function formatLink(plan: Stated): string | Errors;
export function toText(plan: Stated | Comparison, options?: TextOptions): string | Errors;
export function toMarkdown(plan: Stated | Comparison, options?: TextOptions): string | Errors;
export function toCsv(plan: Stated | Comparison, options?: TextOptions): string | Errors;
/** From `nvidia-smi topo -m` or an NCCL topology XML; gpu: the id of a GPU, network: a short-hand such as "infiniband-8x400". */
export function importTopology(text: string, hints?: { gpu?: string; network?: string }): Cluster | Errors;

/** Measurements of a machine (wireplan.profile/1): the `profile` of a cluster. */
export interface Profile {
  schema: "wireplan.profile/1";
  machine: string | null;
  date: string | null;
  software: unknown;
  collectives: {
    op: string;
    ranks: number;
    nodes: number;
    gpus: number[] | null;
    dtype: string | null;
    launch: "process-per-gpu" | "single-process" | null;
    points: [size_bytes: number, time_s: number][];
  }[];
  gemm: { dtype: string | null; m: number; n: number; k: number; flops_per_s: number }[];
  hbm_bytes_per_s: number | null;
  fit: { op: string; link_class: string | null; latency_s: number; bytes_per_s: number }[];
}

/** A log of nccl-tests, text or the file of -J, a run of `wireplan measure` or a report of `wireplan validate`; `op` for tables that do not say what they measured. */
export function importNcclTests(text: string, hints?: { op?: string }): { profile: Profile; gpus: string[]; notes: Note[] } | Errors;

/** A model read from its config.json (wireplan.model/1). */
export interface ImportedModel {
  schema: "wireplan.model/1";
  /** The `model` of a plan. */
  model: Record<string, unknown>;
  model_type: string;
  architecture: string;
  /** Where the defaults stand. */
  source: string;
  parameters: number;
  active_parameters: number;
  /** Ids of presets that are this model, field by field. */
  presets: string[];
  /** The preset that differs in the fewest fields, where none is equal. */
  nearest: { id: string; differences: { path: string; here: unknown; preset: unknown }[] } | null;
  stored_dtype: string | null;
  /** `from`: the key or keys of the file; "constant" is the same in every model of the architecture. */
  fields: { path: string; value: unknown; origin: "key" | "default" | "constant" | "given"; from: string }[];
  notes: Note[];
  weights?: {
    agrees: boolean;
    by_tensor: boolean;
    counted: number;
    stored: number;
    parts: { part: string; counted: number; stored: number }[];
    left_out: { what: string; elements: number; tensors: number; example: string }[];
    notes: string[];
  };
}

/** A model's config.json; weights: the header of a .safetensors file or its index; set: what the text does not say. */
export function importConfig(
  text: string,
  hints?: { weights?: string; model_type?: string; set?: [path: string, value: unknown][] },
): ImportedModel | Errors;

/** What a search may vary. */
export type Vary =
  | "data_sharding" | "tensor" | "pipeline" | "context" | "expert" | "pipeline_schedule" | "micro_batch_size" | "recompute"
  | "sequence_parallel" | "loss" | "offload" | "order";

export interface SearchOptions {
  objective?: "throughput" | "memory" | "gpus" | "cost";
  gpus?: number;
  cluster?: unknown;
  vary?: Vary[];
  fix?: [path: string, value: unknown][];
  top?: number;
  verdict?: "fits" | "tight" | "may-not-fit";
  unit?: "GB" | "GiB";
  /** Every layout that was evaluated, for a picture. */
  points?: boolean;
}

export interface SearchCounts {
  candidates: number;
  pruned: number;
  evaluated: number;
  fit: number;
  pruned_by_memory: number;
  pruned_by_time: number;
}

export interface PlanEdit {
  path: string;
  value: unknown;
}

export interface SearchNumbers {
  need_bytes: number;
  device_bytes: number;
  verdict: "fits" | "tight" | "may-not-fit" | "does-not-fit";
  fits: boolean;
  time_s: number;
  compute_s: number;
  exposed_communication_s: number;
  bubble_s: number;
  tokens_per_s: number;
  tokens_per_s_per_gpu: number;
  mfu: number;
  optimizer_s: number;
  host_s: number;
  offload_s: number;
  /** What shows most of its communication. */
  waits_most: { collective: string; dimension: string; exposed_s: number; bottleneck: string } | null;
}

/** wireplan.search/1 */
export interface SearchAnswer {
  schema: "wireplan.search/1";
  engine: string;
  base: PlanDocument;
  objective: string;
  vary: Vary[];
  worst_verdict: string;
  /** false: it was stopped, and this is what was known. */
  complete: boolean;
  counts: SearchCounts;
  text: string;
  yours: SearchNumbers | null;
  /** So many of `plans` are the best, in order; the others belong to the front. */
  top: number;
  plans: (SearchNumbers & { label: string; gpus: number; edits: PlanEdit[]; why: string; plan: PlanDocument })[];
  /** Into `plans`, by time: the front of memory and time. */
  pareto: number[];
  pareto_exact: boolean;
  capacity_bytes: number;
  losers: { reason: string; count: number; edits: PlanEdit[]; example: (SearchNumbers & { label: string }) | null; at_least_s: number; text: string }[];
  /** What is worth measuring before the first of `plans` is taken, most saved per second of measuring first. */
  experiments: {
    kind: "collectives" | "matrix-products" | "host-optimizer" | "memory";
    input: string;
    /** Over what is expected: of a time, of the need of memory. */
    band: [low: number, high: number];
    /** Into `plans`: the one that is best at the end of the band where the first costs most. */
    flips: number | null;
    /** What the first costs there, and what knowing saves on average, a step. */
    regret_s: number;
    saved_s: number;
    /** That measuring takes. */
    seconds: number;
    command: string | null;
    text: string;
  }[];
  /** Expected of the first over the best, all rates off at once. */
  experiments_regret_s: number;
  experiments_text: string;
  popular: (Partial<SearchNumbers> & { name: string; fits: boolean; label: string | null; edits: PlanEdit[]; text: string })[];
  points?: [need_bytes: number, time_s: number, exposed: number, data_sharding: string, reason: string][];
  notes: Note[];
}

export interface SearchProgress {
  progress: number;
  done: boolean;
  counts: SearchCounts;
  best: { label: string; time_s: number; need_bytes: number } | null;
}

/** The best layouts; works in slices of some 12 ms. A signal that aborts ends it with what is known. */
export function search(plan: Stated, options?: SearchOptions, onProgress?: (known: SearchProgress) => void, signal?: AbortSignal): Promise<SearchAnswer | Errors>;

export type Trainer = "torchtitan" | "deepspeed" | "accelerate" | "megatron" | "training-arguments" | "megatron-bridge" | "lightning";

/** What a trainer reads, what it cannot say of the plan, and what reading the files again would change. */
export interface TrainerExport {
  schema: "wireplan.export/1";
  trainer: Trainer;
  files: { name: string; text: string }[];
  inexpressible: { path: string; value: string; text: string }[];
  notes: Note[];
  round_trip: { path: string; before: unknown; after: unknown }[];
}

/** What a trainer's configuration states of a plan. `document` is the plan `onto` with it. */
export interface TrainerImport {
  schema: "wireplan.import/1";
  trainer: Trainer;
  plan: object;
  fields: { path: string; value: unknown; from: string }[];
  unread: { key: string; value: string; effect: "none" | "changes-memory-or-time" | "unknown"; text: string }[];
  missing: string[];
  notes: Note[];
  document?: object;
  problems?: Errors["errors"];
}

/** A plan as the files of a trainer; left out: the usual one of its framework. */
export function exportPlan(plan: Stated, trainer?: Trainer): TrainerExport | Errors;

/** A trainer's configuration as parts of a plan; `onto`: the plan that it is put over. */
export function importTrainer(text: string, options?: { trainer?: Trainer; onto?: Stated }): TrainerImport | Errors;
