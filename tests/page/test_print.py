"""On paper: the answer, every input, every number, the pictures and the link; always light; the story on one sheet."""

import os
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import pdf_text  # noqa: E402


def laid(page):
    """The page once it has what makes the sheet, which comes with the reader's first move."""
    page.page.mouse.move(5, 5)
    page.until("[...document.styleSheets].some(sheet => sheet.href?.endsWith('print.css'))")
    page.page.wait_for_timeout(100)
    return page


def printed(page, name, **options):
    laid(page)
    pdf = page.page.pdf(**options)
    if folder := os.environ.get("WIREPLAN_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.pdf").write_bytes(pdf)
    return pdf


def squeezed(text):
    """Without blanks, which paper places by distance, and without the signs before numbers."""
    return re.sub(r"[\s=≤≈●]", "", text)


@pytest.mark.parametrize("paper, width", [("A4", 595.92), ("Letter", 612)])
def test_the_story_fits_one_sheet_with_answer_inputs_and_results(visit, paper, width):
    page = visit()
    page.settle()
    answer, link = page.answer(), page.page.evaluate("document.querySelector('#link').href")
    rows = page.page.evaluate("[...document.querySelectorAll('#results [data-path]')].map(d => [d.dataset.path, d.parentNode.querySelector('th').textContent, d.querySelector('span').textContent])")
    pdf = printed(page, f"print-{paper}", format=paper)
    assert pdf_text.size(pdf)[0] == pytest.approx(width, abs=1)
    texts = pdf_text.pages(pdf)
    assert len(texts) == 1
    (text,) = texts
    close = squeezed(text)
    assert squeezed(answer) in close and squeezed(link) in close
    # Every input, and every result with its value behind it; what is one of many (a message, a convention) in tables of its own.
    at = close.index("Parametersofthemodel")
    for entry in ("ModelMistral7Bv0.1", "Sequencelength4096", "Micro-batch1", "Globalbatch64", "Masterweightsnone", "ShardingDDP", "NodeDGX/HGXA10080GB"):
        assert entry in close[:at], entry
    rows = [(path, squeezed(label), squeezed(value)) for path, label, value in rows]
    one_of_many = re.compile(r"(communication|step\.conventions)\.\d")
    missing = [path for path, label, value in rows if not one_of_many.match(path) and f"{label}{value}" not in close and f"{label}:{value}" not in close]
    assert len(rows) > 60 and missing == []
    tables = close[close.rindex("ranks") :]
    for number in range(6):
        line = "".join(value for path, _, value in rows if path.startswith(f"communication.{number}."))
        assert f"ddp-bucket{line}" in tables, line
    assert all(value in tables for path, _, value in rows if path.startswith("step.conventions."))


def test_the_page_is_as_before_and_draws_nothing_more(visit):
    page = visit(color_scheme="dark")
    page.settle()
    before = page.page.locator("#stage").screenshot()
    laid(page)
    size = page.page.evaluate("[canvas.width, canvas.height, devicePixelRatio]")
    page.page.emulate_media(color_scheme="dark")
    page.page.pdf()
    page.settle()
    assert page.page.locator("#sheet").count() == 0
    assert page.page.evaluate("[canvas.width, canvas.height, devicePixelRatio]") == size
    assert page.page.locator("#stage").screenshot() == before
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))


def on_screen(page):
    """The sheet as the printer gets it, to look at its pixels."""
    laid(page).page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_is_light_and_its_pictures_are_drawn(visit, scheme):
    page = visit(color_scheme=scheme, width=794, height=1123)
    page.page.locator("[data-do=theme]").click()  # chosen, so stronger than the system's wish
    page.settle()
    on_screen(page)
    page.picture(f"print-sheet-{scheme}")
    ground = page.page.evaluate(
        """() => [...document.querySelectorAll('#sheet canvas')].map(c => {
             const g = new OffscreenCanvas(c.width, c.height).getContext('2d');
             g.drawImage(c, 0, 0);
             const { data } = g.getImageData(0, 0, c.width, c.height), seen = new Map();
             for (let i = 0; i < data.length; i += 4 * 37) { const k = data.slice(i, i + 3).join(); seen.set(k, (seen.get(k) ?? 0) + 1); }
             const most = [...seen].sort((a, b) => b[1] - a[1])[0][0];
             return [c.dataset.panel, most, seen.size, c.width]; })"""
    )
    assert [panel for panel, *_ in ground] == ["memory", "wiring", "step"]
    for panel, most, colours, width in ground:
        assert most == "255,255,255", panel
        assert colours > 8 and width == 840, "sharp, and not empty"
    assert page.page.evaluate("getComputedStyle(document.querySelector('#sheet')).color") == "rgb(0, 0, 0)"
    visible = page.page.evaluate("[...document.body.children].filter(n => n.checkVisibility()).map(n => n.id)")
    assert visible == ["sheet"]


def test_another_language_and_a_plan_that_is_wrong(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&ds=fsdp&gbs=64&md=null&lang=vi")
    page.settle()
    page.open_form()
    page.field("training.sequence_length").locator("input").fill("0")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('#errors').checkVisibility()")
    text = " ".join(pdf_text.pages(printed(page, "print-vi")))
    close = squeezed(text)
    assert squeezed(page.answer()) in close
    assert "training.sequence_length" in text, "what is wrong is said on paper, too"
    assert "Độdàichuỗi0" in close and "Cụmmáy" in close and "Truyềnthông" in close


def test_without_webgl_and_from_a_phone(chromium, visit):
    from conftest import CHROMIUM

    plain_browser = chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    try:
        page = visit(instance=plain_browser, width=390, height=844)
        visit.complaints[:] = [c for c in visit.complaints if "WebGL" not in c]
        texts = pdf_text.pages(printed(page, "print-plain", format="A4"))
        assert squeezed(page.answer()) in squeezed(texts[0]) and "Optimizer states kept" in " ".join(texts)
    finally:
        plain_browser.close()


def test_the_menu_prints_and_an_embedded_page_prints_what_stands_there(visit):
    page = visit(width=1280, height=800)
    page.page.evaluate("() => { window.print = () => { window.printed = document.querySelector('#copy:popover-open') === null; }; }")
    page.page.locator("[popovertarget=copy]").click()
    page.page.locator("#copy [data-do=print]").click()
    page.until("window.printed === true")
    embedded = visit("embed.html", width=680, height=420)
    text = " ".join(pdf_text.pages(embedded.page.pdf(format="A4")))
    assert squeezed(embedded.answer()) in squeezed(text) and embedded.page.locator("#sheet").count() == 0


def test_a_page_that_could_not_start_prints_its_example(browser, url):
    page = browser.new_page()
    page.route("**/app.wasm", lambda route: route.abort())
    page.goto(url)
    page.wait_for_selector("html[data-wireplan=error]")
    text = " ".join(pdf_text.pages(page.pdf(format="A4")))
    assert "Does not fit" in text and "Optimizer states kept" in text
    page.close()
