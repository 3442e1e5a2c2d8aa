"""The program as a process: wireplan(*arguments) runs it, wireplan.json(...) parses what it prints."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Program:
    path = os.environ.get("WIREPLAN_PROGRAM", str(ROOT / "build/native/wireplan"))

    def __call__(self, *arguments, text=None, **options):
        """Runs the program; a crash or a hang is a failure whatever the test looks at."""
        options.setdefault("timeout", 60)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        if text is None:
            options.setdefault("stdin", subprocess.DEVNULL)
        else:
            options["input"] = text if isinstance(text, bytes) else text.encode()
        done = subprocess.run([self.path, *arguments], **options)
        assert done.returncode in (0, 1, 2, 77), (arguments, done.returncode, done.stderr)
        done.out = (done.stdout or b"").decode()
        done.err = (done.stderr or b"").decode(errors="replace")
        return done

    def json(self, *arguments, **options):
        done = self(*arguments, "--json", **options)
        assert done.returncode == 0, done.err
        return json.loads(done.out, parse_constant=lambda name: pytest.fail(name))

    def errors(self, *arguments, **options):
        """The error list of a call that must be refused, on both channels."""
        done = self(*arguments, "--json", **options)
        assert done.returncode == 2, (done.returncode, done.out[:500])
        errors = json.loads(done.out)["errors"]
        assert errors and done.err.strip()
        for error in errors:
            assert list(error) == ["path", "value", "limit", "text"]
            assert all(isinstance(part, str) for part in error.values()) and error["text"]
            assert len(error["value"]) <= 80
        return errors
