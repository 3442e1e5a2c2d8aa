"""Offline after the first visit: sw.mjs keeps the site's own files, all of one build, and nobody else's."""

import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import seal_site  # noqa: E402
import serve  # noqa: E402

KEPT = "() => navigator.serviceWorker?.controller?.state === 'activated'"


@pytest.fixture
def place(site, tmp_path):
    """A copy of the site below a folder of a server: (its folder, its address)."""
    folder = tmp_path / "tools" / "plan"
    shutil.copytree(site, folder)
    handler = functools.partial(serve.Handler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}/tools/plan/"
        server.shutdown()


@pytest.fixture
def open_at(browser):
    """open_at(address) → a started page that may keep itself."""
    contexts = []

    def visit(address, context=None):
        if context is None:
            context = browser.new_context(viewport={"width": 1280, "height": 800}, service_workers="allow")
            contexts.append(context)
        page = context.new_page()
        page.goto(address)
        ready(page)
        return page

    yield visit
    for context in contexts:
        context.close()


def ready(page):
    page.wait_for_selector("html[data-wireplan=ready]", timeout=20000)


def until(page, expression, turns=200):
    for _ in range(turns):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def kept(build):
    """Whether this build is kept whole: its cache is there, and no worker is at it any more."""
    return f"""async () => {{ const {{ installing, waiting }} = await navigator.serviceWorker.getRegistration();
        return !installing && !waiting && (await caches.keys()).some(name => name.endsWith('{build}')); }}"""


def another_build(folder, title):
    """The site as if built again with one text changed."""
    page = folder / "index.html"
    page.write_text(page.read_text("utf-8").replace("Share</button>", f"{title}</button>", 1), "utf-8")
    take = folder / "about.mjs"
    take.write_text(take.read_text("utf-8") + f"\nexport const build = {title!r};\n", "utf-8")
    return seal_site.seal(folder)


BUILD_OF_A_LATE_FILE = "async () => (await import(new URL('about.mjs', location.href).href)).build ?? 'first'"


def test_after_one_visit_everything_works_without_a_network(place, open_at):
    _, address = place
    page = open_at(address)
    until(page, KEPT)
    page.context.set_offline(True)
    page.reload()
    ready(page)
    assert page.locator("#answer").inner_text().startswith("Does not fit")
    page.locator("#edit-as-form").evaluate("button => button.click()")
    more = page.locator('#form [data-field="training.sequence_length"] button').last
    before = page.locator('#results [data-path="memory.need_bytes"]').get_attribute("data-value")
    more.click()
    until(page, f"document.querySelector('#results [data-path=\"memory.need_bytes\"]').dataset.value !== '{before}'")
    page.locator("#form [data-do=done]").click()
    # Dialogs that were never opened before: their scripts, styles, data, the module and a worker's own files.
    page.locator("[data-do=table]").click()
    page.locator("#results [data-do=accuracy]").click()
    page.locator("#accuracy table").first.wait_for()
    page.keyboard.press("Escape")
    page.locator("#results [data-do=links]").click()
    page.locator("#links table").first.wait_for(timeout=20000)
    page.keyboard.press("Escape")
    page.locator("#results [data-do=layouts]").click()
    page.locator("#layouts table").first.wait_for(timeout=20000)
    page.keyboard.press("Escape")
    page.locator("footer [data-do=about]").click()
    page.locator("#about-sources li").first.wait_for()
    other = open_at(f"{address}index.html#v=1&m=gpt2-xl&c=dgx-a100-80gb", page.context)
    assert "m=gpt2-xl" in other.locator("#link").inner_text()
    other.locator("[data-language=vi]").click()
    other.wait_for_selector("html[lang=vi]")


def test_a_new_build_is_taken_by_the_next_page_and_never_mixed(place, open_at):
    folder, address = place
    page = open_at(address)
    until(page, KEPT)
    page.reload()
    ready(page)
    old = page.locator("html").get_attribute("data-build")
    new = another_build(folder, "Second")
    assert old != new
    # The open page goes on with the build that it began with, even for what it has not loaded yet.
    other = open_at(address, page.context)
    assert other.locator("html").get_attribute("data-build") == new, "with a network the newest is shown at once"
    assert page.evaluate(BUILD_OF_A_LATE_FILE) == "first"
    assert other.evaluate(BUILD_OF_A_LATE_FILE) == "Second"
    until(other, kept(new))
    page.close()
    other.context.set_offline(True)
    other.reload()
    ready(other)
    assert other.locator("html").get_attribute("data-build") == new
    assert other.locator(".tools [data-do=share]").inner_text() == "Second"
    assert other.evaluate(BUILD_OF_A_LATE_FILE) == "Second"


def test_what_nobody_needs_any_more_goes(place, open_at):
    folder, address = place
    page = open_at(address)
    until(page, KEPT)
    builds = [another_build(folder, title) for title in ("Second", "Third")]
    page.evaluate("() => navigator.serviceWorker.getRegistration().then(r => r.update())")
    until(page, kept(builds[-1]))
    until(page, "async () => (await caches.keys()).filter(name => !name.endsWith('pages')).length === 1")


def test_half_a_copied_site_is_not_kept(place, open_at):
    folder, address = place
    page = open_at(address)
    until(page, KEPT)
    old = page.locator("html").get_attribute("data-build")
    another_build(folder, "Second")
    (folder / "paste.mjs").write_text("// of a build still on its way\n", "utf-8")
    page.evaluate("() => navigator.serviceWorker.getRegistration().then(r => r.update())")
    until(page, "async () => { const r = await navigator.serviceWorker.getRegistration(); return !r.installing && !r.waiting; }")
    names = page.evaluate("() => caches.keys()")
    assert [n for n in names if not n.endswith("pages")] == [n for n in names if n.endswith(old)]
    page.context.set_offline(True)
    page.reload()
    ready(page)
    assert page.locator("html").get_attribute("data-build") == old


def test_only_the_files_of_the_site_are_kept(place, open_at):
    folder, address = place
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "index.html").write_text("<!doctype html><title>Manual</title>", "utf-8")
    page = open_at(address)
    until(page, KEPT)
    page.reload()
    ready(page)
    page.evaluate("() => Promise.allSettled([fetch('docs/index.html'), fetch('../../other.json'), fetch('nothing.json'), fetch('https://example.org/x')])")
    kept = page.evaluate(
        """async () => { const all = [];
             for (const name of await caches.keys()) if (!name.endsWith('pages')) for (const { url } of await (await caches.open(name)).keys()) all.push(url);
             return all; }"""
    )
    names = {p.name for p in folder.iterdir() if p.is_file() and p.name != "sw.mjs" and not p.name.endswith(".d.ts")}
    assert sorted(kept) == sorted(address + name for name in names)
    page.context.set_offline(True)
    assert page.evaluate("() => fetch('docs/index.html').then(() => 'there', () => 'gone')") == "gone"


def test_an_embedded_page_keeps_nothing(place, open_at):
    _, address = place
    page = open_at(f"{address}embed.html")
    page.wait_for_timeout(500)
    assert page.evaluate("async () => [(await navigator.serviceWorker.getRegistrations()).length, (await caches.keys()).length, localStorage.length]") == [0, 0, 0]


def test_without_service_workers_nothing_is_missed(visit):
    page = visit()  # the fixture's pages have none
    page.settle()
    assert page.page.evaluate("async () => (await navigator.serviceWorker.getRegistrations()).length") == 0
    assert page.answer().startswith("Does not fit")


def test_on_a_connection_that_is_not_secure_nothing_is_missed(chromium, place):
    from conftest import CHROMIUM, FLAGS

    _, address = place
    plain = chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--host-resolver-rules=MAP wireplan.test 127.0.0.1"])
    try:
        page = plain.new_page()
        page.goto(address.replace("127.0.0.1", "wireplan.test"))
        ready(page)
        assert page.evaluate("[isSecureContext, 'serviceWorker' in navigator]") == [False, False]
    finally:
        plain.close()


def test_sealing_twice_changes_nothing(place):
    folder, _ = place
    first = seal_site.seal(folder)
    texts = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    assert seal_site.seal(folder) == first
    assert texts == {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
