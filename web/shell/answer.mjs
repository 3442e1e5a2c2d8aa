// The answer sentence, what is wrong with the last edit, where to start and what to change first.
import { $, announce, element, set } from "./dom.mjs";

function pieces(answer, numbers) {
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

// Nearest valid values as buttons: given as a list, or read off the sentence when they are single words.
export function nearest(error) {
  if (error.nearest?.length) return error.nearest.map(String);
  const list = /Nearest(?: valid)?: ([^.]*(?:\.\d[^.]*)*)/.exec(error.text)?.[1];
  const words = list?.split(/,? or |, /).map((word) => word.trim()) ?? [];
  return words.every((word) => /^[\w.+-]+$/.test(word)) ? words : [];
}

export function showErrors(state, edit) {
  const box = $("#errors");
  box.hidden = !state.errors?.length;
  $("#form-answer")?.classList.toggle("stale", Boolean(state.stale));
  box.replaceChildren(
    ...(state.errors ?? []).slice(0, 3).map((error) =>
      element(
        "div",
        { "data-path": error.path, "data-error": true },
        error.path ? element("code", {}, error.path) : null,
        element("b", {}, error.text),
        ...(error.path ? nearest(error) : []).map((value) =>
          element("button", { type: "button", "aria-label": `set ${error.path} to ${value}`, onclick: () => edit(error.path, value) }, value),
        ),
      ),
    ),
  );
}

export function showChips(scenarios, open) {
  const chips = $(".chips");
  if (!chips) return;
  chips.hidden = !scenarios.length;
  const now = scenarios.map((s) => `${s.id}:${s.chosen}`).join();
  if (chips.dataset.shown === now) return;
  chips.dataset.shown = now;
  const focused = document.activeElement?.dataset?.scenario;
  chips.replaceChildren(
    ...scenarios.map(({ id, title, chosen }) =>
      element("button", { type: "button", "data-scenario": id, "aria-pressed": String(Boolean(chosen)), title, onclick: () => open(id) }, title.split(":")[0]),
    ),
  );
  if (focused) $(`[data-scenario="${CSS.escape(focused)}"]`, chips)?.focus();
}

export function showAlternatives(document_, edit) {
  const box = $("#change");
  if (!box) return;
  const items = document_?.items ?? [];
  box.hidden = !items.length;
  set($("h2", box), document_?.title ?? "");
  const now = JSON.stringify(items);
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
        element("button", { type: "button", "aria-label": `Try ${label}`, onclick: () => edit(edits) }, "Try"),
      ),
    ),
  );
}
