// What stands behind the page: what it keeps, the sources of its numbers, whose software and fonts it carries.
import { makeAside, phrases, wrong } from "./aside.mjs";
import { element } from "./dom.mjs";
import { word } from "./words.mjs";

let aside = null;
let shown = "";

const read = async (name) => {
  const got = await fetch(name);
  if (!got.ok) throw new Error(`${name}: ${got.status}`);
  return got.json();
};

// Only what leads to a page becomes a link; other sources name a file of the project.
const linked = (url, name) => (/^https:\/\//.test(url ?? "") ? element("a", { href: url, rel: "noreferrer", target: "_blank", lang: "en" }, name) : element("span", { lang: "en" }, name));

function fill(say, state, references, components) {
  const source = ({ title, url, year, note }) => element("li", {}, linked(url, title), year ? `, ${year}` : "", note ? element("span", { lang: "en" }, `: ${note}`) : null);
  const component = ({ name, url, licence, use }) => element("li", {}, linked(url, name), `: ${licence}; `, say(`use.${use}`, use));
  aside.body.replaceChildren(
    element("p", {}, say("version", "Wireplan {v} computes in this tab. It asks no other server, sets no cookies, and counts no visits.", { v: state.version })),
    element("p", {}, say("kept", "It keeps in this browser the theme and the language you chose and the last plan, and its own files for when there is no network.")),
    element("button", { type: "button", "data-do": "forget" }, word("forget", "Clear what this page keeps")),
    element("h3", {}, say("components", "Whose work is in it")),
    element("p", {}, say("licence", "Wireplan is under the Apache License 2.0:"), " ", element("a", { href: "LICENSE.txt" }, "LICENSE.txt")),
    element("ul", {}, ...components.map(component)),
    element("h3", {}, say("sources", "Sources of its numbers ({n})", { n: Object.keys(references).length })),
    element("p", { class: "small" }, say("sources.how", "Each number names its own when it is clicked; each preset names where its values were read.")),
    element("ul", { id: "about-sources" }, ...Object.values(references).map(source)),
  );
}

async function write(state) {
  if (shown === state.language) return;
  try {
    const [say, references, components] = await Promise.all([phrases("about", state.language), read("references.json"), read("components.json")]);
    aside.name(word("about", "Sources and licences"));
    fill(say, state, references, components);
    shown = state.language;
  } catch (error) {
    aside.body.replaceChildren(wrong(String(error?.message ?? error)));
  }
}

export async function open(app, state) {
  aside ??= makeAside("about");
  aside.name(word("about", "Sources and licences"));
  await aside.show();
  await write(state);
}

export function follow(state) {
  if (aside?.box.open) write(state);
}
