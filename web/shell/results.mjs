// Every number of the estimate as a table: selectable, findable, printable, read by tests and screen readers.
import { $, announce, copy, element, set } from "./dom.mjs";
import { word } from "./words.mjs";

export const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };
const GROUPS = {
  model: () => word("group.model", "model"),
  memory: () => word("group.memory", "memory"),
  communication: () => word("group.communication", "communication"),
  step: () => word("group.step", "step"),
  time: () => word("group.time", "time"),
  collectives: () => word("group.collectives", "collectives"),
};
export const groupName = (group) => GROUPS[group]?.() ?? group;

let latest = [];
let heads = new Map();
let cells = new Map();
let shape = "";

export function showResults(rows) {
  latest = rows;
  const now = rows.map((row) => `${row.group}/${row.path}`).join();
  if (now !== shape) build(rows);
  shape = now;
  for (const [group, { name, button }] of heads) {
    set(name, groupName(group));
    if (!button) continue;
    set(button, word("copy.rows", "Copy"));
    button.setAttribute("aria-label", `${word("copy.rows", "Copy")}: ${groupName(group)}`);
  }
  for (const { path, value, text, unit, label, claim } of rows) {
    const { cell, words, sign, head } = cells.get(path);
    if (cell.dataset.value !== String(value)) cell.dataset.value = value;
    set(words, unit && !text.endsWith(unit) ? `${text} ${unit}` : text);
    set(sign, SIGNS[claim] ?? "");
    sign.title = claim ?? "";
    set(head, label);
  }
}

function build(rows) {
  const table = $("#results table");
  for (const body of [...table.tBodies]) body.remove();
  cells = new Map();
  heads = new Map();
  let group = null;
  let body = null;
  for (const row of rows) {
    if (row.group !== group) {
      group = row.group;
      const name = element("span");
      // Embedded, the table is for screen readers alone: nothing in it may take the focus.
      const button = $('[data-do="table"]') ? element("button", { type: "button", onclick: () => copyRows(row.group) }) : null;
      heads.set(group, { name, button });
      body = element("tbody", {}, element("tr", {}, element("th", { scope: "rowgroup" }, name), element("td", { class: "rows" }, button ?? "")));
      table.append(body);
    }
    const head = element("th", { scope: "row" });
    const sign = element("i");
    const words = element("span");
    const cell = element("td", { "data-path": row.path }, sign, words);
    body.append(element("tr", {}, head, cell));
    cells.set(row.path, { cell, words, sign, head });
  }
}

// One table as a spreadsheet takes it: what is shown, and the number behind it in base units.
async function copyRows(group) {
  const rows = latest.filter((row) => row.group === group);
  await copy(rows.map(({ label, text, path, value }) => [label, text, path, value].join("\t")).join("\n"));
  announce(`${word("copied", "Copied")}: ${groupName(group)}`);
}

// Closed, the table can still be found by the browser's search, which then opens it.
export function toggleResults(open) {
  const results = $("#results");
  const button = $('[data-do="table"]');
  if (!button) return;  // embedded: always there, for screen readers
  const show = open ?? results.hasAttribute("hidden");
  if (show) results.removeAttribute("hidden");
  else results.setAttribute("hidden", "until-found");
  results.tabIndex = show ? 0 : -1;
  button.setAttribute("aria-expanded", String(show));
}
