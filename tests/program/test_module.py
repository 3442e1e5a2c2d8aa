"""The module under node: the same answers as the program, byte for byte, and its own manners."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from program import ROOT

SITE = Path(os.environ.get("WIREPLAN_SITE", ROOT / "build/site"))
LOADER = SITE.parent / "web/module/wireplan.mjs"  # before it is joined with api.mjs

pytestmark = pytest.mark.skipif(
    not (SITE / "wireplan.mjs").exists() or not shutil.which("node"), reason="no module was built, or no node to run it")

EXPORTS = set(
    "ready version estimate compare search explain placement fit collectives topology nccl presets parseLink formatLink importTopology importNcclTests importConfig exportPlan importTrainer"
    " toText toMarkdown toCsv".split())


def node(script, target, requests=None, **options):
    done = subprocess.run(
        ["node", str(ROOT / "tests/module" / script), str(target)], input=json.dumps(requests).encode(),
        capture_output=True, timeout=120, **options)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout) if requests is not None else done.stdout.decode()


def call(*requests):
    return node("call.mjs", SITE / "wireplan.mjs", requests)


@pytest.fixture(scope="module")
def fsdp(wireplan):
    return wireplan("estimate", "story", "--set", "parallel.data_sharding=fsdp", "--print-link").out.strip()


def test_the_same_bytes_as_the_program(wireplan, scenarios, fsdp):
    requests = [("estimate", json.dumps(s)) for s in [*scenarios, fsdp]]
    requests.append(("compare", json.dumps({"plans": ["story", fsdp]})))
    requests.append(("explain", json.dumps({"plan": "story", "path": "step.time_s"})))
    requests.append(("presets", json.dumps({"kind": "models"})))
    requests.append(("estimate", '"stroy"'))
    expected = [wireplan("estimate", s, "--json").out for s in [*scenarios, fsdp]]
    expected.append(wireplan("compare", "story", fsdp, "--json").out)
    expected.append(wireplan("estimate", "story", "--explain", "step.time_s", "--json").out)
    expected.append(wireplan("presets", "models", "--json").out)
    texts = node("raw.mjs", LOADER, requests)
    for request, mine, theirs in zip(requests, expected, texts, strict=False):
        assert theirs == mine, request
    assert "errors" in json.loads(texts[-1])


def test_the_functions(wireplan, fsdp):
    estimate, lined, edited, compared, told, kinds, models, mistral = call(
        ["estimate", "story"], ["estimate", "story", {"timeline": True}],
        ["estimate", {"plan": "story", "set": [["parallel.data_sharding", "fsdp"]]}, {"timeline": True}], ["compare", ["story", fsdp]], ["explain", "story", "memory.states.parameters"],
        ["presets"], ["presets", "models"], ["presets", "models", "mistral-7b-v0.1"])
    assert estimate == wireplan.json("estimate", "story")
    assert lined == wireplan.json("estimate", "story", "--timeline")
    assert edited["timeline"] == wireplan.json("estimate", fsdp, "--timeline")["timeline"]
    assert compared == wireplan.json("compare", "story", fsdp)
    assert told == wireplan.json("estimate", "story", "--explain", "memory.states.parameters")
    assert kinds == wireplan.json("presets") and models == wireplan.json("presets", "models")
    assert mistral == wireplan.json("presets", "models", "mistral-7b-v0.1")


def test_an_imported_topology_is_the_program_s(wireplan):
    path = ROOT / "tests/data/topologies/topo-10.txt"
    text = path.read_text("utf-8")
    plain, hinted, refused = call(
        ["importTopology", text], ["importTopology", text, {"gpu": "h200-141gb-sxm", "network": "infiniband-8x400"}], ["importTopology", "x"])
    assert plain == wireplan.json("topology", "import", str(path))
    assert hinted == wireplan.json("topology", "import", str(path), "--gpu", "h200-141gb-sxm", "--network", "infiniband-8x400")
    assert "no topology" in refused["errors"][0]["text"]


NCCL = [  # what is asked of the module, and of the program
    (["hgx-h100-80gb"], ["hgx-h100-80gb"]), (["rtx-pro-6000-8x"], ["rtx-pro-6000-8x"]), (["gb200-nvl72", {"nodes": 18, "rack_nodes": 18}], ["gb200-nvl72", "--nodes", "18", "--rack-nodes", "18"]),
    (["dgx-a100-80gb", {"nodes": 4, "gpus": [0, 1, 4, 5], "env": {"NCCL_ALGO": "Ring"}}], ["dgx-a100-80gb", "--nodes", "4", "--gpus", "0,1,4,5", "--env", "NCCL_ALGO=Ring"]),
]


def test_what_nccl_decides_is_the_program_s(wireplan):
    """A rack of 72 GPUs, where the search goes deepest, on the module's small stack; and a topology file."""
    requests = [{"cluster": cluster, **(options[0] if options else {})} for (cluster, *options), _ in NCCL]
    texts = node("raw.mjs", LOADER, [("nccl", json.dumps(r)) for r in requests])
    for (_, arguments), text in zip(NCCL, texts, strict=True):
        assert text == wireplan("topology", "nccl", *arguments, "--json").out, arguments
    path = next((ROOT / "tests/data").rglob("*.xml"))
    one, other, refused, both = call(["nccl", *NCCL[3][0]], ["nccl", {"xml": path.read_text("utf-8")}], ["nccl", "mi300x-8x"], ["nccl", {"xml": "<system/>", "cluster": "hgx-h100-80gb"}])
    assert one == wireplan.json("topology", "nccl", *NCCL[3][1])
    assert other == wireplan.json("topology", "nccl", str(path)) and other["rings"]
    assert "NCCL runs on NVIDIA GPUs" in refused["errors"][0]["text"] and both["errors"]


def test_a_search_is_the_program_s(wireplan):
    request = {"plan": "story", "objective": "throughput", "top": 3, "points": True}
    expected = wireplan("search", "story", "--top", "3", "--points", "--json").out
    (text,) = node("raw.mjs", LOADER, [("search", json.dumps(request))])
    assert text == expected
    found, edited, refused = call(["search", "story", {"top": 3, "points": True}], ["search", {"plan": "story", "set": [["training.global_batch_size", 32]]}, {"top": 1, "vary": ["tensor"]}], ["search", "story", {"top": 0}])
    assert found == json.loads(expected)
    assert edited == wireplan.json("search", "story", "--set", "training.global_batch_size=32", "--top", "1", "--vary", "tensor")
    assert refused["errors"] == wireplan.errors("search", "story", "--top", "0")


def test_a_search_reports_and_can_be_stopped():
    script = (
        f"const m = await import('{(SITE / 'wireplan.mjs').as_uri()}'); await m.ready;"
        "const told = []; const plan = 'llama-3-70b-megatron';"
        "const all = await m.search(plan, { top: 3 }, (known) => told.push(known));"
        "const stop = new AbortController(); let calls = 0;"
        "const part = await m.search(plan, { top: 3 }, () => { if (++calls === 2) stop.abort(); }, stop.signal);"
        "const rising = told.every((known, i) => i === 0 || known.progress >= told[i - 1].progress);"
        "console.log(JSON.stringify({ complete: all.complete, told: told.length, rising, done: told.at(-1).done, best: told.at(-1).best.time_s === all.plans[0].time_s,"
        " calls, stopped: part.complete, fewer: part.counts.candidates < all.counts.candidates }));")
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, timeout=120)
    said = json.loads(done.stdout)
    assert said.pop("told") > 3, done.stderr.decode()
    assert said == {"complete": True, "rising": True, "done": True, "best": True, "calls": 2, "stopped": False, "fewer": True}


def test_texts_are_those_of_the_program(wireplan, fsdp):
    plan = wireplan.json("estimate", fsdp)["plan"]
    text, gigabytes, markdown, csv, one, both = call(
        ["toText", "story"], ["toText", "story", {"unit": "GB"}], ["toMarkdown", fsdp], ["toCsv", plan],
        ["toMarkdown of", "estimate", "story"], ["toMarkdown of", "compare", ["story", fsdp]])
    assert text == wireplan("estimate", "story").out
    assert gigabytes == wireplan("estimate", "story", "--unit", "GB").out
    assert markdown == wireplan("estimate", fsdp, "--markdown").out
    assert csv == wireplan("estimate", fsdp, "--csv").out
    assert one == wireplan("estimate", "story", "--markdown").out
    assert both == wireplan("compare", "story", fsdp, "--markdown").out


def test_links(wireplan, fsdp):
    link, parsed, again = call(["formatLink", "story"], ["parseLink", fsdp + "&lang=vi"], ["formatLink", {"plan": "story", "set": [["parallel.data_sharding", "fsdp"]]}])
    assert link == wireplan("estimate", "story", "--print-link").out.strip() and again == fsdp
    assert parsed["view"] == {"lang": "vi"} and parsed["plan"]["parallel"]["data_sharding"] == "fsdp"
    (estimate,) = call(["estimate", parsed["plan"]])
    assert estimate == wireplan.json("estimate", fsdp)


def test_errors_are_those_of_the_program(wireplan):
    answers = call(["estimate", "stroy"], ["estimate", {"plan": "story", "set": [["parallel.tensor", 3]]}], ["presets", "model"])
    assert answers[1]["errors"] == wireplan.errors("estimate", "story", "--set", "parallel.tensor=3")
    assert answers[2]["errors"] == wireplan.errors("presets", "model")
    assert "story" in answers[0]["errors"][0]["text"]


def test_exports(wireplan):
    exports, version, early = call(["exports"], ["version"], ["early"])
    assert set(exports) == EXPORTS
    assert version == wireplan("--version").out.split()[1]
    assert "ready" in early["errors"][0]["text"]


def test_logs_of_nccl_tests():
    row = "1048576 65536 float 50.00 20.97 15.73 N/A 49.00 21.40 16.05 N/A\n"
    named, unnamed, hinted, wrong = call(
        ["importNcclTests", "$ all_gather_perf -g 4\n" + row], ["importNcclTests", row], ["importNcclTests", "# nThread 1 nGpus 4 minBytes 8\n" + row, {"op": "all_gather"}], ["importNcclTests", row, {"op": "gatherall"}])
    assert hinted["profile"]["collectives"][0]["points"] == [[1048576, 5e-05]] and hinted["profile"]["collectives"][0]["ranks"] == 4
    assert unnamed["errors"][0]["path"] == "op" and wrong["errors"][0]["path"] == "op"
    assert set(named) == {"profile", "gpus", "notes"} and named["profile"]["collectives"] == [hinted["profile"]["collectives"][0] | {"launch": None}]


def test_a_configuration_is_the_program_s(wireplan):
    config = json.dumps(json.loads((ROOT / "tests/data/configs/qwen3-30b-a3b.json").read_text())["config"])
    unknown = config.replace('"qwen3_moe"', '"my_moe"')
    plain, weighed, hinted, wrong = call(
        ["importConfig", config], ["importConfig", config, {"weights": '{"metadata": {"total_size": 61064245248}, "weight_map": {}}'}],
        ["importConfig", unknown, {"model_type": "qwen3_moe", "set": [["model.num_layers", 24]]}], ["importConfig", "{}"])
    assert plain == wireplan.json("import", "-", text=config) and plain["presets"] == ["qwen3-30b-a3b"]
    assert weighed["weights"]["agrees"] and weighed["weights"]["stored"] == 30532122624
    assert hinted["model"]["num_layers"] == 24 and hinted["nearest"] is None
    assert wrong["errors"][0]["path"] == "model_type"


def test_the_types_name_the_same_functions():
    types = (SITE / "wireplan.d.ts").read_text("utf-8")
    assert set(re.findall(r"^export (?:function|const|let) (\w+)", types, re.M)) == EXPORTS


def test_what_only_javascript_can_do_wrong():
    node("edges.mjs", SITE / "wireplan.mjs")


def test_a_missing_wasm_shows_when_ready_is_awaited(tmp_path):
    shutil.copy(SITE / "wireplan.mjs", tmp_path)
    script = "const m = await import('./wireplan.mjs'); await new Promise(r => setTimeout(r, 200)); try { await m.ready; console.log('ready') } catch { console.log('missing') }"
    done = subprocess.run(["node", "--input-type=module", "-e", script], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.stdout.decode().strip() == "missing" and done.returncode == 0, done.stderr.decode()


def test_it_runs_in_a_worker_and_without_a_window():
    script = (
        "import { Worker } from 'node:worker_threads';"
        f"const code = `import('{(SITE / 'wireplan.mjs').as_uri()}').then(async (m) => {{ await m.ready;"
        " (await import('node:worker_threads')).parentPort.postMessage(m.estimate('story').memory.fits); })`;"
        "const worker = new Worker(code, { eval: true });"
        "worker.on('message', (fits) => { console.log(typeof window, fits); worker.terminate(); });")
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, timeout=60)
    assert done.stdout.decode().strip() == "undefined false", done.stderr.decode()
