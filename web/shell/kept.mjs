// What the page keeps between visits, and nothing else: the theme and the language that were chosen, and the last plan.
// An embedded page keeps nothing and reads nothing.
const KEYS = ["theme", "language", "plan"];
const named = (key) => `wireplan.${key}`;

export function keeper(keeps) {
  const read = (key) => {
    try { return keeps ? localStorage.getItem(named(key)) : null; } catch { return null; }
  };
  return {
    read,
    keep(key, value) {
      if (!keeps || !KEYS.includes(key)) return;
      try { localStorage.setItem(named(key), value); } catch { /* no storage: the choice lasts as long as the page */ }
    },
    any: () => KEYS.some((key) => read(key) !== null),
    forget() {
      try { KEYS.forEach((key) => localStorage.removeItem(named(key))); } catch { /* then nothing is kept */ }
    },
  };
}

// The language of a first visit: the reader's first that there is.
export const readersLanguage = (known) => navigator.languages.map((one) => one.split("-")[0]).find((one) => known.includes(one)) ?? known[0];
