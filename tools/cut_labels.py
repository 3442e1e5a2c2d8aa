#!/usr/bin/env python3
"""Writes what the custom elements say besides their loader's few words, a file for each language: names of the estimate's numbers and of what each
is worth, out of the page's own languages, with what only the elements say.

    cut_labels.py LANGUAGES_DIR LABELS.json OUT_DIR      writes OUT_DIR/wireplan-labels.<language>.json
"""

import json
import sys
from pathlib import Path

KINDS = ("path.model.", "path.memory.", "path.step.", "comm.field.", "claim.")


def cut(page, own):
    return {key: text for key, text in page.items() if key.startswith(KINDS)} | own


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    languages, labels, out = map(Path, sys.argv[1:])
    for language, own in json.loads(labels.read_text(encoding="utf-8")).items():
        page = json.loads((languages / f"{language}.json").read_text(encoding="utf-8"))
        text = json.dumps(cut(page, own), ensure_ascii=False, separators=(",", ":"))
        (out / f"wireplan-labels.{language}.json").write_text(text + "\n", encoding="utf-8")
