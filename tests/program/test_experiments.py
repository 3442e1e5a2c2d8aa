"""wireplan search says what to measure, and the program takes the commands that it prints."""

import json
import re
import shlex

import pytest

import mpi

TWO_NODES = {"model": "llama-3-8b", "training": {"global_batch_size": 64, "gradient_dtype": "fp32"},
             "parallel": {"framework": "megatron", "data_sharding": "zero1"},
             "cluster": {"nodes": 2, "node": "hgx-h100-80gb", "network": "infiniband-8x400"}}


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(TWO_NODES))
    return str(path)


def test_what_to_measure_is_in_text_and_document(wireplan, plan):
    found = wireplan.json("search", plan)
    assert found["experiments"], found["experiments_text"]
    first = found["experiments"][0]
    low, high = first["band"]
    assert 0 < low < 1 < high and first["saved_s"] > 0 and first["seconds"] > 0
    assert first["flips"] is None or found["plans"][first["flips"]]["time_s"] >= found["plans"][0]["time_s"]
    rates = [e["saved_s"] / e["seconds"] for e in found["experiments"]]
    assert rates == sorted(rates, reverse=True)
    text = " ".join(wireplan("search", plan).out.split())
    assert "What to measure" in text and found["experiments_text"] in text


def test_commands_are_taken(wireplan, plan):
    commands = [e["command"] for e in wireplan.json("search", plan)["experiments"] if e["kind"] == "collectives"]
    assert commands
    for command in commands:
        launch, arguments = re.fullmatch(r"(mpirun -n \d+(?: --map-by ppr:\d+:node)?) wireplan (measure .*)", command).groups()
        arguments = shlex.split(arguments)
        # Sizes and operation are judged before a library is looked for: 77, not 2.
        assert wireplan(*arguments).returncode in (0, 77), command
        # The same on ranks of this host, with sizes that they hold.
        ranks = int(re.search(r"-n (\d+)", launch).group(1))
        assert 2 <= ranks <= 16
        small = [a if before not in ("-b", "-e") else "4K" for before, a in zip([""] + arguments, arguments)]
        done = mpi.run(wireplan, ranks, *small, "--backend", "mpi", "-n", "1", "-w", "0", "--json")
        assert done.returncode == 0, done.err
        assert {r["op"] for r in json.loads(done.out)["rows"]} == set(arguments[arguments.index("--op") + 1].split(","))


def test_operations_may_be_several(wireplan):
    assert [e["path"] for e in wireplan.errors("measure", "--op", "all_gather,nothing")] == ["--op"]
    assert [e["path"] for e in wireplan.errors("measure", "--op", "all_gather,all_gather")] == ["--op"]
    assert [e["path"] for e in wireplan.errors("measure", "--op", "all_gather,")] == ["--op"]
