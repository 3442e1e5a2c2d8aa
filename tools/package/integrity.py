"""What a page that is not ours needs to take files from a host and accept these bytes alone (Subresource Integrity)."""

import html
import json

from bundle_module import integrity

# What a browser checks by a hash that the page states.
CHECKED = (".mjs", ".js", ".css", ".wasm")


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
    # The entry points, and what they load when it is wanted.
    state = {name: integrity(content) for name, (content, _) in sorted(files.items()) if name.startswith("wireplan") and name.endswith(".mjs")}
    imports = {"imports": {bare: f"{host}/{name}" for bare, name in modules.items()}, "integrity": {f"{host}/{name}": hash_ for name, hash_ in state.items()}}
    lines = [
        f"Wireplan {version}, pinned: put the address of your host in place of https://YOUR.HOST.",
        "The folder v" + version + " never changes, so the hashes stay right for ever; latest/ changes, so it has none.",
        "",
        "Names and hashes of the module and of what is loaded later, once in a page, before its first script of type module:",
        "",
        f'<script type="importmap">{json.dumps(imports, indent=2)}</script>',
    ]
    for name in elements:
        lines += ["", "Custom elements:", "", f'<script type="module" src="{host}/{name}" integrity="{state[name]}" crossorigin="anonymous"></script>']
    lines += ["", "The module, fetched ahead; browsers that do not read hashes of import maps check this one:", ""]
    lines += [f'<link rel="modulepreload" href="{host}/{name}" integrity="{state[name]}" crossorigin="anonymous">' for name in modules.values()]
    lines += ["", "The planner in a frame (a frame has no hash; the path pins it):", "", f'<iframe src="{host}/embed.html#v=1" title="{html.escape("Wireplan: memory and time of a training step")}" loading="lazy" width="100%" height="640"></iframe>']
    return "\n".join(lines) + "\n"
