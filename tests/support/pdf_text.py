"""The text of PDFs as Chromium prints them: a page's strings in the order they are drawn, by the fonts' own tables to Unicode."""

import re
import zlib

OBJECT = re.compile(rb"(?<![\d.])(\d+) 0 obj\s*(.*?)\s*endobj", re.S)
STREAM = re.compile(rb"^(.*?)stream\r?\n(.*?)\r?\nendstream", re.S)
REFERENCE = rb"%s\s+(\d+) 0 R"
SHOWN = re.compile(rb"/(\w+) [\d.]+ Tf|(<[0-9A-Fa-f\s]*>|\((?:\\.|[^\\()])*\))(?=[^\[\]]*?(?:Tj|TJ))|\b(ET)\b", re.S)
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def content(body):
    head, data = STREAM.match(body).groups()
    return zlib.decompress(data) if b"/FlateDecode" in head else data


def unicode_of(cmap):
    """Code of a glyph → text."""
    table = {}
    text = lambda digits: bytes.fromhex(digits.decode()).decode("utf-16-be")  # noqa: E731
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", cmap, re.S):
        for code, to in re.findall(rb"<(\w+)>\s*<(\w+)>", block):
            table[int(code, 16)] = text(to)
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", cmap, re.S):
        for first, last, to in re.findall(rb"<(\w+)>\s*<(\w+)>\s*<(\w+)>", block):
            for code in range(int(first, 16), int(last, 16) + 1):
                table[code] = chr(ord(text(to)) + code - int(first, 16))
    return table


def codes(string):
    """Two bytes a glyph."""
    if string.startswith(b"<"):
        raw = bytes.fromhex(re.sub(rb"\s", b"", string[1:-1]).decode())
    else:
        raw = re.sub(rb"\\([0-7]{1,3}|.)", lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else ESCAPES.get(m[1], m[1]), string[1:-1], flags=re.S)
    return [int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2)]


def pages(pdf):
    """One text a page."""
    objects = {int(number): body for number, body in OBJECT.findall(pdf)}
    tables, texts = {}, []
    for body in objects.values():
        if not re.search(rb"/Type\s*/Page\b", body):
            continue
        for name, font in re.findall(rb"/(F\d+)\s+(\d+) 0 R", body):
            cmap = re.search(REFERENCE % rb"/ToUnicode", objects[int(font)])
            tables[name] = unicode_of(content(objects[int(cmap[1])])) if cmap else {}
        said, table = [], {}
        for font, string, end in SHOWN.findall(content(objects[int(re.search(REFERENCE % rb"/Contents", body)[1])])):
            if font:
                table = tables[font]
            elif end:
                said.append(" ")
            else:
                said += [table.get(code, "\ufffd") for code in codes(string)]
        texts.append(re.sub(r"\s+", " ", "".join(said)))
    return texts


def size(pdf):
    """Of the first page, in points."""
    return [float(n) for n in re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf).groups()]
