#!/usr/bin/env python3
"""Makes the packages out of what was built.

    package.py OUT [--site build/site] [--native build/native] [npm] [site] [python] [native]

Without names: all of them. The same built files and the same SOURCE_DATE_EPOCH give the same bytes. SHA256SUMS beside the packages has
their hashes.
"""

import argparse
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tools")]

import hosted  # noqa: E402
import native  # noqa: E402
import npm  # noqa: E402
import wheel  # noqa: E402
from version import version  # noqa: E402

MAKERS = {"npm": npm.make, "site": hosted.make, "python": wheel.make, "native": native.make}


def make(out, kinds=tuple(MAKERS), site=ROOT / "build/site", build=ROOT / "build/native"):
    out.mkdir(parents=True, exist_ok=True)
    made = [path for kind in kinds for path in MAKERS[kind](out, version(), site=Path(site), build=Path(build))]
    (out / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(made)))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("kinds", nargs="*", metavar="npm|site|python|native")
    parser.add_argument("--site", type=Path, default=ROOT / "build/site")
    parser.add_argument("--native", type=Path, default=ROOT / "build/native")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - MAKERS.keys():
        parser.error(f"there is no package {', '.join(sorted(unknown))}: {', '.join(MAKERS)}")
    for path in make(arguments.out, arguments.kinds or tuple(MAKERS), arguments.site, arguments.native):
        print(f"{path.stat().st_size:>10,}  {path}")


if __name__ == "__main__":
    main()
