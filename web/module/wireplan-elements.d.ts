// Types of wireplan-elements.mjs: the custom elements, their events, and the messages of the frame. docs/embedding.md describes them.
import type { Errors, Estimate, PlanDocument, WireplanError } from "./wireplan.js";

/** A plan document, a share link or the id of a scenario. */
export type StatedPlan = PlanDocument | string;
export type PanelName = "memory" | "wiring" | "wirings" | "step" | "timeline" | "waits" | "scaling" | "curves" | "moments" | "table" | "all";
export type Theme = "light" | "dark" | "auto";
export type ExportFormat = "text" | "markdown" | "csv" | "json" | "link";

/** What the elements say, by language; may be changed and added to. */
export const words: Record<string, Record<string, string>>;

/** What stands in a planner. `link` is "" where the plan is too long for one. */
export interface PlannerState {
  plan: PlanDocument;
  link: string;
  estimate: Estimate;
}

export interface WireplanPlannerElement extends HTMLElement {
  /** Assign a document, a link or an id; read it with every default once the frame is there. */
  plan: StatedPlan | undefined;
  readonly estimate: Estimate | null;
  readonly link: string;
  /** The site the frame comes from. */
  readonly base: string;
  /** False: it stays a poster, since two others are in sight and `gently` was asked for. */
  load(how?: { gently?: boolean; behind?: boolean }): Promise<boolean | undefined>;
  unload(): Promise<void>;
  ask(type: "get"): Promise<PlannerState | Errors>;
  ask(type: "set", fields: { plan: StatedPlan }): Promise<PlannerState | Errors>;
  ask(type: "estimate", fields: { plan: StatedPlan }): Promise<{ estimate: Estimate } | Errors>;
  ask(type: "show", fields: { panel: PanelName } | { key: string }): Promise<object | Errors>;
  ask(type: "export", fields: { format: ExportFormat }): Promise<{ format: ExportFormat; text: string } | Errors>;
  addEventListener<K extends keyof PlannerEvents>(type: K, listener: (this: WireplanPlannerElement, event: PlannerEvents[K]) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}
export interface PlannerEvents {
  "wireplan-ready": CustomEvent<PlannerState & { version: string }>;
  /** The reader changed the plan. Not fired for what the page itself sets. */
  "wireplan-change": CustomEvent<PlannerState>;
  "wireplan-error": CustomEvent<{ errors: WireplanError[] }>;
}

export interface WireplanValueElement extends HTMLElement {
  /** As the module gives it: bytes, seconds. Undefined until it is known, and where it is wrong. */
  readonly value: number | string | boolean | undefined;
}
export interface ValueReady {
  path: string;
  value: number | string | boolean;
  unit: string;
  kind: "count" | "bound" | "estimate" | "measured" | "";
  text: string;
}

/** Attributes, for JSX and for editors. */
export interface PlannerAttributes {
  plan?: string;
  link?: string;
  panels?: string;
  readonly?: boolean | "" | "true" | "false";
  theme?: Theme;
  lang?: string;
  height?: string | number;
  loading?: "intent" | "visible" | "eager";
  label?: string;
  base?: string;
}
export interface ValueAttributes {
  plan: string;
  path: string;
  format?: string;
  digits?: string | number;
  expect?: string;
  over?: string;
  baseline?: string;
  claim?: "off";
  lang?: string;
}
export interface TableAttributes {
  plans: string;
  labels?: string;
  rows?: string;
  paths?: string;
  format?: string;
  caption?: string;
  lang?: string;
  base?: string;
}

// ---------------------------------------------------------------- messages of the frame
interface Message<T extends string> {
  wireplan: 1;
  type: T;
  /** Comes back with the answer. Without one, only errors are answered. */
  id?: string | number;
}
export type ToFrame =
  | Message<"ping">
  | (Message<"set"> & { plan: StatedPlan })
  | Message<"get">
  | (Message<"estimate"> & { plan: StatedPlan })
  | (Message<"show"> & ({ panel: PanelName } | { key: string }))
  | (Message<"theme"> & { theme: Theme })
  | (Message<"lang"> & { lang: "en" | "vi" })
  | (Message<"panels"> & { panels: string | PanelName[] })
  | (Message<"readonly"> & { readonly: boolean })
  | (Message<"export"> & { format: ExportFormat });
export type FromFrame =
  | (Message<"ready"> & { version: string; schema: "wireplan.plan/1" })
  | (Message<"change"> & PlannerState)
  | (Message<"resize"> & { height: number })
  | Message<"leave">
  | (Message<"error"> & { errors: WireplanError[] })
  | (Message<"result"> & Partial<PlannerState> & { format?: ExportFormat; text?: string });

declare global {
  interface HTMLElementTagNameMap {
    "wireplan-planner": WireplanPlannerElement;
    "wireplan-value": WireplanValueElement;
    "wireplan-table": HTMLElement;
  }
}
