#!/usr/bin/env python3
"""Says in a finished site what belongs to it, so that its service worker can keep it for offline use.

    seal_site.py SITE

The files beside index.html (folders have workers of their own, or none) go into
sw.mjs with their hashes, and the name of the build, made of these, into sw.mjs
and the pages. Sealing twice changes nothing.
"""

import base64
import hashlib
import json
import re
import sys
from pathlib import Path

WORKER = "sw.mjs"
PAGES = ("index.html", "embed.html")
APART = (".d.ts",)  # for editors of code, not for browsers


def put(path, pattern, text):
    """Replaces the one place that the pattern finds."""
    old = path.read_text("utf-8")
    new, places = re.subn(pattern, lambda _: text, old)
    if places != 1:
        sys.exit(f"{path}: {places} places for {text[:40]}, not one")
    path.write_text(new, "utf-8")


def seal(site):
    files = sorted(p for p in site.iterdir() if p.is_file() and p.name != WORKER and not p.name.endswith(APART))
    for page in PAGES:
        put(site / page, r'data-build="\w*"', 'data-build=""')
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    build = whole.hexdigest()[:16]
    for page in PAGES:
        put(site / page, r'data-build=""', f'data-build="{build}"')
    hashes = {p.name: "sha256-" + base64.b64encode(hashlib.sha256(p.read_bytes()).digest()).decode() for p in files}
    put(site / WORKER, r'(?m)^const BUILD = "\w*";$', f'const BUILD = "{build}";')
    put(site / WORKER, r"(?m)^const FILES = \{.*\};$", f"const FILES = {json.dumps(hashes)};")
    return build


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / WORKER).is_file():
        sys.exit("usage: seal_site.py SITE, a folder with index.html and sw.mjs")
    seal(Path(sys.argv[1]))
