// Does my model fit? Two questions one after the other, which model and on which machine; the page's answer follows. Loaded when first asked for.
import { pick } from "./picker.mjs";
import { text, word } from "./words.mjs";

const PASTE = "\n";  // no preset's id

// What the reader pastes is asked for like a preset of that name, and stays in the list whatever is typed.
const own = (label) => ({ value: PASTE, label, always: true });

// `paste(texts, about)` opens the page's dialog for texts.
export function askModel(app, button, paste) {
  const field = (path) => app.form().find((one) => one.path === path);
  const ask = (path, question, pasted, about, then) => {
    const { choices, label } = field(path);
    pick(button.getBoundingClientRect(), [own(pasted), ...choices], PASTE, label, (chosen) => {
      if (chosen === PASTE) return paste([], about);
      app.edit(path, chosen);
      then?.();
    }, question);
  };
  const machine = () => ask("cluster.node", word("model.machine", "On which machine?"), text("in.paste", "Paste"), "machine");
  ask("model", word("model.which", "Which model?"), word("model.config", "My own: paste its config.json"), "model", machine);
}
