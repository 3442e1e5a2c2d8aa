"""Three documentations as others have them, built and read in a browser: Sphinx with furo, Material for MkDocs, plain HTML.

The planner's site has an origin of its own for MkDocs and plain HTML; Sphinx has a copy of it. The plain one forbids everything by its
content security policy but what docs/engines.md says a host needs."""

import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import PROGRAM, ROOT, page as page_tests

SOURCES = Path(__file__).parent
KINDS = ("sphinx", "mkdocs", "plain")
NEEDED = "default-src 'self'; script-src {site} 'wasm-unsafe-eval'; connect-src {site}; frame-src {site}"


def served(folder, **headers):
    """A server of a folder on an origin of its own."""

    class Handler(page_tests.serve.Handler):
        def end_headers(self):
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            super().end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"


def build_sphinx(folder, site, url):
    from sphinx.cmd.build import main

    status = main(["-q", "-W", "-d", str(folder / "trees"), "-D", f"wireplan_program={PROGRAM}", "-D", f"wireplan_site_folder={site}", str(SOURCES / "sphinx"), str(folder / "html")])
    assert status == 0
    return folder / "html"


def build_mkdocs(folder, installed, url):
    shutil.copytree(SOURCES / "mkdocs", folder, dirs_exist_ok=True)
    environment = {**os.environ, "WIREPLAN_PROGRAM": PROGRAM, "WIREPLAN_SITE_URL": url, "PYTHONPATH": f"{ROOT / 'python/src'}{os.pathsep}{installed}", "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", str(folder / "mkdocs.yml"), "-d", str(folder / "site")], check=True, env=environment, timeout=120)
    return folder / "site"


def build_plain(folder, url):
    shutil.copytree(SOURCES / "plain", folder, dirs_exist_ok=True)
    page = folder / "index.html"
    page.write_text(page.read_text().replace("SITE", url))
    return folder


@pytest.fixture(scope="session")
def hosts(site, installed, tmp_path_factory):
    """{kind: (address, origins that it may ask)}"""
    servers, found = [], {}
    server, url = served(site)  # it lets other origins import its files
    servers.append(server)
    for kind in KINDS:
        folder = tmp_path_factory.mktemp(kind)
        built = {"sphinx": lambda: build_sphinx(folder, site, url), "mkdocs": lambda: build_mkdocs(folder, installed, url), "plain": lambda: build_plain(folder, url)}[kind]()
        server, address = served(built, **({"Content_Security_Policy": NEEDED.format(site=url)} if kind == "plain" else {}))
        servers.append(server)
        found[kind] = (address + "/", (address, url) if kind != "sphinx" else (address,))
    yield found
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def visit(browser, hosts):
    """visit(kind) → the page; it asks nobody but itself and the planner's site, and its console stays clean."""
    contexts, complaints = [], []

    def open_page(kind, path="", **options):
        address, allowed = hosts[kind]
        context = browser.new_context(viewport={"width": 1100, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("request", lambda r: None if r.url.startswith((*allowed, "data:", "blob:")) else complaints.append(f"request: {r.url}"))
        page.on("response", lambda r: complaints.append(f"{r.status}: {r.url}") if r.status >= 400 and "favicon" not in r.url else None)
        page.goto(address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [c for c in complaints if "GPU stall due to ReadPixels" not in c and "status of 404" not in c]


def until(page, expression, timeout=20000):
    for _ in range(timeout // 50):
        value = page.evaluate(expression)
        if value:
            return value
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def picture(page, name):
    folder = os.environ.get("WIREPLAN_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")


def planner_frame(page):
    """The planner's own document, once a reader has asked for it."""
    for _ in range(600):
        for frame in page.frames:
            if "/embed.html" in frame.url and frame.evaluate("document.documentElement.dataset.wireplan") == "ready":
                return frame
        page.wait_for_timeout(50)
    raise AssertionError("the frame never gets ready")


PARAMETERS = ("14.5 GB", "3.62 GB")


@pytest.mark.parametrize("kind", KINDS)
def test_without_javascript_and_on_paper_everything_is_there(visit, kind):
    page = visit(kind, java_script_enabled=False)
    text = " ".join(page.locator("body").inner_text().split())
    assert f"take {PARAMETERS[0]}, with FSDP on four GPUs {PARAMETERS[1]}" in text
    link = page.get_by_role("link", name="Open this plan").first
    assert "#v=1&m=mistral-7b-v0.1" in link.get_attribute("href") and link.is_visible()
    if kind != "plain":  # what the build put into the planner
        assert "Fits: 54.7 of 85.2 GB per GPU with FSDP" in text and "16,234 tokens/s" in text
        bar = page.locator(".wp-memory > svg").first
        assert bar.is_visible() and bar.bounding_box()["width"] > 300 and "Optimizer states 14.5 GB" in bar.get_attribute("aria-label")
    picture(page, f"sites-{kind}-no-script")

    page = visit(kind)
    page.locator("wireplan-planner button").first.wait_for()
    page.emulate_media(media="print")
    assert not page.locator("wireplan-planner button").first.is_visible(), "nothing to press on paper"
    assert page.locator("wireplan-planner").first.bounding_box()["height"] > 40
    assert len(page.pdf()) > 10000
    picture(page, f"sites-{kind}-print")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_the_same_before_and_after_the_script(visit, wireplan, kind):
    page = visit(kind)
    before = page.locator("wireplan-value").evaluate_all("nodes => nodes.map(n => n.textContent)")
    page.locator("wireplan-value").first.scroll_into_view_if_needed()
    until(page, "[...document.querySelectorAll('wireplan-value')].every(n => n.shadowRoot?.querySelector('[part=value]'))")
    after = page.locator("wireplan-value").evaluate_all("nodes => nodes.map(n => n.shadowRoot.querySelector('[part=value]').lastChild.textContent)")
    plain = [" ".join(text.split()) for text in before]
    assert [" ".join(text.split()) for text in after] == plain and set(PARAMETERS) <= set(plain) and "" not in plain
    assert page.locator("wireplan-value").evaluate_all("nodes => nodes.some(n => n.shadowRoot.querySelector('[part=mismatch]'))") is False
    values = page.locator("wireplan-value").evaluate_all("nodes => nodes.map(n => n.value)")
    states = [wireplan.json("estimate", "story", *edits)["memory"]["states"]["parameters"] for edits in ((), ("--set", "parallel.data_sharding=fsdp"))]
    assert values[:2] == states, "the program's own, to the last digit"


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_can_work_with_the_planner_and_the_page_goes_on_as_before(visit, wireplan, kind):
    page = visit(kind)
    page.evaluate("() => { window.heard = []; addEventListener('wireplan-change', e => heard.push(e.detail)); }")
    planner = page.locator("wireplan-planner").first
    planner.scroll_into_view_if_needed()
    assert page.locator("iframe").count() == 0, "nothing heavy before a reader asks"

    # The wheel over the poster, and over the frame, moves the page.
    planner.locator("button").click()
    frame = planner_frame(page)
    until(page, "document.querySelector('wireplan-planner').dataset.wireplan === 'ready'")
    picture(page, f"sites-{kind}-planner")
    box = planner.bounding_box()
    page.evaluate("() => document.body.style.minHeight = '3000px'")
    before = page.evaluate("scrollY")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.wheel(0, 150)
    until(page, f"scrollY > {before}")

    # A reader changes the plan, by the form; the page around hears of it.
    frame.locator("[data-do=edit]:visible").first.click()
    field = frame.locator('#form [data-field="training.micro_batch_size"]')
    field.wait_for()
    field.locator("input").fill("2")
    field.locator("input").press("Enter")
    until(page, "heard.length")
    told = page.evaluate("heard.at(-1)")
    assert told["estimate"]["plan"]["training"]["micro_batch_size"] == 2
    assert told["estimate"] == wireplan.json("estimate", told["link"])

    # Keys of the page stay the page's: what is typed in its own field, Backspace and all.
    page.evaluate("() => scrollTo(0, 0)")
    own = page.locator("input:not([type=checkbox]):not([type=radio]):visible").first
    own.click()
    page.keyboard.type("ab/?")
    page.keyboard.press("Backspace")
    assert own.input_value() == "ab/" and page.evaluate("localStorage.getItem('wireplan')") is None
    page.keyboard.press("Escape")


# How a reader of each theme asks for the dark one; plain HTML has none and follows the system.
DARK = {"sphinx": ".theme-toggle:visible", "mkdocs": "label[for=__palette_1]:visible"}


@pytest.mark.parametrize("kind", KINDS)
def test_dark_follows_the_host(visit, kind):
    page = visit(kind, color_scheme="dark" if kind == "plain" else "light")
    if kind in DARK:
        page.locator(DARK[kind]).first.click()
    if kind != "plain":
        shade = page.locator(".wp-memory .wp-capacity").first.evaluate("n => getComputedStyle(n).fill")
        assert min(map(int, re.findall(r"\d+", shade)[:3])) > 128, f"the line of the bar is light on dark, not {shade}"
    page.locator("wireplan-planner").first.locator("button").click()
    frame = planner_frame(page)
    for _ in range(100):
        if frame.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark":
            break
        page.wait_for_timeout(50)
    assert frame.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    picture(page, f"sites-{kind}-dark")


def test_a_page_without_numbers_loads_nothing_of_ours(visit):
    page = visit("sphinx", "long.html")
    assert "wireplan" not in page.content().replace("wireplan.sphinx", "") and page.evaluate("performance.getEntriesByType('resource').filter(r => r.name.includes('wireplan')).length") == 0
