"""The story told again in steps: a panel beside a page that goes on working."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from test_access import violations

SHELL = Path(__file__).resolve().parents[2] / "web" / "shell"
STEPS = json.loads((SHELL / "story.json").read_text())["steps"]
VI = json.loads((SHELL / "story.vi.json").read_text())
NAMES = [step["name"] for step in STEPS]
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)


def program(*arguments):
    return subprocess.run([os.environ["WIREPLAN_PROGRAM"], *arguments], capture_output=True, check=True, text=True).stdout


def estimate(link, *edits):
    return json.loads(program("estimate", link, "--json", *(part for edit in edits for part in ("--set", edit))))


def need(answer):
    return answer["memory"]["need_bytes"]["value"]


def states(answer):
    return sum(answer["memory"]["states"].values())


def seconds(answer):
    return answer["step"]["time_s"]["value"]


def waits(answer):
    return answer["step"]["exposed_communication_s"]


# ---------------------------------------------------------------- what the sentences claim, checked against the numbers
def test_what_the_story_says_is_true():
    one, adam, ddp, fsdp, price, wires, hsdp = (estimate(step["link"]) for step in STEPS)
    capacity = ddp["memory"]["capacity_bytes"]
    # A 7 B model, whose weights fit a card several times over, and six times as much with Adam, which does not fit.
    assert 7.0e9 < one["model"]["parameters"] < 7.5e9
    assert one["memory"]["states"]["parameters"] < capacity / 2
    assert states(adam) == 6 * adam["memory"]["states"]["parameters"] > capacity
    # Four GPUs: nearly four times as fast, with the same states each, and no sequence so short that DDP fits.
    assert 3.5 < ddp["step"]["tokens_per_s"] / one["step"]["tokens_per_s"] < 4
    assert states(ddp) == states(one)
    assert ddp["memory"]["verdict"] == "does-not-fit"
    assert need(estimate(STEPS[2]["link"], "training.sequence_length=16")) > capacity
    # A quarter each, which fits, and most of the traffic hidden on NVSwitch.
    assert states(fsdp) == states(ddp) / 4 and fsdp["memory"]["verdict"] == "fits"
    assert waits(price) < 0.1 * seconds(price)
    assert sum(row["time_s"]["value"] for row in price["communication"]) > 2 * waits(price)
    # Slower wires: more than a third of the step waits; on this very card NVSwitch would not.
    assert waits(wires) > seconds(wires) / 3
    beside = {name: estimate(link) for name, link in STEPS[5]["beside"].items()}
    micro = wires["plan"]["training"]["global_batch_size"] // wires["plan"]["parallel"]["data"]
    assert micro == 16
    for name in ("ddp_once", "fsdp_once"):
        assert beside[name]["plan"]["training"]["global_batch_size"] == 4, "one micro-step of one sequence on each GPU"
    # DDP waits as long with one micro-step as with sixteen; FSDP nearly sixteen times as long, and with one little longer than DDP.
    assert waits(beside["ddp"]) == pytest.approx(waits(beside["ddp_once"]), rel=0.02)
    assert waits(wires) > 0.9 * micro * waits(beside["fsdp_once"])
    assert 1 < waits(beside["fsdp_once"]) / waits(beside["ddp_once"]) < 1.3
    assert beside["ddp"]["memory"]["verdict"] == "does-not-fit", "it stands there as what it would wait, if it fitted"
    # Inside the pairs: much faster, for more memory, which is tight.
    assert seconds(hsdp) < 0.7 * seconds(wires) and waits(hsdp) < waits(wires) / 3
    assert hsdp["memory"]["verdict"] == "tight" and need(hsdp) > need(wires)
    assert seconds(estimate(STEPS[6]["link"], "cluster.node=a100-80gb-pcie-4x-host")) > 1.3 * seconds(hsdp), "it is the bridges that help"


def test_its_cards_are_held_where_it_compares():
    gpus = {step["id"]: estimate(step["link"])["plan"]["cluster"]["node"] for step in STEPS}
    assert len({gpus[i] for i in ("weights", "adam", "ddp", "fsdp", "price")}) == 1
    assert gpus["wires"] == gpus["hsdp"] != gpus["price"]
    assert all(estimate(link)["plan"]["cluster"]["node"] == gpus["wires"] for link in STEPS[5]["beside"].values())


def test_its_links_are_as_the_program_writes_them():
    for step in STEPS:
        assert program("estimate", step["link"], "--print-link").split()[0] == step["link"]


def test_no_number_of_a_plan_is_written_into_a_text():
    texts = [t for s in STEPS for t in (s["title"], s["name"], *s["text"], *s.get("after", []))] + list(VI.values())
    for text in texts:
        bare = re.sub(r"\{\w+\}|Mistral-7B|A100|bf16|fp32|7 B\b|7 tỷ", "", text)
        assert not re.search(r"\d", bare), text


def test_both_languages_hold_the_same():
    for step in STEPS:
        sentences = {"name": step["name"], "title": step["title"]}
        sentences |= {str(i + 1): t for i, t in enumerate(step["text"])} | {f"after.{i + 1}": t for i, t in enumerate(step.get("after", []))}
        total = step.get("sum", {})
        sentences |= {f"row.{i + 1}": row["name"] for i, row in enumerate(total.get("rows", []))} | {f"head.{i + 1}": t for i, t in enumerate(total.get("head", []))}
        for key, english in sentences.items():
            told = VI[f"{step['id']}.{key}"]
            assert sorted(re.findall(r"\{\w+\}", told)) == sorted(re.findall(r"\{\w+\}", english)), (step["id"], key)


# ---------------------------------------------------------------- the panel
def panel(page):
    return page.page.locator("#story")


def at_step(page, number, timeout=8000):
    page.until(f"document.querySelector('#story [aria-current=step]')?.dataset.step === '{number}'", timeout)
    page.settle()


def told(page, number):
    """Checks what a step shows: its place, its numbers, and the outline of what it speaks of, in sight."""
    at_step(page, number)
    said = panel(page).inner_text()
    assert f"{number} of {len(STEPS)}" in said or f"{number} / {len(STEPS)}" in said
    assert "{" not in said and "–" not in said, said
    key = next(k for k in STEPS[number - 1]["target"] if k in page.keys())
    box = page.rect(key)
    page.until("!document.querySelector('#veil').hidden")
    outline = page.page.locator("#veil b").bounding_box()
    assert outline["y"] == pytest.approx(box["y"] - 4, abs=2) or outline["y"] >= page.page.locator("#stage").bounding_box()["y"]
    assert -10 <= outline["width"] - box["width"] - 8 <= 1, "it may end at the edge of the canvas"
    story, stage = panel(page).bounding_box(), page.page.locator("#stage").bounding_box()
    if story["x"] > 0:  # beside the canvas: nothing of the target lies beneath it, or beyond what is seen
        assert outline["x"] + outline["width"] <= story["x"] + 1
        assert outline["y"] + outline["height"] <= stage["y"] + stage["height"] + 1
    else:
        assert outline["y"] + 40 < story["y"], "the sheet covers what it speaks of"
        assert outline["y"] > 0
    return said


def begin(page):
    page.settle()
    page.page.locator(".chips [data-do=story]").click()
    at_step(page, 1)


def hash_of(page):
    return page.page.evaluate("location.hash")


def test_every_step_by_mouse(visit):
    page = visit()
    begin(page)
    for number, step in enumerate(STEPS, 1):
        said = told(page, number)
        answer = estimate(step["link"])
        assert page.value("memory.need_bytes") == need(answer) and page.value("step.time_s") == seconds(answer)
        if step["id"] == "adam":
            assert "86.9 GB" in said and "2 B × 7,241,732,096" in said
        if step["id"] == "wires":
            assert f"{waits(answer):.1f} s" in said
        page.until(f"location.hash.endsWith('&story={number}')")
        assert violations(page) == [] if number in (2, 6) else True
        page.picture(f"replay-{number}")
        if number < len(STEPS):
            page.page.locator("#story [data-story=next]").click()
    last = hash_of(page)
    page.page.locator("#story [data-story=back]").click()
    at_step(page, len(STEPS) - 1)
    page.page.locator(f'#story [data-step="{len(STEPS)}"]').click()
    at_step(page, len(STEPS))
    page.page.locator("#story [data-story=end]").click()
    page.page.locator("#story").wait_for(state="detached")
    page.settle()
    page.until("!location.hash.includes('story')")
    assert hash_of(page) == last.removesuffix(f"&story={len(STEPS)}"), "the plan stays as it was seen"
    assert page.page.locator("#veil").count() == 0


def test_every_step_by_keyboard(visit):
    page = visit()
    page.settle()
    page.page.locator(".chips [data-do=story]").focus()
    press = page.page.keyboard.press
    press("Enter")
    for number in range(1, len(STEPS) + 1):
        at_step(page, number)
        assert page.page.evaluate("document.activeElement.id") == "story-title", "a screen reader hears the title"
        if number == len(STEPS):
            break
        for _ in range(8):
            press("Tab")
            if page.page.evaluate("document.activeElement.dataset.story") == "next":
                break
        press("Enter")
    answer = page.answer()
    press("Escape")
    page.page.locator("#story").wait_for(state="detached")
    page.settle()
    assert page.page.evaluate("document.activeElement.dataset.do") == "story"
    assert page.answer() == answer
    press("Escape")  # nothing is left that it could leave


def test_escape_closes_a_dialog_before_the_story(visit):
    page = visit()
    begin(page)
    page.open_form()
    page.page.keyboard.press("Escape")
    page.page.locator("#form:not([open])").wait_for(state="attached")
    assert panel(page).is_visible()
    page.page.keyboard.press("Escape")
    page.page.locator("#story").wait_for(state="detached")


def test_on_a_phone_by_touch_in_vietnamese(visit):
    page = visit("#story=1&lang=vi", **PHONE)
    for number, step in enumerate(STEPS, 1):
        said = told(page, number)
        assert VI[f"{step['id']}.title"].split("{")[0] in page.page.locator("#story-title").inner_text()
        assert VI[f"{step['id']}.1"].split("{")[0] in said
        assert not re.search(r"\b(the|of|wait|waits|fits|holds|keeps)\b", said), said
        page.picture(f"replay-phone-vi-{number}")
        small = page.page.evaluate(
            """() => [...document.querySelectorAll('#story button')].filter(b => b.checkVisibility()).map(b => [b.textContent, b.getBoundingClientRect()])
                 .filter(([, r]) => r.width < 43.5 || r.height < 43.5).map(([t]) => t)"""
        )
        assert small == []
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
        if number < len(STEPS):
            page.page.locator("#story [data-story=next]").tap()
    page.page.locator("#story [data-story=close]").tap()
    page.page.locator("#story").wait_for(state="detached")
    page.until("location.hash.includes('lang=vi') && !location.hash.includes('story')")


@pytest.mark.parametrize("width,height,scheme", [(1440, 900, "dark"), (1280, 620, "light"), (1040, 700, "light"), (800, 800, "dark")])
def test_what_a_step_speaks_of_is_in_sight(visit, width, height, scheme):
    page = visit("#story=5", width=width, height=height, color_scheme=scheme)
    told(page, 5)
    page.picture(f"replay-{width}-{scheme}")
    page.page.locator("#story [data-story=next]").click()
    told(page, 6)
    page.picture(f"replay-{width}-{scheme}-wires")
    if scheme == "dark":
        assert violations(page) == []


# ---------------------------------------------------------------- the same state
def test_an_edit_is_said_and_taken_back_by_reset(visit):
    page = visit("#story=3")
    said = told(page, 3)
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))  # through the veil
    changed = panel(page).locator(".notice")
    changed.wait_for()
    assert "You changed the plan" in changed.inner_text()
    now = panel(page).inner_text()
    assert re.findall(r"[\d.]+ GB", now) == re.findall(r"[\d.]+ GB", said), "its sentences keep the numbers that they are about"
    page.settle()
    page.picture("replay-changed")
    page.changes(page.answer, lambda: page.page.locator("#story [data-story=reset]").click())
    page.until("!document.querySelector('#story .notice')")
    told(page, 3)
    assert page.page.evaluate("document.activeElement.id") == "story-title"
    page.changes(page.answer, lambda: page.page.keyboard.press("Control+z"))
    changed.wait_for()


def test_the_unit_follows_and_is_no_change_of_the_plan(visit):
    page = visit("#story=2")
    assert "86.9 GB" in told(page, 2)
    page.page.locator("[data-do=table]").click()
    page.page.locator("#results [data-unit=GiB]").click()
    page.until("document.querySelector('#story').innerText.includes('80.9 GiB')")
    assert panel(page).locator(".notice").count() == 0
    page.page.locator("#story [data-story=next]").click()
    at_step(page, 3)
    assert " GB" not in panel(page).inner_text()


def test_a_link_opens_its_step(visit):
    page = visit(STEPS[3]["link"] + "&u=gb&story=4")
    told(page, 4)
    assert panel(page).locator(".notice").count() == 0
    assert page.page.locator("#link").get_attribute("href").endswith("&story=4")
    # In the address bar, too; a step that is none is the last.
    page.page.evaluate("location.hash = '#story=99'")
    at_step(page, len(STEPS))
    assert page.page.locator("#errors > div").count() == 0
    # Language and unit may stand there alone.
    page.page.evaluate("location.hash = '#lang=vi&u=gib'")
    page.until("document.documentElement.lang === 'vi' && document.querySelector('#answer').innerText.includes('79.3 GiB')")
    assert page.page.locator("#errors > div").count() == 0


def test_a_link_with_a_plan_of_its_own_keeps_it(visit):
    page = visit("#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp&story=3")
    at_step(page, 3)
    assert page.value("model.parameters") == 8_030_261_248
    assert panel(page).locator(".notice").count() == 1
    assert "86.9" not in panel(page).inner_text()
    page.changes(page.answer, lambda: page.page.locator("#story [data-story=reset]").click())
    assert "80.9 GiB" in told(page, 3), "in the unit that the link came with"


def test_the_program_takes_such_a_link():
    link = STEPS[3]["link"]
    assert program("estimate", link + "&story=4", "--json") == program("estimate", link, "--json")


def test_nothing_is_drawn_while_nobody_does_anything(visit):
    page = visit("#story=4")
    told(page, 4)
    before = page.frames()
    page.page.wait_for_timeout(400)
    assert page.frames() == before


def test_what_is_outlined_follows_the_wheel(visit):
    page = visit("#story=5", height=620)
    told(page, 5)
    before = page.page.locator("#veil b").bounding_box()["y"]
    box = page.page.locator("#stage").bounding_box()
    page.page.mouse.move(box["x"] + 500, box["y"] + 200)
    page.page.mouse.wheel(0, -60)
    page.until(f"document.querySelector('#veil b').getBoundingClientRect().y > {before} + 5")
    page.settle()
    assert abs(page.page.locator("#veil b").bounding_box()["y"] - page.rect("panel.step")["y"]) <= 6


def test_without_pictures_it_is_told_all_the_same(chromium, visit):
    from conftest import CHROMIUM

    plain = chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    try:
        page = visit("#story=2", instance=plain)
        visit.complaints[:] = [c for c in visit.complaints if "WebGL" not in c]
        panel(page).wait_for()
        page.until("document.querySelector('#story').innerText.includes('86.9 GB')")
        page.picture("replay-no-webgl")
        page.changes(page.answer, lambda: page.page.locator("#story [data-step='4']").click())
        assert page.answer().startswith("Fits")
    finally:
        plain.close()
