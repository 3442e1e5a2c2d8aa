"""How accurate is this? The dialog shows every figure of docs/accuracy.json, and its misses, in both languages."""

import json
import re
from pathlib import Path

import pytest
from test_access import violations

ROOT = Path(__file__).resolve().parents[2]
FIGURES = {kind["id"]: kind for kind in json.loads((ROOT / "docs/accuracy.json").read_text("utf-8"))["kinds"]}
PHONE = dict(width=390, height=844, has_touch=True, is_mobile=True, device_scale_factor=2)


def opened(page):
    page.page.evaluate("document.querySelector('#results [data-do=accuracy]').click()")
    return filled(page)


def filled(page):
    page.page.locator("#accuracy[open]").wait_for()
    page.until("(b => b.children.length > 0 && !b.hasAttribute('aria-busy'))(document.querySelector('#accuracy .body'))")
    return page


def values(page, where):
    """The values behind each row of a table, by the row's id."""
    return page.page.evaluate("""where => Object.fromEntries([...document.querySelectorAll(where + ' tbody tr')].map(row =>
        [row.dataset.row, [...row.querySelectorAll('[data-value]')].map(cell => Number(cell.dataset.value))]))""", where)


def test_the_figures_are_the_documents(visit):
    page = opened(visit())
    page.picture("accuracy")
    found = {kind: values(page, f"#accuracy [data-kind={kind}]") for kind in FIGURES}
    for row in FIGURES["traced"]["rows"]:
        if "right" not in row:
            s = row["as_shipped"]
            assert found["traced"][row["id"]] == [row["rows"], s["median"], s["p90"], s["worst"]]
    for row in FIGURES["gpus"]["rows"]:
        s = row["as_shipped"]
        assert found["gpus"][f"{row['id']}.{row['figure']}"] == [row["rows"], s["median"], s["p90"], s["worst"]]
    for row in FIGURES["nccl"]["rows"]:
        assert found["nccl"][row["id"]] == [row["right"] if "right" in row else row["as_shipped"]["median"]]
    for row in FIGURES["collectives"]["rows"]:
        left = row["left_out"]
        assert found["collectives"][row["id"]] == [row["rows"], row["as_shipped"]["median"], *(left[by]["median"] for by in ("source", "machine", "wiring")), left["source"]["worst"]]
    for row in FIGURES["collectives"]["sources"]:
        assert found["collectives"][row["id"]] == [row["rows"], row["as_shipped"]["median"], row["left_out"]["source"]["median"], row["left_out"]["source"]["worst"]]
    step = FIGURES["step"]
    for row in [*step["rows"], step["total"]]:
        s, left = row["as_shipped"], row["left_out"]["source"]
        assert found["step"][row["id"]] == [row["rows"], s["median"], s["leans"], left["median"], left["leans"]]
    assert found["step"]["aim.p90"] == [step["aims"]["p90"], step["total"]["left_out"]["source"]["p90"]]
    overview = values(page, "#accuracy .body > .scroll")
    assert list(overview) == list(FIGURES) and overview["step"][1] == step["total"]["as_shipped"]["median"]


def test_misses_are_shown(visit):
    page = opened(visit())
    said = page.page.locator("#accuracy").inner_text()
    step = FIGURES["step"]["total"]
    assert f"{100 * step['as_shipped']['worst']:.0f}" in said and step["left_out"]["source"]["worst_id"] in said
    missed = step["left_out"]["source"]["p90"] > FIGURES["step"]["aims"]["p90"]
    assert ("not met" in page.page.locator("#accuracy [data-row='aim.p90']").inner_text()) == missed
    for kind in FIGURES.values():
        for cause in kind["causes"]:
            shown = page.page.locator(f"#accuracy [data-kind={kind['id']}] [data-cause={cause['id']}]")
            assert shown.is_visible() and cause["text"] in shown.inner_text()
    # Each published source leads to where it was read.
    links = page.page.locator("#accuracy a").evaluate_all("all => all.map(a => [a.href, a.rel, a.target])")
    assert len(links) > 80 and all(url.startswith("https://") and rel == "noopener" and target == "_blank" for url, rel, target in links)


def test_vietnamese_has_every_word(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&ds=fsdp&lang=vi")
    page.settle()
    opened(page)
    page.picture("accuracy-vi")
    assert "Con số này chính xác đến đâu?" in page.page.locator("#accuracy h2").inner_text()
    said = page.page.evaluate("""() => { const copy = document.querySelector('#accuracy .body').cloneNode(true);
        copy.querySelectorAll('a, code, details th').forEach(node => node.remove()); return copy.textContent; }""")
    assert not re.search(r"\b(the|of|is|rows?|worst|shipped|source|and|with|by|what|left)\b", said), re.search(r".{30}\b(the|of|is|rows?|worst|shipped|source|and|with|by|what|left)\b.{30}", said)
    assert "{" not in said
    words = json.loads((ROOT / "web/shell/accuracy.vi.json").read_text("utf-8"))
    asked = set(re.findall(r'say\("([\w.]+)"', (ROOT / "web/shell/accuracy.mjs").read_text("utf-8")))
    causes = {f"cause.{kind['id']}.{cause['id']}" for kind in FIGURES.values() for cause in kind["causes"]}
    labels = {r["id"] for kind in ("traced", "nccl") for r in FIGURES[kind]["rows"]} | {part for r in FIGURES["collectives"]["rows"] for part in r["id"].split(".")}
    assert (asked | causes | labels | set(FIGURES)) - set(words) == set()


def test_it_comes_from_here_when_it_is_opened_by_the_number_explained(visit):
    page = visit(height=2700)
    page.settle()
    page.page.locator("[data-key='step.time_s']").first.click()
    page.settle()
    loaded = []
    page.page.on("request", lambda r: loaded.append(r.url.rsplit("/", 1)[-1]))
    page.click("accuracy.ask")
    filled(page)
    assert {"accuracy.mjs", "accuracy.json", "asides.css"} == set(loaded)


def test_on_a_phone_by_the_explanation(visit):
    page = visit(**PHONE)
    page.settle()
    page.page.locator("[data-key='step.time_s']").first.tap()
    page.page.locator("#explain[open] [data-do=accuracy]").tap()
    filled(page)
    page.picture("accuracy-phone")
    assert page.page.evaluate("[document.documentElement, document.querySelector('#accuracy')].every(n => n.scrollWidth <= n.clientWidth)")
    small = page.page.evaluate("[...document.querySelectorAll('#accuracy :is(button, summary)')].filter(b => b.getBoundingClientRect().height < 43.5).length")
    assert small == 0
    page.page.locator("#accuracy .close").tap()
    assert page.page.locator("#accuracy[open]").count() == 0 and page.page.locator("#explain[open]").count() == 1


def test_by_keyboard(visit):
    page = visit()
    page.settle()
    page.page.locator("[data-do=table]").click()
    page.page.locator("#results [data-do=accuracy]").focus()
    page.page.keyboard.press("Enter")
    filled(page)
    assert page.page.evaluate("document.activeElement.closest('#accuracy') !== null")
    page.page.keyboard.press("Escape")
    assert page.page.evaluate("document.activeElement.dataset.do") == "accuracy"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [dict(width=1440, height=900), PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing(visit, scheme, size):
    page = visit(color_scheme=scheme, **size)
    page.settle()
    opened(page)
    page.page.locator("#accuracy summary").click()
    assert violations(page) == []


def test_without_the_document_it_says_so(visit):
    page = visit()
    page.page.route("**/accuracy.json", lambda route: route.abort())
    opened(page)
    assert len(page.page.locator("#accuracy [role=alert]").inner_text()) > 5
    visit.complaints[:] = [c for c in visit.complaints if "Failed to load" not in c]
