#!/usr/bin/env python3
"""Puts a version of the site into the folder of a static host, beside the versions that are there.

    publish.py wireplan-site-0.1.0.zip FOLDER

A version that is there already never changes: the same bytes are left alone, others are refused. latest/ is the highest version,
whatever the order in which they come.
"""

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


def number(name):
    return tuple(map(int, VERSION.fullmatch(name).groups()))


def different(folder, content):
    """The names below a folder that are not as in {name: bytes}."""
    there = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return sorted(name for name in there.keys() | content.keys() if there.get(name) != content.get(name))


def write(folder, content):
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def publish(zipped, host):
    with zipfile.ZipFile(zipped) as file:
        content = {name: file.read(name) for name in file.namelist() if not name.endswith("/")}
    tops = {name.split("/")[0] for name in content}
    versions = [top for top in tops if VERSION.fullmatch(top)]
    if len(versions) != 1 or "latest" not in tops:
        raise SystemExit(f"{zipped}: no site of one version (v0.1.0/ and latest/)")
    (version,) = versions

    def below(top):
        return {name.removeprefix(top + "/"): data for name, data in content.items() if name.startswith(top + "/")}

    if (host / version).exists():
        if changed := different(host / version, below(version)):
            raise SystemExit(f"{host / version} is published and would change ({', '.join(changed[:5])}{', …' if len(changed) > 5 else ''}): a version never does; give the new one another number")
    else:
        write(host / version, below(version))
    there = sorted((p.name for p in host.iterdir() if VERSION.fullmatch(p.name)), key=number)
    if there[-1] == version:
        shutil.rmtree(host / "latest", ignore_errors=True)
        write(host / "latest", below("latest"))
        write(host, {name: data for name, data in content.items() if "/" not in name})
    (host / "versions.json").write_text(json.dumps({"latest": there[-1][1:], "versions": [name[1:] for name in there]}) + "\n")
    return version


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    print(publish(sys.argv[1], Path(sys.argv[2])))
