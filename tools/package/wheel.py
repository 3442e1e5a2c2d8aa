"""The Python package of python/: a wheel, and the source distribution."""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import archive

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python"
# What is no source: left by tests and by builds.
LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", ".pytest_cache")
# The build's own hooks (PEP 517): what pip would call, without a network.
HOOKS = "import sys, setuptools.build_meta as build; out = sys.argv[1]; build.build_sdist(out); build.build_wheel(out)"


def again(path):
    """A tar archive anew, with fixed times, owners and order."""
    with gzip.open(path) as raw, tarfile.open(fileobj=io.BytesIO(raw.read())) as tar:
        files = {m.name: (tar.extractfile(m).read(), bool(m.mode & 0o100)) for m in tar.getmembers() if m.isfile()}
    archive.write_tar(path, files)


def make(out, version, **_):
    if not SOURCE.exists():
        return []
    with tempfile.TemporaryDirectory() as work:
        source = Path(work, "python")
        shutil.copytree(SOURCE, source, ignore=LEFTOVERS)
        shutil.copy(ROOT / "LICENSE", source)
        made = Path(work, "made")
        made.mkdir()
        # Times of the sources would go into the wheel.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(archive.moment()), "PYTHONHASHSEED": "0"}
        done = subprocess.run([sys.executable, "-c", HOOKS, made], cwd=source, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{SOURCE} cannot be built:\n{done.stderr[-2000:]}")
        paths = []
        for path in sorted(made.iterdir()):
            if f"-{version}" not in path.name:
                raise SystemExit(f"{path.name}: the version is {version}")
            if path.name.endswith(".tar.gz"):
                again(path)
            paths.append(Path(shutil.copy(path, out)))
    return paths
