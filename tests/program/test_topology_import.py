"""`wireplan topology import`: captures in, cluster documents and summaries out."""

import json

import pytest

from program import ROOT

DATA = ROOT / "tests/data/topologies"
READ = sorted(p for p in DATA.iterdir() if p.suffix in (".txt", ".xml") and p.name not in ("SOURCES.txt", "topo-14.txt", "topo-21.txt"))


@pytest.mark.parametrize("path", READ, ids=lambda p: p.name)
def test_the_document_is_a_cluster(wireplan, path, tmp_path):
    document = wireplan.json("topology", "import", str(path))
    assert document["schema"] == "wireplan.cluster/1" and document["nodes"] == 1
    assert document["gpus_per_node"] == document["node"]["gpus"]
    assert all(set(a) == {"path", "value", "why"} and a["why"] for a in document["assumed"])
    # Accepted wherever a cluster is; what was assumed goes along.
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"model": "mistral-7b-v0.1", "cluster": document}))
    answer = wireplan.json("estimate", str(plan))
    assert {"cluster." + a["path"] for a in document["assumed"]} <= {a["path"] for a in answer["assumed"]}


def test_standard_input_and_hints(wireplan):
    text = (DATA / "topo-02.txt").read_bytes()
    document = wireplan.json("topology", "import", "-", "--gpu", "rtx-pro-6000-server-96gb", "--network", "roce-2x400", text=text)
    assert document["node"]["gpu"] == "rtx-pro-6000-server-96gb" and document["network"] == "roce-2x400"
    assert "node.gpu" not in [a["path"] for a in document["assumed"]]


def test_the_summary(wireplan):
    done = wireplan("topology", "import", str(DATA / "topo-18.txt"))
    assert done.returncode == 0 and not done.err
    assert done.out.startswith("8 × A100 PCIe 80 GB") and "nvlink-pairs" in done.out
    assert "NCCL planning rate" in done.out and "--gpu ID" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert "| links" in wireplan("topology", "import", str(DATA / "topo-18.txt"), "--markdown").out
    assert wireplan("topology", "import", str(DATA / "topo-18.txt"), "--csv").out.startswith("a,b,kind,")


def test_rates_are_those_that_nccl_plans_with(wireplan, tmp_path):
    # Two sockets of PCIe 5, whose link was measured faster than NCCL plans.
    text = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\t0-95\t0\nGPU1\tSYS\t X \t96-191\t1\n"
    arguments = ["topology", "import", "-", "--gpu", "rtx-pro-6000-server-96gb"]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(wireplan(*arguments, "--json", text=text).out)
    (socket,) = [link for link in wireplan.json("topology", "show", str(cluster))["links"] if link["kind"] == "socket"]
    assert f"{socket['planning_bytes_per_s'] / 1e9:.1f} GB/s" in wireplan(*arguments, text=text).out
    assert f",socket,0,0,{socket['planning_bytes_per_s']:.0f}," in wireplan(*arguments, "--csv", text=text).out


@pytest.mark.parametrize(
    "name, words", [("topo-14.txt", "-p2p"), ("topo-21.txt", "GPU6 and GPU7"), ("SOURCES.txt", "no topology")])
def test_what_is_refused_says_what_it_is(wireplan, name, words):
    (error,) = wireplan.errors("topology", "import", str(DATA / name))
    assert words in error["text"]


def test_bad_arguments(wireplan, tmp_path):
    assert wireplan("topology").returncode == 2
    assert wireplan("topology", "import").returncode == 2
    assert "directory" in wireplan.errors("topology", "import", str(tmp_path))[0]["text"]
    assert wireplan.errors("topology", "import", str(DATA / "topo-18.txt"), "--gpu", "a100")[0]["path"] == "gpu"
    assert wireplan.errors("topology", "import", str(DATA / "topo-18.txt"), "--network", "x")[0]["path"] == "network"
    assert "4 MB" in wireplan.errors("topology", "import", "-", text=b"a" * 5_000_000)[0]["text"]
    assert "binary" in wireplan.errors("topology", "import", "-", text=bytes(range(256)))[0]["text"]


def test_help_has_examples(wireplan):
    assert "read the wiring from what nvidia-smi or NCCL print" in wireplan("topology", "--help").out
    assert "nvidia-smi topo -m | wireplan topology import -" in wireplan("topology", "import", "--help").out
