// The app (app.wasm) as an object. Documents come back parsed; see web/README.md.

// What has asked for the next frame and has not had it yet. A canvas can be read in the task that drew it and no later, and what is
// printed is settled before the browser turns to its next frame.
const due = new Map();
let knowsFrames = false;
function knowFrames() {
  if (knowsFrames) return;  // another planner beside the page's own: frames are counted once
  knowsFrames = true;
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => {
    const id = ask((time) => due.delete(id) && draw(time));
    due.set(id, draw);
    return id;
  };
}

const SETTLED = 12;  // frames after which nothing more is waited for
function drawDue() {
  for (let turn = 0; turn < SETTLED && due.size; ++turn) {
    for (const [id, draw] of [...due]) {
      cancelAnimationFrame(id);
      due.delete(id);
      draw(performance.now());
    }
  }
}

// GLFW's emulation reads the pixel ratio when a query says that it is no longer what it was at the start; of the next change, from there to
// a third ratio, it hears nothing. So it is told, and for a picture it finds another ratio than the screen's.
let ratioQuery = null;
const tellRatio = () => ratioQuery?.dispatchEvent(new Event("change"));
function knowRatio(start) {
  const ask = window.matchMedia;
  window.matchMedia = (query) => {
    const list = ask.call(window, query);
    if (query.includes("resolution")) ratioQuery = list;
    return list;
  };
  const result = start();
  window.matchMedia = ask;
  return result;
}

function atRatio(ratio) {
  const own = Object.getOwnPropertyDescriptor(window, "devicePixelRatio");
  Object.defineProperty(window, "devicePixelRatio", { value: ratio, configurable: true });
  tellRatio();
  return () => {
    Object.defineProperty(window, "devicePixelRatio", own);
    tellRatio();
  };
}

export async function startApp(canvas, link, hooks, guard) {
  knowFrames();
  const { default: createModule } = await import("./app.mjs");
  const release = guard();  // GLFW listens from its first moment on
  const module = await createModule({ canvas, printErr: (text) => console.warn(text), ...hooks });
  const call = (name, type, ...values) =>
    module[`_${name}`] ? module.ccall(name, type, values.map((v) => (typeof v === "string" ? "string" : "number")), values) : null;
  const read = (name, empty, ...values) => {
    const text = call(name, "string", ...values);
    return text ? JSON.parse(text) : empty;
  };
  const pictures = knowRatio(() => call("page_start", "number", link) !== 0);
  release();

  return {
    pictures,
    module,
    state: () => read("page_state", null),
    form: () => read("page_form", []),
    scenarios: () => read("page_scenarios", []),
    words: () => read("page_words", {}),
    alternatives: () => read("page_alternatives", null),
    explanation: (path) => read("page_explain", null, path),
    rect: (key) => read("page_rect", null, key),
    keys: () => read("page_keys", []),
    open: (link) => call("page_open", "number", link) !== 0,
    edit: (path, value) => call("page_edit", null, path, String(value)),
    adopt: (kind, json) => read("page_adopt", null, kind, json),
    nccl: (request, answer) => call("page_nccl", "number", request, answer) !== 0,
    undo: () => call("page_undo", null),
    redo: () => call("page_redo", null),
    view: (key, value) => call("page_view", null, key, value),
    text: (format) => call("page_export", "string", format),
    frames: () => call("page_frames", "number") ?? 0,
    wake: (frames = 3) => call("page_wake", null, frames),
    tellRatio,
    // Draws at this ratio until the function that comes back is called.
    atRatio,
    // Draws in this very task, so that the canvas can be read in it.
    drawNow() {
      call("page_wake", null, 2);
      drawDue();
    },
    resize: (width, height) => call("page_resize", null, width, height),
    wantedHeight: (width) => call("page_wanted_height", "number", width),
    restored: () => call("page_restored", null),
    // One of the embedded faces, copied out of the app's memory.
    font(index) {
      const at = call("page_font", "number", index);
      return at ? module.HEAPU8.slice(at, at + call("page_font_size", "number", index)) : null;
    },
  };
}

// The faces travel once, inside the wasm; the frame sets its text in the same ones.
export function useFonts(app) {
  const faces = [["Inter", "400"], ["Inter", "600"], ["JetBrains Mono", "400"]];
  faces.forEach(([family, weight], index) => {
    const bytes = app.font(index);
    if (bytes) document.fonts.add(new FontFace(family, bytes, { weight }));
  });
}
