"""What a writer states about a number, in words that read as a sentence:

    memory.states.parameters of story with parallel.data_sharding=fsdp in GB expect 3.62 GB

The path comes first. Then, in any order but for `expect`, which takes the rest:
`of` a plan, `with` changes of it (FIELD=VALUE, several with spaces between), `in` a unit, `expect` the text that was published.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

WORDS = ("of", "with", "in", "expect")


class Statement(NamedTuple):
    path: str
    plan: Optional[str] = None  # None: the document's
    edits: tuple = ()
    unit: Optional[str] = None
    expect: Optional[str] = None


def plan_statement(text):
    """(plan, edits) of "story with parallel.data_sharding=fsdp"; the plan may be left out."""
    words = text.split()
    plan = None
    if words and words[0] != "with":
        plan = words.pop(0)
    if words and words.pop(0) != "with":
        raise ValueError(f'"{text}": after a plan only "with FIELD=VALUE …" may stand')
    return plan, _edits(words, text)


def value_statement(text):
    words = text.split()
    if not words or words[0] in WORDS:
        raise ValueError(f'"{text}" begins with no path, such as memory.states.parameters')
    found = {"path": words.pop(0)}
    while words:
        word = words.pop(0)
        if word not in WORDS:
            raise ValueError(f'"{text}": "{word}" is not one of: {", ".join(WORDS)}')
        if word in found:
            raise ValueError(f'"{text}" says "{word}" twice')
        taken = []
        while words and (word == "expect" or words[0] not in WORDS):
            taken.append(words.pop(0))
        if not taken:
            raise ValueError(f'"{text}": nothing stands after "{word}"')
        if word in ("of", "in") and len(taken) > 1:
            raise ValueError(f'"{text}": one word stands after "{word}"')
        found[word] = taken
    first = lambda key: found[key][0] if key in found else None  # noqa: E731
    return Statement(
        found["path"], first("of"), _edits(found.get("with", []), text), first("in"),
        " ".join(found["expect"]) if "expect" in found else None)


def labelled(line):
    """("Label", "rest") of "Label = rest"; without a label it is the rest itself."""
    label, sign, rest = line.partition(" = ")
    return (label.strip(), rest.strip()) if sign else (None, line.strip())


def _edits(words, text):
    for word in words:
        field, sign, _ = word.partition("=")
        if not sign or not field:
            raise ValueError(f'"{text}": "{word}" changes nothing; a change is FIELD=VALUE, without spaces')
    return tuple(words)
