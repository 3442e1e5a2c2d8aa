"""What the page carries of the presets says the same as all of it."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import pack_presets  # noqa: E402

DOCUMENTS = pack_presets.documents(ROOT / "assets")


@pytest.mark.parametrize("kind", sorted(pack_presets.DESCRIBING))
def test_bare_presets_lack_remarks_alone(kind):
    for _, name, path in (d for d in DOCUMENTS if d[0] == kind):
        whole, bare = (json.loads(pack_presets.minified(path, b), parse_float=str, parse_int=str) for b in (False, True))
        assert bare == {key: value for key, value in whole.items() if key not in pack_presets.FOR_PEOPLE}, name
        assert list(bare) == [key for key in whole if key in bare]  # the order is part of what documents say


def test_what_is_left_out_is_text():
    for kind, name, path in DOCUMENTS:
        if kind in pack_presets.DESCRIBING:
            document = json.loads(path.read_text("utf-8"))
            for key in pack_presets.FOR_PEOPLE & set(document):
                value = document[key]
                assert not isinstance(value, (int, float)) or isinstance(value, bool), (name, key)


def test_answers_are_the_same_without_them(tmp_path):
    """Every node and scenario, by the program with bare presets in place of its own."""
    sys.path.insert(0, str(ROOT / "tests/program"))
    from program import Program

    for kind, name, path in DOCUMENTS:
        if kind in pack_presets.DESCRIBING:
            (tmp_path / kind).mkdir(exist_ok=True)
            (tmp_path / kind / f"{name}.json").write_text(pack_presets.minified(path, True), "utf-8")
    program = Program()
    for kind, name, _ in DOCUMENTS:
        command = {"nodes": ("topology", "show"), "scenarios": ("estimate",)}.get(kind)
        if command:
            mine, bare = (program(*command, name, "--json", *options).out for options in ((), ("--presets", str(tmp_path))))
            assert mine == bare, name


def test_bare_references_keep_the_titles_that_are_shown():
    (path,) = (path for kind, _, path in DOCUMENTS if kind == "references")
    whole = json.loads(path.read_text("utf-8"))
    bare = json.loads(pack_presets.titles(path.read_text("utf-8")))
    assert list(bare) == list(whole) and all(bare[key] == {"title": whole[key]["title"]} for key in whole)
