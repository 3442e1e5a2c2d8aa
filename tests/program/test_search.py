"""search: the best layouts, as a process."""

import csv
import io
import json
import re
import signal
import subprocess
import time

import pytest

PLAN = {
    "model": "llama-3-8b", "training": {"global_batch_size": 64, "gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1"},
    "cluster": {"nodes": 2, "node": "hgx-h100-80gb", "network": "infiniband-8x400"},
}
TIMES = ["compute_s", "exposed_communication_s", "bubble_s"]


def stated(**cluster):
    return json.dumps(PLAN | {"cluster": PLAN["cluster"] | cluster})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "plan.json"
    path.write_text(stated())
    return str(path)


@pytest.fixture(scope="module")
def all_of(wireplan, file):
    return wireplan.json("search", file)


def test_the_document(all_of):
    counts = all_of["counts"]
    assert all_of["schema"] == "wireplan.search/1" and all_of["complete"] is True and all_of["top"] == 10
    assert counts["candidates"] == counts["pruned"] + counts["evaluated"] and counts["pruned"] == counts["pruned_by_memory"] + counts["pruned_by_time"]
    assert counts["candidates"] > 10_000 and 0 < counts["fit"] <= counts["evaluated"]
    best = all_of["plans"][: all_of["top"]]
    assert [p["time_s"] for p in best] == sorted(p["time_s"] for p in best)
    assert all(p["verdict"] in ("fits", "tight") and p["fits"] for p in best) and len({p["label"] for p in best}) == 10
    # No published habit beats the best, and the front loses memory as it gains time.
    assert all(p["time_s"] >= best[0]["time_s"] for p in all_of["popular"] if p["fits"])
    front = [all_of["plans"][i] for i in all_of["pareto"]]
    assert all(a["time_s"] <= b["time_s"] and a["need_bytes"] > b["need_bytes"] for a, b in zip(front, front[1:], strict=False))
    assert sum(loser["count"] for loser in all_of["losers"]) == counts["candidates"] - 1
    assert all(loser["text"] for loser in all_of["losers"])


@pytest.mark.parametrize("objective", ["throughput", "memory"])
def test_edits_give_the_plan_back(wireplan, file, objective):
    answer = wireplan.json("search", file, "--objective", objective, "--top", "3")
    for plan in answer["plans"][:3]:
        edits = [word for e in plan["edits"] for word in ("--set", f"{e['path']}={json.dumps(e['value'])}")]
        estimate = wireplan.json("estimate", file, *edits)
        assert estimate["step"]["time_s"]["value"] == plan["time_s"] and estimate["memory"]["need_bytes"]["value"] == plan["need_bytes"]
        assert estimate["memory"]["verdict"] == plan["verdict"]
        assert [estimate["step"][t] for t in TIMES] == [plan[t] for t in TIMES]
        again = wireplan.json("estimate", "-", text=json.dumps(plan["plan"]))
        assert again["step"]["time_s"]["value"] == plan["time_s"]


def test_the_line_to_copy_is_a_command(wireplan, file, all_of):
    text = wireplan("search", file).out
    line = next(line for line in text.splitlines() if line.strip().startswith("--set "))
    done = subprocess.run(f"{wireplan.path} estimate {file} {line.strip()} --json", shell=True, capture_output=True, timeout=60)
    assert json.loads(done.stdout)["step"]["time_s"]["value"] == all_of["plans"][0]["time_s"]


def test_threads_change_nothing(wireplan, file):
    one, four = (wireplan("search", file, "--json", "--points", "--threads", n).out for n in ("1", "4"))
    assert one == four


def test_text_markdown_and_csv_say_the_same(wireplan, file, all_of):
    first = all_of["plans"][0]
    text, markdown = wireplan("search", file), wireplan("search", file, "--markdown")
    for out in (text.out, markdown.out):
        assert first["label"] in out.replace("\n", " ") and "left out by bounds" in " ".join(out.split())
    assert re.search(r"^wireplan: [\d,]+ layouts in .*s$", text.err, re.M) and max(map(len, text.out.splitlines())) < 200
    rows = list(csv.DictReader(io.StringIO(wireplan("search", file, "--csv").out)))
    assert len(rows) == len(all_of["plans"]) and [r["rank"] for r in rows[:10]] == [str(i + 1) for i in range(10)]
    assert float(rows[0]["time_s"]) == first["time_s"] and float(rows[0]["need_bytes"]) == first["need_bytes"] and rows[0]["label"] == first["label"]


def test_memory_gpus_and_cost(wireplan, file, all_of):
    memory = wireplan.json("search", file, "--objective", "memory", "--top", "2")
    needs = [p["need_bytes"] for p in memory["plans"][:2]]
    assert needs == sorted(needs) and needs[0] < all_of["plans"][0]["need_bytes"]
    gpus = wireplan.json("search", file, "--objective", "gpus", "--top", "1")["plans"][0]
    cost = wireplan.json("search", file, "--objective", "cost", "--top", "1")["plans"][0]
    assert gpus["gpus"] <= cost["gpus"] <= 16
    assert cost["gpus"] * cost["time_s"] <= min(gpus["gpus"] * gpus["time_s"], 16 * all_of["plans"][0]["time_s"])
    few = wireplan.json("search", file, "--gpus", "4", "--top", "1")["plans"][0]
    assert few["gpus"] == 4 and few["time_s"] >= all_of["plans"][0]["time_s"]


def test_what_is_fixed_stays(wireplan, file):
    answer = wireplan.json("search", file, "--fix", "parallel.tensor=4", "--fix", "parallel.data=2", "--top", "5")
    for plan in answer["plans"]:
        assert plan["plan"]["parallel"]["tensor"] == 4 and plan["plan"]["parallel"]["data"] == 2
    assert "tensor" not in answer["vary"]


@pytest.mark.parametrize("arguments,path,words", [
    (["--fix", "parallel.tensor"], "--fix", "has no ="),
    (["--fix", "parallel.tensors=8"], "parallel.tensors", "tensor"),
    (["--fix", "parallel.tensor=zwei"], "parallel.tensor", "zwei"),
    (["--vary", "tensor,tensors"], "vary.1", "tensor"),
    (["--gpus", "12"], "gpus", "Nearest: 8 or 16"),
    (["--gpus", "0"], "gpus", "Nearest: 1"),
    (["--gpus", "2000000"], "gpus", "1000000"),
    (["--top", "0"], "top", "Nearest: 1"),
    (["--top", "1001"], "top", "Nearest: 1000"),
    (["--cluster", "dgx-a100-90gb"], "", "Nearest: dgx-a100-40gb"),
])
def test_errors_name_path_and_limit(wireplan, file, arguments, path, words):
    errors = wireplan.errors("search", file, *arguments)
    assert any(path in e["path"] and words in e["text"] for e in errors), errors


@pytest.mark.parametrize("arguments", [["--objective", "speed"], ["--threads", "0"], ["--verdict", "does-not-fit"], ["--top", "many"]])
def test_what_the_command_line_refuses(wireplan, file, arguments):
    done = wireplan("search", file, *arguments)
    assert done.returncode == 2 and arguments[0] in done.err and not done.out


def test_nothing_fits(wireplan):
    plan = json.dumps({"model": "llama-3.1-405b", "training": {"global_batch_size": 8}, "cluster": {"nodes": 1, "node": "hgx-h100-80gb", "gpus_per_node": 2}})
    few = ["--vary", "tensor,pipeline,data_sharding,micro_batch_size,recompute"]
    done = wireplan("search", "-", *few, "--json", text=plan)
    answer = json.loads(done.out)
    assert done.returncode == 1 and answer["top"] == 0 and answer["plans"] == [] and answer["text"].startswith("Nothing fits: none of")
    assert wireplan("search", "-", *few, text=plan).returncode == 1


def test_nothing_divides(wireplan):
    """64 sequences over two times 72 GPUs: nine of a pipeline or of heads would be needed."""
    done = wireplan("search", "-", "--json", text=stated(node="gb200-nvl72", network="infiniband-4x400"))
    assert done.returncode == 1 and json.loads(done.out)["text"].startswith("No layout: 64 sequences, layers and heads do not divide over 144 GPUs")


def test_an_interrupt_prints_what_is_known(wireplan):
    """A search of a minute and more, stopped after two seconds."""
    plan = {"model": "llama-3.1-405b", "training": {"global_batch_size": 524288}, "parallel": {"framework": "megatron", "data_sharding": "zero1"},
            "cluster": {"nodes": 65536, "node": "hgx-h100-80gb", "network": "infiniband-8x400"}}
    process = subprocess.Popen([wireplan.path, "search", "-", "--json", "--threads", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(json.dumps(plan).encode())
    process.stdin.close()
    process.stdin = None
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    answer = json.loads(out)
    assert process.returncode == 1 and b"stopped" in err
    assert answer["complete"] is False and answer["counts"]["candidates"] >= 0 and answer["text"]


ODD = {
    "one GPU": dict(cluster={"nodes": 1, "node": "hgx-h100-80gb", "gpus_per_node": 1}),
    "three of eight": dict(cluster={"nodes": 7, "node": "hgx-h100-80gb", "gpus_per_node": 3, "network": "infiniband-8x400"}, training={"global_batch_size": 21}),
    "one sequence": dict(training={"global_batch_size": 1}),
    "many sequences": dict(training={"global_batch_size": 720720}),
    "prime tokens": dict(training={"global_batch_size": 64, "sequence_length": 8191}),
    "a list of GPUs": dict(cluster={"nodes": 1, "node": "dgx1-v100-32gb", "gpus": [0, 1, 4, 5]}),
    "racks": dict(cluster={"nodes": 36, "node": "gb200-tray", "rack_nodes": 18, "network": "infiniband-4x400"}, training={"global_batch_size": 144}),
    "adapters": dict(training={"global_batch_size": 64, "master_weights_dtype": None, "lora": {"rank": 16, "targets": ["q", "v"]}}, parallel={"data_sharding": "fsdp"}),
    "DeepSpeed's file": dict(parallel={"framework": "deepspeed", "data_sharding": "zero3", "deepspeed": {"zero_optimization": {"stage": 3}}}),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_plans(wireplan, name):
    done = wireplan("search", "-", "--json", "--top", "3", text=json.dumps(PLAN | ODD[name]), timeout=120)
    answer = json.loads(done.out, parse_constant=lambda word: pytest.fail(word))
    assert done.returncode == (0 if answer["top"] else 1) and answer["complete"] and answer["counts"]["candidates"] > 0
    assert all(p["time_s"] > 0 and p["need_bytes"] > 0 for p in answer["plans"])
