"""What a first visitor sees and does: the story."""

import re

PARAMETERS = 7_241_732_096  # Mistral-7B


def states(page):
    return [page.value(f"memory.states.{part}") for part in ("parameters", "gradients", "optimizer_states")]


def test_the_story_opens_with_the_bytes_of_the_article(visit):
    page = visit()
    page.settle()
    page.picture("plan-light")
    # bf16 weights and gradients, two fp32 moments, everything on every GPU.
    assert states(page) == [2 * PARAMETERS, 2 * PARAMETERS, 8 * PARAMETERS]
    assert page.answer().startswith("Does not fit")


def test_fsdp_by_a_click_on_the_canvas_keeps_a_quarter_each(visit):
    page = visit()
    page.settle()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    assert states(page) == [PARAMETERS / 2, PARAMETERS / 2, 2 * PARAMETERS]
    assert page.answer().startswith("Fits")
    page.settle()
    page.picture("plan-fsdp")


def test_another_wiring_by_a_click_on_the_canvas_changes_the_time_and_not_the_bytes(visit):
    page = visit()
    page.settle()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    step = lambda: page.value("step.time_s")  # noqa: E731
    bytes_before, time_before = states(page), step()
    wirings = [key for key in page.keys() if re.fullmatch(r"wiring\.[\w-]+", key)]
    slow = next(key for key in wirings if "no-p2p" in key)
    page.changes(step, lambda: page.click(slow))
    assert step() > 1.5 * time_before
    assert states(page) == bytes_before
    page.settle()
    page.picture("plan-no-p2p")


def test_a_number_of_the_answer_opens_its_explanation(visit):
    page = visit()
    page.settle()
    frames = page.frames()
    page.page.locator("#answer button").first.click()
    page.settle()
    assert page.frames() > frames


def test_undo_and_redo(visit):
    page = visit()
    page.settle()
    start = page.answer()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    fsdp = page.answer()
    page.changes(page.answer, lambda: page.page.locator(".tools [data-do=undo]").click())
    assert page.answer() == start
    page.changes(page.answer, lambda: page.page.keyboard.press("Control+y"))
    assert page.answer() == fsdp


def test_a_menu_opens_other_examples(visit):
    page = visit()
    examples = page.page.locator("#examples button")
    assert examples.count() >= 6
    assert examples.first.get_attribute("data-scenario") == "story"
    start = page.answer()
    page.changes(page.answer, lambda: page.example("llama-3-8b-fsdp"))
    assert not examples.first.is_visible()
    page.changes(page.answer, lambda: page.example("story"))
    assert page.answer() == start


def test_the_answer_stands_in_the_html_before_any_script(visit):
    page = visit(ready=False, java_script_enabled=False)
    assert page.answer().startswith("Does not fit")
    assert page.value("memory.states.optimizer_states") == 8 * PARAMETERS
    assert page.page.locator("noscript").count() == 1


def test_the_html_says_what_the_page_says(visit):
    page = visit(ready=False, java_script_enabled=False)
    read = """() => [document.querySelector('#answer').textContent,
                     ...[...document.querySelectorAll('#results tr')].map(row => [...row.querySelectorAll('th, td:not(.rows)')].map(cell => cell.textContent).join())]"""
    written = page.page.evaluate(read)
    page.page.close()
    assert visit().page.evaluate(read) == written


def test_a_wrong_edit_keeps_the_answer_and_names_the_way_out(visit):
    page = visit()
    page.settle()
    before, rows = page.answer(), states(page)
    page.page.keyboard.press("Tab")
    page.open_form()
    field = page.field("training.global_batch_size")
    field.locator("input").fill("63")
    field.locator("input").press("Enter")
    page.page.locator("#errors > div").wait_for(state="attached")
    assert page.answer() == before and states(page) == rows
    assert "stale" in page.page.locator("#answer").get_attribute("class")
    assert "invalid" in field.get_attribute("class")
    assert field.locator("input").get_attribute("aria-invalid") == "true"
    error = page.page.locator("#errors").inner_text()
    assert "63" in error
    page.picture("error-form")
    page.page.keyboard.press("Escape")
    page.settle()
    page.picture("error")
    fixed = page.page.locator("#errors button").first
    fixed.click()
    page.page.locator("#errors").wait_for(state="hidden")
    assert "stale" not in (page.page.locator("#answer").get_attribute("class") or "")
