#!/usr/bin/env python3
"""Cuts the page's three faces out of Debian's Inter and JetBrains Mono.

    subset_fonts.py FOLDER     writes the subsets as FOLDER/<name>.ttf

Dear ImGui draws glyphs one by one and knows no OpenType features, so what the
page wants of them is frozen here: figures of one width (the font's own `tnum`
forms take the place of the digits), no kerning, no substitution. Outlines
become quadratic, since ImGui's rasteriser reads CFF poorly. The DOM around the
canvas uses the same files, so both halves of the page set text alike.

Both families are under the SIL Open Font License 1.1 without a reserved name.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.scaleUpem import scale_upem

FONT_FOLDERS = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts")]

ASCII = {chr(c) for c in range(0x20, 0x7F)}
# English, and the neighbours whose names stand in references.
LATIN = set("ÄÅÆÇÉÖØÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŁłŠšŽž")
# Vietnamese, precomposed (NFC): ImGui places no combining marks.
VIETNAMESE = set("ÀÁÂÃÈÉÊÌÍÒÓÔÕÙÚÝĂăĐđĨĩŨũƠơƯư") | {chr(c) for c in range(0x1EA0, 0x1EFA)}
GREEK = set("αβγδεηθλμπρστφωΔΣΩ")
SIGNS = set(
    "\u00a0\u2009\u202f"  # spaces
    "–—‑…·•“”‘’«»§©°"
    "×÷±−≈≤≥≠∞√∑∏∈∝≡¬"
    "²³⁰¹⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄"
    "½¼‰µ′″⁄"
    "←→↑↓↔↗⌈⌉⌊⌋"
    "●○■□◆▲▼▶▾▸✓✕⚠"
)

# Formulas, paths and ids are set in the mono face, which has brackets that Inter
# lacks and lacks signs that prose needs.
SANS = ASCII | LATIN | VIETNAMESE | GREEK | SIGNS - set("∈∝≡⌈⌉⌊⌋▸▾✕")
MONO = ASCII | GREEK | SIGNS - set("\u2009\u202f‑⁻∝○")
FACES = {
    "inter_regular": ("Inter-Regular", SANS),
    "inter_semibold": ("Inter-SemiBold", SANS),
    "jetbrains_mono": ("JetBrainsMono-Regular", MONO),
}
UNITS_PER_EM = 1000


def find_face(name):
    for folder in FONT_FOLDERS:
        for suffix in ("otf", "ttf"):
            for path in sorted(folder.rglob(f"{name}.{suffix}")):
                return path
    sys.exit(f"no {name}.otf or .ttf under {', '.join(map(str, FONT_FOLDERS))}: install fonts-inter and fonts-jetbrains-mono")


def tabular_forms(font):
    """Glyph name → glyph name, as the feature `tnum` substitutes them."""
    forms = {}
    table = font["GSUB"].table if "GSUB" in font else None
    if table is None:
        return forms
    for record in table.FeatureList.FeatureRecord:
        if record.FeatureTag != "tnum":
            continue
        for index in record.Feature.LookupListIndex:
            for part in table.LookupList.Lookup[index].SubTable:
                part = getattr(part, "ExtSubTable", part)
                forms.update(getattr(part, "mapping", {}))
    return forms


def freeze_tabular_figures(font):
    forms = tabular_forms(font)
    for cmap in font["cmap"].tables:
        if not cmap.isUnicode():
            continue
        for digit in "0123456789":
            glyph = cmap.cmap.get(ord(digit))
            if glyph in forms:
                cmap.cmap[ord(digit)] = forms[glyph]
    # Interpolated weights are off by a unit here and there.
    digits = [font.getBestCmap()[ord(digit)] for digit in "0123456789"]
    metrics = font["hmtx"].metrics
    width = max(metrics[glyph][0] for glyph in digits)
    for glyph in digits:
        metrics[glyph] = (width, metrics[glyph][1])


def cut(font, characters):
    options = subset.Options()
    options.layout_features = []
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "STAT", "DSIG", "MATH", "meta"]
    options.hinting = False
    options.glyph_names = False
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]  # the copyright and the licence stay
    options.name_languages = [0x409]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[ord(c) for c in characters])
    cutter.subset(font)


def quadratic(font):
    """The same font with TrueType outlines; a no-op for one that has them."""
    if "glyf" in font:
        return font
    glyphs = font.getGlyphSet()
    outlines = {}
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(None)
        # A thousandth of an em: a twentieth of a pixel at 26 px and ratio 2.
        glyphs[name].draw(Cu2QuPen(pen, max_err=1.0, reverse_direction=True))
        outlines[name] = pen.glyph()
    builder = FontBuilder(font=font)
    builder.isTTF = True
    for table in ("CFF ", "CFF2", "VORG"):
        if table in font:
            del font[table]
    font.sfntVersion = "\x00\x01\x00\x00"
    builder.setupGlyf(outlines)
    builder.setupMaxp()
    builder.setupPost(keepGlyphNames=False)
    font["head"].glyphDataFormat = 0
    font["hmtx"].metrics = {
        name: (advance, getattr(outlines[name], "xMin", 0))
        for name, (advance, _) in font["hmtx"].metrics.items()
    }
    return font


def subset_face(face, characters):
    font = TTFont(find_face(face), recalcTimestamp=False)
    freeze_tabular_figures(font)
    cut(font, characters)
    scale_upem(font, UNITS_PER_EM)
    font = quadratic(font)
    missing = characters - {chr(c) for c in font.getBestCmap()}
    if missing:
        sys.exit(f"{face} lacks {' '.join(f'U+{ord(c):04X}' for c in sorted(missing))}")
    return font


def write_faces(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (face, characters) in FACES.items():
        subset_face(face, characters).save(folder / f"{name}.ttf")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_faces(Path(sys.argv[1]))
