// Pictures of what the canvas shows. Its buffer lasts as long as the task that drew it, so each is drawn and copied in one.
const LARGEST = 8192;  // pixels along a side: more than that many devices do not draw

// `shape(app)` may change what is drawn and returns how to take that back.
function taken(app, canvas, shape) {
  const restore = shape?.(app);
  app.drawNow();
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  copy.getContext("2d", { alpha: false }).drawImage(canvas, 0, 0);
  const panels = app.state().panels;
  if (restore) {
    restore();
    app.drawNow();
  }
  return { copy, panels };
}

// As it stands on the screen.
export const asShown = (app, canvas) => taken(app, canvas).copy;

// The app draws at the ratio of the screen; a picture may be read larger than that. What reads the ratio finds `ratio` for so long.
function atRatio(ratio) {
  const own = Object.getOwnPropertyDescriptor(window, "devicePixelRatio");
  Object.defineProperty(window, "devicePixelRatio", { value: ratio, configurable: true });
  return () => (own ? Object.defineProperty(window, "devicePixelRatio", own) : delete window.devicePixelRatio);
}

// The panels one below the other as on a narrow screen, in the light theme, for paper: the pictures of those that are named.
export function onPaper(app, canvas, stage, width, ratio, keys) {
  const size = [stage.clientWidth, stage.clientHeight].map(Math.round);
  const { theme } = app.state();
  const height = Math.ceil(app.wantedHeight(width));
  const scale = Math.min(ratio, LARGEST / height);
  const { copy, panels } = taken(app, canvas, () => {
    const back = atRatio(scale);
    app.view("theme", "light");
    app.resize(width, height);
    return () => {
      back();
      app.view("theme", theme);
      app.resize(...size);
    };
  });
  return panels.filter(({ key }) => keys.includes(key)).map(({ key, top, height: high }) => {
    const part = document.createElement("canvas");
    [part.width, part.height] = [copy.width, Math.round(high * scale)];
    part.getContext("2d", { alpha: false }).drawImage(copy, 0, -Math.round(top * scale));
    return { key, part };
  });
}
