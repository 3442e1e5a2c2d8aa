"""Drawing: only when something happens, sharp at every pixel ratio, back after the context is lost."""

import pytest
from conftest import CHROMIUM, FLAGS


def test_nothing_is_drawn_when_nothing_happens(visit):
    page = visit()
    page.settle()
    before = page.frames()
    assert before > 0
    page.page.wait_for_timeout(3000)
    assert page.frames() == before


def test_a_pointer_outside_the_canvas_draws_nothing(visit):
    page = visit()
    page.page.mouse.move(700, 500)
    page.settle()
    page.page.mouse.move(700, 20)
    page.settle()
    before = page.frames()
    for x in range(100, 900, 50):
        page.page.mouse.move(x, 20)
    page.page.wait_for_timeout(300)
    assert page.frames() == before


@pytest.mark.parametrize("ratio", [1, 1.5, 2])
def test_the_store_has_the_screens_pixels_and_clicks_land(chromium, visit, ratio):
    # The browser's own flag: Playwright's emulation does not reach every measure of the ratio.
    sharp = chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, f"--force-device-scale-factor={ratio}"])
    try:
        page = visit(instance=sharp, width=1280, height=800, device_scale_factor=ratio)
        page.settle()
        store, css = page.page.evaluate(
            """() => { const c = document.querySelector('canvas'), b = c.getBoundingClientRect();
                       return [[c.width, c.height], [b.width, b.height]]; }"""
        )
        stage = page.page.locator("#stage").bounding_box()
        assert css == pytest.approx([stage["width"], stage["height"]], abs=1)
        assert store == pytest.approx([css[0] * ratio, css[1] * ratio], abs=1.5)
        page.changes(page.answer, lambda: page.click("strategy.fsdp"))
        assert page.answer().startswith("Fits")
        page.settle()
        page.picture(f"ratio-{ratio}")
    finally:
        sharp.close()


@pytest.mark.parametrize("width,height", [(1440, 900), (1100, 760), (860, 700)])
def test_the_canvas_fills_what_the_frame_leaves(visit, width, height):
    page = visit(width=1300, height=800)
    page.settle()
    page.page.set_viewport_size({"width": width, "height": height})
    page.page.wait_for_timeout(200)
    page.settle()
    canvas = page.page.locator("#canvas").bounding_box()
    base = page.page.locator(".base").bounding_box()
    assert canvas["width"] == width
    assert canvas["y"] + canvas["height"] == pytest.approx(base["y"], abs=1)
    assert base["y"] + base["height"] == pytest.approx(height, abs=1)
    page.picture(f"size-{width}")
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))


def test_the_picture_comes_back_after_the_context_was_lost(visit):
    page = visit()
    page.settle()
    stage = page.page.locator("#stage")
    before = stage.screenshot()
    page.page.evaluate(
        """() => { const gl = document.querySelector('canvas').getContext('webgl2');
                   window.lost = gl.getExtension('WEBGL_lose_context'); window.lost.loseContext(); }"""
    )
    page.page.wait_for_timeout(300)
    page.page.evaluate("window.lost.restoreContext()")
    page.page.wait_for_timeout(300)
    page.settle()
    visit.complaints[:] = [c for c in visit.complaints if "CONTEXT_LOST" not in c and "context" not in c.lower()]
    assert stage.screenshot() == before
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
