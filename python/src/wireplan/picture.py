"""A bar as inline SVG: no script, no style attribute, colours from the page it stands in (static/wireplan.css)."""

from __future__ import annotations

from html import escape

from wireplan import values

PARTS = ("parameters", "gradients", "master_weights", "optimizer_states", "activations", "logits", "unsharded_parameters", "communication_buffers", "temporary")
WIDTH, HEIGHT = 1000, 28


def memory(estimate, unit, words):
    """The parts of a GPU's memory at the peak beside one another, and a line where its memory ends. Text stands in HTML
    below it, so that it keeps its size on a narrow screen."""
    memory = estimate["memory"]
    capacity = memory["capacity_bytes"]
    # What is thinner than half a pixel of a bar is left out.
    parts = [(key, memory["parts"][key]) for key in PARTS if memory["parts"][key] > capacity / 2000]
    full = max(capacity, sum(size for _, size in parts)) * 1.02
    place, bars, legend, shown = 0.0, [], [], {}
    for key, size in parts:
        width = size / full * WIDTH
        bars.append(f'<rect class="wp-{key}" x="{place:.1f}" y="4" width="{max(width - 1, 0.5):.1f}" height="20"/>')
        place += width
        shown[key] = values.written(size, "memory.parts." + key, memory=unit).text
        legend.append(
            f'<li><svg class="wp-key" viewBox="0 0 10 10" aria-hidden="true"><rect class="wp-{key}" width="10" height="10"/></svg>'
            f"{escape(words[key])} {escape(shown[key])}</li>")
    line = capacity / full * WIDTH
    whole = values.written(capacity, "memory.capacity_bytes", memory=unit).text
    said = f'{words["memory_picture"]}: ' + ", ".join(f"{words[key]} {shown[key]}" for key, _ in parts) + f'; {words["capacity"]} {whole}'
    return (
        f'<div class="wp-memory"><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{escape(said)}">'
        f'<rect class="wp-space" x="0" y="4" width="{line:.1f}" height="20"/>{"".join(bars)}'
        f'<rect class="wp-capacity" x="{line - 1:.1f}" y="0" width="3" height="{HEIGHT}"/></svg>'
        f'<ul class="wp-legend">{"".join(legend)}<li><svg class="wp-key" viewBox="0 0 10 10" aria-hidden="true"><rect class="wp-capacity" x="4" width="2" height="10"/></svg>'
        f'{escape(words["capacity"])} {escape(whole)}</li></ul></div>')
