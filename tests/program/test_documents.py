"""What README and manuals show is what the program prints.

A block of lines indented by four spaces that begins with "$ wireplan" is run; the lines under it must come in the output, in
this order and next to each other, except where "..." stands.
"""

import json
import re
import shlex
import shutil
import subprocess

import pytest

from program import ROOT
from test_module import SITE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    """(command line, lines shown) for every command of a page."""
    lines = [line[4:] if line.startswith("    ") else None if line.strip() else "" for line in page.read_text("utf-8").splitlines()]
    found = []
    for line in lines:
        if line is not None and line.startswith("$ wireplan "):
            found.append((line[2:], []))
            shown = True
        elif line is None:
            shown = False
        elif found and shown:
            found[-1][1].append(line)
    return found


NO_FILE = re.compile(r"cannot open|is neither a \w+ nor a |no such file", re.I)
COMMANDS = [(page.name, *block) for page in PAGES for block in blocks(page)]


def test_there_are_commands():
    assert len(COMMANDS) >= 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where commands run: what one writes the next may read."""
    return tmp_path_factory.mktemp("commands")


@pytest.mark.parametrize("page,command,shown", COMMANDS, ids=[f"{p}: {c}" for p, c, _ in COMMANDS])
def test_what_is_shown_is_what_is_printed(wireplan, folder, page, command, shown):
    arguments = shlex.split(command)[1:]
    if ">" in arguments:
        arguments = arguments[: arguments.index(">")]
    done = wireplan(*arguments, cwd=folder)
    # A file that the reader is to have, and a GPU, may be missing; a wrong command is wrong.
    assert done.returncode != 2 or NO_FILE.search(done.err), done.err
    output = done.out
    place = 0
    for piece in "\n".join(shown).strip("\n").split("..."):
        piece = piece.strip("\n")
        if piece:
            assert piece in output[place:], f"{page}: {command} prints\n{output[place:]}"
            place = output.index(piece, place) + len(piece)


def test_every_command_in_the_text_exists(wireplan):
    help_text = wireplan("--help").out
    for page in PAGES:
        for command in re.findall(r"^    (?:\$ )?wireplan ([a-z]+)", page.read_text("utf-8"), re.M):
            assert re.search(rf"^  {command} ", help_text, re.M), (page.name, command)


def test_links_to_files_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        text = page.read_text("utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), (page.name, target)
        for name in re.findall(r"`((?:core|native|web|tests|assets|tools|docs|cmake)/[\w/.-]+\.\w+)`", text):
            assert (ROOT / name).exists(), (page.name, name)


def test_pictures_of_wirings_are_what_the_program_draws(wireplan):
    pictures = sorted((ROOT / "docs/images").glob("*.svg"))
    assert pictures
    for picture in pictures:
        assert picture.read_text("utf-8") == wireplan("topology", "show", picture.stem, "--svg").out, picture.name


def test_the_plan_of_the_manual(wireplan, tmp_path):
    text = (ROOT / "docs/program.md").read_text("utf-8")
    plan = re.search(r"^    (\{\n(?:    .*\n)+?    \})\n", text, re.M)[1]
    file = tmp_path / "plan.json"
    file.write_text(plan)
    assert wireplan.json("estimate", str(file))["memory"]["states"]["parameters"] == 3_620_866_048


@pytest.mark.skipif(not (SITE / "wireplan.mjs").exists() or not shutil.which("node"), reason="no module was built, or no node to run it")
def test_the_modules_examples_run():
    for page in (ROOT / "README.md", ROOT / "docs/module.md"):
        script = re.search(r"^    import .*\n(?:    .*\n|\n)+", page.read_text("utf-8"), re.M)[0]
        done = subprocess.run(["node", "--input-type=module", "-e", re.sub("^    ", "", script, flags=re.M)], cwd=SITE, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.decode().startswith("true "), page.name
        if page.name == "README.md":
            shown = re.search(r"// (.*)", script)[1]
            assert done.stdout.decode().strip() == shown
