"""The nodes, and what they are in HTML. Everywhere else (LaTeX, text, man pages, EPUB) they are what stands in them."""

from __future__ import annotations

from html import escape

from docutils import nodes

from wireplan.sphinx import assets


class wireplan_value(nodes.Inline, nodes.TextElement):
    """A value; its text is what the program gave."""


class wireplan_figure(nodes.General, nodes.Element):
    """A planner or a table with its caption."""


class wireplan_planner(nodes.General, nodes.Element):
    """What stands in the place of the planner until a reader starts it, and wherever nothing can run."""


class wireplan_caption(nodes.General, nodes.TextElement):
    pass


class wireplan_link(nodes.General, nodes.TextElement):
    """To a site that has no address of its own: only HTML can follow it."""


class wireplan_picture(nodes.General, nodes.Element):
    """Finished HTML that has no counterpart elsewhere: the table beside it says the same."""


def live(self):
    return assets.runs(self.builder) and bool(assets.site(self.builder.config))


def visit_value(self, node):
    if live(self) and node["link"]:
        self.body.append(self.starttag(node, "wireplan-value", "", plan=node["link"], path=node["path"], **node["how"]))
        node["tag"] = "wireplan-value"
    else:
        self.body.append(self.starttag(node, "span", "", CLASS="wireplan-value"))
        node["tag"] = "span"


def depart_value(self, node):
    self.body.append(f'</{node["tag"]}>')


def visit_figure(self, node):
    self.body.append(self.starttag(node, "figure" if self.builder.name != "epub" else "div", CLASS="wireplan"))


def depart_figure(self, node):
    self.body.append("</figure>\n" if self.builder.name != "epub" else "</div>\n")


def visit_planner(self, node):
    if live(self) and node.get("link"):
        self.body.append(self.starttag(node, "wireplan-planner", **{key: node[key] for key in ("link", "panels", "height", "theme", "lang") if node.get(key)}, **({"readonly": ""} if node.get("readonly") else {})))


def depart_planner(self, node):
    if live(self) and node.get("link"):
        self.body.append("</wireplan-planner>\n")


def visit_caption(self, node):
    self.body.append(self.starttag(node, "figcaption" if self.builder.name != "epub" else "p", ""))


def depart_caption(self, node):
    self.body.append("</figcaption>\n" if self.builder.name != "epub" else "</p>\n")


def visit_link(self, node):
    if not live(self):
        raise nodes.SkipNode
    self.body.append(f'<p class="wp-open"><a href="{escape(assets.address(self.builder, self.builder.current_docname) + node["link"])}">')


def depart_link(self, node):
    self.body.append("</a></p>\n")


def visit_picture(self, node):
    self.body.append(node["html"])
    raise nodes.SkipNode


def passed(self, node):
    """Only what stands inside."""


def skipped(self, node):
    raise nodes.SkipNode


def visit_caption_elsewhere(self, node):
    self.visit_paragraph(node)


def depart_caption_elsewhere(self, node):
    self.depart_paragraph(node)


OTHERS = ("latex", "text", "man", "texinfo")


def register(app):
    def add(node, html, elsewhere):
        app.add_node(node, html=html, **{name: elsewhere for name in OTHERS})

    add(wireplan_value, (visit_value, depart_value), (passed, passed))
    add(wireplan_figure, (visit_figure, depart_figure), (passed, passed))
    add(wireplan_planner, (visit_planner, depart_planner), (passed, passed))
    add(wireplan_caption, (visit_caption, depart_caption), (visit_caption_elsewhere, depart_caption_elsewhere))
    add(wireplan_link, (visit_link, depart_link), (skipped, None))
    add(wireplan_picture, (visit_picture, None), (skipped, None))
