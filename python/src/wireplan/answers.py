"""Answers about plans as documents state them, for every engine alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, Optional

from wireplan import values
from wireplan.program import Refused
from wireplan.statement import plan_statement
from wireplan.values import Unknown


class Wrong(Exception):
    """What a document states cannot be answered; the text says why and what would be right."""


class Drift(NamedTuple):
    """A published number that the program no longer gives."""

    path: str
    plan: str
    expected: str
    actual: str

    def __str__(self):
        return f"{self.path} of {self.plan} is published as {self.expected}, and is {self.actual} now"


class Value(NamedTuple):
    text: str  # as it is shown
    form: Optional[str]  # of a number: its unit, and the digits after the point
    digits: Optional[int]
    raw: object
    drift: Optional[Drift]


class Answers:
    """`plans`: names of plans of this documentation, each a file, link, scenario id or document; `plan`: the one that is meant
    where none is named; `unit`: of memory where none is asked for."""

    def __init__(self, program, plans=None, plan="story", unit="GiB"):
        self.program = program
        self.plans = dict(plans or {})
        self.plan = plan
        self.unit = unit

    def stated(self, plan, folder):
        """(what the program is given, the file that was read or None)."""
        plan = plan or self.plan
        seen = set()
        while plan in self.plans and plan not in seen:
            seen.add(plan)
            plan = self.plans[plan]
            if not isinstance(plan, str):  # as a configuration in YAML may have it
                plan = json.dumps(plan)
        if plan.lstrip().startswith("{"):
            return plan, None
        if "#v=" in plan:
            return plan[plan.index("#v="):], None
        if plan.endswith(".json"):
            file = Path(folder, plan)
            try:
                return file.read_text("utf-8"), file
            except OSError as error:
                raise Wrong(f"the plan {plan} cannot be read: {error.strerror}") from None
            except UnicodeDecodeError as error:
                raise Wrong(f"the plan {plan} cannot be read: byte {error.start} is no UTF-8") from None
        if plan.startswith("-") or "\0" in plan:  # an option of the program, its standard input, or what no program can be given
            raise Wrong(f"{plan!r:.80} is no plan: the id of a scenario, a link, a file that ends in .json, or a document")
        return plan, None

    def estimate(self, plan, edits, folder="."):
        return self._asked(self.program.estimate, plan, edits, folder)

    def link(self, plan, edits, folder="."):
        """The link of a plan that has an estimate; None where it is too long for one."""
        try:
            return self._asked(self.program.link, plan, edits, folder)
        except Wrong:
            return None

    def view(self, plan, edits, folder="."):
        """The link that opens the plan for a reader, in this documentation's unit of memory."""
        link = self.link(plan, edits, folder)
        return link and link + ("&u=gb" if self.unit == "GB" else "")

    def sentence(self, plan, edits, folder="."):
        return self._asked(self.program.sentence, plan, edits, folder, self.unit)

    def value(self, statement, folder=".", digits=None, over=None, baseline=None):
        """The value that a statement names, beside what was published: a number is compared, and shown, with as many digits as
        were published. As a share of the value at the path `over`, or so many times that of the plan `baseline`, where they are given."""
        estimate = self.estimate(statement.plan, statement.edits, folder)
        try:
            raw, unit, form = values.lookup(estimate, statement.path), values.unit_of(statement.path), statement.unit
            if over or baseline:
                other = self.estimate(*plan_statement(baseline), folder) if baseline else estimate
                raw, unit, form = self._related(raw, values.lookup(other, over or statement.path)), "", form or ("%" if over else "×")
            if isinstance(raw, (str, bool)) or raw is None:
                text, form, digits = values.written(raw, statement.path)
            else:
                published = values.read(statement.expect or "")
                if published and (not form or form == published[0]):
                    form = published[0] if published[0] in values.FORMS[unit] else form
                    digits = published[1] if digits is None else digits
                text, form, digits = values.formed(raw, unit, form or values.usual_form(raw, unit, self.unit), digits, statement.path)
        except Unknown as error:
            raise Wrong(str(error)) from None
        drift = None
        if statement.expect is not None and not values.same(statement.expect, text):
            drift = Drift(statement.path, self.named(statement.plan, statement.edits), statement.expect, text)
        return Value(text, form, digits, raw, drift)

    @staticmethod
    def _related(value, other):
        if not all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in (value, other)) or other == 0:
            raise Unknown("only numbers can be compared with others that are not 0")
        return value / other

    def named(self, plan, edits):
        return " with ".join(filter(None, (plan or self.plan, " ".join(edits))))

    def _asked(self, ask, plan, edits, folder, *more):
        given, _ = self.stated(plan, folder)
        try:
            return ask(given, edits, *more)
        except Refused as refused:
            raise Wrong(f"{self.named(plan, edits)}: {refused}") from None
