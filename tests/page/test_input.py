"""Keys, typing and the form: real inputs stay real inputs."""


def test_inputs_keep_their_keys(visit):
    page = visit()
    page.settle()
    page.open_form()
    field = page.field("training.sequence_length").locator("input")
    field.focus()
    field.fill("")
    page.page.keyboard.type("20489")
    page.page.keyboard.press("Backspace")
    assert field.input_value() == "2048"
    page.page.keyboard.press("Tab")
    assert not field.evaluate("node => node === document.activeElement"), "Tab moves on"
    page.until("document.querySelector('#link').textContent.includes('seq=2048')")


def test_keys_of_the_browser_are_left_to_it(visit):
    page = visit()
    page.settle()
    page.page.evaluate(
        """() => { window.stolen = [];
            document.querySelector('canvas').focus();
            addEventListener('keydown', e => setTimeout(() => e.defaultPrevented && stolen.push(e.key)), true); }"""
    )
    for key in "flpsrtw":
        page.page.evaluate(
            """key => document.querySelector('canvas').dispatchEvent(
                 new KeyboardEvent('keydown', {key, code: 'Key' + key.toUpperCase(), ctrlKey: true, bubbles: true, cancelable: true}))""",
            key,
        )
    for key in ("F5", "F11", "F12", "Tab"):
        page.page.evaluate(
            """key => document.querySelector('canvas').dispatchEvent(
                 new KeyboardEvent('keydown', {key, code: key, bubbles: true, cancelable: true}))""",
            key,
        )
    page.page.wait_for_timeout(100)
    assert page.page.evaluate("stolen") == []


def test_tab_enters_and_leaves_the_canvas_both_ways(visit):
    page = visit()
    page.settle()
    canvas = page.page.locator("#canvas")
    canvas.focus()
    page.page.keyboard.press("Tab")
    assert not canvas.evaluate("node => node === document.activeElement")
    page.page.keyboard.press("Shift+Tab")
    assert canvas.evaluate("node => node === document.activeElement")
    page.page.keyboard.press("Shift+Tab")
    assert not canvas.evaluate("node => node === document.activeElement")


def test_the_form_edits_the_plan(visit):
    page = visit()
    page.settle()
    page.open_form()
    page.changes(page.answer, lambda: page.field("parallel.data_sharding").locator("select").select_option("fsdp")
                 if page.field("parallel.data_sharding").locator("select").count()
                 else page.field("parallel.data_sharding").locator("input[value=fsdp]").check(force=True))
    assert page.answer().startswith("Fits")
    more = page.field("training.sequence_length").locator("button").last
    page.changes(lambda: page.value("memory.need_bytes"), more.click)
    page.page.locator("#form [data-do=done]").click()
    assert page.page.locator("#form[open]").count() == 0


def test_a_model_is_found_by_a_few_letters(visit):
    page = visit()
    page.settle()
    page.open_form()
    page.field("model").locator("button").click()
    page.page.keyboard.type("gpt2 xl")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#link').textContent.includes('m=gpt2-xl')")


def test_unit_and_theme_switches(visit):
    page = visit()
    page.settle()
    assert "GB" in page.answer() and "GiB" not in page.answer()
    page.page.locator("[data-do=table]").click()
    page.changes(page.answer, lambda: page.page.locator("#results [data-unit=GiB]").click())
    assert "GiB" in page.answer()
    ground = lambda: page.page.evaluate("getComputedStyle(document.body.parentNode).backgroundColor")  # noqa: E731
    page.changes(ground, lambda: page.page.locator("[data-do=theme]").click())
    page.settle()
    page.picture("plan-dark-by-switch")
    assert page.page.evaluate("localStorage.getItem('wireplan.theme')") == "dark"
    page.page.reload()
    page.page.wait_for_selector("html[data-wireplan=ready]")
    assert page.page.locator("html").get_attribute("data-theme") == "dark"


def test_a_value_is_typed_over_the_canvas(visit):
    page = visit()
    page.settle()
    page.click("training.sequence_length")
    page.page.locator("#stage input").wait_for()
    page.picture("typing")
    page.page.keyboard.type("8k")
    page.page.keyboard.press("Escape")
    assert page.page.locator("#stage input").count() == 0
    assert "seq=" not in page.page.locator("#link").text_content()
    page.click("training.sequence_length")
    page.page.locator("#stage input").wait_for()
    page.page.keyboard.type("8k")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#link').textContent.includes('seq=8192')")
    assert page.page.evaluate("document.activeElement.id") == "canvas", "the focus goes back where it came from"


def test_a_model_is_picked_over_the_canvas(visit):
    page = visit()
    page.settle()
    page.click("model")
    page.page.locator("[role=combobox]").wait_for()
    page.page.keyboard.type("llama 3 8b")
    page.picture("picking")
    options = page.page.locator("[role=option]")
    assert 1 <= options.count() < 10
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#link').textContent.includes('m=llama-3-8b')")
