// The C ABI in WebAssembly, byte for byte: node raw.mjs LOADER < [["estimate", "\"story\""], …]  prints the texts as an array.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const core = await (await import(pathToFileURL(process.argv[2]))).default();
const texts = [];
for (const [command, request] of JSON.parse(readFileSync(0, "utf8"))) {
  const inputs = [command, request].map((text) => core.stringToNewUTF8(text));
  const answer = core._wireplan_call(...inputs);
  texts.push(core.UTF8ToString(answer));
  core._wireplan_free(answer);
  inputs.forEach((input) => core._free(input));
}
process.stdout.write(JSON.stringify(texts));
