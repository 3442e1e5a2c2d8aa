"""What is taken along: files in four formats, the plan, what is drawn, the card."""

import base64
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WIREPLAN_PROGRAM", str(ROOT / "build/native/wireplan"))
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)


def program(*arguments):
    return subprocess.run([PROGRAM, "estimate", *arguments], capture_output=True, text=True, check=True).stdout


def menu(page):
    if not page.page.locator("#copy:popover-open").count():
        page.page.locator("[popovertarget=copy]").click()
    page.page.locator("#copy:popover-open").wait_for()


def saved(page, what, folder):
    menu(page)
    with page.page.expect_download() as download:
        page.page.locator(f"[data-save={what}]").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


class Picture:
    """A PNG, opened by a browser."""

    def __init__(self, page, data):
        self.page = page.page
        self.width, self.height = self.page.evaluate(
            """async (base64) => { const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
                 const bitmap = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
                 const g = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
                 g.drawImage(bitmap, 0, 0);
                 window.opened = [...(window.opened ?? []), g.getImageData(0, 0, bitmap.width, bitmap.height)];
                 return [bitmap.width, bitmap.height]; }""",
            base64.b64encode(data).decode(),
        )
        self.index = self.page.evaluate("opened.length - 1")

    def row(self, y):
        """Colours from left to right."""
        return self.page.evaluate("([i, y]) => { const { data, width: w } = opened[i]; return Array.from({length: w}, (_, x) => data.subarray(4 * (y * w + x), 4 * (y * w + x) + 3).join()); }", [self.index, y])

    def colours(self):
        """How often each is there; one pixel in seven."""
        return self.page.evaluate("i => { const seen = {}, { data } = opened[i]; for (let p = 0; p < data.length; p += 28) { const c = data.subarray(p, p + 3).join(); seen[c] = (seen[c] ?? 0) + 1; } return seen; }", self.index)

    def most(self):
        counts = self.colours()
        return max(counts, key=counts.get)

    def like(self, other):
        """The share of pixels that are the same."""
        return self.page.evaluate(
            """([i, j]) => { const a = new Uint32Array(opened[i].data.buffer), b = new Uint32Array(opened[j].data.buffer); let same = 0;
                 for (let p = 0; p < a.length; p++) same += a[p] === b[p]; return a.length === b.length ? same / a.length : 0; }""",
            [self.index, other.index],
        )


def test_the_four_formats_are_the_programs_own_bytes(visit, tmp_path):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&ds=fsdp&gbs=64&md=null")
    link = page.page.evaluate("location.hash")
    asked = {"text": [], "markdown": ["--markdown"], "csv": ["--csv"], "json": ["--json"]}
    names = set()
    for what, options in asked.items():
        path = saved(page, what, tmp_path)
        names.add(path.name)
        assert path.read_text("utf-8").rstrip("\n") == program(link, *options).rstrip("\n"), what
    assert names == {f"wireplan-mistral-7b-v0.1-fsdp-dgx-a100-80gb-1x4.{e}" for e in ("txt", "md", "csv", "estimate.json")}
    page.picture("menu-take")


def test_a_saved_plan_is_what_the_program_runs_and_the_page_opens(visit, tmp_path):
    page = visit()
    page.settle()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    path = saved(page, "plan", tmp_path)
    assert path.name.endswith(".plan.json")
    memory = json.loads(program(str(path), "--json"))["memory"]
    assert memory["need_bytes"]["value"] == page.value("memory.need_bytes")
    again = visit()
    again.page.evaluate(
        """text => { const data = new DataTransfer(); data.items.add(new File([text], 'plan.json'));
                     document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); }""",
        path.read_text("utf-8"),
    )
    again.page.locator("#paste-said .done-line").wait_for(timeout=20000)
    assert "ds=fsdp" in again.page.locator("#link").text_content()
    assert again.value("memory.need_bytes") == page.value("memory.need_bytes")


def test_the_picture_is_what_is_drawn(visit, tmp_path):
    page = visit(width=1280, height=720)
    page.settle()
    before = page.frames()
    picture = Picture(page, saved(page, "view", tmp_path).read_bytes())
    canvas = page.page.locator("#canvas").bounding_box()
    assert (picture.width, picture.height) == (canvas["width"], canvas["height"])
    page.page.keyboard.press("Escape")
    assert picture.like(Picture(page, page.page.locator("#canvas").screenshot())) > 0.999
    assert len(picture.colours()) > 12, "not one empty ground"
    assert page.frames() > before


def test_the_picture_has_the_theme_of_the_page(visit, tmp_path):
    page = visit(color_scheme="dark", width=1280, height=720)
    page.settle()
    picture = Picture(page, saved(page, "view", tmp_path).read_bytes())
    assert picture.most() == "23,27,31"


CARD = {"light": ("255,255,255", "44,70,148", "20,24,29"), "dark": ("23,27,31", "74,106,196", "236,239,242")}  # ground, parameters, ink


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_card_holds_answer_bars_and_link(visit, tmp_path, scheme):
    page = visit(color_scheme=scheme, width=1280, height=720)
    page.settle()
    path = saved(page, "card", tmp_path)
    if folder := os.environ.get("WIREPLAN_SCREENSHOTS"):
        (Path(folder) / f"card-{scheme}.png").write_bytes(path.read_bytes())
    assert path.name == "wireplan-mistral-7b-v0.1-ddp-dgx-a100-80gb-1x4.card.png"
    card = Picture(page, path.read_bytes())
    ground, parameters, ink = CARD[scheme]
    assert (card.width, card.height) == (1200, 630)
    assert card.most() == ground
    bar = card.row(342)[56:1144]
    whole = page.value("memory.device_bytes")
    assert bar.count(parameters) / 1088 == pytest.approx(page.value("memory.parts.parameters") / whole, abs=0.01)
    limit = [x for x, colour in enumerate(card.row(330)) if colour == ink]  # the capacity line stands out of the bar
    assert sum(limit) / len(limit) - 56 == pytest.approx(1088 * page.value("memory.capacity_bytes") / whole, abs=3)
    # Sentence, legend and link: ink on their lines.
    for y in (110, 400, 583):
        assert len(set(card.row(y))) > 8, y


def test_pictures_go_to_the_clipboard(visit):
    page = visit(width=1280, height=720, permissions=["clipboard-read", "clipboard-write"])
    page.settle()
    for what, width in (("view", 1280), ("card", 1200)):
        menu(page)
        page.page.locator(f"[data-image={what}]").click()
        page.until(f"document.querySelector('[data-image={what}]').textContent === 'Copied'")
        size = page.page.evaluate(
            """async () => { const [item] = await navigator.clipboard.read();
                  const bitmap = await createImageBitmap(await item.getType('image/png')); return bitmap.width; }"""
        )
        assert size == width


def test_where_no_picture_can_be_copied_it_is_saved(visit):
    page = visit(width=1280, height=720)
    page.settle()
    page.page.evaluate("() => { delete window.ClipboardItem; }")
    menu(page)
    with page.page.expect_download() as download:
        page.page.locator("[data-image=card]").click()
    assert download.value.suggested_filename.endswith(".card.png")


def test_names_of_files_keep_to_what_every_disk_takes(visit):
    page = visit()
    name = page.page.evaluate(
        """async () => { const { fileName } = await import('./take.mjs');
             return fileName({model: {name: 'My/model: "α"?'}, parallel: {data_sharding: 'fsdp'}, cluster: {node: {name: '..'}, nodes: 2, gpus_per_node: 8}}, 'csv'); }"""
    )
    assert re.fullmatch(r"[\w.-]+", name) and name == "wireplan-my-model-fsdp-own-2x8.csv"


def test_fills_are_those_of_the_canvas():
    tokens = dict(re.findall(r"--fill-([\w-]+): light-dark\((#\w+, #\w+)\)", (ROOT / "web/shell/asides.css").read_text("utf-8")))
    light, dark = re.findall(r"Palette = \{(.*?)\};", (ROOT / "web/palette.cpp").read_text("utf-8"), re.S)[:2]
    palette = [dict(re.findall(r"\.(\w+) = rgb\(0x(\w+)\)", part)) for part in (light, dark)]
    assert len(tokens) > 10
    for name, pair in tokens.items():
        assert pair.upper() == ", ".join(f"#{theme[name]}" for theme in palette).upper(), name


def test_on_a_phone_and_in_vietnamese(visit, tmp_path):
    page = visit(locale="vi-VN", **PHONE)
    page.settle()
    menu(page)
    page.picture("menu-take-phone")
    small = page.page.evaluate("[...document.querySelectorAll('#copy button')].filter(b => b.getBoundingClientRect().height < 43.5 && b.checkVisibility()).map(b => b.textContent)")
    assert small == []
    assert page.page.locator("[data-save=plan]").inner_text() == "Lưu phương án, để mở hoặc chạy lại"
    path = saved(page, "card", tmp_path)
    if folder := os.environ.get("WIREPLAN_SCREENSHOTS"):
        (Path(folder) / "card-vi.png").write_bytes(path.read_bytes())
    page.page.keyboard.press("Escape")
    page.settle()
    tall = Picture(page, saved(page, "view", tmp_path).read_bytes())
    assert tall.width == 780 and tall.height > 2400
