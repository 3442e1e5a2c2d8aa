"""Every source that a comment names in brackets, as in "[zero20] §7", stands in
assets/references.json."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = set(json.loads((ROOT / "assets/references.json").read_text("utf-8")))
COMMENT = re.compile(r"//(.*)$", re.M)
# With a hyphen or a year: other words in brackets are places in a list.
CITATION = re.compile(r"(?<![\w\]])\[([A-Za-z]\w*(?:-\w+)+|[A-Za-z]+[0-9]{2})\]")


def cited(text):
    return {key for comment in COMMENT.findall(text) for key in CITATION.findall(comment)}


def test_cited_sources_are_known():
    unknown = [
        f"{path.relative_to(ROOT).as_posix()}: {key}"
        for door in ("core", "native", "web", "tests")
        for path in sorted((ROOT / door).rglob("*"))
        if path.suffix in (".hpp", ".cpp", ".h")
        for key in sorted(cited(path.read_text("utf-8")) - KEYS)
    ]
    assert not unknown, "\n" + "\n".join(unknown)


def test_a_planted_citation_is_found():
    assert cited("x = 1;  // [zero20] §7, [pytorch-fsdp2]; list[row-1], [bytes]") == {"zero20", "pytorch-fsdp2"}
