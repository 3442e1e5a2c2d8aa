// The link in the address bar, and the theme, which may be kept between visits.

// "…&story=3": the frame's own part of a link, which the app never sees.
function apart(hash) {
  const step = Number(/[#&]story=(\d{1,3})(?=&|$)/.exec(hash)?.[1] ?? 0);
  return { step, link: hash.replace(/&story=\d*(?=&|$)/, "").replace(/^#story=\d*&?/, "#").replace(/^#$/, "") };
}

// `keep`: a page of its own. An embedded one never touches its address.
export function address(keep, opened) {
  let written = location.hash;
  let pending = null;
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    written = location.hash;
    const { link, step } = apart(written);
    opened(link, step);
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
