// The answer sentence, what is wrong with the last edit, the examples and what to change first.
import { $, announce, element, set } from "./dom.mjs";
import { text as ofCanvas, word } from "./words.mjs";

export function pieces(answer, numbers) {
  return answer.map(({ text, tone, key }) => {
    const emphasis = tone === "plain" ? null : tone === "number" ? "" : tone;
    if (key && numbers) return element("button", { type: "button", "data-key": key, class: emphasis || null }, text);
    return emphasis === null ? document.createTextNode(text) : element("b", { class: emphasis || null }, text);
  });
}

export const sentence = (answer) => answer.map((piece) => piece.text).join("");

let shown = "";
export function showAnswer(state) {
  const p = $("#answer");
  p.classList.toggle("stale", Boolean(state.stale));
  const now = JSON.stringify(state.answer);
  if (now === shown) return;
  shown = now;
  const focused = document.activeElement?.closest?.("#answer") ? document.activeElement.dataset.key : null;
  p.replaceChildren(...pieces(state.answer, true));
  if (focused) $(`[data-key="${CSS.escape(focused)}"]`, p)?.focus();
  for (const id of ["#slim", "#form-answer"]) $(id)?.replaceChildren(...pieces(state.answer, false));
  announce(sentence(state.answer));
}

// "… Nearest: 60 or 64" with the values as buttons, where they are single words.
function withNearest({ path, text }, edit) {
  const [, before, list, after] = /^(.*\bNearest(?: valid)?: )([\w.+-]+(?:(?:, | or |, or )[\w.+-]+)*?)(\.?)$/.exec(text) ?? [];
  if (!path || !list) return [text];
  const parts = list.split(/(, or | or |, )/);
  const button = (value) =>
    element("button", { type: "button", "aria-label": `set ${path} to ${value}`, onclick: () => edit(path, value) }, value);
  return [before, ...parts.map((part, i) => (i % 2 ? part : button(part))), after];
}

export function showErrors(state, edit) {
  const box = $("#errors");
  box.hidden = !state.errors.length;
  $("#form-answer")?.classList.toggle("stale", state.stale);
  const now = JSON.stringify(state.errors);
  if (box.dataset.shown === now) return;
  box.dataset.shown = now;
  box.replaceChildren(
    ...state.errors.slice(0, 3).map((error) =>
      element(
        "div",
        { "data-path": error.path },
        error.path ? element("code", {}, error.path) : null,
        element("b", {}, ...withNearest(error, edit)),
      ),
    ),
  );
}

// Every example that comes with the page, in a menu.
export function showExamples(scenarios, open) {
  const menu = $("#examples");
  if (!menu) return;
  const now = scenarios.map((s) => `${s.id}:${s.chosen}`).join() + word("examples", "");
  if (menu.dataset.shown === now) return;
  menu.dataset.shown = now;
  menu.replaceChildren(
    ...scenarios.map(({ id, title, chosen }) => {
      const take = () => {
        if (menu.matches(":popover-open")) menu.hidePopover();  // first: opening makes the buttons anew
        open(id);
      };
      return element("button", { type: "button", "data-scenario": id, "aria-pressed": String(Boolean(chosen)), onclick: take }, word(`example.${id}`, title));
    }),
  );
}

export function showAlternatives(document_, edit) {
  const box = $("#change");
  if (!box) return;
  const items = document_?.items ?? [];
  box.hidden = !items.length;
  set($("h2", box), document_?.title ?? "");
  const tryIt = ofCanvas("change.try", "Try");
  const now = tryIt + JSON.stringify(items);
  if (box.dataset.shown === now) return;
  box.dataset.shown = now;
  $("ul", box).replaceChildren(
    ...items.slice(0, 3).map(({ label, time, memory, edits }) =>
      element(
        "li",
        {},
        element("span", {}, label),
        element("b", { class: "delta" }, time ?? ""),
        element("span", { class: "delta" }, memory ?? ""),
        element("button", { type: "button", "aria-label": `${tryIt} ${label}`, onclick: () => edit(edits) }, tryIt),
      ),
    ),
  );
}
