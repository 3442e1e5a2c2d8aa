// Calls functions of the module, for the tests: node call.mjs MODULE < [["estimate", "story"], …]  prints their results.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const module = await import(pathToFileURL(process.argv[2]));
const calls = JSON.parse(readFileSync(0, "utf8"));
const early = module.estimate("story"); // before ready
await module.ready;
const results = [];
for (const [name, ...inputs] of calls) {
  if (name === "exports") results.push(Object.keys(module));
  else if (name === "early") results.push(early);
  else if (name === "toMarkdown of") results.push(module.toMarkdown(module[inputs[0]](inputs[1])));
  else if (typeof module[name] === "function") results.push(await module[name](...inputs));
  else results.push(module[name]);
}
process.stdout.write(JSON.stringify(results));
