"""Compare plans: the dialog's numbers and texts are the program's, plans stay, travel by link, and a bad one leaves the others standing."""

import json
import os
import re
import subprocess

import pytest
from test_access import violations
from test_paste import MATRIX, drop

FSDP = "#v=1&m=mistral-7b-v0.1&c=a100-80gb-pcie-4x-pairs&ds=fsdp"
HSDP = FSDP.replace("fsdp", "hsdp") + "&parallel.shard_group=2"
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)
PASTE = dict(permissions=["clipboard-read", "clipboard-write"])
# Links that were made once and are read for ever: the page's plan, and those that stand beside it.
GOLDEN = {
    "&compare=same!ds=hsdp;parallel.shard_group=2!name=Llama%20on%20H100;m=llama-3-8b;c=hgx-h100-80gb": [FSDP, HSDP, "#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp"],
    "&compare=-ds!mbs=2;parallel.shard_group=2;ds=hsdp": [FSDP.replace("&ds=fsdp", ""), HSDP + "&mbs=2"],
}


def program(*arguments):
    """What the program prints."""
    done = subprocess.run([os.environ["WIREPLAN_PROGRAM"], *arguments], capture_output=True, check=True)
    return done.stdout.decode()


def answered(page, count=None):
    page.page.locator("#compare[open]").wait_for()
    page.until("(b => b.children.length > 2 && !b.hasAttribute('aria-busy'))(document.querySelector('#compare .body'))", timeout=20000)
    if count is not None:
        page.until(f"document.querySelectorAll('#compare-table thead th').length === {count}")


def opened(page, count=None):
    page.page.evaluate("document.querySelector('#results [data-do=compare]').click()")
    answered(page, count)
    return page


def press(page, name):
    page.page.locator("#compare").get_by_role("button", name=name, exact=True).click()


def add(page, link):
    page.page.locator("#compare-link").fill(link)
    page.page.locator("#compare-link").press("Enter")


def of_plan(page, i, action):
    page.page.locator("#compare-table thead th").nth(i).locator(".more").click()
    page.page.locator(".plan-menu:popover-open").get_by_role("button", name=action, exact=True).click()


def status(page):
    return page.page.locator("#compare-status").inner_text()


def names(page):
    return page.page.locator("#compare-table .plan-title b").all_inner_texts()


def values(page, path):
    """The numbers behind a row's cells."""
    return page.page.evaluate("path => [...document.querySelectorAll(`#compare-table [data-path=\"${path}\"] td`)].map(cell => Number(cell.dataset.value))", path)


def question(page, group):
    return page.page.evaluate("g => [...document.querySelectorAll(`#compare-table [data-group=${g}] tr.question td`)].map(cell => Number(cell.dataset.value))", group)


def fields(page):
    return page.page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('#compare-table [data-group=fields] [data-path]')].map(row =>
        [row.dataset.path, [...row.querySelectorAll('td')].map(cell => [(cell.querySelector('mark')?.lastChild ?? cell.firstChild).textContent, cell.querySelector('mark') !== null])]))""")


def link_of(page):
    return page.page.locator("#link").get_attribute("href")


def pasted(page):
    return page.page.evaluate("navigator.clipboard.readText()")


# ---------------------------------------------------------------- numbers and texts


def test_the_numbers_are_the_programs(visit):
    links = [FSDP, HSDP, "#v=1&m=llama-3-8b&c=hgx-h100-80gb~2&ds=fsdp&tp=2"]
    page = opened(visit(FSDP), 1)
    for link in links[1:]:
        add(page, link)
    answered(page, 3)
    press(page, "all rows")
    expected = json.loads(program("compare", *links, "--json"))
    estimates = expected["estimates"]
    assert question(page, "memory") == [e["memory"]["need_bytes"]["value"] for e in estimates]
    assert question(page, "wiring") == [e["step"]["exposed_communication_s"] for e in estimates]
    assert question(page, "step") == [e["step"]["time_s"]["value"] for e in estimates]
    for part in estimates[0]["memory"]["parts"]:
        shown = values(page, f"memory.parts.{part}")
        assert shown == [e["memory"]["parts"][part] for e in estimates] if shown else all(e["memory"]["parts"][part] == 0 for e in estimates)
    for name in ("allocated_bytes", "reserved_bytes", "device_bytes"):
        assert values(page, f"memory.{name}") == [e["memory"][name]["value"] for e in estimates]
    for name in ("tokens_per_s", "tokens_per_s_per_gpu", "mfu", "hfu", "on_ideal_wiring_s", "compute_s"):
        assert values(page, f"step.{name}") == [e["step"][name] for e in estimates]
    waited = page.page.evaluate("[...document.querySelectorAll('#compare-table [data-path^=\"exposed.\"]')].map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.value)))")
    assert [sum(column) for column in zip(*waited, strict=True)] == pytest.approx([e["step"]["exposed_communication_s"] for e in estimates])
    verdicts = page.page.evaluate("[...document.querySelectorAll('#compare-table [data-verdict]')].map(cell => cell.dataset.verdict)")
    assert verdicts == [e["memory"]["verdict"] for e in estimates]
    page.picture("compare-all-rows")


def test_what_differs_is_marked_by_more_than_colour(visit):
    page = opened(visit(FSDP))
    add(page, FSDP + "&mbs=2")
    answered(page, 2)
    differing = {d["path"] for d in json.loads(program("compare", FSDP, FSDP + "&mbs=2", "--json"))["differences"] if d["path"].startswith("plan.")}
    shown = fields(page)
    assert set(shown) == differing and "plan.training.micro_batch_size" in differing
    assert shown["plan.training.micro_batch_size"] == [["1", False], ["2", True]]
    mark = page.page.locator('[data-path="plan.training.micro_batch_size"] mark')
    assert mark.text_content() == "differs: ≠ 2"
    assert mark.evaluate("m => getComputedStyle(m).backgroundColor") == "rgb(251, 240, 218)"
    cell = page.page.locator('#compare [data-path="memory.parts.activations"] td').nth(1)
    assert re.fullmatch(r"[\d.]+ G(i?)B\+[\d.]+ G(i?)B against A", cell.text_content())
    assert cell.locator(".figure").evaluate("f => getComputedStyle(f).fontWeight") == "600"
    assert page.page.locator('#compare [data-path="memory.parts.parameters"]').get_attribute("class") == "same"
    press(page, "all rows")
    more = fields(page)
    assert len(more) > len(shown) + 20 and not any(changed for path, row in more.items() if path not in shown for _, changed in row)
    assert more["plan.parallel.data_sharding"] == [["fsdp", False], ["fsdp", False]]
    press(page, "differences only")
    assert fields(page) == shown


@pytest.mark.parametrize("unit", ["GB", "GiB"])
def test_texts_are_the_programs_to_the_byte(visit, unit):
    page = visit(FSDP + ("&u=gb" if unit == "GB" else ""), **PASTE)
    opened(page)
    links = [FSDP, FSDP.replace("fsdp", "zero1"), "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb"]
    for link in links[1:]:
        add(page, link)
    answered(page, 3)
    for format, option in (("text", "--unit"), ("Markdown", "--markdown"), ("CSV", "--csv"), ("JSON", "--json")):
        press(page, f"Copy as {format}")
        page.until("document.querySelector('#compare-status').textContent === 'Copied'")
        expected = program("compare", *links, "--unit", unit, *([option] if option != "--unit" else []))
        if format == "JSON":
            assert json.loads(pasted(page)) == json.loads(expected)
        else:
            assert pasted(page).rstrip("\n") == expected.rstrip("\n")


# ---------------------------------------------------------------- what a reader does


def test_from_the_first_plan_to_two_by_mouse(visit):
    page = visit()
    page.settle()
    page.page.locator("#change [data-do=compare]").click()
    answered(page, 1)
    assert "Change something, then add the current plan." in page.page.locator(".nothing-yet").inner_text()
    page.picture("compare-empty")
    page.page.locator("#compare .close").click()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.page.locator("#change [data-do=compare]").click()
    answered(page, 1)
    press(page, "Add current plan")
    answered(page, 2)
    assert names(page) == ["DDP", "FSDP"] and status(page) == "Added as B."
    assert page.page.locator("#compare-lead").inner_text() == f"FSDP is fastest and fits: {page.text('step.time_s').strip()} per step; DDP does not fit."
    assert question(page, "memory")[1] == page.value("memory.need_bytes")
    press(page, "Add current plan")
    assert "as B" in status(page) and page.page.locator("#compare-table thead th").count() == 2
    of_plan(page, 1, "Make it the baseline")
    assert names(page) == ["FSDP", "DDP"] and page.page.locator(".letter.filled").inner_text() == "A"
    of_plan(page, 0, "Move right")
    assert names(page) == ["DDP", "FSDP"]
    of_plan(page, 0, "Remove")
    assert names(page) == ["FSDP"]
    press(page, "Undo")
    assert names(page) == ["DDP", "FSDP"]


def test_a_plan_opens_in_the_page_as_one_edit(visit):
    page = visit(FSDP)
    opened(page)
    add(page, "llama-3-8b-fsdp")
    answered(page, 2)
    press(page, "Open plan B in the page")
    page.page.locator("#compare:not([open])").wait_for(state="attached")
    page.settle()
    assert page.value("model.parameters") == 8_030_261_248
    opened(page, 2)
    assert question(page, "step")[1] == page.value("step.time_s")
    page.page.keyboard.press("Escape")
    page.page.locator("[data-do=undo]").first.click()
    page.until(f"document.querySelector('#link').getAttribute('href') === {json.dumps(FSDP)}")
    assert page.page.locator("[data-do=undo]").first.is_disabled()


def test_a_fifth_is_refused_with_a_reason(visit):
    page = opened(visit(FSDP))
    for sharding in ("ddp", "zero1", "zero2"):
        add(page, FSDP.replace("fsdp", sharding))
    answered(page, 4)
    page.picture("compare-four")
    add(page, FSDP + "&mbs=2")
    assert status(page) == "4 plans stand here, and more do not fit side by side: remove one first."
    of_plan(page, 3, "Duplicate")
    assert "4 plans stand here" in status(page) and page.page.locator("#compare-table thead th").count() == 4
    of_plan(page, 3, "Remove")
    of_plan(page, 0, "Duplicate")
    answered(page, 4)
    assert question(page, "step")[0] == question(page, "step")[1]


def test_names_are_written_and_cleaned(visit):
    page = opened(visit(FSDP))
    add(page, HSDP)
    answered(page, 2)
    of_plan(page, 1, "Rename")
    field = page.page.locator("input.plan-name")
    assert field.evaluate("f => f === document.activeElement")
    field.fill("  Pairs <b>only</b>\u202e ")
    page.page.keyboard.press("Enter")
    assert names(page)[1] == "Pairs <b>only</b>"
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')") == "More for plan B"
    of_plan(page, 0, "Rename")
    page.page.locator("input.plan-name").fill("Mine")
    press(page, "all rows")  # a press elsewhere keeps the name, and is no lost press
    assert names(page) == ["Mine", "Pairs <b>only</b>"]
    assert page.page.get_by_role("button", name="all rows").get_attribute("aria-pressed") == "true"
    of_plan(page, 0, "Rename")
    page.page.locator("input.plan-name").fill("no")
    page.page.keyboard.press("Escape")
    assert names(page)[0] == "Mine" and page.page.locator("#compare[open]").count() == 1


def test_by_keyboard_alone(visit):
    page = visit(FSDP)
    page.settle()
    page.page.locator('[popovertarget="copy"]').focus()
    page.page.keyboard.press("Enter")
    page.page.locator("#copy [data-do=compare]").focus()
    page.page.keyboard.press("Enter")
    answered(page, 1)
    page.page.locator("#compare-link").focus()
    page.page.keyboard.type(FSDP.replace("fsdp", "zero1"))
    page.page.keyboard.press("Enter")
    answered(page, 2)
    assert page.page.evaluate("document.activeElement.id") == "compare-link", "what was drawn anew keeps the focus"
    page.page.locator("#compare-table .more").nth(1).focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    assert names(page) == ["ZeRO-1", "FSDP"]
    reached = set()
    for _ in range(40):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("(e => e.closest('#compare') ? e.getAttribute('aria-label') ?? e.textContent : '')(document.activeElement)"))
    assert {"Add current plan", "Copy link", "Copy as CSV", "Open plan A in the page", "More for plan B", "Plans side by side"} <= reached
    page.page.keyboard.press("Escape")
    page.page.locator("#compare:not([open])").wait_for(state="attached")
    assert page.page.evaluate("document.activeElement.getAttribute('popovertarget')") == "copy"


def test_a_run_costs_what_the_program_says(visit):
    page = opened(visit(FSDP))
    add(page, HSDP)
    answered(page, 2)
    page.page.locator("#compare-tokens").fill("300B")
    page.page.locator("#compare-price").fill("2.5")
    page.page.locator("#compare-price").press("Enter")
    budgets = [json.loads(program("estimate", link, "--tokens", "300000000000", "--price", "2.5", "--json"))["budget"] for link in (FSDP, HSDP)]
    assert values(page, "run.gpu_hours") == [b["gpu_hours"]["value"] for b in budgets]
    assert values(page, "run.cost") == [b["cost"]["value"] for b in budgets]
    page.page.locator("#compare-tokens").fill("many")
    page.page.locator("#compare-tokens").press("Enter")
    assert status(page) == 'tokens "many" is no number: 300B, 15T or 2e12 are'
    assert page.page.locator("[data-group=run]").count() == 0
    page.page.locator("#compare-tokens").fill("-1e9")
    page.page.locator("#compare-tokens").press("Enter")
    assert "-1e9" in status(page)


def bars_stand_on_one_scale(page):
    bars = page.page.evaluate("""() => [...document.querySelectorAll('#compare-table [data-group=memory] .bar-of-plan')].map(bar => ({
        width: bar.viewBox.baseVal.width, line: Number(/^M([\\d.]+)/.exec(bar.querySelector('.capacity').getAttribute('d'))[1]),
        parts: Object.fromEntries([...bar.querySelectorAll('rect[data-part]')].map(r => [r.dataset.part, Number(r.getAttribute('width'))])), over: bar.querySelectorAll('rect.over').length }))""")
    capacity = page.page.evaluate("Number(document.querySelector('#results [data-path=\"memory.capacity_bytes\"]').dataset.value)")
    verdicts = page.page.evaluate("[...document.querySelectorAll('#compare-table [data-verdict]')].map(cell => cell.dataset.verdict)")
    assert [bar["over"] > 0 for bar in bars] == [need > capacity for need in question(page, "memory")] and "does-not-fit" in verdicts
    assert len({bar["width"] for bar in bars}) == 1 and len({bar["line"] for bar in bars}) == 1
    for i, bar in enumerate(bars):
        assert len(bar["parts"]) > 4
        for part, width in bar["parts"].items():
            assert width == pytest.approx(values(page, f"memory.parts.{part}")[i] * bar["line"] / capacity, abs=1.1)


# ---------------------------------------------------------------- ready-made


def test_the_three_recipes(visit):
    page = opened(visit())
    press(page, "The three recipes")
    answered(page, 3)
    assert names(page) == ["8 B · pure bf16 AdamW", "12 B · fp32 moments", "16 B · mixed precision"]
    assert [round(v / 1e8) for v in values(page, "memory.states")] == [579, 869, 1159]
    of_app = page.page.evaluate("""async () => { const { startApp } = await import('./bridge.mjs'); const app = await startApp(null, '', {}, () => () => {});
        return app.alternatives().recipes.map(r => [r.states_bytes, r.time_s]); }""")
    assert [states for states, _ in of_app] == values(page, "memory.states")
    assert [time for _, time in of_app] == question(page, "step")
    assert "training.master_weights_dtype" in " ".join(fields(page))
    page.picture("compare-recipes")


def test_the_page_goes_on_drawing_behind_a_ready_made_comparison(visit):
    page = opened(visit())
    press(page, "The three recipes")
    answered(page, 3)
    page.page.keyboard.press("Escape")
    page.settle()
    before = page.frames()
    page.changes(page.answer, lambda: page.click("strategy.fsdp"))
    page.settle()
    assert page.frames() > before
    page.picture("plan-after-compare")



@pytest.mark.parametrize("kind,list,link", [("Shardings", "strategies", FSDP), ("The same card, wired otherwise", "wirings", FSDP), ("The same card, wired otherwise", "wirings", "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&ds=fsdp")])
def test_alternatives_are_those_of_the_page(visit, kind, list, link):
    page = opened(visit(link))
    press(page, kind)
    page.until("document.querySelectorAll('#compare-table thead th').length > 1", timeout=10000)
    count = len(names(page))
    of_app = page.page.evaluate("""async ([list, link]) => { const { startApp } = await import('./bridge.mjs'); const app = await startApp(null, link, {}, () => () => {});
        return app.alternatives()[list].map(r => [r.need_bytes, r.time_s]); }""", [list, link])
    shown = sorted(map(tuple, zip(question(page, "memory"), question(page, "step"), strict=True)))
    assert 2 <= count <= 4 and set(shown) <= set(map(tuple, of_app)) and count == min(4, len(of_app))
    if list == "strategies":
        assert page.value("step.time_s") == question(page, "step")[0], "the plan itself is the baseline"
    if list == "wirings":
        assert not any("gpu" in path for path in fields(page)), "the card is held fixed"
    assert link_of(page) == link and page.page.locator("[data-do=undo]").first.is_disabled()
    if list == "strategies":
        bars_stand_on_one_scale(page)
    page.picture(f"compare-{list}")


def test_accumulation_beside_none(visit):
    page = opened(visit(FSDP + "&gbs=64"))
    press(page, "Accumulation")
    answered(page, 2)
    assert names(page) == ["16 micro-batches a step", "1 micro-batch a step"]
    assert question(page, "step") == [json.loads(program("estimate", f"{FSDP}&gbs={n}", "--json"))["step"]["time_s"]["value"] for n in (64, 4)]
    assert "tokens/s" in page.page.locator("#compare-lead").inner_text(), "steps of different batches are not compared by their seconds"


# ---------------------------------------------------------------- by link


@pytest.mark.parametrize("compared", GOLDEN)
def test_golden_links(visit, compared):
    page = visit(FSDP + compared)
    answered(page, len(GOLDEN[compared]))
    estimates = json.loads(program("compare", *GOLDEN[compared], "--json"))["estimates"]
    assert question(page, "step") == [e["step"]["time_s"]["value"] for e in estimates]
    assert question(page, "memory") == [e["memory"]["need_bytes"]["value"] for e in estimates]
    if "name=" in compared:
        assert names(page)[2] == "Llama on H100"
    assert page.value("step.time_s") == json.loads(program("estimate", FSDP, "--json"))["step"]["time_s"]["value"], "the page's plan is the link's own"


def test_a_link_goes_there_and_back(visit):
    page = opened(visit(FSDP, **PASTE))
    press(page, "Shardings")
    page.until("document.querySelectorAll('#compare-table thead th').length > 2", timeout=10000)
    of_plan(page, 1, "Rename")
    page.page.locator("input.plan-name").fill("Tên riêng; & 100%!")
    page.page.keyboard.press("Enter")
    press(page, "Copy link")
    page.until("document.querySelector('#compare-status').textContent === 'Link copied'")
    link = pasted(page)
    page.until(f"location.href === {json.dumps(link)}")
    again = visit(link[link.index("#"):])
    answered(again)
    assert names(again) == names(page) and question(again, "step") == question(page, "step")
    again.page.wait_for_timeout(500)
    assert again.page.evaluate("location.href") == link, "reloading brings it back"
    again.page.keyboard.press("Escape")
    again.until(f"location.hash === {json.dumps(FSDP)}")
    again.changes(lambda: again.page.locator("#compare[open]").count(), lambda: again.page.evaluate("h => { location.hash = h; }", link[link.index("#"):]))
    answered(again, len(names(page)))


def test_a_plan_that_does_not_read_says_so_in_its_column(visit):
    page = visit(FSDP + "&compare=m=mistral-8b!same!tp=3!turn_the_crank=3;ds=ddp")
    answered(page, 4)
    heads = page.page.locator("#compare-table thead th").all_inner_texts()
    assert "mistral-8b" in heads[0] and "✕" in heads[0] and "parallel." in heads[2]
    assert "baseline" in heads[1] and "baseline" not in heads[0]
    assert "turn_the_crank" in heads[3] and "✕" not in heads[3]
    steps = question(page, "step")
    assert steps[1] == page.value("step.time_s") and steps[3] > 0 and steps[0] != steps[0] and steps[2] != steps[2]
    page.picture("compare-errors")
    for i in (2, 0):
        of_plan(page, i, "Remove")
    assert len(names(page)) == 2


STRANGE = [
    ("&compare=" + "x" * 20_000, 0, "16 kB"),
    ("&compare=" + "!".join(f"mbs={n}" for n in range(1, 10)), 4, "The link holds 9 plans; the first 4 stand here."),
    ("&compare=", 1, ""),
    ("&compare=!!;;=;-;name=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%00%E2%80%AE", 3, ""),
    ("&compare=__proto__.x=1;constructor=2;name=%E0%A4%A!j=AAAA!compare=same;v=9;gbs=1e999", 3, ""),
]


def test_strangers_links_do_no_harm(visit):
    page = visit(FSDP + STRANGE[0][0])
    for i, (tail, columns, says) in enumerate(STRANGE):
        if i:
            page.page.evaluate("hash => { location.hash = hash; }", FSDP + tail)
        page.page.locator("#compare[open]").wait_for()
        answered(page, columns)
        page.until(f"document.querySelector('#compare-status').textContent.includes({json.dumps(says)})")
        assert page.page.locator("#compare img, #compare script").count() == 0
        assert not re.search(r"\bNaN\b|undefined|Infinity|\[object", page.page.locator("#compare").inner_text())
        page.page.keyboard.press("Escape")
        page.page.locator("#compare:not([open])").wait_for(state="attached")
        assert page.answer().startswith("Fits")
        page.page.wait_for_timeout(400)  # the address has followed


def test_a_machine_that_no_link_holds_is_compared_all_the_same(visit):
    page = visit(FSDP)
    page.settle()
    opened(page, 1)
    page.page.keyboard.press("Escape")
    drop(page, ("topo.txt", MATRIX))
    page.page.keyboard.press("Escape")
    page.settle()
    opened(page, 1)
    press(page, "Add current plan")
    answered(page, 2)
    assert question(page, "step")[1] == page.value("step.time_s")
    press(page, "Open plan A in the page")
    page.until("document.querySelector('#link').textContent.includes('pairs')")


# ---------------------------------------------------------------- for everybody

ENGLISH = re.compile(r"\b(the|of|plans?|fits?|fastest|baseline|rows?|add|copy|than|more|step|waiting|links?|tokens of|price|undo|print)\b", re.I)


def test_vietnamese_is_no_english_and_units_follow(visit):
    page = visit(FSDP + "&lang=vi&compare=same!ds=hsdp;parallel.shard_group=2!mbs=2")
    answered(page, 3)
    said = page.page.evaluate("""() => { const copy = document.querySelector('#compare').cloneNode(true);
        for (const node of copy.querySelectorAll('code, mark, .plan-field td, [data-path^=\"exposed.\"]')) node.remove();
        return copy.innerText + [...copy.querySelectorAll('[aria-label]')].map(n => n.getAttribute('aria-label')).join(' '); }""")
    assert "So sánh các phương án" in said and "mốc so sánh" in said and "GiB" in said
    assert not ENGLISH.search(said), ENGLISH.search(said)
    assert "{" not in said
    assert violations(page) == []
    page.picture("compare-vi")
    page.page.evaluate("document.querySelector('[data-unit=GB]').click()")
    page.until("!document.querySelector('#compare-table').innerText.includes('GiB')")
    page.page.evaluate("document.querySelector('[data-language=en]').click()")
    page.until("document.querySelector('#compare h2').textContent === 'Compare plans'")
    assert "is fastest and fits" in page.page.locator("#compare-lead").inner_text()


@pytest.mark.parametrize("scheme,size", [("light", dict(width=1440, height=900)), ("dark", PHONE)], ids=["wide-light", "phone-dark"])
def test_axe_finds_nothing_and_the_page_never_scrolls_aside(visit, scheme, size):
    page = visit(FSDP + "&compare=same!ds=hsdp;parallel.shard_group=2!ds=ddp", color_scheme=scheme, **size)
    page.settle()
    answered(page, 3)
    page.picture(f"compare-{scheme}-{size['width']}")
    assert violations(page) == []
    assert page.page.evaluate("[document.documentElement, document.querySelector('#compare')].every(n => n.scrollWidth <= n.clientWidth)")
    table = page.page.locator("#compare-table")
    assert table.locator("caption").count() == 1 and table.locator("thead th[scope=col]").count() == 3
    assert table.evaluate("t => [...t.tBodies].every(b => [...b.rows].every(r => r.cells[0].tagName === 'TH' || r.cells[0].classList.contains('said')))")
    if size is not PHONE:
        return
    small = page.page.evaluate("[...document.querySelectorAll('#compare button, #compare input')].filter(n => n.offsetParent && !n.closest('[popover]')).map(n => [n.textContent || n.id, n.getBoundingClientRect()]).filter(([, b]) => b.height < 44 || b.width < 44).map(([n]) => n)")
    assert small == []
    page.page.locator("#compare .scroll").evaluate("s => { s.scrollLeft = 200; }")
    left = page.page.evaluate("document.querySelector('#compare-table tr.question th').getBoundingClientRect().left")
    assert abs(left - page.page.locator("#compare .scroll").bounding_box()["x"]) < 1, "the names of rows stay"


def test_by_touch(visit):
    page = visit(FSDP, **PHONE)
    page.settle()
    page.page.locator("#change [data-do=compare]").tap()
    answered(page, 1)
    page.page.get_by_role("button", name="Shardings").tap()
    page.until("document.querySelectorAll('#compare-table thead th').length > 2", timeout=10000)
    before = names(page)
    page.page.locator("#compare-table .more").nth(1).tap()
    item = page.page.locator(".plan-menu:popover-open button").first
    assert item.bounding_box()["height"] >= 44
    item.tap()
    assert names(page)[:2] == [before[1], before[0]]


def test_loaded_when_asked_still_and_fit_for_paper(visit):
    page = visit(FSDP)
    page.settle()
    loaded = []
    page.page.on("request", lambda r: loaded.append(r.url.rsplit("/", 1)[-1]))
    opened(page, 1)
    assert {"compare.mjs", "compare_table.mjs", "compare.css", "wireplan.wasm"} <= set(loaded) and "compare.vi.json" not in loaded
    page.settle()
    frames = page.frames()
    page.page.wait_for_timeout(400)
    assert page.frames() == frames
    page.page.emulate_media(media="print")
    assert page.page.locator("#compare-table").is_visible(), "on paper the comparison stands alone"
    assert not page.page.locator("header.bar").is_visible() and not page.page.locator("#compare-do").is_visible()
    page.picture("compare-print")
