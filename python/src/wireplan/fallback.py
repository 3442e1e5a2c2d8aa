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


def shown(estimate, path, unit, words):
    value = values.lookup(estimate, path)
    text = values.written(value, path, memory=unit).text
    return words.get(text, text) if isinstance(value, (str, bool)) else text
