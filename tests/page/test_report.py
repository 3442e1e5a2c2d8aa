"""The report that validate writes, in a browser: one file, nothing asked of anyone, every number in it."""

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WIREPLAN_PROGRAM", str(ROOT / "build/native/wireplan"))


def run(median):
    rows = [{"op": op, "ranks": list(range(8)), "size_bytes": 2**k, "time_s": {"median": median(k)}, "wrong": 0, "status": "ok"} for op in ("all_reduce", "all_gather") for k in range(10, 31, 2)]
    hosts = ["<b>node</b>&co"] * 8
    return json.dumps({"schema": "wireplan.run/1", "environment": {"date": "2026-05-04T09:00:00Z", "backend": "nccl", "nccl": "2.28.9", "hosts": hosts}, "rows": rows})


def written(tmp_path, text):
    done = subprocess.run([PROGRAM, "validate", "-", "--cluster", "hgx-h100-80gb", "--out", str(tmp_path), "--json"], input=text, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_every_size_is_drawn_and_written(browser, tmp_path):
    report = written(tmp_path, run(lambda k: 2e-5 + 2**k / 120e9))
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "report.html").as_uri())
    assert len(asked) == 1 and not said
    assert page.locator("svg circle").count() == page.locator("tbody tr").count() == len(report["rows"]) == 22
    assert page.locator("svg circle.out").count() == sum(not row["within"] for row in report["rows"])
    # What the file said of its machine is text, not markup.
    assert page.locator("h1").inner_text().startswith("<b>node</b>&co · 2026-05-04") and page.locator("h1 b").count() == 0
    verdict = page.locator(".verdict").inner_text()
    assert re.match(r"(Not a|A)s predicted: \d+ of 22 sizes are within", verdict) and verdict.startswith("As") == report["within"]
    for finding in report["findings"]:
        assert finding["check"] in page.locator("main").inner_text()
    # Points rise to the right, and nothing is drawn outside the picture.
    for svg in page.locator("svg").all():
        xs = [float(c.get_attribute("cx")) for c in svg.locator("circle").all()]
        ys = [float(c.get_attribute("cy")) for c in svg.locator("circle").all()]
        assert xs == sorted(xs) and min(xs) >= 70 and max(xs) <= 640 and min(ys) >= 0 and max(ys) <= 260
    page.close()


def test_it_fits_a_phone_and_the_dark(browser, tmp_path):
    written(tmp_path, run(lambda k: 1e-3 + 2**k / 5e9))
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ground, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert ground == "rgb(16, 19, 22)" and ink == "rgb(236, 239, 242)"
    context.close()
