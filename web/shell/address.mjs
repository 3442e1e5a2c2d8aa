// The link in the address bar, and the theme, which may be kept between visits.

// What the frame takes out of a link before the app reads it: the story's step, and language and unit where no plan stands beside them.
function apart(hash) {
  const pairs = hash.slice(1).split("&").filter(Boolean);
  const value = (key) => pairs.find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1);
  const rest = pairs.filter((pair) => !pair.startsWith("story="));
  const isBare = rest.every((pair) => /^(?:lang|theme|u)=/.test(pair));
  return { step: Number.parseInt(value("story"), 10) || 0, link: isBare ? "" : `#${rest.join("&")}`, language: isBare && value("lang"), unit: isBare && value("u") };
}

// `keep`: a page of its own. An embedded one never touches its address.
export function address(keep, opened) {
  let written = location.hash;
  let pending = null;
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    written = location.hash;
    opened(apart(written));
  });
  const place = {
    ...apart(location.hash),  // step: of the story, 0 while it is not told
    whole: (link) => (place.step ? `${link}&story=${place.step}` : link),
    show(link) {
      const whole = place.whole(link);
      if (!keep || whole === written) return;
      written = whole;
      clearTimeout(pending);
      pending = setTimeout(() => history.replaceState(null, "", whole), 300);
    },
  };
  return place;
}

export function theme(kept, apply) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = /[#&]theme=(light|dark)\b/.exec(location.hash)?.[1] ?? kept.read("theme");
  const now = () => chosen ?? (dark.matches ? "dark" : "light");
  const show = () => {
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    apply(now());
  };
  dark.addEventListener("change", show);
  return {
    now,
    show,
    choose(name) {
      chosen = name === "auto" ? null : name;
      show();
    },
    toggle() {
      chosen = now() === "dark" ? "light" : "dark";
      kept.keep("theme", chosen);
      show();
    },
  };
}
