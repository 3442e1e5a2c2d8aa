"""The program, as a process: found, asked, and its answers kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SECONDS = 60  # an estimate takes milliseconds; a process that takes longer will not answer


class Missing(Exception):
    """There is no program to ask."""


class Refused(Exception):
    """The program says that the input is wrong: `errors` as it lists them."""

    def __init__(self, errors):
        super().__init__("; ".join(error["text"] for error in errors))
        self.errors = errors


class Program:
    """wireplan at `path` (a name is looked up on PATH); `presets`: a folder of presets of one's own.

    `cache`: a folder where answers are kept by what was asked, of which build of the program, with which presets.
    """

    def __init__(self, path=None, presets=None, cache=None):
        self.stated = str(path or "wireplan")
        self.presets = Path(presets) if presets else None
        self.cache = Path(cache) if cache else None
        self._found = None

    def path(self):
        if self._found is None:
            self._found = shutil.which(self.stated)
            if not self._found:
                raise Missing(
                    f'the program "{self.stated}" is not there: install it, put it on PATH, or say where it is (wireplan_program, or --program)')
        return self._found

    def fingerprint(self):
        """Changes whenever answers may: another program, another folder of presets."""
        file = Path(self.path()).resolve()
        state = file.stat()
        seen = [str(file), state.st_size, state.st_mtime_ns]
        if self.presets:
            for preset in sorted(self.presets.rglob("*.json")):
                seen += [str(preset), hashlib.sha256(preset.read_bytes()).hexdigest()]
        return hashlib.sha256(repr(seen).encode()).hexdigest()

    def text(self, *arguments, document=None):
        """What a command prints. `document` goes in by standard input."""
        if self.presets and arguments[0] != "--version":
            arguments = (*arguments, "--presets", str(self.presets))
        key = hashlib.sha256(repr((self.fingerprint(), arguments, document)).encode()).hexdigest()
        kept = self.cache / key if self.cache else None
        if kept and kept.exists():
            return kept.read_text("utf-8")
        printed = self._run(arguments, document)
        if kept:
            self.cache.mkdir(parents=True, exist_ok=True)
            # Several processes of one build write here: each file appears whole or not at all.
            with tempfile.NamedTemporaryFile("w", dir=self.cache, delete=False, encoding="utf-8") as new:
                new.write(printed)
            os.replace(new.name, kept)
        return printed

    def _run(self, arguments, document):
        try:
            done = subprocess.run(
                [self.path(), *arguments], input=(document or "").encode(), capture_output=True, timeout=SECONDS)
        except OSError as error:
            raise Missing(f"{self.path()} does not start: {error}") from None
        except subprocess.TimeoutExpired:
            raise Missing(f"{self.path()} {arguments[0]} does not answer within {SECONDS} s") from None
        said = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode == 2:
            raise Refused(_errors(done.stdout, said))
        if done.returncode not in (0, 1):
            raise Missing(f"{self.path()} {arguments[0]} ended with {done.returncode}: {said[:400]}")
        return done.stdout.decode("utf-8")

    def version(self):
        return self.text("--version").split()[-1]

    def estimate(self, plan, edits=()):
        """The estimate of a plan (wireplan.estimate/1): a scenario id, a link, or the text of a plan document."""
        return json.loads(self.text(*_stated("estimate", plan, edits), "--json", document=_document(plan)))

    def link(self, plan, edits=()):
        """The plan as a share link, edits included: "#v=1&m=…"."""
        return self.text(*_stated("estimate", plan, edits), "--print-link", document=_document(plan)).strip()

    def sentence(self, plan, edits=(), unit=None):
        """The answer in a sentence or two."""
        options = ("--unit", unit) if unit else ()
        text = self.text(*_stated("estimate", plan, edits), *options, document=_document(plan))
        return " ".join(text.split("\n\n", 1)[0].split())


def _document(plan):
    return plan if plan.lstrip().startswith("{") else None


def _stated(command, plan, edits):
    arguments = [command, "-" if _document(plan) else plan]
    for edit in edits:
        arguments += ["--set", edit]
    return arguments


def _errors(stdout, said):
    try:
        return json.loads(stdout)["errors"]
    except (ValueError, KeyError, TypeError):
        return [{"path": "", "value": "", "limit": "", "text": said}]
