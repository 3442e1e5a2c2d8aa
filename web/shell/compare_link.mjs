// Plans to compare, within a link: the page's own plan as ever, then &compare=same!ds=fsdp!name=Two%20nodes;c=dgx-a100-80gb~2.
// "!" stands between plans, ";" between what each says otherwise than the link's own plan: key=value, -key for one left out, name= for what
// it is called, "same" where nothing differs. No value that the core writes holds either sign. As with v=1 all else: read for ever.

export const MOST_PLANS = 4;
export const LONGEST_NAME = 40;
const LONGEST = 16_384;  // of such a link, in bytes
const SAME = "same";
const NO_PLAN = new Set(["v", "view", "lang", "theme", "u", "story", "compare"]);  // keys that say nothing of a plan

const fragment = (link) => link.slice(link.indexOf("#") + 1);
const split = (pair) => {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
};
const pairs = (link) => fragment(link).split("&").filter(Boolean).map(split);
const planPairs = (link) => new Map(pairs(link).filter(([key]) => !NO_PLAN.has(key)));

export const holdsPlans = (link) => pairs(link).some(([key]) => key === "compare");

// What a stranger calls a plan is a short line of text and nothing else.
export function cleanName(text) {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return [...line.normalize("NFC")].slice(0, LONGEST_NAME).join("");
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;  // a percent sign that starts no code
  }
}

const encodedName = (name) => encodeURIComponent(name).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

// "&compare=…" behind `link`, for plans of {link, name}. Null: one of them has no link, or all together are too long.
export function tailOf(link, plans) {
  const base = planPairs(link);
  const entries = [];
  for (const plan of plans) {
    if (!plan.link) return null;
    const own = planPairs(plan.link);
    const said = [...own].filter(([key, value]) => base.get(key) !== value).map(([key, value]) => `${key}=${value}`);
    for (const key of base.keys()) if (!own.has(key)) said.push(`-${key}`);
    if (plan.name) said.unshift(`name=${encodedName(plan.name)}`);
    entries.push(said.join(";") || SAME);
  }
  const tail = `&compare=${entries.join("!")}`;
  return link.length + tail.length > LONGEST ? null : tail;
}

// The plans that a link holds beside its own, as {link, name}; `left`: how many more than can stand side by side; null: none at all.
export function plansIn(link) {
  const found = pairs(link).find(([key]) => key === "compare");
  if (!found) return null;
  if (link.length > LONGEST) return { plans: [], left: 0, tooLong: true };
  const base = planPairs(link);
  const entries = found[1].split("!");
  const plans = entries.slice(0, MOST_PLANS).map((entry) => {
    const own = new Map(base);
    let name = "";
    for (const said of entry.split(";")) {
      const [key, value] = split(said);
      if (!key || said === SAME) continue;
      if (key === "name") name = cleanName(decoded(value));
      else if (key.startsWith("-")) own.delete(key.slice(1));
      else if (!NO_PLAN.has(key)) own.set(key, value);
    }
    return { link: `#v=1${[...own].map(([key, value]) => `&${key}=${value}`).join("")}`, name };
  });
  return { plans, left: Math.max(0, entries.length - MOST_PLANS), tooLong: false };
}
