"""What frames, edits and estimates cost the processor: its own time on the page's main thread, so that busy machines change little.
Drawing by the driver is left out: software would do it here."""

import pytest

FRAME_MS, EVALUATE_MS = 8, 1

QUIET = "() => { for (const call of ['drawElements', 'clear']) WebGL2RenderingContext.prototype[call] = () => {}; }"

# The pointer over one widget after the other, a frame for each.
POINT = """async ([keys, turns]) => {
    const canvas = document.querySelector('canvas'), before = wireplan.frames;
    for (let i = 0; i < turns; i++) {
      const r = wireplan.rect(keys[i % keys.length]);
      if (r) canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: r.x + r.width / 2, clientY: r.y + r.height / 2}));
      await new Promise(requestAnimationFrame);
    }
    return wireplan.frames - before;
}"""


class Processor:
    """Milliseconds that the page's main thread computed while something was done."""

    def __init__(self, page):
        self.session = page.page.context.new_cdp_session(page.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self):
        return {m["name"]: m["value"] for m in self.session.send("Performance.getMetrics")["metrics"]}["TaskDuration"] * 1000

    def during(self, act):
        before = self.now()
        result = act()
        return self.now() - before, result


@pytest.mark.parametrize("width,height", [(1440, 900), (1440, 2700), (390, 844)])
def test_a_frame_takes_at_most_its_time(visit, width, height):
    page = visit(width=width, height=height)
    page.settle()
    page.page.evaluate(QUIET)
    keys = [k for k in page.keys() if not k.startswith("panel.")]
    processor = Processor(page)
    page.page.evaluate(POINT, [keys, 10])
    spent, frames = processor.during(lambda: page.page.evaluate(POINT, [keys[:: max(1, len(keys) // 25)], 60]))
    assert frames >= 50
    assert spent / frames < FRAME_MS, (spent, frames)


def test_an_edit_with_all_that_follows_takes_a_few_frames_time(visit):
    """Estimates of the plan and of what is beside it, the form, the words, the DOM, the frames that show it."""
    page = visit()
    page.settle()
    page.page.evaluate(QUIET)
    run = """async (edits) => {
        const links = new Set(), frame = () => new Promise(requestAnimationFrame);
        for (let i = 0; i < edits; i++) {
          document.querySelector(i % 2 ? '.tools [data-do=undo]' : '#change li button').click();
          await frame(); await frame();
          links.add(document.querySelector('#link').textContent);
        }
        return links.size; }"""
    page.page.evaluate(run, 4)
    spent, plans = Processor(page).during(lambda: page.page.evaluate(run, 20))
    assert plans >= 2
    assert spent / 20 < 10 * FRAME_MS, spent


def test_an_evaluation_takes_at_most_a_millisecond(visit):
    """As a search does them, one after the other, with all else that it does."""
    page = visit()
    page.settle()
    run = """async (plan) => { const core = await import('./wireplan.mjs'); await core.ready;
               const answer = await core.search(plan, {}); return answer.errors ?? answer.counts; }"""
    page.page.evaluate(run, "story")
    took, counts = Processor(page).during(lambda: page.page.evaluate(run, "story"))
    print(took, counts)
    assert counts["evaluated"] > 20
    assert took / counts["evaluated"] < EVALUATE_MS, (took, counts)
