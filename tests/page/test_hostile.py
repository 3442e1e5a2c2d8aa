"""What strangers send: attributes of the elements, messages to the frame, documents that are pasted."""

import json

import pytest
from test_element import HEAD, escaped, heard
from test_embed import ask, framed


def value(id, **attributes):
    said = "".join(f' {name}="{escaped(text)}"' for name, text in attributes.items())
    return f'<wireplan-value id="{id}"{said}>said</wireplan-value>'


def test_a_value_in_a_form_that_every_object_has_keeps_its_text(host):
    names = ("constructor", "toString", "__proto__", "valueOf")
    asked = dict(plan="story", path="memory.states.parameters")
    body = "".join(value(f"f-{name}", **asked, format=name) + value(f"e-{name}", **asked, expect=f"14 {name}") for name in names)
    page = host(body + value("last", **asked), HEAD)
    page.until("heard.some(h => h.id === 'last')", 20000)
    for name in names:
        for id in (f"f-{name}", f"e-{name}"):
            assert page.page.locator(f"#{id}").inner_text() == "said", "and no number that is none"
            errors = [one for one in heard(page, "error") if one["id"] == id]
            assert errors and errors[0]["detail"]["errors"][0]["limit"].startswith("B, kB"), (id, errors)


@pytest.mark.parametrize("name", ["constructor", "__proto__", "<b>"])
def test_a_language_that_is_none_is_english(host, name):
    table = f'<wireplan-table id="t" lang="{name}" plans="story">said</wireplan-table>'
    page = host(f'<wireplan-planner id="p" lang="{name}" plan="story"></wireplan-planner>' + table, HEAD)
    page.until("heard.some(h => h.id === 't')", 20000)
    assert not heard(page, "error")
    assert page.page.locator("#p button").inner_text() == "Try it here"


def test_a_base_that_would_run_leads_nowhere(host):
    bases = ("javascript:window.pwned=1//", "data:text/html,<script>parent.pwned=1</script>", "http://[", "JaVaScRiPt:window.pwned=1//")
    planners = "".join(f"<wireplan-planner id='p{i}' plan='story' base='{base}'></wireplan-planner>" for i, base in enumerate(bases))
    page = host(planners, HEAD)
    page.until(f"heard.filter(h => h.name === 'error').length >= {len(bases)}")
    for i, base in enumerate(bases):
        assert page.page.locator(f"#p{i} a").get_attribute("href").startswith(page.url + "index.html")
        (error,) = [one["detail"]["errors"][0] for one in heard(page, "error") if one["id"] == f"p{i}"]
        assert (error["path"], error["value"], error["limit"]) == ("base", base[:80], "an address with http or https")
    page.page.locator("#p0 button").click()
    page.frame()
    assert page.page.evaluate("window.pwned") is None


def test_messages_of_wrong_kinds_are_errors_and_the_frame_goes_on(host):
    page = framed(host)
    page.page.evaluate("() => ready")
    before = ask(page, "get")
    odd = [None, 7, -1, 4e9, True, [], {}, [[]], {"toString": 1, "valueOf": 1}]
    for kind, field in (("lang", "lang"), ("theme", "theme"), ("show", "panel"), ("export", "format")):
        for thing in odd:
            answer = ask(page, kind, **{field: thing})
            assert answer["type"] == "error", (kind, thing, answer)
            (error,) = answer["errors"]
            assert error["path"] == field and error["limit"] and "[object" not in json.dumps(error), (kind, thing, error)
    for thing in (7, [{}], {}, {"toString": 1, "valueOf": 1}, "nope"):
        answer = ask(page, "panels", panels=thing)
        assert answer["type"] == "error" and "[object" not in json.dumps(answer), (thing, answer)
    assert ask(page, "panels", panels="memory")["type"] == "result"
    loop = "() => { const loop = {}; loop.loop = loop; return ask('set', { plan: loop }); }"
    assert page.page.evaluate(loop)["type"] == "error"
    assert ask(page, "estimate", plan=None)["type"] == "error"
    assert {**ask(page, "get"), "id": 0} == {**before, "id": 0}


def test_a_flood_of_messages_is_worked_off(host):
    page = framed(host)
    page.page.evaluate("() => ready")
    page.page.evaluate("() => { for (let i = 0; i < 10000; ++i) post({ type: ['panels', 'nothing', 'lang', 'ping'][i % 4], panels: 'memory', lang: 'en', id: {} }); }")
    assert ask(page, "get")["plan"]["model"] == "mistral-7b-v0.1"
