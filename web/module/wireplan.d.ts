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
  step: { time_s: Range } & Record<
    | "compute_s"
    | "exposed_communication_s"
    | "bubble_s"
    | "optimizer_s"
    | "host_s"
    | "offload_s"
    | "straggler_s"
    | "on_ideal_wiring_s"
    | "tokens_per_s"
    | "tokens_per_s_per_gpu"
    | "model_tflops_per_gpu"
    | "hardware_tflops_per_gpu"
    | "mfu"
    | "hfu",
    number
  >;
  notes: Note[];
  /** Asked for by {timeline: true}: for every pipeline stage [seconds, allocated bytes] over one step. */
  timeline?: { streams: []; memory: { stage: number; points: [time_s: number, allocated_bytes: number][] }[] };
}

export interface Comparison {
  schema: "wireplan.compare/1";
  baseline: number;
  estimates: Estimate[];
  differences: { path: string; values: unknown[] }[];
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

export interface TextOptions {
  /** Unit of memory; left out: as the scenario or link asks, else GiB. */
  unit?: "GB" | "GiB";
}

/** Fulfilled when the functions below can be called. */
export const ready: Promise<void>;
/** The version of the engine. */
export const version: string;

export function estimate(plan: Stated, options?: { timeline?: boolean }): Estimate | Errors;
export function compare(plans: Stated[]): Comparison | Errors;
export function explain(plan: Stated, path: string): Explanation | Errors;
export function presets(): PresetKinds;
export function presets(kind: string): PresetList | Errors;
export function presets(kind: string, id: string): Record<string, unknown> | Errors;
export function parseLink(link: string): { plan: PlanDocument; view: Record<string, string>; notes: Note[] } | Errors;
export function formatLink(plan: Stated): string | Errors;
export function toText(plan: Stated | Comparison, options?: TextOptions): string | Errors;
export function toMarkdown(plan: Stated | Comparison, options?: TextOptions): string | Errors;
export function toCsv(plan: Stated | Comparison, options?: TextOptions): string | Errors;

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

/** A log of nccl-tests, text or the file of -J; `op` for tables that do not say what they measured. */
export function importNcclTests(text: string, hints?: { op?: string }): { profile: Profile; gpus: string[]; notes: Note[] } | Errors;

/** Not built yet: the answer is an error that says so. */
export function search(plan: Stated, options?: object, onProgress?: (found: object) => void, signal?: AbortSignal): Promise<Errors>;
export function importTopology(text: string): Errors;
export function importConfig(text: string): Errors;
