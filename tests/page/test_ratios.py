"""Every pixel ratio that is sold: the store has the screen's pixels, clicks land, pictures are sharp; and browser zoom. One of the slow ones."""

import base64

import pytest
from conftest import CHROMIUM, FLAGS

RATIOS = [1, 1.25, 1.5, 2, 3]
SIZES = """() => { const c = document.querySelector('canvas'), b = c.getBoundingClientRect();
              return [c.width, c.height, b.width, b.height]; }"""


# The share of the ink in boxes of a picture that is neither dark nor light.
SOFT = """async ([base64, boxes]) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), c => c.charCodeAt(0))]));
    const g = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d', {willReadFrequently: true});
    g.drawImage(bitmap, 0, 0);
    return boxes.map((box) => {
      const { data } = g.getImageData(...box), red = data.filter((_, i) => i % 4 === 0), low = Math.min(...red);
      const ink = Array.from(red, (r) => (255 - r) / (255 - low)).filter((k) => k > 0.05);
      return ink.filter((k) => k > 0.15 && k < 0.85).length / ink.length; }); }"""


def softness(page, ratio, *boxes):
    """Of text at these places of the memory's panel, in CSS pixels."""
    panel = page.rect("panel.memory")
    picture = page.page.screenshot(clip={"x": panel["x"], "y": panel["y"], "width": 520, "height": 40})
    return page.page.evaluate(SOFT, [base64.b64encode(picture).decode(), [[round(n * ratio) for n in box] for box in boxes]])


@pytest.fixture(params=RATIOS)
def sharp(request, chromium):
    # The browser's own flag: emulation does not reach every measure of the ratio.
    browser = chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, f"--force-device-scale-factor={request.param}"])
    yield request.param, browser
    browser.close()


def test_store_and_clicks(sharp, visit):
    ratio, browser = sharp
    page = visit(instance=browser, width=1280, height=800, device_scale_factor=ratio)
    page.settle()
    assert page.page.evaluate("devicePixelRatio") == pytest.approx(ratio)
    width, height, css_width, css_height = page.page.evaluate(SIZES)
    stage = page.page.locator("#stage").bounding_box()
    assert [css_width, css_height] == pytest.approx([stage["width"], stage["height"]], abs=1)
    assert [width, height] == pytest.approx([css_width * ratio, css_height * ratio], abs=1.5)
    # Widgets far from the corner that scale from: a wrong factor would miss them.
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    assert page.answer().startswith("Fits")
    page.click("training.sequence_length")
    field = page.page.locator("#stage input")
    field.wait_for()
    at, drawn = field.bounding_box(), page.rect("training.sequence_length")
    # The input covers the value and the steps beside it.
    assert at["x"] - 1 <= drawn["x"] and drawn["x"] + drawn["width"] <= at["x"] + at["width"] + 1
    assert at["y"] + at["height"] / 2 == pytest.approx(drawn["y"] + drawn["height"] / 2, abs=2)
    page.page.keyboard.press("Escape")
    page.settle()
    page.picture(f"ratio-{ratio}")
    title, rest = softness(page, ratio, (18, 8, 72, 26), (100, 8, 280, 26))
    assert title < rest, "thicker strokes have fewer soft edges, where both faces are as sharp"


def test_a_screen_of_another_ratio_and_zoom(chromium, visit):
    page = visit(width=1200, height=800)
    page.settle()
    session = page.page.context.new_cdp_session(page.page)
    for width, ratio in ((1190, 2), (1180, 1.25), (1170, 3), (1200, 1)):  # as when a window is moved between screens, or zoomed
        session.send("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": ratio, "mobile": False})
        page.until(f"devicePixelRatio === {ratio}")
        page.page.wait_for_timeout(100)
        page.settle()
        width, height, css_width, css_height = page.page.evaluate(SIZES)
        assert [width, height] == pytest.approx([css_width * ratio, css_height * ratio], abs=1.5)
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))


def test_the_context_is_lost_again_and_again(visit):
    """With edits while nothing can be drawn: state and picture are right afterwards."""
    page = visit()
    page.settle()
    page.page.evaluate("() => { window.lost = document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context'); }")
    for sharding in ("fsdp", "zero2", "ddp"):
        page.page.evaluate("lost.loseContext()")
        page.page.wait_for_timeout(100)
        page.open_form()
        page.field("parallel.data_sharding").locator(f"select, input[value={sharding}]").first.evaluate(
            """(node, value) => { if (node.tagName === 'SELECT') node.value = value; else node.checked = true;
                                  node.dispatchEvent(new Event('change', {bubbles: true})); }""",
            sharding,
        )
        page.page.locator("#form [data-do=done]").click()
        page.page.evaluate("lost.restoreContext()")
        page.page.wait_for_timeout(200)
        page.settle()
    visit.complaints[:] = [c for c in visit.complaints if "context" not in c.lower()]
    assert page.answer().startswith("Does not fit")
    fresh = visit()
    fresh.settle()
    assert page.page.locator("#stage").screenshot() == fresh.page.locator("#stage").screenshot()
