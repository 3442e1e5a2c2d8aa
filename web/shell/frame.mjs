// The embedded page's side of the contract with the page around it (docs/embedding.md): messages {wireplan: 1, type, id?, …} and what the address of
// the frame says. It listens from its first moment on; what arrives before the app is there waits.
import { $ } from "./dom.mjs";

const root = document.documentElement;
const inside = parent !== window;
const MOST_WAITING = 64;
const SCHEMA = "wireplan.plan/1";
const FORMATS = ["text", "markdown", "csv", "json", "link"];
const USUAL_PANELS = ["memory", "wiring", "step"];

// Read anew when the page around changes the fragment.
let said = new URLSearchParams(location.hash.slice(1));
const list = (text) => (text ?? "").split(/[\s,]+/).filter(Boolean);

/** What the app opens: a link, or the id of a scenario. */
export const opening = () => said.get("plan") ?? (said.has("v") ? location.hash : "");

let page = null;      // what page.mjs lends: {app, theme, explain}
let host = null;      // the origin that spoke first; no other is heard after it
let known = "";       // the plan that the page around has put here or was told of
let wrong = "[]";     // the errors it was told of
let height = 0;
let table = false;
export let readonly = false;
const waiting = [];
let greeted = null;   // the last of the pings that came before

// ---------------------------------------------------------------- messages
// Only the page that embeds this one may speak: not other frames of it, not windows that opened it. Which pages may, `allow` says, in the address or
// in the HTML of one's own copy; both hold.
const allows = ["allow", null].map((key) => list(key ? said.get(key) : $('meta[name="wireplan-allow"]')?.content)).filter((origins) => origins.length);
const mayDrive = (origin) => allows.every((origins) => origins.includes(origin)) && (host ?? origin) === origin;

addEventListener("message", ({ source, origin, data }) => {
  if (!inside || source !== parent || data?.wireplan !== 1 || typeof data.type !== "string" || !mayDrive(origin)) return;
  host = origin;
  if (page) answer(data);
  else if (data.type === "ping") greeted = data;
  else if (waiting.length < MOST_WAITING) waiting.push(data);
});

// A page without an origin (a file, a sandbox) can only be addressed as whoever embeds this.
function post(type, fields = {}) {
  if (host !== null) parent.postMessage({ wireplan: 1, type, ...fields }, host === "null" ? "*" : host);
}

const failure = (path, value, limit, text) => [{ path, value: shown(value), limit, text }];
// What a stranger sent, in a line: of an object its kind, since it may hold anything.
const shown = (value) => (typeof value === "object" && value !== null ? (Array.isArray(value) ? "an array" : "an object") : String(value).slice(0, 80));
const withId = (id) => (typeof id === "string" || typeof id === "number" ? { id } : {});

async function answer(message) {
  const act = Object.hasOwn(ACTS, message.type) ? ACTS[message.type] : null;
  if (!act) return;  // of a later version
  const id = withId(message.id);
  try {
    const { errors, ...result } = (await act(message)) ?? {};
    if (errors?.length) post("error", { ...id, errors });
    else if ("id" in id && message.type !== "ping") post("result", { ...id, ...result });
  } catch (error) {
    post("error", { ...id, errors: failure(message.type, "", "", String(error?.message ?? error)) });
  }
}

function snapshot() {
  const { plan, link } = page.app.state();
  return { plan, link, estimate: JSON.parse(page.app.text("json")) };
}

// A wrong plan leaves the one that stands here.
function put(plan) {
  if (typeof plan !== "string" && (typeof plan !== "object" || plan === null))
    return { errors: failure("plan", plan, "a plan document, a scenario id or a link", "set needs a plan: a document, the id of a scenario or a link.") };
  const { app } = page;
  const before = JSON.stringify(app.state().plan);
  let errors = [];
  if (typeof plan === "string") {
    app.open(plan);
    ({ errors } = app.state());
    if (errors.length) app.adopt("plan", before);
  } else ({ errors } = app.adopt("plan", JSON.stringify(plan)));
  known = JSON.stringify(app.state().plan);
  return errors.length ? { errors } : snapshot();
}

const panelNames = () => page.app.state().panels.map((panel) => panel.key);

function showOnly(names) {
  const all = panelNames();
  const wanted = list(names).length ? list(names) : USUAL_PANELS;
  const unknown = wanted.filter((name) => ![...all, "table", "all"].includes(name));
  table = wanted.includes("table");
  root.toggleAttribute("data-table", table);
  const drawn = wanted.includes("all") ? all : wanted.filter((name) => all.includes(name));
  root.toggleAttribute("data-plain", !drawn.length);
  page.app.view("panels", drawn.join());
  return unknown.length
    ? { errors: failure("panels", unknown.join(), [...all, "table", "all"].join(", "), `There is no panel ${unknown.join()}. There are ${[...all, "table", "all"].join(", ")}.`) }
    : {};
}

function readOnly(value) {
  readonly = value === true || value === "1" || value === "true";
  page.app.view("readonly", readonly ? "1" : "");
  root.toggleAttribute("data-readonly", readonly);
}

// Brings a panel into sight here and in the page around, or explains a number.
function show({ panel, key }) {
  if (typeof key === "string") {
    const found = page.app.explanation(key);
    if (found?.errors) return { errors: found.errors };
    page.explain(key);
    return {};
  }
  const at = page.app.state().panels.find((one) => one.key === panel && one.height > 0);
  const target = panel === "table" && table ? $("#results") : at ? $("#sight") : null;
  if (!target) return { errors: failure("panel", panel, "a panel that stands here", `The panel ${shown(panel).slice(0, 40)} does not stand here.`) };
  if (at) Object.assign(target.style, { top: `${at.top}px`, height: `${at.height}px` });
  target.scrollIntoView({ block: "nearest" });
  return {};
}

function exported({ format }) {
  if (!FORMATS.includes(format)) return { errors: failure("format", format, FORMATS.join(", "), `There is no format ${shown(format).slice(0, 40)}. There are ${FORMATS.join(", ")}.`) };
  return { format, text: format === "link" ? page.app.state().link : page.app.text(format) };
}

const ACTS = {
  ping({ id }) {
    post("ready", { ...withId(id), version: page.app.state().version, schema: SCHEMA });
    measured(true);
  },
  set: ({ plan }) => put(plan),
  get: () => snapshot(),
  async estimate({ plan }) {
    const module = await import("./wireplan.mjs");
    await module.ready;
    const answer = module.estimate(plan);
    return answer.errors ? answer : { estimate: answer };
  },
  show,
  theme({ theme }) {
    if (!["light", "dark", "auto"].includes(theme)) return { errors: failure("theme", theme, "light, dark, auto", "theme is light, dark or auto.") };
    page.theme(theme);
  },
  lang({ lang }) {
    if (typeof lang === "string") page.app.view("language", lang);  // a number would be an address in the app's memory
    if (page.app.state().language !== lang) return { errors: failure("lang", lang, "en, vi", "The planner speaks en and vi.") };
  },
  panels: ({ panels }) => showOnly(Array.isArray(panels) ? panels.map(shown).join() : shown(panels ?? "")),
  readonly: ({ readonly }) => readOnly(readonly),
  export: exported,
};

// ---------------------------------------------------------------- the page here
function followAddress() {
  showOnly(said.get("panels"));
  readOnly(said.get("readonly"));
  if (/^(en|vi)$/.test(said.get("lang") ?? "")) page.app.view("language", said.get("lang"));
}

/** The app is there: from now on messages are answered. */
export function attach(lent) {
  page = lent;
  followAddress();
  known = JSON.stringify(page.app.state().plan);
  new ResizeObserver(() => measured()).observe(document.body);
}

/** The page is shown: the page around may ask. */
export function begin() {
  root.removeAttribute("data-opening");
  if (greeted) ACTS.ping(greeted);
  for (const message of waiting.splice(0)) answer(message);
}

export function failed(text) {
  root.removeAttribute("data-opening");
  post("error", { errors: failure("", "", "", text) });
}

/** The page around changed the fragment: another plan, other panels. */
export function addressed() {
  said = new URLSearchParams(location.hash.slice(1));
  page.app.open(opening() || "story");
  known = JSON.stringify(page.app.state().plan);
  followAddress();
}

/** After every change: the page around hears of those that the reader made. */
export function follow(state) {
  const now = JSON.stringify(state.plan);
  const errors = JSON.stringify(state.errors);
  if (now !== known) {
    known = now;
    post("change", snapshot());
  }
  if (errors !== wrong) {
    wrong = errors;
    if (state.errors.length) post("error", { errors: state.errors });
  }
}

function measured(again = false) {
  const now = Math.ceil(document.body.getBoundingClientRect().height);
  if (!now) return;
  if (now === height && !again) return;
  height = now;
  post("resize", { height });
}

// Until the reader is in here, wheel and finger move the page around, also where this one is higher than its frame.
const focused = () => root.toggleAttribute("data-focus", !inside || document.hasFocus());
for (const type of ["focus", "blur"]) addEventListener(type, focused);
focused();

// Esc gives the keys back to the page around.
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || $("dialog[open], .pick, input.over")) return;
  document.activeElement?.blur?.();
  parent.focus();
  post("leave");
});

// What opens, opens where the reader is: the frame may be higher than the window.
let at = 0;
addEventListener("pointerdown", (event) => (at = event.clientY), true);
addEventListener("focusin", (event) => (at = event.target.id === "canvas" ? at : event.target.getBoundingClientRect().top), true);
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.tagName !== "DIALOG" || !target.open) continue;
    const room = innerHeight - target.offsetHeight;
    target.style.setProperty("--at", `${Math.max(0, Math.min(at - 48, room - 8))}px`);
  }
}).observe(document.body, { subtree: true, attributeFilter: ["open"] });

// A frame that goes takes its drawing context along at once, not when memory is tidied.
addEventListener("pagehide", (event) => {
  if (!event.persisted && page?.app.pictures) $("#canvas").getContext("webgl2")?.getExtension("WEBGL_lose_context")?.loseContext();
});

if (location.hash.length > 1) root.dataset.opening = "";  // what stands in the HTML answers another plan
