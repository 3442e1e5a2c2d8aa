"""Elements of ours written as HTML in Markdown: filled and checked like role and directive, and still readable where nothing builds it."""

from __future__ import annotations

from pathlib import Path

from wireplan.fill import Filler
from wireplan.sphinx import assets, build

SUFFIXES = (".md", ".markdown")


def _fill(app, docname, source):
    path = Path(app.env.doc2path(docname))
    if path.suffix not in SUFFIXES:
        return
    site = assets.site(app.config)
    filler = Filler(
        build.answers(), app.config.language or "en", app.config.wireplan_words, assets.address(app.builder, docname) if site else "",
        live=bool(site) and assets.runs(app.builder))
    try:
        filled = filler.fill(source[0], path.parent)
    except build.FAILURES as error:
        build.note_problem(app.env, str(path), str(error))
        return
    for problem in filled.problems:
        build.note_problem(app.env, f"{path}:{problem.line}", problem.text)
    if filled.used:
        build.note_use(app.env)
        source[0] = filled.text


def connect(app):
    app.connect("source-read", _fill)
