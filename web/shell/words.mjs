// The frame's own words. English stands in the HTML and in the calls of word(); another language has a file, words.<id>.json.
// The words of the canvas come from the app.
import { $$, set } from "./dom.mjs";

let ofFrame = {};
let ofCanvas = {};
let english = null;

export const word = (key, inEnglish) => ofFrame[key] ?? inEnglish;
export const text = (key, otherwise) => ofCanvas[key] ?? otherwise;

// data-word: a node's text; data-label: its name where it shows none.
export async function speak(language, canvasWords) {
  document.documentElement.lang = language;
  ofCanvas = canvasWords;
  if (language === "en" && !english) return;
  english ??= new Map([
    ...$$("[data-word]").map((node) => [node, node.textContent]),
    ...$$("[data-label]").map((node) => [node, node.getAttribute("aria-label")]),
  ]);
  ofFrame = language === "en" ? {} : await (await fetch(`words.${language}.json`)).json();
  for (const [node, inEnglish] of english) {
    if (node.dataset.word) set(node, word(node.dataset.word, inEnglish));
    else node.setAttribute("aria-label", word(node.dataset.label, inEnglish));
  }
}
