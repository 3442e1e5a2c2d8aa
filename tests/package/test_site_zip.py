"""The site for a host of one's own: paths by version, hashes, and what publishing leaves alone."""

import base64
import hashlib
import json
import re
import subprocess
import zipfile

import pytest
from packages import ROOT, SITE, made, run, version

import publish

pytestmark = pytest.mark.skipif(not (SITE / "app.wasm").exists(), reason="no site was built")
V = f"v{version()}"


@pytest.fixture(scope="module")
def zipped(tmp_path_factory):
    (path,) = made(tmp_path_factory.mktemp("hosted"), "site")
    return path


@pytest.fixture(scope="module")
def content(zipped):
    with zipfile.ZipFile(zipped) as file:
        return {name: file.read(name) for name in file.namelist()}


def other(zipped, to, changed=()):
    """The same as another version; `changed`: {name below the version: bytes}."""
    out = to / f"wireplan-site-{len(list(to.iterdir()))}.zip"
    with zipfile.ZipFile(zipped) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            top, _, rest = name.partition("/")
            data = dict(changed).get(rest, old.read(name)) if rest else old.read(name)
            new.writestr(name.replace(V + "/", dict(changed).get("version", V) + "/", 1), data)
    return out


def test_what_stands_where(content):
    built = {p.relative_to(SITE).as_posix(): p.read_bytes() for p in SITE.rglob("*") if p.is_file()}
    assert {"index.html", "embed.html", "wireplan.mjs", "wireplan.wasm"} <= built.keys()
    for top in (V, "latest"):
        assert {name: content[f"{top}/{name}"] for name in built} == built
    assert {name for name in content if "/" not in name} == {"index.html", "go.mjs", "_headers", ".nojekyll", "versions.json"}
    assert f"{V}/integrity.json" in content and "latest/integrity.json" not in content
    assert {f"{V}/licences/{name}.txt" for name in ("emscripten", "imgui", "inter", "libyaml")} <= content.keys() and f"{V}/LICENSE.txt" in content


def test_hashes_are_right_and_complete(content):
    manifest = json.loads(content[f"{V}/integrity.json"])
    assert (manifest["schema"], manifest["version"]) == ("wireplan.integrity/1", version())
    checked = {name.removeprefix(V + "/") for name in content if name.startswith(V) and name.endswith((".mjs", ".js", ".css", ".wasm"))}
    assert manifest["files"].keys() == checked
    for name, stated in manifest["files"].items():
        data = content[f"{V}/{name}"]
        openssl = subprocess.run(["openssl", "dgst", "-sha384", "-binary"], input=data, capture_output=True, check=True).stdout if name == "wireplan.mjs" else hashlib.sha384(data).digest()
        assert stated == {"integrity": "sha384-" + base64.b64encode(openssl).decode(), "bytes": len(data)}


def test_the_tags_state_those_hashes(content):
    tags = content[f"{V}/tags.txt"].decode()
    stated = json.loads(content[f"{V}/integrity.json"])["files"]
    pinned = re.findall(r'(?:src|href)="https://YOUR\.HOST/([^"/]+)/([^"]+)" integrity="([^"]+)"', tags)
    assert pinned and all(top == V and stated[name]["integrity"] == hash_ for top, name, hash_ in pinned)
    imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', tags, re.S)[1])
    assert imports["imports"]["wireplan"] == f"https://YOUR.HOST/{V}/wireplan.mjs"
    loadable = {name: s["integrity"] for name, s in stated.items() if name.startswith("wireplan") and name.endswith(".mjs")}
    assert imports["integrity"] == {f"https://YOUR.HOST/{V}/{name}": hash_ for name, hash_ in loadable.items()} and set(imports["imports"].values()) <= imports["integrity"].keys()
    assert "latest/" not in "".join(re.findall(r'"(https://YOUR[^"]+)"', tags))


def test_the_same_bytes_every_time(zipped, tmp_path):
    (again,) = made(tmp_path, "site")
    assert again.read_bytes() == zipped.read_bytes()


def test_versions_stand_beside_each_other(zipped, tmp_path):
    host = tmp_path / "host"
    (host / "blog").mkdir(parents=True)
    (host / "blog/post.html").write_text("ours")
    zips = tmp_path / "zips"
    zips.mkdir()
    assert publish.publish(zipped, host) == V
    first = {p: p.read_bytes() for p in (host / V).rglob("*") if p.is_file()}
    newer = other(zipped, zips, {"version": "v10.0.0", "page.css": b"newer"})
    publish.publish(newer, host)
    # Between the two, and later than both: found again, but not the latest. 9 comes before 10.
    publish.publish(other(zipped, zips, {"version": "v9.1.0", "page.css": b"older"}), host)
    assert (host / "latest/page.css").read_bytes() == b"newer"
    assert json.loads((host / "versions.json").read_text()) == {"latest": "10.0.0", "versions": [version(), "9.1.0", "10.0.0"]}
    assert {p: p.read_bytes() for p in (host / V).rglob("*") if p.is_file()} == first
    assert (host / "blog/post.html").read_text() == "ours"
    # What a newer version no longer has goes from latest/.
    (host / "latest/gone.mjs").write_text("")
    publish.publish(newer, host)
    assert not (host / "latest/gone.mjs").exists()


def test_a_published_version_never_changes(zipped, tmp_path):
    host, zips = tmp_path / "host", tmp_path / "zips"
    host.mkdir()
    zips.mkdir()
    publish.publish(zipped, host)
    with pytest.raises(SystemExit, match=r"page\.css.*never"):
        publish.publish(other(zipped, zips, {"page.css": b"* {}"}), host)
    assert (host / V / "page.css").read_bytes() == (SITE / "page.css").read_bytes() == (host / "latest/page.css").read_bytes()


def test_another_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("readme.txt", "no site")
    with pytest.raises(SystemExit, match="no site of one version"):
        publish.publish(tmp_path / "x.zip", tmp_path)


def test_a_branch_is_published(zipped, tmp_path):
    """The script of the workflow, on a repository with a remote."""
    def git(*arguments, at):
        return run("git", "-c", "user.name=w", "-c", "user.email=w@example.org", "-C", at, *arguments)

    remote, clone = tmp_path / "remote.git", tmp_path / "clone"
    run("git", "init", "--quiet", "--bare", remote)
    run("git", "init", "--quiet", "-b", "main", clone)
    (clone / "source").write_text("of the project")
    git("add", "source", at=clone)
    git("commit", "--quiet", "-m", "source", at=clone)
    git("remote", "add", "origin", str(remote), at=clone)
    for key, value in (("user.name", "w"), ("user.email", "w@example.org")):
        git("config", key, value, at=clone)

    def push(path):
        return run(ROOT / "tools/package/push_site.sh", path, "pages", cwd=clone)

    assert f"published {V} on pages" in push(zipped)
    assert "already" in push(zipped)
    zips = tmp_path / "zips"
    zips.mkdir()
    assert "published v99.0.0" in push(other(zipped, zips, {"version": "v99.0.0"}))
    names = git("ls-tree", "--name-only", "pages", at=remote).split()
    assert {V, "v99.0.0", "latest", "index.html", "versions.json"} <= set(names) and "source" not in names
    assert git("rev-list", "--count", "pages", at=remote).strip() == "2"
    # The tree that it was called from is as it was.
    assert git("status", "--porcelain", at=clone) == "" and git("worktree", "list", at=clone).count("\n") == 1


def test_the_workflow_calls_what_is_there():
    text = (ROOT / ".github/workflows/site.yml").read_text("utf-8")
    called = re.findall(r"(?:run: |^ {10})(?:test \"v\$\()?((?:tools/|\./)[\w/.]+)", text, re.M)
    assert {"./dev", "tools/version.py", "tools/package/push_site.sh"} <= set(called)
    assert all((ROOT / name).stat().st_mode & 0o100 for name in called)
    assert not re.search(r"\t", text) and "contents: write" in text and 'tags: ["v*.*.*"]' in text
