// A list with a search field, over the canvas or in the form: presets by name, typed in a real input.
import { element } from "./dom.mjs";
import { word } from "./words.mjs";

const HEIGHT = 360;
let close = () => {};

// `anchor`: a DOMRect in the window. `done(value)` is called once, or never. Choices that are `always` there need no match.
export function pick(anchor, choices, chosen, label, done, question = word("search", "Search")) {
  close();
  const back = document.activeElement;
  const input = element("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "pick-list", "aria-autocomplete": "list",
    "aria-label": label, autocomplete: "off", spellcheck: "false", placeholder: question,
  });
  const list = element("div", { role: "listbox", id: "pick-list", "aria-label": label });
  const box = element("div", { class: "pick" }, input, list);
  (document.querySelector("dialog[open]") ?? document.body).append(box);

  const width = Math.max(anchor.width, Math.min(380, innerWidth - 16));
  const below = innerHeight - anchor.top;
  box.style.left = `${Math.max(8, Math.min(anchor.left, innerWidth - width - 8))}px`;
  box.style.width = `${width}px`;
  box.style.top = `${below > HEIGHT ? anchor.top : Math.max(8, innerHeight - HEIGHT - 8)}px`;

  let shown = [];
  let current = 0;
  const mark = (index) => {
    current = index;
    shown.forEach(({ node }, i) => node.setAttribute("aria-selected", String(i === current)));
    const node = shown[current]?.node;
    node?.scrollIntoView({ block: "nearest" });
    if (node) input.setAttribute("aria-activedescendant", node.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = choices
      .filter(({ label: name, value, detail, always }) => {
        const text = `${name} ${value} ${detail ?? ""}`.toLowerCase();
        return always || words.every((word) => text.includes(word));
      })
      .map((choice, i) => ({
        choice,
        node: element(
          "div",
          { role: "option", id: `pick-${i}`, title: choice.enabled === false ? choice.why : null, "aria-disabled": choice.enabled === false ? "true" : null },
          choice.label,
          choice.detail || choice.why ? element("span", {}, choice.enabled === false ? choice.why : choice.detail) : null,
        ),
      }));
    list.replaceChildren(...(shown.length ? shown.map(({ node }) => node) : [element("p", {}, word("no_match", "Nothing of that name"))]));
    mark(Math.max(0, shown.findIndex(({ choice }) => (words.length ? !choice.always : choice.value === chosen))));
  };
  const take = (index) => {
    const choice = shown[index]?.choice;
    if (!choice || choice.enabled === false) return;
    close();
    done(choice.value);
  };
  const outside = (event) => box.contains(event.target) || close();
  close = () => {
    close = () => {};
    window.removeEventListener("pointerdown", outside, true);
    box.remove();
    back?.focus?.({ preventScroll: true });
  };

  input.addEventListener("input", filter);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;  // these keys are the input method's
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) mark(Math.max(0, Math.min(shown.length - 1, current + step)));
    else if (event.key === "Enter") take(current);
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("click", (event) => {
    const index = shown.findIndex(({ node }) => node.contains(event.target));
    if (index >= 0) take(index);
  });
  window.addEventListener("pointerdown", outside, true);
  filter();
  input.focus();
}
