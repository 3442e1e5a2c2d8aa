"""What a build knows: the answers, which documents used them, and what was wrong; across processes and from build to build."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sphinx.errors import ConfigError
from sphinx.util import logging

from wireplan.answers import Answers, Wrong
from wireplan.program import Missing, Program
from wireplan.words import words as by_language

logger = logging.getLogger(__name__)


class Problem(NamedTuple):
    docname: str
    place: str  # file:line
    text: str


_answers = None  # of the build that runs; processes that read in parallel inherit it


def answers():
    return _answers


def _made(app):
    config = app.config
    if config.wireplan_unit not in ("GB", "GiB"):
        raise ConfigError(f'wireplan_unit is "{config.wireplan_unit}"; it can be GB or GiB')
    program, presets = config.wireplan_program, config.wireplan_presets
    if program and Path(program).name != program:
        program = Path(app.confdir, program)
    program = Program(program, Path(app.confdir, presets) if presets else None, Path(app.doctreedir, "wireplan"))
    return Answers(program, config.wireplan_plans, config.wireplan_plan, config.wireplan_unit)


def words(config):
    """The texts that are ours, in the documentation's language."""
    return by_language(config.language, config.wireplan_words)


def note_use(env):
    env.wireplan_used.add(env.docname)


def note_problem(env, place, text):
    """Remembered, so that all of them stand in one list at the end of reading."""
    env.wireplan_problems.append(Problem(env.docname, place, text))


FAILURES = (Wrong, Missing)


def _begin(app):
    global _answers
    _answers = _made(app)
    env = app.env
    for name, empty in (("wireplan_used", set()), ("wireplan_problems", []), ("wireplan_fingerprint", None)):
        if not hasattr(env, name):
            setattr(env, name, empty)


def _fingerprint():
    try:
        return answers().program.fingerprint()
    except Missing:
        return None


def _outdated(app, env, added, changed, removed):
    """Another program, or other presets: every document that shows a number is read again. Those with problems always are,
    or a second build, with nothing changed, would end well."""
    before, env.wireplan_fingerprint = env.wireplan_fingerprint, _fingerprint()
    again = env.wireplan_used if before != env.wireplan_fingerprint else {problem.docname for problem in env.wireplan_problems}
    return sorted(again - removed)


def _forget(app, env, docname):
    env.wireplan_used.discard(docname)
    env.wireplan_problems = [problem for problem in env.wireplan_problems if problem.docname != docname]


def _merge(app, env, docnames, other):
    env.wireplan_used |= {name for name in other.wireplan_used if name in docnames}
    env.wireplan_problems += [problem for problem in other.wireplan_problems if problem.docname in docnames]


def _judge(app, env):
    """All that was wrong, once each, where it stands first; then the build goes on, and ends with status 1."""
    say = logger.error if app.config.wireplan_strict else logger.warning
    places = {}
    for problem in sorted(set(env.wireplan_problems)):
        places.setdefault(problem.text, []).append(problem.place)
    for text, where in places.items():
        more = f" (and {len(where) - 1} more places)" if len(where) > 1 else ""
        say(text + more, location=where[0], type="wireplan")
    if places and app.config.wireplan_strict:
        app.statuscode = 1


def connect(app):
    app.connect("builder-inited", _begin)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
    app.connect("env-check-consistency", _judge)
