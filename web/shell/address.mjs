// The link in the address bar, and the theme, which may be kept between visits.

// `keep`: a page of its own. An embedded one never touches its address.
export function address(keep, opened) {
  let written = location.hash;
  let pending = null;
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    written = location.hash;
    opened(location.hash);
  });
  return {
    link: location.hash,
    show(link) {
      if (!keep || link === written) return;
      written = link;
      clearTimeout(pending);
      pending = setTimeout(() => history.replaceState(null, "", link), 300);
    },
  };
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
