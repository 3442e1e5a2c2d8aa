// The sheet of keys, when it is asked for.
import { makeAside, phrases } from "./aside.mjs";
import { element } from "./dom.mjs";
import { keys } from "./keys.mjs";
import { word } from "./words.mjs";

// Groups of what keys do; several keys are alternatives. Words in English, by key in shortcuts.<language>.json.
const GROUPS = [
  ["page", "Anywhere, while no text is typed", [
    ["sheet", "This sheet", [["?"]]],
    ["search", "Look for a model", [["/"]]],
    ["undo", "Undo", [["Ctrl", "Z"]]],
    ["redo", "Redo", [["Ctrl", "Y"], ["Ctrl", "Shift", "Z"]]],
    ["read", "Read what is on the clipboard: a machine, a log, a configuration", [["Ctrl", "V"]]],
    ["close", "Close a dialog, a list, a menu", [["Esc"]]],
  ]],
  ["canvas", "On the drawing, once Tab has reached it", [
    ["move", "To the next part", [["←"], ["→"], ["↑"], ["↓"]]],
    ["press", "Choose, edit or explain it", [["Enter"], ["Space"]]],
    ["zoom", "Zoom the time line of the step", [["Ctrl", "wheel"]]],
    ["copy", "Copy the number that is explained", [["Ctrl", "C"]]],
    ["leave", "Leave it", [["Tab"], ["Shift", "Tab"]]],
  ]],
  ["typing", "While a value is typed", [
    ["take", "Take it", [["Enter"], ["Tab"]]],
    ["drop", "Leave it as it was", [["Esc"]]],
  ]],
];

let aside = null;
let shown = "";

function fill(say) {
  const key = (name) => element("kbd", {}, say(`key.${name}`, name));
  const combination = (names) => names.flatMap((name, i) => (i ? ["+", key(name)] : [key(name)]));
  const row = ([id, does, ways]) => element(
    "tr",
    { "data-keys": id },
    element("th", { scope: "row" }, say(id, does)),
    element("td", {}, ...ways.flatMap((names, i) => (i ? [" ", ...combination(names)] : combination(names)))),
  );
  const single = element("input", { type: "checkbox", id: "single-keys", onchange: () => { keys.single = single.checked; } });
  single.checked = keys.single;
  aside.body.replaceChildren(
    ...GROUPS.flatMap(([id, title, rows]) => [element("h3", { id: `keys-${id}` }, say(id, title)), element("table", { class: "keys", "aria-labelledby": `keys-${id}` }, element("tbody", {}, ...rows.map(row)))]),
    element("p", {}, single, " ", element("label", { for: "single-keys" }, say("single", "Keys without Ctrl (?, /) count, until the page is closed"))),
    element("p", { class: "small" }, say("browser", "All other keys are the browser's: Ctrl with F, L, P, R, S, T or W, F5, zooming.")),
  );
}

async function write(state) {
  if (shown === state.language) return;
  shown = state.language;
  const say = await phrases("shortcuts", state.language);
  aside.name(word("keys", "Keyboard"));
  fill(say);
}

export async function open(app, state) {
  aside ??= makeAside("shortcuts");
  await write(state);
  await aside.show();
}

export function follow(state) {
  if (aside?.box.open) write(state);
}
