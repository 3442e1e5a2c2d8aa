// What a step of the story speaks of, on the canvas: outlined, joined to the panel by a line, all else veiled. Takes no clicks, and follows what is drawn.
import { element } from "./dom.mjs";
import { isNarrow } from "./layout.mjs";

const ROOM = 4;        // between what is drawn and its outline
const FAR = 60;        // from the panel: there is something between, which the line passes below
const QUIET = 6;       // turns of the screen without a frame: nothing moves any more
const WHEEL_STEP = 65; // pixels that the canvas moves by for a wheel's 100, at first sight
const BELOW = matchMedia("(max-width: 1023px)");  // where the panel lies below, and not beside

const turn = () => new Promise(requestAnimationFrame);

export function makeVeil(app, stage, canvas, panel) {
  const shades = [0, 1, 2, 3].map(() => element("i"));
  const outline = element("b");
  const line = element("u");
  const layer = element("div", { id: "veil", "aria-hidden": "true", hidden: true }, ...shades, outline, line);
  let keys = [];
  let left = 0;   // turns to go on looking
  let frames = -1;
  let asked = 0;  // the last request to show something

  const target = () => {
    for (const key of keys) {
      const box = app.rect(key);
      if (box) return box;
    }
    return null;
  };

  const put = (node, x, y, width, height) => {
    const now = [x, y, width, height].map(Math.round).join();
    if (node.dataset.at === now) return;
    node.dataset.at = now;
    Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(0, width)}px`, height: `${Math.max(0, height)}px` });
  };

  function place() {
    const box = target();
    const [w, h] = [stage.clientWidth, stage.clientHeight];
    const x = Math.max(1, (box?.[0] ?? 0) - ROOM);
    const y = Math.max(1, (box?.[1] ?? 0) - ROOM);
    const right = Math.min(w - 1, (box?.[0] ?? 0) + (box?.[2] ?? 0) + ROOM);
    const bottom = Math.min(h - 1, (box?.[1] ?? 0) + (box?.[3] ?? 0) + ROOM);
    layer.hidden = !box || right - x < ROOM || bottom - y < ROOM;
    if (layer.hidden) return;
    put(shades[0], 0, 0, w, y);
    put(shades[1], 0, bottom, w, h - bottom);
    put(shades[2], 0, y, x, bottom - y);
    put(shades[3], right, y, w - right, bottom - y);
    put(outline, x, y, right - x, bottom - y);
    layer.classList.toggle("below", BELOW.matches);
    if (BELOW.matches) put(line, x + 1, bottom - QUIET, 0, h - bottom + QUIET);  // in the margin, past the corner
    else put(line, right, w - right > FAR ? bottom - 1 : (y + bottom) / 2, w - right, 0);
  }

  // Looks as long as frames are drawn, and no longer.
  function look() {
    place();
    if (app.frames() !== frames) left = QUIET;
    frames = app.frames();
    if (--left > 0) requestAnimationFrame(look);
  }
  function follow() {
    if (left <= 0) requestAnimationFrame(look);
    left = QUIET;
  }
  async function still() {
    for (let same = 0, before = -1; same < 3; before = app.frames()) {
      await turn();
      same = app.frames() === before ? same + 1 : 0;
    }
  }

  // The pixels by which the canvas has to move up so that the target is seen, with its panel where that has room.
  function away(from, to) {
    const box = target();
    if (!box) return 0;
    const holds = ([x, y, w, h]) => x <= box[0] + 1 && y <= box[1] && x + w >= box[0] + box[2] - 1 && y + h >= box[1] + box[3];
    const around = app.keys().filter((key) => key.startsWith("panel.")).map(app.rect).find((rect) => rect && holds(rect) && rect[3] <= to - from);
    const [, top, , height] = around ?? box;
    if (top >= from && top + height <= to) return 0;
    return height > to - from ? top - from : top + height / 2 - (from + to) / 2;
  }

  // The canvas scrolls by the reader's wheel alone; this is one, over the middle of the target. Where the pointer then is, is left again.
  async function scrollCanvas(mine) {
    const send = (event, x, y, more) => {
      const at = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new event[0](event[1], { bubbles: true, cancelable: true, view: window, clientX: at.x + x, clientY: at.y + y, ...more }));
    };
    let step = WHEEL_STEP;
    let sent = false;
    for (let tries = 0; tries < 8 && mine === asked; ++tries) {
      const box = target();
      const by = away(ROOM * 2, stage.clientHeight - ROOM * 2);
      if (Math.abs(by) < 2) break;
      const place = [box[0] + box[2] / 2, stage.clientHeight / 2];
      sent = true;
      send([MouseEvent, "mousemove"], ...place);
      await still();
      send([WheelEvent, "wheel"], ...place, { deltaY: (100 * by) / step, deltaMode: 0 });
      await still();
      const moved = box[1] - (target()?.[1] ?? box[1]);
      if (Math.abs(moved) < 1) break;  // at its end
      step *= Math.min(4, Math.max(0.25, moved / by));
    }
    if (sent) send([MouseEvent, "mousemove"], -10, -10);
  }

  function scrollPage() {
    const slim = 52;  // the answer's own bar
    const top = canvas.getBoundingClientRect().top;
    scrollBy({ top: away(slim - top, panel.getBoundingClientRect().top - 16 - top), behavior: "instant" });
  }

  const passive = { capture: true, passive: true };
  const moving = ["wheel", "pointermove", "pointerup", "keydown", "touchmove"];
  const watcher = new ResizeObserver(follow);

  return {
    follow,
    // The first of the keys that is drawn.
    async show(now) {
      keys = now;
      const mine = ++asked;
      if (!layer.isConnected) {
        stage.append(layer);
        for (const type of moving) addEventListener(type, follow, passive);
        watcher.observe(stage);
      }
      follow();
      await still();
      if (mine !== asked) return;
      if (isNarrow()) scrollPage();
      else await scrollCanvas(mine);
      follow();
    },
    clear() {
      ++asked;
      keys = [];
      layer.remove();
      for (const type of moving) removeEventListener(type, follow, passive);
      watcher.disconnect();
    },
  };
}
