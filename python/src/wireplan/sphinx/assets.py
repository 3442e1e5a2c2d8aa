"""The elements' script and our style sheet, on the pages that show something of ours."""

from __future__ import annotations

from html import escape
from pathlib import Path
from shutil import copytree, ignore_patterns

from sphinx.errors import ConfigError
from sphinx.util.osutil import relative_uri

STATIC = Path(__file__).parents[1] / "static"
ELEMENTS = "wireplan-elements.mjs"


def site(config):
    """Where the planner's site is: a URL, or a path from the documentation's root; empty where there is none."""
    if config.wireplan_site_folder:
        return "_static/wireplan/"
    stated = config.wireplan_site or ""
    return stated if not stated or stated.endswith("/") else stated + "/"


def runs(builder):
    """Elements run in HTML; an e-book runs none."""
    return builder.format == "html" and builder.name != "epub"


def address(builder, docname, file=""):
    """A file of the site, as a page of the documentation names it."""
    base = site(builder.config) + file
    return base if "://" in base or base.startswith("/") else relative_uri(builder.get_target_uri(docname), base)


def _check(app, config):
    if config.wireplan_site and config.wireplan_site_folder:
        raise ConfigError("wireplan_site and wireplan_site_folder exclude each other: a site elsewhere, or a copy of one")
    if config.wireplan_site_folder and not Path(app.confdir, config.wireplan_site_folder, ELEMENTS).exists():
        raise ConfigError(f"wireplan_site_folder: there is no {ELEMENTS} in {Path(app.confdir, config.wireplan_site_folder)}")


def _page(app, pagename, template, context, doctree):
    if pagename not in app.env.wireplan_used:
        return
    app.add_css_file("wireplan.css")
    if site(app.config) and runs(app.builder):
        source = address(app.builder, pagename, ELEMENTS)
        pinned = f' integrity="{escape(app.config.wireplan_integrity)}" crossorigin="anonymous"' if app.config.wireplan_integrity else ""
        context["metatags"] = context.get("metatags", "") + f'\n    <script type="module" src="{escape(source)}"{pinned}></script>'


def _static(app):
    if app.builder.format == "html":
        app.config.html_static_path.append(str(STATIC))


def _copied(app, exception):
    if exception is None and runs(app.builder) and app.config.wireplan_site_folder:
        copytree(Path(app.confdir, app.config.wireplan_site_folder), Path(app.outdir, "_static/wireplan"), dirs_exist_ok=True, ignore=ignore_patterns("docs"))


def connect(app):
    app.connect("config-inited", _check)
    app.connect("builder-inited", _static)
    app.connect("html-page-context", _page)
    app.connect("build-finished", _copied)
