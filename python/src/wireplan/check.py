"""wireplan-docs: the numbers in Markdown and HTML files against the program, for every engine that has no plugin here.

    wireplan-docs check docs README.md      1 where a published number is no longer the program's, with file and line
    wireplan-docs write docs README.md      the program's numbers into the files
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wireplan import __version__
from wireplan.answers import Answers
from wireplan.fill import Filler
from wireplan.program import Missing, Program

SUFFIXES = (".md", ".mdx", ".markdown", ".html", ".htm")


def files(places):
    for place in map(Path, places):
        if place.is_dir():
            yield from sorted(file for file in place.rglob("*") if file.suffix in SUFFIXES and "node_modules" not in file.parts)
        else:
            yield place


def read(file):
    """The text of a file, its ends of lines as they are: what is written has the same."""
    with file.open(encoding="utf-8", newline="") as opened:
        return opened.read()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="wireplan-docs", description="Numbers in documentation against the program wireplan.")
    parser.add_argument("--version", action="version", version=f"wireplan-docs {__version__}")
    parser.add_argument("command", choices=("check", "write"), help="compare, or write the program's numbers into the files")
    parser.add_argument("places", nargs="+", metavar="FILE|FOLDER")
    parser.add_argument("--program", help="the program (without it: wireplan on PATH)")
    parser.add_argument("--presets", help="a folder of presets of your own")
    parser.add_argument("--plan", default="story", help="the plan of elements that name none (without it: %(default)s)")
    parser.add_argument("--name", action="append", default=[], metavar="NAME=PLAN", help="a name for a plan: a file, a link")
    parser.add_argument("--unit", choices=("GB", "GiB"), default="GiB", help="of memory, where an element says none")
    parser.add_argument("--language", default="en")
    options = parser.parse_args(arguments)
    if wrong := [pair for pair in options.name if "=" not in pair]:
        parser.error(f'argument --name: "{wrong[0]}" is not NAME=PLAN')
    named = dict(pair.split("=", 1) for pair in options.name)
    answers = Answers(Program(options.program, options.presets), named, options.plan, options.unit)
    filler = Filler(answers, options.language)
    found, looked_at = [], 0
    try:
        for file in files(options.places):
            text = read(file)
            filled = filler.fill(text, file.parent, html=file.suffix.startswith(".htm"), keep=True)
            looked_at += filled.used
            if options.command == "write" and filled.text != text:
                with file.open("w", encoding="utf-8", newline="") as opened:
                    opened.write(filled.text)
                # What stood between the tags is right now. What stays wrong is what `expect` says, or cannot be answered.
                filled = filler.fill(filled.text, file.parent, html=file.suffix.startswith(".htm"), keep=True)
            found += [f"{file}:{problem.line}: {problem.text}" for problem in filled.problems]
    except Missing as missing:
        print(f"wireplan-docs: {missing}", file=sys.stderr)
        return 2
    except UnicodeDecodeError as error:
        print(f"wireplan-docs: {file}: byte {error.start} is no UTF-8, which files are read in", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"wireplan-docs: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    for line in found:
        print(line, file=sys.stderr)
    print(f"{looked_at} file{'s' * (looked_at != 1)} with numbers, {len(found) or 'no'} difference{'s' * (len(found) != 1)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
