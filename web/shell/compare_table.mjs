// Plans as the columns of a table: what they state otherwise, then the three questions of the page, each with what it is made of.
import { element } from "./dom.mjs";
import { quantity } from "./explain.mjs";
import { text } from "./words.mjs";
import { MEMORY_PARTS, memoryBar, memoryPart, STEP_PARTS, stepBar, stepPart, swatch } from "./compare_bars.mjs";
import { distance, formatOf, LETTERS, percent, verdictWord } from "./compare_words.mjs";

const SIGNS = { count: "=", bound: "≤", estimate: "≈", measured: "●" };
const MOST_FIELDS = 16;  // that differ, unless all rows are wanted
const MOST_LINKS = 6;
const LONGEST_VALUE = 64;

const at = (json, path) => path.split(".").reduce((part, key) => part?.[key], json);
const valueAt = (estimate, path) => {
  const found = at(estimate, path);
  return typeof found === "object" && found !== null ? found.value : found;
};
const seconds = (value) => quantity(value, "s");
// A path may break after its points and underscores.
const breakable = (path) => element("code", {}, ...path.split(/(?<=[._])/).flatMap((part, i) => (i ? [element("wbr"), part] : [part])));
const cell = (attributes, ...children) => element("td", attributes, ...children);
const hidden = (words) => element("span", { class: "vh" }, words);


function fieldText(json) {
  if (json === null || json === undefined) return "–";
  const words = typeof json === "string" ? json : JSON.stringify(json);
  return words.length > LONGEST_VALUE ? `${words.slice(0, LONGEST_VALUE - 1)}…` : words;
}

// [path, …] of every leaf of the plans, as far as one of them states it.
function leaves(plans) {
  const paths = new Set();
  const visit = (json, path) => {
    for (const [key, value] of Object.entries(json ?? {})) {
      const here = path ? `${path}.${key}` : key;
      if (here === "schema" || here === "cluster.profile") continue;
      if (typeof value === "object" && value !== null && !Array.isArray(value)) visit(value, here);
      else paths.add(here);
    }
  };
  plans.forEach((plan) => visit(plan, ""));
  return [...paths];
}

// Paths of the plan at which the plans differ; a list is one field, and so are measurements, hundreds of points.
export function differingFields(comparison) {
  if (!comparison) return [];
  const whole = (path) => {
    if (path.startsWith("cluster.profile")) return "cluster.profile";
    const keys = path.split(".");
    const end = keys.findIndex((key, i) => comparison.estimates.some(({ plan }) => Array.isArray(at(plan, keys.slice(0, i + 1).join(".")))));
    return end < 0 ? path : keys.slice(0, end + 1).join(".");
  };
  const paths = comparison.differences.map(({ path }) => path).filter((path) => path.startsWith("plan."));
  return [...new Set(paths.map((path) => whole(path.slice(5))))];
}

export class PlanTable {
  // view: {say, names, estimates (null where a plan cannot be read), base, problems, different, best, unit, claims, showsAll, budgets, header(i)}
  constructor(view) {
    Object.assign(this, view);
    this.bars = [];  // {holder, draw(width)}
  }

  make() {
    const { say, names } = this;
    const head = element("thead", {}, element("tr", {}, element("td", { class: "corner" }), ...names.map((name, i) => element("th", { scope: "col", abbr: `${LETTERS[i]} ${name}`, class: this.ground(i), "data-column": i }, this.header(i), ...this.remarks(i)))));
    this.table = element("table", { id: "compare-table" }, element("caption", { class: "vh" }, say("caption", "Plans side by side; {a} is the baseline", { a: LETTERS[this.base] })), head);
    if (!this.estimates[this.base]) return this.table;
    this.table.append(...(this.showsAll || this.estimates.length > 1 ? [this.fields()] : []), this.memory(), this.wiring(), this.step());
    if (this.budgets) this.table.append(this.run());
    return this.table;
  }

  // As wide as the narrowest column has become: one scale for all.
  draw() {
    const width = Math.min(...this.bars.map(({ holder }) => Math.floor(holder.clientWidth)));
    if (!(width > 0) || !Number.isFinite(width) || width === this.width) return;
    this.width = width;
    for (const bar of this.bars) bar.holder.replaceChildren(bar.draw(width));
  }

  ground(i) {
    return i === this.best ? "best" : null;
  }

  remarks(i) {
    const notes = this.problems[i] ?? [];
    return notes.slice(0, 3).map(({ path, text: words, isNote }) => element("p", { class: isNote ? "remark-of-plan" : "problem" }, isNote ? "" : "✕ ", path ? element("code", {}, `${path} `) : null, words));
  }

  row(head, cells, attributes = {}) {
    return element("tr", attributes, head, ...cells);
  }

  columns(make) {
    return this.estimates.map((e, i) => (e ? make(e, i) : cell({ class: this.ground(i) }, "–")));
  }

  // Of the baseline nothing is said; of another how far from it, in words for those who do not see the column beside it.
  delta(value, base, i, shown, unit, better = 0) {
    const words = i === this.base ? "" : distance(this.say, value, base, shown, unit);
    if (!words) return null;
    const isGain = better !== 0 && Math.sign(value - base) === better;
    return element("span", { class: `delta${isGain ? " good" : ""}` }, words, hidden(` ${this.say("against", "against {a}", { a: LETTERS[this.base] })}`));
  }

  fields() {
    const { say, estimates, different, showsAll } = this;
    const plans = estimates.map((e) => e?.plan);
    const all = showsAll ? [...different, ...leaves(plans.filter(Boolean)).filter((path) => !different.includes(path))] : different;
    const some = showsAll ? all : all.slice(0, MOST_FIELDS);
    const body = element("tbody", { "data-group": "fields" }, this.row(element("th", { scope: "rowgroup", class: "group", colspan: estimates.length + 1 }, showsAll ? say("all_fields", "All fields") : say("differs", "What differs")), []));
    for (const path of some) {
      const differs = different.includes(path);
      const base = JSON.stringify(at(plans[this.base], path) ?? null);
      const value = (e, i) => {
        const json = at(e.plan, path);
        const words = path === "cluster.profile" ? (json ? say("profile", "measurements") : "–") : fieldText(json);
        const changed = differs && JSON.stringify(json ?? null) !== base;
        const follows = differs && e.assumed.some((one) => one.path === path);  // from what is stated elsewhere
        return cell(
          { class: this.ground(i), title: words.endsWith("…") ? JSON.stringify(json).slice(0, 1000) : null },
          changed ? element("mark", {}, hidden(`${say("other", "differs:")} `), element("span", { "aria-hidden": "true" }, "≠ "), words) : words,
          follows ? element("small", {}, say("follows", "by default")) : null,
        );
      };
      body.append(this.row(element("th", { scope: "row" }, breakable(path)), this.columns(value), { class: differs ? "plan-field" : "plan-field same", "data-path": `plan.${path}` }));
    }
    const left = all.length - some.length;
    const words = left ? say("more_fields", "and {n} more fields, see all rows", { n: left }) : !different.length && estimates.filter(Boolean).length > 1 ? say("no_fields", "Nothing: these plans are the same.") : "";
    if (words) body.append(this.row(cell({ class: "said", colspan: estimates.length + 1 }, words), []));
    return body;
  }

  // A number of every plan. Equal ones are pale, and left out unless all rows are wanted or `always`.
  figure(path, label, unit, value, { always = false, mark = null, better = 0, claim } = {}) {
    const { estimates, showsAll } = this;
    const values = estimates.map((e, i) => (e ? value(e, i) : null));
    const there = values.filter((v) => v !== null && v !== undefined);
    const same = there.every((v) => v === there[0]);
    if (!always && !showsAll && (same || there.length < 2)) return null;
    const base = values[this.base];
    const shown = formatOf(there, unit, this.unit);
    const sign = SIGNS[claim ?? this.claims.get(path)] ?? SIGNS.estimate;
    const cells = this.columns((e, i) => {
      const v = values[i];
      if (v === null || v === undefined) return cell({ class: this.ground(i) }, "–");
      const kind = v !== base ? "differs" : i !== this.base ? "equal" : null;
      return cell({ class: [this.ground(i), kind].filter(Boolean).join(" ") || null, "data-value": v }, element("span", { class: "figure" }, shown(v)), this.delta(v, base, i, shown, unit, better));
    });
    return this.row(element("th", { scope: "row" }, element("i", { title: claim ?? this.claims.get(path) }, sign), mark, label), cells, { class: same ? "same" : null, "data-path": path });
  }

  known(path, unit, more) {
    return this.figure(path, text(`path.${path}`, path), unit, (e) => valueAt(e, path), more);
  }

  question(words, below, make) {
    return this.row(element("th", { scope: "row", class: "question" }, words, element("small", {}, below)), this.columns(make), { class: "question" });
  }

  bar(draw) {
    const holder = element("div", { class: "bar-holder" });
    this.bars.push({ holder, draw });
    return holder;
  }

  group(name, ...rows) {
    return element("tbody", { "data-group": name }, ...rows.filter(Boolean));
  }

  memory() {
    const { say, estimates, unit } = this;
    const there = estimates.filter(Boolean);
    const most = 1.02 * Math.max(...there.flatMap(({ memory: m }) => [m.capacity_bytes, m.need_bytes.high, m.need_bytes.value]));
    const need = this.estimates[this.base].memory.need_bytes.value;
    const name = (key, english) => text(`mem.part.${key}`, english);
    const big = (e, i) => {
      const m = e.memory;
      const rest = Math.abs(m.capacity_bytes - m.need_bytes.value);
      const left = text(m.fits ? "mem.free" : "mem.over", m.fits ? "{n} free" : "{n} over").replace("{n}", quantity(rest, "bytes", unit));
      const label = `${quantity(m.need_bytes.value, "bytes", unit)} / ${quantity(m.capacity_bytes, "bytes", unit)}: ${MEMORY_PARTS.filter(([path]) => memoryPart(m, path) > 0).map(([path, key, english]) => `${name(key, english)} ${quantity(memoryPart(m, path), "bytes", unit)}`).join(", ")}`;
      return cell(
        { class: this.ground(i), "data-value": m.need_bytes.value, "data-verdict": m.verdict },
        element("div", { class: "big" }, element("b", {}, quantity(m.need_bytes.value, "bytes", unit)), element("span", { class: `verdict ${m.fits ? "good" : "bad"}` }, `${m.fits ? "✓" : "✕"} ${verdictWord(say, m)}, ${left}`), this.delta(m.need_bytes.value, need, i, (size) => quantity(size, "bytes", unit), "bytes")),
        this.bar((width) => memoryBar(m, width, most, unit, label)),
      );
    };
    const part = ([path, key, english]) =>
      there.some((e) => memoryPart(e.memory, path) > 0) ? this.figure(`memory.parts.${path}`, name(key, english), "bytes", (e) => memoryPart(e.memory, path), { always: true, mark: swatch(path) }) : null;
    const states = ({ memory: { states: s } }) => s.parameters + s.gradients + s.master_weights + s.optimizer_states;
    return this.group(
      "memory",
      this.question(text("mem.title", "Will it fit?"), text("mem.sub_short", "{u}, fullest GPU").replace("{u}", unit), big),
      this.figure("memory.states", say("states_kept", "Model states kept"), "bytes", states, { always: true, claim: "count" }),
      ...MEMORY_PARTS.map(part),
      ...["memory.allocated_bytes", "memory.reserved_bytes", "memory.device_bytes", "memory.host_bytes", "memory.capacity_bytes"].map((path) => this.known(path, "bytes")),
    );
  }

  wiring() {
    const { say, estimates } = this;
    const exposed = this.estimates[this.base].step.exposed_communication_s;
    const big = (e, i) => {
      const waits = e.step.exposed_communication_s;
      const share = waits / e.step.time_s.value;
      return cell(
        { class: this.ground(i), "data-value": waits },
        element("div", { class: "big" }, element("b", {}, waits > 0 ? quantity(waits, "s") : say("no_wait", "none")), waits > 0 ? element("span", {}, say("of_step", "{p} of the step", { p: percent(share) })) : null, this.delta(waits, exposed, i, seconds, "s", -1)),
      );
    };
    // What is waited for, by the link that holds it up.
    const links = new Map();
    estimates.forEach((e, i) =>
      e?.communication.forEach(({ bottleneck, name, exposed_s: waits }) => {
        if (!(waits > 0)) return;
        const at = bottleneck || name;
        if (!links.has(at)) links.set(at, estimates.map(() => 0));
        links.get(at)[i] += waits;
      }),
    );
    const most = [...links].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1])).slice(0, MOST_LINKS);
    return this.group(
      "wiring",
      this.question(text("wire.title", "Will the wiring keep up?"), say("waits", "waiting that nothing hides"), big),
      ...most.map(([name, waits]) => this.figure(`exposed.${name}`, say("at_link", "at {l}", { l: name }), "s", (e, i) => waits[i], { always: true, better: -1 })),
      this.known("step.on_ideal_wiring_s", "s", { always: true }),
    );
  }

  step() {
    const { say, estimates, unit } = this;
    const there = estimates.filter(Boolean);
    const most = 1.02 * Math.max(...there.map(({ step: s }) => s.time_s.high));
    const time = this.estimates[this.base].step.time_s.value;
    const name = (key, english) => text(`step.part.${key}`, english);
    const big = (e, i) => {
      const s = e.step;
      const label = `${quantity(s.time_s.value, "s")}: ${STEP_PARTS.filter(([path]) => stepPart(s, path) > 0).map(([path, key, english]) => `${name(key, english)} ${quantity(stepPart(s, path), "s")}`).join(", ")}`;
      return cell(
        { class: this.ground(i), "data-value": s.time_s.value },
        element("div", { class: "big" }, element("b", {}, quantity(s.time_s.value, "s")), e.memory.fits ? null : element("span", {}, text("if_it_fitted", "if it fitted")), this.delta(s.time_s.value, time, i, seconds, "s", -1)),
        this.bar((width) => stepBar(e, width, most, label)),
      );
    };
    const part = ([path, key, english]) => (there.some((e) => stepPart(e.step, path) > 0) ? this.figure(`step.${path}`, name(key, english), "s", (e) => stepPart(e.step, path), { always: true, mark: swatch(path) }) : null);
    return this.group(
      "step",
      this.question(text("step.title", "Where does the step go?"), say("seconds", "one step; thin bar: hidden communication"), big),
      ...STEP_PARTS.map(part),
      this.known("step.tokens_per_s", "tokens", { always: true, better: 1 }),
      this.known("step.tokens_per_s_per_gpu", "tokens", { always: true, better: 1 }),
      this.known("step.mfu", "share", { always: true, better: 1 }),
      this.known("step.hfu", "share", { better: 1 }),
      this.known("model.parameters", ""),
    );
  }

  // What a run of so many tokens takes; the cost where there is a price.
  run() {
    const { say, budgets } = this;
    const range = (path) => (e, i) => budgets[i]?.[path]?.value ?? null;
    const days = (e, i) => (budgets[i] ? budgets[i].time_s.value / 86_400 : null);
    return this.group(
      "run",
      this.row(element("th", { scope: "rowgroup", class: "group", colspan: budgets.length + 1 }, say("run", "A run of {n} tokens", { n: budgets.find(Boolean).tokens.toLocaleString("en") })), []),
      this.figure("run.days", say("days", "days"), "", days, { always: true, better: -1, claim: "estimate" }),
      this.figure("run.gpu_hours", say("gpu_hours", "GPU-hours"), "tokens", range("gpu_hours"), { always: true, better: -1, claim: "estimate" }),
      budgets.some((b) => b?.cost) ? this.figure("run.cost", say("cost", "cost"), "tokens", range("cost"), { always: true, better: -1, claim: "estimate" }) : null,
    );
  }
}
