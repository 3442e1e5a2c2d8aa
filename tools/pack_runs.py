#!/usr/bin/env python3
"""Packs files of runs into one C++ source.

    pack_runs.py OUT.cpp NAME FILE.jsonl [NAME FILE.jsonl]...

Defines a function NAME() of native/reference_runs.hpp for each file: its lines,
in order. Needs nothing but Python's standard library, and its output depends
on nothing but its input.
"""

import json
import sys
from pathlib import Path

HEADER = """\
// Made by tools/pack_runs.py. Do not edit.
#include "native/reference_runs.hpp"

namespace wireplan {
"""


def literal(line):
    json.loads(line)  # a line that is not JSON stops the build here
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'      "{escaped}\\n"\n'


def function(name, file):
    lines = [line for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    return f"\nstd::string_view {name}() {{\n  return\n" + "".join(map(literal, lines)) + '      "";\n}\n'


def main(out, *pairs):
    functions = [function(name, file) for name, file in zip(pairs[::2], pairs[1::2])]
    Path(out).write_text(HEADER + "".join(functions) + "\n}  // namespace wireplan\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
