"""When the memory is fullest: the line of one step, the phases, the totals."""

import pytest

PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)


def test_the_line_is_drawn_and_told(wide):
    plot, ring = wide.rect("memory.timeline"), wide.rect("memory.timeline.point")
    line = wide.rect("memory.timeline.capacity")
    ground = plot["y"] + plot["height"]
    drawn = (ground - ring["y"] - ring["height"] / 2) / (ground - line["y"] - 1)
    assert drawn == pytest.approx(wide.value("memory.allocated_bytes") / wide.value("memory.capacity_bytes"), abs=0.03)
    told = wide.text("memory.timeline")
    assert wide.text("memory.allocated_bytes") in told and wide.text("memory.peak_at") in told
    wide.page.locator("#stage").scroll_into_view_if_needed()
    wide.picture("moments")


def test_pointing_at_the_line_moves_its_ring_and_draws_no_more_when_it_rests(wide):
    plot = wide.rect("memory.timeline")
    wide.page.mouse.move(plot["x"] + plot["width"] * 0.1, plot["y"] + plot["height"] / 2)
    wide.settle()
    assert wide.center("memory.timeline.point")[0] == pytest.approx(plot["x"] + plot["width"] * 0.1, abs=12)
    wide.picture("moments-pointed")
    before = wide.frames()
    wide.page.wait_for_timeout(1000)
    assert wide.frames() == before


def test_a_frame_is_drawn_in_its_time(wide):
    """Moves over the line. Without the draw calls: software would render them here."""
    spent = wide.page.evaluate(
        """async () => {
            const r = wireplan.rect('memory.timeline'), canvas = document.querySelector('canvas'), took = [];
            for (const call of ['drawElements', 'clear']) WebGL2RenderingContext.prototype[call] = () => {};
            const ask = window.requestAnimationFrame;
            window.requestAnimationFrame = (f) => ask((t) => { const a = performance.now(); f(t); took.push(performance.now() - a); });
            for (let i = 0; i < 40; i++) {
              canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: r.x + r.width * i / 40, clientY: r.y + 40}));
              await new Promise(ask);
            }
            window.requestAnimationFrame = ask;
            return took.sort((a, b) => a - b)[took.length >> 1]; }"""
    )
    assert spent < 8


def test_click_and_keyboard_explain(wide):
    wide.click("memory.timeline.peak")
    wide.settle()
    assert "explain.memory.parts.activations" in wide.keys()
    wide.click("memory.allocated_bytes.cell")
    wide.page.keyboard.press("ArrowRight")
    wide.settle()
    wide.page.keyboard.press("Enter")
    wide.settle()
    assert "explain.memory.allocated_bytes" in wide.keys()


def test_the_stages_of_a_pipeline_take_turns(wide):
    wide.page.locator('[data-scenario="llama-3-70b-megatron"]').evaluate("button => button.click()")
    wide.until("wireplan.keys().includes('memory.stage.more')")
    wide.settle()
    assert wide.text("memory.timeline").startswith("Stage 0:")
    wide.changes(lambda: wide.text("memory.timeline"), lambda: wide.click("memory.stage.more"))
    assert wide.text("memory.timeline").startswith("Stage 1:")
    wide.picture("moments-stages")


def bring(page, key):
    y = page.center(key)[1]
    page.page.evaluate("by => scrollBy(0, by)", y - 400)
    page.page.wait_for_timeout(100)


def test_on_a_phone_a_finger_points_and_asks(visit):
    phone = visit(**PHONE)
    phone.settle()
    bring(phone, "memory.timeline")
    phone.picture("phone-moments")
    before = phone.rect("memory.timeline.point")
    plot = phone.rect("memory.timeline")
    phone.page.touchscreen.tap(plot["x"] + 30, plot["y"] + plot["height"] / 2)
    phone.settle()
    assert phone.rect("memory.timeline.point")["x"] != before["x"]
    assert phone.page.locator("#explain[open]").count() == 0
    phone.picture("phone-moments-pointed")
    for name in ("Needed", "Needed"):  # once closed it opens again
        bring(phone, "memory.need_bytes.cell")
        phone.page.touchscreen.tap(*phone.center("memory.need_bytes.cell"))
        phone.page.locator("#explain[open]").wait_for()
        assert phone.page.locator("#explain-name").inner_text() == name
        phone.page.locator("#explain .close").tap()
        assert phone.page.locator("#explain[open]").count() == 0
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_long_explanation_stays_inside_a_phone(visit):
    phone = visit(**PHONE)
    phone.settle()
    bring(phone, "memory.parts.activations")
    phone.page.touchscreen.tap(*phone.center("memory.parts.activations"))
    dialog = phone.page.locator("#explain[open]")
    dialog.wait_for()
    assert phone.page.locator("#explain dt").count() > 10
    wide, inside, high, shown = dialog.evaluate("d => [d.scrollWidth, d.clientWidth, d.scrollHeight, d.clientHeight]")
    assert wide <= inside
    assert "null" not in dialog.inner_text()
    phone.picture("phone-explain-long")
    dialog.evaluate("d => d.scrollTo(0, d.scrollHeight)")
    phone.page.wait_for_timeout(100)
    phone.picture("phone-explain-long-end")
    close = phone.page.locator("#explain .close").bounding_box()
    assert 0 <= close["y"] < 844, "the way out stays in sight"
    assert high >= shown
