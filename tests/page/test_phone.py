"""390 × 844 by finger."""

import pytest

PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)


@pytest.fixture
def phone(visit):
    page = visit(**PHONE)
    page.settle()
    return page


def tap(page, key):
    x, y = page.center(key)
    height = page.page.evaluate("innerHeight")
    if not 60 < y < height - 80:
        page.page.evaluate("by => scrollBy(0, by)", y - height / 2)
        page.page.wait_for_timeout(100)
    page.page.touchscreen.tap(*page.center(key))


def test_the_page_scrolls_and_only_down(phone):
    wide, high = phone.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= 390
    assert high > 1200
    phone.picture("phone")
    phone.page.evaluate("scrollTo(0, 700)")
    phone.page.wait_for_timeout(200)
    assert phone.page.locator("#slim").is_visible()
    phone.picture("phone-scrolled")
    phone.page.evaluate("scrollTo(0, 1e6)")
    phone.page.wait_for_timeout(200)
    phone.picture("phone-end")


def test_a_swipe_over_the_canvas_scrolls(phone):
    session = phone.page.context.new_cdp_session(phone.page)
    finger = lambda kind, *points: session.send(  # noqa: E731
        "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": 195, "y": y} for y in points]}
    )
    finger("touchStart", 600)
    for y in range(580, 200, -20):
        finger("touchMove", y)
        phone.page.wait_for_timeout(16)
    finger("touchEnd")
    assert phone.page.evaluate("scrollY") > 200


def test_a_tap_on_the_canvas_chooses(phone):
    phone.changes(phone.answer, lambda: tap(phone, "strategy.fsdp"))
    assert phone.answer().startswith("Fits")


def test_the_plan_is_edited_in_a_form_by_tap(phone):
    phone.page.locator("#thumb [data-do=edit]").tap()
    phone.page.locator("#form[open]").wait_for()
    phone.picture("phone-form")
    field = phone.field("training.sequence_length")
    phone.changes(lambda: phone.value("memory.need_bytes"), lambda: field.locator("button").last.tap())
    phone.page.locator("#form [data-do=done]").tap()
    assert phone.page.locator("#form[open]").count() == 0


def test_targets_are_as_large_as_a_finger(phone):
    phone.page.locator("#thumb [data-do=edit]").tap()
    phone.page.locator("#form[open]").wait_for()
    small = phone.page.evaluate(
        """() => [...document.querySelectorAll('button, select, input:not([type=radio]):not([type=checkbox]), .grid label')]
             .filter(n => n.checkVisibility({visibilityProperty: true}) && !n.closest('#answer'))
             .map(n => [n.textContent || n.id, n.getBoundingClientRect()])
             .filter(([, b]) => b.width && (b.width < 43.5 || b.height < 43.5))
             .map(([t, b]) => `${t} ${b.width}x${b.height}`)"""
    )
    assert small == []


def test_an_explanation_opens_as_text(phone):
    phone.page.locator("#answer button").first.tap()
    phone.page.locator("#explain[open]").wait_for()
    assert "=" in phone.page.locator("#explain pre").inner_text()
    phone.picture("phone-explain")


def test_dark(visit):
    page = visit(color_scheme="dark", **PHONE)
    page.settle()
    page.picture("phone-dark")
    assert page.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(23, 27, 31)"
