"""What NCCL decides, on the page: asked of the module when the reader turns to it, drawn on the wiring, told in the table."""

import pytest

PCIE = "#v=1&m=mistral-7b-v0.1&c=rtx-pro-6000-8x&ds=fsdp"
SWITCHED = "#v=1&m=mistral-7b-v0.1&c=hgx-h100-80gb&ds=ddp"


def turned(page):
    """The wiring turned to NCCL, and its answer there."""
    page.settle()
    page.click("wiring.view.nccl")
    page.page.wait_for_selector('#results [data-path="nccl.channels.coll"]', state="attached", timeout=15000)
    page.settle()
    return page


@pytest.mark.parametrize("link", [PCIE, SWITCHED])
def test_the_table_says_what_the_module_says(visit, link):
    page = turned(visit(link, height=2400))
    page.picture("nccl-" + ("pcie" if link == PCIE else "switched"))
    said = page.page.evaluate("""async (cluster) => {
        const module = await import("./wireplan.mjs");
        await module.ready;
        return module.nccl(cluster);
    }""", link.split("c=")[1].split("&")[0])
    assert page.value("nccl.channels.coll") == said["channels"]["coll"] > 0
    assert page.value("nccl.channels.nvls") == said["channels"]["nvls"]
    assert page.value("nccl.channels.p2p") == said["channels"]["p2p"]
    limit = page.text("nccl.ring_limit")
    assert f"GPU {said['ring_limit']['from']}" in limit and f"{said['ring_limit']['bytes_per_s'] / 1e9:.1f} GB/s" in limit
    assert f"{said['graphs'][0]['channels']} × " in page.text("nccl.graphs.ring")
    order = said["rings"][0]["order"]
    assert " → ".join(str(g) for g in order) in page.text("nccl.ring.0")
    for choice in said["choices"]:
        assert len(page.text(f"nccl.switches.{choice['op']}").split(", ")) == len(choice["switches"])


def test_the_module_comes_when_it_is_asked_for_and_works_once_a_cluster(visit):
    page = visit(SWITCHED, height=2700)
    loaded = []
    page.page.on("request", lambda r: loaded.append(r.url.rsplit("/", 1)[-1]))
    turned(page)
    assert "wireplan.wasm" in loaded and "nccl.mjs" in loaded
    frames = page.frames()
    page.page.wait_for_timeout(300)
    assert page.frames() == frames  # nothing is worked out frame by frame
    del loaded[:]
    page.click("wiring.view.load")
    page.settle()
    assert page.page.locator('#results [data-path="nccl.channels.coll"]').count() == 0
    page.click("wiring.view.nccl")
    page.page.wait_for_selector('#results [data-path="nccl.channels.coll"]', state="attached")
    assert loaded == []


def test_graphs_and_channels_are_stepped_through(visit):
    page = turned(visit(SWITCHED, height=2700))
    for kind in ("tree", "nvls"):
        page.click(f"nccl.graph.{kind}")
        page.settle()
        page.picture(f"nccl-{kind}")
        page.rect("nccl.channels")
    page.click("nccl.next")
    page.settle()
    assert "curve.switch.1" in page.keys()


def test_without_a_pointer_it_is_a_button_of_the_table(visit):
    page = visit(SWITCHED)
    page.page.locator('[data-do="table"]').click()
    button = page.page.locator('[data-do="nccl"]')
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    page.page.wait_for_selector('#results [data-path="nccl.channels.coll"]')
    assert button.get_attribute("aria-pressed") == "true"


def test_other_gpus_are_a_sentence(visit):
    page = visit("#v=1&m=mistral-7b-v0.1&c=mi300x-8x&ds=fsdp", height=2700)
    page.settle()
    page.click("wiring.view.nccl")
    page.until("""() => document.querySelector('#results [data-path="nccl.problem"]')?.textContent.includes("MI300X")""")
    assert "NVIDIA" in page.text("nccl.problem")


def test_on_a_phone_in_both_languages(visit):
    page = visit(PCIE, width=390, height=844, has_touch=True, is_mobile=True)
    page.settle()
    for language in ("en", "vi"):
        page.page.evaluate("l => document.querySelector(`[data-language=${l}]`).click()", language)
        page.settle()
    x, y = page.center("wiring.view.nccl")
    page.page.evaluate("y => scrollBy(0, y - 300)", y)
    page.settle()
    x, y = page.center("wiring.view.nccl")
    page.page.touchscreen.tap(x, y)
    page.page.wait_for_selector('#results [data-path="nccl.channels.coll"]', state="attached", timeout=15000)
    page.settle()
    page.picture("nccl-phone-vi")
    for key in ("nccl.previous", "nccl.next"):
        box = page.rect(key)
        assert box["width"] >= 44 and box["height"] >= 44
    assert "Ring" in page.text("nccl.ring_limit")
