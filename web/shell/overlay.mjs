// Typing over the canvas: a real input stands where the drawn field is, so that any keyboard and any language works.
import { element } from "./dom.mjs";

export function editText(stage, { x, y, width, height, value, label }, done) {
  const back = document.activeElement;
  const input = element("input", { class: "over", type: "text", "aria-label": label, autocomplete: "off", spellcheck: "false", enterkeyhint: "done" });
  input.value = value;
  Object.assign(input.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px`, fontSize: `${Math.max(13, height * 0.5)}px` });
  let open = true;
  const leave = (keep) => {
    if (!open) return;
    open = false;
    const text = input.value.trim();
    input.remove();
    if (keep && text !== value) done(text);
    back?.focus?.({ preventScroll: true });
  };
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter") leave(true);
    else if (event.key === "Escape") leave(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  input.addEventListener("blur", () => leave(true));
  stage.append(input);
  input.focus({ preventScroll: true });
  input.select();
}
