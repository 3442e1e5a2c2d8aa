"""The commands themselves: help, version, what is not built yet."""

import re

import pytest

BUILT = ["estimate", "fit", "search", "compare", "topology", "collectives", "presets", "accuracy"]
READ_FILES = ["import", "export", "validate", "replay", "measure"]  # their examples need files, or a launcher
LATER = ["diagnose"]


def test_help_lists_every_command(wireplan):
    done = wireplan("--help")
    assert done.returncode == 0 and not done.err
    for command in BUILT + READ_FILES + LATER:
        assert re.search(rf"^  {command}\b", done.out, re.M), command


@pytest.mark.parametrize("command", BUILT + READ_FILES + LATER)
def test_help_has_an_example(wireplan, command):
    done = wireplan(command, "--help")
    assert done.returncode == 0 and not done.err
    assert f"  wireplan {command}" in done.out and "--json" in done.out


@pytest.mark.parametrize("command", BUILT)
def test_the_examples_run(wireplan, command):
    examples = re.findall(r"^  wireplan (.*)$", wireplan(command, "--help").out, re.M)
    assert examples
    for example in examples:
        if "$(" not in example and "plan.json" not in example and "runs.jsonl" not in example:
            done = wireplan(*example.split())
            # Only a machine with GPUs can be asked about itself.
            assert done.returncode == 0 or (done.returncode == 77 and example.startswith("topology detect")), example


@pytest.mark.parametrize("command", LATER)
def test_what_is_not_built_says_so(wireplan, command):
    (error,) = wireplan.errors(command, "story", "--surprise", "1")
    assert "not built yet" in error["text"] and command in error["text"]
    done = wireplan(command)
    assert done.returncode == 2 and "not built yet" in done.err and not done.out


def test_version(wireplan):
    done = wireplan("--version")
    assert done.returncode == 0 and re.fullmatch(r"wireplan \d+\.\d+\.\d+\n", done.out)
    assert wireplan.json("estimate", "story")["engine"] == done.out.split()[1]
