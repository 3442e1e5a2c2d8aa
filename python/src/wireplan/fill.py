"""Elements of ours in Markdown or HTML: what stands in them is checked against the program, and filled in.

    <wireplan-value plan="story" path="memory.states.parameters" format="GB">14.5 GB</wireplan-value>
    <wireplan-planner plan="story" height="480"></wireplan-planner>
    <wireplan-table plans='["story", "story with parallel.data_sharding=fsdp"]' labels="DDP|FSDP" rows="memory.need_bytes step.time_s"></wireplan-table>

Published is what `expect` says, or without it the text between the tags. A plan may be anything that Answers.stated takes, with
changes after "with"; the browser gets it as a link. Examples in code are left alone.
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from html.parser import HTMLParser
from typing import NamedTuple

from wireplan import fallback
from wireplan.answers import Wrong
from wireplan.statement import Statement, plan_statement
from wireplan.words import words

MOST_DIGITS = 12  # after the point; the browser's elements write no more
ATTRIBUTES = r"((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)"
ELEMENT = re.compile(rf"<wireplan-(value|planner|table)\b{ATTRIBUTES}>(.*?)</wireplan-\1\s*>", re.S)
MARKDOWN_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$|^(?: {4}|\t).*?$|(?<!`)(`+)(?!`).*?(?<!`)\2(?!`)|<!--.*?-->", re.S | re.M)
HTML_CODE = re.compile(r"<(pre|code|script|style|textarea)\b.*?</\1\s*>|<!--.*?-->", re.S)


class Problem(NamedTuple):
    line: int
    text: str


class Filled(NamedTuple):
    text: str
    problems: list
    used: bool


class _Attributes(HTMLParser):
    found = None

    def handle_starttag(self, tag, attributes):
        self.found = {key: value or "" for key, value in attributes}


def attributes_of(text):
    parser = _Attributes()
    parser.feed(f"<a {text}>")
    return parser.found or {}


def tag(name, attributes):
    return f"<{name}" + "".join(f' {key}="{escape(value)}"' for key, value in attributes.items()) + ">"


def written(value):
    """The attributes that make the script write a value as it stands there: without a sign, and a number in its unit and digits."""
    number = {} if value.digits is None else {**({"format": value.form} if value.form else {}), "digits": str(value.digits)}
    return {"claim": "off", **number}


class Filler:
    """`live`: the browser has the elements' script, so plans become links it can read; else values become their text alone."""

    def __init__(self, answers, language="en", changed=None, site="", live=True):
        self.answers, self.language, self.changed, self.site, self.live = answers, language, changed, site, live

    def _words(self, attributes):
        return words(attributes.get("lang", self.language), self.changed)

    def fill(self, text, folder=".", html=False, keep=False):
        """`keep`: the tags stay as they were written, only the text between them changes (a file that is checked in)."""
        code = [match.span() for match in (HTML_CODE if html else MARKDOWN_CODE).finditer(text)]
        problems, used = [], False

        def filled(match):
            nonlocal used
            if any(start <= match.start() < end for start, end in code):
                return match[0]
            used = True
            try:
                make = {"value": self._value, "planner": self._planner, "table": self._table}[match[1]]
                return make(match, attributes_of(match[2]), folder, keep, lambda said: problems.append(Problem(line(match), said)))
            except (Wrong, ValueError) as error:
                problems.append(Problem(line(match), str(error)))
                return match[0]

        def line(match):
            return text.count("\n", 0, match.start()) + 1

        return Filled(ELEMENT.sub(filled, text), problems, used)

    def _value(self, match, attributes, folder, keep, problem):
        if not attributes.get("path"):
            raise ValueError('a <wireplan-value> needs path="…", such as memory.states.parameters')
        plan, edits = plan_statement(attributes.get("plan", ""))
        published = unescape(re.sub(r"<[^>]*>", "", match[3])).strip()
        expect = attributes.get("expect") or published or None
        digits = min(MOST_DIGITS, int(attributes["digits"])) if re.fullmatch("[0-9]{1,9}", attributes.get("digits", "")) else None
        value = self.answers.value(Statement(attributes["path"], plan, edits, attributes.get("format"), expect), folder, digits, attributes.get("over"), attributes.get("baseline"))
        if value.drift:
            problem(str(value.drift))
        shown = escape(self._words(attributes).get(value.text, value.text) if isinstance(value.raw, (str, bool)) else value.text)
        if keep:
            return f"<wireplan-value{match[2]}>{shown}</wireplan-value>"
        link = self.answers.link(plan, edits, folder) if self.live else None
        if not link:
            return f'<span class="wireplan-value">{shown}</span>'
        attributes.pop("expect", None)  # has just been looked at
        attributes = {**written(value), **attributes, "plan": link}
        if "baseline" in attributes:
            attributes["baseline"] = self.answers.link(*plan_statement(attributes["baseline"]), folder)
        return tag("wireplan-value", attributes) + shown + "</wireplan-value>"

    def _planner(self, match, attributes, folder, keep, problem):
        plan, edits = plan_statement(attributes.get("plan", attributes.get("link", "")))
        self.answers.estimate(plan, edits, folder)
        inside = match[3].strip() if match[3].strip() else fallback.planner(
            self.answers, plan, edits, folder, self._words(attributes), self.site, attributes.get("lang", self.language).startswith("en"))
        if keep:
            return match[0]
        link = self.answers.view(plan, edits, folder) if self.live else None
        if not link:
            return f'<figure class="wireplan">{inside}</figure>'
        attributes.pop("plan", None)  # and the link in its place
        return f'<figure class="wireplan">{tag("wireplan-planner", {**attributes, "link": link})}{inside}</wireplan-planner></figure>'

    def _table(self, match, attributes, folder, keep, problem):
        text = attributes.get("plans", "").strip()
        stated = json.loads(text) if text.startswith("[") else text.split()
        if wrong := [plan for plan in stated if not isinstance(plan, str)]:
            raise ValueError(f'plans="…" is an array of texts (scenario ids, links, files), and {json.dumps(wrong[0])[:80]} is none')
        plans = [plan_statement(plan) for plan in stated]
        if not plans:
            raise ValueError('a <wireplan-table> needs plans="…": links or scenario ids with spaces between them, or a JSON array')
        inside = match[3].strip() if match[3].strip() else fallback.table(self.answers, plans, attributes, folder, self._words(attributes))
        if keep:
            return match[0]
        links = [self.answers.link(plan, edits, folder) for plan, edits in plans] if self.live else [None]
        if not all(links):
            return f'<figure class="wireplan">{inside}</figure>'
        attributes["plans"] = json.dumps(links)
        return f'<figure class="wireplan">{tag("wireplan-table", attributes)}{inside}</wireplan-table></figure>'
