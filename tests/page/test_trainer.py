"""A plan as the files of a trainer, and such a file as the plan: the dialog says what the program says."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from test_access import violations
from test_paste import drop, open_dialog, read

DATA = Path(__file__).resolve().parents[1] / "data" / "trainers" / "import"
TITAN = (DATA / "torchtitan_llama3_8b.toml").read_text()
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)
SMALL = "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~2&ds=fsdp"
LARGE = "#v=1&m=llama-3-70b&c=hgx-h100-80gb~16~infiniband-8x400&seq=8192&gbs=512&fw=megatron&ds=zero1&tp=8&pp=4"


def program(*arguments):
    """What the program prints for these."""
    return subprocess.run([os.environ["WIREPLAN_PROGRAM"], *map(str, arguments)], capture_output=True, check=True, text=True).stdout


def answered(page):
    page.page.locator("#trainer[open]").wait_for()
    page.until("(b => b.children.length > 0 && !b.hasAttribute('aria-busy'))(document.querySelector('#trainer .body'))", timeout=30000)


def opened(page):
    page.page.evaluate("document.querySelector('#results [data-do=trainer]').click()")
    answered(page)
    return page


def link_of(page):
    return page.page.locator("#link").get_attribute("href")


def files_of(page):
    return page.page.evaluate("[...document.querySelectorAll('#trainer .file')].map(f => [f.dataset.file, f.querySelector('pre').textContent])")


def changes_of(page):
    return page.page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('#trainer-cannot li')].map(li =>
        [li.dataset.path, ['[data-before]', '[data-after]'].map(s => li.querySelector(s)?.textContent ?? null)]))""")


def plain(value):
    return "not stated" if value is None else value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("link,trainers", [(SMALL, ["accelerate", "torchtitan", "training-arguments", "lightning", "srun"]), (LARGE, ["megatron", "torchtitan", "megatron-bridge", "mpirun"])])
def test_the_files_and_what_they_cannot_say_are_the_programs(visit, link, trainers):
    page = visit(link)
    page.settle()
    opened(page)
    select = page.page.locator("#trainer select")
    assert select.input_value() == trainers[0], "the usual one of the plan"
    for trainer in trainers:
        if select.input_value() != trainer:
            select.select_option(trainer)
            answered(page)
        expected = json.loads(program("export", link_of(page), "--to", trainer, "--json"))
        assert files_of(page) == [[f["name"], f["text"]] for f in expected["files"]], trainer
        changes = changes_of(page)
        assert set(changes) == {i["path"] for i in expected["inexpressible"]} | {d["path"] for d in expected["round_trip"]}, trainer
        for d in expected["round_trip"]:
            assert changes[d["path"]] == [plain(d["before"]), plain(d["after"])], trainer
        said = page.page.locator("#trainer .body").inner_text()
        for i in expected["inexpressible"]:
            assert i["text"].split("; the files make it")[0] in said
        for note in expected["notes"]:
            assert note["text"] in said
        assert (page.page.locator("#trainer-whole").count() == 1) == (not changes)
        page.picture(f"trainer-{trainer}")


def test_a_trainer_that_cannot_names_one_that_can(visit):
    page = opened(visit(LARGE))
    page.page.locator("#trainer select").select_option("deepspeed")
    answered(page)
    assert "DeepSpeed cannot train this plan" in page.page.locator("#trainer-refused").inner_text()
    assert "--to" not in page.page.locator("#trainer .body").inner_text()
    assert files_of(page) == []
    page.picture("trainer-refused")
    page.page.get_by_role("button", name="Take Megatron-LM").click()
    answered(page)
    assert page.page.locator("#trainer select").input_value() == "megatron"
    assert page.page.evaluate("document.activeElement.id") == "trainer-choice"
    assert [name for name, _ in files_of(page)] == ["megatron_args.sh", "launch.sh"]


def test_files_can_be_copied_and_downloaded(visit):
    page = visit(SMALL, permissions=["clipboard-read", "clipboard-write"])
    opened(page)
    for name, text in files_of(page):
        part = page.page.locator(f'#trainer [data-file="{name}"]')
        part.get_by_role("button").click()
        page.until(f"document.querySelector('#trainer [role=status]').textContent.includes({json.dumps(name)})")
        assert page.page.evaluate("navigator.clipboard.readText()") == text
        with page.page.expect_download() as download:
            part.get_by_role("link").click()
        assert download.value.suggested_filename == name
        assert Path(download.value.path()).read_text() == text


def test_it_follows_the_plan(visit):
    page = opened(visit(SMALL))
    before = files_of(page)
    page.page.evaluate("location.hash = '#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~4&ds=fsdp'")
    page.until(f"document.querySelector('#trainer [data-file=\"accelerate.yaml\"] pre')?.textContent !== {json.dumps(before[0][1])}")
    answered(page)
    assert "num_machines: 4" in files_of(page)[0][1]


def test_the_menu_opens_it_and_it_works_by_keyboard_alone(visit):
    page = visit(SMALL)
    page.settle()
    menu = page.page.locator('[popovertarget="copy"]')
    menu.focus()
    page.page.keyboard.press("Enter")
    page.page.locator("#copy [data-do=trainer]").focus()
    page.page.keyboard.press("Enter")
    answered(page)
    reached = set()
    for _ in range(12):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("(e => e.closest('#trainer') ? e.id || e.getAttribute('aria-label') || e.localName : '')(document.activeElement)"))
    assert {"trainer-choice", "Copy accelerate.yaml", "Download accelerate.yaml", "pre", "Copy launch.sh"} <= reached
    page.page.keyboard.press("Escape")
    page.page.locator("#trainer:not([open])").wait_for(state="attached")
    assert page.page.evaluate("document.activeElement.getAttribute('popovertarget')") == "copy"


@pytest.mark.parametrize("trainer", ["accelerate", "deepspeed"])
def test_it_can_be_used_by_everyone(visit, trainer):
    page = opened(visit(SMALL))
    page.page.locator("#trainer select").select_option(trainer)
    answered(page)
    assert violations(page) == []


def english_left(page, box):
    """What is said there outside of what is marked as English, names of fields and files."""
    return page.page.evaluate("""box => { const copy = document.querySelector(box).cloneNode(true);
        for (const node of copy.querySelectorAll('[lang=en], code, select')) node.remove();
        return copy.textContent; }""", box)


ENGLISH = re.compile(r"\b(the|of|plan|files?|reason|copy|download|cannot|training|not|read|notes?|default|stated)\b", re.I)


def test_vietnamese_is_no_english(visit):
    page = visit(SMALL + "&lang=vi")
    page.settle()
    opened(page)
    said = english_left(page, "#trainer")
    assert "Cho trình huấn luyện của bạn" in said and "không diễn đạt được" in said
    assert not ENGLISH.search(said), said
    assert violations(page) == []
    page.picture("trainer-vi")
    page.page.locator("#trainer select").select_option("megatron-bridge")
    answered(page)
    said = english_left(page, "#trainer")
    assert "không huấn luyện được phương án này" in said and not ENGLISH.search(said), said


def test_on_a_phone(visit):
    page = visit(SMALL, **PHONE)
    page.settle()
    opened(page)
    page.picture("trainer-phone")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.page.evaluate("(b => b.scrollWidth <= b.clientWidth)(document.querySelector('#trainer'))")
    assert page.page.evaluate("[...document.querySelectorAll('#trainer button, #trainer select, #trainer a')].every(b => b.getBoundingClientRect().height >= 44)")


# ---------------------------------------------------------------- the way in


# One of each kind of text; the readers themselves are tested with all of them.
@pytest.mark.parametrize("name", ["accelerate_fsdp.yaml", "deepspeed_stage3.json", "torchtitan_llama3_8b.toml"])
def test_a_dropped_configuration_becomes_the_plan(visit, name):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~2&ds=fsdp&gbs=64")
    page.settle()
    before = link_of(page)
    expected = json.loads(program("import", DATA / name, "--onto", before, "--json"))
    estimate = subprocess.run([os.environ["WIREPLAN_PROGRAM"], "estimate", "-", "--json"], input=json.dumps(expected), capture_output=True, check=True, text=True)
    estimate = json.loads(estimate.stdout)
    drop(page, (name, (DATA / name).read_text()))
    said = page.page.locator("#paste-said").inner_text()
    assert page.page.locator("#paste-wrong").inner_text() == ""
    assert "Read from this configuration" in said and "The plan now is as this configuration says" in said
    page.page.keyboard.press("Escape")
    page.settle()
    assert page.value("memory.need_bytes") == estimate["memory"]["need_bytes"]["value"]
    assert page.value("step.time_s") == estimate["step"]["time_s"]["value"]
    page.page.locator("[data-do=undo]").first.click()
    page.until(f"document.querySelector('#link').getAttribute('href') === {json.dumps(before)}")


def test_what_was_read_from_which_key_is_said_and_what_was_not(visit):
    page = visit(SMALL)
    page.settle()
    text = TITAN.replace("[parallelism]", "[parallelism]\nturn_the_crank = 3")
    drop(page, ("job.toml", text))
    fields = page.page.evaluate("Object.fromEntries([...document.querySelectorAll('#paste-said [data-path]')].map(li => [li.dataset.path, [li.dataset.from, li.textContent]]))")
    assert fields["training.sequence_length"][0] == "training.seq_len" and "= 8192 " in fields["training.sequence_length"][1]
    assert "model.flavor" in fields["model"][0] and "llama-3.1-8b" in fields["model"][1]
    keys = page.page.evaluate("Object.fromEntries([...document.querySelectorAll('#paste-said [data-key]')].map(li => [li.dataset.key, li.dataset.effect]))")
    assert keys["parallelism.turn_the_crank"] == "unknown"
    assert "cluster" in page.page.locator("#paste-missing").inner_text()
    assert violations(page) == []
    page.picture("paste-trainer")


@pytest.mark.parametrize(
    "broken,says",
    [
        (TITAN.replace("seq_len = 8192", "seq_len = -1"), "seq_len"),
        (TITAN.replace("seq_len = 8192", "seq_len = "), "line"),
        ('{"zero_optimization": {"stage": 7}}', "stage"),
        ('{"zero_optimization": {"stage": 3', ""),
        ("distributed_type: FSDP\nfsdp_config: [", ""),
        ("--tensor-model-parallel-size three --num-layers 4", "tensor_model_parallel_size"),
    ],
)
def test_a_fault_is_named_and_changes_nothing(visit, broken, says):
    page = visit(SMALL, height=2700)
    page.settle()
    before = link_of(page)
    open_dialog(page)
    read(page, broken)
    wrong = page.page.locator("#paste-wrong").inner_text()
    assert len(wrong) > 15 and says in wrong and "topo" not in wrong, wrong
    assert link_of(page) == before and page.page.locator("[data-do=undo]").first.is_disabled()


def test_a_configuration_that_makes_no_plan_says_why_and_what_was_read(visit):
    page = visit(SMALL)  # 16 GPUs
    page.settle()
    before = link_of(page)
    drop(page, ("job.toml", TITAN.replace("tensor_parallel_degree = 1", "tensor_parallel_degree = 3")))
    assert "parallel." in page.page.locator("#paste-wrong").inner_text()
    assert page.page.locator('#paste-said [data-path="parallel.tensor"]').text_content().startswith("parallel.tensor = 3")
    assert page.page.locator("#paste-said .done-line").count() == 0 and link_of(page) == before


def test_what_goes_out_comes_back(visit):
    page = visit(LARGE)
    page.settle()
    numbers = ("memory.need_bytes", "step.time_s")
    before = [page.value(path) for path in numbers]
    text = dict(files_of(opened(page)))["megatron_args.sh"]
    page.page.keyboard.press("Escape")
    drop(page, ("megatron_args.sh", text))
    assert page.page.locator("#paste-wrong").inner_text() == ""
    assert "Megatron-LM" in page.page.locator("#paste-said").inner_text()
    page.settle()
    assert [page.value(path) for path in numbers] == before  # the file spells the model out, the plan named it


def test_the_way_in_in_vietnamese_and_on_a_phone(visit):
    page = visit(SMALL + "&lang=vi", **PHONE)
    page.settle()
    drop(page, ("job.toml", TITAN))
    said = english_left(page, "#paste-said")
    assert "Đọc từ cấu hình này của torchtitan" in said
    assert not ENGLISH.search(said), said
    assert page.page.evaluate("(b => b.scrollWidth <= b.clientWidth)(document.querySelector('#paste'))")
    page.picture("paste-trainer-phone")
