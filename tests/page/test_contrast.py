"""More contrast by the system's wish: colours forced on the DOM half, and the canvas's own high-contrast theme."""

import pytest
from axe_playwright_python.sync_playwright import Axe

GROUNDS = {"light": (255, 255, 255), "dark": (0, 0, 0)}


def shown(page):
    """Colours of the canvas's picture and how often each is there."""
    return page.page.evaluate(
        """async () => { const seen = {};
             const canvas = document.querySelector('canvas'), g = document.createElement('canvas');
             [g.width, g.height] = [canvas.width, canvas.height];
             await new Promise(done => { canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: 700, clientY: 400}));
               requestAnimationFrame(() => { g.getContext('2d').drawImage(canvas, 0, 0); done(); }); });
             const { data } = g.getContext('2d').getImageData(0, 0, g.width, g.height);
             for (let i = 0; i < data.length; i += 4 * 7) { const k = data.slice(i, i + 3).join(); seen[k] = (seen[k] ?? 0) + 1; }
             return seen; }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_more_contrast_takes_the_greys_away(visit, scheme):
    page = visit(color_scheme=scheme)
    page.settle()
    usual = shown(page)
    page.page.emulate_media(contrast="more", color_scheme=scheme)
    page.settle()
    more = shown(page)
    page.picture(f"contrast-{scheme}")
    ground, ink = ",".join(map(str, GROUNDS[scheme])), ",".join(str(255 - c) for c in GROUNDS[scheme])
    assert max(more, key=more.get) == ground
    assert more.get(ink, 0) > 5 * usual.get(ink, 0), "text and lines are pure"
    ink3 = {"light": "97,107,118", "dark": "146,156,167"}[scheme]
    assert usual.get(ink3, 0) > 20 and more.get(ink3, 0) < usual[ink3] / 4
    dom = page.page.evaluate("[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector('footer')).color]")
    assert dom == [f"rgb({ground.replace(',', ', ')})", f"rgb({ink.replace(',', ', ')})"]
    page.page.emulate_media(contrast="no-preference", color_scheme=scheme)
    page.settle()
    assert shown(page).get(ink3, 0) > 20, "and back"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_leave_everything_told_apart(visit, scheme):
    page = visit(color_scheme=scheme, forced_colors="active")
    page.settle()
    page.page.locator("[data-do=table]").click()
    page.picture(f"forced-{scheme}")
    style = "node => { const s = getComputedStyle(node); return [s.color, s.backgroundColor, s.outlineStyle, s.borderTopStyle]; }"
    page_colour = page.page.evaluate("getComputedStyle(document.body).color")
    number = page.page.locator("#answer button").first.evaluate(style)
    assert number[0] != page_colour, "numbers that can be pressed look like links"
    pressed = page.page.locator('#results .segments [aria-pressed="true"]').evaluate(style)
    other = page.page.locator('#results .segments [aria-pressed="false"]').evaluate(style)
    assert pressed[2] == "solid" and other[2] != "solid"
    page.page.locator(".tools [data-do=share]").focus()
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is seen"
    found = Axe().run(page.page).response["violations"]
    # Contrast itself is the system's; axe computes it from the colours that were declared.
    assert [v["id"] for v in found if v["id"] != "color-contrast"] == []
    ground = {"light": "255,255,255", "dark": "0,0,0"}[scheme]
    seen = shown(page)
    assert max(seen, key=seen.get) == ground, "the canvas has its theme of more contrast"
    # The verdict is said by words, not by its colour alone.
    assert page.answer().startswith("Does not fit")
