// The plan as a form of real inputs: the editor on phones, and everybody's who does not use the canvas.
import { $, element, set } from "./dom.mjs";
import { pick } from "./picker.mjs";
import { text, word } from "./words.mjs";

const fields = new Map();  // path → what is shown of it
let order = "";

// Buttons side by side where they fit one row of a phone; sizes that cannot be taken now may drop out of it.
const asGrid = (choices) => choices.length <= 8 && choices.reduce((sum, { label }) => sum + Math.max(48, 24 + 8 * label.length), 0) <= 300;
const shapeOf = ({ kind, label, choices = [] }) => [kind, label, ...choices.map((c) => `${c.value}|${c.label}`)].join();

export function showForm(form, table, edit) {
  const now = table.map(({ section, path }) => `${text(`in.section.${section}`, section)}/${path}`).join();
  if (now !== order) arrange(form, table);
  order = now;
  for (const field of table) {
    const shown = fields.get(field.path);
    if (shown.shape !== shapeOf(field)) build(shown, field, edit);
    shown.node.classList.toggle("invalid", Boolean(field.error));
    set(shown.hint, field.error ? "" : (field.hint ?? ""));
    shown.hint.hidden = !shown.hint.textContent;
    set(shown.wrong, field.error ?? "");
    shown.wrong.hidden = !field.error;
    shown.show(field);
  }
}

// An empty place for every field, by section.
function arrange(form, table) {
  fields.clear();
  form.replaceChildren();
  let box = null;
  let section = null;
  for (const field of table) {
    if (field.section !== section) {
      section = field.section;
      box = element("fieldset", {}, element("legend", {}, text(`in.section.${section}`, section)));
      form.append(box);
    }
    const node = element("div", { class: "field", "data-field": field.path });
    box.append(node);
    fields.set(field.path, { node });
    if (field.path === "cluster.gpus_per_node") box.append(element("div", { class: "field full" }, element("button", { type: "button", "data-do": "paste" }, text("in.paste", "Paste"))));
  }
}

// Only the field whose choices changed is made anew, so that the others keep the focus.
function build(shown, field, edit) {
  const { node } = shown;
  const focused = node.contains(document.activeElement);
  const id = `field-${field.path}`;
  const control = CONTROLS[field.kind](field, id, (value) => edit(field.path, value));
  shown.shape = shapeOf(field);
  shown.show = control.show;
  shown.hint = element("div", { class: "hint", id: `${id}-hint` });
  shown.wrong = element("div", { class: "wrong", id: `${id}-wrong`, role: "alert" });
  const label = control.group
    ? element("span", { class: "label", id: `${id}-label` }, field.label)
    : element("label", { for: id }, field.label);
  node.classList.toggle("full", Boolean(control.full));
  node.replaceChildren(label, control.node, shown.hint, shown.wrong);
  control.show(field);
  if (focused) ($("input:checked", node) ?? $("input, select, button", node))?.focus();
}

const described = (id) => `${id}-hint ${id}-wrong`;

const CONTROLS = {
  number(field, id, post) {
    const input = element("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", "aria-describedby": described(id) });
    let latest = field;
    const move = (direction) => () => {
      const to = neighbour(latest, direction);
      if (to !== null) post(to);
    };
    const less = element("button", { type: "button", "aria-label": `${word("less", "Less")}: ${field.label}`, onclick: move(-1) }, "−");
    const more = element("button", { type: "button", "aria-label": `${word("more", "More")}: ${field.label}`, onclick: move(1) }, "+");
    input.addEventListener("change", () => post(input.value.trim()));
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();  // else the dialog would close
      post(input.value.trim());
    });
    return {
      node: element("div", { class: "number" }, less, input, more),
      show(now) {
        latest = now;
        const words = String(now.text ?? now.value ?? "");
        if (document.activeElement !== input || !now.error) input.value = words;
        input.setAttribute("aria-invalid", String(Boolean(now.error)));
        less.disabled = neighbour(now, -1) === null;
        more.disabled = neighbour(now, 1) === null;
      },
    };
  },

  choice(field, id, post) {
    return asGrid(field.choices) ? grid(field, id, post) : list(field, id, post);
  },

  preset(field, id, post) {
    const button = element("button", { type: "button", class: "choose", id, "aria-haspopup": "listbox", "aria-describedby": described(id) });
    let latest = field;
    button.addEventListener("click", () => pick(button.getBoundingClientRect(), latest.choices, latest.value, field.label, post));
    return {
      node: button,
      full: true,
      show(now) {
        latest = now;
        const words = String(now.text ?? now.value ?? "");
        set(button, words);
        button.setAttribute("aria-label", `${field.label}: ${words}`);
      },
    };
  },

  toggle(field, id, post) {
    const input = element("input", { id, type: "checkbox", class: "check", "aria-describedby": described(id) });
    input.addEventListener("change", () => post(input.checked ? "true" : "false"));
    return { node: input, show: (now) => { input.checked = now.value === true || now.value === "true"; } };
  },
};

function grid(field, id, post) {
  const inputs = field.choices.map(({ value }) =>
    element("input", { type: "radio", name: id, value: String(value), onchange: () => post(String(value)) }));
  const labels = field.choices.map(({ label }, i) => element("label", {}, inputs[i], label));
  return {
    group: true,
    node: element("div", { class: "grid", role: "radiogroup", "aria-labelledby": `${id}-label`, "aria-describedby": described(id) }, ...labels),
    show(now) {
      now.choices.forEach(({ value, enabled, why }, i) => {
        inputs[i].checked = String(value) === String(now.value);
        inputs[i].disabled = enabled === false && !inputs[i].checked;
        labels[i].hidden = inputs[i].disabled && i > 3;
        labels[i].title = enabled === false ? (why ?? "") : "";
      });
    },
  };
}

function list(field, id, post) {
  const select = element("select", { id, "aria-describedby": described(id), onchange: () => post(select.value) });
  const options = field.choices.map(({ value, label }) => element("option", { value: String(value) }, label));
  select.append(...options);
  return {
    node: select,
    show(now) {
      select.value = String(now.value);
      now.choices.forEach(({ enabled }, i) => { options[i].disabled = enabled === false; });
    },
  };
}

// The next legal value, as the app gives it.
function neighbour(field, direction) {
  const to = direction < 0 ? field.less : field.more;
  return to === undefined || to === null || to === "" ? null : String(to);
}
