// The answer as one picture of 1200 × 630, the size that chats and posts show whole: the sentence, the memory against its capacity, where
// the step goes, and the link. Drawn from what page_state says; it counts nothing itself.
import { style } from "./aside.mjs";
import { text } from "./words.mjs";

const [WIDTH, HEIGHT, PAD] = [1200, 630, 56];
const INSIDE = WIDTH - 2 * PAD;

// Rows of the results in the order of the canvas's bars: path, word, fill, hatched.
const MEMORY = [
  ["memory.parts.parameters", "mem.part.parameters", "params"],
  ["memory.parts.gradients", "mem.part.gradients", "grads"],
  ["memory.parts.optimizer_states", "mem.part.optimizer", "optim"],
  ["memory.parts.master_weights", "mem.part.master", "optim", true],
  ["memory.parts.activations", "mem.part.activations", "acts"],
  ["memory.parts.logits", "mem.part.logits", "logits"],
  ["memory.parts.unsharded_parameters", "mem.part.gathered", "gath"],
  ["memory.parts.communication_buffers", "mem.part.buffers", "bufs"],
  ["memory.parts.temporary", "mem.part.temporary", "bufs"],
  ["memory.allocator_slack_bytes", "mem.part.slack", "slack", true],
  ["memory.runtime_bytes", "mem.part.slack", "slack", true],
];
const STEP = [
  ["step.compute_s", "step.part.compute", "backward"],
  ["step.exposed_communication_s", "step.part.waiting", "exposed", true],
  ["step.bubble_s", "step.part.bubble", "track"],
  ["step.optimizer_s", "step.part.optimizer", "optimizer"],
  ["step.host_s", "step.part.other", "bufs"],
  ["step.offload_s", "step.part.other", "bufs"],
  ["step.straggler_s", "step.part.other", "bufs"],
];
const TONES = { plain: "ink", number: "ink", good: "fit", bad: "no", exposed: "exp" };

// The tokens of page.css and asides.css as the theme of now has them.
function colours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const found = new Map();
  const of = (token) => {
    if (!found.has(token)) {
      probe.style.color = `var(--${token})`;
      found.set(token, getComputedStyle(probe).color);
    }
    return found.get(token);
  };
  return { of, fill: (name) => of(`fill-${name}`), done: () => probe.remove() };
}

// White or near-black on a fill, whichever contrasts more: the canvas's own rule.
function labelOn(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map((n) => (Number(n) / 255) ** 2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.199 ? "#ffffff" : "#14181d";
}

const face = (size, weight = 400, family = "sans") => `${weight} ${size}px ${getComputedStyle(document.documentElement).getPropertyValue(`--${family}`)}`;

// Words of the sentence with their tones, broken into lines of the width; a piece may end within a word.
function lines(pen, pieces, size) {
  const words = [];
  let open = false;
  for (const { text: said, tone } of pieces) {
    // A number keeps its unit.
    for (const part of tone === "number" ? [said] : said.split(/(\s+)/)) {
      if (!part) continue;
      if (/^\s/.test(part)) open = false;
      else {
        if (!open) words.push([]);
        words.at(-1).push({ part, tone, font: face(size, tone === "plain" ? 400 : 600) });
        open = true;
      }
    }
  }
  const broken = [[]];
  let x = 0;
  for (const word of words) {
    for (const one of word) {
      pen.font = one.font;
      one.width = pen.measureText(one.part).width;
    }
    pen.font = face(size);
    const [wide, gap] = [word.reduce((sum, one) => sum + one.width, 0), pen.measureText(" ").width];
    if (x && x + gap + wide > INSIDE) {
      broken.push([]);
      x = 0;
    }
    broken.at(-1).push({ word, x: x ? x + gap : 0 });
    x += (x ? gap : 0) + wide;
  }
  return broken;
}

function sentence(pen, ink, pieces, top, room) {
  let size = 36;
  let broken = lines(pen, pieces, size);
  while (size > 20 && broken.length * size * 1.3 > room) broken = lines(pen, pieces, (size -= 2));
  broken.forEach((line, i) => {
    for (const { word, x } of line) {
      let at = PAD + x;
      for (const { part, tone, font, width } of word) {
        pen.font = font;
        pen.fillStyle = ink.of(TONES[tone] ?? "ink");
        pen.fillText(part, at, top + size * (1 + 1.3 * i));
        at += width;
      }
    }
  });
}

// Shortened in the middle, where a link is least missed.
function shortened(pen, whole, room) {
  if (pen.measureText(whole).width <= room) return whole;
  let keep = whole.length;
  const cut = () => `${whole.slice(0, Math.ceil(keep * 0.7))}…${whole.slice(whole.length - Math.floor(keep * 0.3))}`;
  while (keep > 8 && pen.measureText(cut()).width > room) keep -= 1;
  return cut();
}

function hatch(pen, x, y, width, height, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let at = x - height; at < x + width; at += 8) {
    pen.moveTo(at, y + height);
    pen.lineTo(at + height, y);
  }
  pen.stroke();
  pen.restore();
}

// Parts from the left, each with its value where there is room. Returns where the last ends.
function bar(pen, ink, rows, parts, perUnit, y, height, pale) {
  let x = PAD;
  for (const [path, word, fill, hatched] of parts) {
    const row = rows.get(path);
    if (!(row?.value > 0)) continue;
    const width = row.value * perUnit;
    const drawn = Math.max(width - (width > 3 ? 1.5 : 0), 0.5);
    pen.fillStyle = pale ? ink.fill("track") : ink.fill(fill);
    pen.fillRect(x, y, drawn, height);
    if (hatched || pale) hatch(pen, x, y, drawn, height, pale ? ink.of("line2") : "rgb(255 255 255 / 28%)");
    pen.font = face(17, 600);
    const named = `${text(word, word)}  ${row.text}`;
    const label = pen.measureText(named).width + 16 < width ? named : row.text;
    const wide = pen.measureText(label).width;
    if (wide + 16 < width) {
      if (hatched || pale) {
        pen.fillStyle = pale ? ink.fill("track") : ink.fill(fill);
        pen.fillRect(x + 4, y + 6, wide + 10, height - 12);
      }
      pen.fillStyle = pale ? ink.of("ink2") : labelOn(ink.fill(fill));
      pen.fillText(label, x + 9, y + height / 2 + 6);
    }
    x += width;
  }
  return x;
}

function legend(pen, ink, rows, parts, perUnit, y) {
  let x = PAD;
  const said = new Set();
  pen.font = face(16);
  for (const [path, word, fill, hatched] of parts) {
    if (!(rows.get(path)?.value * perUnit >= 1) || said.has(word)) continue;
    said.add(word);
    const name = text(word, word);
    const wide = 18 + pen.measureText(name).width + 18;
    if (x + wide > WIDTH - PAD) break;
    pen.fillStyle = ink.fill(fill);
    pen.fillRect(x, y - 11, 12, 12);
    if (hatched) hatch(pen, x, y - 11, 12, 12, "rgb(255 255 255 / 40%)");
    pen.fillStyle = ink.of("ink2");
    pen.fillText(name, x + 18, y);
    x += wide;
  }
}

function right(pen, said, y) {
  pen.textAlign = "right";
  pen.fillText(said, WIDTH - PAD, y);
  pen.textAlign = "left";
}

function head(pen, ink, state) {
  pen.strokeStyle = ink.of("ink");
  pen.lineWidth = 1.8;
  pen.save();
  pen.translate(PAD, 36);
  pen.scale(1.5, 1.5);
  // The mark of the page's header.
  pen.stroke(new Path2D("M10 6.6 4.6 14M10 6.6 15.4 14M6.4 15.7h7.2M12.4 4.4a2.4 2.4 0 1 1-4.8 0 2.4 2.4 0 0 1 4.8 0ZM6.4 15.7a2.4 2.4 0 1 1-4.8 0 2.4 2.4 0 0 1 4.8 0ZM18.4 15.7a2.4 2.4 0 1 1-4.8 0 2.4 2.4 0 0 1 4.8 0Z"));
  pen.restore();
  pen.fillStyle = ink.of("ink");
  pen.font = face(24, 600);
  pen.fillText("Wireplan", PAD + 40, 60);
  pen.fillStyle = ink.of("ink2");
  pen.font = face(18);
  right(pen, shortened(pen, state.summary ?? "", INSIDE - 200), 60);
}

function memory(pen, ink, rows, y) {
  const [need, capacity, device] = ["need_bytes", "capacity_bytes", "device_bytes"].map((name) => rows.get(`memory.${name}`));
  pen.fillStyle = ink.of("ink");
  pen.font = face(18, 600);
  pen.fillText(text("mem.title", "Will it fit?"), PAD, y);
  pen.font = face(18, 600);
  right(pen, `${need.text} / ${capacity.text}`, y);
  const perByte = INSIDE / Math.max(device.value, capacity.value);
  const [top, height] = [y + 18, 46];
  pen.fillStyle = ink.fill("track");
  pen.fillRect(PAD, top, capacity.value * perByte, height);
  const end = bar(pen, ink, rows, MEMORY, perByte, top, height, false);
  const limit = PAD + capacity.value * perByte;
  if (end > limit + 1) {
    pen.strokeStyle = ink.of("no");
    pen.lineWidth = 3;
    pen.strokeRect(limit, top - 1.5, end - limit - 1.5, height + 3);
  }
  pen.fillStyle = ink.of("ink");
  pen.fillRect(Math.min(limit, WIDTH - PAD) - 2, top - 8, 4, height + 16);
  legend(pen, ink, rows, MEMORY, perByte, top + height + 26);
}

function step(pen, ink, rows, y, fits) {
  const time = rows.get("step.time_s");
  pen.fillStyle = ink.of("ink");
  pen.font = face(18, 600);
  pen.fillText(text("step.title", "Where does the step go?"), PAD, y);
  if (!fits) {
    const at = PAD + pen.measureText(text("step.title", "Where does the step go?")).width + 12;
    pen.font = face(16);
    pen.fillStyle = ink.of("ink3");
    pen.fillText(text("if_it_fitted", "if it fitted"), at, y);
  }
  pen.fillStyle = ink.of("ink");
  pen.font = face(18, 600);
  right(pen, time.text, y);
  bar(pen, ink, rows, STEP, INSIDE / time.value, y + 14, 34, !fits);
  if (fits) legend(pen, ink, rows, STEP, INSIDE / time.value, y + 72);
}

export async function drawCard(state, link) {
  await style();
  const card = document.createElement("canvas");
  [card.width, card.height] = [WIDTH, HEIGHT];
  const pen = card.getContext("2d", { alpha: false });
  const rows = new Map(state.rows.map((row) => [row.path, row]));
  const ink = colours();
  pen.fillStyle = ink.of("bg1");
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  head(pen, ink, state);
  sentence(pen, ink, state.answer, 92, 190);
  memory(pen, ink, rows, 318);
  step(pen, ink, rows, 454, state.verdict !== "does-not-fit");
  pen.fillStyle = ink.of("line");
  pen.fillRect(PAD, 556, INSIDE, 1);
  pen.fillStyle = ink.of("ink2");
  pen.font = face(16, 400, "mono");
  pen.fillText(shortened(pen, link, INSIDE - 180), PAD, 588);
  pen.fillStyle = ink.of("ink3");
  pen.font = face(16);
  right(pen, `Wireplan ${state.version}`, 588);
  ink.done();
  return card;
}
