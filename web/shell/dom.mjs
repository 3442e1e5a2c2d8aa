// Small things every part of the frame needs.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// element("button", {type: "button", class: "x"}, "text", child, …); null and false attributes are left out.
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const set = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

// One polite voice for screen readers: at most one sentence a second, the last one wins.
let waiting = null;
let next = "";
export function announce(text) {
  next = text;
  waiting ??= setTimeout(() => {
    waiting = null;
    set(document.getElementById("announce"), next);
  }, 1000);
}

export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain http from another machine: no clipboard object there.
  const area = element("textarea", { class: "vh" });
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
