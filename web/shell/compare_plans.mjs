// The plans that stand side by side, and what the module says of them.
import { MOST_PLANS } from "./compare_link.mjs";
import { differingFields } from "./compare_table.mjs";

let ids = 0;
export const given = ({ link = "", document = null, name = "" }) => ({ id: ++ids, link, document, name });
export const stated = (plan) => plan.link || plan.document;

// What of a link says nothing of its plan.
const bare = (link) => link.replace(/&(?:u|lang|theme|view|story)=[^&]*/g, "");

export class Plans {
  list = [];  // {id, link, document where no link holds the plan, name as given}
  past = [];  // lists before this one
  run = null;  // {tokens, price} to ask for, {texts} as typed
  #answered = "";

  change(next) {
    this.past.push(this.list);
    this.list = next;
  }

  back() {
    this.list = this.past.pop() ?? this.list;
  }

  get isFull() {
    return this.list.length >= MOST_PLANS;
  }

  at(id) {
    return this.list.findIndex((plan) => plan.id === id);
  }

  same(plan) {
    return this.list.findIndex((one) => (plan.link ? bare(one.link) === bare(plan.link) : JSON.stringify(one.document) === JSON.stringify(plan.document)));
  }

  // Every plan's estimate, or what is wrong with it; plans that cannot be read leave the others standing.
  evaluate(core) {
    const { list } = this;
    const key = JSON.stringify([list.map(stated), this.run?.tokens, this.run?.price]);
    if (key === this.#answered) return;
    this.#answered = key;
    const problems = list.map(() => []);
    let comparison = list.length ? core.compare(list.map(stated)) : null;
    if (comparison?.errors) {
      for (const error of comparison.errors) {
        const [, index, path] = /^plans\.(\d+)\.?(.*)$/.exec(error.path) ?? [];
        if (problems[index]) problems[index].push({ ...error, path });
        else problems.forEach((of) => of.push(error));
      }
      const good = list.filter((plan, i) => !problems[i].length);
      comparison = good.length ? core.compare(good.map(stated)) : null;
    }
    if (comparison?.errors) comparison = null;
    const readable = problems.map((of) => !of.length);
    let next = 0;
    const estimates = list.map((plan, i) => (comparison && readable[i] ? comparison.estimates[next++] : null));
    // What a link says that nobody here knows.
    list.forEach((plan, i) => {
      if (!estimates[i] || !plan.link) return;
      for (const { text } of core.parseLink(plan.link).notes ?? []) problems[i].push({ path: "", text, isNote: true });
    });
    this.answer = { comparison, estimates, problems, different: differingFields(comparison), base: Math.max(0, estimates.findIndex(Boolean)), budgets: null };
    if (comparison && this.run?.tokens) this.#budget(core);
  }

  #budget(core) {
    const { tokens, price } = this.run;
    const found = this.list.map((plan) => core.estimate(stated(plan), price === null ? { tokens } : { tokens, price }));
    this.run.problem = found.flatMap((one) => one.errors ?? []).find(({ path }) => path === "tokens" || path === "price")?.text ?? "";
    if (found.some((one) => one.budget)) this.answer.budgets = found.map((one) => one.budget ?? null);
  }
}
