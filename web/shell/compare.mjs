// Two to four plans side by side, as the module compares them: the first is the baseline. They stay, through edits of the page, as long
// as the page does. Loaded when first asked for, or with a link that holds plans to compare.
import { makeAside, phrases, scrolling, style, wrong } from "./aside.mjs";
import { budget, header, ready, takeAlong, toolbar } from "./compare_controls.mjs";
import { cleanName, holdsPlans, MOST_PLANS, plansIn, tailOf } from "./compare_link.mjs";
import { given, Plans } from "./compare_plans.mjs";
import { readyPlans } from "./compare_ready.mjs";
import { PlanTable } from "./compare_table.mjs";
import { amount, fastest, headline, LETTERS, namesOf } from "./compare_words.mjs";
import { copy, element, set } from "./dom.mjs";
import { isNarrow } from "./layout.mjs";
import { word } from "./words.mjs";

const ASK = "Compare plans";

let core = null;
let aside = null;
let page = null;
let state = null;      // of the page
let moved = () => {};  // tail() has changed
let status = "";
let turn = 0;
const plans = new Plans();

// The link leaves open what the plan leaves open; only what no link holds is stated whole.
const current = () => given(state.link.startsWith("#") ? { link: state.link } : { document: JSON.parse(page.text("json")).plan });
const names = () => namesOf(desk.say, plans.list.map(({ name }) => name), plans.answer.estimates, plans.answer.different);

// ---------------------------------------------------------------- what a reader does
function change(list, said = "") {
  plans.change(list);
  status = said;
  desk.renaming = null;
  show();
}

function refuse(sentence) {
  status = sentence;
  show();
}

function note(words) {
  status = words;
  set(aside.body.querySelector("#compare-status"), words);
}

const desk = {
  plans,
  say: (key, english) => english,
  showsAll: false,
  renaming: null,  // the id of the plan whose name is being written

  showAll(value) {
    desk.showsAll = value;
    show();
  },
  back() {
    plans.back();
    refuse("");
  },
  addCurrent: () => add(current()),

  addLink(text) {
    const link = text.trim();
    if (!link) return;
    if (holdsPlans(link)) return take(plansIn(link));
    const canonical = core.formatLink(link);
    if (canonical.errors) refuse(canonical.errors[0].text);
    else add(given({ link: canonical }));
  },

  async takeReady(kind) {
    const mine = ++turn;
    aside.body.setAttribute("aria-busy", "true");
    const found = await readyPlans(kind, state, desk.say).catch((error) => error);
    if (mine !== turn) return;
    aside.body.removeAttribute("aria-busy");
    if (found instanceof Error) refuse(found.message);
    else if (found.length < 2) refuse(desk.say("no_ready", "The current plan has no others of this kind."));
    else change(found.map(given), desk.say("ready_done", "{n} plans, made of the current one.", { n: found.length }));
  },

  // As one edit of the page, which can be undone there.
  openInPage(plan) {
    const parsed = plan.link ? core.parseLink(plan.link) : { plan: plan.document };
    const said = parsed.errors ? parsed : page.adopt("plan", JSON.stringify(parsed.plan));
    if (said.errors?.length) refuse(said.errors[0].text);
    else aside.box.close();
  },

  async copyAs(format) {
    const { comparison } = plans.answer;
    const writers = { text: core.toText, markdown: core.toMarkdown, csv: core.toCsv };
    const made = format === "json" ? `${JSON.stringify(comparison, null, 2)}\n` : writers[format](comparison, { unit: state.unit });
    if (made.errors) return refuse(made.errors[0].text);
    await copy(made);
    note(desk.say("copied", "Copied"));
  },

  async share() {
    const tail = tailOf(state.link, plans.list);
    if (!tail) return refuse(desk.say("no_link", "No link holds these plans: one of them is too large for it, or all together. Copy as JSON instead."));
    await copy(new URL(state.link + tail, location.href).href);
    note(word("link_copied", "Link copied"));
  },

  setRun(tokens, price) {
    const shown = (text) => JSON.stringify(text.slice(0, 40));
    plans.run = { tokens: amount(tokens), price: amount(price), texts: [tokens, price], problem: "" };
    if (Number.isNaN(plans.run.tokens)) plans.run.problem = desk.say("tokens_wrong", "tokens {v} is no number: 300B, 15T or 2e12 are", { v: shown(tokens) });
    else if (Number.isNaN(plans.run.price)) plans.run.problem = desk.say("price_wrong", "price {v} is no number: 2.5 is", { v: shown(price) });
    if (plans.run.problem) Object.assign(plans.run, { tokens: null, price: null });
    show();
    refuse(plans.run.problem);
  },

  named(plan, text, shown) {
    const i = plans.at(plan.id);
    const name = cleanName(text);
    desk.renaming = null;
    if (name === shown) show();
    else change(plans.list.with(i, { ...plan, name }));
    aside.body.querySelector(`[data-at="${plan.id}.more"]`)?.focus();
  },

  // Without drawing anew. Null: it is no longer being named.
  namedInPlace(plan, text, shown) {
    if (desk.renaming !== plan.id) return null;
    desk.renaming = null;
    const i = plans.at(plan.id);
    const name = cleanName(text);
    if (name !== shown) plans.change(plans.list.with(i, { ...plan, name }));
    lead();
    moved();
    return names()[i];
  },

  of: {
    baseline: (i) => change([plans.list[i], ...plans.list.filter((one, k) => k !== i)], desk.say("is_baseline", "The baseline now is {n}.", { n: names()[i] })),
    left: (i) => change(plans.list.with(i, plans.list[i - 1]).with(i - 1, plans.list[i])),
    right: (i) => change(plans.list.with(i, plans.list[i + 1]).with(i + 1, plans.list[i])),
    rename(i) {
      desk.renaming = plans.list[i].id;
      show();
      aside.body.querySelector("input.plan-name")?.select();
    },
    replace: (i) => (plans.same(current()) >= 0 ? add(current()) : change(plans.list.with(i, current()))),
    duplicate: (i) => (plans.isFull ? refuse(full()) : change(plans.list.toSpliced(i + 1, 0, given(plans.list[i])))),
    remove: (i) => change(plans.list.toSpliced(i, 1), desk.say("removed", "{n} is removed.", { n: names()[i] })),
  },
};

const full = () => desk.say("full", "{n} plans stand here, and more do not fit side by side: remove one first.", { n: MOST_PLANS });

function add(plan) {
  const there = plans.same(plan);
  if (there >= 0) refuse(desk.say("there", "This plan stands here already, as {a}. Change something, then add the current plan.", { a: LETTERS[there] }));
  else if (plans.isFull) refuse(full());
  else change([...plans.list, plan], desk.say("added", "Added as {a}.", { a: LETTERS[plans.list.length] }));
}

// Plans that a link brings.
function take(found) {
  let words = "";
  if (found.tooLong) words = desk.say("long", "The link is too long: plans to compare are read from links of up to 16 kB.");
  else if (found.left) words = desk.say("left", "The link holds {n} plans; the first {m} stand here.", { n: found.left + MOST_PLANS, m: MOST_PLANS });
  if (found.plans.length) change(found.plans.map(given), words);
  else refuse(words);
}

// ---------------------------------------------------------------- what is seen
function lead() {
  const said = headline(desk.say, names(), plans.answer.estimates, state.unit);
  const line = aside.body.querySelector("#compare-lead");
  line.hidden = !said.length;
  line.replaceChildren(...said.map(([words, tone]) => (tone ? element("b", { class: tone === "strong" ? null : tone }, words) : words)));
}

const empty = () =>
  element("div", { class: "nothing-yet" }, element("b", {}, desk.say("empty", "Change something, then add the current plan.")), element("p", {}, desk.say("empty.how", "Two to four plans stand side by side; they stay while you edit the page.")));

let bars = null;
function draw() {
  plans.evaluate(core);
  const { list, answer } = plans;
  const best = list.length > 1 ? fastest(answer.estimates) : -1;
  const shown = names();
  const table = new PlanTable({
    ...answer,
    say: desk.say,
    names: shown,
    best,
    unit: state.unit,
    claims: new Map(state.rows.map(({ path, claim }) => [path, claim])),
    showsAll: desk.showsAll,
    header: (i) => header(desk, i, shown[i], best),
  });
  const scrolled = list.length ? scrolling(desk.say("caption.short", "Plans side by side"), table.make()) : null;
  const left = aside.body.querySelector(".scroll")?.scrollLeft ?? 0;
  const basis = () => element("p", { class: "basis" }, desk.say("basis", "All columns share one scale; the line is what a process can have of its GPU, the whisker the band of the estimate. Waiting is what no compute hides."));
  // On a phone what is seldom pressed stands below.
  const isShort = isNarrow() && list.length > 1;
  aside.body.replaceChildren(
    element("p", { id: "compare-lead", class: "lead" }),
    toolbar(desk, isShort ? [] : takeAlong(desk)),
    ...(isShort ? [] : [ready(desk)]),
    element("p", { id: "compare-status", role: "status" }, status),
    ...(list.length < 2 ? [empty()] : []),
    ...(scrolled ? [scrolled] : []),
    ...(isShort ? [element("div", { class: "wishes", id: "compare-take" }, ...takeAlong(desk)), ready(desk)] : []),
    ...(answer.comparison ? [element("div", { class: "compare-foot" }, budget(desk), basis())] : []),
  );
  lead();
  bars?.disconnect();
  if (!scrolled) return;
  scrolled.scrollLeft = left;
  bars = new ResizeObserver(() => table.draw());
  bars.observe(table.table);
  table.draw();
}

// What is drawn anew keeps the focus where it was, or at the plan it was about.
function show() {
  const focused = aside.body.contains(document.activeElement) ? document.activeElement.dataset.at : null;
  draw();
  moved();
  if (!focused) return;
  const at = (name) => aside.body.querySelector(`[data-at="${CSS.escape(name)}"]`);
  const isItem = /^\d+\.(?!open|more)/.test(focused);  // of a menu, which has closed
  const target = (desk.renaming && at(`${desk.renaming}.name`)) || at(isItem ? `${focused.split(".")[0]}.more` : focused) || at("add");
  target.focus();
}

// A turn of the screen, so that the page shows that it was asked before large plans keep it busy.
const drawn = () => new Promise((done) => setTimeout(done, 30));

// `then`: what is to be done once the module is there.
async function prepare(then = show) {
  const mine = ++turn;
  aside.body.setAttribute("aria-busy", "true");
  try {
    desk.say = await phrases("compare", state.language);
    aside.name(word("compare", ASK));
    core ??= await import("./wireplan.mjs").then((found) => found.ready.then(() => found));
    await drawn();
    if (mine === turn) then();
  } catch (error) {
    if (mine === turn) aside.body.replaceChildren(wrong(String(error?.message ?? error)));
  }
  if (mine === turn) aside.body.removeAttribute("aria-busy");
}

// `link`: with what the page was opened; `follows`: to be told when tail() has changed.
export async function open(app, now, link, follows) {
  page = app;
  state = now;
  moved = follows;
  status = "";
  if (!aside) {
    aside = makeAside("compare");
    aside.box.classList.add("widest");
    aside.box.addEventListener("close", () => moved());
  }
  await style("compare.css");
  aside.name(word("compare", ASK));
  const found = link ? plansIn(link) : null;
  if (!found && !plans.list.length) plans.list = [current()];
  await aside.show();
  await prepare(found ? () => take(found) : show);
}

// What stands behind the page's own link while plans are compared.
export const tail = () => (aside?.box.open && plans.list.length > 1 && state.link.startsWith("#") ? (tailOf(state.link, plans.list) ?? "") : "");

let spoken = "";
export function follow(now) {
  const before = spoken;
  spoken = `${now.language} ${now.unit}`;
  state = now;
  if (!aside?.box.open || !core || !before || before === spoken) return;
  status = "";  // it was said in the other language
  prepare();
}
