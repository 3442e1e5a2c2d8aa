"""What stands in a planner's place until a reader starts it, as HTML, for engines whose pages are HTML alone."""

from __future__ import annotations

from html import escape

from wireplan import picture, values
from wireplan.answers import Wrong

# A word of words.json and the path of its value.
SUMMARY = (
    ("verdict", "memory.verdict"),
    ("need", "memory.need_bytes"),
    ("capacity", "memory.capacity_bytes"),
    ("step", "step.time_s"),
    ("exposed", "step.exposed_communication_s"),
    ("tokens", "step.tokens_per_s"),
)


def planner(answers, plan, edits, folder, words, site, english=True):
    """One line, as Markdown ends a block of HTML at an empty one."""
    estimate = answers.estimate(plan, edits, folder)
    rows = "".join(
        f'<tr><th scope="row">{escape(words[word])}</th><td>{escape(shown(estimate, path, answers.unit, words))}</td></tr>' for word, path in SUMMARY)
    sentence = f"<p>{escape(answers.sentence(plan, edits, folder))}</p>" if english else ""
    link = answers.view(plan, edits, folder) if site else None
    link = f'<p class="wp-open"><a href="{escape(site + link)}">{escape(words["open"])}</a></p>' if link else ""
    return f'{sentence}{picture.memory(estimate, answers.unit, words)}<table class="wireplan-table"><tbody>{rows}</tbody></table>{link}'


# What <wireplan-table> shows where it is not told.
ROWS = "memory.device_bytes memory.capacity_bytes memory.verdict step.time_s step.exposed_communication_s"


def table(answers, plans, attributes, folder, words):
    """Plans across, values down, as <wireplan-table> makes it."""
    labels = [label.strip() for label in attributes.get("labels", "").split("|")]
    heads = [labels[i] if i < len(labels) and labels[i] else answers.named(plan, edits) for i, (plan, edits) in enumerate(plans)]
    estimates = [answers.estimate(plan, edits, folder) for plan, edits in plans]
    rows = []
    for path in (attributes.get("rows") or attributes.get("paths") or ROWS).replace(",", " ").split():
        form = attributes.get("format")
        form = form if form in values.FORMS[values.unit_of(path)] else None
        cells = "".join(f"<td>{escape(shown(estimate, path, answers.unit, words, form))}</td>" for estimate in estimates)
        rows.append(f'<tr><th scope="row">{escape(words.get(path, path))}</th>{cells}</tr>')
    caption = f'<caption>{escape(attributes["caption"])}</caption>' if attributes.get("caption") else ""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return f'<table class="wireplan-table">{caption}<thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def shown(estimate, path, unit, words, form=None):
    try:
        value = values.lookup(estimate, path)
    except values.Unknown as error:
        raise Wrong(str(error)) from None
    text = values.written(value, path, form, memory=unit).text
    return words.get(text, text) if isinstance(value, (str, bool)) else text
