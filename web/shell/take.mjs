// What a reader takes along besides the link: files, the picture and the card. Loaded when the menu first asks for one.
import { announce } from "./dom.mjs";
import { drawCard } from "./card.mjs";
import { asShown } from "./picture.mjs";
import { word } from "./words.mjs";

const FORMATS = {
  text: ["txt", "text/plain"],
  markdown: ["md", "text/markdown"],
  csv: ["csv", "text/csv"],
  json: ["estimate.json", "application/json"],
};
const PICTURES = { view: "png", card: "card.png" };
const KEPT_MS = 60_000;  // a download may be asked about before it begins

const idOf = (one) => (typeof one === "string" ? one : (one?.id ?? one?.name ?? "own"));
const slug = (text) => text.toLowerCase().replace(/[^\w.]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 40) || "own";

// "wireplan-mistral-7b-v0.1-fsdp-dgx-a100-80gb-1x4.csv"
export function fileName({ model, parallel, cluster }, extension) {
  const gpus = `${cluster.nodes ?? 1}x${cluster.gpus_per_node ?? cluster.node?.gpus ?? ""}`.replace(/x$/, "");
  return `wireplan-${[idOf(model), parallel?.data_sharding ?? "", idOf(cluster.node), gpus].filter(Boolean).map(slug).join("-")}.${extension}`;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
  announce(`${word("saved", "Saved")}: ${name}`);
}

// What the menu's buttons name: a format of the estimate, the plan that program and page read again, or a picture.
export async function saveAs(what, page) {
  const plan = page.state.plan;
  if (FORMATS[what]) {
    const [extension, type] = FORMATS[what];
    save(new Blob([page.app.text(what)], { type }), fileName(plan, extension));
  } else if (what === "plan") {
    save(new Blob([`${JSON.stringify(plan, null, 2)}\n`], { type: "application/json" }), fileName(plan, "plan.json"));
  } else {
    save(await imageOf(what, page), fileName(plan, PICTURES[what]));
  }
}

export async function imageOf(what, { app, canvas, state, link }) {
  const drawn = what === "card" ? await drawCard(state, link) : asShown(app, canvas);
  return new Promise((done, failed) => drawn.toBlob((blob) => (blob ? done(blob) : failed(new Error("no picture"))), "image/png"));
}
