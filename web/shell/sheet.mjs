// What goes to paper: the answer, the pictures, every input and every number, and the link that brings the plan back. The browser asks
// for it in one task before it prints, so this is here from the start; print.css says how it stands.
import { element } from "./dom.mjs";
import { pieces } from "./answer.mjs";
import { onPaper } from "./picture.mjs";
import { SIGNS } from "./results.mjs";
import { text, word } from "./words.mjs";

const DRAWN = ["memory", "wiring", "step"];
const [WIDTH, RATIO] = [420, 3];  // as on a phone, at the sharpness of a printer

const entry = ({ value, text: shown, choices = [] }) => shown || choices.find((one) => String(one.value) === String(value))?.label || String(value ?? "");
const valued = ({ text: shown, unit }) => (unit && !shown.endsWith(unit) ? `${shown} ${unit}` : shown);

// A table for each group of rows, so that columns of the paper break between them where they can.
function tables(rows, groupOf, cellsOf) {
  const bodies = new Map();
  for (const row of rows) {
    const group = groupOf(row);
    if (!bodies.has(group)) bodies.set(group, element("table", {}, element("caption", {}, group), element("tbody")));
    bodies.get(group).tBodies[0].append(element("tr", {}, ...cellsOf(row)));
  }
  return [...bodies.values()];
}

const inputs = (form) =>
  tables(form, ({ section }) => text(`in.section.${section}`, section), (field) => [element("th", { scope: "row" }, field.label), element("td", {}, entry(field))]);

const results = (rows) =>
  tables(rows, ({ group }) => group, (row) => [
    element("th", { scope: "row" }, row.label),
    element("td", {}, element("i", {}, SIGNS[row.claim] ?? ""), valued(row)),
  ]);

function pictures(app, canvas, stage) {
  if (!app.pictures) return null;
  return element("div", { class: "pictures" }, ...onPaper(app, canvas, stage, WIDTH, RATIO, DRAWN).map(({ key, part }) => {
    part.dataset.panel = key;
    return part;
  }));
}

export function makeSheet(app, canvas, stage, link) {
  const drawn = pictures(app, canvas, stage);
  const state = app.state();
  return element(
    "section",
    { id: "sheet" },
    element("header", {}, element("b", {}, "Wireplan"), element("span", {}, state.summary ?? "")),
    ...state.errors.map((error) => element("p", { class: "wrong" }, `${error.path} `, error.text)),
    element("p", { class: "answer" }, ...pieces(state.answer, false)),
    drawn,
    element("div", { class: "tables" }, ...inputs(app.form()), ...results(state.rows)),
    element("footer", {}, element("span", {}, `Wireplan ${state.version} · ${word("signs", "= count, ≤ bound, ≈ estimate, ● measured")}`), element("a", { href: link }, link)),
  );
}
