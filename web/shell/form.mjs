// The plan as a form of real inputs: the editor on phones, and everybody's who does not use the canvas.
import { $, element, set } from "./dom.mjs";
import { pick } from "./picker.mjs";

const fields = new Map();  // path → {node, shape, show}
let sections = "";

const shapeOf = (field) => `${field.kind}:${(field.choices ?? []).map((c) => `${c.value}|${c.label}`).join()}`;
const asGrid = (choices) => choices.length <= 8 && choices.every(({ label }) => label.length <= 10);

export function showForm(form, table, edit) {
  const now = table.map((field) => `${field.section}/${field.path}/${shapeOf(field)}`).join();
  if (now !== sections) build(form, table, edit);
  sections = now;
  for (const field of table) {
    const { node, show, hint, wrong } = fields.get(field.path);
    node.classList.toggle("invalid", Boolean(field.error));
    set(hint, field.error ? "" : (field.hint ?? ""));
    hint.hidden = !hint.textContent;
    set(wrong, field.error ?? "");
    wrong.hidden = !field.error;
    show(field);
  }
}

function build(form, table, edit) {
  const focused = document.activeElement?.closest?.(".field")?.dataset.field;
  const scroll = form.scrollTop;
  fields.clear();
  form.replaceChildren();
  let set_ = null;
  let section = null;
  for (const field of table) {
    if (field.section !== section) {
      section = field.section;
      set_ = element("fieldset", {}, element("legend", {}, section));
      form.append(set_);
    }
    const id = `field-${field.path}`;
    const control = CONTROLS[field.kind](field, id, (value) => edit(field.path, value));
    const hint = element("div", { class: "hint", id: `${id}-hint` });
    const wrong = element("div", { class: "wrong", id: `${id}-wrong`, role: "alert" });
    const label = control.group
      ? element("span", { class: "label", id: `${id}-label` }, field.label)
      : element("label", { for: id }, field.label);
    const node = element("div", { class: `field${control.full ? " full" : ""}`, "data-field": field.path }, label, control.node, hint, wrong);
    set_.append(node);
    fields.set(field.path, { node, hint, wrong, show: control.show });
  }
  form.scrollTop = scroll;
  if (focused) $(`[data-field="${CSS.escape(focused)}"] :is(input:checked, input, select, button)`, form)?.focus();
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
    const less = element("button", { type: "button", "aria-label": `Less ${field.label}`, onclick: move(-1) }, "−");
    const more = element("button", { type: "button", "aria-label": `More ${field.label}`, onclick: move(1) }, "+");
    input.addEventListener("change", () => post(input.value.trim()));
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();  // else the dialog would close
      post(input.value.trim());
    });
    return {
      node: element("div", { class: "number" }, less, input, more),
      show(now) {
        latest = now;
        const text = String(now.text ?? now.value ?? "");
        if (document.activeElement !== input || !now.error) input.value = text;
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
        const text = String(now.text ?? now.value ?? "");
        set(button, text);
        button.setAttribute("aria-label", `${field.label}: ${text}`);
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
