// <wireplan-value> and <wireplan-table>: numbers of the planner, worked out by the module here in the page. wireplan-elements.mjs loads this file for the
// first of them that comes near the window. Numbers come from the module; here they are only written.
import { formed, formsOf, usualForm, written } from "./wireplan-forms.mjs";

const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };
const SLICE_MS = 12;  // of work between two pauses

let core = null;
async function load() {
  const module = await import("./wireplan.mjs");
  await module.ready;
  return module;
}

// The words of a language, and what the page around put in their place.
const files = new Map();
async function labels(language, own) {
  if (!files.has(language))
    files.set(language, fetch(new URL(`wireplan-labels.${language}.json`, import.meta.url)).then((file) => (file.ok ? file.json() : {})).catch(() => ({})));
  const known = await files.get(language);
  return (key, english = key, values = {}) => (own[language]?.[key] ?? known[key] ?? english).replace(/\{(\w+)\}/g, (whole, of) => values[of] ?? whole);
}
const inEnglish = (own) => (key, english = key, values = {}) => (own.en[key] ?? english).replace(/\{(\w+)\}/g, (whole, of) => values[of] ?? whole);

class Wrong extends Error {
  constructor(errors) {
    super(errors[0].text);
    this.errors = errors;
  }
}
const wrong = (path, value, limit, text) => new Wrong([{ path, value: String(value).slice(0, 80), limit, text }]);

// Each plan is worked out once, however many numbers of it a page shows.
const estimates = new Map();
const MOST_KEPT = 64;
function estimateOf(plan) {
  if (!plan) throw wrong("plan", "", "a plan document, a link or a scenario id", "The attribute plan is missing: a link, the id of a scenario or a plan document.");
  const key = typeof plan === "string" ? plan : JSON.stringify(plan);
  if (!estimates.has(key)) {
    if (estimates.size >= MOST_KEPT) estimates.delete(estimates.keys().next().value);
    estimates.set(key, core.estimate(plan));
  }
  const answer = estimates.get(key);
  if (answer.errors) throw new Wrong(answer.errors);
  return answer;
}

// One number or word of an estimate: {value, unit, kind, title}.
function read(estimate, path) {
  if (!path) throw wrong("path", "", "a path of the estimate", "The attribute path is missing, such as memory.states.parameters.");
  let value = estimate;
  for (const part of path.split(".")) value = Array.isArray(value) ? (value[part] ?? value.find((row) => row.name === part)) : Object.hasOwn(Object(value), part) ? value[part] : undefined;
  if (value && typeof value === "object" && "value" in value) ({ value } = value);
  if (typeof value === "string" || typeof value === "boolean") return { value, unit: "", kind: "", title: "" };
  const found = core.explain(estimate, path);
  if (found.errors) throw new Wrong(found.errors);
  if (!Number.isFinite(value)) throw wrong(path, value, "a number", `${path} is no number of this plan.`);
  return { value, unit: found.unit, kind: found.kind, title: `${found.symbol} = ${found.formula}` };
}

const word = (value, say) => (typeof value === "boolean" ? say(value ? "yes" : "no") : say(`verdict.${value}`, value));

function form(number, path, asked, digits) {
  const usable = asked ?? usualForm(number.value, number.unit);
  const shown = formed(number.value, number.unit, usable, digits);
  if (!shown) throw wrong("format", usable, formsOf(number.unit).join(", "), `${path} is given in ${number.unit || "plain numbers"}, which ${usable} is no form of. There are ${formsOf(number.unit).join(", ")}.`);
  return shown;
}

const make = (name, attributes, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== "" && value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
const aligned = (node, to) => {
  node.style.textAlign = to;
  return node;
};
let sheet;
function rootOf(node) {
  if (node.shadowRoot) return node.shadowRoot;
  if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(`:host([hidden]){display:none}[part=sign]{font-size:.85em;opacity:.7;margin-inline-end:.2em}
[part=mismatch]{color:color-mix(in srgb,#d33,currentColor 25%);font-weight:700;margin-inline-start:.25em}
:host(wireplan-table){display:block}.scroll{overflow-x:auto}.scroll:focus-visible{outline:2px solid}`);
  const root = node.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  root.append(make("slot", {}));
  return root;
}
// What stands in the page itself shows again.
const fallBack = (node) => {
  node.shadowRoot?.replaceChildren(make("slot", {}));
  node.querySelector(':scope > [slot="live"]')?.remove();
};
const signOf = (kind, say) => make("span", { part: "sign", role: "img", "aria-label": say(`claim.${kind}`, kind) }, SIGNS[kind] ?? "");

// ---------------------------------------------------------------- <wireplan-value>
// As a share of, or as so many times, another number of the same unit.
function related(node, number, kit, path) {
  const [over, baseline] = [node.getAttribute("over"), node.getAttribute("baseline")];
  if (!over && !baseline) return number;
  const other = read(estimateOf(baseline ? kit.stated(baseline) : kit.stated(node.getAttribute("plan"))), over ?? path);
  if (other.unit !== number.unit || typeof other.value !== "number" || typeof number.value !== "number")
    throw wrong("over", over ?? path, "a number of the same unit", `${path} and ${over ?? path} are not of one unit.`);
  if (other.value === 0) throw wrong("over", over ?? path, "other than 0", `${over ?? path} is 0, nothing can be compared with it.`);
  return { value: number.value / other.value, unit: "", kind: number.kind === "count" ? other.kind : number.kind, title: number.title, share: Boolean(over) };
}

// Does the number round to what the text says?
function agrees(expected, said, number) {
  if (!said || typeof number.value !== "number") return String(number.value) === expected;
  const same = formed(number.value, number.unit, said.form, said.digits);
  if (!same) throw wrong("expect", expected, formsOf(number.unit).join(", "), `${expected} is not of the number's unit. There are ${formsOf(number.unit).join(", ")}.`);
  return Number(same.number.replaceAll(",", "").replace("−", "-")) === said.value;
}

function showValue(node, kit, say) {
  const path = node.getAttribute("path") ?? "";
  const number = related(node, read(estimateOf(kit.stated(node.getAttribute("plan"))), path), kit, path);
  const expected = node.getAttribute("expect");
  const said = written(expected);
  const digits = node.hasAttribute("digits") ? Math.min(12, Math.max(0, Number.parseInt(node.getAttribute("digits"), 10) || 0)) : undefined;
  const asked = node.getAttribute("format") ?? (said ? said.form : "share" in number ? (number.share ? "%" : "x") : undefined);
  const isWord = typeof number.value !== "number";
  const shown = isWord ? { text: word(number.value, say) } : form(number, path, asked, digits ?? (said && asked === said.form ? said.digits : undefined));
  const holds = expected === null || agrees(expected, said, number);
  const about = number.title && `${number.title} (${say(`claim.${number.kind}`, number.kind)})`;
  const parts = [make("span", { part: "value", title: about }, ...(number.kind && node.getAttribute("claim") !== "off" ? [signOf(number.kind, say)] : []), shown.text)];
  const differs = say("differs", "differs from the text, which says {e}", { e: expected });
  if (!holds) parts.push(make("span", { part: "mismatch", role: "img", "aria-label": differs, title: differs }, "≠"));
  rootOf(node).replaceChildren(...parts);
  node.value = number.value;
  kit.tell(node, "ready", { path, value: number.value, unit: number.unit, kind: number.kind, text: shown.text });
  if (!holds) kit.tell(node, "error", { errors: [{ path, value: shown.text, limit: expected, text: `${path} is ${shown.text}; the text says ${expected}.` }] });
}

// ---------------------------------------------------------------- <wireplan-table>
const USUAL_ROWS = "memory.device_bytes memory.capacity_bytes memory.verdict step.time_s step.exposed_communication_s";

function plansOf(node, kit) {
  const text = (node.getAttribute("plans") ?? "").trim();
  const plans = text.startsWith("[") ? JSON.parse(text) : text.split(/\s+/).filter(Boolean).map(kit.stated);
  if (!plans.length) throw wrong("plans", text, "links or scenario ids, one after another", "The attribute plans is missing: links or scenario ids with spaces between them, or a JSON array.");
  return plans;
}

const head = (text) => aligned(make("th", { scope: "row" }, text), "start");

// The cells of a row share a unit and a number of digits; the head says the unit.
function rowOf(path, estimates, asked, say) {
  const numbers = estimates.map((estimate) => read(estimate, path));
  const name = say(`path.${path}`, path);
  if (numbers.some(({ value }) => typeof value !== "number")) return make("tr", {}, head(name), ...numbers.map(({ value }) => aligned(make("td", { "data-value": value }, word(value, say)), "end")));
  const sizes = [...numbers].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const [largest] = sizes;
  const least = sizes.findLast(({ value }) => value !== 0) ?? largest;
  const as = formsOf(largest.unit).includes(asked) ? asked : usualForm(largest.value, largest.unit);
  const { unit, digits: few } = form(largest, path, as);
  // As many as show two figures of the least.
  const digits = as === "" ? few : Math.max(few, Math.min(4, 1 - Math.floor(Math.log10(Math.abs(Number(form(least, path, as, 9).number.replaceAll(",", "").replace("−", "-"))) || 1))));
  return make("tr", {}, head(unit ? `${name}, ${unit}` : name),
    ...numbers.map((number) => aligned(make("td", { "data-value": number.value, title: number.title }, signOf(number.kind, say), ` ${form(number, path, as, digits).number}`), "end")));
}

function showTable(node, kit, say) {
  const plans = plansOf(node, kit);
  const estimates = plans.map(estimateOf);
  const given = (node.getAttribute("labels") ?? "").split("|").map((label) => label.trim());
  const paths = (node.getAttribute("rows") ?? node.getAttribute("paths") ?? USUAL_ROWS).split(/[\s,]+/).filter(Boolean);
  const heads = estimates.map((estimate, i) => {
    const usual = typeof plans[i] === "string" && /^[\w.-]+$/.test(plans[i]) ? plans[i] : estimate.plan.parallel.data_sharding;
    const link = core.formatLink(plans[i]);
    const text = given[i] || usual;
    return aligned(make("th", { scope: "col" }, typeof link === "string" && link.startsWith("#") ? make("a", { href: `${kit.baseOf(node)}index.html${link}` }, text) : text), "end");
  });
  const rows = paths.map((path) => rowOf(path, estimates, node.getAttribute("format"), say));
  const caption = node.getAttribute("caption") ?? say("caption", "", { v: core.version });
  const table = make("table", { slot: "live" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, make("th", { scope: "col" }, say("what")), ...heads)), make("tbody", {}, ...rows));
  // In the page itself, so that its own style of tables holds; what stood there stays beneath.
  node.querySelector(':scope > [slot="live"]')?.remove();
  rootOf(node).replaceChildren(make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption }, make("slot", { name: "live" }, make("slot", {}))));
  node.append(table);
  kit.tell(node, "ready", { estimates });
}

/** Works out all of them; what is wrong with one is told by its event, and its own text stays. */
export async function work(nodes, kit) {
  core ??= await load();
  let since = performance.now();
  for (const node of nodes) {
    const isTable = node.localName === "wireplan-table";
    const language = kit.languageOf(node);
    const say = language === "en" && !isTable ? inEnglish(kit.words) : await labels(language, kit.words);
    if (performance.now() - since > SLICE_MS) {
      await new Promise((go) => setTimeout(go));
      since = performance.now();
    }
    if (!node.isConnected) continue;
    try {
      (isTable ? showTable : showValue)(node, kit, say);
    } catch (error) {
      fallBack(node);
      node.value = undefined;
      kit.tell(node, "error", { errors: error.errors ?? [{ path: "", value: "", limit: "", text: error.message }] });
    }
  }
}
