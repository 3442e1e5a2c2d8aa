"""What the tests of packages share: where things were built, and packages made anew into a folder."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("WIREPLAN_PROGRAM", ROOT / "build/native/wireplan"))
SITE = Path(os.environ.get("WIREPLAN_SITE", ROOT / "build/site"))
BUILD = PROGRAM.parent

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/package")]
import package  # noqa: E402
from version import version  # noqa: E402, F401


def made(out, kind):
    return package.make(Path(out), (kind,), SITE, BUILD)


def unpacked(path, folder):
    with tarfile.open(path) as tar:
        tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
    return Path(folder)


def run(*command, **options):
    """A command that must succeed; what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=options.pop("timeout", 120), **options)
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def program(*arguments, path=PROGRAM, **options):
    return run(path, *arguments, **options)
