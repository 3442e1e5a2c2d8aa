"""The MkDocs plugin: elements in Markdown are checked and filled while the site is built.

    plugins:
      - wireplan:
          site: https://example.org/wireplan/v0.1.0/
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from shutil import copytree, ignore_patterns

from mkdocs.config import config_options as c
from mkdocs.config.base import Config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, get_plugin_logger
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

from wireplan.answers import Answers
from wireplan.fill import Filler
from wireplan.program import Missing, Program

log = get_plugin_logger(__name__)
STYLE = "assets/wireplan.css"
COPY = "assets/wireplan/"


class WireplanConfig(Config):
    program = c.Optional(c.Type(str))
    presets = c.Optional(c.Dir(exists=True))
    plan = c.Type(str, default="story")
    plans = c.Type(dict, default={})
    unit = c.Choice(("GB", "GiB"), default="GiB")
    language = c.Type(str, default="en")
    words = c.Type(dict, default={})
    strict = c.Type(bool, default=True)
    site = c.Type(str, default="")
    site_folder = c.Optional(c.Dir(exists=True))
    integrity = c.Optional(c.Type(str))


class WireplanPlugin(BasePlugin[WireplanConfig]):
    def on_config(self, config):
        if self.config.site and self.config.site_folder:
            raise PluginError("wireplan: site and site_folder exclude each other: a site elsewhere, or a copy of one")
        self.answers = Answers(Program(self.config.program, self.config.presets), self.config.plans, self.config.plan, self.config.unit)
        self.problems, self.pages = [], set()
        return config

    def on_files(self, files, config):
        files.append(File("wireplan.css", str(Path(__file__).with_name("static")), config.site_dir, False, dest_uri=STYLE))
        return files

    def _base(self, page):
        if self.config.site_folder:
            return get_relative_url(COPY, page.url) + "/"
        site = self.config.site
        return site if not site or site.endswith("/") else site + "/"

    def on_page_markdown(self, markdown, page, config, files):
        filler = Filler(
            self.answers, self.config.language, self.config.words, self._base(page), live=bool(self._base(page)))
        try:
            filled = filler.fill(markdown, Path(page.file.abs_src_path).parent)
        except Missing as missing:
            raise PluginError(f"wireplan: {missing}") from None
        # MkDocs hands over what stands below the front matter.
        source = Path(page.file.abs_src_path).read_text("utf-8-sig")
        above = source.count("\n", 0, max(0, source.find(markdown.strip()[:200])))
        above -= markdown.count("\n", 0, len(markdown) - len(markdown.lstrip()))
        self.problems += [f"{page.file.src_uri}:{above + line}: {text}" for line, text in filled.problems]
        if filled.used:
            self.pages.add(page.file.src_uri)
        return filled.text

    def on_post_page(self, output, page, config):
        if page.file.src_uri not in self.pages:
            return output
        head = f'<link rel="stylesheet" href="{escape(get_relative_url(STYLE, page.url))}">'
        if self._base(page):
            pinned = f' integrity="{escape(self.config.integrity)}" crossorigin="anonymous"' if self.config.integrity else ""
            head += f'<script type="module" src="{escape(self._base(page))}wireplan-elements.mjs"{pinned}></script>'
        return output.replace("</head>", head + "</head>", 1)

    def on_env(self, env, config, files):
        for problem in self.problems:
            (log.error if self.config.strict else log.warning)(problem)
        if self.problems and self.config.strict:
            raise PluginError(f"wireplan: {len(self.problems)} of this site's numbers cannot stand as they are (listed above)")
        return env

    def on_post_build(self, config):
        if self.config.site_folder:
            copytree(self.config.site_folder, Path(config.site_dir, COPY), dirs_exist_ok=True, ignore=ignore_patterns("docs"))
