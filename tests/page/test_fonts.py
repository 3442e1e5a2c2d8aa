"""The faces that both halves of the page are set in."""

import json
import re
import sys
from pathlib import Path

import brotli
import pytest
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import subset_fonts  # noqa: E402

SANS = ("inter_regular", "inter_semibold")


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fonts")
    subset_fonts.write_faces(folder)
    return {name: folder / f"{name}.ttf" for name in subset_fonts.FACES}


def test_every_letter_of_every_language_is_there(faces):
    for name in SANS:
        drawn = {chr(c) for c in TTFont(faces[name]).getBestCmap()}
        for language in [*(ROOT / "assets" / "languages").glob("*.json"), *(ROOT / "web" / "shell").glob("words.*.json")]:
            texts = json.loads(language.read_text("utf-8"))
            missing = {c for text in texts.values() for c in text} - drawn
            assert not missing, f"{name} lacks {sorted(missing)} of {language.name}"


def test_figures_have_one_width(faces):
    for path in faces.values():
        font = TTFont(path)
        cmap, metrics = font.getBestCmap(), font["hmtx"].metrics
        assert len({metrics[cmap[ord(digit)]][0] for digit in "0123456789"}) == 1


def test_the_canvas_can_read_them(faces):
    for path in faces.values():
        font = TTFont(path)
        assert "glyf" in font and not {"GSUB", "GPOS", "CFF "} & set(font.keys())
        assert "Open Font License" in font["name"].getDebugName(13)


def test_they_stay_in_their_budget(faces):
    assert sum(len(brotli.compress(path.read_bytes())) for path in faces.values()) <= 60_000


def test_the_frame_sets_its_text_in_them(visit):
    page = visit()
    loaded = page.page.evaluate("() => [...document.fonts].map(f => `${f.family.replaceAll('\"', '')} ${f.weight} ${f.status}`).sort()")
    assert loaded == ["Inter 400 loaded", "Inter 600 loaded", "JetBrains Mono 400 loaded"]


def test_vietnamese(visit):
    page = visit()
    page.settle()
    page.changes(page.answer, lambda: page.page.locator("[data-language=vi]").click())
    page.settle()
    assert page.page.locator("html").get_attribute("lang") == "vi"
    assert page.page.locator(".tools [data-do=share]").inner_text() == "Chia sẻ"
    page.picture("plan-vi")
    page.changes(page.answer, lambda: page.page.locator("[data-language=en]").click())
    assert page.page.locator(".tools [data-do=share]").inner_text() == "Share"


def test_the_words_of_the_frame_are_those_it_uses():
    shell = ROOT / "web" / "shell"
    used = set()
    for page in shell.glob("*.html"):
        used |= set(re.findall(r'data-(?:word|label)="([\w.]+)"', page.read_text("utf-8")))
    for script in shell.glob("*.mjs"):
        text = script.read_text("utf-8")
        used |= set(re.findall(r'\bword\("([\w.]+)"', text))
        if "word(`example.${id}`" in text:  # a title for each scenario
            used |= {f"example.{scenario.stem}" for scenario in (ROOT / "assets/scenarios").glob("*.json")}
    for language in shell.glob("words.*.json"):
        assert set(json.loads(language.read_text("utf-8"))) == used, language.name
