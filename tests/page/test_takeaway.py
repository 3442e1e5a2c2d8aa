"""What is taken along: files in four formats, the plan, what is drawn, the card."""

import json
import os
import re
import struct
import subprocess
import zlib
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
    """An 8-bit PNG without interlace, as browsers write them."""

    def __init__(self, data):
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        self.width, self.height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", data[16:29])
        assert (depth, interlaced) == (8, 0) and kind in (2, 6)
        self.bytes = 3 if kind == 2 else 4
        packed, at = b"", 8
        while at < len(data):
            length, name = struct.unpack(">I4s", data[at : at + 8])
            packed += data[at + 8 : at + 8 + length] if name == b"IDAT" else b""
            at += length + 12
        raw, stride = zlib.decompress(packed), self.width * self.bytes
        self.rows, above = [], bytes(stride)
        for y in range(self.height):
            line = bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
            self.unfilter(raw[y * (stride + 1)], line, above)
            self.rows.append(above := bytes(line))

    def unfilter(self, how, line, above):
        n = self.bytes
        if how == 2:
            line[:] = bytes((a + b) & 255 for a, b in zip(line, above))
        elif how:
            for i in range(len(line)):
                left, up, corner = (line[i - n] if i >= n else 0), above[i], (above[i - n] if i >= n else 0)
                if how == 1:
                    line[i] = (line[i] + left) & 255
                elif how == 3:
                    line[i] = (line[i] + (left + up) // 2) & 255
                else:
                    p = left + up - corner
                    a, b, c = abs(p - left), abs(p - up), abs(p - corner)
                    line[i] = (line[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255

    def at(self, x, y):
        return tuple(self.rows[round(y)][round(x) * self.bytes :][:3])

    def colours(self):
        counts = {}
        for row in self.rows[:: max(1, self.height // 60)]:
            for x in range(0, self.width, 4):
                colour = tuple(row[x * self.bytes :][:3])
                counts[colour] = counts.get(colour, 0) + 1
        return counts


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
    again.until("document.querySelector('#link').textContent.includes('ds=fsdp')")
    assert again.value("memory.need_bytes") == page.value("memory.need_bytes")


def test_the_picture_is_what_is_drawn(visit, tmp_path):
    page = visit(width=1280, height=720)
    page.settle()
    before = page.frames()
    picture = Picture(saved(page, "view", tmp_path).read_bytes())
    canvas = page.page.locator("#canvas").bounding_box()
    assert (picture.width, picture.height) == (canvas["width"], canvas["height"])
    page.page.keyboard.press("Escape")
    shown = Picture(page.page.locator("#canvas").screenshot())
    # Everywhere the same but where the pointer's tooltip or a widget under it differs.
    same = sum(a == b for a, b in zip(picture.rows, shown.rows))
    assert same > 0.97 * picture.height, same
    assert len(picture.colours()) > 12, "not one empty ground"
    assert page.frames() > before


def test_the_picture_follows_the_theme_and_leaves_the_page_as_it_was(visit, tmp_path):
    page = visit(color_scheme="dark", width=1280, height=720)
    page.settle()
    picture = Picture(saved(page, "view", tmp_path).read_bytes())
    assert max(picture.colours().items(), key=lambda c: c[1])[0] in ((23, 27, 31), (16, 19, 22))
    page.settle()
    assert page.page.locator("html").get_attribute("data-wireplan") == "ready"


@pytest.mark.parametrize("scheme, ground", [("light", (255, 255, 255)), ("dark", (23, 27, 31))])
def test_the_card_holds_answer_bars_and_link(visit, tmp_path, scheme, ground):
    page = visit(color_scheme=scheme, width=1280, height=720)
    page.settle()
    path = saved(page, "card", tmp_path)
    if folder := os.environ.get("WIREPLAN_SCREENSHOTS"):
        (Path(folder) / f"card-{scheme}.png").write_bytes(path.read_bytes())
    assert path.name == "wireplan-mistral-7b-v0.1-ddp-dgx-a100-80gb-1x4.card.png"
    card = Picture(path.read_bytes())
    assert (card.width, card.height) == (1200, 630)
    assert max(card.colours().items(), key=lambda c: c[1])[0] == ground
    fill = {"light": (0x2C, 0x46, 0x94), "dark": (0x4A, 0x6A, 0xC4)}[scheme]
    row = [card.at(x, 342) for x in range(56, 1144)]
    parameters = row.count(fill) / 1088
    assert parameters == pytest.approx(page.value("memory.parts.parameters") / page.value("memory.device_bytes"), abs=0.01)
    ink = {"light": (0x14, 0x18, 0x1D), "dark": (0xEC, 0xEF, 0xF2)}[scheme]
    above = [x for x in range(56, 1144) if card.at(x, 330) == ink]  # the capacity line stands out of the bar
    assert sum(above) / len(above) - 56 == pytest.approx(1088 * page.value("memory.capacity_bytes") / page.value("memory.device_bytes"), abs=3)


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
    page = visit("#lang=vi", **PHONE)
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
    tall = Picture(saved(page, "view", tmp_path).read_bytes())
    assert tall.width == 780 and tall.height > 2400
