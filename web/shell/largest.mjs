// The largest micro-batch and the longest sequence that still fit, as the module finds them; loaded with it when first asked for.
import { makeAside, phrases, wrong } from "./aside.mjs";
import { element } from "./dom.mjs";
import { quantity } from "./explain.mjs";
import { word } from "./words.mjs";

const FIELDS = ["micro_batch_size", "sequence_length"];
let core = null;
let aside = null;
let page = null;
let shown = "";  // the plan and the language that stand there
let turn = 0;

const count = (n) => n.toLocaleString("en");

// "At most 4 sequences at once: 71.0 GB of 85.2 GB. The next, 8, would need 98.3 GB."
function sentence(say, field, { largest, limit, next, next_need_bytes, estimate }, unit) {
  const bytes = (value) => quantity(value, "bytes", unit);
  const { need_bytes, capacity_bytes, verdict } = estimate.memory;
  const values = { n: count(largest ?? next), need: bytes(need_bytes.value), capacity: bytes(capacity_bytes), next: count(next ?? 0), more: bytes(next_need_bytes ?? 0), gbs: count(estimate.plan.training.global_batch_size), dp: count(estimate.plan.parallel.data) };
  if (!largest) return say(`${field}.none`, { micro_batch_size: "Not even {n} at once fits: it needs {need} of {capacity}.", sequence_length: "No length fits: {n} already needs {need} of {capacity}." }[field], values);
  let said = say(`${field}.most`, { micro_batch_size: "At most {n} at once: {need} of {capacity}.", sequence_length: "At most {n} tokens: {need} of {capacity}." }[field], values);
  if (limit === "memory" && values.more === values.need) said += say("too_many", " {next} would be too many.", values);
  else if (limit === "memory") said += say("next", " The next, {next}, would need {more}.", values);
  else if (limit === "batch") said += say("batch", " The global batch of {gbs} over {dp} data-parallel ranks holds no more; memory would.", values);
  else said += say("range", " A plan may not have more.", values);
  if (verdict === "may-not-fit") said += say("may_not", " That is inside the error of the estimate: it may not fit.");
  return said;
}

// What using it would set.
function editsOf(field, { largest, global_batch_size, moves_batch }) {
  const edits = [[`training.${field}`, largest]];
  if (moves_batch) edits.push(["training.global_batch_size", global_batch_size]);
  return edits;
}

function useButton(say, field, found) {
  const label = say(`${field}.use`, { micro_batch_size: "Use micro-batch {n}", sequence_length: "Use {n} tokens" }[field], { n: count(found.largest) });
  return element("button", {
    type: "button",
    class: "primary",
    onclick() {
      const said = page.adopt("edits", JSON.stringify(editsOf(field, found)));
      if (said?.errors?.length) aside.body.prepend(wrong(said.errors[0].text));
    },
  }, label);
}

function part(say, field, found, state) {
  const now = state.plan.training[field];
  const { time_s, tokens_per_s } = found.estimate.step;
  const isSame = now === found.largest;
  return element(
    "section",
    { "data-field": field, "data-largest": found.largest ?? 0 },
    element("h3", {}, say(field, { micro_batch_size: "Largest micro-batch", sequence_length: "Longest sequence" }[field])),
    element("p", { class: "lead" }, sentence(say, field, found, state.unit)),
    ...(found.largest
      ? [element("p", { class: "small" }, say("step", "A step then takes {t}: {r} tokens/s.", { t: quantity(time_s.value, "s"), r: count(Math.round(tokens_per_s)) }), isSame ? say("same", " The plan has this already.") : say("now", " The plan has {now} now.", { now: count(now) }))]
      : []),
    found.largest && !isSame ? useButton(say, field, found) : "",
  );
}

// A turn of the screen, so that the page shows that it was asked before a large plan keeps it busy.
const drawn = () => new Promise((done) => setTimeout(done, 30));

async function answer(state) {
  const document_ = page.text("json");
  const key = state.language + state.stale + state.unit + document_;
  if (key === shown) return;
  shown = key;
  const mine = ++turn;
  aside.body.setAttribute("aria-busy", "true");
  try {
    const say = await phrases("largest", state.language);
    aside.name(say("title", "What is the largest that fits?"));
    core ??= await import("./wireplan.mjs").then((found) => found.ready.then(() => found));
    await drawn();
    if (mine !== turn) return;
    // The link leaves open what the plan leaves open; only what no link holds is stated whole.
    const plan = state.link || JSON.parse(document_).plan;
    const focused = aside.body.contains(document.activeElement);
    const found = FIELDS.map((field) => core.fit(plan, { max: field }));
    const parts = found.map((one, i) => (one.errors ? wrong(one.errors[0].text) : part(say, FIELDS[i], one, state)));
    // What no smaller batch or sequence makes fit another layout may.
    const elsewhere = found.some(({ largest }) => largest === null) ? element("button", { type: "button", "data-do": "layouts", onclick: () => aside.box.close() }, word("layouts", "Which layout is fastest?")) : "";
    aside.body.replaceChildren(
      ...(state.stale ? [element("p", { class: "notice" }, say("stale", "The last edit cannot be; this is the plan before it."))] : []),
      ...parts,
      elsewhere,
      element("p", { class: "basis" }, say("held", "Held as they are: model, layout, recipe, recomputation and the global batch, in sequences.")),
    );
    if (focused) (aside.body.querySelector("button") ?? aside.box.querySelector("button")).focus();
  } catch (error) {
    if (mine === turn) aside.body.replaceChildren(wrong(String(error?.message ?? error)));
    shown = "";
  }
  if (mine === turn) aside.body.removeAttribute("aria-busy");
}

export async function open(app, state) {
  page = app;
  aside ??= makeAside("largest", "polite");
  aside.name(word("largest", "Largest micro-batch that fits"));
  await aside.show();
  await answer(state);
}

// The plan may change under it: by its own button, by the browser's way back, or by undoing.
export function follow(state) {
  if (aside?.box.open) answer(state);
}
