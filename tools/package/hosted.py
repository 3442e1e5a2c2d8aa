"""The site for a host of one's own: v0.1.0/ for ever, latest/ for now, with what a page needs to pin the former."""

import json
from pathlib import Path

import archive
import integrity
import npm

ROOT = Path(__file__).resolve().parents[2]


def entry_points():
    """What pages import: ({bare name: file}, [files that run by themselves]), as package.json exports them."""
    package = npm.stated()
    modules, elements = {}, []
    for key, target in package["exports"].items():
        name = (target["default"] if isinstance(target, dict) else target).removeprefix("./")
        if not name.endswith(".mjs"):
            continue
        if package["sideEffects"] and f"./{name}" in package["sideEffects"]:
            elements.append(name)
        else:
            modules[(package["name"] + key.removeprefix(".")).rstrip("/")] = name
    return modules, elements


def files(version, site):
    built = archive.files_of(site) | npm.licences()
    built["LICENSE.txt"] = ((ROOT / "LICENSE").read_bytes(), False)
    checked = {name: content for name, content in built.items() if name.endswith(integrity.CHECKED)}
    pinned = {
        "integrity.json": ((json.dumps(integrity.manifest(version, checked), indent=1) + "\n").encode(), False),
        "tags.txt": (integrity.tags(version, built, *entry_points()).encode(), False),
    }
    found = {**archive.under(f"v{version}", built | pinned), **archive.under("latest", built), **archive.files_of(ROOT / "web/host")}
    found[".nojekyll"] = (b"", False)  # GitHub would leave out folders that begin with an underscore
    found["versions.json"] = ((json.dumps({"latest": version, "versions": [version]}) + "\n").encode(), False)
    return found


def make(out, version, site, **_):
    path = out / f"wireplan-site-{version}.zip"
    archive.write_zip(path, files(version, site))
    return [path]
