#!/usr/bin/env python3
"""Packs the preset documents into one C++ source.

    pack_presets.py ASSETS OUT.cpp [--without KIND[/ID]]… [--bare]

Reads ASSETS/<kind>/<id>.json and ASSETS/references.json, and writes the table
declared in core/text/embedded_presets.hpp. Needs nothing but
Python's standard library, and its output depends on nothing but its input.

A file that is not strict JSON (duplicate key, NaN, not UTF-8, not an object)
stops the build here; what the documents mean is judged by the product's own
loader, not by this script.

What travels to a browser need not hold everything: --without leaves a kind or one document out,
--bare what a preset tells people beside its numbers and their source, and of references all but the title.
"""

import argparse
import json
import re
import sys
from pathlib import Path

# A string, kept as it is, or white space, dropped. Working on the text rather
# than on parsed values keeps every number as its author spelled it.
STRING_OR_SPACE = re.compile(r'("(?:\\.|[^"\\])*")|[ \t\r\n]+')

# Kinds that describe something, and the keys of theirs that only people read.
DESCRIBING = {"gpus", "models", "nodes", "networks", "implementations"}
FOR_PEOPLE = {
    "verified", "note", "layout", "upstream", "published_how", "count_check", "exact_parameters_basis",
    "sliding_window_note", "peak_basis",
}

HEADER = """\
// Made by tools/pack_presets.py. Do not edit.
#include "core/text/embedded_presets.hpp"

namespace wireplan {

"""


def no_duplicates(pairs):
    seen = {}
    for key, value in pairs:
        if key in seen:
            raise ValueError(f'duplicate key "{key}"')
        seen[key] = value
    return seen


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


class Spelled(str):
    """A number as its author spelled it."""


def written(value):
    if isinstance(value, Spelled):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{written(key)}:{written(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def titles(text):
    return written({key: {"title": entry["title"]} for key, entry in json.loads(text).items()})


def without_prose(text):
    document = json.loads(text, parse_int=Spelled, parse_float=Spelled)
    return written({key: value for key, value in document.items() if key not in FOR_PEOPLE})


def minified(path, is_bare=False):
    text = path.read_bytes().decode("utf-8")
    value = json.loads(
        text, object_pairs_hook=no_duplicates, parse_constant=no_constant
    )
    if not isinstance(value, dict):
        raise ValueError("the document is not an object")
    if is_bare:
        return without_prose(text)
    return STRING_OR_SPACE.sub(lambda match: match[1] or "", text)


def documents(assets):
    """(kind, id, path) of every preset, sorted by kind, then id."""
    found = [(path.parent.name, path.stem, path) for path in assets.glob("*/*.json")]
    references = assets / "references.json"
    if references.exists():
        found.append(("references", "references", references))
    return sorted(found)


def literal(text):
    """A raw string with its length: no escapes, nothing counted at compile time."""
    delimiter = "json"
    while f"){delimiter}\"" in text:
        delimiter += "_"
    length = len(text.encode("utf-8"))
    return f'{{R"{delimiter}({text}){delimiter}", {length}}}'


def pack(assets, out, without=(), is_bare=False):
    rows, wrong = [], []
    for kind, name, path in documents(assets):
        if kind in without or f"{kind}/{name}" in without:
            continue
        try:
            text = minified(path, is_bare and kind in DESCRIBING)
            if is_bare and kind == "references":
                text = titles(text)
            rows.append(f'    {{"{kind}", "{name}", {literal(text)}}},\n')
        except (ValueError, RecursionError) as error:
            wrong.append(f"{path}: {error}")
    if wrong:
        sys.exit("\n".join(wrong))

    # C++ has no empty array; the count says that the one row is not there.
    body = "".join(rows) or "    {},\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        f"{HEADER}const EmbeddedPreset kEmbeddedPresets[] = {{\n{body}}};\n\n"
        f"const std::size_t kEmbeddedPresetCount = {len(rows)};\n\n"
        "}  // namespace wireplan\n",
        encoding="utf-8",
        newline="\n",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Packs the preset documents into one C++ source.")
    parser.add_argument("assets", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--without", metavar="KIND[/ID]", action="append", default=[])
    parser.add_argument("--bare", action="store_true")
    given = parser.parse_args()
    pack(given.assets, given.out, given.without, given.bare)
