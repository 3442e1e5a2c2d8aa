"""What the page keeps between visits: theme, language, last plan; and how to be rid of it."""

STORED = "() => Object.fromEntries(Object.entries(localStorage))"


def test_a_first_visit_keeps_nothing(visit):
    page = visit()
    page.settle()
    assert page.page.evaluate(STORED) == {}
    assert not page.page.locator("#forget").is_visible()
    assert "nothing leaves this tab" in page.page.locator("footer").inner_text()


def test_theme_language_and_last_plan_and_nothing_else(visit):
    page = visit()
    page.settle()
    page.page.locator("[data-do=theme]").click()
    page.page.locator("[data-language=vi]").click()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    stored = page.page.evaluate(STORED)
    assert set(stored) == {"wireplan.theme", "wireplan.language", "wireplan.plan"}
    assert stored["wireplan.theme"] == "dark" and stored["wireplan.language"] == "vi" and "ds=fsdp" in stored["wireplan.plan"]
    assert page.page.locator("#forget").inner_text() == "Xoá những gì trang này giữ"
    page.picture("kept-vi")
    # The next visit opens with the story, in the reader's language and theme, and offers the plan.
    page.page.goto(page.page.url.split("#")[0])
    page.page.wait_for_selector("html[data-wireplan=ready]")
    page.settle()
    assert page.page.locator("html").get_attribute("lang") == "vi"
    assert page.page.locator("html").get_attribute("data-theme") == "dark"
    assert "ds=fsdp" not in page.page.locator("#link").inner_text()
    resume = page.page.locator("#resume")
    assert resume.inner_text() == "Phương án gần nhất của bạn"
    page.picture("resume-vi")
    resume.click()
    page.until("document.querySelector('#link').textContent.includes('ds=fsdp')")
    assert page.page.locator("#resume").count() == 0


def test_it_can_be_cleared(visit):
    page = visit()
    page.settle()
    page.page.locator("[data-do=theme]").click()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.page.locator("#forget").click()
    page.until("localStorage.length === 0")
    assert not page.page.locator("#forget").is_visible()
    page.until("document.querySelector('#announce').textContent.includes('keeps nothing')")


def test_a_link_is_stronger_than_what_is_kept_and_that_than_the_browsers_language(visit):
    page = visit(locale="vi-VN")
    assert page.page.locator("html").get_attribute("lang") == "vi"
    page.page.locator("[data-language=en]").click()
    page.page.wait_for_selector("html[lang=en]")
    page.page.goto(page.page.url.split("#")[0])
    page.page.wait_for_selector("html[data-wireplan=ready]")
    assert page.page.locator("html").get_attribute("lang") == "en"
    page.page.goto("about:blank")
    link = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&lang=vi", locale="en-US")
    assert link.page.locator("html").get_attribute("lang") == "vi"
    assert link.page.evaluate(STORED) in ({}, {"wireplan.plan": link.page.locator("#link").inner_text()}), "only a choice is kept"


def test_sources_and_licences(visit):
    page = visit()
    page.settle()
    page.page.locator("footer [data-do=about]").click()
    page.page.locator("#about-sources li").first.wait_for()
    assert page.page.locator("#about-sources li").count() > 50
    assert "Apache License 2.0" in page.page.locator("#about").inner_text()
    licence = page.page.locator("#about a[href='LICENSE.txt']").get_attribute("href")
    assert "Apache License" in page.page.evaluate("name => fetch(name).then(r => r.text())", licence)
    assert page.page.locator("#about a[href^='http:']").count() == 0
    page.picture("about")
    page.page.locator("#about [data-do=forget]").click()
    page.page.keyboard.press("Escape")
    assert page.page.locator("#about[open]").count() == 0
