"""The Python package: a wheel that a clean environment takes, and the sources that it can be made of."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
from packages import BUILD, PROGRAM, ROOT, made, run, version

pytestmark = pytest.mark.skipif(not (ROOT / "python").exists(), reason="there is no Python package")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    paths = made(tmp_path_factory.mktemp("python"), "python")
    return {("wheel" if p.suffix == ".whl" else "sdist"): p for p in paths}


@pytest.fixture(scope="module")
def clean(packages, tmp_path_factory):
    """The python of an environment with the wheel and nothing else, not even pip."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    pip(folder, "install", "--quiet", "--no-index", packages["wheel"])
    return folder / "bin/python"


def pip(folder, *arguments):
    return run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin/python", *arguments)


def outside():
    """No sources of the repository on the path, no program but the one that was built."""
    return {"PATH": f"{BUILD}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}


def test_names_and_content(packages):
    assert packages["wheel"].name == f"wireplan-{version()}-py3-none-any.whl" and packages["sdist"].name == f"wireplan-{version()}.tar.gz"
    inside = zipfile.ZipFile(packages["wheel"]).namelist()
    assert "wireplan/__init__.py" in inside and any(name.endswith("/LICENSE") for name in inside)
    sources = {p.relative_to(ROOT / "python/src").as_posix() for p in (ROOT / "python/src/wireplan").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {name for name in inside if name.startswith("wireplan/")} == sources
    with tarfile.open(packages["sdist"]) as tar:
        held = {name.split("/", 1)[1] for name in tar.getnames()}
    assert {f"src/{name}" for name in sources} | {"pyproject.toml", "LICENSE", "PKG-INFO"} <= held


def test_a_clean_environment_takes_it(clean, tmp_path):
    found = run(clean, "-c", "import wireplan, sys; print(wireplan.__version__); print(wireplan.__file__)", cwd=tmp_path, env=outside()).split()
    assert found[0] == version() and found[1].startswith(str(clean.parent.parent))
    assert pip(clean.parents[1], "list", "--format=freeze").split() == [f"wireplan=={version()}"]


def test_its_command_runs_there(clean, tmp_path):
    done = subprocess.run([clean.parent / "wireplan-docs", "--help"], cwd=tmp_path, env=outside() | {"WIREPLAN_PROGRAM": str(PROGRAM)}, capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout.lower(), done.stderr


def test_the_same_bytes_every_time(packages, tmp_path):
    again = {p.name: p.read_bytes() for p in made(tmp_path / "again", "python")}
    assert again == {p.name: p.read_bytes() for p in packages.values()}


def test_a_wheel_of_the_sources_is_the_wheel(packages, tmp_path):
    """Who builds it anew, as distributions do, gets what we give."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", tmp_path, packages["sdist"], env={**os.environ, "SOURCE_DATE_EPOCH": "315532800"})
    (wheel,) = tmp_path.glob("*.whl")

    def content(path):
        file = zipfile.ZipFile(path)
        return {name: file.read(name) for name in file.namelist() if not name.endswith(("RECORD", "WHEEL"))}

    assert content(wheel) == content(packages["wheel"])
