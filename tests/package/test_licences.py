"""Of everything that is compiled in there is a licence, and it is its own."""

import json
import re
from pathlib import Path

import pytest
from packages import ROOT

TEXTS = {p.stem: p.read_text("utf-8") for p in (ROOT / "licences").glob("*.txt")}


def test_what_the_page_names_has_its_text():
    components = json.loads((ROOT / "web/shell/components.json").read_text("utf-8"))
    named = {c["name"]: [stem for stem, text in TEXTS.items() if c["name"].lower() in text.splitlines()[0].lower()] for c in components}
    assert all(len(stems) == 1 for stems in named.values()), named
    # The program's command line alone is not in the page.
    assert {stems[0] for stems in named.values()} | {"cli11"} == TEXTS.keys()
    for c in components:
        text = TEXTS[named[c["name"]][0]]
        assert {"MIT": "without restriction", "SIL Open Font License 1.1": "Reserved Font Name"}[c["licence"]] in re.sub(r"\s+", " ", text), c
        assert "Copyright" in text


@pytest.mark.parametrize("name, source", [("imgui", "third_party/imgui/LICENSE.txt"), ("libyaml", "third_party/libyaml/License")])
def test_texts_are_those_of_the_sources(name, source):
    """Of sources that setup fetches; of Debian's packages, the holders."""
    assert TEXTS[name].endswith((ROOT / source).read_text("utf-8"))


@pytest.mark.parametrize("name, package, holder", [
    ("nlohmann-json", "nlohmann-json3-dev", "Niels Lohmann"), ("nlohmann-json", "nlohmann-json3-dev", "Florian Loitsch"), ("tomlplusplus", "libtomlplusplus-dev", "Mark Gillard"),
    ("cli11", "libcli11-dev", "University of Cincinnati"), ("inter", "fonts-inter", "The Inter Project Authors"), ("emscripten", "emscripten", "The Emscripten Authors")])
def test_holders_are_those_of_the_packages(name, package, holder):
    stated = Path("/usr/share/doc", package, "copyright")
    if not stated.exists():
        pytest.skip("this machine keeps no copyright files")
    assert holder in stated.read_text("utf-8") and holder.lower() in TEXTS[name].lower()
