"""<wireplan-planner>, <wireplan-value> and <wireplan-table> in somebody else's page."""

import json
import os
import subprocess

import site_sizes

ELEMENTS = '<script type="module" src="{site}wireplan-elements.mjs"></script>'
LISTEN = """<script>
const heard = [];
for (const name of ["ready", "change", "error"]) addEventListener(`wireplan-${name}`, (e) => heard.push({ name, id: e.target.id, detail: e.detail }));
</script>"""
HEAD = LISTEN + ELEMENTS
LINK = "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&cluster.gpus_per_node=4"
FSDP = "#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp"


def escaped(link):
    return link.replace("&", "&amp;")


def planner(id="p", content="", **attributes):
    said = "".join(f' {name.replace("_", "-")}="{escaped(str(value))}"' for name, value in attributes.items())
    return f'<wireplan-planner id="{id}"{said}>{content}</wireplan-planner>'


def estimate(plan):
    done = subprocess.run([os.environ["WIREPLAN_PROGRAM"], "estimate", plan, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def heard(page, name):
    return [one for one in page.page.evaluate("heard") if one["name"] == name]


def wait_ready(page, id="p"):
    page.until(f"heard.some(h => h.name === 'ready' && h.id === '{id}')", 20000)


def poster(page, id="p"):
    return page.page.locator(f"#{id} button")


def test_a_poster_with_a_link_is_all_there_is_before_a_reader_wants_more(host, site):
    page = host(planner(link=FSDP, content='<img alt="The plan" width="300" height="100" src="data:,">'), HEAD)
    requests = []
    page.page.on("request", lambda r: requests.append(r.url))
    page.page.reload()
    page.page.locator("#p button").wait_for()
    page.page.wait_for_timeout(300)
    assert [r.rsplit("/", 1)[1] for r in requests if r.startswith(page.url)] == ["wireplan-elements.mjs"]
    assert page.page.locator("iframe").count() == 0
    assert page.page.locator("#p a").get_attribute("href") == page.url + "index.html" + FSDP
    assert page.page.locator("#p img").is_visible(), "what the page gave stands there"
    site_sizes.judge(site, "custom elements, before a reader wants more")
    host.complaints.clear()  # of the empty picture


def test_a_click_puts_the_frame_there_and_a_click_for_a_tab_does_not(host):
    page = host(planner(link=LINK, panels="memory", content=f'<a id="own" href="{{site}}index.html{escaped(LINK)}">Open it</a> <a id="other" href="#elsewhere">elsewhere</a>'), HEAD)
    page.page.locator("#other").click()
    assert page.page.evaluate("location.hash") == "#elsewhere" and page.page.locator("iframe").count() == 0
    with page.page.context.expect_page() as tab:
        page.page.locator("#own").click(modifiers=["Control"])
    tab.value.close()
    assert poster(page).is_visible() and page.page.evaluate("document.querySelector('#p').dataset.wireplan") != "ready"
    page.page.locator("#own").click()
    page.frame()
    wait_ready(page)
    ready = heard(page, "ready")[0]["detail"]
    assert ready["version"] and ready["plan"]["model"] == "mistral-7b-v0.1" and ready["link"].startswith("#v=1")
    assert page.page.locator("#p iframe").is_visible() and not poster(page).is_visible()
    page.picture("element-planner")


def test_keyboard_brings_it_and_goes_on_inside(host):
    page = host('<input id="before">' + planner(link=LINK), HEAD)
    page.page.locator("#before").focus()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    wait_ready(page)
    assert page.page.evaluate("document.activeElement.id") == "p"
    page.page.keyboard.press("Tab")
    assert page.frame().evaluate("document.activeElement.closest('#answer, #stage, footer') !== null")


def test_a_pointer_that_rests_loads_behind_the_poster(host):
    page = host(planner(link=LINK), HEAD)
    box = poster(page).bounding_box()
    page.page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.frame()
    wait_ready(page)
    assert poster(page).is_visible(), "hovering shows nothing"
    poster(page).click()
    page.until("document.querySelector('#p').dataset.wireplan === 'ready'")
    assert not poster(page).is_visible()


def test_properties_events_and_attributes_that_change_later(host):
    page = host(planner(loading="eager", height="500"), HEAD + "<script>addEventListener('DOMContentLoaded', () => { document.querySelector('#p').plan = 'gpt2-nanogpt'; });</script>")
    page.page.evaluate("() => { window.early = document.querySelector('#p').ask('export', { format: 'link' }); }")
    wait_ready(page)
    assert page.page.evaluate("early.then(a => a.text)").startswith("#v=1&m=gpt2")
    frame = page.frame()
    assert page.page.locator("#p iframe").bounding_box()["height"] == 500
    assert page.page.evaluate("document.querySelector('#p').estimate.schema") == "wireplan.estimate/1"
    page.page.evaluate("plan => { document.querySelector('#p').plan = plan; }", {"model": "llama-3-8b", "cluster": "hgx-h100-80gb", "parallel": {"data_sharding": "fsdp"}})
    page.until("document.querySelector('#p').plan.model === 'llama-3-8b' && document.querySelector('#p').estimate?.plan.model === 'llama-3-8b'")
    page.page.evaluate("link => document.querySelector('#p').setAttribute('link', link)", LINK)
    page.until("document.querySelector('#p').estimate?.plan.model === 'mistral-7b-v0.1'")
    for name, value in {"theme": "dark", "lang": "vi", "height": "620"}.items():
        page.page.evaluate("([n, v]) => document.querySelector('#p').setAttribute(n, v)", [name, value])
    page.page.wait_for_timeout(500)
    assert frame.locator("html").get_attribute("data-theme") == "dark" and frame.locator("html").get_attribute("lang") == "vi"
    assert page.page.locator("#p iframe").bounding_box()["height"] == 620
    assert not heard(page, "change"), "all of it was the page's own doing"
    page.press_in_frame("strategy.fsdp")
    page.until("heard.some(h => h.name === 'change')")
    change = heard(page, "change")
    assert len(change) == 1 and change[0]["detail"]["plan"]["parallel"]["data_sharding"] == "fsdp"
    assert page.page.evaluate("document.querySelector('#p').link").count("ds=fsdp") == 1
    page.page.evaluate("document.querySelector('#p').plan = { model: 7 }")
    page.until("heard.some(h => h.name === 'error')")
    assert heard(page, "error")[0]["detail"]["errors"][0]["text"]


def test_as_high_as_what_stands_in_it(host):
    page = host(planner(loading="eager", link=LINK, panels="memory") + "<p id=below>below</p>", HEAD)
    wait_ready(page)
    content = page.frame().evaluate("document.body.getBoundingClientRect().height")
    page.until(f"Math.abs(document.querySelector('#p').shadowRoot.querySelector('iframe').offsetHeight - {content}) <= 2")


CONTEXTS = """
const get = HTMLCanvasElement.prototype.getContext;
window.contexts = new Set();
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  const context = get.call(this, kind, ...rest);
  if (context && /webgl/.test(kind)) window.contexts.add(context);
  return context;
};
"""


def live_contexts(page):
    return sum(frame.evaluate("[...(window.contexts ?? [])].filter(c => !c.isContextLost()).length") for frame in page.page.frames if "/embed.html" in frame.url)


def test_twenty_planners_hold_two_drawing_contexts_at_most(host):
    body = "".join(planner(f"p{i}", link=LINK, height=300) + '<div style="height:700px"></div>' for i in range(20))
    page = host(body, HEAD)
    page.page.context.add_init_script(CONTEXTS)
    page.page.reload()
    assert page.page.locator("wireplan-planner").count() == 20
    for i in range(4):
        poster(page, f"p{i}").scroll_into_view_if_needed()
        page.page.wait_for_timeout(100)
        poster(page, f"p{i}").click()
        wait_ready(page, f"p{i}")
        assert 1 <= live_contexts(page) <= 2, i
        assert page.page.evaluate("[...document.querySelectorAll('wireplan-planner')].filter(p => p.shadowRoot.querySelector('iframe')).length") == min(i + 1, 2)
    states = page.page.evaluate("[...document.querySelectorAll('wireplan-planner')].map(p => p.dataset.wireplan ?? '')")
    assert states[:5] == ["poster", "poster", "ready", "ready", ""], states
    page.page.evaluate("for (const p of document.querySelectorAll('wireplan-planner')) { p.load({ gently: true }); }")
    page.page.wait_for_timeout(1500)
    assert live_contexts(page) <= 2


def test_what_a_reader_made_of_it_outlives_its_frame(host):
    page = host(planner(link=LINK, height=900), HEAD)
    poster(page).click()
    wait_ready(page)
    page.press_in_frame("strategy.fsdp")
    page.until("heard.some(h => h.name === 'change')")
    page.page.evaluate("document.querySelector('#p').unload()")
    page.until("document.querySelector('#p').dataset.wireplan === 'poster'")
    assert page.page.locator("#p iframe").count() == 0
    assert "ds=fsdp" in page.page.locator("#p a").get_attribute("href"), "the way to the full version too"
    assert poster(page).inner_text() == "Continue here"
    assert page.page.locator("#p").bounding_box()["height"] >= 900, "nothing on the page moves"
    poster(page).click()
    assert "ds=fsdp" in page.frame().locator("#link").get_attribute("href")


def test_an_element_that_goes_takes_all_of_it_along(host):
    page = host(planner(link=LINK, loading="eager"), HEAD)
    wait_ready(page)
    page.page.evaluate("() => { window.p = document.querySelector('#p'); p.remove(); }")
    page.page.wait_for_timeout(200)
    assert [f.url for f in page.page.frames if "embed.html" in f.url] == []
    page.page.evaluate("() => { heard.length = 0; document.body.append(p); }")
    wait_ready(page)
    assert page.page.locator("#p iframe").count() == 1


def test_a_frame_that_is_not_there_says_so_and_leaves_the_link(host):
    page = host(planner(link=LINK, base="http://127.0.0.1:9/"), HEAD)
    page.page.evaluate("() => { const timeout = setTimeout; window.setTimeout = (f, ms, ...a) => timeout(f, ms === 20000 ? 300 : ms, ...a); }")
    poster(page).click()
    page.until("heard.some(h => h.name === 'error')")
    assert poster(page).is_visible() and page.page.locator("#p a").get_attribute("href").startswith("http://127.0.0.1:9/index.html#v=1")
    host.complaints.clear()  # the refused connection


# ---------------------------------------------------------------- values
def value(id, path, content="…", plan=FSDP, **attributes):
    said = "".join(f' {name}="{escaped(v)}"' for name, v in attributes.items())
    return f'<p>It is <wireplan-value id="{id}" plan="{escaped(plan)}" path="{path}"{said}>{content}</wireplan-value> here.</p>'


def shown(page, id):
    return page.page.evaluate("id => document.getElementById(id).shadowRoot?.querySelector('[part=value]')?.textContent.replaceAll('\\u00a0', ' ')", id)


def test_values_are_the_program_s(host):
    answer = estimate(FSDP)
    page = host(
        value("a", "memory.states.parameters", format="GB") + value("b", "memory.states.parameters") + value("c", "step.time_s", format="ms", digits="0")
        + value("d", "step.mfu") + value("e", "model.parameters", format="billion") + value("f", "memory.verdict") + value("g", "memory.device_bytes", over="memory.capacity_bytes")
        + value("h", "memory.states.optimizer_states", baseline=FSDP.replace("fsdp", "ddp"), format="x") + value("i", "communication.0.bytes", format="MiB") + value("j", "memory.fits", claim="off"),
        HEAD)
    page.until("heard.filter(h => h.name === 'ready').length === 10", 15000)
    states, step = answer["memory"]["states"], answer["step"]
    assert shown(page, "a") == f"= {states['parameters'] / 1e9:.2f} GB".replace("= ", "=")
    assert shown(page, "b") == f"={states['parameters'] / 2**30:.2f} GiB"
    assert shown(page, "c") == f"≈{step['time_s']['value'] * 1e3:,.0f} ms"
    assert shown(page, "d") == f"≈{step['mfu'] * 100:.1f} %"
    assert shown(page, "e") == "=8.03 billion"
    assert shown(page, "f") == answer["memory"]["verdict"]
    assert shown(page, "g") == f"≈{answer['memory']['device_bytes']['value'] / answer['memory']['capacity_bytes'] * 100:.1f} %"
    assert shown(page, "h") == "=0.13×" or shown(page, "h") == "=0.125×"
    assert shown(page, "i").endswith("MiB")
    assert shown(page, "j") == "yes"
    assert page.page.evaluate("document.getElementById('a').value") == states["parameters"]
    title = page.page.evaluate("document.getElementById('a').shadowRoot.querySelector('[part=value]').title")
    assert "=" in title and title.endswith("(count)")
    assert not heard(page, "error")
    page.picture("element-values")
    assert "It is" in page.page.locator("p").first.inner_text()


def test_a_page_of_values_loads_the_module_once_and_only_when_they_are_near(host):
    body = '<div style="height:3000px"></div>' + "".join(value(f"v{i}", "memory.states.parameters") for i in range(30))
    page = host(body, HEAD)
    loaded = []
    page.page.on("request", lambda r: loaded.append(r.url.rsplit("/", 1)[1]))
    page.page.wait_for_timeout(400)
    assert loaded == [] and page.page.locator("#v0").inner_text() == "…"
    page.page.evaluate("scrollTo(0, 1e6)")
    page.until("heard.filter(h => h.name === 'ready').length === 30", 15000)
    assert sorted(loaded) == ["wireplan-forms.mjs", "wireplan-quantity.mjs", "wireplan-values.mjs", "wireplan.mjs", "wireplan.wasm"]


def test_a_published_number_that_drifted_is_marked(host):
    page = host(value("right", "memory.states.parameters", "14.5 GB", "story", expect="14.5 GB") + value("coarse", "memory.states.parameters", "14 GB", "story", expect="14 GB")
                + value("drifted", "memory.states.parameters", "15.1 GB", "story", expect="15.1 GB") + value("word", "memory.verdict", "fits", "story", expect="fits"), HEAD)
    page.until("heard.filter(h => h.name === 'ready').length === 4", 15000)
    assert shown(page, "right") == "=14.5 GB" and shown(page, "coarse") == "=14 GB" and shown(page, "drifted") == "=14.5 GB"
    marks = page.page.evaluate("[...document.querySelectorAll('wireplan-value')].map(v => v.shadowRoot.querySelector('[part=mismatch]')?.getAttribute('aria-label') ?? null)")
    assert marks == [None, None, "differs from the text, which says 15.1 GB", "differs from the text, which says fits"]
    errors = heard(page, "error")
    assert [e["id"] for e in errors] == ["drifted", "word"] and errors[0]["detail"]["errors"][0]["limit"] == "15.1 GB"
    page.picture("element-mismatch")


def test_what_is_wrong_is_told_and_the_text_stays(host):
    wrong = {
        "path": value("w0", "memory.nothing", "text 0"), "model": value("w1", "step.time_s", "text 1", "#v=1&m=no-such&c=hgx-h100-80gb"), "plan": value("w2", "step.time_s", "text 2", ""),
        "format": value("w3", "step.time_s", "text 3", format="GB"), "json": value("w4", "step.time_s", "text 4", "{broken"), "empty": value("w5", "", "text 5"),
        "expect": value("w6", "step.time_s", "text 6", expect="3 GB"), "zero": value("w7", "step.time_s", "text 7", over="step.bubble_s"), "text": value("w8", "step", "text 8")}
    page = host("".join(wrong.values()), HEAD)
    page.until(f"heard.length >= {len(wrong)}", 15000)
    assert sorted(e["id"] for e in heard(page, "error")) == [f"w{i}" for i in range(len(wrong))]
    for i, one in enumerate(heard(page, "error")):
        assert one["detail"]["errors"][0]["text"], one
    for i in range(len(wrong)):
        assert page.page.locator(f"#w{i}").inner_text() == f"text {i}" and shown(page, f"w{i}") is None
    page.page.evaluate("document.getElementById('w0').setAttribute('path', 'step.time_s')")
    page.until("heard.some(h => h.name === 'ready' && h.id === 'w0')")
    assert "NaN" not in page.page.locator("body").inner_text() and "Infinity" not in page.page.locator("body").inner_text()


def test_the_table_is_plain_html_with_the_program_s_numbers(host):
    ddp = FSDP.replace("fsdp", "ddp")
    page = host(f'<wireplan-table id="t" plans="{escaped(ddp)} {escaped(FSDP)}" labels="DDP|FSDP" rows="memory.device_bytes memory.verdict step.time_s step.mfu" format="GB"><p>static</p></wireplan-table>'
                '<wireplan-table id="u" plans="story gpt2-nanogpt"></wireplan-table><wireplan-table id="w" plans="no-such">static, kept</wireplan-table>', HEAD)
    page.until("heard.length === 3", 15000)
    table = page.page.locator("#t table")
    assert table.locator("caption").inner_text().startswith("Plans side by side, computed by Wireplan")
    assert [h.inner_text() for h in table.locator("thead th[scope=col]").all()] == ["What", "DDP", "FSDP"]
    assert [h.inner_text() for h in table.locator("tbody th[scope=row]").all()] == ["On the device, GB", "Does it fit?", "Time of a step, ms", "MFU, %"]
    cells = [[cell.get_attribute("data-value") for cell in row.locator("td").all()] for row in table.locator("tbody tr").all()]
    for column, plan in enumerate((ddp, FSDP)):
        answer = estimate(plan)
        assert float(cells[0][column]) == answer["memory"]["device_bytes"]["value"]
        assert cells[1][column] == answer["memory"]["verdict"]
        assert float(cells[2][column]) == answer["step"]["time_s"]["value"]
        assert table.locator("tbody tr").nth(0).locator("td").nth(column).inner_text() == f"≈ {answer['memory']['device_bytes']['value'] / 1e9:.1f}"
    assert table.locator("thead a").nth(1).get_attribute("href").startswith(page.url + "index.html#v=1&m=llama-3-8b")
    assert not page.page.locator("#t p").is_visible() and page.page.locator("#t p").count() == 1
    assert page.page.locator("#u tbody tr").count() == 5
    assert page.page.locator("#w").inner_text() == "static, kept" and heard(page, "error")[0]["id"] == "w"
    page.picture("element-table")


# ---------------------------------------------------------------- as the host is
def test_dark_pages_and_vietnamese_ones_are_followed(host):
    page = host(planner(link=LINK, loading="eager", panels="memory") + value("v", "step.time_s", plan=LINK) + f'<wireplan-table id="t" plans="{escaped(LINK)}"></wireplan-table>',
                HEAD + "<style>html { background: #10141a; color: #e8eaed }</style>")
    page.page.evaluate("document.documentElement.lang = 'vi'")
    wait_ready(page)
    frame = page.frame()
    assert frame.locator("html").get_attribute("data-theme") == "dark"
    page.page.wait_for_timeout(500)
    assert frame.locator("html").get_attribute("lang") == "vi"
    page.until("heard.some(h => h.id === 't')", 15000)
    page.picture("element-dark-vi")
    page.page.evaluate("() => { document.documentElement.style.cssText = 'background: white; color: #222'; }")
    page.page.wait_for_timeout(700)
    assert frame.locator("html").get_attribute("data-theme") == "light"


def test_without_scripts_the_page_s_own_text_stands_there(host):
    page = host(planner(link=LINK, content=f'<a href="{{site}}index.html{escaped(LINK)}">Open the plan</a>') + value("v", "memory.states.parameters", "14.5 GB")
                + '<wireplan-table plans="story"><table><tr><td>static</td></tr></table></wireplan-table>', HEAD, java_script_enabled=False)
    text = page.page.locator("body").inner_text()
    assert "Open the plan" in text and "It is 14.5 GB here." in text and "static" in text


def test_the_content_security_policies_that_are_documented_suffice(host):
    strict = "default-src 'none'; script-src 'nonce-n' {site}; style-src 'nonce-n'; frame-src {site}; img-src 'self'"
    head = HEAD.replace("<script", '<script nonce="n"')
    page = host(planner(link=LINK), head, headers={"Content-Security-Policy": strict})
    poster(page).click()
    wait_ready(page)
    inline = host(value("v", "memory.states.parameters"), head, headers={"Content-Security-Policy": strict.replace("{site};", "{site} 'wasm-unsafe-eval';", 1) + "; connect-src {site}"})
    inline.until("heard.some(h => h.name === 'ready')", 15000)
    assert shown(inline, "v").startswith("=")
    bare = host(value("v", "memory.states.parameters", "kept"), head, headers={"Content-Security-Policy": strict})
    bare.until("heard.some(h => h.name === 'error')", 15000)
    assert bare.page.locator("#v").inner_text() == "kept"
    host.complaints.clear()  # the browser's own words on what the last policy forbids


def test_words_can_be_others(host):
    page = host(planner(link=LINK, lang="fr") + planner("q", link=LINK), LISTEN + '<script type="module">import { words } from "{site}wireplan-elements.mjs"; words.fr = { load: "Essayer ici", open: "Version complète" }; document.getElementById("p").refresh();</script>')
    page.until("document.querySelector('#p').shadowRoot?.querySelector('button').textContent === 'Essayer ici'")
    assert page.page.locator("#p a").inner_text() == "Version complète" and poster(page, "q").inner_text() == "Try it here"


def test_importing_it_on_a_server_does_nothing(site):
    done = subprocess.run(["node", "--input-type=module", "-e", f"const m = await import({json.dumps((site / 'wireplan-elements.mjs').as_uri())}); console.log(Object.keys(m).join(), Object.keys(m.words).join());"],
                          capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "words en,vi" and done.stderr == ""
