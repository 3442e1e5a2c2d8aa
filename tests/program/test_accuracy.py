"""Estimates beside measured runs: accuracy."""

import csv
import io
import json
import statistics

import pytest

PLAN = {
    "schema": "wireplan.plan/1",
    "model": "mistral-7b-v0.1",
    "training": {"global_batch_size": 64, "master_weights_dtype": None},
    "parallel": {"data_sharding": "fsdp"},
    "cluster": {"nodes": 1, "node": "dgx-a100-80gb", "gpus_per_node": 4},
}
DDP = {**PLAN, "parallel": {"data_sharding": "ddp"}}
SUMMARY = ["count", "median_abs_error", "p90_abs_error", "worst_abs_error"]


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def run(name, plan=PLAN, **rest):
    return {"id": name, "source": "a report", "plan": plan, **rest}


@pytest.fixture
def accuracy(wireplan):
    return lambda *rows, options=(): wireplan.json("accuracy", "--runs", "-", *options, text=lines(*rows))


def test_a_run_is_compared_with_its_estimate(wireplan, accuracy):
    estimate = wireplan.json("estimate", "-", text=json.dumps(PLAN))
    answer = accuracy(run("a", measured={"step_time_s": 10, "allocated_bytes": 5e10, "mfu": 0.5}, note="x", surprise=[1]))
    assert list(answer) == ["rows", "skipped", "summary", "ranking", "verdicts"]
    assert [list(row) for row in answer["rows"]] == [["id", "metric", "measured", "predicted", "error"]] * 3
    by_metric = {row["metric"]: row for row in answer["rows"]}
    assert by_metric["step_time_s"]["predicted"] == estimate["step"]["time_s"]["value"]
    assert by_metric["allocated_bytes"]["predicted"] == estimate["memory"]["allocated_bytes"]["value"]
    assert by_metric["mfu"]["predicted"] == estimate["step"]["mfu"]
    for row in answer["rows"]:
        assert row["error"] == pytest.approx(row["predicted"] / row["measured"] - 1, rel=1e-9)
        assert answer["summary"][row["metric"]] == dict.fromkeys(SUMMARY, abs(row["error"])) | {"count": 1}
    assert answer["skipped"] == [] and answer["ranking"] == []
    assert answer["verdicts"] == {"oom_right": 0, "oom_wrong": 0, "fits_right": 1, "fits_wrong": 0, "undecided": 0}


def test_summaries_are_medians_and_percentiles_of_absolute_errors(accuracy):
    answer = accuracy(*(run(str(t), measured={"step_time_s": t}) for t in (3, 10, 14, 15, 40)))
    errors = sorted(abs(row["error"]) for row in answer["rows"])
    summary = answer["summary"]["step_time_s"]
    assert list(summary) == SUMMARY and summary["count"] == 5
    assert summary["median_abs_error"] == pytest.approx(statistics.median(errors))
    assert summary["worst_abs_error"] == pytest.approx(errors[-1])
    assert summary["p90_abs_error"] == pytest.approx(errors[3] + 0.6 * (errors[4] - errors[3]))


def test_collectives_have_a_row_for_each_size(wireplan, accuracy):
    answer = accuracy({"id": "c", "source": "s", "cluster": {"nodes": 1, "node": "dgx-a100-80gb"}, "collective": "all_reduce",
                       "gpus": 4, "nodes": 1, "dtype": "fp16", "wiring": "x", "measured": [[1024, 1e-5], [1048576, 5e-5]]})
    assert [list(row) for row in answer["rows"]] == [["id", "metric", "size_bytes", "measured", "predicted", "error"]] * 2
    assert [row["size_bytes"] for row in answer["rows"]] == [1024, 1048576]
    assert all(row["predicted"] > 0 for row in answer["rows"])
    assert answer["summary"]["collective_time_s"]["count"] == 2


def test_traced_collectives_count_what_is_missing_and_what_is_too_much(accuracy):
    def entry(collective, calls):
        return {"collective": collective, "dtype": "bf16", "ranks": 4, "calls": calls, "bytes": 1e9}

    answer = accuracy(run("a", DDP, measured={"collectives": [entry("all_gather", 3)]}))
    assert [(r["metric"], r["error"]) for r in answer["rows"]] == [
        ("collectives.calls", 1), ("collectives.bytes", 1), ("collectives.calls", -1), ("collectives.bytes", -1)]


def test_verdicts_of_outcomes_and_of_runs_that_ran(accuracy):
    verdicts = accuracy(run("a", outcome="oom"), run("b", DDP, outcome="oom"), run("c", outcome="fits"),
                        run("d", DDP, measured={"step_time_s": 1}))["verdicts"]
    assert verdicts == {"oom_right": 1, "oom_wrong": 1, "fits_right": 1, "fits_wrong": 1, "undecided": 0}


def test_layouts_of_one_sweep_are_ranked(accuracy):
    answer = accuracy(run("a", measured={"step_time_s": 10}),
                      run("b", {**PLAN, "parallel": {"tensor": 4}}, measured={"step_time_s": 5}),
                      run("c", {**PLAN, "training": {"sequence_length": 2048}}, measured={"step_time_s": 5}))
    (group,) = answer["ranking"]
    assert list(group) == ["group", "runs", "spearman", "regret"]
    assert group["runs"] == 2 and group["spearman"] in (1, -1) and group["regret"] in (0, 1)
    assert "mistral-7b-v0.1" in group["group"] and "a report" in group["group"]


def test_what_cannot_be_used_is_skipped_with_a_reason(accuracy):
    answer = accuracy(run("bad plan", {**PLAN, "model": "mistral-8b"}, measured={"mfu": 0.5}), run("nothing", measured={}),
                      run("unknown", measured={"watts": 3}), run("text", measured={"mfu": "half"}), run("list", measured=[1]),
                      {"id": "ng", "nccl": "2.28.9", "topology_xml": "a.xml", "graphs": []}, {"id": "empty"}, {},
                      run("good", measured={"mfu": 0.5}))
    assert [row["id"] for row in answer["rows"]] == ["good"]
    reasons = {skipped["id"]: skipped["reason"] for skipped in answer["skipped"]}
    assert list(reasons) == ["bad plan", "nothing", "unknown", "text", "list", "ng", "empty", "line 8"]
    assert "plan" in reasons["bad plan"] or "mistral-8b" in reasons["bad plan"]
    assert "watts" in reasons["unknown"] and "--xml-dir" in reasons["ng"]
    assert all(list(skipped) == ["id", "reason"] for skipped in answer["skipped"])


def test_a_bad_line_is_named(wireplan, tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text(lines(run("a", outcome="fits")) + "\n{'id': 1}\n" + '"text"\n')
    first, second = wireplan.errors("accuracy", "--runs", str(file))
    assert first["path"] == "line 3" and "column 2" in first["text"]
    assert second["path"] == "line 4" and "object" in second["limit"]


@pytest.mark.parametrize("text", ["", "\n\n", "   \n"])
def test_a_file_without_rows_is_an_error(wireplan, text):
    (error,) = wireplan.errors("accuracy", "--runs", "-", text=text)
    assert "no row" in error["text"]


@pytest.mark.parametrize("text", ["\x00\x01", "[[[[", "{" * 10_000, "[]", "null", '{"id": "a"} {"id": "b"}', "\n".join("x" * 1000)])
def test_what_is_no_list_of_rows_is_an_error(wireplan, text):
    assert len(wireplan.errors("accuracy", "--runs", "-", text=text)) <= 10


def test_bytes_that_are_not_text(wireplan):
    wireplan.errors("accuracy", "--runs", "-", text=b"\xff\xfe{\n")


def test_a_file_that_cannot_be_read(wireplan, tmp_path):
    for path in (tmp_path, tmp_path / "none.jsonl"):
        (error,) = wireplan.errors("accuracy", "--runs", str(path))
        assert "cannot read" in error["text"]


def test_many_rows_of_more_than_a_document(wireplan, tmp_path):
    file = tmp_path / "runs.jsonl"
    row = lines(run("a", measured={"mfu": 0.5}, note="x" * 10_000))
    file.write_text(row * 500)  # 5 MB
    assert wireplan.json("accuracy", "--runs", str(file))["summary"]["mfu"]["count"] == 500


def test_leaving_out_says_that_nothing_is_refitted(wireplan, accuracy):
    rows = [run("a", measured={"mfu": 0.5}), {**run("b", measured={"mfu": 0.4}), "source": "another"}]
    answer = accuracy(*rows, options=("--leave-out", "source"))
    left = answer["leave_out"]
    assert left["by"] == "source" and left["refitted"] == [] and "No constant is refitted" in left["text"]
    assert {group: metrics["mfu"]["count"] for group, metrics in left["groups"].items()} == {"a report": 1, "another": 1}
    done = wireplan("accuracy", "--runs", "-", "--leave-out", "machine", text=lines(*rows))
    assert done.returncode == 0 and "No constant is refitted" in " ".join(done.out.split())
    assert "Absolute errors by machine" in done.out and "dgx-a100-80gb" in done.out
    (error,) = wireplan.errors("accuracy", "--runs", "-", "--leave-out", "model", text=lines(*rows))
    assert "leave-out" in error["text"]


def test_text_has_rows_and_summaries(wireplan):
    done = wireplan("accuracy", "--runs", "-", text=lines(run("first", measured={"step_time_s": 10, "allocated_bytes": 5e10}), {"id": "odd"}))
    assert done.returncode == 0 and not done.err
    for part in ("first", "step_time_s", "50,000,000,000", "odd: it has neither", "Absolute errors by source", "a report",
                 "Absolute errors by framework", "pytorch", "median", "worst run", "called fits or tight: 1"):
        assert part in done.out, part


def test_csv_has_every_row(wireplan, accuracy):
    rows = [run("a", measured={"step_time_s": 10, "mfu": 0.25}), run("b", measured={"mfu": 0.5})]
    done = wireplan("accuracy", "--runs", "-", "--csv", text=lines(*rows))
    found = list(csv.DictReader(io.StringIO(done.out)))
    document = accuracy(*rows)
    assert [(row["id"], row["metric"], float(row["error"])) for row in found] == [
        (row["id"], row["metric"], row["error"]) for row in document["rows"]]
    assert wireplan("accuracy", "--runs", "-", "--markdown", text=lines(*rows)).out.startswith("## ")


def test_without_a_file_the_reference_runs(wireplan):
    answer = wireplan.json("accuracy")
    assert not answer["skipped"]
    assert len({row["id"] for row in answer["rows"]}) >= 100
    assert {"allocated_bytes", "states.parameters", "event", "collectives.bytes"} <= set(answer["summary"])
