// The plan as the files of a trainer, as the module writes them, with what these cannot say. Loaded with it when first asked for.
import { makeAside, phrases, wrong } from "./aside.mjs";
import { copy, element, set } from "./dom.mjs";
import { LAUNCHERS, reason, shownJson, shownValue, TRAINERS, trainerName } from "./trainer_words.mjs";
import { word } from "./words.mjs";

const ASK = "For your trainer";
const REST_MS = 1500;  // a button says for so long that it has copied

let core = null;
let aside = null;
let page = null;
let chosen;      // the reader's own choice; none: the usual trainer of the plan
let shown = "";  // the plan, the choice and the language that stand there
let turn = 0;
let addresses = [];  // of the files that stand there

function release() {
  addresses.forEach((address) => URL.revokeObjectURL(address));
  addresses = [];
}

function choose(name, state) {
  chosen = name;
  return write(state).then(() => aside.box.querySelector("select")?.focus());
}

function chooser(say, usual, now, state) {
  const option = (value, name) => element("option", { value, selected: value === now }, value === usual ? say("usual", "{n} (usual for this plan)", { n: name }) : name);
  const trainers = [usual, ...Object.keys(TRAINERS).filter((id) => id !== usual)];
  const select = element(
    "select",
    { id: "trainer-choice" },
    ...trainers.map((id) => option(id, trainerName(id))),
    element("optgroup", { label: say("launch_alone", "The launch alone") }, ...LAUNCHERS.map((id) => option(id, id))),
  );
  select.addEventListener("change", () => choose(select.value, state));
  return element("div", { class: "wishes" }, element("label", { for: select.id }, say("trainer", "Trainer")), select);
}

// A file with the ways to take it along. The page's rules let images alone come from blob:, but a download is no load of the page.
function filePart(say, { name, text }, status) {
  const title = element("h3", { id: `trainer-${name.replace(/\W/g, "-")}` }, name === "launch.sh" ? say("launch", "Launch it: {n}", { n: name }) : name);
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  addresses.push(address);
  const copied = element("button", {
    type: "button",
    "aria-label": say("copy", "Copy {n}", { n: name }),
    async onclick() {
      await copy(text);
      copied.focus();
      set(copied, say("copied", "Copied"));
      set(status, `${name}: ${say("copied", "Copied")}`);
      setTimeout(() => set(copied, say("copy.short", "Copy")), REST_MS);
    },
  }, say("copy.short", "Copy"));
  const download = element("a", { class: "button", href: address, download: name, "aria-label": say("download.file", "Download {n}", { n: name }) }, say("download", "Download"));
  return element(
    "div",
    { class: "file", "data-file": name },
    element("div", { class: "file-top" }, title, copied, download),
    element("pre", { tabindex: "0", role: "region", "aria-labelledby": title.id, lang: "en" }, element("code", {}, text)),
  );
}

// What the files cannot say, with the reason, and what they make of the plan instead, by the way out and back: one line for each field.
function changesPart(say, answer, name) {
  const after = new Map((answer.round_trip ?? []).map((one) => [one.path, one]));
  const why = say("why", "Reason (in English)");
  const value = (json) => (json === null ? say("unstated", "not stated") : shownValue(json));
  const arrow = ({ before, after }) => [element("b", { "data-before": "" }, value(before)), " → ", element("b", { "data-after": "" }, value(after))];
  const item = (path, values, text) => element("li", { "data-path": path }, element("code", {}, path), " ", ...values, text ? ": " : null, text ? reason(text, why) : null);
  const items = answer.inexpressible.map(({ path, value: stated, text }) => {
    const back = after.get(path);
    after.delete(path);
    return item(path, back ? arrow(back) : [element("b", {}, shownJson(stated))], back ? text.replace(/; the files make it [^;]*$/, "") : text);
  });
  for (const back of after.values()) items.push(item(back.path, arrow(back)));
  if (!items.length) return [element("p", { id: "trainer-whole" }, answer.round_trip && !answer.launcher ? say("whole", "Read again, these files give this plan: nothing is lost.") : say("whole.launch", "Every process is started as the plan has it."))];
  return [
    element("h3", {}, say("cannot", "What {n} cannot say", { n: name })),
    element("p", { class: "small" }, answer.launcher ? say("cannot.launch", "The plan has it, the launch does not.") : say("cannot.how", "Each field as the plan has it → as these files, read again, have it.")),
    element("ul", { id: "trainer-cannot" }, ...items),
  ];
}

// Why a trainer has no files of this plan, and the one that has.
function refusedPart(say, errors, name, state) {
  const nearest = /--to ([\w-]+)/.exec(errors[0].text)?.[1];
  const part = ({ text }) => reason(text.replace(/\.? Nearest: --to [\w-]+\.?/, "."), say("why", "Reason (in English)"));
  const box = wrong(say("refused", "{n} cannot train this plan.", { n: name }));
  box.append(" ", ...errors.slice(0, 5).map(part));
  const other = nearest ? element("button", { type: "button", onclick: () => choose(nearest, state) }, say("take", "Take {n}", { n: trainerName(nearest) })) : null;
  return element("div", { id: "trainer-refused", class: "refused" }, box, other);
}

function fill(say, answer, usual, state) {
  const now = chosen ?? usual;
  const name = trainerName(now);
  const parts = [];
  release();
  if (state.stale) parts.push(element("p", { class: "notice" }, say("stale", "The last edit cannot be; this is the plan before it.")));
  parts.push(chooser(say, usual, now, state));
  if (answer.errors) parts.push(refusedPart(say, answer.errors, name, state));
  else {
    const status = element("p", { class: "vh", role: "status" });
    parts.push(status, ...changesPart(say, answer, name), ...answer.files.map((file) => filePart(say, file, status)));
    if (answer.notes.length) parts.push(element("h3", {}, say("notes", "Notes")), element("ul", { id: "trainer-notes" }, ...answer.notes.map(({ path, text }) => element("li", {}, path ? element("code", {}, `${path} `) : null, reason(text, say("note", "In English"))))));
  }
  aside.body.replaceChildren(...parts);
}

async function write(state) {
  const document_ = page.text("json");
  const key = `${state.language} ${state.stale} ${chosen} ${document_}`;
  if (key === shown) return;
  shown = key;
  const mine = ++turn;
  aside.body.setAttribute("aria-busy", "true");
  try {
    const say = await phrases("trainer", state.language);
    if (!core) {
      const found = await import("./wireplan.mjs");
      await found.ready;
      core = found;
    }
    if (mine !== turn) return;
    aside.name(say("ask", ASK));
    // The link leaves open what the plan leaves open; only what no link holds is stated whole.
    const plan = state.link || JSON.parse(document_).plan;
    const own = core.exportPlan(plan);
    fill(say, chosen && chosen !== own.trainer ? core.exportPlan(plan, chosen) : own, own.trainer ?? Object.keys(TRAINERS)[0], state);
  } catch (error) {
    if (mine === turn) aside.body.replaceChildren(wrong(String(error?.message ?? error)));
    shown = "";
  }
  if (mine === turn) aside.body.removeAttribute("aria-busy");
}

export async function open(app, state) {
  page = app;
  aside ??= makeAside("trainer");
  aside.box.classList.add("large");
  aside.name(word("trainer", ASK));
  await aside.show();
  await write(state);
}

// The plan may change under it: by the browser's way back, or by undoing.
export function follow(state) {
  if (aside?.box.open) write(state);
}
