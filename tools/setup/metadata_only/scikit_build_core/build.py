"""Stands in for imgui-bundle's build system while pip downloads its sources.

`pip download` asks a source distribution's own backend for name and version,
even with --no-deps. This one answers from PKG-INFO, which the archive carries,
so nothing is installed and nothing is configured. It builds nothing.
"""

import shutil
from pathlib import Path


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    info = Path(directory) / "imgui_bundle.dist-info"
    info.mkdir()
    shutil.copy("PKG-INFO", info / "METADATA")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
    return info.name


def build_wheel(*_):
    raise NotImplementedError("only the sources are wanted")
