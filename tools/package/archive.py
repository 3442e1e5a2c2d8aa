"""Archives with the same bytes for the same content: names sorted, owners and times fixed, no trace of the machine."""

import gzip
import io
import os
import tarfile
import time
import zipfile
from pathlib import Path

EARLIEST = 315_532_800  # 1980, where zip's calendar begins


def moment():
    """The time that every file gets: SOURCE_DATE_EPOCH, as reproducible-builds.org has it."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST)


def files_of(folder):
    """{name: (bytes, executable)} of everything below a folder."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def under(prefix, files):
    return {f"{prefix}/{name}": content for name, content in files.items()}


def write_tar(out, files):
    """A .tar.gz (or .tgz) of {name: (bytes, executable)}."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            content, executable = files[name]
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if executable else 0o644
            entry.mtime = moment()
            tar.addfile(entry, io.BytesIO(content))
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as zipped:
        zipped.write(raw.getvalue())


def write_zip(out, files):
    """A .zip of the same."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name in sorted(files):
            content, executable = files[name]
            entry = zipfile.ZipInfo(name, time.gmtime(moment())[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on any machine
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            zipped.writestr(entry, content)
