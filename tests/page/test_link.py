"""The address bar and what is carried by it."""


def test_the_link_follows_the_plan_and_brings_it_back(visit):
    page = visit()
    page.settle()
    assert page.page.evaluate("location.hash") == "", "an unchanged story leaves the address alone"
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.until("location.hash.includes('ds=fsdp')")
    again = visit(page.page.evaluate("location.hash"))
    assert again.answer() == page.answer()
    assert again.value("step.time_s") == page.value("step.time_s")


def test_an_edited_address_opens_that_plan(visit):
    page = visit()
    page.changes(page.answer, lambda: page.page.evaluate("location.hash = '#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp'"))
    assert page.value("model.parameters") == 8_030_261_248


def test_share_copies_a_link_that_opens_the_same_plan(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.settle()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.page.locator(".tools [data-do=share]").click()
    page.until("document.querySelector('.tools [data-do=share]').textContent === 'Link copied'")
    link = page.page.evaluate("navigator.clipboard.readText()")
    assert visit(link[link.index("#"):]).answer() == page.answer()


def test_copies_in_four_formats(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    texts = {}
    for format in ("text", "markdown", "csv", "json"):
        page.page.locator("[popovertarget=copy]").click()
        page.page.locator(f"[data-copy={format}]").click()
        page.page.wait_for_timeout(50)
        texts[format] = page.page.evaluate("navigator.clipboard.readText()")
        page.page.keyboard.press("Escape")
    assert len(set(texts.values())) == 4
    assert '"wireplan.estimate/1"' in texts["json"]
    assert "|" in texts["markdown"]
    assert "memory.states.parameters" in texts["csv"] and "14483464192" in texts["csv"]


def test_a_link_that_cannot_be_read_says_so_and_keeps_the_story(visit):
    page = visit("#v=1&m=mistral-8b&c=dgx-a100-80gb")
    assert page.page.locator("#errors > div").count() >= 1
    assert "mistral-8b" in page.page.locator("#errors").inner_text()
    assert page.answer().startswith("Does not fit")
    page.page.locator("[data-do=theme]").click()
    page.page.wait_for_timeout(500)
    assert "mistral-8b" in page.page.evaluate("location.hash"), "what was typed is still there to be mended"


def test_an_embedded_page_leaves_address_and_storage_alone(visit):
    page = visit("embed.html", width=680, height=420)
    page.settle()
    page.picture("embed")
    before = page.page.evaluate("location.href")
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.page.wait_for_timeout(600)
    assert page.page.evaluate("location.href") == before
    assert page.page.evaluate("localStorage.length") == 0
    assert "ds=fsdp" in page.page.locator("#link").get_attribute("href"), "the way out carries the plan"
