"""The four questions under the answer: each does what it asks for."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from test_access import violations
from test_replay import STEPS

DATA = Path(__file__).resolve().parents[1] / "data"
CONFIG = json.dumps(json.loads((DATA / "configs" / "llama-3-8b.json").read_text())["config"])
LOG = (DATA / "nccl_tests" / "all_gather_2.10.txt").read_text()
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)
FSDP = "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&ds=fsdp&gbs=64&md=null&u=gb"


def fit(plan, field):
    done = subprocess.run([os.environ["WIREPLAN_PROGRAM"], "fit", plan, "--max", field, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def chip(page, name):
    return page.page.locator(f".chips [data-do={name}]")


def test_they_stand_first_and_say_how_long_the_story_is(visit):
    page = visit()
    page.settle()
    names = page.page.locator(".chips button").all_inner_texts()
    assert names == ["Does my model fit?", "Largest micro-batch that fits", "Which layout is fastest?", "Check my NCCL numbers", f"Replay the story · {len(STEPS)} steps", "Examples"]
    page.page.locator("[data-language=vi]").click()
    page.until("document.querySelector('.chips').innerText.includes('Mô hình của tôi')")
    assert chip(page, "story").inner_text().endswith(f"{len(STEPS)} bước")
    page.page.locator(".chips [popovertarget=examples]").click()
    page.until("document.querySelector('#examples').innerText.includes('bốn A100')")
    menu, way_in = (page.page.locator(one).bounding_box() for one in ("#examples", ".chips [popovertarget=examples]"))
    assert menu["x"] >= 0 and menu["width"] > 400 and abs(menu["x"] - way_in["x"]) < 2
    assert not re.search(r"\b(the|does|with|parallel)\b", page.page.locator("#examples").inner_text())
    page.picture("starters-vi")


@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_does_my_model_fit_asks_which_model_and_which_machine(visit, options):
    page = visit(**options)
    page.settle()
    press = chip(page, "model").tap if options else chip(page, "model").click
    press()
    field = page.page.locator(".pick input")
    assert field.get_attribute("placeholder") == "Which model?"
    page.picture(f"starter-model{'-phone' if options else ''}")
    field.fill("llama 3 8b")
    page.changes(lambda: page.value("model.parameters"), lambda: field.press("Enter"))
    assert page.value("model.parameters") == 8_030_261_248
    assert page.page.locator(".pick input").get_attribute("placeholder") == "On which machine?"
    page.page.locator(".pick input").fill("hgx-h100-80gb")
    page.changes(page.answer, lambda: page.page.locator(".pick input").press("Enter"))
    assert page.page.locator(".pick").count() == 0
    assert "c=hgx-h100-80gb" in page.page.locator("#link").get_attribute("href")


def test_a_model_of_ones_own_is_pasted(visit):
    page = visit()
    page.settle()
    chip(page, "model").click()
    page.page.locator(".pick input").fill("no such model")
    assert page.page.locator(".pick [role=option]").count() == 1, "one's own is there whatever is typed"
    page.page.locator(".pick [role=option]").first.click()
    page.page.locator("#paste[open]").wait_for()
    assert page.page.locator("#paste-title").inner_text() == "Your model"
    page.picture("starter-model-paste")
    page.page.locator("#paste-text").fill(CONFIG)
    page.page.get_by_role("button", name="Read it").click()
    page.until("document.querySelector('#paste-said').innerText.includes(\"now the plan's model\")", timeout=20000)
    assert page.answer() in page.page.locator("#paste-said").inner_text(), "the answer stands in the dialog, which covers the page's"


def test_nccl_numbers_are_asked_for_by_name(visit):
    page = visit()
    page.settle()
    chip(page, "numbers").click()
    page.page.locator("#paste[open]").wait_for()
    assert page.page.locator("#paste-title").inner_text() == "Your NCCL numbers beside the prediction"
    assert "all_reduce_perf" in page.page.locator("#paste-how").inner_text()
    page.picture("starter-numbers")
    page.page.locator("#paste-text").fill(LOG)
    page.page.get_by_role("button", name="Read it").click()
    page.until("document.querySelector('#paste-said').innerText.includes('Your measurements')", timeout=20000)
    page.page.keyboard.press("Escape")
    page.page.locator("#paste:not([open])").wait_for(state="attached")
    page.click("in.paste")  # the other way in asks for anything
    page.page.locator("#paste[open]").wait_for()
    assert page.page.locator("#paste-title").inner_text() == "Your machine, your measurements"


def test_the_fastest_layout_is_searched_for(visit):
    page = visit()
    page.settle()
    chip(page, "layouts").click()
    page.page.locator("#layouts[open]").wait_for()


def answered(page):
    page.page.locator("#largest[open]").wait_for()
    page.until("(b => b.children.length > 0 && !b.hasAttribute('aria-busy'))(document.querySelector('#largest .body'))", timeout=20000)


def test_the_largest_that_fits_is_the_programs_and_one_click_takes_it(visit):
    page = visit(FSDP)
    page.settle()
    chip(page, "largest").click()
    answered(page)
    parts = {field: fit(FSDP, field) for field in ("micro_batch_size", "sequence_length")}
    for field, found in parts.items():
        section = page.page.locator(f'#largest [data-field="{field}"]')
        assert int(section.get_attribute("data-largest")) == found["largest"]
        said = section.locator(".lead").inner_text()
        # The program's own sentence has the same numbers.
        for number in re.findall(r"[\d,.]+\d GB", found["text"]):
            assert number in said, (number, said)
        assert f"{found['largest']:,}" in said
    assert violations(page) == []
    page.picture("largest")
    tokens = page.page.locator('#largest [data-field="sequence_length"]')
    tokens.locator("button").click()
    page.until("document.querySelector('#largest [data-field=sequence_length]').innerText.includes('has this already')")
    assert page.value("memory.need_bytes") == parts["sequence_length"]["estimate"]["memory"]["need_bytes"]["value"]
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Control+z")
    page.until("!document.querySelector('#link').href.includes('seq=')")


def test_what_does_not_fit_at_all_is_sent_to_the_search(visit):
    page = visit(**PHONE)
    page.settle()
    chip(page, "largest").tap()
    answered(page)
    assert "Not even 1 at once fits" in page.page.locator("#largest").inner_text()
    page.picture("largest-phone")
    page.page.locator("#largest [data-do=layouts]").first.tap()
    page.page.locator("#layouts[open]").wait_for()
    assert page.page.locator("#largest[open]").count() == 0


def test_the_largest_in_vietnamese(visit):
    page = visit(FSDP + "&lang=vi")
    page.settle()
    chip(page, "largest").click()
    answered(page)
    said = page.page.locator("#largest").inner_text()
    assert "Micro-batch lớn nhất" in said and "{" not in said
    assert not re.search(r"\b(at|most|the|next|use|would|need|plan|held|tokens)\b", said, re.I), said
    page.picture("largest-vi")
