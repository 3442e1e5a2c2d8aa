"""A value of an estimate: found by its path, written as the program writes it (core/base/format.hpp: at most four digits)."""

from __future__ import annotations

DECIMAL = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1, "B"))
MINUS = "\u2212"


class Unknown(Exception):
    """No such path, or no such unit for it."""


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


def kind(path):
    """What a number is, by its name: units stand in the keys."""
    parts = [part for part in path.split(".") if part not in ("value", "low", "high") and not part.isdigit()]
    last = parts[-1]
    if last in ("mfu", "hfu", "efficiency"):
        return "share"
    if last.endswith("_bytes_per_s"):
        return "rate"
    if last.endswith("_s") and "_per_" not in last:
        return "time"
    if last == "bytes" or last.endswith("_bytes") or parts[0] == "memory" and len(parts) > 1 and parts[1] in ("states", "parts", "phases"):
        return "bytes"
    if "tflops" in last:
        return "flops"
    if last in ("parameters", "active_parameters"):
        return "parameters"
    return "count"


def written(value, path, unit=None, memory_unit="GiB"):
    """The value as text. `unit`: GB, GiB and their like, s, ms, µs, %, count, or nothing for what suits it; `raw`: every digit."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    is_a = kind(path)
    if unit == "raw":
        return repr(value)
    if unit == "count":
        return count(value)
    if unit is None:
        unit = memory_unit if is_a == "bytes" else None
    if is_a == "bytes":
        if unit in ("GB", "GiB"):
            return memory(value, unit)
        for steps in (DECIMAL, BINARY):
            for size, name in steps:
                if unit == name:
                    return f"{short(value / size, 1000)} {name}" if size > 1 else f"{count(value)} B"
    elif is_a == "time":
        if unit is None:
            return seconds(value)
        scale = {"s": 1, "ms": 1e3, "µs": 1e6, "us": 1e6, "min": 1 / 60, "h": 1 / 3600}.get(unit)
        if scale:
            return f"{short(value * scale, 1000 if unit == 's' else 100)} {'µs' if unit == 'us' else unit}"
    elif is_a == "share" and unit in (None, "%"):
        return percent(value)
    elif is_a == "rate" and unit is None:
        return rate(value)
    elif is_a == "flops" and unit is None:
        return flops_rate(value)
    elif is_a == "parameters" and unit is None:
        return parameters(value)
    elif is_a == "count" and unit is None:
        return count(value)
    raise Unknown(f'{path} cannot be shown in "{unit}": it is a {is_a}')


def short(value, whole_from):
    """At most four digits: whole from `whole_from` on, one decimal from 10 on, two below."""
    size = abs(value)
    if size == 0:
        return "0"
    decimals = 0 if size >= whole_from else 1 if size >= 10 else 2
    if decimals == 2 and size >= 9.995:
        decimals = 1
    if decimals == 1 and size >= whole_from - 0.05:
        decimals = 0
    return (MINUS if value < 0 else "") + f"{size:.{decimals}f}"


def count(value):
    text = f"{abs(value):,.0f}"
    return (MINUS if value < 0 and text != "0" else "") + text


def memory(value, unit):
    steps = DECIMAL if unit == "GB" else BINARY
    size = abs(value)
    if size == 0:
        return f"0 {unit}"
    if size >= 10 * steps[0][0]:
        return f"{short(value / steps[0][0], 1000)} {steps[0][1]}"
    step = next((s for s in steps[1:] if size >= 0.1 * s[0] or s[0] == 1))
    return f"{count(value)} B" if step[0] == 1 else f"{short(value / step[0], 1000)} {step[1]}"


def seconds(value):
    size = abs(value)
    sign = MINUS if value < 0 else ""
    if size == 0:
        return "0 s"
    if size >= 0.9995:
        return f"{sign}{short(size, 1000)} s"
    for scale, name in ((1e3, "ms"), (1e6, "µs")):
        if size * scale >= 0.9995:
            return f"{sign}{short(size * scale, 100)} {name}"
    return f"{sign}{short(size * 1e9, 100)} ns"


def rate(value):
    if not value > 0:
        return "0 GB/s"
    steps = DECIMAL if value >= 1e13 else DECIMAL[1:]
    size, name = next((s for s in steps if value >= 0.1 * s[0]), steps[-1])
    return f"{value / size:.{0 if value / size >= 99.95 else 1}f} {name}/s"


def flops_rate(tflops):
    value, name = (tflops / 1e3, "PFLOP/s") if tflops >= 1e4 else (tflops, "TFLOP/s")
    return f"{value:.{0 if value >= 99.95 else 1}f} {name}" if tflops > 0 else "0 TFLOP/s"


def percent(share):
    value = share * 100
    return "<1 %" if 0 < value < 0.5 else f"{count(value)} %"


def parameters(value):
    for scale, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= scale * 0.99995:  # what rounds up to the next unit is written in it
            size = value / scale
            return f"{size:.{3 if size < 9.9995 else 2 if size < 99.995 else 1 if size < 999.95 else 0}f} {name}"
    return f"{value:.0f}"


def same(published, actual):
    """Equal as texts, however spaces and minus signs were typed."""
    plain = lambda text: " ".join(text.replace("\u00a0", " ").replace("\u202f", " ").replace(MINUS, "-").split())  # noqa: E731
    return plain(published) == plain(actual)
