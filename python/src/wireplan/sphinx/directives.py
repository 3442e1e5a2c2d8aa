"""wireplan, wireplan-table, wireplan-plan."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from wireplan import picture
from wireplan.fallback import SUMMARY
from wireplan.sphinx import assets, build
from wireplan.sphinx.nodes import wireplan_caption, wireplan_figure, wireplan_link, wireplan_picture, wireplan_planner
from wireplan.sphinx.role import depend, folder_of, value_node, with_plan
from wireplan.statement import Statement, labelled, plan_statement, value_statement


def lines(text):
    return [line.strip() for line in (text or "").splitlines() if line.strip()]


class WireplanDirective(SphinxDirective):
    def place(self):
        return "{}:{}".format(*self.get_source_info())

    def plan(self, text):
        """(plan, edits) of a text, those of the document where it names none."""
        stated = with_plan(Statement("", *plan_statement(text)), self.env)
        return stated.plan, (*stated.edits, *self.options.get("with", "").split())

    def problem(self, error):
        build.note_problem(self.env, self.place(), str(error))

    def figure(self, *children):
        figure = wireplan_figure("", *children)
        self.set_source_info(figure)
        self.add_name(figure)
        if self.content:
            caption = nodes.Element()
            self.state.nested_parse(self.content, self.content_offset, caption)
            for paragraph in caption.children:
                figure += wireplan_caption("", "", *paragraph.children) if isinstance(paragraph, nodes.paragraph) else paragraph
        return figure


class PlannerDirective(WireplanDirective):
    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        "with": directives.unchanged,
        "panels": directives.unchanged_required,
        "height": directives.positive_int,
        "readonly": directives.flag,
        "theme": lambda text: directives.choice(text, ("auto", "light", "dark")),
        "lang": directives.unchanged_required,
        "name": directives.unchanged,
    }

    def run(self):
        build.note_use(self.env)
        answers, words, folder = build.answers(), build.words(self.config), folder_of(self.env)
        planner = wireplan_planner()
        try:
            plan, edits = self.plan(self.arguments[0] if self.arguments else "")
            depend(self.env, answers, plan)
            estimate = answers.estimate(plan, edits, folder)
            planner["link"] = answers.view(plan, edits, folder)
            language = self.options.get("lang", self.config.language or "en").split("_")[0]
            if language.startswith("en"):  # the program's sentences are English
                planner += nodes.paragraph("", answers.sentence(plan, edits, folder))
            planner += wireplan_picture(html=picture.memory(estimate, answers.unit, words))
            rows = [[[nodes.Text(words[word])], [value_node(self.env, Statement(path, plan, edits), self.place(), live=False)]] for word, path in SUMMARY]
            planner += table(rows)
            if planner["link"]:
                planner += open_link(assets.site(self.config), planner["link"], words["open"])
        except (ValueError, *build.FAILURES) as error:
            self.problem(error)
            planner += nodes.paragraph("", str(error))
        for option in ("panels", "height", "theme", "lang"):
            if option in self.options:
                planner[option] = str(self.options[option])
        planner["readonly"] = "readonly" in self.options
        return [self.figure(planner)]


class TableDirective(WireplanDirective):
    """Plans down, values across; or with :across: plans the other way round."""

    has_content = True
    option_spec = {
        "plans": directives.unchanged_required,
        "values": directives.unchanged_required,
        "expect": directives.unchanged_required,
        "across": lambda text: directives.choice(text, ("values", "plans")),
        "with": directives.unchanged,
        "name": directives.unchanged,
    }

    def run(self):
        build.note_use(self.env)
        try:
            return [self.figure(self.made())]
        except ValueError as error:
            self.problem(error)
            return [nodes.literal_block("", self.block_text)]

    def made(self):
        plans = [labelled(line) for line in lines(self.options.get("plans", ""))] or [(None, "")]
        values = [labelled(line) for line in lines(self.options.get("values", ""))]
        if not values:
            raise ValueError("wireplan-table needs :values:, one a line: LABEL = PATH in UNIT")
        expected = [[cell.strip() for cell in line.split("|")] for line in lines(self.options.get("expect", ""))]
        if expected and [len(row) for row in expected] != [len(values)] * len(plans):
            raise ValueError(f":expect: has to have {len(plans)} lines (one a plan) of {len(values)} cells with | between them")
        rows = []
        for i, (name, text) in enumerate(plans):
            plan, edits = self.plan(text)
            cells = [[nodes.Text(name or text or build.answers().plan)]]
            for j, (_, value) in enumerate(values):
                statement = value_statement(value)
                statement = statement._replace(plan=plan, edits=(*edits, *statement.edits))
                if expected:
                    statement = statement._replace(expect=expected[i][j] or None)
                cells.append([value_node(self.env, statement, self.place())])
            rows.append(cells)
        head = [[nodes.Text(build.words(self.config)["plan"])], *([nodes.Text(label or value_statement(value).path)] for label, value in values)]
        if self.options.get("across") == "plans":
            turned = list(zip(head, *rows))
            head, rows = list(turned[0]), [list(row) for row in turned[1:]]
            head[0] = [nodes.Text("")]
        return table(rows, head)


class PlanDirective(WireplanDirective):
    """From here on in this document, "the plan" is this one."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"with": directives.unchanged}

    def run(self):
        try:
            plan, edits = plan_statement(self.arguments[0])
            self.env.temp_data["wireplan_plan"] = (plan, (*edits, *self.options.get("with", "").split()))
        except ValueError as error:
            self.problem(error)
        return []


def table(rows, head=None):
    """A table of cells that are lists of inline nodes; the first of each row names it."""
    every = [*([head] if head else []), *rows]
    group = nodes.tgroup(cols=len(rows[0]))
    for i, column in enumerate(zip(*every)):
        # The width is in characters for the text builder; elsewhere columns are as wide as they want.
        widest = max(sum(len(node.astext()) for node in cell) for cell in column)
        group += nodes.colspec(colwidth=widest, **({"stub": 1} if i == 0 else {}))
    if head:
        group += nodes.thead("", _row(head))
    group += nodes.tbody("", *map(_row, rows))
    return nodes.table("", group, classes=["wireplan-table", "colwidths-auto"])


def _row(cells):
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def open_link(site, link, text):
    """To the whole page with this plan; on paper, too, where the site has an address of its own."""
    if "://" in site:
        return nodes.paragraph("", "", nodes.reference("", text, refuri=site + link), classes=["wp-open"])
    return wireplan_link("", "", nodes.Text(text), link=link)
