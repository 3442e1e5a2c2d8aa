"""Documentation of others with our elements in it: built here, opened in the browser of tests/page."""

import importlib.util
import os
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python/src"), str(ROOT / "tests/program")]

spec = importlib.util.spec_from_file_location("page_conftest", ROOT / "tests/page/conftest.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
site, chromium, browser = page.site, page.chromium, page.browser

PROGRAM = os.environ.setdefault("WIREPLAN_PROGRAM", str(ROOT / "build/native/wireplan"))


@pytest.fixture(scope="session")
def wireplan():
    from program import Program

    return Program()


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """What pip would write of our package for others to find its plugin by."""
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text("utf-8"))["project"]
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "wireplan-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wireplan\nVersion: 0\n")
    lines = [f"[{group}]\n" + "\n".join(f"{name} = {target}" for name, target in entries.items()) for group, entries in project["entry-points"].items()]
    (info / "entry_points.txt").write_text("\n\n".join(lines) + "\n")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
