// What <wireplan-planner> becomes when a reader wants it: the frame embed.html, and the messages with it (docs/embedding.md). wireplan-elements.mjs loads
// this file at the first sign of that.

const MOST = 2;            // frames at a time on one page, since each holds a drawing context and browsers have few of them
const PATIENCE_MS = 20000; // until a frame that says nothing is given up
const STARTS_AT = 420;     // pixels of height, until the frame says its own
const MOST_HEIGHT = 20000;

const frames = [];  // that are there, the longest unused first

// A frame for `wanting`: of those there, one that nobody sees goes, or, when the reader asked himself, the one that he left longest ago.
function makeRoom(wanting, gently) {
  while (frames.length >= MOST) {
    const others = frames.filter((one) => one !== wanting);
    const goes = others.find((one) => !one.shown) ?? others.find((one) => !one.seen) ?? (gently ? null : others.find((one) => !one.focused) ?? others[0]);
    if (!goes) return false;
    goes.release();
  }
  return true;
}

// ---------------------------------------------------------------- what the page around looks like
const dark = matchMedia("(prefers-color-scheme: dark)");
// Light text stands on a dark ground, whatever a site calls its themes.
function themeOf(element) {
  const said = element.getAttribute("theme");
  if (said === "light" || said === "dark") return said;
  const { color, colorScheme } = getComputedStyle(element);
  const [red, green, blue] = /^rgba?\(/.test(color) ? color.match(/[\d.]+/g).map(Number) : [];
  if (blue !== undefined) return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "dark" : "light";
  const schemes = colorScheme.split(" ").filter((scheme) => scheme === "light" || scheme === "dark");
  return schemes.length === 1 ? schemes[0] : dark.matches ? "dark" : "light";
}

let watching = false;
function watch() {
  if (watching) return;
  watching = true;
  let due = 0;
  const look = () => {
    clearTimeout(due);
    const all = () => frames.forEach((one) => one.followPage());
    requestAnimationFrame(all);
    due = setTimeout(all, 400);  // where colours change by and by
  };
  const changes = new MutationObserver(look);
  for (const node of [document.documentElement, document.body]) changes.observe(node, { attributes: true });
  dark.addEventListener("change", look);
}

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const one = frames.find(({ element }) => element === target);
    if (one) one.seen = isIntersecting;
  }
});

// ---------------------------------------------------------------- one planner
class Live {
  constructor(element, kit) {
    Object.assign(this, { element, kit, frame: null, ready: false, shown: false, wanted: false, seen: true, focused: false, version: null });
    this.pending = new Map();  // id → what waits for the answer
    this.queue = [];           // messages until the frame is ready
    this.next = 0;
    this.heard = (event) => this.hear(event);
  }

  start({ gently = false, behind = false } = {}) {
    this.wanted ||= !behind;
    if (!this.frame) {
      if (!makeRoom(this, gently)) return (this.wanted = false);
      this.create();
    }
    this.touch();
    if (this.wanted && this.ready) this.reveal();
    return true;
  }

  touch() {
    const at = frames.indexOf(this);
    if (at >= 0) frames.splice(at, 1);
    frames.push(this);
  }

  get wrap() { return this.element.shadowRoot.getElementById("wrap"); }
  get poster() { return this.element.shadowRoot.getElementById("poster"); }

  say(state) {
    this.element.dataset.wireplan = state;
    this.element.refresh();
  }

  // The link, or the id, and how it is to be shown. The page around names itself, so that the frame listens to no other.
  address() {
    const { element, kit } = this;
    const base = new URL(element.base);
    this.origin = base.origin;
    const plan = element.kept?.link || element.link;
    const own = plan.replace(/[&#](lang|theme|panels|readonly|allow)=[^&]*/g, (all) => (all[0] === "#" ? "#" : ""));
    const said = new URLSearchParams();
    if (!own && typeof element.plan === "string") said.set("plan", element.plan);
    if (element.hasAttribute("panels")) said.set("panels", element.getAttribute("panels"));
    if (this.isReadonly()) said.set("readonly", "1");
    said.set("lang", kit.languageOf(element));
    said.set("theme", (this.theme = themeOf(element)));
    if (location.origin !== "null") said.set("allow", location.origin);
    return `${base.href}embed.html${own || "#"}${own ? "&" : ""}${said}`;
  }
  isReadonly() {
    return this.element.hasAttribute("readonly") && this.element.getAttribute("readonly") !== "false";
  }

  create() {
    const { element, kit } = this;
    const frame = document.createElement("iframe");
    frame.id = "live";
    frame.className = "waiting";
    frame.setAttribute("part", "frame");
    frame.allow = "clipboard-write";
    frame.title = element.getAttribute("label") ?? kit.say(element, "title");
    frame.src = this.address();
    this.frame = frame;
    this.language = kit.languageOf(element);
    this.height(element.getAttribute("height"));
    addEventListener("message", this.heard);
    // Before it has loaded, a message would find the empty page that it begins with.
    frame.addEventListener("load", () => this.ping(150));
    frame.addEventListener("focus", () => this.touch());
    this.patience = setTimeout(() => this.giveUp(), PATIENCE_MS);
    this.wrap.append(frame);
    sight.observe(element);
    watch();
    this.say("loading");
  }

  ping(pause) {
    if (!this.frame || this.ready) return;
    this.post("ping");
    this.pinging = setTimeout(() => this.ping(pause * 1.5), pause);
  }
  post(type, fields = {}) {
    this.frame.contentWindow?.postMessage({ wireplan: 1, type, ...fields }, this.origin);
  }

  // Until the frame is ready its messages wait, in their order.
  send(type, fields = {}) {
    if (this.ready) this.post(type, fields);
    else this.queue.push([type, fields]);
  }
  ask(type, fields = {}) {
    const id = `${++this.next}`;
    return new Promise((done) => {
      this.pending.set(id, done);
      this.send(type, { ...fields, id });
    });
  }

  hear({ source, origin, data }) {
    if (source !== this.frame?.contentWindow || origin !== this.origin || data?.wireplan !== 1) return;
    const { type, id } = data;
    if (type === "ready" && !this.ready) this.begin(data);
    else if (type === "change") this.changed(data);
    else if (type === "resize" && Number.isFinite(data.height) && !this.element.hasAttribute("height")) this.height(data.height + 2);  // its edge
    else if (type === "leave") this.frame.blur();
    else if (type === "result" || type === "error") {
      const done = this.pending.get(id);
      this.pending.delete(id);
      if (done) done(type === "error" ? { errors: data.errors } : data);
      else if (type === "error") this.kit.tell(this.element, "error", { errors: data.errors });
    }
  }

  height(value) {
    const pixels = Number.parseFloat(value);
    this.frame.style.height = `${Math.min(MOST_HEIGHT, Math.max(120, pixels || STARTS_AT))}px`;
  }

  async begin({ version }) {
    clearTimeout(this.patience);
    clearTimeout(this.pinging);
    this.ready = true;
    this.version = version;
    const { element, kit } = this;
    const { plan } = element;
    const waiting = this.queue.splice(0);
    // A document, or a link longer than links may be, is handed in.
    if (plan && typeof plan === "object" && !element.kept?.link?.startsWith("#v=")) await this.give(plan);
    for (const [type, fields] of waiting) this.post(type, fields);
    const now = await this.ask("get");
    if (!this.frame) return;
    if (!now.errors) this.keep(now);
    if (this.wanted) this.reveal();
    kit.tell(element, "ready", { version, ...element.kept });
  }

  async give(plan) {
    const said = await this.ask("set", { plan });
    if (said.errors) this.kit.tell(this.element, "error", { errors: said.errors });
    else this.keep(said);
  }

  keep({ plan, link, estimate }) {
    this.element.kept = { plan, link: typeof link === "string" && link.startsWith("#") ? link : "", estimate };
    this.element.refresh();
  }
  changed(data) {
    this.touch();
    this.keep(data);
    this.kit.tell(this.element, "change", { ...this.element.kept });
  }

  reveal() {
    if (this.shown) return;
    this.shown = true;
    const focused = this.element.shadowRoot.activeElement;
    this.poster.hidden = true;
    this.frame.className = "";
    if (focused) this.frame.focus();  // by keyboard, the reader goes on in there
    this.say("ready");
  }

  // The poster again. It takes the frame's height, so that nothing on the page moves.
  release() {
    if (!this.frame) return;
    const { offsetHeight } = this.frame;
    const at = frames.indexOf(this);
    if (at >= 0) frames.splice(at, 1);
    for (const timer of [this.patience, this.pinging]) clearTimeout(timer);
    removeEventListener("message", this.heard);
    sight.unobserve(this.element);
    this.frame.remove();
    for (const done of this.pending.values()) done({ errors: [{ path: "", value: "", limit: "", text: "the planner was closed" }] });
    this.pending.clear();
    this.queue = [];
    const { shown } = this;
    Object.assign(this, { frame: null, ready: false, shown: false, wanted: false, seen: true });
    this.poster.hidden = false;
    this.say("poster");
    if (shown) this.poster.style.minHeight = `${offsetHeight}px`;
  }

  giveUp() {
    this.release();
    this.say("error");
    this.kit.complain(this.element, "", this.origin, this.kit.say(this.element, "failed"));
  }

  // ---------------------------------------------------------------- later changes
  attribute(name) {
    if (!this.frame) return;
    const { element } = this;
    if (name === "plan" || name === "link") {
      const plan = element.plan ?? "story";
      if (this.ready) this.give(plan);
      else this.queue.push(["set", { plan }]);
    } else if (name === "panels") this.send("panels", { panels: element.getAttribute("panels") ?? "" });
    else if (name === "readonly") this.send("readonly", { readonly: this.isReadonly() });
    else if (name === "height") this.height(element.getAttribute("height"));
    else this.followPage();
  }
  followPage() {
    const theme = themeOf(this.element);
    const language = this.kit.languageOf(this.element);
    if (theme !== this.theme) this.send("theme", { theme: (this.theme = theme) });
    if (language !== this.language) {
      this.language = language;
      this.send("lang", { lang: language });
      this.frame.title = this.element.getAttribute("label") ?? this.kit.say(this.element, "title");
      this.element.refresh();
    }
  }
}

export const open = (element, kit) => new Live(element, kit);

// The frame that the reader is in.
for (const type of ["focusin", "blur", "focus"])
  addEventListener(type, () => setTimeout(() => frames.forEach((one) => (one.focused = document.activeElement === one.element)), 0), true);
