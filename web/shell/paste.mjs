// A machine's own outputs, pasted or dropped: its wiring, its measurements, a model's config.json, a trainer's configuration, a cluster or a whole plan.
// Loaded when first asked for, with the module that reads them; nothing of it travels before.
import { sentence } from "./answer.mjs";
import { style } from "./aside.mjs";
import { announce, element } from "./dom.mjs";
import { reason, shownValue, trainerName } from "./trainer_words.mjs";
import { text as ofCanvas, word } from "./words.mjs";

const LARGEST = 4_000_000;
let core = null;
let dialog = null;

// Keys that trainers' JSON files alone have, and words by which a file with a fault in it is still told (core/text/trainers, likeness).
const TRAINER_KEYS = ["zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu", "steps_per_print", "distributed_type", "compute_environment", "fsdp_config", "deepspeed_config", "parallelism_config", "per_device_train_batch_size", "gradient_checkpointing", "num_train_epochs", "model_name_or_path"];
const TRAINER_WORDS = /^\s*\[(?:parallelism|training|activation_checkpoint)\]|"zero_optimization"|\b(?:distributed_type|compute_environment|per_device_train_batch_size)\b["']?\s*:|--tensor-model-parallel-size\b/m;

// What a text is, by its own words; what none of them decides goes to the reader of trainers, which knows far more of these, and then to the one of
// topologies, which says what it is instead.
export function kindOf(text) {
  const start = text.trimStart();
  if (/^#?v=1&/.test(start)) return "link";
  if (start.startsWith("{")) {
    let parsed = null;
    try { parsed = JSON.parse(text); } catch { return /"(?:average_size|out_of_place|nccl-tests)/.test(text) ? "nccl-tests" : TRAINER_WORDS.test(text) ? "trainer" : "broken"; }
    const schema = String(parsed.schema ?? "");
    if (schema.startsWith("wireplan.profile/")) return "profile";
    if (schema.startsWith("wireplan.cluster/")) return "cluster";
    if (schema.startsWith("wireplan.run/") || (!schema && "rows" in parsed && "findings" in parsed)) return "nccl-tests";
    if (schema.startsWith("wireplan.model/")) return "model";
    if (schema.startsWith("wireplan.plan/")) return "plan";
    if (schema.startsWith("wireplan.")) return "plan" in parsed ? "answer" : "other";
    if ("model_type" in parsed || "architectures" in parsed) return "config";
    if (TRAINER_KEYS.some((key) => key in parsed)) return "trainer";
    if ("model" in parsed) return "plan";
    if ("node" in parsed || "gpus_per_node" in parsed) return "cluster";
    return "nccl-tests";
  }
  const isTable = /\b(?:algbw|busbw)\b|^#? *\w+_perf\b|out-of-place/m.test(text);
  if (isTable && !/\bGPU0\b.*\bGPU1\b/.test(text)) return "nccl-tests";
  if (/\bNCCL INFO\b/.test(text)) return "nccl-log";
  if (/^<|\bGPU ?\d+\b/.test(start)) return "topology";
  return TRAINER_WORDS.test(text) ? "trainer" : "unknown";
}

async function loaded() {
  if (core) return core;
  const found = await import("./wireplan.mjs");
  await found.ready;
  return (core = found);
}

const failed = (text) => ({ errors: [{ path: "", text }] });

// → {errors} or {kind, changed, followed, assumed, notes, gpu, trained}; a trainer's configuration that makes no plan of this one: errors and trained
export async function take(app, text, gpu) {
  if (!text.trim()) return failed(word("paste.empty", "There is nothing to read yet."));
  if (text.length > LARGEST) return failed(word("paste.large", "This is too long: at most 4 MB are read."));
  const kind = kindOf(text);
  const later = {
    "nccl-log": word("paste.nccl_log", "This is a log of NCCL itself. The page does not read it yet; the program does: wireplan import FILE."),
    other: word("paste.other", "This is a document of Wireplan, but neither a plan nor a cluster nor a profile."),
  }[kind];
  if (later) return failed(later);
  if (kind === "link") return app.open(text.trim().replace(/^(?!#)/, "#")) ? { kind, changed: true } : failed(app.state().errors[0]?.text ?? "");
  if (kind === "plan" || kind === "profile" || kind === "cluster" || kind === "broken")
    return { kind, assumed: kind === "cluster" ? JSON.parse(text).assumed : [], ...app.adopt(kind === "broken" ? "plan" : kind, text) };
  if (kind === "answer") return { kind: "plan", ...app.adopt("plan", JSON.stringify(JSON.parse(text).plan)) };
  if (kind === "model") {
    const { model, presets = [] } = JSON.parse(text);
    return { kind, ...app.adopt("model", JSON.stringify(presets[0] ?? model ?? null)) };
  }
  const reader = await loaded();
  if (kind === "nccl-tests") {
    const found = reader.importNcclTests(text);
    if (found.errors) return found;
    const notes = found.notes.map((note) => note.text);
    if (found.gpus.length) notes.unshift(`${word("paste.measured_on", "Measured on")} ${found.gpus.join(", ")}.`);
    return { kind: "profile", notes, ...app.adopt("profile", JSON.stringify(found.profile)) };
  }
  if (kind === "config") {
    const found = reader.importConfig(text);
    if (found.errors) return found;
    const preset = found.presets[0];
    const notes = [`${found.model.name}, ${found.architecture}: ${found.parameters.toLocaleString("en-US")} ${word("paste.parameters", "parameters")}${preset ? `, ${word("paste.same_as", "the same as")} ${preset}` : ""}.`];
    notes.push(...found.notes.map((note) => note.text));
    const assumed = found.fields.filter(({ origin, value }) => origin === "default" && value !== null).map(({ path, value, from }) => ({ path, why: `${value}: ${word("paste.default", "the default of")} ${from}` }));
    return { kind: "model", assumed, notes, ...app.adopt("model", JSON.stringify(preset ?? found.model)) };
  }
  if (kind === "trainer" || kind === "unknown") {
    const { link } = app.state();
    const found = reader.importTrainer(text, { onto: link || JSON.parse(app.text("json")).plan });
    if (!found.errors) return { kind: "trainer", trained: found, ...app.adopt("plan", JSON.stringify(found.document)) };
    // An error at a key is one of a configuration; else the text may be none at all.
    if (kind === "trainer" || found.errors.some(({ path }) => path)) return found;
  }
  const cluster = reader.importTopology(text, gpu ? { gpu } : {});
  if (cluster.errors) return cluster;
  const { assumed = [], ...stated } = cluster;
  const guessed = gpu || assumed.some(({ path }) => path === "node.gpu");
  return {
    kind: "topology", assumed, gpu: guessed ? (cluster.node.gpu.id ?? cluster.node.gpu) : null,
    ...app.adopt("cluster", JSON.stringify({ ...stated, assumed })),
  };
}

const DONE = {
  topology: () => word("paste.done.topology", "This machine is now the plan's cluster."),
  cluster: () => word("paste.done.cluster", "This is now the plan's cluster."),
  model: () => word("paste.done.model", "This is now the plan's model."),
  profile: () => word("paste.done.profile", "Your measurements now decide what they cover."),
  plan: () => word("paste.done.plan", "This is now the plan."),
  trainer: () => word("paste.done.trainer", "The plan now is as this configuration says."),
  link: () => word("paste.done.plan", "This is now the plan."),
};

// Title and way to it, by what the reader was asked for. Every kind of text is read all the same.
const ABOUT = {
  any: () => [
    word("paste.title", "Your machine, your measurements"),
    word("paste.how", "Paste the output of nvidia-smi topo -m (with nvidia-smi -L and topo -p2p r beside it, if you have them), an NCCL topology XML, a log of nccl-tests, a model's config.json, a trainer's configuration (torchtitan, DeepSpeed, Accelerate, TrainingArguments, Megatron-LM, Megatron-Bridge, Lightning), or a cluster, profile, run or plan as JSON. Or drop a file anywhere on the page. It is read in this tab."),
  ],
  model: () => [
    word("paste.model.title", "Your model"),
    word("paste.model.how", "Paste the model's config.json, as it stands in the model's folder or among its files on Hugging Face, or drop the file anywhere on the page. It is read in this tab; the answer above then is for your model."),
  ],
  machine: () => [
    word("paste.machine.title", "Your machine"),
    word("paste.machine.how", "On the machine, run nvidia-smi topo -m and paste what it prints (with nvidia-smi -L and nvidia-smi topo -p2p r beside it, if you have them), or paste an NCCL topology XML. It is read in this tab."),
  ],
  numbers: () => [
    word("paste.numbers.title", "Your NCCL numbers beside the prediction"),
    word("paste.numbers.how", "Run nccl-tests on your machine, for example all_reduce_perf -b 8 -e 4G -f 2 -g 4, and paste the log here or drop the file anywhere on the page. The curves then show what you measured beside what is predicted, and the plan counts with your numbers. It is read in this tab."),
  ],
};

// One dialog, made at the first use. Its text stays, so that it can be mended.
function make(app) {
  const area = element("textarea", { id: "paste-text", spellcheck: "false", autocomplete: "off", rows: 9, "aria-describedby": "paste-how paste-wrong" });
  const wrong = element("div", { id: "paste-wrong", class: "wrong", role: "alert" });
  const said = element("div", { id: "paste-said", "aria-live": "polite" });
  const undo = element("button", { type: "button", hidden: true });
  const read = element("button", { type: "button" });
  const close = element("button", { type: "button" });
  const title = element("h2", { id: "paste-title" });
  const how = element("p", { id: "paste-how" });
  const label = element("label", { for: "paste-text" });
  const box = element("dialog", { id: "paste", "aria-labelledby": "paste-title" }, title, how, label, area, wrong, said, element("div", { class: "row" }, undo, close, read));
  document.body.append(box);

  let edits = 0;  // of this text, to be taken back before it is read again
  let texts = []; // read last
  const takeBack = () => {
    for (; edits > 0; --edits) app.undo();
  };
  let about = "any";
  const showWords = () => {
    [title.textContent, how.textContent] = ABOUT[about]();
    label.textContent = word("paste.text", "Text");
    undo.textContent = word("undo", "Undo");
    read.textContent = word("paste.read", "Read it");
    close.textContent = edits > 0 ? word("done", "Done") : word("close", "Close");
    read.classList.toggle("primary", edits === 0);
    close.classList.toggle("primary", edits > 0);
    undo.hidden = edits === 0;
  };

  const list = (heading, items) =>
    items?.length ? [element("h3", {}, heading), element("ul", {}, ...items.map((item) => element("li", {}, ...[item].flat())))] : [];

  function gpuChooser(chosen) {
    const id = "paste-gpu";
    const choices = core.presets("gpus").presets.map((gpu) => element("option", { value: gpu.id, selected: gpu.id === chosen }, gpu.name ?? gpu.id));
    const select = element("select", { id, onchange: () => readText(texts, select.value).then(() => dialog.box.querySelector(`#${id}`)?.focus()) }, ...choices);
    return [element("div", { class: "field" }, element("label", { for: id }, word("paste.gpu", "GPU, a guess")), select)];
  }

  // What a trainer's configuration states, by which key; what its defaults decide; and every key that gave nothing.
  function trainedParts({ trainer, fields, unread, missing, notes: said }) {
    const isDefault = ({ from }) => /^default\b/.test(from);
    const code = (text) => element("code", {}, text);
    const field = ({ path, value, from }) => element("li", { "data-path": path, "data-from": from }, code(path), ` = ${shownValue(value)}`, ...(isDefault({ from }) ? [] : [" ← ", code(from)]));
    const why = word("paste.why", "Reason (in English)");
    const key = ({ key: name, value, effect, text }) => element("li", { "data-key": name, "data-effect": effect }, code(`${name} = ${value}`), ": ", reason(text, why));
    const part = (heading, items) => (items.length ? [element("h3", {}, heading), element("ul", {}, ...items)] : []);
    const folded = (heading, items) => (items.length ? [element("details", {}, element("summary", {}, `${heading} (${items.length})`), element("ul", {}, ...items))] : []);
    return [
      ...part(`${word("paste.trained", "Read from this configuration of")} ${trainerName(trainer)}`, fields.filter((one) => !isDefault(one)).map(field)),
      ...folded(word("paste.trained.default", "Decided by the trainer's defaults"), fields.filter(isDefault).map(field)),
      ...part(word("paste.unread.changes", "Not read, though it changes memory or time"), unread.filter(({ effect }) => effect === "changes-memory-or-time").map(key)),
      ...part(word("paste.unread.unknown", "Not read; nobody here knows these keys"), unread.filter(({ effect }) => effect === "unknown").map(key)),
      ...folded(word("paste.unread.none", "Not read, without effect on memory or time"), unread.filter(({ effect }) => effect === "none").map(key)),
      ...(missing.length ? [element("p", { id: "paste-missing" }, `${word("paste.missing", "Not stated there, so as in the plan before:")} ${missing.join(", ")}`)] : []),
      ...part(word("paste.notes", "Notes"), said.map(({ text }) => element("li", {}, reason(text, why)))),
    ];
  }

  function show({ kind, errors, changed, followed, assumed, notes, gpu, trained }) {
    if (errors?.length) {
      wrong.append(...errors.slice(0, 5).map(({ path, text }) => element("p", {}, path ? element("code", {}, `${path} `) : null, text)));
      announce(errors[0].text);
      if (trained) said.append(...trainedParts(trained));
      return;
    }
    if (changed) ++edits;
    said.append(
      element("p", { class: "done-line" }, changed ? DONE[kind]() : word("paste.same", "The plan has this already.")),
      element("p", {}, sentence(app.state().answer)),
      ...(gpu ? gpuChooser(gpu) : []),
      ...(trained ? trainedParts(trained) : []),
      ...list(word("paste.assumed", "Assumed, since the text does not say"), assumed?.map(({ path, why }) => [element("code", {}, `${path} `), why])),
      ...list(word("paste.followed", "Followed in the plan"), followed?.map(({ path, from, to }) => `${ofCanvas(`in.${path}`, path)}: ${from} → ${to}`)),
      ...list(word("paste.notes", "Notes"), notes),
    );
  }

  async function readText(given, gpu) {
    texts = given;
    box.setAttribute("aria-busy", "true");
    takeBack();
    wrong.replaceChildren();
    said.replaceChildren();
    try {
      for (const text of texts) show(await take(app, text, gpu));
    } catch (error) {
      show(failed(String(error?.message ?? error)));
    }
    area.setAttribute("aria-invalid", String(Boolean(wrong.children.length)));
    box.removeAttribute("aria-busy");
    showWords();
  }

  read.addEventListener("click", () => readText([area.value]));
  undo.addEventListener("click", () => {
    takeBack();
    said.replaceChildren();
    showWords();
    area.focus();
  });
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => {
    edits = 0;
    said.replaceChildren();
    wrong.replaceChildren();
  });
  area.addEventListener("paste", () => setTimeout(() => readText([area.value])));
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    readText([area.value]);
  });
  const ask = (what) => {
    about = what;
    showWords();
  };
  return { box, area, readText, ask };
}

// With texts: read at once. Without: waits for what is pasted. `about`: a key of ABOUT.
export async function openPaste(app, texts = [], about = "any") {
  dialog ??= make(app);
  await style();
  if (!dialog.box.open) {
    dialog.ask(about);
    dialog.box.showModal();
    dialog.area.focus();
  }
  if (!texts.length) return;
  dialog.area.value = texts.length === 1 ? texts[0] : "";
  await dialog.readText(texts);
}
