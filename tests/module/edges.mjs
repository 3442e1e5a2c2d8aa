// What only JavaScript can do wrong: node edges.mjs MODULE. Exits with 1 and a line for each expectation that fails.
import { pathToFileURL } from "node:url";

const { ready, version, compare, estimate, explain, fit, placement, toText, search } = await import(pathToFileURL(process.argv[2]));
await ready;

let failed = 0;
const expect = (what, holds) => {
  if (holds) return;
  console.error(`failed: ${what}`);
  failed += 1;
};
const refused = (answer) => Array.isArray(answer.errors) && answer.errors.length > 0 && answer.errors[0].text !== "";

const circular = {};
circular.model = circular;
let deep = {};
for (let i = 0; i < 100_000; i += 1) deep = { a: deep };
const story = estimate("story").plan;

expect("no argument", refused(estimate()));
expect("null", refused(estimate(null)));
expect("a circle", refused(estimate(circular)));
expect("a deep object", refused(estimate(deep)));
expect("NaN", refused(estimate({ ...story, training: { ...story.training, sequence_length: NaN } })));
expect("Infinity", refused(estimate({ ...story, training: { ...story.training, hidden_dropout: Infinity } })));
expect("a function", refused(estimate({ ...story, training: () => 1 })) || estimate({ ...story, training: () => 1 }).schema);
expect("a bigint", refused(estimate({ ...story, training: { ...story.training, sequence_length: 4096n } })));
expect("a lone surrogate", refused(estimate({ ...story, model: "\ud800" })));
expect("five megabytes", refused(estimate({ ...story, model: "x".repeat(5e6) })));
expect("a path that is none", refused(explain("story", undefined)) && refused(explain("story", "step.nothing")));
expect("a format of text", typeof toText("story", { unit: "GB" }) === "string" && refused(toText("story", { unit: "kB" })));
expect("a placement", placement("story").best.edits.length === 0 && placement({ plan: "story" }, { gpus: 2 }).subsets[0].gpus.length === 2);
expect("a placement beside the estimate", estimate("story", { placement: true }).placement.schema === "wireplan.placement/1");
expect("advice", estimate("story", { advise: "changes" }).advice.changes[0].fits && estimate("story", { advise: "changes" }).advice.smallest === undefined);
expect("advice on what there is none", refused(estimate("story", { advise: "all" })));
expect("the largest that fits", fit("llama-3-8b-fsdp", { max: "micro_batch_size" }).largest > 0 && fit("story", { max: "micro_batch_size" }).largest === null);
expect("the largest of nothing", refused(fit("story")) && refused(fit("story", { max: "layers" })));
expect("GPUs that there are not", refused(placement("story", { gpus: 9 })) && refused(placement()));
// An answer stands for what was stated when it was given.
const plan = { plan: "story", set: [["parallel.data_sharding", "fsdp"]] };
const answer = estimate(plan);
plan.set[0][1] = "ddp";
expect("an answer keeps its statement", toText(answer).startsWith("Fits") && toText(plan).startsWith("Does not fit"));
expect("and its assumptions", toText(answer).includes("Assumed") && !toText(answer.plan).includes("Assumed"));
expect("a comparison too", toText(compare([answer, plan])).startsWith("1 of 2 plans fits") && toText(answer).startsWith("Fits"));
expect("search is a promise", search("story") instanceof Promise);

// A caller may keep asking: nothing of a request stays behind.
const used = () => process.memoryUsage().arrayBuffers + process.memoryUsage().external;
for (let i = 0; i < 50; i += 1) estimate("story");
const before = used();
for (let i = 0; i < 2000; i += 1) estimate("story");
expect("memory does not grow", used() - before < 8e6);
expect("version", /^\d+\.\d+\.\d+$/.test(version));

process.exit(failed ? 1 : 0);
