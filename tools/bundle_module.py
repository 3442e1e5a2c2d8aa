#!/usr/bin/env python3
"""Puts Emscripten's loader and the module's hand-written API into one file.

    bundle_module.py LOADER.mjs API.mjs OUT.mjs

The loader ends by exporting its factory createCore as default; the API begins
by importing it (import createCore from "./core.mjs"). In one file neither line
is needed. What is left exports exactly what the API exports. The API's @VERSION@ and @WASM@, the hash of LOADER.wasm as browsers check it, are
put in.
"""

import base64
import hashlib
import re
import sys
from pathlib import Path

from version import version

EXPORT = re.compile(r"^\s*export default createCore;?\s*$|\bexport default createCore;", re.M)
IMPORT = re.compile(r"""^import createCore from ["'][^"']+["'];?[^\n]*\n""", re.M)


def filled(text, **values):
    for name, value in values.items():
        if text.count(f"@{name}@") != 1:
            sys.exit(f"the API says @{name}@ {text.count(f'@{name}@')} times, expected once")
        text = text.replace(f"@{name}@", value)
    return text


def integrity(content):
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def bundle(loader, api, wasm):
    loader, exports = EXPORT.subn("", loader)
    api, imports = IMPORT.subn("", api)
    if exports != 1:
        sys.exit(f"the loader exports createCore {exports} times, expected once")
    if imports != 1:
        sys.exit(f"the API imports createCore {imports} times, expected once")
    return f"{loader.rstrip()}\n{filled(api, VERSION=version(), WASM=integrity(wasm))}"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    loader, api, out = map(Path, sys.argv[1:])
    out.write_text(
        bundle(loader.read_text(encoding="utf-8"), api.read_text(encoding="utf-8"), loader.with_suffix(".wasm").read_bytes()),
        encoding="utf-8",
    )
