// The frame around the canvas. It owns no number: it asks the app for its state, shows it, and posts edits.
import { $, $$, announce, copy, element, set } from "./dom.mjs";
import { sentence, showAlternatives, showAnswer, showErrors, showExamples } from "./answer.mjs";
import { address, theme } from "./address.mjs";
import { guardKeys, guardPointer, wakeOnInput } from "./input.mjs";
import { startApp, useFonts } from "./bridge.mjs";
import { isNarrow, keepContext, layOut, slimOnScroll } from "./layout.mjs";
import { keeper, readersLanguage } from "./kept.mjs";
import { listen } from "./keys.mjs";
import { editText } from "./overlay.mjs";
import { layPaper, printOn } from "./paper.mjs";
import { pick } from "./picker.mjs";
import { showResults, toggleResults } from "./results.mjs";
import { speak, word } from "./words.mjs";

const SOON_MS = 1000;  // after the page stands: what nobody waits for
const root = document.documentElement;
const canvas = $("#canvas");
const stage = $("#stage");
const form = $("#form");  // a dialog
const explanation = $("#explain");
const embedded = root.dataset.mode === "embed";
const kept = keeper(!embedded);

let app = null;
let frame = null;  // what answers to the page around, where there is one
let state = null;
let measure = () => {};
let dirty = false;
let filled = null;  // form.mjs, once the form was opened

const notice = (text) => {
  const box = $("#notice");
  box.replaceChildren(element("b", {}, text));
  box.hidden = !text;
};

// ---------------------------------------------------------------- state → page
function changed() {
  if (dirty || !app) return;
  dirty = true;
  queueMicrotask(show);
}

function show() {
  dirty = false;
  const now = app.state();
  if (!now) return;
  const first = state === null;
  state = now;
  if (state.language !== root.lang || first) speak(state.language, app.words()).then(changed);
  showAnswer(state);
  showErrors(state, edit);
  showResults(state.rows);
  showExamples(app.scenarios(), open);
  showAlternatives(app.alternatives(), (edits) => edits.forEach(([path, value]) => app.edit(path, value)));
  if (explainsApart() && state.asked && state.explain) showExplained(state.explain);
  if (form?.open) filled.showForm($("form", form), app.form(), edit);
  for (const button of $$("[data-language]")) button.setAttribute("aria-pressed", String(button.dataset.language === state.language));
  for (const button of $$("[data-unit]")) button.setAttribute("aria-pressed", String(button.dataset.unit === state.unit));
  for (const button of $$('[data-do="undo"]')) button.disabled = !state.can_undo;
  for (const button of $$('[data-do="redo"]')) button.disabled = !state.can_redo;
  for (const button of $$('[data-do="nccl"]')) button.setAttribute("aria-pressed", String(state.nccl_shown));
  askNccl(state.nccl);
  for (const aside of Object.values(asides)) aside.follow?.(state);
  const summary = $("#summary");
  if (summary) set(summary, state.summary ?? "");
  canvas.setAttribute("aria-label", `${word("drawn", "The plan, drawn. The form and the table hold the same numbers.")} ${sentence(state.answer)}`);
  showFooter();
  if (first) place.unchanged = state.link;
  else if (!state.stale && (state.link !== place.unchanged || location.hash || place.step || compared())) {
    place.show(state.link + compared());
    kept.keep("plan", state.link);
  }
  showKept();
  measure();
  frame?.follow(state);
}

function showFooter() {
  set($("#version"), `Wireplan ${state.version}`);
  const link = $("#link");
  const now = place.whole(state.link);
  link.href = embedded ? `index.html${now}` : now;
  if (!embedded) set(link, now);
}

// What an earlier visit left: the plan it ended with, and the way to be rid of it all.
const earlier = kept.read("plan");
function showKept() {
  const forget = $("#forget");
  if (forget) forget.hidden = !kept.any();
  const chips = $(".chips");
  if (!chips || !earlier || location.hash || state.link === earlier || !kept.any()) return $("#resume")?.remove();
  if (!$("#resume")) chips.append(element("button", { type: "button", id: "resume", "data-do": "resume" }));
  set($("#resume"), word("resume", "Your last plan"));
}

async function forget() {
  kept.forget();
  showKept();
  announce(word("forgotten", "This page keeps nothing of yours any more."));
  await (await import("./offline.mjs")).forgetOffline();
}

// ---------------------------------------------------------------- page → app
const edit = (path, value) => app.edit(path, value);
const open = (link) => app.open(link);

// A link may bring plans to compare beside its own. They stand in the address as long as they are compared.
let arriving = "";
const compared = () => asides.compare?.tail() || arriving;

function bring(link) {
  arriving = embedded ? "" : (/&compare=[^&]*/.exec(link)?.[0] ?? "");
  if (arriving) openAside("compare", link, changed).finally(() => (arriving = ""));
}

// Where the canvas has no room for it, or is none, a dialog explains what was asked for, here or there.
const explainsApart = () => embedded || isNarrow() || !app.pictures;

const explain = (path) => app.view("explain", path);

async function showExplained(path) {
  const { showExplanation } = await import("./explain.mjs");
  const document_ = app.explanation(path);
  const label = state.rows.find((row) => row.path === path)?.label;
  if (document_?.formula) showExplanation(explanation, document_, label, state.unit, explain);
}

const wholeLink = () => new URL(place.whole(state.link) + compared(), embedded ? new URL("index.html", location.href) : location.href).href;

async function share(button) {
  await copy(wholeLink());
  said(button, word("link_copied", "Link copied"));
}

// Files and pictures, by what comes when it is asked for.
const page = () => ({ app, canvas, state: app.state(), link: wholeLink() });
const take = () => import("./take.mjs");

// The clipboard is asked within the click and given the picture when there is one. Where it takes none the picture is saved instead.
async function copyPicture(what, button) {
  try {
    const image = take().then(({ imageOf }) => imageOf(what, page()));
    await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
    said(button, word("copied", "Copied"));
  } catch {
    await (await take()).saveAs(what, page());
    said(button, word("saved", "Saved"));
  }
}

// What reads machines and logs comes when it is asked for. `about`: what the reader was asked for, if anything.
async function paste(texts, about) {
  const { openPaste } = await import("./paste.mjs");
  await openPaste(app, texts, about);
}

async function dropped(event) {
  event.preventDefault();
  root.removeAttribute("data-drop");
  const files = [...event.dataTransfer.files].slice(0, 8);
  if (app && files.length) await paste(await Promise.all(files.map((file) => file.slice(0, 4_000_001).text())));
}

// Answers that few ask for: each a dialog of its own file.
const asides = {};
async function openAside(name, ...more) {
  asides[name] ??= await import(`./${name}.mjs`);
  await asides[name].open(app, state, ...more);
}

// The guided replay, which says at which step it is; 0: it is over. `step`: where a link begins it, with that link's own plan if it has one.
const tellStory = (step = 0, own = false) =>
  openAside("story", {
    step,
    own,
    told(now) {
      place.step = now;
      changed();
    },
  });

// What NCCL decides comes from the module, when a reader first asks for it.
let asked = "";
async function askNccl(request) {
  if (!request || request === asked) return;
  asked = request;
  const { answer } = await import("./nccl.mjs");
  const said = await answer(request);
  if (asked === request) asked = "";
  app.nccl(request, said);
}

// Says it in the button's own place for a moment, and to screen readers.
const resting = new WeakMap();
function said(button, words) {
  announce(words);
  if (!resting.has(button)) resting.set(button, button.textContent);
  button.textContent = words;
  setTimeout(() => {
    if (button.textContent === words) button.textContent = resting.get(button);
    resting.delete(button);
  }, 1500);
}

const ACTIONS = {
  undo: () => app.undo(),
  redo: () => app.redo(),
  theme: () => colours.toggle(),
  share,
  table: () => toggleResults(),
  async edit() {
    filled ??= await import("./form.mjs");
    if (!form.open) form.showModal();
    filled.showForm($("form", form), app.form(), edit);
  },
  done: () => form.close(),
  paste: () => paste(),
  async model(button) {
    const { askModel } = await import("./model.mjs");
    askModel(app, button, paste);
  },
  largest: () => openAside("largest"),
  layouts: () => openAside("layouts"),
  numbers: () => paste([], "numbers"),
  story: () => tellStory(),
  links: () => openAside("links"),
  compare() {
    $("#copy")?.hidePopover();  // gives the focus back to its button, where it is to be when the dialog closes
    openAside("compare", "", changed);
  },
  trainer() {
    $("#copy")?.hidePopover();  // gives the focus back to its button, where it is to be when the dialog closes
    openAside("trainer");
  },
  accuracy: () => openAside("accuracy"),
  about: () => openAside("about"),
  resume: () => open(earlier),
  forget,
  keys() {
    $("#copy")?.hidePopover();
    openAside("shortcuts");
  },
  async print() {
    $("#copy")?.hidePopover();
    await layPaper();
    print();
  },
  nccl: () => app.view("wires", state.nccl_shown ? "load" : "nccl"),
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button");
  if (!button || !app) return;
  const { do: action, unit, language, copy: format, key, save, image } = button.dataset;
  if (action) ACTIONS[action](button);
  else if (unit) app.view("unit", unit);
  else if (language) {
    kept.keep("language", language);
    app.view("language", language);
  } else if (key) explain(key);
  else if (save) await (await take()).saveAs(save, page());
  else if (image) await copyPicture(image, button);
  else if (format) {
    await copy(app.text(format));
    said(button, word("copied", "Copied"));
  }
});

listen({
  undo: () => frame?.readonly || app?.undo(),
  redo: () => frame?.readonly || app?.redo(),
  sheet: () => isFree() && ACTIONS.keys(),
  search: () => isFree() && searchModel(),
  // On the canvas nothing can be selected: what is copied is the number that is explained.
  copyShown(event) {
    const row = event.target === canvas && state?.rows.find(({ path }) => path === state.explain);
    if (!row) return false;
    copy(row.text);
    announce(`${word("copied", "Copied")}: ${row.label}, ${row.text}`);
  },
});

const isFree = () => Boolean(app) && !embedded && !$("dialog[open], .pick");

// Over the field of the canvas where it is drawn, else in the form.
async function searchModel() {
  const drawn = app.pictures && !isNarrow() && app.rect("model");
  if (drawn) return hooks.pick("model", ...drawn);
  await ACTIONS.edit();
  $('#form [data-field="model"] button')?.click();
}

if (!embedded) {
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    root.dataset.drop = word("drop", "Drop to read");
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? root.removeAttribute("data-drop"));
  document.addEventListener("drop", (event) => withFiles(event) && dropped(event));
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!app || text.length < 40 || /^(input|textarea)$/i.test(event.target.tagName)) return;
    event.preventDefault();
    paste([text]);
  });
}
$("#results")?.addEventListener("beforematch", () => toggleResults(true));
for (const menu of $$("[popover]"))
  menu.addEventListener("beforetoggle", () => {
    const at = $(`[popovertarget="${menu.id}"]`).getBoundingClientRect();
    const isLeft = !isNarrow() && at.right < root.clientWidth / 2;  // then it needs the room on its right
    Object.assign(menu.style, { top: `${at.bottom + 4}px`, left: isLeft ? `${at.left}px` : "auto", right: isLeft ? "auto" : `${isNarrow() ? 8 : root.clientWidth - at.right}px` });
  });
explanation?.addEventListener("close", () => explainsApart() && app.view("explain", ""));
$("#form form")?.addEventListener("submit", (event) => event.preventDefault());

// ---------------------------------------------------------------- canvas → page
const hooks = {
  onChange: changed,
  editText(path, x, y, width, height, value) {
    editText(stage, { x, y, width, height, value, label: path }, (text) => edit(path, text));
  },
  ask: (dialog) => ACTIONS[dialog](),
  pick(path, x, y, width, height) {
    const field = app.form().find((one) => one.path === path);
    if (!field) return;
    const at = canvas.getBoundingClientRect();
    pick(new DOMRect(at.x + x, at.y + y, width, height), field.choices ?? [], field.value, field.label, (value) => edit(path, value));
  },
};

// For tests and for pages that point at things: where widgets are, in the window's CSS pixels.
window.wireplan = {
  get frames() { return app?.frames() ?? 0; },
  rect(key) {
    const box = app?.rect(key);
    if (!box) return null;
    const at = canvas.getBoundingClientRect();
    const [x, y, width, height] = box;
    return { x: at.x + x, y: at.y + y, width, height };
  },
  keys: () => app?.keys() ?? [],
};

const place = address(!embedded, (to) => {
  if (frame) return frame.addressed();
  if (!app) return;
  app.open(to.link || "story");
  arrive(to);
});
// What of a link is not for the app.
function arrive({ link, step, language, unit }) {
  if (language) app.view("language", language);
  if (unit) app.view("unit", unit === "gb" ? "GB" : "GiB");
  bring(link);
  if (step) tellStory(step, Boolean(link));
}
const colours = theme(kept, (now) => {
  app?.view("theme", now);
  $('[data-do="theme"]')?.setAttribute("aria-label", now === "dark" ? word("light", "Light theme") : word("dark", "Dark theme"));
});
colours.show();

function followContrast() {
  const more = matchMedia("(prefers-contrast: more), (forced-colors: active)");
  const tell = () => app.view("contrast", more.matches ? "more" : "normal");
  more.addEventListener("change", tell);
  if (more.matches) tell();
}

async function start() {
  guardPointer(canvas, () => embedded || isNarrow());
  if (embedded) frame = await import("./frame.mjs");
  app = await startApp(canvas, frame ? frame.opening() : place.link, hooks, () => guardKeys(canvas));
  frame?.attach({ app, theme: colours.choose, explain });
  useFonts(app);
  colours.show();
  followContrast();
  const language = kept.read("language") ?? readersLanguage(["en", "vi"]);
  if (language !== "en" && !/[#&]lang=/.test(location.hash)) app.view("language", language);
  if (app.pictures) {
    toggleResults(false);  // it stood in for the pictures
    measure = layOut(app, stage);
    wakeOnInput(canvas, app.wake);
    keepContext(canvas, app, notice);
  } else {
    root.dataset.pictures = "none";
    notice(word("nogl", "Pictures need WebGL 2; the form and the table give the same numbers."));
    toggleResults(true);
  }
  if (!embedded) slimOnScroll($("#answer"), $("#slim"));
  show();
  for (const part of $$('.tools, .chips, #thumb, #results > button, footer [data-do=about]')) part.hidden = false;
  root.dataset.wireplan = "ready";
  frame?.begin();
  if (embedded) return;
  printOn((make) => make(app, canvas, stage, wholeLink()), SOON_MS);
  setTimeout(async () => (await import("./offline.mjs")).stayOffline(), SOON_MS);
  arrive(place);
}

start().catch((error) => {
  console.error(error);
  root.dataset.pictures = "none";
  root.dataset.wireplan = "error";
  frame?.failed(String(error?.message ?? error));
  notice("Wireplan could not start here; it needs WebAssembly. What stands below is its built-in example.");
  toggleResults(true);
});
