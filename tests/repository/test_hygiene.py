"""What no committed file may hold: the host of a package registry (mirrors and
caches differ from machine to machine; apt and pip know theirs), a path of the
machine it was written on, or the name of a note that is not in the repository.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Character classes keep these patterns from matching their own source.
FORBIDDEN = {
    "a registry's host": re.compile(
        r"\b(deb|security|ftp|snapshot|packages)[.]debian[.]org|\bpypi[.]org|[.]pythonhosted[.]org"
        r"|registry[.]npmjs[.]org|registry[.]yarnpkg[.]com|\bcrates[.]io|proxy[.]golang[.]org"
        r"|repo[.]maven[.]apache[.]org|rubygems[.]org|deb[.]nodesource[.]com|conda[.]anaconda[.]org",
        re.I,
    ),
    "a path of one machine": re.compile(r"(?<![\w.])[/](work|home|Users)[/]\w"),
    "a note outside the repository": re.compile(
        r"\bID[S][.]md|\bstud[y]_\w|(?<![\w/])share[d][/]|\breferenc[e][/]\w+[.]jsonl"
    ),
}


def findings(text):
    return [
        f"{what}: {match[0]}"
        for what, pattern in FORBIDDEN.items()
        for match in pattern.finditer(text)
    ]


def committed():
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_committed_files_are_clean():
    found = []
    for path in committed():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{path.relative_to(ROOT)}: {line}" for line in findings(text)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    ["http://deb." + "debian.org/debian", "https://py" + "pi.org/simple", "cd /wo" + "rk/main",
     "ids of ID" + "S.md", "see stud" + "y_memory", "from share" + "d/facts", "rows of referenc" + "e/training.jsonl"],
)
def test_a_planted_violation_is_found(text):
    assert findings(text)
