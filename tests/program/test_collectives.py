"""wireplan collectives: nccl-tests' table, predicted."""

import csv
import io
import json

import pytest

FACTORS = {  # nccl-tests' doc/PERFORMANCE.md
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1,
    "reduce": lambda n: 1,
    "send_recv": lambda n: 1,
}


def test_columns_and_factors_of_every_operation(wireplan):
    j = wireplan.json("collectives", "dgx-a100-80gb", "--op", "all", "-b", "1K", "-e", "1G", "-f", "4", "-g", "4")
    assert j["schema"] == "wireplan.collectives/1" and j["dtype"] == "float"
    assert [c["op"] for c in j["curves"]] == [
        "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv", "scatter", "gather"]
    for curve in j["curves"]:
        assert curve["ranks"] == 4 and curve["nodes"] == 1 and curve["gpus"] == [0, 1, 2, 3] and curve["bottleneck"]
        assert [p["size_bytes"] for p in curve["points"]] == [1024 * 4**i for i in range(11)]
        shared = curve["op"] in ("all_gather", "reduce_scatter", "all_to_all", "scatter", "gather")
        times = [p["time_s"]["value"] for p in curve["points"]]
        assert times == sorted(times)
        for p in curve["points"]:
            assert p["count"] == p["size_bytes"] // (16 if shared else 4)
            assert p["time_s"]["low"] <= p["time_s"]["value"] <= p["time_s"]["high"]
            assert p["algorithm_bandwidth_bytes_per_s"] == pytest.approx(p["size_bytes"] / p["time_s"]["value"])
            assert p["bus_bandwidth_bytes_per_s"] == pytest.approx(FACTORS[curve["op"]](4) * p["algorithm_bandwidth_bytes_per_s"])


def test_text_and_markdown(wireplan):
    done = wireplan("collectives", "dgx-a100-80gb", "-b", "8", "-e", "8G", "-f", "8")
    assert done.returncode == 0 and not done.err
    assert all(len(line) <= 100 for line in done.out.splitlines())
    assert "all_reduce among 8 ranks" in done.out and "NVLink" in done.out and "busbw GB/s" in done.out
    first = next(line for line in done.out.splitlines() if line.split()[:1] == ["8"])
    assert first.split()[1] == "2" and "Elements of float, reduction sum." in " ".join(done.out.split())
    assert "| size B |" in wireplan("collectives", "dgx-a100-80gb", "--markdown").out


def test_csv_has_full_precision(wireplan):
    done = wireplan("collectives", "dgx-a100-80gb", "--op", "broadcast", "-b", "1M", "-e", "4M", "--csv", "-d", "half")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [int(r["size [bytes]"]) for r in rows] == [1 << 20, 1 << 21, 1 << 22]
    assert all(r["root"] == "0" and r["redop"] == "none" and r["type"] == "half" and int(r["count"]) * 2 == int(r["size [bytes]"]) for r in rows)
    assert float(rows[0]["busbw [bytes/s]"]) == pytest.approx(float(rows[0]["size [bytes]"]) / float(rows[0]["time [s]"]))


def test_sizes_are_those_of_nccl_tests(wireplan):
    def sizes(*arguments):
        (curve,) = wireplan.json("collectives", "dgx-a100-80gb", *arguments)["curves"]
        return [(p["size_bytes"], p["count"]) for p in curve["points"]]

    assert sizes("-b", "1000", "-e", "1000", "--op", "reduce_scatter") == [(896, 28)]
    assert sizes("-b", "64", "-e", "64", "--op", "all_gather") == [(0, 0)]
    assert sizes("-b", "1K", "-e", "3K", "-i", "1K") == [(1024, 256), (2048, 512), (3072, 768)]
    assert sizes("-b", "0.5M", "-e", "1m", "-n", "20", "-w", "5") == [(524288, 131072), (1048576, 262144)]
    assert sizes("-b", "4G", "-e", "4GiB", "-d", "int8") == [(1 << 32, 1 << 32)]


def test_which_gpus_matters(wireplan):
    def bandwidth(gpus):
        (curve,) = wireplan.json("collectives", "a100-80gb-pcie-4x-pairs", "--gpus", gpus, "-b", "1G", "-e", "1G")["curves"]
        assert curve["gpus"] == [int(g) for g in gpus.split(",")]
        return curve["points"][0]["bus_bandwidth_bytes_per_s"]

    assert bandwidth("0,1") > 5 * bandwidth("0,2")
    assert bandwidth("2,3") == bandwidth("0,1")


def test_several_nodes(wireplan):
    j = wireplan.json("collectives", "hgx-h100-80gb", "--nodes", "4", "-b", "1G", "-e", "1G")
    (curve,) = j["curves"]
    assert curve["ranks"] == 32 and curve["nodes"] == 4 and "Gbit/s" in curve["bottleneck"]
    assert [a["path"] for a in j["assumed"]].count("cluster.network") == 1
    stated = json.dumps({"nodes": 2, "node": "hgx-h100-80gb", "network": "infiniband-8x400"})
    assert wireplan.json("collectives", "-", "-b", "1M", "-e", "1M", text=stated)["curves"][0]["ranks"] == 16
    assert wireplan.json("collectives", "-", "-b", "1M", "-e", "1M", "--nodes", "1", text=stated)["curves"][0]["ranks"] == 8
    # The most ranks there may be.
    assert wireplan.json("collectives", "hgx-h100-80gb", "--nodes", "12500", "-b", "1M", "-e", "1M")["curves"][0]["ranks"] == 100000


@pytest.mark.parametrize("arguments, path", [
    (["--op", "allreduce"], "op"),
    (["--op", ""], "op"),
    (["-b", "2K", "-e", "1K"], "sizes.end"),
    (["-f", "1"], "sizes.factor"),
    (["-f", "0"], "sizes.factor"),
    (["-f", "-3"], "sizes.factor"),
    (["-f", "nan"], "sizes.factor"),
    (["-i", "0"], "sizes.step"),
    (["-i", "1"], "sizes.step"),
    (["-b", "0"], "sizes.begin"),
    (["-b", "abc"], "sizes.begin"),
    (["-b", "1KB"], "sizes.begin"),
    (["-b", "1e400"], "sizes.begin"),
    (["-e", "2P"], "sizes.end"),
    (["-g", "9"], "per_node"),
    (["-g", "0"], "per_node"),
    (["-g", "1"], "nodes"),
    (["--gpus", "0,0"], "gpus"),
    (["--gpus", "0,8"], "gpus"),
    (["--gpus", "x"], "--gpus"),
    (["--nodes", "0"], "nodes"),
    (["--nodes", "12501"], "nodes"),
    (["-d", "float33"], "dtype"),
    (["--redop", "mean"], "redop"),
    (["-f", "2", "-i", "2"], "command line"),
    (["-g", "2", "--gpus", "0,1"], "command line"),
    (["-g", "x"], "command line"),
])
def test_bad_input(wireplan, arguments, path):
    errors = wireplan.errors("collectives", "hgx-h100-80gb", *arguments)
    assert errors[0]["path"] == path, errors


def test_a_near_operation_is_offered(wireplan):
    (error,) = wireplan.errors("collectives", "dgx-a100-80gb", "--op", "allreduce")
    assert "all_reduce" in error["text"]


def test_machines_that_are_none(wireplan):
    wireplan.errors("collectives", "no-such-node")
    wireplan.errors("collectives", "-", text="{")
    wireplan.errors("collectives", "-", text='{"node": "dgx-a100-80gb", "nodes": 0}')
    wireplan.errors("collectives")


def test_every_node_has_curves(wireplan):
    for preset in wireplan.json("presets", "nodes")["presets"]:
        arguments = ["--nodes", "2"] if preset["gpus"] == 1 else []
        (curve,) = wireplan.json("collectives", preset["id"], "-b", "1M", "-e", "1G", "-f", "32", *arguments)["curves"]
        assert all(p["bus_bandwidth_bytes_per_s"] > 0 for p in curve["points"]), preset["id"]


def test_gpus_that_are_listed_are_the_ones_used(wireplan, tmp_path):
    (tmp_path / "two.json").write_text(json.dumps({"node": "dgx1-v100-16gb", "gpus": [0, 7]}))
    ask = ["collectives", str(tmp_path / "two.json"), "--op", "all_gather", "-b", "1K", "-e", "1K"]
    curve = wireplan.json(*ask)["curves"][0]
    assert curve["gpus"] == [0, 7] and curve["ranks"] == 2 and curve["points"][0]["count"] == 128
    assert wireplan.json(*ask, "-g", "2")["curves"][0]["gpus"] == [0, 7]
    (error,) = wireplan.errors(*ask, "-g", "3")
    assert "2 are used" in error["text"]
    assert wireplan.json("topology", "show", str(tmp_path / "two.json"))["ring"]["order"] in ([0, 7], [7, 0])


def test_a_bottleneck_is_that_of_the_operation(wireplan):
    curves = {c["op"]: c for c in wireplan.json("collectives", "hgx-h100-80gb", "--nodes", "4", "--op", "all", "-b", "1M", "-e", "1M")["curves"]}
    assert curves["send_recv"]["bottleneck_planning_bytes_per_s"] == 50e9
    assert curves["all_to_all"]["bottleneck_planning_bytes_per_s"] == 400e9
