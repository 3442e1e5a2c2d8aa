// What reaches the app of keys, wheel and touch, and when it wakes. GLFW's emulation listens on the whole window and
// prevents some keys' defaults everywhere; a page with real inputs around the canvas must not let it.

const KEY_EVENTS = new Set(["keydown", "keyup", "keypress"]);

// Keys that belong to the browser, or to the frame (undo, paste), even while the canvas has the focus.
export function staysOutside(event) {
  if (event.key === "Tab" || /^F\d+$/.test(event.key) || event.altKey) return true;
  if (event.ctrlKey || event.metaKey) return !/^(a|c|x|control|meta|shift|arrow\w+|home|end|enter)$/i.test(event.key);
  return false;
}

// Until the returned function is called, key listeners added to the window hear only keys meant for the canvas.
export function guardKeys(canvas) {
  const add = window.addEventListener;
  window.addEventListener = function (type, listener, options) {
    const heard =
      KEY_EVENTS.has(type) && typeof listener === "function"
        ? (event) => (event.target === canvas && !staysOutside(event) ? listener.call(this, event) : undefined)
        : listener;
    return add.call(this, type, heard, options);
  };
  return () => {
    window.addEventListener = add;
  };
}

// `flows()`: the canvas is part of a scrolling page, so wheel and finger move the page.
export function guardPointer(canvas, flows) {
  const early = { capture: true, passive: false };
  // The ring is for those who came by keyboard.
  canvas.addEventListener("mousedown", () => {
    canvas.classList.add("pointed");
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("keydown", () => canvas.classList.remove("pointed"));
  canvas.addEventListener("blur", () => canvas.classList.remove("pointed"));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  window.addEventListener(
    "wheel",
    (event) => {
      if (event.target === canvas && flows()) event.stopImmediatePropagation();
    },
    early,
  );
  const mouse = (type, touch, buttons) =>
    canvas.dispatchEvent(
      new MouseEvent(type, {
        bubbles: true, cancelable: true, view: window, button: 0, buttons,
        clientX: touch.clientX, clientY: touch.clientY, screenX: touch.screenX, screenY: touch.screenY,
      }),
    );
  for (const type of ["touchstart", "touchmove", "touchend", "touchcancel"]) {
    window.addEventListener(
      type,
      (event) => {
        if (event.target !== canvas) return;
        event.stopImmediatePropagation();  // GLFW would prevent scrolling and the click
        if (flows()) return;               // the browser scrolls, or makes a click of a tap
        event.preventDefault();
        const touch = event.changedTouches[0];
        if (type === "touchstart") {
          canvas.focus({ preventScroll: true });
          mouse("mousemove", touch, 0);
          mouse("mousedown", touch, 1);
        } else if (type === "touchmove") mouse("mousemove", touch, 1);
        else mouse("mouseup", touch, 0);
      },
      early,
    );
  }
}

// No frame is drawn unless something happened to the canvas.
export function wakeOnInput(canvas, wake) {
  const passive = { capture: true, passive: true };
  for (const type of ["mousemove", "mousedown", "wheel", "keydown", "keyup", "focus", "blur", "mouseenter", "mouseleave", "touchstart", "touchmove", "touchend"]) {
    window.addEventListener(type, (event) => event.target === canvas && wake(3), passive);
  }
  window.addEventListener("mouseup", () => wake(3), passive);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && wake(2));
}
