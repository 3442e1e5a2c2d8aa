#!/usr/bin/env python3
"""The version of everything, from the one place where it stands: kEngineVersion in core/answer/estimate.hpp.

    version.py     prints it
"""

import re
from pathlib import Path

PLACE = Path(__file__).resolve().parents[1] / "core/answer/estimate.hpp"


def version():
    found = re.findall(r'kEngineVersion = "(\d+\.\d+\.\d+)"', PLACE.read_text("utf-8"))
    if len(found) != 1:
        raise SystemExit(f"{PLACE}: kEngineVersion stands there {len(found)} times, expected once")
    return found[0]


if __name__ == "__main__":
    print(version())
