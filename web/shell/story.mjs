// The guided replay of the story: a panel beside a page that goes on working. A step is a plan, something to look at, and sentences about both
// (story.json); the plan is the page's own, so that everything can be edited at any time. Loaded when first asked for.
import { phrases, style } from "./aside.mjs";
import { $, element } from "./dom.mjs";
import { lookUp, plain, sentence } from "./story_words.mjs";
import { makeVeil } from "./story_veil.mjs";

let app = null;
let told = () => {};  // tells the page at which step the story is
let steps = null;
let panel = null;
let veil = null;
let at = 0;           // 0: it is not told
let fresh = false;    // a step that was not shown yet
let turn = 0;
let core = null;
const seen = new Map();    // step → the numbers of its own plan
const beside = new Map();  // step → estimates of plans beside it

const loaded = async (file) => (await fetch(file)).json();

// What of a link is the plan.
const planOf = (link) => link.replace(/&(?:u|lang|theme)=[^&]*/g, "");
const isOwn = (state) => !state.stale && planOf(state.link) === planOf(steps[at - 1].link);

// The plans that a step sets beside its own: the module reads them once.
async function besides(number) {
  const links = Object.entries(steps[number - 1].beside ?? {});
  if (!links.length || beside.has(number)) return;
  core ??= await import("./wireplan.mjs").then((found) => found.ready.then(() => found));
  beside.set(number, Object.fromEntries(links.map(([name, link]) => [name, core.estimate(link)])));
}

const look = (path, state) => lookUp(app, state, beside.get(at), path);

// The numbers are those of the step's own plan; once it is changed they stay as they were, since the sentences are about it.
function numbers(state) {
  if (isOwn(state)) seen.set(at, Object.fromEntries(Object.entries(steps[at - 1].values ?? {}).map(([name, path]) => [name, look(path, state)])));
  return seen.get(at) ?? null;
}

function go(number, { own = false } = {}) {
  at = number;
  fresh = true;
  if (!own && !isOwn(app.state())) showPlan();
  told(at);
  follow(app.state());
}

// The story counts in GB, as its article does, until the reader says otherwise.
const showPlan = () => app.open(steps[at - 1].link + (panel && app.state().unit !== "GB" ? "" : "&u=gb"));

function reset() {
  showPlan();
  $("#story-title").focus({ preventScroll: true });
}

function leave() {
  if (!at) return;
  at = 0;
  ++turn;
  document.removeEventListener("keydown", onKey);
  veil.clear();
  const inside = panel.contains(document.activeElement) || document.activeElement === document.body;
  panel.remove();
  panel = veil = null;
  delete document.documentElement.dataset.story;
  const chip = $('.chips [data-do="story"]');
  chip?.setAttribute("aria-pressed", "false");
  if (inside) chip?.focus({ preventScroll: true });
  told(0);
}

// Esc leaves, but where it closes something else first.
function onKey(event) {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], :popover-open, .pick, .over")) return;
  const { asked, explain } = app.state();
  if (event.target.id === "canvas" && asked && explain) return;
  leave();
}

// -------------------------------------------------------------------- the panel
function table(say, step, values, memory) {
  const { id, sum } = step;
  if (!sum) return null;
  const words = (key, english) => sentence(say(key, english), values, memory);
  const cell = (text) => element("td", { class: "num" }, ...sentence(text, values, memory));
  const head = sum.head ? element("thead", {}, element("tr", {}, ...sum.head.map((text, i) => element("th", { scope: "col", class: i ? "num" : null }, ...words(`${id}.head.${i + 1}`, text))))) : null;
  const row = ({ name, mark, how, values: of, total }, i) =>
    element(
      "tr",
      { class: total ? "sum" : null },
      element("th", { scope: "row" }, mark ? element("span", { class: `swatch ${mark}` }) : "", ...words(`${id}.row.${i + 1}`, name), how ? element("span", { class: "how" }, plain(how, values, memory)) : ""),
      ...of.map(cell),
    );
  return element("table", {}, element("caption", { class: "vh" }, plain(say(`${id}.title`, step.title), values, memory)), head, element("tbody", {}, ...sum.rows.map(row)));
}

function list(say) {
  const item = ({ id, name }, i) => {
    const number = i + 1;
    return element("li", {}, element("button", { type: "button", "data-step": number, class: number < at ? "past" : null, "aria-current": number === at ? "step" : null, onclick: () => go(number) }, say(`${id}.name`, name)));
  };
  return element("div", { id: "story-steps" }, element("h3", {}, say("steps", "Steps")), element("ol", {}, ...steps.map(item)));
}

function fill(say, state) {
  const step = steps[at - 1];
  const { id } = step;
  const own = isOwn(state);
  const values = numbers(state);
  const text = (key, english) => element("p", {}, ...sentence(say(key, english), values, state.unit));
  const last = at === steps.length;
  const button = (key, english, act, attributes = {}) => element("button", { type: "button", "data-story": key, onclick: act, ...attributes }, say(key, english));
  const focused = panel.contains(document.activeElement) ? document.activeElement.dataset.story ?? document.activeElement.id : null;
  panel.replaceChildren(
    element(
      "div",
      { id: "story-head" },
      element("span", {}, say("of", "The story of one fine-tune")),
      element("span", {}, say("count", "{n} of {m}", { n: at, m: steps.length })),
      element("button", { type: "button", class: "icon close", "data-story": "close", "aria-label": say("leave", "Leave the story"), onclick: leave }, "×"),
    ),
    element("div", { id: "story-bars", "aria-hidden": "true" }, ...steps.map((_, i) => element("i", { class: i < at ? "past" : null }))),
    // Without its numbers, which only its own plan has, a title is its name.
    element("h2", { id: "story-title", tabindex: "-1" }, values ? plain(say(`${id}.title`, step.title), values, state.unit) : say(`${id}.name`, step.name)),
    own ? "" : element("div", { class: "notice", role: "status" }, say("changed", "You changed the plan."), button("reset", "Reset", reset)),
    ...(own || !values ? [] : [element("p", { class: "aged" }, say("aged", "The text below is about this step's own plan; the page shows yours."))]),
    ...(values
      ? [
          ...step.text.map((english, i) => text(`${id}.${i + 1}`, english)),
          table(say, step, values, state.unit) ?? "",
          ...(step.after ?? []).map((english, i) => text(`${id}.after.${i + 1}`, english)),
        ]
      : [element("p", {}, say("other", "This link brought a plan of its own. Reset shows the one that this step tells of."))]),
    element(
      "div",
      { class: "row" },
      button("back", "Back", () => go(at - 1), { disabled: at === 1 }),
      last ? button("end", "Keep this plan", leave, { class: "primary" }) : button("next", "Next", () => go(at + 1), { class: "primary" }),
    ),
    list(say),
    button("leave", "Leave the story", leave, { class: "leave" }),
  );
  panel.setAttribute("aria-label", say("of", "The story of one fine-tune"));
  if (focused) (panel.querySelector(`[data-story="${focused}"]:enabled`) ?? $("#story-title")).focus({ preventScroll: true });
}

async function show(state) {
  const mine = ++turn;
  const [say] = await Promise.all([phrases("story", state.language), besides(at)]);
  if (mine !== turn || !at) return;
  const isNew = fresh;
  fresh = false;
  if (!panel) {
    panel = element("aside", { id: "story" });
    $("#stage").after(panel);
    document.documentElement.dataset.story = "";
    veil = makeVeil(app, $("#stage"), $("#canvas"), panel);
    document.addEventListener("keydown", onKey);
    $('.chips [data-do="story"]')?.setAttribute("aria-pressed", "true");
  }
  fill(say, app.state());
  if (!isNew) return veil.follow();
  panel.scrollTop = 0;
  // Number and title are what a screen reader says.
  $("#story-title").focus({ preventScroll: true });
  // An explanation over the results would hide what the step shows.
  if (state.asked && state.explain) app.view("explain", "");
  await veil.show(steps[at - 1].target);
}

// `step` 0: from the page, at the first step, or leaving it. `own`: a link has brought its own plan, which stays.
export async function open(page, state, { step, own, told: tell }) {
  if (at && !step) return leave();
  app = page;
  told = tell;
  [steps] = await Promise.all([steps ?? loaded("story.json").then((read) => read.steps), style("story.css")]);
  go(Math.max(1, Math.min(steps.length, step || 1)), { own });
}

export function follow(state) {
  if (at) show(state);
}
