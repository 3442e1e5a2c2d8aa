"""The DOM half for everybody: axe, no WebGL, selection, dark, narrow text."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import CHROMIUM


def violations(page):
    found = Axe().run(page.page).response["violations"]
    return [f"{v['id']}: {v['help']}: {[n['html'][:120] for n in v['nodes'][:3]]}" for v in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width,height", [(1440, 900), (390, 844)])
def test_axe_finds_nothing(visit, scheme, width, height):
    page = visit(width=width, height=height, color_scheme=scheme)
    page.settle()
    page.page.locator("[data-do=table]").click()
    assert violations(page) == []
    page.page.locator("[data-do=edit]").locator("visible=true").first.evaluate("button => button.click()")
    page.page.locator("#form[open]").wait_for()
    assert violations(page) == []


def test_dark_by_the_systems_wish(visit):
    page = visit(color_scheme="dark")
    page.settle()
    page.picture("plan-dark")
    pixel = page.page.locator("#stage").screenshot()
    assert pixel  # looked at by eye; the ground of the DOM is checked
    assert page.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(23, 27, 31)"


def test_the_table_opens_and_can_be_selected(visit):
    page = visit()
    page.settle()
    results = page.page.locator("#results")
    assert not results.is_visible() or results.bounding_box()["height"] == 0
    page.page.locator("[data-do=table]").click()
    cell = results.locator('[data-path="memory.states.parameters"]')
    cell.locator("span").click(click_count=3)
    assert page.page.evaluate("getSelection().toString().trim()") != ""
    page.settle()
    page.picture("table")


def test_without_webgl_form_and_table_give_the_same_numbers(chromium, visit):
    with_pictures = visit()
    plain = chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    try:
        page = visit(instance=plain)
        visit.complaints[:] = [c for c in visit.complaints if "WebGL" not in c]
        assert page.page.locator("#notice").inner_text().startswith("Pictures need WebGL 2")
        assert page.answer() == with_pictures.answer()
        rows = "() => [...document.querySelectorAll('#results [data-path]')].map(n => [n.dataset.path, n.dataset.value])"
        assert page.page.evaluate(rows) == with_pictures.page.evaluate(rows)
        page.picture("no-webgl")
        page.open_form()
        more = page.field("training.sequence_length").locator("button").last
        page.changes(lambda: page.value("memory.need_bytes"), more.click)
    finally:
        plain.close()


def test_the_answer_is_announced(visit):
    page = visit()
    page.settle()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.until("document.querySelector('#announce').textContent.startsWith('Fits')")


def test_text_may_be_half_as_large_again(visit):
    page = visit(width=1440, height=900)
    page.page.evaluate("document.documentElement.style.fontSize = '150%'")
    page.settle()
    over = page.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert over <= 0
    page.picture("text-150")


def test_when_the_app_cannot_start_the_example_stands(browser, url):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.route("**/app.wasm", lambda route: route.abort())
    page.goto(url)
    page.wait_for_selector("html[data-wireplan=error]")
    assert page.locator("#notice").is_visible()
    assert page.locator("#answer").inner_text().startswith("Does not fit")
    assert page.locator('#results [data-path="memory.states.parameters"]').is_visible()
    assert page.locator("button:visible").count() == 0, "nothing that could not be pressed"
    page.close()
