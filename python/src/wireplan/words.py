"""The few texts that are ours, by language."""

from __future__ import annotations

import json
from pathlib import Path

ALL = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))


def words(language, changed=None):
    """Those of a language ("vi", "vi_VN"; English where there is none), with what an author says otherwise."""
    return {**ALL["en"], **ALL.get((language or "en").replace("-", "_").split("_")[0], {}), **(changed or {})}
