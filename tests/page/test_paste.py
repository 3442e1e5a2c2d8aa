"""A machine of one's own: what nvidia-smi, NCCL and nccl-tests print, pasted or dropped; the curves they give."""

import json
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
MATRIX = (DATA / "topologies" / "topo-01.txt").read_text()  # a DGX-1
LOG = (DATA / "nccl_tests" / "all_gather_2.10.txt").read_text()
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)


def open_dialog(page):
    page.click("in.paste")
    page.page.locator("#paste[open]").wait_for()
    return page.page.locator("#paste-text")


def read(page, what):
    page.page.locator("#paste-text").fill(what)
    page.page.get_by_role("button", name="Read it").click()
    page.page.locator("#paste:not([aria-busy])").wait_for()
    page.until("document.querySelector('#paste-wrong').children.length + document.querySelector('#paste-said').children.length > 0", timeout=20000)


def drop(page, *files):
    page.page.evaluate(
        """files => {
            const data = new DataTransfer();
            for (const [name, text] of files) data.items.add(new File([text], name));
            for (const type of ['dragover', 'drop'])
              document.querySelector('#canvas').dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data})); }""",
        [list(f) for f in files],
    )
    page.page.locator("#paste[open]").wait_for()
    page.until("document.querySelector('#paste-wrong').children.length + document.querySelector('#paste-said').children.length > 0", timeout=20000)


def test_a_pasted_matrix_is_drawn_and_answered(wide):
    before = wide.page.locator("#stage").screenshot()
    answer = wide.answer()
    open_dialog(wide)
    wide.picture("paste-empty")
    read(wide, MATRIX)
    said = wide.page.locator("#paste-said").inner_text()
    assert "now the plan's cluster" in said and "Assumed" in said
    assert wide.page.locator("#paste-wrong").inner_text() == ""
    wide.picture("paste-read")
    wide.page.get_by_role("button", name="Done").click()
    assert wide.answer() != answer
    wide.settle()
    assert {f"wiring.chip.gpu{i}" for i in range(8)} <= set(wide.keys())
    wide.picture("paste-drawn")
    assert wide.page.locator("#stage").screenshot() != before
    wide.page.locator("[data-do=undo]").first.click()
    wide.until(f"document.querySelector('#answer').innerText === {json.dumps(answer)}")


def test_the_gpu_that_was_guessed_can_be_chosen(wide):
    open_dialog(wide)
    read(wide, MATRIX)
    chooser = wide.page.locator("#paste-gpu")
    assert chooser.input_value().startswith("v100")
    wide.changes(wide.answer, lambda: chooser.select_option("v100-16gb-sxm"), timeout=8000)
    # Read twice, but one edit: one step back is the plan of before.
    wide.page.locator("#paste").get_by_role("button", name="Undo").click()
    assert wide.page.locator("[data-do=undo]").first.is_disabled()


@pytest.mark.parametrize(
    "broken,says",
    [
        ("hello", ""),
        ("", "nothing to read"),
        (MATRIX[:200], ""),
        ('{"model_type": "bert", "hidden_size": 768}', "encoder"),
        ('{"model_type": "llama", "hidden_size": -1}', "hidden_size"),
        ('{"node": ', ""),
        ('{"schema": "wireplan.cluster/1", "node": "no-such-node"}', "no-such-node"),
        ("<system><!ENTITY a 'b'></system>", ""),
        ("\u001b[4m\tGPU0\tGPU1\nGPU0\t X \tNV9999999999", ""),
    ],
)
def test_what_cannot_be_read_says_why_and_changes_nothing(visit, broken, says):
    page = visit(height=2700)
    page.settle()
    answer, link = page.answer(), page.page.locator("#link").text_content()
    open_dialog(page)
    read(page, broken)
    wrong = page.page.locator("#paste-wrong").inner_text()
    assert len(wrong) > 15 and says in wrong
    assert page.page.locator("#paste-text").input_value() == broken, "the text stays, so that it can be mended"
    assert page.answer() == answer and page.page.locator("#link").text_content() == link
    assert page.page.locator("[data-do=undo]").first.is_disabled()
    page.picture("paste-wrong")


def test_a_dropped_log_becomes_the_basis(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-40gb&ds=fsdp", height=2700)
    page.settle()
    assert "your measurements" not in page.text("collectives.basis")
    drop(page, ("all_gather.txt", LOG))
    assert "measurements now decide" in page.page.locator("#paste-said").inner_text()
    page.picture("paste-log")
    page.page.keyboard.press("Escape")
    page.settle()
    assert "your measurements" in page.text("collectives.basis")
    assert page.page.locator('#results [data-path^="collectives.points."]').count() == 5
    assert "%" in page.text("collectives.measured")
    page.picture("curves-measured")
    page.page.locator("[data-do=undo]").first.click()
    page.until("""!document.querySelector('#results [data-path="collectives.basis"]').textContent.includes('your measurements')""")


def test_a_dropped_configuration_is_the_plan_s_model(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&ds=fsdp", height=2700)
    page.settle()
    before = page.answer()
    config = json.loads((DATA / "configs/llama-3-8b.json").read_text())["config"]
    drop(page, ("config.json", json.dumps(config)))
    said = page.page.locator("#paste-said").inner_text()
    assert "now the plan's model" in said and "8,030,261,248 parameters, the same as llama-3-8b" in said and "mlp_bias" in said
    assert page.page.locator("#paste-wrong").inner_text() == ""
    page.picture("paste-config")
    page.page.locator("#paste").get_by_role("button", name="Undo").click()
    page.until(f"document.querySelector('#answer').innerText === {json.dumps(before)}")
    # One that is no preset is a model of its own, with what is not counted said.
    read(page, json.dumps(config | {"num_hidden_layers": 30, "moe_gating": 3}))
    assert "moe_gating = 3 is not read" in page.page.locator("#paste-said").inner_text()
    page.page.get_by_role("button", name="Done").click()
    page.until(f"document.querySelector('#answer').innerText !== {json.dumps(before)}")


@pytest.mark.parametrize("kind", ["run", "report"])
def test_a_dropped_run_or_report_becomes_the_basis(visit, kind):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&ds=fsdp", width=1440, height=900)
    rows = [{"op": "all_gather", "ranks": list(range(4)), "size_bytes": 2**k, "time_s": {"min": 1e-6, "median": 5e-5 + 2**k / 1e9, "p95": 1}, "wrong": 0, "status": "ok"} for k in range(20, 32)]
    run = {"schema": "wireplan.run/1", "environment": {"hosts": ["mine"] * 4, "date": "2026-05-04T09:00:00Z"}, "complete": True, "rows": rows}
    report = {"rows": [{**row, "ranks": 4, "nodes": 1, "time_s": row["time_s"]["median"], "predicted_s": 1e-3, "error": 0, "within": True} for row in rows], "fit": [], "findings": [], "tolerance": None, "within": True}
    before = page.answer()
    drop(page, ("measured.json", json.dumps({"run": run, "report": report}[kind])))
    assert "Your measurements now decide" in page.page.locator("#paste-said").inner_text()
    assert page.page.locator("#paste-wrong").inner_text() == ""
    page.page.get_by_role("button", name="Done").click()
    assert page.answer() != before  # a wire of 1 GB/s


def test_two_files_are_read_one_after_the_other(wide):
    drop(wide, ("topo.txt", MATRIX), ("log.txt", LOG))
    wide.until("document.querySelectorAll('#paste-said .done-line').length === 2", timeout=20000)


def test_a_plan_and_a_profile_as_json(wide):
    drop(wide, ("plan.json", json.dumps({"model": "gpt2-xl", "cluster": "dgx-a100-40gb"})))
    assert "m=gpt2-xl" in wide.page.locator("#link").text_content()


def test_the_dialog_by_keyboard_alone(wide):
    wide.page.locator("#canvas").focus()
    wide.open_form()
    wide.page.locator("#form [data-do=paste]").focus()
    wide.page.keyboard.press("Enter")
    wide.page.locator("#paste[open]").wait_for()
    assert wide.page.evaluate("document.activeElement.id") == "paste-text"
    wide.page.keyboard.insert_text(MATRIX)
    answer = wide.answer()
    wide.changes(wide.answer, lambda: wide.page.keyboard.press("Control+Enter"), timeout=20000)
    wide.page.keyboard.press("Tab")
    assert wide.page.evaluate("document.activeElement.closest('#paste') !== null")
    wide.page.keyboard.press("Escape")
    assert wide.page.locator("#paste[open]").count() == 0
    assert wide.page.locator("#form[open]").count() == 1
    assert wide.answer() != answer


def test_a_paste_over_the_canvas_is_read(wide):
    wide.page.locator("#canvas").focus()
    wide.page.evaluate(
        """text => { const data = new DataTransfer(); data.setData('text/plain', text);
             document.querySelector('#canvas').dispatchEvent(new ClipboardEvent('paste', {bubbles: true, cancelable: true, clipboardData: data})); }""",
        MATRIX,
    )
    wide.page.locator("#paste-said .done-line").wait_for(timeout=20000)


def test_the_curve_stands_on_wide_pages_and_follows_the_row(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=a100-80gb-pcie-4x-pairs&ds=fsdp", height=2700)
    page.settle()
    plot = page.rect("curve.plot")
    assert plot["width"] > 400 and plot["height"] > 180
    page.picture("curves")
    first = page.text("collectives.curve")
    rows = [k for k in page.keys() if k.startswith("communication.") and k.endswith(".time_s")]
    told = {first}
    for row in rows:
        page.click(row)
        page.settle()
        told.add(page.text("collectives.curve"))
    assert len(told) > 1
    page.page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] / 2)
    page.settle()
    page.picture("curves-pointed")
    before = page.frames()
    page.page.wait_for_timeout(1000)
    assert page.frames() == before


def test_on_a_phone(visit):
    phone = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-40gb&ds=fsdp", **PHONE)
    phone.settle()
    plot = phone.rect("curve.plot")
    assert 280 < plot["width"] <= 390
    phone.page.locator("#thumb [data-do=edit]").tap()
    button = phone.page.locator("#form [data-do=paste]")
    button.tap()
    phone.page.locator("#paste[open]").wait_for()
    small = phone.page.evaluate(
        """() => [...document.querySelectorAll('#paste button')].filter(b => b.checkVisibility() && b.getBoundingClientRect().height < 43.5).length"""
    )
    assert small == 0
    read(phone, LOG)
    phone.picture("phone-paste")
    phone.page.get_by_role("button", name="Done").last.tap()
    phone.page.locator("#form [data-do=done]").tap()
    phone.settle()
    wide, _ = phone.page.evaluate("[document.documentElement.scrollWidth, 0]")
    assert wide <= 390
    phone.page.evaluate("y => scrollTo(0, y)", phone.page.evaluate("scrollY") + phone.rect("panel.curves")["y"] - 60)
    phone.page.wait_for_timeout(200)
    phone.settle()
    phone.picture("phone-curves")


def test_vietnamese(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-40gb&ds=fsdp&lang=vi", height=2700)
    page.settle()
    drop(page, ("log.txt", LOG))
    assert "Số đo của bạn" in page.page.locator("#paste-said").inner_text()
    page.picture("paste-vi")
    page.page.keyboard.press("Escape")
    page.settle()
    page.picture("curves-vi")
