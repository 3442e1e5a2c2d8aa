// Comparisons that stand ready: the page's own alternatives to its plan, each as a plan. A second planner without pictures takes them one
// after the other, so that the page itself is not touched and what an alternative changes is said in one place.
import { startApp } from "./bridge.mjs";
import { MOST_PLANS } from "./compare_link.mjs";
import { text } from "./words.mjs";

let planner = null;

// The plan's own way first, then what fits, by speed.
const byUse = (a, b) => b.chosen - a.chosen || b.fits - a.fits || a.time_s - b.time_s;
const ownFirst = (a, b) => b.chosen - a.chosen;

// key: [where the alternatives stand, how an edit takes one, its name in the page's words, which of them and in which order]
const KINDS = {
  recipes: ["recipes", "recipe", ({ key, label }) => text(`mem.recipe.${key}`, label), (list) => list],
  shardings: ["strategies", "strategy", ({ label }) => label, (list) => [...list].sort(byUse).slice(0, MOST_PLANS)],
  wirings: ["wirings", "wiring", ({ key, label }) => text(`wire.kind.${key}`, label), (list) => [...list].sort(ownFirst).slice(0, MOST_PLANS)],
};
export const READY = [...Object.keys(KINDS), "accumulation"];

const stated = ({ link, plan }) => (link.startsWith("#") ? { link, document: null } : { link: "", document: plan });

// [{link, document, name}], fewer than two where the plan has no such alternatives.
export async function readyPlans(kind, { link, plan }, say) {
  planner ??= await startApp(null, "", {}, () => () => {});
  const begun = link.startsWith("#") ? planner.open(link) : planner.adopt("plan", JSON.stringify(plan)).errors.length === 0;
  if (!begun) return [];
  const own = planner.state();
  const before = JSON.stringify(own.plan);
  const taken = (...edits) => {
    edits.forEach(([path, value]) => planner.edit(path, value));
    const now = planner.state();
    for (let then = now; then.can_undo && (then.errors.length || JSON.stringify(then.plan) !== before); then = planner.state()) planner.undo();
    return now.errors.length ? null : stated(now);
  };
  if (kind === "accumulation") {
    const { global_batch_size: batch, micro_batch_size: micro } = own.plan.training;
    const once = micro * own.plan.parallel.data;
    if (once >= batch) return [];
    const single = taken(["training.global_batch_size", String(once)]);
    const name = (n) => (n === 1 ? say("one_micro", "1 micro-batch a step") : say("micros", "{n} micro-batches a step", { n }));
    return single ? [{ ...stated(own), name: name(batch / once) }, { ...single, name: name(1) }] : [];
  }
  const [list, edit, name, choose] = KINDS[kind];
  const all = planner.alternatives()[list] ?? [];
  const plans = [];
  for (const one of choose(all)) {
    const other = all.find(({ key }) => key !== one.key);
    let found = stated(own);
    if (!one.chosen) found = taken([`${edit}.${one.key}`, ""]);
    // A node that is one of a kind is estimated by what was measured on it, one that was wired anew is not: there and back, all are alike.
    else if (kind === "wirings" && other && one.key !== "as-stated") found = taken([`${edit}.${other.key}`, ""], [`${edit}.${one.key}`, ""]);
    if (found) plans.push({ ...found, name: name(one) });
  }
  return plans;
}
