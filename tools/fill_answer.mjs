// Writes the page's first answer into its HTML, so that it stands there before any script runs, and without one.
//
//   node fill_answer.mjs SITE      changes index.html and embed.html of a finished site in place
//
// The app itself is asked, without a canvas: what is written is what the page will say when it has started.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };  // as in web/shell/results.mjs
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

async function firstState(site) {
  // Emscripten's glue names the browser's globals when it is loaded, and without a canvas never uses them.
  globalThis.document ??= {};
  globalThis.window ??= {};
  const { default: createModule } = await import(pathToFileURL(resolve(site, "app.mjs")));
  const module = await createModule({ canvas: null, wasmBinary: await readFile(resolve(site, "app.wasm")), onChange() {} });
  module.ccall("page_start", "number", ["string"], [""]);
  return JSON.parse(module.ccall("page_state", "string", [], []));
}

function answer(pieces) {
  return pieces
    .map(({ text, tone }) => (tone === "plain" ? escape(text) : `<b${tone === "number" ? "" : ` class="${tone}"`}>${escape(text)}</b>`))
    .join("");
}

function rows(list) {
  const groups = new Map();
  for (const one of list) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  const row = ({ path, value, text, unit, label, claim }) =>
    `<tr><th scope="row">${escape(label)}</th><td data-path="${escape(path)}" data-value="${escape(value)}"><i title="${escape(claim)}">${SIGNS[claim] ?? ""}</i><span>${escape(unit && !text.endsWith(unit) ? `${text} ${unit}` : text)}</span></td></tr>`;
  return [...groups]
    .map(([group, members]) => `<tbody><tr><th scope="rowgroup" colspan="2">${escape(group)}</th></tr>${members.map(row).join("")}</tbody>`)
    .join("\n");
}

function fill(html, name, content) {
  const [open, close] = [`<!--${name}-->`, `<!--/${name}-->`];
  const [from, to] = [html.indexOf(open), html.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`no ${open}…${close} in the page`);
  return html.slice(0, from + open.length) + content + html.slice(to);
}

const site = process.argv[2];
if (!site) {
  console.error("usage: node fill_answer.mjs SITE");
  process.exit(2);
}
const state = await firstState(site);
for (const name of ["index.html", "embed.html"]) {
  const page = resolve(site, name);
  const html = await readFile(page, "utf8");
  await writeFile(page, fill(fill(html, "answer", answer(state.answer)), "rows", rows(state.rows)));
}
