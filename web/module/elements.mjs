// Custom elements for documentation: <wireplan-planner>, <wireplan-value>, <wireplan-table>. docs/embedding.md tells all of them.
//
//   <script type="module" src="https://…/wireplan-elements.mjs"></script>
//
// This file is all that loads before a reader asks for more: a poster with a link for the planner, the text that stands there for a value. The rest lies beside it
// and comes when it is wanted. Importing it on a server does nothing.
const here = new URL(".", import.meta.url).href;
const Base = globalThis.HTMLElement ?? class {};

/** What the elements say. Change a text, or add a language, when this file has come; docs/embedding.md lists the keys. */
export const words = {
  en: { load: "Try it here", again: "Continue here", loading: "Loading…", open: "Open full version", title: "Wireplan planner", failed: "The planner could not start here." },
  vi: { load: "Thử ngay tại đây", again: "Tiếp tục tại đây", loading: "Đang tải…", open: "Mở bản đầy đủ", title: "Wireplan", failed: "Không khởi động được ở đây." },
};
const languageOf = (node) => {
  const said = (node.lang || node.closest("[lang]")?.lang || "en").toLowerCase();
  return [said, said.split("-")[0]].find((one) => Object.hasOwn(words, one)) ?? "en";
};
const say = (node, key) => words[languageOf(node)][key] ?? words.en[key];

/** The text of an attribute as the module and the frame take it: a document, a link or an id. */
const stated = (text) => {
  try {
    return text?.trim().startsWith("{") ? JSON.parse(text) : text?.trim();
  } catch {
    return text;  // which the planner then says is none
  }
};

const tell = (node, name, detail) => node.dispatchEvent(new CustomEvent(`wireplan-${name}`, { detail, bubbles: true, composed: true }));
const complain = (node, path, value, text, limit = "") => tell(node, "error", { errors: [{ path, value: String(value).slice(0, 80), limit, text }] });
/** The site that frames and links lead to: the folder of this file, unless `base` names another. What it names must be a place to fetch from: nothing that runs (javascript:, data:). */
const SITES = ["http:", "https:", "file:"];
const stands = (base) => URL.canParse(base, document.baseURI) && [...SITES, new URL(here).protocol].includes(new URL(base, document.baseURI).protocol);
const baseOf = (node) => {
  const base = node.getAttribute("base");
  return base !== null && stands(base) ? new URL(base, document.baseURI).href : here;
};
// What the files loaded later take from this one: they do not import it, since it may have been loaded under another address.
const kit = { words, languageOf, say, stated, tell, complain, baseOf };

const STYLE = `:host{display:block}:host([hidden]){display:none}
#poster{border:1px solid color-mix(in srgb,currentColor 35%,transparent);border-radius:6px;padding:12px 16px;cursor:pointer;box-sizing:border-box}
#row{margin-top:8px;display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;font-size:.875em;cursor:auto}
button{font:inherit;color:inherit;background:none;border:1px solid currentColor;border-radius:4px;padding:4px 12px;cursor:pointer;min-height:32px}
a{color:inherit}:focus-visible{outline:2px solid;outline-offset:2px}::slotted(*){margin-top:0}
#live{display:block;box-sizing:border-box;width:100%;border:1px solid color-mix(in srgb,currentColor 25%,transparent);border-radius:6px}#wrap{position:relative}
[hidden]{display:none!important}#live.waiting{position:absolute;inset:0;visibility:hidden}
@media(pointer:coarse){button,a{min-height:44px;display:inline-flex;align-items:center}}
@media print{button{display:none}#poster{min-height:0!important}}`;
let sheet;
const styled = (root) => {
  if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(STYLE);  // not a <style>: pages that forbid those allow this
  root.adoptedStyleSheets = [sheet];
  return root;
};
const make = (name, attributes, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// One observer for all, and what each does when it comes near the window.
const near = new WeakMap();
let observer;
const whenNear = (node, act) => {
  if (!globalThis.IntersectionObserver) return act();
  observer ??= new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => isIntersecting && near.get(target)?.()), { rootMargin: "200px" });
  near.set(node, act);
  observer.observe(node);
};
const notAnyMore = (node) => observer?.unobserve(node);

const RESTS_MS = 300;  // of a pointer that means it
const frames = () => import("./wireplan-planner.mjs");

class Planner extends Base {
  static observedAttributes = ["plan", "link", "panels", "readonly", "theme", "lang", "height"];
  #plan;       // given as a property
  #live = null;
  #rest = 0;

  get base() { return baseOf(this); }
  /** What is shown, with every default once the frame is there; or what it will begin with. Anything the module takes can be assigned. */
  get plan() {
    return this.kept?.plan ?? this.#plan ?? stated(this.getAttribute("plan") ?? this.getAttribute("link") ?? undefined);
  }
  set plan(plan) {
    this.#plan = plan;
    this.#given();
  }
  get estimate() { return this.kept?.estimate ?? null; }
  /** The link of what is shown. */
  get link() {
    const plan = this.kept?.link ?? this.#plan ?? this.getAttribute("link") ?? this.getAttribute("plan");
    return typeof plan === "string" && /^([^{]*#)?v=\d/.test(plan.trim()) ? `#${plan.trim().split("#").pop()}` : "";
  }

  connectedCallback() {
    if (Object.hasOwn(this, "plan")) {  // assigned before this file came
      const { plan } = this;
      delete this.plan;
      this.plan = plan;
    }
    if (!this.shadowRoot) this.#draw();
    this.refresh();
    const base = this.getAttribute("base");
    if (base !== null && !stands(base)) complain(this, "base", base, "base is no address of a site (https://…): the folder of wireplan-elements.mjs serves.", "an address with http or https");
    const loading = this.getAttribute("loading");
    if (loading === "eager") this.load({ gently: true });
    else if (loading === "visible") whenNear(this, () => this.load({ gently: true }));
  }
  disconnectedCallback() {
    notAnyMore(this);
    clearTimeout(this.#rest);
    this.#live?.then((live) => live?.release("gone"));
    this.#live = null;
  }
  attributeChangedCallback(name, before, now) {
    if (!this.shadowRoot || before === now) return;
    if (name === "plan" || name === "link") {
      this.#plan = undefined;  // what was said last holds
      this.#given();
    }
    this.refresh();
    this.#live?.then((live) => live?.attribute(name));
  }

  #given() {
    this.kept = null;  // what the reader had made of the plan before
    this.#live?.then((live) => live?.attribute("plan"));
    if (this.shadowRoot) this.refresh();
  }
  #draw() {
    const root = styled(this.attachShadow({ mode: "open" }));
    const button = make("button", { part: "button", type: "button" });
    const open = make("a", { part: "link", target: "_blank", rel: "noopener" });
    const poster = make("div", { id: "poster", part: "poster" }, make("slot", {}), make("div", { id: "row" }, button, open));
    root.append(make("div", { id: "wrap" }, poster));
    // A plain click means: here. Links elsewhere, and clicks that ask for a tab of their own, stay what they are.
    const pressed = (event) => event.composedPath().find((node) => node === button || node.localName === "a");
    poster.addEventListener("click", (event) => {
      const on = pressed(event);
      if (on === open || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || (on?.href && !on.href.startsWith(this.base))) return;
      event.preventDefault();
      this.load();
    });
    poster.addEventListener("pointerover", (event) => {
      const on = pressed(event);
      clearTimeout(this.#rest);
      if (event.pointerType !== "mouse" || !on || on === open || (on.href && !on.href.startsWith(this.base)) || navigator.connection?.saveData) return;
      this.#rest = setTimeout(() => this.load({ gently: true, behind: true }), RESTS_MS);
    });
    poster.addEventListener("pointerleave", () => clearTimeout(this.#rest));
    button.addEventListener("focus", () => frames().catch(() => {}));
  }
  /** Says again what the poster says: words, link, height. */
  refresh() {
    const find = (part) => this.shadowRoot.querySelector(part);
    const waits = this.dataset.wireplan === "loading";
    find("button").textContent = say(this, waits ? "loading" : this.kept ? "again" : "load");
    find("button").setAttribute("aria-busy", waits);
    find("a").textContent = say(this, "open");
    find("a").href = `${this.base}index.html${this.link}`;
    const height = parseFloat(this.getAttribute("height"));
    find("#poster").style.minHeight = height ? `${height}px` : "";
  }

  /** Puts the frame in place of the poster. */
  load(how = {}) {
    const live = (this.#live ??= frames().then(
      ({ open }) => (this.isConnected ? open(this, kit) : null),
      (error) => complain(this, "", "", `${say(this, "failed")} ${error.message}`) && null,
    ));
    return live.then((frame) => frame?.start(how));
  }
  /** Gives the frame back; what the reader made of the plan stays, as a link. */
  unload() { return Promise.resolve(this.#live?.then((live) => live?.release())); }
  /** Asks the frame: get, estimate {plan}, show {panel | key}, export {format}. It waits until the frame is there, and brings it. */
  async ask(type, fields = {}) {
    await this.load({ gently: true });
    return (await this.#live)?.ask(type, fields) ?? { errors: [{ path: "", value: "", limit: "", text: say(this, "failed") }] };
  }
}

// Values and tables are worked out together, the first time that one of them comes near the window.
const wanted = new Set();
let asked = false;
let due = false;
function compute() {
  asked = true;
  if (due) return;
  due = true;
  queueMicrotask(async () => {
    due = false;
    const nodes = [...wanted].filter((node) => node.isConnected);
    wanted.clear();
    if (!nodes.length) return;
    try {
      await (await import("./wireplan-values.mjs")).work(nodes, kit);
    } catch (error) {
      for (const node of nodes) complain(node, "", "", `${say(node, "failed")} ${error.message}`);
    }
  });
}
class Shown extends Base {
  connectedCallback() { this.#want(); }
  disconnectedCallback() { notAnyMore(this); }
  attributeChangedCallback(name, before, now) { if (this.isConnected && before !== now) this.#want(); }
  #want() {
    wanted.add(this);
    if (asked) compute();
    else whenNear(this, compute);
  }
  again() { if (this.isConnected) this.#want(); }
}
class Value extends Shown {
  static observedAttributes = ["plan", "path", "format", "digits", "expect", "over", "baseline", "claim", "lang"];
}
class Table extends Shown {
  static observedAttributes = ["plans", "labels", "rows", "paths", "format", "caption", "lang"];
}

if (globalThis.customElements)
  for (const [name, type] of [["planner", Planner], ["value", Value], ["table", Table]]) customElements.get(`wireplan-${name}`) || customElements.define(`wireplan-${name}`, type);
