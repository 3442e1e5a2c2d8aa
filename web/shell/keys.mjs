// The page's own keys. What belongs to the browser is left to it, and while text is typed only the text has them; shortcuts.mjs is the
// sheet that tells of them.
const TEXT = /^(text|search|url|email|number|password|)$/;
export const isTyped = (node) => /^textarea$/i.test(node.tagName) || (/^input$/i.test(node.tagName) && TEXT.test(node.type)) || node.isContentEditable;

// `single`: whether keys without Ctrl count; some people speak them by accident, so that the sheet lets them be turned off.
export const keys = { single: true };

// `does`: {undo, redo, copyShown, sheet, search}; a function that has nothing to do returns false, and the key goes on.
export function listen(does) {
  const withCtrl = (event) => {
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) return does.undo;
    if (key === "y" || (key === "z" && event.shiftKey)) return does.redo;
    return key === "c" && !event.shiftKey ? does.copyShown : undefined;
  };
  const alone = (event) => (keys.single && event.key === "?" ? does.sheet : keys.single && event.key === "/" ? does.search : undefined);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.isComposing || isTyped(event.target)) return;
    const act = event.ctrlKey || event.metaKey ? withCtrl(event) : alone(event);
    if (act && act(event) !== false) event.preventDefault();
  });
}
