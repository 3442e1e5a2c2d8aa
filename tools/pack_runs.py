#!/usr/bin/env python3
"""Packs files of runs into one C++ source.

    pack_runs.py OUT.cpp FILE.jsonl...

Defines reference_runs() of native/reference_runs.hpp: the lines of all files,
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

std::string_view reference_runs() {
  return
"""


def literal(line):
    json.loads(line)  # a line that is not JSON stops the build here
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'      "{escaped}\\n"\n'


def main(out, *files):
    lines = [line for file in files for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    Path(out).write_text(HEADER + "".join(map(literal, lines)) + "      \"\";\n}\n\n}  // namespace wireplan\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
