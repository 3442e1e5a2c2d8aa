// Every number of the estimate as a table: selectable, findable, printable, read by tests and screen readers.
import { $, element, set } from "./dom.mjs";

export const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };
let cells = new Map();
let shape = "";

export function showResults(rows) {
  const now = rows.map((row) => `${row.group}/${row.path}`).join();
  if (now !== shape) build(rows);
  shape = now;
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
  let group = null;
  let body = null;
  for (const row of rows) {
    if (row.group !== group) {
      group = row.group;
      body = element("tbody", {}, element("tr", {}, element("th", { scope: "rowgroup", colspan: 2 }, group)));
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
