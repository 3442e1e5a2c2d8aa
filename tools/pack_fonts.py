#!/usr/bin/env python3
"""Writes the page's faces as the arrays that web/fonts.hpp declares.

    pack_fonts.py OUT.cpp
"""

import sys
import tempfile
from pathlib import Path

from subset_fonts import FACES, write_faces

SYMBOLS = {
    "inter_regular": "kInterRegular",
    "inter_semibold": "kInterSemiBold",
    "jetbrains_mono": "kJetBrainsMono",
}


def array(name, data):
    rows = (data[i : i + 32] for i in range(0, len(data), 32))
    body = ",\n".join("  " + ",".join(map(str, row)) for row in rows)
    return (
        f"alignas(4) static const unsigned char {name}_data[] = {{\n{body}}};\n"
        f"const EmbeddedFont {SYMBOLS[name]} = {{{name}_data, sizeof {name}_data}};\n"
    )


def main(out):
    with tempfile.TemporaryDirectory() as folder:
        write_faces(Path(folder))
        arrays = [array(name, (Path(folder) / f"{name}.ttf").read_bytes()) for name in FACES]
    out.write_text(
        "// Made by tools/pack_fonts.py.\n"
        '#include "web/fonts.hpp"\n\n'
        "namespace wireplan {\n\n" + "\n".join(arrays) + "\n}  // namespace wireplan\n",
        encoding="ascii",
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
