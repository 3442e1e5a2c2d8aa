"""compare: plans side by side."""

import csv
import io
import json

import pytest


@pytest.fixture(scope="module")
def fsdp(wireplan):
    return wireplan("estimate", "story", "--set", "parallel.data_sharding=fsdp", "--print-link").out.strip()


def test_each_estimate_is_that_of_its_plan_alone(wireplan, fsdp):
    document = wireplan.json("compare", "story", fsdp)
    assert list(document) == ["schema", "baseline", "estimates", "differences"]
    assert document["schema"] == "wireplan.compare/1" and document["baseline"] == 0
    assert document["estimates"] == [wireplan.json("estimate", "story"), wireplan.json("estimate", fsdp)]


def test_the_differences_are_those_of_the_documents(wireplan, fsdp):
    document = wireplan.json("compare", "story", fsdp)
    different = {d["path"]: d["values"] for d in document["differences"]}
    assert different["plan.parallel.data_sharding"] == ["ddp", "fsdp"]
    assert different["memory.fits"] == [False, True]
    assert different["memory.states.parameters"] == [14_483_464_192, 3_620_866_048]
    assert "plan.model" not in different and "memory.capacity_bytes" not in different
    for path, values in different.items():
        assert len(values) == 2 and values[0] != values[1], path
    # A message only one of them has stands against null.
    ddp_only = [p for p in different if p.startswith("communication.ddp") and p.endswith(".calls")]
    assert ddp_only and all(different[p][1] is None and different[p][0] for p in ddp_only)


def test_a_plan_does_not_differ_from_itself(wireplan, scenarios):
    for scenario in scenarios:
        assert wireplan.json("compare", scenario, scenario)["differences"] == []


def test_set_changes_every_plan(wireplan, fsdp):
    document = wireplan.json("compare", "story", fsdp, "--set", "training.micro_batch_size=2")
    assert [e["plan"]["training"]["micro_batch_size"] for e in document["estimates"]] == [2, 2]


def test_text_and_markdown(wireplan, fsdp):
    text = wireplan("compare", "story", fsdp, "--unit", "GB").out
    assert text.startswith("1 of 2 plans fits; the fastest that fits is plan 2")
    assert "parallel.data_sharding = fsdp" in text and "86.9 GB" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    markdown = wireplan("compare", "story", fsdp, "--markdown").out
    assert "## Will it fit?" in markdown and "| verdict | does-not-fit | fits |" in markdown
    many = wireplan("compare", *["story"] * 12).out
    assert all(len(line) <= 100 for line in many.splitlines()) and many.startswith("None of the 12 plans fits.")


def test_csv_has_a_line_for_each_plan(wireplan, fsdp):
    rows = list(csv.DictReader(io.StringIO(wireplan("compare", "story", fsdp, "--csv").out)))
    assert [r["memory.fits"] for r in rows] == ["false", "true"]
    assert [r["plan.parallel.data_sharding"] for r in rows] == ["ddp", "fsdp"]
    only_first = [k for k in rows[0] if k.startswith("communication.ddp")]
    assert only_first and all(rows[1][k] == "" for k in only_first)


def test_errors_say_which_plan(wireplan):
    errors = wireplan.errors("compare", "story", "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&tp=3")
    assert all(e["path"].startswith("plans.1.") for e in errors)


def test_measurements_are_one_difference(wireplan, tmp_path):
    curve = {"op": "all_reduce", "ranks": 8, "nodes": 1, "points": [[1024, 2e-5], [1048576, 5e-5], [1073741824, 5e-3]]}
    profile = {"schema": "wireplan.profile/1", "collectives": [curve]}
    plan = {"model": "mistral-7b-v0.1", "parallel": {"data_sharding": "fsdp"}, "cluster": {"node": "hgx-h100-80gb"}}
    (tmp_path / "a.json").write_text(json.dumps(plan))
    plan["cluster"]["profile"] = profile
    (tmp_path / "b.json").write_text(json.dumps(plan))
    out = wireplan("compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")).out
    assert out.count("cluster.profile") == 1 and "other measurements in cluster.profile" in " ".join(out.split())
