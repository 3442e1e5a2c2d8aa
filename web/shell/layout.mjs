// Where the canvas stands: filling the window, or as high as its panels in a page that scrolls.

import { word } from "./words.mjs";

const NARROW = matchMedia("(max-width: 719px)");
export const isNarrow = () => NARROW.matches;

export function layOut(app, stage) {
  let width = 0;
  let height = 0;
  const measure = () => {
    const w = Math.round(stage.clientWidth);
    if (!w) return;
    const wanted = Math.round(app.wantedHeight(w)) || (isNarrow() ? 900 : 0);
    stage.style.height = wanted ? `${wanted}px` : "";
    const h = wanted || Math.round(stage.clientHeight);
    if (!h || (w === width && h === height)) return;
    [width, height] = [w, h];
    app.resize(w, h);
    app.wake(3);
  };
  new ResizeObserver(measure).observe(stage);
  NARROW.addEventListener("change", measure);
  // Moving the window to another screen, or browser zoom, changes the ratio without changing CSS sizes.
  const watchRatio = () => {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener(
      "change",
      () => {
        app.tellRatio();
        width = 0;
        measure();
        watchRatio();
      },
      { once: true },
    );
  };
  watchRatio();
  measure();
  return measure;
}

// The slim answer line comes when the answer itself has left the screen.
export function slimOnScroll(answer, slim) {
  new IntersectionObserver(([entry]) => {
    slim.hidden = entry.isIntersecting || entry.boundingClientRect.top > 0;
  }).observe(answer);
}

export function keepContext(canvas, app, notice) {
  let lost = null;
  canvas.addEventListener("webglcontextlost", (event) => {
    event.preventDefault();
    lost = setTimeout(() => notice(word("reset", "The graphics driver was reset; redrawing.")), 5000);
  });
  canvas.addEventListener("webglcontextrestored", () => {
    clearTimeout(lost);
    notice("");
    app.restored();
    app.wake(4);
  });
}
