// The frame around the canvas. It owns no number: it asks the app for its state, shows it, and posts edits.
import { $, $$, announce, copy, element, set } from "./dom.mjs";
import { sentence, showAlternatives, showAnswer, showChips, showErrors } from "./answer.mjs";
import { address, theme } from "./address.mjs";
import { showExplanation } from "./explain.mjs";
import { showForm } from "./form.mjs";
import { guardKeys, guardPointer, wakeOnInput } from "./input.mjs";
import { startApp, useFonts } from "./bridge.mjs";
import { isNarrow, keepContext, layOut, slimOnScroll } from "./layout.mjs";
import { editText } from "./overlay.mjs";
import { pick } from "./picker.mjs";
import { showResults, toggleResults } from "./results.mjs";
import { speak, word } from "./words.mjs";

const root = document.documentElement;
const canvas = $("#canvas");
const stage = $("#stage");
const form = $("#form");  // a dialog
const explanation = $("#explain");
const embedded = root.dataset.mode === "embed";

let app = null;
let frame = null;  // what answers to the page around, where there is one
let state = null;
let measure = () => {};
let dirty = false;

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
  showChips(app.scenarios(), open);
  showAlternatives(app.alternatives(), (edits) => edits.forEach(([path, value]) => app.edit(path, value)));
  if (explainsApart() && state.asked && state.explain) showExplained(state.explain);
  if (form?.open) showForm($("form", form), app.form(), edit);
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
  else if (!state.stale && (state.link !== place.unchanged || location.hash)) place.show(state.link);
  measure();
  frame?.follow(state);
}

function showFooter() {
  set($("#version"), `Wireplan ${state.version}`);
  const link = $("#link");
  link.href = embedded ? `index.html${state.link}` : state.link;
  if (!embedded) set(link, state.link);
}

// ---------------------------------------------------------------- page → app
const edit = (path, value) => app.edit(path, value);
const open = (link) => app.open(link);

// Where the canvas has no room for it, or is none, a dialog explains what was asked for, here or there.
const explainsApart = () => embedded || isNarrow() || !app.pictures;

const explain = (path) => app.view("explain", path);

function showExplained(path) {
  const document_ = app.explanation(path);
  const label = state.rows.find((row) => row.path === path)?.label;
  if (document_?.formula) showExplanation(explanation, document_, label, state.unit, explain);
}

async function share(button) {
  const to = new URL(state.link, embedded ? new URL("index.html", location.href) : location.href);
  await copy(to.href);
  said(button, word("link_copied", "Link copied"));
}

// What reads machines and logs comes when it is asked for.
async function paste(texts) {
  const { openPaste } = await import("./paste.mjs");
  await openPaste(app, texts);
}

async function dropped(event) {
  event.preventDefault();
  root.removeAttribute("data-drop");
  const files = [...event.dataTransfer.files].slice(0, 8);
  if (app && files.length) await paste(await Promise.all(files.map((file) => file.slice(0, 4_000_001).text())));
}

// Answers that few ask for: each a dialog of its own file.
const asides = {};
async function openAside(name) {
  asides[name] ??= await import(`./${name}.mjs`);
  asides[name].open(app, state);
}

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
  edit() {
    form.showModal();
    showForm($("form", form), app.form(), edit);
  },
  done: () => form.close(),
  paste: () => paste(),
  layouts: () => openAside("layouts"),
  links: () => openAside("links"),
  trainer() {
    $("#copy")?.hidePopover();  // gives the focus back to its button, where it is to be when the dialog closes
    openAside("trainer");
  },
  accuracy: () => openAside("accuracy"),
  nccl: () => app.view("wires", state.nccl_shown ? "load" : "nccl"),
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button");
  if (!button || !app) return;
  const { do: action, unit, language, copy: format, key } = button.dataset;
  if (action) ACTIONS[action](button);
  else if (unit) app.view("unit", unit);
  else if (language) app.view("language", language);
  else if (key) explain(key);
  else if (format) {
    await copy(app.text(format));
    said(button, word("copied", "Copied"));
  }
});

document.addEventListener("keydown", (event) => {
  if (!app || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  if (frame?.readonly) return;
  if (/^(input|textarea)$/i.test(event.target.tagName) && /^(text|)$/.test(event.target.type)) return;
  const key = event.key.toLowerCase();
  if (key === "z" && !event.shiftKey) app.undo();
  else if (key === "y" || (key === "z" && event.shiftKey)) app.redo();
  else return;
  event.preventDefault();
});

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
$("#copy")?.addEventListener("beforetoggle", ({ target }) => {
  const at = $('[popovertarget="copy"]').getBoundingClientRect();
  Object.assign(target.style, { top: `${at.bottom + 4}px`, right: `${Math.max(8, root.clientWidth - at.right)}px` });
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

const place = address(!embedded, (link) => (frame ? frame.addressed() : app?.open(link)));
const colours = theme(!embedded, (now) => {
  app?.view("theme", now);
  $('[data-do="theme"]')?.setAttribute("aria-label", now === "dark" ? word("light", "Light theme") : word("dark", "Dark theme"));
});
colours.show();

function followContrast() {
  const more = matchMedia("(prefers-contrast: more)");
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
  for (const part of $$('.tools, #thumb, #results > button')) part.hidden = false;
  root.dataset.wireplan = "ready";
  frame?.begin();
}

start().catch((error) => {
  console.error(error);
  root.dataset.pictures = "none";
  root.dataset.wireplan = "error";
  frame?.failed(String(error?.message ?? error));
  notice("Wireplan could not start here; it needs WebAssembly. What stands below is its built-in example.");
  toggleResults(true);
});
