// What the dialogs share that come when they are asked for: their look, their words, and the way in and out.
import { element } from "./dom.mjs";
import { word } from "./words.mjs";

const styled = new Map();
export function style(href = "asides.css", media = null) {
  if (!styled.has(href)) styled.set(href, new Promise((done) => document.head.append(element("link", { rel: "stylesheet", href, media, onload: done, onerror: done }))));
  return styled.get(href);
}

// say("key", "English with {n}", {n: 4}); what is not English stands in NAME.<language>.json.
const known = new Map();
export async function phrases(name, language) {
  const file = `${name}.${language}.json`;
  if (language !== "en" && !known.has(file)) known.set(file, await (await fetch(file)).json());
  const words = known.get(file) ?? {};
  return (key, english, values = {}) => (words[key] ?? english).replace(/\{(\w+)\}/g, (whole, of) => values[of] ?? whole);
}

// A dialog with a title, a way out, and a body to fill, which screen readers are told of where it is short. It is made once.
export function makeAside(id, live = null) {
  const title = element("h2", { id: `${id}-title` });
  const close = element("button", { type: "button", class: "icon close", onclick: () => box.close() }, "×");
  const body = element("div", { class: "body", "aria-live": live });
  const box = element("dialog", { id, class: "aside", "aria-labelledby": title.id }, element("div", { class: "top" }, title, close), body);
  document.body.append(box);
  return {
    box,
    body,
    name(text) {
      title.textContent = text;
      close.setAttribute("aria-label", word("close", "Close"));
    },
    async show() {
      await style("asides.css");
      if (!box.open) box.showModal();
    },
  };
}

// Wide tables scroll in their own box, by keyboard too.
export const scrolling = (label, table) => element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);

export const wrong = (text) => element("p", { class: "notice", role: "alert" }, text);

// As element() of dom.mjs, for pictures.
export function draw(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
