"""The package for npm: the module with its types and wasm, and the page beside it, for sites that frame it from their own folder."""

import fnmatch
import json
from pathlib import Path

import archive

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "web/module/package.json"


def stated():
    return json.loads(TEMPLATE.read_text("utf-8"))


def licences():
    """Of what is compiled into page and module."""
    return archive.under("licences", {name: content for name, content in archive.files_of(ROOT / "licences").items() if name != "cli11.txt"})


def files(version, site):
    package = {**stated(), "version": version}
    found = {p.name: (p.read_bytes(), False) for p in Path(site).iterdir() if p.is_file() and any(fnmatch.fnmatch(p.name, pattern) for pattern in package["files"])}
    found |= licences()
    found["package.json"] = ((json.dumps(package, indent=2) + "\n").encode(), False)
    found["README.md"] = ((ROOT / "web/module/README.md").read_bytes(), False)
    found["LICENSE"] = ((ROOT / "LICENSE").read_bytes(), False)
    return found


def make(out, version, site, **_):
    path = out / f"wireplan-{version}.tgz"
    archive.write_tar(path, archive.under("package", files(version, site)))
    return [path]
