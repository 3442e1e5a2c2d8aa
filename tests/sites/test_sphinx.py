"""The Sphinx extension: what it writes in every builder, and what it says when something is wrong."""

import json
import os
import re
import shutil
import stat
from pathlib import Path

import pytest
from sphinx.cmd.build import main as sphinx

from conftest import PROGRAM, ROOT
from wireplan import __version__

SOURCE = Path(__file__).parent / "sphinx"
FSDP = ("story", "--set", "parallel.data_sharding=fsdp")


class Documentation:
    """A documentation of a test's own: pages by name, and builds of them."""

    def __init__(self, folder, capfd):
        self.folder, self.capfd = folder, capfd
        self.settings = {"wireplan_program": PROGRAM, "wireplan_unit": "GB"}
        (folder / "conf.py").write_text('extensions = ["wireplan.sphinx"]\nhtml_theme = "basic"\n')

    def page(self, text, name="index.rst"):
        (self.folder / name).write_text("Title\n=====\n\n" + text)

    def build(self, builder="html", *options):
        """(status, what was said)"""
        self.capfd.readouterr()
        settings = [part for key, value in self.settings.items() for part in ("-D", f"{key}={value}")]
        status = sphinx(["-q", "-b", builder, "-d", str(self.folder / "trees"), *settings, *options, str(self.folder), str(self.folder / builder)])
        said = self.capfd.readouterr()
        return status, re.sub(r"\x1b\[[0-9;]*m", "", said.out + said.err)

    def built(self, name="index.html", builder="html"):
        return (self.folder / builder / name).read_text("utf-8")


@pytest.fixture
def documentation(tmp_path, capfd):
    return Documentation(tmp_path, capfd)


def test_the_versions_are_one(wireplan):
    assert wireplan("--version").out.split()[-1] == __version__


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The site of this folder in every builder, read by two processes."""
    folder = tmp_path_factory.mktemp("whole")
    source = folder / "source"
    shutil.copytree(SOURCE, source)
    for builder in ("html", "text", "latex", "epub"):
        options = ["-D", "wireplan_site=https://example.org/w/v1", "-D", "epub_copyright=us", "-D", "version=1"]
        status = sphinx(["-q", "-W", "--keep-going", "-j", "2", "-b", builder, "-d", str(folder / f"trees-{builder}"), "-D", f"wireplan_program={PROGRAM}", *options, str(source), str(folder / builder)])
        assert status == 0, builder
    return folder


def test_text_has_what_the_program_says(whole, wireplan):
    text = " ".join((whole / "text/index.txt").read_text().split())
    fsdp = wireplan.json("estimate", *FSDP)
    assert "take 14.5 GB, with FSDP on four GPUs 3.62 GB; such a step takes {:.1f} s.".format(fsdp["step"]["time_s"]["value"]) in text
    ours = wireplan.json("estimate", str(SOURCE / "plan.json"))
    assert "an MFU of {:.1f} %, needs {:.1f} GB and fits;".format(ours["step"]["mfu"] * 100, ours["memory"]["need_bytes"]["value"] / 1e9) in text
    recomputed = wireplan.json("estimate", str(SOURCE / "plan.json"), "--set", "training.recompute=full")
    assert "with full recomputation {:.1f} GB.".format(recomputed["memory"]["need_bytes"]["value"] / 1e9) in text
    assert " ".join(wireplan("estimate", *FSDP, "--unit", "GB").out.split("\n\n")[0].split()) in text  # the answer's own sentence
    assert re.search(r"\| FSDP +\| 3.62 GB +\|", text) and "Mistral-7B, *sharded* over four GPUs." in text and "Open this plan" in text


def test_markdown_has_it_too_and_code_stays_code(whole):
    text = (whole / "text/markdown.txt").read_text()
    assert "a role 14.5 GB" in text and "57.9 GB" in text and 'path="nothing.at.all">1 GB<' in text and "A planner in MyST." in text


def test_html_has_elements_around_the_same_text(whole, wireplan):
    html = (whole / "html/index.html").read_text()
    link = (wireplan("estimate", *FSDP, "--print-link").out.strip() + "&u=gb").replace("&", "&amp;")  # memory as in the text around it
    assert re.search(r'<wireplan-value [^>]*plan="#v=1[^"]*"[^>]*>14.5 GB</wireplan-value>', html)
    planner = re.search(r'<figure class="wireplan" id="sharded">\s*<wireplan-planner (.*?)>(.*?)</wireplan-planner>\s*<figcaption>', html, re.S)
    assert f'link="{link}"' in planner[1] and 'panels="memory"' in planner[1] and 'height="420"' in planner[1]
    assert "<svg" in planner[2] and "<table" in planner[2] and f'href="https://example.org/w/v1/{link}"' in planner[2]
    assert '<script type="module" src="https://example.org/w/v1/wireplan-elements.mjs">' in html
    assert "wireplan" not in (whole / "html/long.html").read_text().replace("wireplan.sphinx", "")  # a page without numbers loads nothing


def test_paper_and_books_have_it_without_elements(whole):
    latex = next((whole / "latex").glob("*.tex")).read_text()
    assert "take 14.5 GB" in latex and "Needed per GPU" in latex and "wireplan-" not in latex.replace("wireplan-value plan", "")
    book = (whole / "epub/index.xhtml").read_text()
    assert "14.5 GB" in book and "<wireplan-" not in book and "<script" not in book and "<svg" in book


def test_a_number_that_drifts_ends_the_build(documentation):
    documentation.page("It takes :wireplan:`memory.states.parameters in GB expect 14.4 GB`.")
    for _ in range(2):  # and goes on ending it while nothing changes
        status, said = documentation.build()
        assert status == 1
        assert re.search(r"index\.rst:4: ERROR: memory\.states\.parameters of story is published as 14\.4 GB, and is 14\.5 GB now", said), said
    documentation.page("It takes :wireplan:`memory.states.parameters in GB expect 14.48 GB`.")  # more digits than it would show
    status, said = documentation.build()
    assert (status, said) == (0, "") and "14.48 GB" in documentation.built()


def test_or_warns_where_that_is_wanted(documentation):
    documentation.page("It takes :wireplan:`memory.states.parameters in GB expect 14.4 GB`.")
    documentation.settings["wireplan_strict"] = "0"
    status, said = documentation.build()
    assert status == 0 and "WARNING: memory.states.parameters of story" in said
    assert documentation.build("html", "-W", "--keep-going")[0] == 1


def test_everything_wrong_is_said_with_its_place(documentation):
    documentation.page(
        ":wireplan:`memory.states.parametres` :wireplan:`step.time_s in GB` :wireplan:`step.time_s off story`\n"
        ":wireplan:`step.time_s of stroy` :wireplan:`step.time_s of there/is/none.json`\n\n"
        ".. wireplan:: story with parallel.tensor=3\n\n"
        ".. wireplan-table::\n   :values: A = step.time_s\n   :expect: 1 s | 2 s\n\n"
        '.. wireplan-table::\n   :plans: story\n')
    status, said = documentation.build()
    assert status == 1 and "Traceback" not in said
    for text in (
        r'index\.rst:4: ERROR: there is no "parametres" in memory\.states; there is parameters, gradients',
        r'step\.time_s cannot be shown in "GB"; it can in s, ms',
        r'"off" is not one of: of, with, in, expect',
        r'stroy: "stroy" is neither a file nor a scenario\. Nearest: story',
        r"the plan there/is/none\.json cannot be read",
        r"index\.rst:7: ERROR: story with parallel\.tensor=3: .*the cluster has 4 GPUs",
        r":expect: has to have 1 lines",
        r"wireplan-table needs :values:",
    ):
        assert re.search(text, said), (text, said)


def test_without_the_program_one_error_says_how_to_get_it(documentation):
    documentation.page(":wireplan:`step.time_s` and :wireplan:`step.time_s`\n\n.. wireplan:: story\n")
    documentation.settings["wireplan_program"] = "no-such-program"
    status, said = documentation.build()
    assert status == 1 and said.count("ERROR") == 1 and 'the program "no-such-program" is not there: install it' in said
    documentation.page("No number at all.")
    assert documentation.build() == (0, "")  # who shows no number needs no program


def counting(folder):
    """A program that writes down that it was asked, and asks the real one."""
    wrapper = folder / "wireplan"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{folder}/asked\nexec {PROGRAM} "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return wrapper, lambda: len((folder / "asked").read_text().splitlines()) if (folder / "asked").exists() else 0


def test_answers_are_kept_until_something_changes(documentation, tmp_path_factory):
    wrapper, asked = counting(tmp_path_factory.mktemp("program"))
    documentation.settings["wireplan_program"] = wrapper
    plan = documentation.folder / "plan.json"
    plan.write_text((SOURCE / "plan.json").read_text())
    documentation.page("One :wireplan:`step.time_s of plan.json` two :wireplan:`step.mfu of plan.json` three :wireplan:`step.time_s`")
    assert documentation.build()[0] == 0
    first = asked()
    assert first == 4  # an estimate and a link of two plans
    documentation.page("Changed: :wireplan:`step.time_s of plan.json`")
    assert documentation.build()[0] == 0 and asked() == first
    before = documentation.built()
    plan.write_text(plan.read_text().replace("llama-3-8b", "llama-3.2-1b"))  # the plan's file: the page is read again
    assert documentation.build()[0] == 0 and asked() == first + 2 and documentation.built() != before
    os.utime(wrapper, ns=(1, 1))  # another build of the program: asked anew
    assert documentation.build()[0] == 0 and asked() == first + 4


def test_words_in_vietnamese_or_ones_own(documentation):
    documentation.page(".. wireplan:: story\n")
    assert documentation.build("html", "-D", "language=vi")[0] == 0
    html = documentation.built()
    assert "Mỗi GPU cần" in html and "không vừa bộ nhớ" in html and "Does not fit" not in html
    with (documentation.folder / "conf.py").open("a") as conf:
        conf.write('wireplan_words = {"need": "At least"}\n')
    assert documentation.build("html", "-E")[0] == 0 and "At least" in documentation.built()


def test_every_language_has_every_word():
    words = json.loads((ROOT / "python/src/wireplan/words.json").read_text("utf-8"))
    assert words["en"].keys() == words["vi"].keys()


def test_settings_that_contradict_are_refused(documentation):
    documentation.page("x")
    documentation.settings.update(wireplan_site="https://example.org", wireplan_site_folder=".")
    status, said = documentation.build()
    assert status == 2 and "exclude each other" in said
    del documentation.settings["wireplan_site"]
    status, said = documentation.build()
    assert status == 2 and "there is no wireplan-elements.mjs in" in said
