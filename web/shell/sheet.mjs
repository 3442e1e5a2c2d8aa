// What goes to paper: the answer, the pictures, every input and every number, and the link that brings the plan back. It is made in one
// task, which is all the time that a browser gives before it prints; print.css says how it stands.
import { style } from "./aside.mjs";
import { element } from "./dom.mjs";
import { pieces } from "./answer.mjs";
import { onPaper } from "./picture.mjs";
import { groupName, SIGNS } from "./results.mjs";
import { text, word } from "./words.mjs";

const DRAWN = ["memory", "wiring", "step"];
const [WIDTH, RATIO] = [420, 2];  // as on a phone; half as wide on paper, so that a printer has all it can show

const entry = ({ value, text: shown, choices = [] }) => choices.find((one) => String(one.value) === String(value))?.label || shown || String(value ?? "");
const valued = ({ text: shown, unit }) => (unit && !shown.endsWith(unit) ? `${shown} ${unit}` : shown);
const LONG = 44;  // characters that have no room side by side

function line(name, sign, value) {
  const shown = [element("i", {}, sign), value];
  return name.length + value.length > LONG
    ? [element("tr", { class: "long" }, element("th", { scope: "row", colspan: 2 }, name, ": ", element("span", {}, ...shown)))]
    : [element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, ...shown))];
}

// A table for each group of rows, so that columns of the paper break between them where they can.
function tables(rows, groupOf, linesOf) {
  const bodies = new Map();
  for (const row of rows) {
    const group = groupOf(row);
    if (!bodies.has(group)) bodies.set(group, element("table", {}, element("caption", {}, group), element("tbody")));
    bodies.get(group).tBodies[0].append(...linesOf(row));
  }
  return [...bodies.values()];
}

// "communication.2.time_s", "time per step" of "fsdp-all-gather": one of many of a kind. As a table with a column for each field these
// take a line each.
const NUMBERED = /^(.+)\.(\d+)\.\w+$/;
function several(rows) {
  const most = new Map();
  for (const { path } of rows) {
    const [, kind, index] = NUMBERED.exec(path) ?? [];
    if (kind) most.set(kind, Math.max(Number(index), most.get(kind) ?? 0));
  }
  return ({ path }) => most.get(NUMBERED.exec(path)?.[1]) > 0;
}

function named(label) {
  const [, row, column] = /^(.*?): (.*)$/.exec(label) ?? [];
  if (row) return { row, column };
  const [, field, of] = /^(.*?), (.*)$/.exec(label) ?? [];
  return { row: of ?? label, column: field ?? "" };
}

function matrices(rows) {
  const found = new Map();
  for (const one of rows) {
    const [, kind, index] = NUMBERED.exec(one.path);
    const { row, column } = named(one.label);
    if (!found.has(kind)) found.set(kind, { group: one.group, columns: new Set(), lines: new Map() });
    const { columns, lines } = found.get(kind);
    columns.add(column);
    if (!lines.has(index)) lines.set(index, { row, cells: new Map() });
    lines.get(index).cells.set(column, one);
  }
  return [...found.values()].map(({ group, columns, lines }) => {
    const cell = (one) => element("td", {}, ...(one ? [element("i", {}, SIGNS[one.claim] ?? ""), valued(one)] : []));
    return element(
      "table",
      { class: "many" },
      element("caption", {}, groupName(group)),
      element("thead", {}, element("tr", {}, element("td"), ...[...columns].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...[...lines.values()].map(({ row, cells }) => element("tr", {}, element("th", { scope: "row", class: row.includes(" ") ? null : "whole" }, row), ...[...columns].map((name) => cell(cells.get(name)))))),
    );
  });
}

function pictures(app, canvas, stage) {
  if (!app.pictures) return [];
  return onPaper(app, canvas, stage, WIDTH, RATIO, DRAWN).map(({ key, part }) => {
    part.dataset.panel = key;
    return element("figure", {}, part);
  });
}

// → makeSheet, when its style is there, too
export async function ready() {
  await style("print.css", "print");
  return makeSheet;
}

function makeSheet(app, canvas, stage, link) {
  const drawn = pictures(app, canvas, stage);
  const state = app.state();
  const isOfMany = several(state.rows);
  return element(
    "section",
    { id: "sheet" },
    element("header", {}, element("b", {}, "Wireplan"), element("span", {}, state.summary ?? "")),
    ...state.errors.map((error) => element("p", { class: "wrong" }, `${error.path} `, error.text)),
    element("p", { class: "answer" }, ...pieces(state.answer, false)),
    element(
      "div",
      { class: "tables" },
      ...drawn,
      ...tables(app.form(), ({ section }) => text(`in.section.${section}`, section), (field) => line(field.label, "", entry(field))),
      ...tables(state.rows.filter((row) => !isOfMany(row)), ({ group }) => groupName(group), (row) => line(row.label, SIGNS[row.claim] ?? "", valued(row))),
    ),
    element("div", { class: "wide" }, ...matrices(state.rows.filter(isOfMany))),
    element("footer", {}, element("span", {}, `Wireplan ${state.version} · ${word("signs", "= count, ≤ bound, ≈ estimate, ● measured")}`), element("a", { href: link }, link)),
  );
}
