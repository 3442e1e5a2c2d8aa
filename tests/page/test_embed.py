"""The planner in somebody else's page, by messages alone: docs/embedding.md's contract of embed.html."""

import json

import pytest

FRAME = '<iframe id="f" src="{site}embed.html#LINK" width="680" height="HEIGHT" title="planner"></iframe>'
# A host as short as the documentation's: what it hears, and a promise for each question.
SCRIPT = """<script>
const heard = [], answers = new Map();
let next = 0;
const frame = document.getElementById("f");
const site = new URL(frame.src).origin;
addEventListener("message", ({ source, origin, data }) => {
  if (source !== frame.contentWindow || origin !== site || data?.wireplan !== 1) return;
  heard.push(data);
  answers.get(data.id)?.(data);
});
const post = (message) => frame.contentWindow.postMessage({ wireplan: 1, ...message }, site);
const ask = (type, fields) => new Promise((done, fail) => { const id = ++next; answers.set(id, done); setTimeout(() => fail(new Error(`no answer to ${type}`)), 15000); post({ type, id, ...fields }); });
const ready = new Promise((done, fail) => frame.addEventListener("load", () => ask("ping").then(done, fail)));
</script>"""


def framed(host, link="", height=1400, before="", after="", **options):
    body = before + FRAME.replace("LINK", link).replace("HEIGHT", str(height)) + after + SCRIPT
    return host(body, **options)


def ask(page, kind, **fields):
    return page.page.evaluate("([kind, fields]) => ask(kind, fields)", [kind, fields])


@pytest.fixture
def talking(host):
    page = framed(host)
    page.page.evaluate("() => ready")
    return page


def test_the_contract_there_and_back(talking, site):
    page = talking
    ready = page.page.evaluate("() => ready")
    assert ready["type"] == "ready" and ready["schema"] == "wireplan.plan/1" and ready["version"] and ready["id"] == 1
    answer = ask(page, "set", plan="#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp")
    assert answer["type"] == "result" and answer["plan"]["model"] == "llama-3-8b" and answer["link"].startswith("#v=1&m=llama-3-8b")
    assert answer["estimate"]["schema"] == "wireplan.estimate/1"
    assert page.frame().evaluate("document.querySelector('#results [data-path=\"model.parameters\"]').dataset.value") == "8030261248"
    document = {"model": "gpt2", "cluster": {"node": "dgx-a100-80gb", "gpus_per_node": 1}}
    assert ask(page, "set", plan=document)["plan"]["model"] == "gpt2"
    assert ask(page, "set", plan="story")["plan"]["model"] == "mistral-7b-v0.1"
    other = ask(page, "estimate", plan="#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp")
    assert other["estimate"] == answer["estimate"], "worked out without being shown"
    assert ask(page, "get")["plan"]["model"] == "mistral-7b-v0.1"
    texts = {f: ask(page, "export", format=f)["text"] for f in ("text", "markdown", "csv", "json", "link")}
    assert json.loads(texts["json"])["plan"]["model"] == "mistral-7b-v0.1" and "|" in texts["markdown"] and texts["link"].startswith("#v=1")
    assert not [m for m in page.page.evaluate("heard") if m["type"] in ("change", "error")], "nobody hears of what he did himself"


def test_a_reader_s_changes_are_told_and_only_they(talking):
    page = talking
    ask(page, "set", plan="story")
    page.press_in_frame("strategy.fsdp")
    page.until("heard.some(m => m.type === 'change')")
    changes = [m for m in page.page.evaluate("heard") if m["type"] == "change"]
    assert len(changes) == 1
    assert changes[0]["plan"]["parallel"]["data_sharding"] == "fsdp" and "ds=fsdp" in changes[0]["link"]
    assert changes[0]["estimate"]["memory"]["fits"] is True
    assert "ds=fsdp" in page.frame().locator("#link").get_attribute("href"), "the way out carries the plan"


def test_what_is_wrong_comes_back_as_data_and_changes_nothing(talking):
    page = talking
    before = ask(page, "get")
    for fields in ({"plan": "#v=1&m=no-such-model&c=dgx-a100-80gb"}, {"plan": {"model": 7}}, {"plan": None}, {"plan": "no-such-scenario"}, {}):
        answer = ask(page, "set", **fields)
        assert answer["type"] == "error" and answer["errors"][0]["text"], (fields, answer)
    assert ask(page, "show", panel="kitchen")["type"] == "error"
    assert ask(page, "show", key="memory.nothing")["type"] == "error"
    assert ask(page, "export", format="pdf")["errors"][0]["limit"] == "text, markdown, csv, json, link"
    assert ask(page, "theme", theme="pink")["type"] == "error"
    assert ask(page, "lang", lang="xx")["type"] == "error"
    assert ask(page, "get")["plan"] == before["plan"]
    assert page.frame().locator("#errors > div").count() == 0, "the reader cannot mend what the page around did wrong"
    for nonsense in ("null", "7", "'ping'", "{}", "{wireplan: 2, type: 'get', id: 'nine'}", "{wireplan: 1}", "{wireplan: 1, type: 'constructor', id: 'nine'}", "{wireplan: 1, type: 'later', id: 'nine'}"):
        page.page.evaluate(f"() => frame.contentWindow.postMessage({nonsense}, site)")
    assert ask(page, "get")["type"] == "result"
    assert not [m for m in page.page.evaluate("heard") if m.get("id") == 'nine']


def test_theme_language_and_explanations_by_message(talking):
    page = talking
    frame = page.frame()
    assert ask(page, "theme", theme="dark")["type"] == "result"
    assert frame.locator("html").get_attribute("data-theme") == "dark"
    assert ask(page, "lang", lang="vi")["type"] == "result"
    for _ in range(100):
        if "Mở bản đầy đủ" in frame.locator("#link").inner_text():
            break
        page.page.wait_for_timeout(50)
    assert "Không vừa" in frame.locator("#answer").inner_text() and frame.locator("html").get_attribute("lang") == "vi"
    page.picture("embed-dark-vi")
    assert ask(page, "show", key="memory.states.parameters")["type"] == "result"
    frame.locator("#explain[open] pre").wait_for()
    page.picture("embed-explain")
    frame.locator("#explain .close").click()


def test_messages_before_it_is_ready_are_not_lost(host):
    page = host(FRAME.replace("LINK", "").replace("HEIGHT", "600") + SCRIPT.replace(
        "const ready =", "const early = new Promise((done) => frame.addEventListener('load', () => { done(ask('set', { plan: 'gpt2-nanogpt' })); })); const ready ="))
    answer = page.page.evaluate("() => early")
    assert answer["type"] == "result" and answer["plan"]["model"].startswith("gpt2")
    assert page.frame().evaluate("document.querySelector('#link').href").count("m=gpt2") == 1


def test_origins_that_may_not_speak_are_not_heard(host):
    page = framed(host, "allow=https://docs.example.org")
    page.frame()
    for _ in range(5):
        page.page.evaluate("post({ type: 'ping', id: 1 }), post({ type: 'set', plan: 'gpt2-nanogpt' })")
        page.page.wait_for_timeout(60)
    assert page.page.evaluate("heard") == []
    assert "mistral" in page.frame().evaluate("document.querySelector('#link').href") or page.frame().locator("#answer").inner_text().startswith("Does not fit")
    assert "gpt2" not in page.frame().evaluate("document.querySelector('#link').href")


def test_only_the_page_around_speaks(host):
    """Another frame of the same page reaches the planner's window, and is not heard."""
    sibling = """<iframe id="s" srcdoc="<script>setInterval(() => parent.frames[0].postMessage({wireplan: 1, type: 'set', plan: 'gpt2-nanogpt'}, '*'), 20)</script>"></iframe>"""
    page = framed(host, height=500, after=sibling)
    page.page.evaluate("() => ready")
    page.page.wait_for_timeout(300)
    assert ask(page, "get")["plan"]["model"] == "mistral-7b-v0.1"


def test_it_says_how_high_it_is(talking):
    page = talking
    heights = [m["height"] for m in page.page.evaluate("heard") if m["type"] == "resize"]
    assert heights, "told with the handshake"
    frame = page.frame()
    assert abs(heights[-1] - frame.evaluate("document.body.getBoundingClientRect().height")) <= 1
    page.page.evaluate("h => { frame.style.height = h + 'px'; }", heights[-1])
    page.page.wait_for_timeout(300)
    assert frame.evaluate("document.documentElement.scrollHeight <= innerHeight + 1"), "nothing is left to scroll"
    before = heights[-1]
    page.page.evaluate("() => { frame.style.width = '360px'; }")
    page.until(f"heard.filter(m => m.type === 'resize').at(-1).height !== {before}")


def test_only_the_panels_that_were_asked_for(host):
    page = framed(host, "panels=memory,step", height=900)
    page.page.evaluate("() => ready")
    keys = page.frame().evaluate("window.wireplan.keys()")
    assert "panel.memory" in keys and "panel.step" in keys and not {"panel.wiring", "panel.timeline", "panel.curves"} & set(keys)
    page.picture("embed-panels")
    assert ask(page, "panels", panels="wiring, waits")["type"] == "result"
    page.page.wait_for_timeout(300)
    keys = page.frame().evaluate("window.wireplan.keys()")
    assert "panel.wiring" in keys and "panel.waits" in keys and "panel.memory" not in keys
    assert ask(page, "panels", panels="kitchen")["errors"][0]["path"] == "panels"
    assert ask(page, "panels", panels=["table"])["type"] == "result"
    assert page.frame().locator("#results td").first.is_visible()
    page.picture("embed-table")


def test_a_plan_that_is_only_read(host):
    page = framed(host, "v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=ddp&readonly=1", height=1000)
    page.page.evaluate("() => ready")
    frame = page.frame()
    before = ask(page, "get")["link"]
    page.press_in_frame("strategy.fsdp")
    page.page.wait_for_timeout(300)
    assert ask(page, "get")["link"] == before
    assert not frame.locator("footer [data-do=edit]").is_visible()
    frame.locator("#answer button").first.click()
    frame.locator("#explain[open] pre").wait_for()
    assert not [m for m in page.page.evaluate("heard") if m["type"] == "change"]
    assert ask(page, "set", plan="story")["type"] == "result", "the page around still may"


def test_the_plan_is_edited_in_a_form(host):
    page = framed(host, height=500)
    page.page.evaluate("() => ready")
    frame = page.frame()
    frame.locator("footer [data-do=edit]").click()
    frame.locator("#form[open]").wait_for()
    page.picture("embed-form")
    frame.locator('#form [data-field="training.sequence_length"] button').last.click()
    page.until("heard.some(m => m.type === 'change' && m.plan.training.sequence_length === 8192)")
    frame.locator("#form [data-do=done]").click()


def test_wheel_and_keys_stay_with_the_page_around(host):
    page = framed(host, height=420, before='<input id="i"><div style="height:200px"></div>', after='<div style="height:2000px"></div>')
    page.page.evaluate("() => ready")
    box = page.page.locator("#f").bounding_box()
    page.page.mouse.move(box["x"] + 340, box["y"] + 250)
    page.page.mouse.wheel(0, 120)
    page.until("scrollY > 60")
    assert page.frame().evaluate("scrollY") == 0, "the reader passes by"
    page.page.evaluate("scrollTo(0, 0)")
    page.page.locator("#i").click()
    page.page.keyboard.type("ab")
    page.page.keyboard.press("Backspace")
    assert page.page.locator("#i").input_value() == "a"
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.id") == "f"
    # In the frame, on its own keys; Esc gives them back.
    page.frame().locator("#canvas").focus()
    assert page.page.evaluate("document.activeElement.id") == "f"
    box = page.page.locator("#f").bounding_box()
    page.page.mouse.move(box["x"] + 340, box["y"] + 250)
    page.page.mouse.wheel(0, 120)
    page.page.wait_for_timeout(300)
    assert page.frame().evaluate("scrollY") > 60, "focused, it scrolls itself"
    page.page.keyboard.press("Escape")
    page.until("document.activeElement.id !== 'f'")


def test_nothing_is_stored_and_no_address_changes(host):
    page = framed(host, "v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&cluster.gpus_per_node=4", height=1200)
    page.page.evaluate("() => ready")
    frame = page.frame()
    address, length = frame.url, page.page.evaluate("history.length")
    page.press_in_frame("strategy.fsdp")
    page.until("heard.some(m => m.type === 'change')")
    page.page.wait_for_timeout(500)
    assert frame.evaluate("location.href") == address and page.page.evaluate("history.length") == length
    assert page.page.evaluate("location.hash") == ""
    for where in (page.page, frame):
        assert where.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_without_pictures_it_is_a_form_and_a_table(chromium, url):
    browser = chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    page = browser.new_page(viewport={"width": 680, "height": 700})
    page.goto(url + "embed.html")
    page.wait_for_selector("html[data-wireplan=ready]")
    assert page.locator("#results td").first.is_visible()
    assert page.locator("footer [data-do=edit]").is_visible()
    browser.close()
