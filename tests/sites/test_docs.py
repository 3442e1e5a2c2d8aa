"""Our own documentation, as it stands in docs/ of the built site: every page opened, every link followed, its numbers the program's."""

import functools
import re
import threading
from html.parser import HTMLParser
from http.server import ThreadingHTTPServer

import pytest

from conftest import ROOT, page as page_tests


class Page(HTMLParser):
    """Links, anchors, text and what would be loaded."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loads, self.styles = [], set(), [], []
        self.html = path.read_text("utf-8")
        self.feed(self.html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found.get("id"), found.get("name")} - {None}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source") and found.get("src") or tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found.get("src") or found["href"])
        if "style" in found:
            self.styles.append(found["style"])


@pytest.fixture(scope="module")
def docs(site):
    folder = site / "docs"
    assert (folder / "index.html").exists(), "no documentation in the site; ./dev build makes it"
    return folder


@pytest.fixture(scope="module")
def pages(docs):
    return {path.relative_to(docs).as_posix(): Page(path) for path in sorted(docs.rglob("*.html"))}


@pytest.fixture(scope="module")
def url(site):
    class Handler(page_tests.serve.Handler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture
def visit(browser, url):
    contexts, complaints = [], []

    def open_page(path, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else complaints.append(f"request: {r.url}"))
        page.goto(f"{url}docs/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def test_there_is_a_page_for_everything(pages):
    written = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    written = {"searching.html" if name == "search.html" else name for name in written}
    assert written <= set(pages)
    made = {f"reference/{name}.html" for name in ("index", "commands", "plan", "estimate", "scenarios", "models", "gpus", "nodes", "networks", "implementations", "references")}
    assert made | {"contributing.html", "architecture.html", "presets_format.html", "search.html"} <= set(pages)


def test_every_page_is_in_the_contents(docs, pages):
    listed = {(docs / "index.html").parent.joinpath(link.partition("#")[0]).resolve() for link in pages["index.html"].links if not re.match(r"[a-z]+:|\.\.", link)}
    apart = {"search.html", "genindex.html", "index.html"}
    missing = {name for name in pages if (docs / name).resolve() not in listed} - apart
    assert not {name for name in missing if not name.startswith("reference/")}, f"docs/index.md lists every page: {missing}"


def test_the_page_leads_here_and_back(site, pages):
    assert "docs/" in Page(site / "index.html").links
    assert any(link.startswith("../#v=1") for link in pages["index.html"].links)


def test_every_link_inside_leads_somewhere(docs, site, pages):
    wrong = []
    for name, page in pages.items():
        for link in {*page.links, *page.loads}:
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = ((docs / name).parent / target.split("?")[0] if target else docs / name).resolve()
            path = path / "index.html" if path.is_dir() else path
            if not path.exists():
                wrong.append(f"{name}: {link}")
            elif anchor and path.is_relative_to(docs.resolve()) and path.suffix == ".html":
                there = pages[path.relative_to(docs.resolve()).as_posix()]
                if anchor not in there.ids:
                    wrong.append(f"{name}: {link} (no such anchor)")
    assert not wrong, "\n".join(wrong)


def test_every_page_has_a_policy_and_nothing_that_it_forbids(pages):
    for name, page in pages.items():
        policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page.html)
        assert policy and "unsafe-inline" not in policy[1] and "'unsafe-eval'" not in policy[1] and "http" not in policy[1], name
        assert page.html.index(policy[0]) < page.html.index("<script"), name
        assert not page.styles, (name, page.styles)
        assert not [load for load in page.loads if "//" in load], name


def test_the_reference_is_the_programs(pages, wireplan):
    def has(name, text):
        words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", pages[name].html).replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&#39;", "'").replace("&amp;", "&"))
        assert re.sub(r"\s+", " ", text.strip()) in words, (name, text[:200])

    for command in ((), ("estimate",), ("topology", "nccl"), ("search",)):
        has("reference/commands.html", wireplan(*command, "--help").out)
    limit = wireplan.errors("estimate", "story", "--set", "training.optimizer=?")[0]["limit"]
    has("reference/plan.html", limit)
    told = wireplan.json("estimate", "story", "--explain", "memory.need_bytes")
    has("reference/estimate.html", f"{told['symbol']} = {told['formula']}")
    for kind in ("models", "gpus", "nodes", "scenarios", "implementations", "networks"):
        for preset in wireplan.json("presets", kind)["presets"]:
            has(f"reference/{kind}.html", preset["id"])
    assert len(re.findall(r"<tr", pages["reference/models.html"].html)) == 1 + len(wireplan.json("presets", "models")["presets"])


# One page of each kind: console clean, nobody else asked (the fixture looks).
@pytest.mark.parametrize("name", ["index", "tutorial.vi", "reference/models", "concepts/wiring", "program"])
def test_pages_open(visit, name):
    page = visit(f"{name}.html")
    assert page.locator("h1").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page does not scroll sideways"
    assert page.locator("html").get_attribute("lang") == ("vi" if name.endswith(".vi") else "en")
    page_tests.Wireplan(page).picture(f"docs-{name.replace('/', '-')}")


def test_a_phone_sees_all_of_it(visit):
    page = visit("tutorial.html", is_mobile=True)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_search_finds(visit):
    page = visit("index.html")
    page.locator("input[name=q]").first.fill("reduce-scatter")
    page.keyboard.press("Enter")
    page.locator("#search-results ul.search li a").first.wait_for(timeout=15000)
    assert "concepts/traffic" in " ".join(page.locator("#search-results ul.search li a").evaluate_all("links => links.map(a => a.href)"))


def test_live_values_are_the_programs(visit, wireplan):
    page = visit("tutorial.html")
    page.locator("wireplan-value").first.scroll_into_view_if_needed()
    for _ in range(400):
        if page.evaluate("[...document.querySelectorAll('wireplan-value')].every(n => n.value !== undefined)"):
            break
        page.wait_for_timeout(50)
    found = page.locator("wireplan-value").evaluate_all(
        "nodes => nodes.map(n => [n.getAttribute('plan'), n.getAttribute('path'), n.value, n.textContent, n.shadowRoot.querySelector('[part=value]').lastChild.textContent])")
    assert len(found) > 20
    estimates = {}
    for plan, path, value, before, after in found:
        estimate = estimates.setdefault(plan, None) or wireplan.json("estimate", plan)
        estimates[plan] = estimate
        number = functools.reduce(lambda part, key: part[key], path.split("."), estimate)
        assert value == (number["value"] if isinstance(number, dict) else number), (plan, path)
        assert before.split() == after.split(), (plan, path)


def test_the_planner_starts_in_the_tutorial(visit):
    page = visit("tutorial.html")
    page.locator("wireplan-planner button").first.click()
    for _ in range(400):
        frame = next((frame for frame in page.frames if "/embed.html" in frame.url), None)
        if frame and frame.evaluate("document.documentElement.dataset.wireplan") == "ready":
            break
        page.wait_for_timeout(50)
    assert "Does not fit" in frame.locator("#answer").inner_text()
