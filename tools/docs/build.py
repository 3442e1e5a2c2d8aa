#!/usr/bin/env python3
"""Builds the documentation site.

    build.py --program wireplan --out build/site/docs --work build/web/docs

The pages of docs/ are copied to a work folder, with the reference that is worked out from the program and the presets (reference.py);
Sphinx makes a site of them; each page gets a policy that lets nothing in from elsewhere (policy.py).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import policy
import reference

ROOT = Path(__file__).resolve().parents[2]
# Pages that have another name on the site: the repository's, where readers of the site look for them, and one whose name Sphinx has
# for its own page of search.
MOVED = {"CONTRIBUTING.md": "contributing.md", "ARCHITECTURE.md": "architecture.md", "assets/README.md": "presets_format.md", "docs/search.md": "searching.md"}


def sources(work):
    """docs/ and what belongs to it in the work folder; what has not changed keeps its time, so that Sphinx reads it no second time."""
    paths = [path for path in sorted((ROOT / "docs").rglob("*")) if path.is_file()]
    wanted = {}
    for path in {*paths, *(ROOT / source for source in MOVED)}:
        wanted[place(path)] = localised(path.read_text("utf-8"), path).encode() if path.suffix == ".md" else path.read_bytes()
    for name, content in wanted.items():
        write(work / name, content)
    return set(wanted)


def write(path, content):
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def place(path):
    """Where a page of the repository stands on the site; None where it does not."""
    moved = MOVED.get(path.relative_to(ROOT).as_posix())
    return Path(moved) if moved else path.relative_to(ROOT / "docs") if path.is_relative_to(ROOT / "docs") else None


def localised(text, path):
    """Links to pages that are on the site lead there; what is only in the repository is named, and not linked to."""
    def link(match):
        there = place((path.parent / match[2]).resolve())
        return f"[{match[1]}]({os.path.relpath(there, place(path).parent)}{match[3] or ''})" if there else match[1]
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#|<)([^)#\s]+)(#[^)\s]*)?\)", link, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    options = parser.parse_args()
    if not options.program.exists():
        sys.exit(f"the documentation is worked out by the program, and {options.program} is not there; ./dev build makes both")
    source, out, program = options.work / "source", options.out.resolve(), options.program.resolve()
    kept = sources(source)
    for name, text in reference.pages(program, ROOT / "assets"):
        write(source / name, text.encode())
        kept.add(Path(name))
    for path in source.rglob("*"):
        if path.is_file() and path.relative_to(source) not in kept:
            path.unlink()  # a page that is gone
    # Sphinx writes beside the finished site, so that no half of one is ever served.
    # Every page is written anew: each has all titles in its list of contents.
    built = options.work / "html"
    shutil.rmtree(built, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python/src"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", str(options.work / "doctrees"),
         "-D", f"wireplan_program={program}", str(source), str(built)], env=environment)
    if done.returncode:
        sys.exit(done.returncode)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(built, out, ignore=shutil.ignore_patterns(".buildinfo", "*.map", "objects.inv", "debug.css", "_sources"))
    policy.enforce(out)


if __name__ == "__main__":
    main()
