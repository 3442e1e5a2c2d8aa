#!/usr/bin/env python3
"""What a built site weighs on the wire (brotli), against what web/budgets.json allows.

    site_sizes.py SITE                   tables of the budgets and of every file; folders as one
    site_sizes.py SITE --json [--onto -] a document; with --onto that on standard input, with this under "site"

A budget is of files by name, or of an entry: a page with all that it loads before anybody asks for more (its scripts, what these import,
its styles, what it preloads; `and`: what these fetch before anybody asks). What is imported when it is asked for belongs to no entry.
"""

import argparse
import functools
import json
import re
import sys
from pathlib import Path

import brotli

BUDGETS = Path(__file__).resolve().parents[1] / "web/budgets.json"
TAG = re.compile(r"<(?:script|link)\b[^>]*>")
LOADED = re.compile(r"""\b(?:src|href)=["'](?!data:|https?:)([^"'#?]+)["']""")
IMPORT = re.compile(r"""^(?:import|export)\b[^;()]*?["'](\./[^"']+)["']""", re.M)


def loaded_by(site, *entries):
    """The files that come with these at once, themselves included; sorted."""
    found, waiting = set(), list(entries)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name.endswith(".html"):
            waiting += [m[1] for tag in TAG.findall((site / name).read_text("utf-8")) if (m := LOADED.search(tag))]
        elif name.endswith(".mjs"):
            waiting += [(Path(name).parent / other).as_posix() for other in IMPORT.findall((site / name).read_text("utf-8"))]
    return sorted(found)


@functools.cache
def compressed(path):
    return len(brotli.compress(path.read_bytes()))


def weighed(site, only=None):
    """[{name, bytes, most, aim?, files: {name: bytes}}], one for each budget, or for those named."""
    rows = []
    for budget in json.loads(BUDGETS.read_text("utf-8")):
        if only and budget["name"] not in only:
            continue
        names = budget.get("files") or loaded_by(site, budget["entry"], *budget.get("and", []))
        names = [n for n in names if n.endswith(tuple(budget.get("kinds", [""])))]
        files = {name: compressed(site / name) for name in names}
        rows.append({"name": budget["name"], "bytes": sum(files.values()), **{k: budget[k] for k in ("most", "aim") if k in budget}, "files": files})
    return rows


def judge(site, *names):
    """For tests: the named budgets are held."""
    rows = weighed(site, names)
    assert len(rows) == len(names), names
    for row in rows:
        assert row["bytes"] <= row["most"], row
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--onto", choices=["-"])
    arguments = parser.parse_args()
    rows = weighed(arguments.site)
    every = {p.relative_to(arguments.site).as_posix(): p for p in sorted(arguments.site.rglob("*")) if p.is_file()}
    files = {name: {"bytes": path.stat().st_size, "brotli": compressed(path)} for name, path in every.items()}
    if arguments.json:
        document = json.load(sys.stdin) if arguments.onto else {}
        print(json.dumps({**document, "site": {"budgets": rows, "files": files}}, separators=(",", ":")))
        return
    print(f"{'bytes of the site, brotli':<40} {'now':>9} {'at most':>9} {'aim':>9}")
    for row in rows:
        print(f"{row['name']:<40} {row['bytes']:>9,} {row['most']:>9,} {row.get('aim') or '':>9{',' if row.get('aim') else ''}}")
    print(f"\n{'file':<40} {'brotli':>9} {'plain':>9}")
    shown = {}
    for name, size in files.items():
        top = shown.setdefault(name.split("/")[0] + "/" * ("/" in name), {"brotli": 0, "bytes": 0})
        for key in top:
            top[key] += size[key]
    for name, size in sorted(shown.items(), key=lambda f: -f[1]["brotli"]):
        print(f"{name:<40} {size['brotli']:>9,} {size['bytes']:>9,}")


if __name__ == "__main__":
    main()
