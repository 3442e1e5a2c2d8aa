"""What would faster links bring? The dialog's numbers are the program's, for the plan that the page shows, in both languages."""

import json
import os
import re
import subprocess

import pytest
from conftest import CHROMIUM
from test_access import violations
from test_paste import LOG, MATRIX, drop

PAIRS = "#v=1&m=mistral-7b-v0.1&c=a100-80gb-pcie-4x-pairs&ds=fsdp"
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)
ALONE = "qwen2.5-7b-lora"


def program(plan):
    """The program's own document for a plan."""
    done = subprocess.run([os.environ["WIREPLAN_PROGRAM"], "estimate", plan, "--crossover", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)["crossover"]


def answered(page):
    page.page.locator("#links[open]").wait_for()
    page.until("(b => b.children.length > 0 && !b.hasAttribute('aria-busy'))(document.querySelector('#links .body'))", timeout=20000)


def opened(page):
    page.page.evaluate("document.querySelector('#results [data-do=links]').click()")
    answered(page)
    return page


def shown(page):
    """Each row of the table: sharding, the values behind its cells, whether it is this plan's, its remark."""
    return page.page.evaluate("""() => [...document.querySelectorAll('#links tbody tr')].map(row => [row.dataset.sharding,
        [...row.querySelectorAll('[data-value]')].map(cell => Number(cell.dataset.value)), row.classList.contains('chosen'), row.querySelector('.remark').textContent])""")


def text(page, name):
    return page.page.locator(f"#links-{name}").inner_text()


def link_of(page):
    return page.page.locator("#link").get_attribute("href")


@pytest.mark.parametrize("link", [PAIRS, "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&ds=fsdp", "#v=1&m=llama-3-70b&c=hgx-h100-80gb~2&ds=fsdp"])
def test_the_numbers_are_the_programs(visit, link):
    page = visit(link)
    page.settle()
    opened(page)
    expected = program(link_of(page))
    rows = shown(page)
    assert [row[0] for row in rows] == [s["sharding"] for s in expected["shardings"]]
    for (_, values, chosen, remark), sharding in zip(rows, expected["shardings"], strict=True):
        assert values == [sharding["times_s"][i] for i in (0, 6, 12, 18, 24)]
        assert chosen == sharding["chosen"] and ("this plan" in remark) == chosen
        assert ("does not fit" in remark) == (not sharding["fits"])
    assert [row[1][2] for row in rows if row[2]] == [page.value("step.time_s")]
    assert text(page, "exposed") == expected["exposed"]["text"]
    assert text(page, "fastest") == expected["text"]
    assert text(page, "basis") == expected["basis"]
    assert page.page.locator("#links svg.times path.line").count() == len(rows)
    assert page.page.locator("#links svg.times rect.fastest").count() == len(expected["fastest"])
    page.picture("links")


def test_the_line_goes_through_the_times(visit):
    page = opened(visit(PAIRS))
    expected = program(PAIRS)["shardings"]
    lines = page.page.evaluate("""() => [...document.querySelectorAll('#links svg.times path.line')].map(line => [line.dataset.sharding,
        line.getAttribute('d').slice(1).split('L').map(point => point.split(' ').map(Number))])""")
    assert [name for name, _ in lines] == [s["sharding"] for s in expected]
    for (_, points), sharding in zip(lines, expected, strict=True):
        assert len(points) == 25
        steps = {round(b[0] - a[0], 0) for a, b in zip(points, points[1:], strict=False)}
        assert max(steps) - min(steps) <= 1, "half octaves are equally far from each other"
        for a, b, t, u in zip(points, points[1:], sharding["times_s"], sharding["times_s"][1:], strict=False):
            assert (b[1] - a[1] > -0.11) == (u <= t) or abs(b[1] - a[1]) < 0.11  # down the page where the step gets shorter


def test_what_other_languages_are_made_of_makes_the_modules_sentences(visit):
    page = visit()
    differing = page.page.evaluate("""async (links) => {
        const [{ exposedText, fastestText, basisText }, { phrases }, core] =
            await Promise.all([import("./links.mjs"), import("./aside.mjs"), import("./wireplan.mjs")]);
        await core.ready;
        const say = await phrases("links", "en");
        const plans = [...core.presets("scenarios").presets.map(p => p.id), ...links];
        let compared = 0;
        const wrong = [];
        for (const plan of plans) for (const crossover of [true, "node", "network"]) for (const exposed of [1, 5, 30]) {
            const said = core.estimate(plan, { crossover, exposed });
            if (said.errors) continue;
            const c = said.crossover;
            ++compared;
            for (const [mine, theirs] of [[exposedText(say, c.exposed), c.exposed.text], [fastestText(say, c, said.plan.parallel), c.text], [basisText(say, c), c.basis]])
                if (mine !== theirs) wrong.push([plan, mine, theirs]);
        }
        return [compared, wrong];
    }""", [PAIRS, "#v=1&m=mistral-7b-v0.1&c=rtx-4090-8x&ds=fsdp", "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&ds=hsdp", "#v=1&m=gpt2&c=hgx-h100-80gb&ds=ddp"])
    assert differing[0] > 40 and differing[1] == []


@pytest.mark.parametrize("link", [PAIRS, "#v=1&m=llama-3-70b&c=hgx-h100-80gb~2&ds=fsdp", "#v=1&m=mistral-7b-v0.1&c=rtx-4090-8x&ds=fsdp"])
def test_vietnamese_is_no_english(visit, link):
    page = visit(link + "&lang=vi")
    page.settle()
    opened(page)
    said = page.page.locator("#links").inner_text()
    assert "Liên kết nhanh hơn thì được gì?" in said and "phương án này" in said
    assert not re.search(r"\b(the|of|today's|fits?|fastest|links?|from|now|step|speeds?|held|scaled|reached|copies)\b", said, re.I)
    assert "{" not in said
    need = program(link)["exposed"]["from"]
    if need:
        assert f"{need['bytes_per_s'] / 1e9:.0f} GB/s" in said or f"{need['bytes_per_s'] / 1e9:.1f} GB/s" in said
    page.picture("links-vi")


@pytest.mark.parametrize("language,says", [("en", "Nothing that the plan sends"), ("vi", "Không có gì phương án gửi")])
def test_a_plan_that_sends_nothing_is_told_so(visit, language, says):
    page = visit()
    page.page.evaluate("l => document.querySelector(`[data-language=${l}]`).click()", language)
    page.example(ALONE)
    page.settle()
    opened(page)
    assert page.page.locator("#links .body").inner_text().startswith(says)
    assert page.page.locator("#links table").count() == 0


def test_it_follows_the_plan_and_never_answers_for_another(visit):
    page = visit(PAIRS)
    page.settle()
    page.click("strategy.zero2")
    page.until("document.querySelector('#link').textContent.includes('ds=zero2')")
    opened(page)
    assert [row[0] for row in shown(page) if row[2]] == ["zero2"]
    page.page.keyboard.press("Control+z")
    page.until("document.querySelector('#links tr.chosen')?.dataset.sharding === 'fsdp'", timeout=20000)
    page.page.keyboard.press("Escape")
    page.settle()
    page.changes(page.answer, lambda: page.click("strategy.ddp"))
    opened(page)
    rows = [row for row in shown(page) if row[2]]
    assert [row[0] for row in rows] == ["ddp"] and "does not fit" in rows[0][3]
    assert rows[0][1][2] == page.value("step.time_s")


def test_a_machine_and_measurements_of_ones_own_count(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-40gb&ds=fsdp")
    page.settle()
    for name, given in (("log.txt", LOG), ("topo.txt", MATRIX)):
        drop(page, (name, given))
        page.page.keyboard.press("Escape")
        page.settle()
        opened(page)
        assert [row[1][2] for row in shown(page) if row[2]] == [page.value("step.time_s")]
        page.page.keyboard.press("Escape")


def test_without_pictures_it_stands_beside_the_table(visit, chromium):
    plain = chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    try:
        page = visit(PAIRS, instance=plain)
        visit.complaints[:] = [c for c in visit.complaints if "WebGL" not in c]
        page.page.locator("#results [data-do=links]").click()
        answered(page)
        assert [row[1][2] for row in shown(page) if row[2]] == [page.value("step.time_s")]
    finally:
        plain.close()


def test_by_keyboard(visit):
    page = visit(PAIRS)
    page.settle()
    page.page.locator("[data-do=table]").click()
    page.page.locator("#results [data-do=links]").focus()
    page.page.keyboard.press("Enter")
    answered(page)
    assert page.page.evaluate("document.activeElement.closest('#links') !== null")
    page.page.keyboard.press("Escape")
    assert page.page.locator("#links[open]").count() == 0
    assert page.page.evaluate("document.activeElement.dataset.do") == "links"


def test_a_press_on_the_canvas_opens_it_and_little_is_loaded_before(visit):
    page = visit(PAIRS, height=2700)
    page.settle()
    loaded = []
    page.page.on("request", lambda r: loaded.append(r.url.rsplit("/", 1)[-1]))
    page.click("links.ask")
    answered(page)
    assert {"links.mjs", "links_chart.mjs", "aside.mjs", "asides.css", "wireplan.mjs", "wireplan.wasm"} <= set(loaded)
    assert "links.vi.json" not in loaded
    page.settle()
    frames = page.frames()
    page.page.wait_for_timeout(400)
    assert page.frames() == frames


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [dict(width=1440, height=900), PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing_and_phones_scroll_only_down(visit, scheme, size):
    page = visit(PAIRS, color_scheme=scheme, **size)
    page.settle()
    opened(page)
    page.picture(f"links-{scheme}-{size['width']}")
    assert violations(page) == []
    assert page.page.evaluate("[document.documentElement, document.querySelector('#links'), document.querySelector('#links .scroll')].every(n => n.scrollWidth <= n.clientWidth)")
    if size is PHONE:
        box = page.page.locator("#links .close").bounding_box()
        assert box["width"] >= 44 and box["height"] >= 44


def test_without_the_module_it_says_so(visit):
    page = visit(PAIRS)
    page.page.route("**/wireplan.wasm", lambda route: route.abort())
    opened(page)
    assert len(page.page.locator("#links [role=alert]").inner_text()) > 10
    visit.complaints[:] = [c for c in visit.complaints if "wasm" not in c and "Failed to load" not in c]
