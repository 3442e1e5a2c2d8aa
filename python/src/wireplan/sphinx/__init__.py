"""The Sphinx extension.

    extensions = ["wireplan.sphinx"]

    .. wireplan:: story                        an interactive planner, with a static picture and table in it
    .. wireplan-table::                        values of several plans side by side
    .. wireplan-plan:: story                   what "the plan" is from here on in this document
    :wireplan:`memory.states.parameters in GB expect 14.5 GB`
    <wireplan-value path="memory.states.parameters" format="GB">14.5 GB</wireplan-value>      the same in Markdown

Everything is worked out while the documentation is built, by the program; a number that is no longer what `expect` says ends the
build. docs/engines.md has the manual.
"""

from __future__ import annotations

from wireplan import __version__
from wireplan.sphinx import assets, build, markdown, nodes
from wireplan.sphinx.directives import PlanDirective, PlannerDirective, TableDirective
from wireplan.sphinx.role import ValueRole


def setup(app):
    # What decides the numbers is "env": with another value every document is read again.
    app.add_config_value("wireplan_program", None, "env", (str, type(None)))
    app.add_config_value("wireplan_presets", None, "env", (str, type(None)))
    app.add_config_value("wireplan_plan", "story", "env", (str,))
    app.add_config_value("wireplan_plans", {}, "env", (dict,))
    app.add_config_value("wireplan_unit", "GiB", "env", (str,))
    app.add_config_value("wireplan_strict", True, "env", (bool,))
    app.add_config_value("wireplan_words", {}, "env", (dict,))
    # And these only how it is shown in HTML.
    app.add_config_value("wireplan_site", None, "html", (str, type(None)))
    app.add_config_value("wireplan_site_folder", None, "html", (str, type(None)))
    app.add_config_value("wireplan_integrity", None, "html", (str, type(None)))

    nodes.register(app)
    app.add_role("wireplan", ValueRole())
    app.add_directive("wireplan", PlannerDirective)
    app.add_directive("wireplan-table", TableDirective)
    app.add_directive("wireplan-plan", PlanDirective)
    build.connect(app)
    markdown.connect(app)
    assets.connect(app)
    return {"version": __version__, "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
