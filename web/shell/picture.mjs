// Pictures of what the canvas shows. Its buffer lasts as long as the task that drew it, so each is drawn and copied in one.
const LARGEST = 8192;  // pixels along a side, where the device draws as many

function largest(canvas) {
  const gl = canvas.getContext("webgl2");
  return Math.min(LARGEST, gl.getParameter(gl.MAX_TEXTURE_SIZE));
}

function copied(canvas) {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  copy.getContext("2d", { alpha: false }).drawImage(canvas, 0, 0);
  return copy;
}

// As it stands on the screen.
export function asShown(app, canvas) {
  app.drawNow();
  return copied(canvas);
}

// The named panels for paper: one below the other as on a narrow screen, in the light theme, sharper than the screen may be.
export function onPaper(app, canvas, stage, width, ratio, keys) {
  const size = [stage.clientWidth, stage.clientHeight].map(Math.round);
  const { theme } = app.state();
  app.view("theme", "light");
  const height = Math.ceil(app.wantedHeight(width));
  const back = app.atRatio(Math.min(ratio, largest(canvas) / height));
  app.resize(width, height);
  app.drawNow();
  const panels = app.state().panels.filter(({ key }) => keys.includes(key));
  const copy = copied(canvas);
  back();
  app.view("theme", theme);
  app.resize(...size);
  app.drawNow();
  const scale = copy.width / width;
  return panels.map(({ key, top, height: high }) => {
    const cut = new OffscreenCanvas(copy.width, Math.round(high * scale));
    cut.getContext("2d", { alpha: false }).drawImage(copy, 0, -Math.round(top * scale));
    // As finished pixels: what a 2D context was told is told to the printer once more, at other sizes.
    const part = document.createElement("canvas");
    [part.width, part.height] = [cut.width, cut.height];
    part.getContext("bitmaprenderer").transferFromImageBitmap(cut.transferToImageBitmap());
    return { key, part };
  });
}
