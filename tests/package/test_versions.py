"""One version, stated once."""

import re
import shutil
import subprocess

import pytest
from packages import BUILD, ROOT, SITE, program, run, version

PLACE = "core/answer/estimate.hpp"
# Installed from a checkout without a build: typed there, and compared.
PYTHON = "python/src/wireplan/__init__.py"


def test_every_door_says_it():
    assert program("--version").split() == ["wireplan", version()]
    cache = (BUILD / "CMakeCache.txt").read_text()
    assert re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", cache, re.M)[1] == version()


@pytest.mark.skipif(not (SITE / "wireplan.mjs").exists() or not shutil.which("node"), reason="no module was built, or no node to run it")
def test_the_module_says_it():
    script = f'import("{SITE / "wireplan.mjs"}").then(async (m) => {{ await m.ready; console.log(m.version, m.estimate("story").engine); }})'
    assert run("node", "-e", script).split() == [version(), version()]


def test_nowhere_else_is_it_typed():
    """In sources; manuals show it in examples, tests of documents in what they compare with."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "core", "native", "web", "cmake", "tools", "python", "examples", ".github", "CMakeLists.txt", "dev"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert PLACE in names and len(names) > 300
    typed = re.compile(rf"""["'=]v?{re.escape(version())}["'\s]""")
    found = [name for name in sorted(set(names)) if (ROOT / name).is_file() and typed.search((ROOT / name).read_text("utf-8", errors="replace"))]
    assert found == [PLACE, *([PYTHON] if (ROOT / PYTHON).exists() else [])]
    if (ROOT / PYTHON).exists():
        assert re.search(r'^__version__ = "(.*)"$', (ROOT / PYTHON).read_text("utf-8"), re.M)[1] == version()


def test_manuals_show_the_present_one():
    text = (ROOT / "docs/packages.md").read_text("utf-8")
    shown = set(re.findall(r"\b\d+\.\d+\.\d+\b", re.sub(r"(?:GLIBCXX|glibc|GCC|CMake)\S* \S+", "", text)))
    assert version() in shown
    # 0.2.0 stands there for the next one.
    assert shown <= {version(), "0.2.0"}, shown
