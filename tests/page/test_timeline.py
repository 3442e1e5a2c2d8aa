"""The step in time: lanes, what the GPU waits for, the curve of more GPUs."""

import pytest

PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)
FSDP = "#v=1&m=mistral-7b-v0.1&c=a100-80gb-pcie-4x-pairs&ds=fsdp"


@pytest.fixture
def lanes(visit):
    page = visit(FSDP, height=2700)
    page.settle()
    return page


def window(page):
    box = page.rect("timeline.window")
    return box["x"], box["width"]


def test_blocks_are_drawn_and_the_sums_are_told(lanes):
    first, strip = lanes.rect("timeline.lane.0"), lanes.rect("timeline.strip")
    assert first["width"] == pytest.approx(strip["width"], abs=1)
    told = lanes.text("time.line")
    assert lanes.text("step.time_s") in told
    assert lanes.text("time.waits.0").endswith("s") and "×" in lanes.text("time.waits.0")
    heading = lanes.page.locator('#results tr:has([data-path="time.waits.0"]) th').text_content()
    assert heading.startswith("The GPU waits for")
    lanes.picture("timeline")


def test_a_press_tells_and_rests(lanes):
    lane = lanes.rect("timeline.lane.0")
    lanes.page.mouse.click(lane["x"] + lane["width"] / 2, lane["y"] + lane["height"] / 2)
    lanes.until("document.querySelector('#results [data-path=\"time.pressed\"]')")
    lanes.settle()
    assert "timeline.pressed" in lanes.keys()
    said = lanes.text("time.pressed")
    lanes.page.keyboard.press("ArrowRight")
    lanes.settle()
    assert lanes.text("time.pressed") != said
    lanes.picture("timeline-pressed")
    before = lanes.frames()
    lanes.page.wait_for_timeout(1000)
    assert lanes.frames() == before


def test_ctrl_and_wheel_zoom_and_the_wheel_alone_scrolls(visit):
    page = visit(FSDP, height=1500)
    page.settle()
    lane = page.rect("timeline.lane.0")
    page.page.mouse.move(lane["x"] + lane["width"] / 2, lane["y"] + lane["height"] / 2)
    page.settle()
    before = window(page)
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -300)
    page.page.keyboard.up("Control")
    page.settle()
    assert window(page)[1] < before[1]
    assert page.page.evaluate("visualViewport.scale") == 1 and page.rect("timeline.lane.0")["y"] == lane["y"]
    seen = window(page)
    page.page.mouse.wheel(0, 200)
    page.settle()
    assert page.rect("timeline.lane.0")["y"] < lane["y"]
    assert window(page)[1] == pytest.approx(seen[1], abs=0.5)


def test_drag_and_buttons_move_the_window(lanes):
    lane = lanes.rect("timeline.lane.0")
    lanes.click("timeline.in")
    lanes.settle()
    x, width = window(lanes)
    middle = lane["x"] + lane["width"] / 2, lane["y"] + lane["height"] / 2
    lanes.page.mouse.move(*middle)
    lanes.page.mouse.down()
    lanes.page.mouse.move(middle[0] - 200, middle[1], steps=4)
    lanes.page.mouse.up()
    lanes.settle()
    assert window(lanes)[0] > x and window(lanes)[1] == pytest.approx(width, abs=0.5)
    assert "timeline.pressed" not in lanes.keys()
    lanes.click("timeline.fit")
    lanes.settle()
    assert window(lanes)[1] == pytest.approx(lanes.rect("timeline.strip")["width"], abs=4)
    lanes.picture("timeline-fit")


def test_a_frame_of_dragging_is_drawn_in_its_time(lanes):
    """Moves over the lanes with the button down. Without the draw calls: software would render them here."""
    lanes.page.mouse.move(*lanes.center("timeline.lane.0"))
    spent = lanes.page.evaluate(
        """async () => {
            const r = wireplan.rect('timeline.lane.0'), canvas = document.querySelector('canvas'), took = [];
            for (const call of ['drawElements', 'clear']) WebGL2RenderingContext.prototype[call] = () => {};
            const ask = window.requestAnimationFrame, y = r.y + 10;
            window.requestAnimationFrame = (f) => ask((t) => { const a = performance.now(); f(t); took.push(performance.now() - a); });
            const say = (type, x, buttons) => canvas.dispatchEvent(new MouseEvent(type, {bubbles: true, clientX: x, clientY: y, button: 0, buttons}));
            say('mousedown', r.x + 200, 1);
            for (let i = 0; i < 40; i++) { say('mousemove', r.x + 200 - i * 3, 1); await new Promise(ask); }
            say('mouseup', r.x + 80, 0);
            window.requestAnimationFrame = ask;
            return took.sort((a, b) => a - b)[took.length >> 1]; }"""
    )
    assert spent < 8


@pytest.mark.parametrize("scenario", ["llama-3-70b-megatron", "deepseek-v3-2048"])
def test_a_pipeline_has_a_lane_for_each_stage(lanes, scenario):
    lanes.page.locator(f'[data-scenario="{scenario}"]').evaluate("button => button.click()")
    lanes.until("wireplan.keys().includes('timeline.lane.4')")
    lanes.settle()
    assert lanes.rect("timeline.lane.3")["y"] > lanes.rect("timeline.lane.2")["y"]
    lanes.picture(f"timeline-{scenario}")


def test_on_a_phone_lanes_take_the_width_and_the_finger_scrolls(visit):
    phone = visit(FSDP, **PHONE)
    phone.settle()
    lane = phone.rect("timeline.lane.0")
    assert lane["width"] >= 350
    phone.page.evaluate("y => window.scrollTo(0, y)", lane["y"] - 200)
    phone.settle()
    lane = phone.rect("timeline.lane.0")
    phone.page.touchscreen.tap(lane["x"] + lane["width"] / 2, lane["y"] + lane["height"] / 2)
    phone.until("wireplan.keys().includes('timeline.pressed')")
    phone.settle()
    phone.picture("timeline-phone")
    window_before = window(phone)
    before = phone.page.evaluate("scrollY")
    phone.page.mouse.move(lane["x"] + 100, lane["y"] + 10)
    phone.page.mouse.wheel(0, 250)
    phone.page.wait_for_timeout(300)
    phone.settle()
    assert phone.page.evaluate("scrollY") > before
    assert window(phone)[1] == pytest.approx(window_before[1], abs=0.5)


@pytest.mark.parametrize("theme,language", [("dark", "en"), ("light", "vi")])
def test_other_themes_and_words(visit, theme, language):
    for name, options in (("wide", dict(height=2700)), ("phone", PHONE)):
        page = visit(FSDP + f"&lang={language}&theme={theme}", **options)
        page.settle()
        if name == "phone":
            page.page.evaluate("y => window.scrollTo(0, y)", page.rect("panel.timeline")["y"] - 60)
            page.settle()
        if language == "vi":
            assert page.text("time.line").find("chờ truyền thông") > 0
        page.picture(f"timeline-{name}-{theme}-{language}")


def test_more_gpus_are_drawn_when_nothing_else_waits(lanes):
    lanes.until("wireplan.keys().includes('scaling.plan')")
    assert lanes.text("time.scaling")
    assert lanes.rect("scaling.plan")["x"] > lanes.rect("scaling.0")["x"]
