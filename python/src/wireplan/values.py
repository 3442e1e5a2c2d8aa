"""A value of an estimate: found by its path, written as <wireplan-value> writes it (web/module/forms.mjs), so that a page says the
same before and after its script has run."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple, Optional

MINUS = "\u2212"
# Units that a writer can ask for, by the unit of the estimate: what one of them is.
FORMS = {
    "bytes": {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    "bytes/s": {"B/s": 1, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "MiB/s": 2**20, "GiB/s": 2**30},
    "s": {"s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "min": 60, "h": 3600},
    "FLOP": {"FLOP": 1, "GFLOP": 1e9, "TFLOP": 1e12, "PFLOP": 1e15},
    "TFLOP/s": {"TFLOP/s": 1, "PFLOP/s": 1e3},
    "tokens/s": {"tokens/s": 1},
    "": {"%": 0.01, "x": 1, "×": 1, "million": 1e6, "billion": 1e9, "trillion": 1e12},
}
WRITTEN = {"us": "µs", "x": "×"}
# From large to small: the first that a value reaches is taken where none is asked for.
USUAL = {"GB": ("GB", "MB", "kB", "B"), "GiB": ("GiB", "MiB", "KiB", "B"), "bytes/s": ("GB/s", "MB/s", "B/s"), "s": ("s", "ms", "µs"), "FLOP": ("TFLOP", "GFLOP", "FLOP")}


class Unknown(Exception):
    """No such path, or no such unit for it."""


class Written(NamedTuple):
    text: str
    form: Optional[str] = None  # of a number: its unit, and how many digits stand after the point
    digits: Optional[int] = None


def lookup(estimate, path):
    """The value at a path; of a band its middle. Lists are gone into by number or by the `name` of an entry."""
    here, gone = estimate, []
    for part in path.split("."):
        found = _child(here, part)
        if found is None:
            where = ".".join(gone) or "the estimate"
            raise Unknown(f'there is no "{part}" in {where}; there is {_choices(here)}')
        here = found[0]
        gone.append(part)
    if isinstance(here, dict) and {"low", "value", "high"} <= set(here):
        here = here["value"]
    if isinstance(here, (dict, list)):
        raise Unknown(f"{path} is not one value; it holds {_choices(here)}")
    return here


def _child(here, part):
    if isinstance(here, dict):
        return (here[part],) if part in here else None
    if isinstance(here, list):
        if part.isdigit():
            return (here[int(part)],) if int(part) < len(here) else None
        return next(((entry,) for entry in here if isinstance(entry, dict) and entry.get("name") == part), None)
    return None


def _choices(here):
    if isinstance(here, dict):
        return ", ".join(here) or "nothing"
    if isinstance(here, list):
        names = [entry["name"] for entry in here if isinstance(entry, dict) and "name" in entry]
        return ", ".join(names) or f"{len(here)} entries, by number"
    return "a value, nothing below it"


def unit_of(path):
    """The unit of a number, which its name says."""
    parts = [part for part in path.split(".") if part not in ("value", "low", "high")]
    last = parts[-1]
    if last.endswith("_bytes_per_s"):
        return "bytes/s"
    if last.startswith("tokens_per_s"):
        return "tokens/s"
    if "tflops" in last:
        return "TFLOP/s"
    if last.startswith("flops_per_"):
        return "FLOP"
    if last.endswith("_s"):
        return "s"
    if last == "bytes" or last.endswith("_bytes") or parts[0] == "memory" and len(parts) > 1 and parts[1] in ("states", "parts", "phases"):
        return "bytes"
    return ""


def usual_form(value, unit, memory="GiB"):
    if not unit:
        return "%" if 0 < value < 1 else None
    names = USUAL.get(memory if unit == "bytes" else unit, ())
    if value == 0:
        return names[0] if names else None
    return next((name for name in names if abs(value) >= FORMS[unit][name]), names[-1] if names else None)


def decimals(size, form):
    """At most four digits."""
    return 0 if size >= 1000 or size >= 100 and form not in ("GB", "GiB") else 1 if size >= 10 else 2


def formed(value, unit, form=None, digits=None, path="it"):
    """A number in a form of its unit; without one in the unit itself."""
    one = FORMS[unit].get(form) if form else 1
    if not one:
        raise Unknown(f'{path} cannot be shown in "{form}"; it can in {", ".join(FORMS[unit]) or "nothing but itself"}')
    size = Decimal(repr(value)) / Decimal(repr(one))
    if digits is None:
        whole = not form and float(value).is_integer()
        digits = 0 if whole or value == 0 else 1 if form == "%" else 4 if abs(size) < 0.1 else 3 if abs(size) < 1 else decimals(abs(size), form)
    number = f"{size.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"
    if number.startswith("-"):
        number = MINUS + number[1:]
    name = WRITTEN.get(form, form) if form else unit
    return Written(f"{number}{'' if name in ('×', '') else ' '}{name}", form, digits)


def written(value, path, form=None, digits=None, memory="GiB"):
    """The value as text, in the unit that is asked for or the usual one. Words and truths are what they are."""
    if value is None:
        return Written("–")
    if isinstance(value, bool):
        return Written("yes" if value else "no")
    if isinstance(value, str):
        return Written(value)
    unit = unit_of(path)
    return formed(value, unit, form or usual_form(value, unit, memory), digits, path)


def read(text):
    """"14.5 GB" as ("GB", 1): its unit and the digits after the point; None where it holds no number."""
    match = re.match(rf"^\s*[-{MINUS}+]?([\d,]*\.?\d+)\s*(.*?)\s*$", text)
    return (match[2], len(match[1].partition(".")[2])) if match else None


def same(published, actual):
    """Equal as texts, however spaces and minus signs were typed."""
    def plain(text):
        return "".join(text.replace("\u00a0", " ").replace("\u202f", " ").replace(MINUS, "-").split())
    return plain(published) == plain(actual)
