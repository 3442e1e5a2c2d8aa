"""What a page that is not ours needs to take files from a host and accept these bytes alone (Subresource Integrity)."""

import base64
import hashlib
import html
import json

# What a browser checks by a hash that the page states.
CHECKED = (".mjs", ".js", ".css", ".wasm")


def integrity(content):
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def manifest(version, files):
    """The document integrity.json: {name: {integrity, bytes}} for every file of a version."""
    return {
        "schema": "wireplan.integrity/1",
        "version": version,
        "files": {name: {"integrity": integrity(content), "bytes": len(content)} for name, (content, _) in sorted(files.items())},
    }


def tags(version, files, modules, elements):
    """Lines to paste into a page, for a host that the reader fills in. `modules`: {bare name: file}; `elements`: files that a page loads by a script of its own."""
    host = "https://YOUR.HOST/v" + version
    state = {name: integrity(files[name][0]) for name in [*modules.values(), *elements]}
    lines = [
        f"Wireplan {version}, pinned: put the address of your host in place of https://YOUR.HOST.",
        "The folder v" + version + " never changes, so the hashes stay right for ever; latest/ changes, so it has none.",
    ]
    for name in elements:
        lines += ["", "Custom elements, anywhere in a page:", "", f'<script type="module" src="{host}/{name}" integrity="{state[name]}" crossorigin="anonymous"></script>']
    imports = {"imports": {bare: f"{host}/{name}" for bare, name in modules.items()}, "integrity": {f"{host}/{name}": state[name] for name in modules.values()}}
    lines += ["", "The module, by its name in scripts of the page (before the first script of type module):", "", f'<script type="importmap">{json.dumps(imports, indent=2)}</script>']
    lines += [f'<link rel="modulepreload" href="{host}/{name}" integrity="{state[name]}" crossorigin="anonymous">' for name in modules.values()]
    lines += ["", "The planner in a frame (a frame has no hash; the path pins it):", "", f'<iframe src="{host}/embed.html#v=1" title="{html.escape("Wireplan: memory and time of a training step")}" loading="lazy" width="100%" height="640"></iframe>']
    return "\n".join(lines) + "\n"
