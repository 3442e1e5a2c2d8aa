// Writes the built-in example's answer into the pages of a finished site, between <!--answer--> and <!--/answer-->:
// what a reader without scripts, a link preview or a search engine sees. The module of the same site computes it.
//
//   node fill_answer.mjs SITE
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const site = resolve(process.argv[2]);
const { ready, toText } = await import(pathToFileURL(`${site}/wireplan.mjs`));
await ready;

const text = toText("story", { unit: "GB" });
if (typeof text !== "string") throw new Error(JSON.stringify(text));
const answer = text.split("\n\n")[0].replace(/\s+/g, " ").trim(); // the first paragraph is the answer

const html = answer.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
for (const name of ["index.html", "embed.html"]) {
  const page = readFileSync(`${site}/${name}`, "utf8");
  const filled = page.replace(/<!--answer-->.*?<!--\/answer-->/s, () => html);
  if (filled === page) throw new Error(`${name} has no place for the answer`);
  writeFileSync(`${site}/${name}`, filled);
}
