"""A page of somebody else's that takes the module from a host by the tags that come with a version: it works, and takes no other bytes.

tools/serve.py sends what GitHub Pages and the like send: Access-Control-Allow-Origin for all.
"""

import contextlib
import functools
import re
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import serve

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/package"))
import package  # noqa: E402
import publish  # noqa: E402

V = f"v{package.version()}"
SCRIPT = """
const say = (text) => { document.documentElement.dataset.said = text; };
const tell = (text) => { document.documentElement.dataset.value = text; };
addEventListener("wireplan-ready", (event) => tell(String(event.detail.value)));
addEventListener("wireplan-error", () => tell("refused"));
try {
  const { ready, estimate } = await import("wireplan");
  await ready;
  say(String(estimate("story").memory.states.parameters));
} catch (error) {
  say("refused");
}
"""
# A number in a sentence: what stands there before stays if it cannot be worked out.
VALUE = '<p><wireplan-value plan="story" path="memory.states.parameters" format="GB">about 14 GB</wireplan-value></p>'


@contextlib.contextmanager
def served(folder):
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(serve.Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def zipped(site, tmp_path_factory):
    (path,) = package.make(tmp_path_factory.mktemp("zip"), ("site",), site)
    return path


@pytest.fixture
def host(zipped, tmp_path):
    publish.publish(zipped, tmp_path)
    return tmp_path


@pytest.fixture
def said(host, browser, tmp_path_factory):
    """What a page with the tags of the host says, where it comes from an origin of its own."""
    def said():
        tags = (host / V / "tags.txt").read_text()
        pasted = "\n".join(re.findall(r"<script.*?</script>|<link [^>]*>", tags, re.S))
        folder = tmp_path_factory.mktemp("theirs")
        with served(host) as address, served(folder) as theirs:
            (folder / "page.mjs").write_text(SCRIPT)
            (folder / "index.html").write_text(f'<!doctype html><title>Theirs</title>{pasted.replace("https://YOUR.HOST", address)}<script type="module" src="page.mjs"></script>{VALUE}')
            page = browser.new_page()
            page.goto(theirs)
            page.wait_for_selector("html[data-said][data-value]", timeout=20_000)
            text = page.locator("html").evaluate("html => [html.dataset.said, html.dataset.value]")
            page.close()
            return text

    return said


def test_the_tags_work_from_another_origin(said):
    assert said() == ["14483464192", "14483464192"]  # 7,241,732,096 parameters of two bytes


@pytest.mark.parametrize("name, more, expected", [
    ("wireplan.mjs", b"\n// one more line\n", ["refused", "refused"]),
    ("wireplan.wasm", b"\x00\x02\x01x", ["refused", "refused"]),
    ("wireplan-values.mjs", b"\n// one more line\n", ["14483464192", "refused"]),  # which the elements load when it is wanted
])
def test_other_bytes_are_refused(host, said, name, more, expected):
    """Each would run: a comment, and a section that engines ignore."""
    path = host / V / name
    path.write_bytes(path.read_bytes() + more)
    assert said() == expected


def test_a_wasm_of_another_build_is_refused_on_one_s_own_host_too(site, browser, tmp_path):
    for name in ("wireplan.mjs", "wireplan.wasm"):
        (tmp_path / name).write_bytes((site / name).read_bytes())
    (tmp_path / "page.mjs").write_text(SCRIPT.replace('"wireplan"', '"./wireplan.mjs"'))
    (tmp_path / "index.html").write_text('<!doctype html><script type="module" src="page.mjs"></script>')
    answers = []
    with served(tmp_path) as address:
        for more in (b"", b"\x00\x02\x01x"):
            (tmp_path / "wireplan.wasm").write_bytes((site / "wireplan.wasm").read_bytes() + more)
            page = browser.new_page()
            page.goto(address)
            page.wait_for_selector("html[data-said]", timeout=20_000)
            answers.append(page.locator("html").get_attribute("data-said"))
            page.close()
    assert answers == ["14483464192", "refused"]


def test_the_root_leads_to_the_latest_with_its_plan(host, browser):
    link = "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&ds=fsdp&gbs=64&md=null"
    with served(host) as address:
        page = browser.new_page()
        page.goto(f"{address}/{link}")
        page.wait_for_url("**/latest/#*")
        page.wait_for_selector("html[data-wireplan=ready]", timeout=20_000)
        assert page.url.startswith(f"{address}/latest/#") and "ds=fsdp" in page.url
        page.goto(f"{address}/{V}/embed.html#v=1")
        page.wait_for_selector("html[data-wireplan=ready]", timeout=20_000)
        page.close()
