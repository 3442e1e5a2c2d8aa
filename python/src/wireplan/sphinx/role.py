"""One value inside a sentence: :wireplan:`memory.states.parameters of story in GB expect 14.5 GB`."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes as docutils_nodes
from sphinx.util.docutils import SphinxRole

from wireplan.fill import written
from wireplan.sphinx import build
from wireplan.sphinx.nodes import wireplan_value
from wireplan.statement import value_statement


class ValueRole(SphinxRole):
    def run(self):
        env = self.env
        build.note_use(env)
        place = "{}:{}".format(*self.get_source_info())
        try:
            statement = with_plan(value_statement(self.text), env)
            return [value_node(env, statement, place)], []
        except ValueError as error:
            build.note_problem(env, place, str(error))
            return [docutils_nodes.literal(self.rawtext, self.text)], []


def with_plan(statement, env):
    """The document's plan, with its changes before the statement's own, where the statement names none."""
    if statement.plan is not None:
        return statement
    plan, edits = env.temp_data.get("wireplan_plan", (None, ()))
    return statement._replace(plan=plan, edits=(*edits, *statement.edits))


def value_node(env, statement, place, live=True):
    """The value as a node; where it cannot be had, what was published stands in its place. `live`: an element in HTML."""
    answers = build.answers()
    folder = folder_of(env)
    shown, link, how = statement.expect or statement.path, None, {}
    try:
        depend(env, answers, statement.plan)
        value = answers.value(statement, folder)
        link = answers.link(statement.plan, statement.edits, folder) if live else None
        shown = build.words(env.config).get(value.text, value.text) if isinstance(value.raw, (str, bool)) else value.text
        how = written(value)
        if value.drift:
            build.note_problem(env, place, str(value.drift))
    except build.FAILURES as error:
        build.note_problem(env, place, str(error))
    node = wireplan_value("", "", docutils_nodes.Text(shown))
    node["path"], node["how"], node["link"] = statement.path, how, link
    return node


def folder_of(env):
    return Path(env.doc2path(env.docname)).parent


def depend(env, answers, plan):
    """A plan in a file: the document is read again when that changes."""
    _, file = answers.stated(plan, folder_of(env))
    if file:
        env.note_dependency(str(file))
