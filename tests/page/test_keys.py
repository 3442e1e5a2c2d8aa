"""The page's own keys, and the browser's, which stay free; text that an input method composes."""

import pytest

BROWSER = [*[("Control", key) for key in "flprstw0"], ("Control", "Equal"), ("Control", "Minus"), ("Alt", "ArrowLeft"), (None, "F5"), (None, "F11"), (None, "F12"), (None, "Tab")]

# Whether anything on the page took a key, as the last listener of all sees it; the key's own effect is then stopped, so that the page stays.
WATCH = """() => { window.taken = [];
    addEventListener('keydown', e => { if (e.key !== 'Control' && e.key !== 'Alt') taken.push([e.key, e.defaultPrevented]); e.preventDefault(); }); }"""


@pytest.mark.parametrize("where", ["canvas", "body", "button"])
def test_keys_of_the_browser_are_free_everywhere(visit, where):
    page = visit()
    page.settle()
    page.page.evaluate(WATCH)
    if where == "canvas":
        page.page.locator("#canvas").focus()
    elif where == "button":
        page.page.locator(".tools [data-do=share]").focus()
    for holding, key in BROWSER:
        page.page.keyboard.press(f"{holding}+{key}" if holding else key)
    taken = page.page.evaluate("taken")
    assert len(taken) == len(BROWSER)
    assert [key for key, prevented in taken if prevented] == []


def test_the_sheet_opens_by_its_key_and_closes_by_escape(visit):
    page = visit()
    page.settle()
    page.page.keyboard.press("?")
    sheet = page.page.locator("#shortcuts[open]")
    sheet.wait_for()
    for key in ("Ctrl+Z", "Esc", "Enter", "?", "/"):
        assert key in sheet.inner_text().replace("\n", "")
    page.picture("keys")
    page.page.keyboard.press("?")  # nothing opens over it
    assert page.page.locator("dialog[open]").count() == 1
    page.page.keyboard.press("Escape")
    assert page.page.locator("dialog[open]").count() == 0


def test_the_sheet_in_vietnamese_from_the_menu_on_a_phone(visit):
    page = visit(locale="vi-VN", width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)
    page.settle()
    page.page.locator("[popovertarget=copy]").tap()
    page.page.locator("#copy [data-do=keys]").tap()
    sheet = page.page.locator("#shortcuts[open]")
    sheet.wait_for()
    assert "Bàn phím" in sheet.inner_text() and "Hoàn tác" in sheet.inner_text()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    page.picture("keys-vi-phone")


def test_slash_searches_a_model_from_the_canvas_and_from_anywhere(visit):
    page = visit()
    page.settle()
    for focus in ("#canvas", ".tools [data-do=share]"):
        page.page.locator(focus).focus()
        page.page.keyboard.press("/")
        search = page.page.locator("[role=combobox]")
        search.wait_for()
        assert search.input_value() == "", "the key itself is not typed"
        page.page.keyboard.press("Escape")
        assert page.page.locator("[role=combobox]").count() == 0
    page.page.keyboard.press("/")
    page.page.keyboard.type("llama 3 8b")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#link').textContent.includes('m=llama-3-8b')")


def test_slash_without_a_drawn_field_opens_the_form(visit):
    page = visit(width=390, height=844)
    page.settle()
    page.page.keyboard.press("/")
    page.page.locator("#form[open] [role=combobox]").wait_for()
    page.page.keyboard.type("gpt2 xl")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#link').textContent.includes('m=gpt2-xl')")


def test_while_text_is_typed_only_the_text_has_the_keys(visit):
    page = visit()
    page.settle()
    page.open_form()
    field = page.field("training.sequence_length").locator("input")
    field.fill("")
    page.page.keyboard.type("4/?")
    assert field.input_value() == "4/?"
    assert page.page.locator("dialog[open]").count() == 1


def test_single_keys_can_be_turned_off(visit):
    page = visit()
    page.settle()
    page.page.keyboard.press("?")
    page.page.locator("#single-keys").uncheck()
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("/")
    page.page.keyboard.press("?")
    page.page.wait_for_timeout(200)
    assert page.page.locator("dialog[open], [role=combobox]").count() == 0
    page.page.keyboard.press("Control+z")  # those with Ctrl still count, and there is nothing to undo
    page.page.locator("[popovertarget=copy]").click()
    page.page.locator("#copy [data-do=keys]").click()
    assert not page.page.locator("#single-keys").is_checked()


def test_the_number_that_is_explained_is_copied(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.settle()
    page.page.locator("#answer button").first.click()
    page.settle()
    page.page.locator("#canvas").focus()
    page.page.keyboard.press("Control+c")
    page.until("document.querySelector('#announce').textContent.startsWith('Copied')")
    assert page.page.evaluate("navigator.clipboard.readText()") == page.text("memory.need_bytes")


class InputMethod:
    """Telex as the browser sees it: a syllable grows under composition, then is committed."""

    def __init__(self, page):
        self.session = page.page.context.new_cdp_session(page.page)
        self.page = page.page

    def compose(self, *steps):
        for text in steps:
            self.session.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})

    def commit(self, text):
        self.session.send("Input.insertText", {"text": text})


def test_vietnamese_is_composed_in_a_search(visit):
    page = visit()
    page.settle()
    page.page.keyboard.press("/")
    search = page.page.locator("[role=combobox]")
    search.wait_for()
    method = InputMethod(page)
    method.compose("m", "mô")
    # Enter while composing is the input method's: it takes the syllable, not the model.
    search.evaluate("n => n.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))")
    assert page.page.locator("[role=combobox]").count() == 1
    method.compose("mộ")
    method.commit("một")
    assert search.input_value() == "một"
    assert page.page.locator("[role=option]").count() == 0
    assert search.input_value() == search.input_value().encode("utf-8").decode("utf-8")
    search.fill("")
    method.compose("q", "qw")
    method.commit("qwen")
    assert search.input_value() == "qwen" and page.page.locator("[role=option]").count() >= 1


def test_composed_text_reaches_every_field_of_the_frame(visit):
    page = visit()
    page.settle()
    method = InputMethod(page)
    # Over the canvas.
    page.click("training.sequence_length")
    over = page.page.locator("#stage input")
    over.wait_for()
    over.fill("")
    method.compose("8")
    over.evaluate("n => n.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))")
    assert over.count() == 1, "still typing"
    method.commit("8192")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#link').textContent.includes('seq=8192')")
    # In the form.
    page.open_form()
    field = page.field("training.sequence_length").locator("input")
    field.fill("")
    method.compose("4")
    field.evaluate("n => n.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))")
    assert page.page.locator("#errors").is_hidden(), "what is composed is not posted"
    method.commit("4096")
    page.page.keyboard.press("Enter")
    page.until("!document.querySelector('#link').textContent.includes('seq=8192')")
    page.page.locator("#form [data-do=done]").click()
    # In the box that reads what is pasted.
    page.page.evaluate("() => window.scrollTo(0, 0)")
    page.open_form()
    page.page.locator("#form [data-do=paste]").first.click()
    area = page.page.locator("#paste textarea")
    area.wait_for()
    area.focus()
    method.compose("đ", "đo")
    method.commit("đo được")
    assert area.input_value() == "đo được"
