"""The built site in Debian's Chromium. WIREPLAN_SITE names its folder."""

import functools
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import serve  # noqa: E402

CHROMIUM = os.environ.get("WIREPLAN_CHROMIUM", "/usr/bin/chromium")
# Software WebGL 2, the same on every machine.
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
# SwiftShader's own on reading pixels back and Playwright's on what the fixture asks of it are no fault of the page.
REMARKS = ("GPU stall due to ReadPixels", "Service Worker registration blocked by Playwright")


@pytest.fixture(scope="session")
def site():
    folder = Path(os.environ.get("WIREPLAN_SITE", ROOT / "build" / "site"))
    if not (folder / "app.wasm").exists():
        pytest.fail(f"no site in {folder}; ./dev build makes it")
    return folder


@pytest.fixture(scope="session")
def url(site):
    handler = functools.partial(serve.Handler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="session")
def browser(chromium):
    browser = chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield browser
    browser.close()


class Wireplan:
    """A page of the site, and what the tests do with it again and again."""

    def __init__(self, page):
        self.page = page

    def value(self, path):
        """The number behind a result, as the table in the DOM has it."""
        return float(self.page.locator(f'#results [data-path="{path}"]').get_attribute("data-value"))

    def text(self, path):
        """A result as it is shown."""
        return self.page.locator(f'#results [data-path="{path}"] span').text_content()

    def answer(self):
        return self.page.locator("#answer").inner_text()

    def rect(self, key):
        box = self.page.evaluate("key => window.wireplan.rect(key)", key)
        assert box, f"nothing is drawn with the key {key}; there are {self.keys()}"
        return box

    def keys(self):
        return self.page.evaluate("() => window.wireplan.keys()")

    def center(self, key):
        box = self.rect(key)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def click(self, key):
        self.page.mouse.click(*self.center(key))

    def frames(self):
        return self.page.evaluate("() => window.wireplan.frames")

    def settle(self):
        """Waits until nothing is drawn any more: the counter stands still over three turns of the screen."""
        turn = "() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(window.wireplan.frames), 20)))"
        before, same = -1, 0
        for _ in range(200):
            now = self.page.evaluate(turn)
            same = same + 1 if now == before else 0
            if same == 3:
                return
            before = now
        raise AssertionError("the page never stops drawing")

    def changes(self, read, act, timeout=5000):
        """Does something and waits until read() says something else."""
        before = read()
        act()
        for _ in range(timeout // 50):
            if read() != before:
                return read()
            self.page.wait_for_timeout(50)
        raise AssertionError(f"nothing changed; still {before!r}")

    def until(self, expression, timeout=5000):
        """Waits for an expression to hold. (wait_for_function would need eval, which the page forbids.)"""
        for _ in range(timeout // 50):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}")

    def open_form(self):
        """The plan as a form, by the button that only keyboards and screen readers meet on wide screens."""
        self.page.locator("#edit-as-form").evaluate("button => button.click()")
        self.page.locator("#form[open]").wait_for()

    def example(self, scenario):
        """Opens one of the examples in their menu."""
        self.page.locator(".chips [popovertarget=examples]").click()
        self.page.locator(f'[data-scenario="{scenario}"]').click()

    def field(self, path):
        return self.page.locator(f'#form [data-field="{path}"]')

    def picture(self, name):
        folder = os.environ.get("WIREPLAN_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture
def visit(browser, url):
    """visit(path, …) → a page that has started; its console stays clean and it asks nobody else for anything."""
    contexts, complaints = [], []

    def open_page(path="", width=1440, height=900, instance=None, ready=True, **options):
        options.setdefault("service_workers", "block")  # each would fetch the whole site once more; test_offline has its own
        context = (instance or browser).new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else complaints.append(f"request: {r.url}"))
        page.goto(url + path)
        if ready:
            page.wait_for_selector('html:not([data-wireplan="loading"])', timeout=20000)
            assert page.locator("html").get_attribute("data-wireplan") == "ready"
        return Wireplan(page)

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert not [c for c in complaints if not any(remark in c for remark in REMARKS)]


@pytest.fixture
def wide(visit):
    """A page tall enough for every panel of the wide layout."""
    page = visit(height=2700)
    page.settle()
    return page


class _HostHandler(BaseHTTPRequestHandler):
    """One page, whatever is asked for; the server carries it."""

    def do_GET(self):
        body = self.server.html.encode() if self.path.startswith("/page") else b""
        self.send_response(200 if body else 204)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Host:
    """Somebody else's page, on an origin of its own, and what it was told by the planners in it."""

    def __init__(self, page, url):
        self.page, self.url = page, url

    def frame(self, number=0):
        """The planner's own document, in the iframe of that number."""
        for _ in range(400):
            frames = [f for f in self.page.frames if "/embed.html" in f.url]
            if len(frames) > number and frames[number].evaluate("document.documentElement.dataset.wireplan") == "ready":
                return frames[number]
            self.page.wait_for_timeout(50)
        raise AssertionError("the frame never gets ready")

    def until(self, expression, timeout=8000):
        value = None
        for _ in range(timeout // 50):
            value = self.page.evaluate(expression)
            if value:
                return value
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}; it is {value!r}")

    def press_in_frame(self, key, number=0):
        """Clicks a widget of a planner by the mouse, scrolled into the window first."""
        frame = self.frame(number)
        box = frame.evaluate("key => window.wireplan.rect(key)", key)
        assert box, f"nothing is drawn with the key {key}; there are {frame.evaluate('window.wireplan.keys()')}"
        frame.frame_element().scroll_into_view_if_needed()
        at = frame.frame_element().bounding_box()
        middle = at["y"] + box["y"] + box["height"] / 2
        high = self.page.viewport_size["height"]
        if not 0 < middle < high:
            self.page.evaluate("by => scrollBy(0, by)", middle - high / 2)
            self.page.wait_for_timeout(100)
            at = frame.frame_element().bounding_box()
        self.page.mouse.click(at["x"] + box["x"] + box["width"] / 2, at["y"] + box["y"] + box["height"] / 2)

    def picture(self, name):
        folder = os.environ.get("WIREPLAN_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture
def host(browser, url):
    """host(body, …) → a page of another origin around that body; {site} in it is the planner's. Its console stays clean."""
    opened, complaints = [], []

    def open_page(body, head="", width=700, height=800, headers=None, **options):
        server = ThreadingHTTPServer(("127.0.0.1", 0), _HostHandler)
        server.html = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title>{head}</head><body>{body}</body></html>'.replace("{site}", url)
        server.headers = {name: value.replace("{site}", url.rstrip("/")) for name, value in (headers or {}).items()}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        opened.append((server, context))
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/page")
        return Host(page, url)

    open_page.complaints = complaints
    yield open_page
    for server, context in opened:
        context.close()
        server.shutdown()
        server.server_close()
    assert not [c for c in complaints if "GPU stall due to ReadPixels" not in c]
