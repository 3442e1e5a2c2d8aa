"""The package for npm: the module, its types, its wasm."""

import json
from pathlib import Path

import archive

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "web/module/package.json"
# Of what is compiled into the module.
LICENCES = ("emscripten", "libyaml", "nlohmann-json", "tomlplusplus")


def stated():
    return json.loads(TEMPLATE.read_text("utf-8"))


def files(version, site):
    package = {**stated(), "version": version}
    found = {name: ((Path(site) / name).read_bytes(), False) for name in package["files"] if name != "licences"}
    for name in LICENCES:
        found[f"licences/{name}.txt"] = ((ROOT / f"licences/{name}.txt").read_bytes(), False)
    found["package.json"] = ((json.dumps(package, indent=2) + "\n").encode(), False)
    found["README.md"] = ((ROOT / "web/module/README.md").read_bytes(), False)
    found["LICENSE"] = ((ROOT / "LICENSE").read_bytes(), False)
    return found


def make(out, version, site, **_):
    path = out / f"wireplan-{version}.tgz"
    archive.write_tar(path, archive.under("package", files(version, site)))
    return [path]
