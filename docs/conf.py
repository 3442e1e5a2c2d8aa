# The documentation site: Sphinx, MyST and furo. tools/docs/build.py copies this folder beside pages that it generates (reference/)
# and calls Sphinx there. Sphinx, since our own extension checks every number in it, and MyST, since the pages are read on the
# repository as plain Markdown, too.
project = "Wireplan"
author = "the authors of Wireplan"
copyright = "the authors of Wireplan, Apache 2.0"
extensions = ["myst_parser", "wireplan.sphinx"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4  # links to headings, as repositories make them
exclude_patterns = ["images/README.md"]

wireplan_unit = "GB"      # the story counts as its article does
wireplan_site = "../"     # these pages lie in docs/ of the site

html_theme = "furo"
html_title = "Wireplan"
html_static_path = ["static"]
html_css_files = ["docs.css"]
html_favicon = "static/logo.svg"
html_show_sphinx = False
html_copy_source = False
html_use_index = False
html_theme_options = {
    # The page's own ink and accents (web/shell/page.css); no font is fetched.
    "light_css_variables": {
        "font-stack": 'Inter, system-ui, "Segoe UI", Roboto, sans-serif',
        "font-stack--monospace": '"JetBrains Mono", ui-monospace, Menlo, Consolas, monospace',
        "color-brand-primary": "#14181d", "color-brand-content": "#1d5fe0", "color-foreground-primary": "#14181d",
    },
    "dark_css_variables": {"color-brand-primary": "#eceff2", "color-brand-content": "#7fb0ff", "color-foreground-primary": "#eceff2"},
}
# What a lexer does not know is no fault of a page.
suppress_warnings = ["misc.highlighting_failure", "myst.header", "toc.not_included"]  # the last: tests/sites looks
highlight_language = "none"


def setup(app):
    # A page in another language says so, to search engines and to voices.
    app.connect("html-page-context", lambda app, page, template, context, doctree: context.update(language="vi") if page.endswith(".vi") else None)
