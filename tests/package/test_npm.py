"""The package for npm: what is in it, that node and TypeScript take it, that it is the same every time."""

import json
import os
import shutil
import subprocess

import pytest
from packages import SITE, made, program, run, unpacked, version

pytestmark = pytest.mark.skipif(not (SITE / "wireplan.mjs").exists() or not shutil.which("node"), reason="no module was built, or no node to run it")
# The compiler is Debian's; npm comes with node from elsewhere, or with a Debian package that few have.
needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="no npm on this machine")
needs_typescript = pytest.mark.skipif(not shutil.which("tsc"), reason="no TypeScript on this machine")
QUIET = {**os.environ, "npm_config_update_notifier": "false", "npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false"}


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    (path,) = made(tmp_path_factory.mktemp("npm"), "npm")
    return path


@pytest.fixture(scope="module")
def folder(tarball, tmp_path_factory):
    return unpacked(tarball, tmp_path_factory.mktemp("unpacked")) / "package"


@pytest.fixture(scope="module")
def project(tarball, tmp_path_factory):
    """A project of somebody's with the package in it, by npm where there is one."""
    project = tmp_path_factory.mktemp("project")
    (project / "package.json").write_text('{"name": "docs", "version": "1.0.0", "type": "module", "private": true}')
    if shutil.which("npm"):
        env = {**QUIET, "npm_config_cache": str(project / ".npm")}
        run("npm", "install", tarball, cwd=project, env=env)
    else:
        (project / "node_modules").mkdir()
        unpacked(tarball, project / "node_modules")
        (project / "node_modules/package").rename(project / "node_modules/wireplan")
    return project


def files(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_the_manifest_leads_to_files(folder):
    package = json.loads((folder / "package.json").read_text())
    assert (package["name"], package["version"], package["type"], package["license"]) == ("wireplan", version(), "module", "Apache-2.0")

    def targets(value):
        return [value] if isinstance(value, str) else [t for v in value.values() for t in targets(v)]

    exported = targets(package["exports"])
    assert "./wireplan.mjs" in exported and "./wireplan.d.ts" in exported
    assert [t for t in exported if not (folder / t).is_file()] == []
    # Who asks for types gets them, so they stand first.
    assert all(next(iter(v)) == "types" for v in package["exports"].values() if isinstance(v, dict))
    effects = package["sideEffects"] or []
    assert all((folder / name).is_file() for name in effects)
    assert not {"dependencies", "scripts"} & package.keys()
    assert {"README.md", "LICENSE", "licences/emscripten.txt", "embed.html", "app.wasm"} <= files(folder)
    # All that the page loads is there, so the folder can be served as it is.
    page = {p.name for p in SITE.iterdir() if p.suffix in (".mjs", ".wasm", ".css", ".html", ".json")}
    assert page <= files(folder) and not [name for name in files(folder) if "/" in name and not name.startswith("licences/")]


@needs_npm
def test_npm_packs_the_same_files(folder):
    (packed,) = json.loads(run("npm", "pack", "--json", "--dry-run", cwd=folder, env=QUIET))
    assert {f["path"] for f in packed["files"]} == files(folder)
    assert packed["filename"] == f"wireplan-{version()}.tgz"


def test_node_imports_it(project):
    script = """
      import { ready, estimate, version } from "wireplan";
      import { createRequire } from "node:module";
      await ready;
      await import("wireplan/elements"); // where there is no page it does nothing
      const closed = await import("wireplan/api.mjs").catch((e) => e.code);
      const wasm = import.meta.resolve ? import.meta.resolve("wireplan/wireplan.wasm") : "wireplan.wasm";
      const stated = createRequire(import.meta.url)("wireplan/package.json").version;
      console.log(JSON.stringify([version, stated, closed, wasm.endsWith("wireplan.wasm"), estimate("story")]));"""
    (project / "use.mjs").write_text(script)
    said, stated, closed, wasm, answer = json.loads(run("node", "use.mjs", cwd=project))
    assert (said, stated, closed, wasm) == (version(), version(), "ERR_PACKAGE_PATH_NOT_EXPORTED", True)
    assert answer == json.loads(program("estimate", "story", "--json"))


USE = """
import { ready, estimate, search, compare, explain, toMarkdown, version } from "wireplan";
import type { WireplanPlannerElement } from "wireplan/elements";
import { words } from "wireplan/elements";

await ready;
const answer = estimate({ plan: "story", set: [["parallel.data_sharding", "fsdp"]] });
if ("errors" in answer) console.error(answer.errors.map((e) => `${e.path}: ${e.text}`).join());
else {
  const bytes: number = answer.memory.states.parameters;
  const fits: boolean = answer.memory.fits;
  console.log(bytes, fits, toMarkdown(answer), version.length);
}
const stop = new AbortController();
const found = await search("story", { top: 3 }, (known) => console.log(known.progress.toFixed(2)), stop.signal);
const planner = document.querySelector("wireplan-planner") as WireplanPlannerElement;
planner.plan = "story";
planner.addEventListener("wireplan-change", (event) => console.log(event.detail.estimate.memory.fits, words.en.load));
console.log("errors" in found ? 0 : found.plans.length, compare(["story"]), explain("story", "step.time_s"));
"""
WRONG = {
    'estimate("story").memory.fits': "Errors",  # not asked for first
    "estimate(42)": "number",
    'search("story", { top: "3" })': "string",
    'import("wireplan/wireplan.mjs")': "wireplan/wireplan.mjs",
}


@needs_typescript
def test_types(project):
    """A use of it is checked, and wrong uses are found."""
    options = {"strict": True, "noEmit": True, "target": "es2022", "module": "node16", "moduleResolution": "node16", "lib": ["es2022", "dom"], "types": []}
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    (project / "use.ts").write_text(USE)
    run("tsc", "-p", ".", cwd=project)
    lines = "\n".join(f"export const wrong{i} = {text};" for i, text in enumerate(WRONG))
    (project / "wrong.ts").write_text(f'import {{ estimate, search }} from "wireplan";\n{lines}\n')
    done = subprocess.run(["tsc", "-p", "."], cwd=project, capture_output=True, text=True)
    (project / "wrong.ts").unlink()
    assert done.returncode != 0
    for i, word in enumerate(WRONG.values()):
        assert any(line.startswith(f"wrong.ts({i + 2},") and word in line for line in done.stdout.splitlines()), (i, done.stdout)


def test_the_same_bytes_every_time(tarball, tmp_path, monkeypatch):
    (again,) = made(tmp_path / "again", "npm")
    assert again.read_bytes() == tarball.read_bytes()
    sums = (tmp_path / "again/SHA256SUMS").read_text()
    assert run("sha256sum", "--check", "SHA256SUMS", cwd=tmp_path / "again").strip() == f"{again.name}: OK" and sums.count("\n") == 1
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (dated,) = made(tmp_path / "dated", "npm")
    assert dated.read_bytes() != tarball.read_bytes()
    assert "2023-11-14" in run("tar", "--utc", "-tvf", dated)
