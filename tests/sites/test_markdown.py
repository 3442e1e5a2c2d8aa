"""Elements in Markdown and HTML: checked, filled, written by the command, and by the MkDocs plugin."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import PROGRAM, ROOT
from wireplan import values
from wireplan.answers import Answers
from wireplan.fill import Filler
from wireplan.program import Program

PLAN = "story with parallel.data_sharding=fsdp"


@pytest.fixture(scope="module")
def filler():
    return Filler(Answers(Program(PROGRAM), unit="GB"), site="https://example.org/w/")


def value(attributes, text=""):
    return f"<wireplan-value {attributes}>{text}</wireplan-value>"


def shown(filled):
    return re.sub(r"<[^>]*>", "", filled.text)


def test_what_is_missing_is_filled_in(filler, wireplan):
    estimate = wireplan.json("estimate", "story", "--set", "parallel.data_sharding=fsdp")
    filled = filler.fill(value(f'plan="{PLAN}" path="step.time_s"') + " " + value(f'plan="{PLAN}" path="memory.verdict"') + " " + value(f'plan="{PLAN}" path="communication.0.calls"'))
    assert filled.problems == []
    assert shown(filled) == f"{estimate['step']['time_s']['value']:.1f} s fits {estimate['communication'][0]['calls']}"


def test_a_share_and_a_ratio(filler, wireplan):
    one, other = (wireplan.json("estimate", "story", *edits) for edits in ((), ("--set", "parallel.data_sharding=fsdp")))
    filled = filler.fill(value('plan="story" path="step.exposed_communication_s" over="step.time_s"') + " " + value(f'plan="{PLAN}" baseline="story" path="step.time_s"'))
    share = one["step"]["exposed_communication_s"] / one["step"]["time_s"]["value"] * 100
    assert filled.problems == [] and shown(filled) == f"{share:.1f} % {other['step']['time_s']['value'] / one['step']['time_s']['value']:.2f}×"


@pytest.mark.parametrize("published,holds", [("14.5 GB", True), ("14.5\u00a0GB", True), ("14 GB", True), ("14.48 GB", True), ("14.6 GB", False), ("14.49 GB", False), ("15 GB", False), ("14.5", False)])
def test_a_published_number_is_read_with_its_digits(filler, published, holds):
    for element in (value('plan="story" path="memory.states.parameters" format="GB"', published), value(f'plan="story" path="memory.states.parameters" expect="{published}"')):
        problems = filler.fill("\n\n" + element).problems
        assert [problem.line for problem in problems] == ([] if holds else [3]), (element, problems)


def test_code_and_comments_are_left_alone(filler):
    wrong = value('plan="nothing" path="nothing"', "1")
    for text in (f"```html\n{wrong}\n```", f"~~~\n{wrong}\n~~~", f"`{wrong}`", f"``{wrong}``", f"x\n\n    {wrong}\n", f"<!-- {wrong} -->"):
        filled = filler.fill(text)
        assert (filled.text, filled.problems, filled.used) == (text, [], False), text
    assert len(filler.fill(f"a `b` {wrong} `c`").problems) == 1
    assert filler.fill(f"<pre>{wrong}</pre>", html=True).problems == [] and len(filler.fill(f"    {wrong}", html=True).problems) == 1


def test_a_planner_keeps_what_is_in_it(filler):
    mine = filler.fill('<wireplan-planner plan="story" height="300"><a href="x">mine</a></wireplan-planner>')
    assert '<a href="x">mine</a></wireplan-planner>' in mine.text and "<svg" not in mine.text
    empty = filler.fill('<wireplan-planner plan="story" height="300"></wireplan-planner>').text
    assert "\n" not in empty and "135.7 GB" in empty and 'href="https://example.org/w/#v=1&amp;m=mistral-7b-v0.1' in empty
    assert filler.fill('<wireplan-planner plan="stroy"><p>mine</p></wireplan-planner>').problems


def test_a_table(filler, wireplan):
    filled = filler.fill(f"""<wireplan-table plans='["story", "{PLAN}"]' labels="DDP|FSDP" rows="memory.states.parameters memory.verdict" format="GB" caption="Both"></wireplan-table>""")
    assert filled.problems == [] and "<caption>Both</caption>" in filled.text
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", filled.text)]
    assert rows == [["", "DDP", "FSDP"], ["Parameters kept", "14.5 GB", "3.62 GB"], ["Verdict", "does not fit", "fits"]]


def test_a_plan_too_long_for_a_link_is_text(filler, tmp_path):
    ranks = 2048

    plan = {"model": "llama-3-70b", "parallel": {"placement": None, "data": ranks}, "training": {"global_batch_size": ranks}, "cluster": {"node": "hgx-h100-80gb", "nodes": ranks // 8}}
    plan["cluster"]["profile"] = {"schema": "wireplan.profile/1", "machine": "m", "date": "d", "software": "s", "collectives": [
        {"op": "all_reduce", "ranks": 8, "nodes": 1, "gpus": None, "dtype": "float", "launch": "process-per-gpu", "points": [[2**10 + 8 * i * i, 1e-5 * (1 + i * 0.7310585786300049)] for i in range(400)]}], "gemm": [], "hbm_bytes_per_s": None, "fit": []}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    filled = filler.fill(value('plan="plan.json" path="memory.states.parameters"'), tmp_path)
    assert filled.problems == [] and filled.text.startswith('<span class="wireplan-value">')


@pytest.mark.parametrize("number,unit,form,digits,text", [
    (14483464192, "bytes", "GB", None, "14.5 GB"), (135675323105, "bytes", "GB", None, "135.7 GB"), (3620866048, "bytes", "GiB", None, "3.37 GiB"), (1.5, "s", "ms", None, "1,500 ms"),
    (0.125, "", "%", 0, "13 %"), (0.0421886, "s", "s", None, "0.0422 s"), (0, "s", "s", None, "0 s"), (-5e6, "bytes", "MB", None, "−5.00 MB"), (7241732096, "", None, None, "7,241,732,096"),
    (7241732096, "", "billion", None, "7.24 billion"), (17935.2, "tokens/s", None, None, "17,935 tokens/s"), (5.7e-6, "s", "us", None, "5.70 µs"), (1.1049, "", "×", None, "1.10×")])
def test_numbers_are_written_as_the_elements_write_them(number, unit, form, digits, text):
    assert values.formed(number, unit, form, digits).text == text


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_and_the_elements_do_write_them_so():
    cases = [(n * s, u, f, d) for n in (0, 1, 9.994, 9.996, 12.345, 99.96, 123.4, 999.6, 1234.5, 0.07, 0.5) for s in (1, -1, 1e3, 1e9) for u in ("bytes", "s", "tokens/s", "") for f in (None, *values.FORMS[u]) for d in (None, 0, 3)]
    script = (
        f"import {{ formed }} from '{ROOT / 'web/module'}/wireplan-forms.mjs';"
        "const cases = JSON.parse(await new Response(process.stdin).text());"
        "console.log(JSON.stringify(cases.map(([n, u, f, d]) => formed(n, u, f ?? undefined, d ?? undefined).text)));")
    forms = ROOT / "web/module/forms.mjs"
    if not forms.exists():
        pytest.skip("no elements here")

    with tempfile.TemporaryDirectory() as folder:  # by the names that the site gives them
        for name in ("forms", "quantity"):
            shutil.copy(ROOT / f"web/module/{name}.mjs", Path(folder, f"wireplan-{name}.mjs"))
        done = subprocess.run(["node", "--input-type=module", "-e", script.replace(str(ROOT / "web/module"), folder)], input=json.dumps(cases).encode(), capture_output=True, check=True, timeout=60)
    for case, theirs in zip(cases, json.loads(done.stdout)):
        assert values.same(theirs, values.formed(*case).text), (case, theirs, values.formed(*case).text)


# --- the command ------------------------------------------------------------------------------------
def command(*arguments):
    done = subprocess.run([sys.executable, "-m", "wireplan.check", *arguments, "--program", PROGRAM], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "python/src")}, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_check_and_write(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nIt takes " + value('plan="story" path="memory.states.parameters" format="GB"', "14.4 GB") + ".\n")
    status, said, wrong = command("check", str(tmp_path))
    assert status == 1 and wrong == f"{page}:3: memory.states.parameters of story is published as 14.4 GB, and is 14.5 GB now\n" and "1 difference" in said
    assert command("write", str(tmp_path))[0] == 0
    assert page.read_text() == "# Title\n\nIt takes " + value('plan="story" path="memory.states.parameters" format="GB"', "14.5 GB") + ".\n"
    assert command("check", str(page)) == (0, "1 file with numbers, no differences\n", "")
    assert command("check", str(tmp_path / "none.md"))[0] == 2
    page.write_text(value('plan="stroy" path="x"', "1"))
    assert command("write", str(page))[0] == 1 and "Nearest: story" in command("check", str(page))[2]


def test_our_own_pages_hold():
    assert command("check", str(ROOT / "docs"), str(ROOT / "README.md"), str(Path(__file__).parent / "plain"))[0] == 0


# --- MkDocs -------------------------------------------------------------------------------------------
def mkdocs(folder, **settings):
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(folder / "mkdocs.yml"), site_dir=str(folder / "site"), **settings))
    return (folder / "site/index.html").read_text("utf-8")


@pytest.fixture
def trainer(tmp_path, installed, monkeypatch):
    monkeypatch.setenv("WIREPLAN_PROGRAM", PROGRAM)
    shutil.copytree(Path(__file__).parent / "mkdocs", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_mkdocs_without_a_site_is_text(trainer):
    html = mkdocs(trainer)
    assert "take <span class=\"wireplan-value\">14.5 GB</span>" in html and ">3.62 GB</span>" in html and "54.7 GB" in html
    assert "<wireplan-" not in html and "wireplan-elements" not in html and "assets/wireplan.css" in html
    assert (trainer / "site/assets/wireplan.css").exists()


def test_mkdocs_ends_where_a_number_drifts(trainer, caplog):
    from mkdocs.exceptions import Abort

    page = trainer / "docs/index.md"
    page.write_text("---\ntitle: Memory\n---\n\n" + page.read_text().replace("14.5 GB", "14.4 GB"))
    with pytest.raises(Abort):
        mkdocs(trainer)
    assert "index.md:7: memory.states.parameters of story is published as 14.4 GB, and is 14.5 GB now" in caplog.text
    assert "1 of this site's numbers cannot stand" in caplog.text
