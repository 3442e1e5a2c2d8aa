"""Program, library, headers and manuals as one tarball, to be unpacked anywhere."""

import os
import platform
import re
import subprocess
import tempfile
from pathlib import Path

import archive

# The most that it may ask of a system: Debian 12 and Ubuntu 22.04 have that.
GLIBC, LIBSTDCXX = (2, 34), (3, 4, 30)


def installed(build, prefix):
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True, stdout=subprocess.DEVNULL)


def needed(path, name):
    """The highest version of symbols NAME_x.y that a binary asks of the system."""
    text = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    return max((tuple(map(int, v.split("."))) for v in re.findall(rf"\b{name}_(\d+(?:\.\d+)+)", text)), default=())


def make(out, version, build, **_):
    name = f"wireplan-{version}-{platform.system().lower()}-{platform.machine()}"
    with tempfile.TemporaryDirectory() as work:
        prefix = Path(work, "prefix")
        installed(build, prefix)
        archive.write_tar(out / f"{name}.tar.gz", archive.under(name, archive.files_of(prefix)))
    return [out / f"{name}.tar.gz"]
