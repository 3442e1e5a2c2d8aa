// The names of trainers, and how what the module says of their files is shown; shared by the dialog that writes them and the one that reads them.
import { element } from "./dom.mjs";

// As core/text/trainers/trainer.cpp calls them, in its order.
export const TRAINERS = {
  torchtitan: "torchtitan",
  deepspeed: "DeepSpeed",
  accelerate: "Accelerate",
  megatron: "Megatron-LM",
  "training-arguments": "Hugging Face TrainingArguments",
  "megatron-bridge": "NeMo Megatron-Bridge",
  lightning: "Lightning",
};
export const LAUNCHERS = ["torchrun", "srun", "mpirun"];  // that a plan alone is enough for
export const trainerName = (id) => TRAINERS[id] ?? id;

// A value of a plan as a reader takes it: words without their quotes, everything else as JSON.
export const shownValue = (value) => (typeof value === "string" ? value : JSON.stringify(value));
export function shownJson(text) {
  try {
    return shownValue(JSON.parse(text));
  } catch {
    return text;  // cut: it was long
  }
}

// The module gives reasons in English; on a page in another language they stand apart, marked as what they are.
export const reason = (text, summary) =>
  document.documentElement.lang === "en" ? element("span", { class: "reason" }, text) : element("details", {}, element("summary", {}, summary), element("span", { class: "reason", lang: "en" }, text));
