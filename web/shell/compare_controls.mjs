// What is pressed and typed in a comparison. `desk` holds the plans and what can be done with them.
import { LONGEST_NAME } from "./compare_link.mjs";
import { READY } from "./compare_ready.mjs";
import { LETTERS } from "./compare_words.mjs";
import { element } from "./dom.mjs";
import { word } from "./words.mjs";

const READY_WORDS = { recipes: "The three recipes", shardings: "Shardings", wirings: "The same card, wired otherwise", accumulation: "Accumulation" };
const FORMATS = { text: "text", markdown: "Markdown", csv: "CSV", json: "JSON" };
const MENU_WIDTH = 200, MENU_ROW = 48;

// data-at: by which the focus finds its way back when all is drawn anew.
const button = (at, attributes, ...children) => element("button", { type: "button", "data-at": at, ...attributes }, ...children);
const input = (at, attributes) => element("input", { "data-at": at, autocomplete: "off", spellcheck: "false", ...attributes });
const submits = (act) => (event) => {
  event.preventDefault();
  act(event.target.elements);
};

export function toolbar(desk, rest) {
  const { say, plans, showsAll } = desk;
  const segment = (value, english) => button(`rows.${value}`, { "aria-pressed": String(showsAll === value), onclick: () => desk.showAll(value) }, say(`rows.${value}`, english));
  return element(
    "div",
    { class: "wishes", id: "compare-do" },
    element("div", { class: "segments", role: "group", "aria-label": say("rows", "Rows") }, segment(true, "all rows"), segment(false, "differences only")),
    button("add", { class: "primary", onclick: desk.addCurrent }, say("add", "Add current plan")),
    plans.past.length ? button("back", { onclick: desk.back }, word("undo", "Undo")) : null,
    element("span", { class: "space" }),
    ...rest,
  );
}

export function takeAlong(desk) {
  const { say, plans } = desk;
  const copyAs = ([format, english]) => {
    const name = say(`format.${format}`, english);
    return button(format, { "aria-label": say("copy_as", "Copy as {f}", { f: name }), onclick: () => desk.copyAs(format) }, name);
  };
  return [
    ...(plans.list.length > 1 ? [button("share", { onclick: desk.share }, say("share", "Copy link"))] : []),
    ...(plans.answer.comparison ? Object.entries(FORMATS).map(copyAs) : []),
    button("print", { onclick: () => window.print() }, say("print", "Print")),
  ];
}

export function ready(desk) {
  const { say } = desk;
  const name = say("ready", "Ready-made, of the current plan");
  const chips = READY.map((kind) => button(`ready.${kind}`, { onclick: () => desk.takeReady(kind) }, say(`ready.${kind}`, READY_WORDS[kind])));
  const form = element(
    "form",
    { class: "by-link", onsubmit: submits(({ link }) => desk.addLink(link.value)) },
    element("label", { for: "compare-link" }, say("by_link", "A link or a scenario")),
    input("link", { id: "compare-link", name: "link", placeholder: "#v=1&m=…" }),
    element("button", { "data-at": "link.add" }, say("by_link.add", "Add")),
  );
  return element("div", { class: "wishes", id: "compare-ready" }, element("div", { class: "varied", role: "group", "aria-label": name }, element("span", {}, name), ...chips), form);
}

export function budget({ say, plans, setRun }) {
  const [tokens, price] = plans.run?.texts ?? ["", ""];
  const field = (name, words, value, placeholder) => [element("label", { for: `compare-${name}` }, words), input(name, { id: `compare-${name}`, name, value, placeholder })];
  return element(
    "form",
    { class: "wishes budget", onsubmit: submits((fields) => setRun(fields.tokens.value, fields.price.value)) },
    ...field("tokens", say("tokens", "Tokens of a run"), tokens, "300B"),
    ...field("price", say("price", "Price of a GPU-hour"), price, "2.50"),
    element("button", { "data-at": "run" }, say("run.do", "Days, GPU-hours, cost")),
  );
}

function menu(desk, plan, i) {
  const { say, plans } = desk;
  const id = `compare-menu-${plan.id}`;
  const item = (action, english) => button(`${plan.id}.${action}`, { onclick: () => desk.of[action](plans.at(plan.id)) }, say(`do.${action}`, english));
  const items = [
    ...(i > 0 ? [item("baseline", "Make it the baseline"), item("left", "Move left")] : []),
    ...(i + 1 < plans.list.length ? [item("right", "Move right")] : []),
    item("rename", "Rename"),
    item("replace", "Replace by the current plan"),
    item("duplicate", "Duplicate"),
    item("remove", "Remove"),
  ];
  const more = button(`${plan.id}.more`, { class: "icon more", popovertarget: id, "aria-label": say("more", "More for plan {a}", { a: LETTERS[i] }) }, "⋯");
  const box = element(
    "div",
    {
      id,
      popover: true,
      class: "plan-menu",
      onbeforetoggle() {
        const { bottom, right } = more.getBoundingClientRect();
        box.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - MENU_ROW * items.length))}px`;
        box.style.left = `${Math.max(8, right - MENU_WIDTH)}px`;
      },
    },
    ...items,
  );
  return [more, box];
}

function nameField(desk, plan, i, shown) {
  const field = input(`${plan.id}.name`, { class: "plan-name", maxlength: LONGEST_NAME, value: shown, "aria-label": desk.say("name_of", "Name of plan {a}", { a: LETTERS[i] }) });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    desk.named(plan, event.key === "Enter" ? field.value : shown, shown);
  });
  // Left by a press on something else, which must stay where it is until the press has ended.
  field.addEventListener("blur", () => {
    const name = desk.namedInPlace(plan, field.value, shown);
    if (name !== null) field.replaceWith(element("b", {}, name));
  });
  return field;
}

// The head of a column: letter, name, what it is, and what can be done with it.
export function header(desk, i, name, best) {
  const { say, plans, renaming } = desk;
  const plan = plans.list[i];
  const isBase = i === plans.answer.base;
  return element(
    "div",
    { class: "plan-head" },
    element("div", { class: "plan-title" }, element("span", { class: isBase ? "letter filled" : "letter" }, LETTERS[i]), renaming === plan.id ? nameField(desk, plan, i, name) : element("b", {}, name), ...menu(desk, plan, i)),
    element(
      "div",
      { class: "plan-flags" },
      isBase ? element("span", {}, say("baseline", "baseline")) : null,
      i === best ? element("span", { class: "good" }, say("fastest", "fastest")) : null,
      plans.answer.estimates[i] && button(`${plan.id}.open`, { class: "open", "aria-label": say("open_plan", "Open plan {a} in the page", { a: LETTERS[i] }), onclick: () => desk.openInPage(plan) }, say("open", "Open in the page")),
    ),
  );
}
