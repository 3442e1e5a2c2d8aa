"""Logs and profiles: import and validate."""

import json
import os

import pytest

from program import ROOT

LOGS = ROOT / "tests/data/nccl_tests"
H100 = str(LOGS / "all_reduce_2.13.txt")
GATHER = str(LOGS / "all_gather_2.10.txt")
NCCL = "".join(
    f"a:{r}:{r} [{r}] NCCL INFO comm 0x5 rank {r} nranks 2 cudaDev {r} nvmlDev {r} busId {r + 1}000 commId 0x1 - Init COMPLETE\n" for r in (0, 1)
) + "a:0:0 [0] NCCL INFO NCCL version 2.20.5+cuda12.4\na:0:0 [0] NCCL INFO Channel 00/02 :    0   1\na:0:0 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"


def test_a_log_becomes_a_profile_that_a_cluster_takes(wireplan, tmp_path):
    done = wireplan("import", H100, "--json")
    profile = json.loads(done.out)
    assert done.returncode == 0 and "over 25 % longer" in done.err
    assert profile["schema"] == "wireplan.profile/1" and profile["machine"] == "NVIDIA H100 80GB HBM3"
    (curve,) = profile["collectives"]
    assert [curve[k] for k in ("op", "ranks", "nodes", "gpus", "dtype", "launch")] == ["all_reduce", 8, 1, list(range(8)), "fp32", "process-per-gpu"]
    assert curve["points"][-1] == [17179869184, 0.062648]
    plan = {"model": "gpt2", "cluster": {"node": "hgx-h100-80gb", "profile": profile}}
    assert wireplan.json("estimate", "-", text=json.dumps(plan))["plan"]["cluster"]["profile"] == profile
    text = wireplan("import", H100).out
    assert "480 GB/s" in text and "all_reduce on 8 ranks, fp32" in text
    assert wireplan("import", "-", text=open(H100).read()).out == text


def test_a_log_of_nccl_becomes_its_decisions(wireplan):
    document = wireplan.json("import", "-", text=NCCL)
    assert document["schema"] == "wireplan.nccl/1" and document["nccl"] == "2.20.5" and document["ranks"] == 2
    assert document["rings"] == [{"channels": [0], "order": [0, 1]}] and "log" not in document
    expected = [("NCCL", False), ("ranks", True), ("nodes as NCCL counts", True), ("ring of channel 0", True), ("0 -> 1", False)]
    for machine in ("dgx-a100-80gb", ROOT / "tests/data/nccl/logs/hgx-a100-4nic.xml"):
        compared = wireplan.json("import", "-", "--cluster", machine, text=NCCL)["log"]
        assert [(c["what"], c["agrees"]) for c in compared["lines"]] == expected and (compared["agree"], compared["differ"]) == (3, 2)
        assert "P2P is off in the driver" in compared["lines"][-1]["note"]
        text = wireplan("import", "-", "--cluster", machine, text=NCCL).out
        assert "SHM" in text and "3 of 5 things that the log says agree" in text
        decision = wireplan.json("topology", "nccl", machine, "--log", "-", text=NCCL)
        assert decision["schema"] == "wireplan.nccl/1" and decision["ranks"] == 2 and decision["channels"]["coll"] == 24 and decision["log"] == compared
        assert "differs: log says via SHM/direct/direct, expected P2P" in wireplan("topology", "nccl", machine, "--log", "-", text=NCCL).out.replace("\n  ", " ")


def test_one_log_is_held_against_one_machine(wireplan):
    (error,) = wireplan.errors("topology", "nccl", "dgx-a100-80gb", "hgx-h100-80gb", "--log", "nowhere.log")
    assert error["path"] == "--log"
    (error,) = wireplan.errors("topology", "nccl", "dgx-a100-80gb", "--log", "-", text="GPU0 GPU1")
    assert "NCCL_DEBUG=INFO" in error["text"]


@pytest.mark.parametrize(
    "text, part",
    [("GPU0 GPU1\nGPU0 X NV4\n", "wireplan topology import"), ("<system version='1'>", "wireplan topology import"), ('{"model_type": "bert"}', "encoder"), ("hello", "neither a log"), ("", "neither a log"), ("\0\xff" * 100, "neither a log")],
)
def test_what_cannot_be_imported_is_called_by_its_name(wireplan, text, part):
    (error,) = wireplan.errors("import", "-", text=text.encode("latin-1"))
    assert part in error["text"]
    (error,) = wireplan.errors("import", "nowhere.txt")
    assert "nowhere.txt" in error["text"]


def test_validate_compares_and_answers_by_its_status(wireplan, tmp_path):
    done = wireplan("validate", GATHER, "--cluster", "dgx-a100-40gb", "--json")
    report = json.loads(done.out)
    assert list(report) == ["rows", "fit", "findings", "tolerance", "within"]
    assert len(report["rows"]) == 5 and report["tolerance"] is None
    for row in report["rows"]:
        assert row["error"] == pytest.approx(row["predicted_s"] / row["time_s"] - 1, abs=1e-12)
    assert report["fit"][0]["op"] == "all_gather" and 2e11 < report["fit"][0]["bytes_per_s"] < 2.5e11
    assert done.returncode == (0 if report["within"] else 1)
    strict = wireplan("validate", GATHER, "--cluster", "dgx-a100-40gb", "--tolerance", "0.0001", "--json")
    assert strict.returncode == 1 and json.loads(strict.out)["within"] is False and json.loads(strict.out)["tolerance"] == 0.0001
    assert wireplan("validate", GATHER, "--cluster", "dgx-a100-40gb", "--tolerance", "100").returncode == 0
    for nonsense in ("nan", "inf", "0", "-1"):
        assert wireplan("validate", GATHER, "--cluster", "dgx-a100-40gb", "--tolerance", nonsense).returncode == 2
    assert wireplan("validate", GATHER, "--cluster", "dgx-a100-40gb", "--csv").out.count("\r\n") == 6


def test_curves_of_gpus_that_the_cluster_does_not_use(wireplan):
    cluster = {"node": "aws-g5.48xlarge", "gpus_per_node": 2}
    (error,) = wireplan.errors("validate", GATHER, "--cluster", "-", text=json.dumps(cluster))
    assert "not in this cluster" in error["text"]


def test_validate_writes_only_where_it_is_told(wireplan, tmp_path):
    out = tmp_path / "deep" / "report"
    wireplan("validate", GATHER, H100, "--cluster", "hgx-h100-80gb", "--out", str(out), cwd=tmp_path)
    assert sorted(os.listdir(out)) == ["profile.json", "report.html", "report.json", "report.md"] and os.listdir(tmp_path) == ["deep"]
    profile = json.loads((out / "profile.json").read_text())
    assert [c["op"] for c in profile["collectives"]] == ["all_gather", "all_reduce"] and len(profile["fit"]) == 2
    # What was written is read again, and says the same.
    first = wireplan("validate", GATHER, H100, "--cluster", "hgx-h100-80gb", "--json").out
    again = wireplan("validate", str(out / "profile.json"), "--cluster", "hgx-h100-80gb", "--json").out
    assert json.loads(again)["rows"] == json.loads(first)["rows"]
    (tmp_path / "file").write_text("")
    assert "file" in wireplan.errors("validate", GATHER, "--cluster", "hgx-h100-80gb", "--out", str(tmp_path / "file"))[0]["text"]


def test_validate_reads_runs(wireplan):
    row = {"op": "all_gather", "ranks": list(range(8)), "size_bytes": 8589934592, "time_s": {"min": 0.033, "median": 0.034, "p95": 0.04}, "wrong": 0, "status": "ok"}
    run = {"schema": "wireplan.run/1", "rows": [row, row | {"status": "failed"}, row | {"wrong": 3, "size_bytes": 1024}]}
    report = json.loads(wireplan("validate", "-", "--cluster", "dgx-a100-80gb", "--json", text=json.dumps(run)).out)
    assert [(r["size_bytes"], r["time_s"]) for r in report["rows"]] == [(8589934592, 0.034)]
    (error,) = wireplan.errors("validate", "-", "--cluster", "dgx-a100-80gb", text=json.dumps({"schema": "wireplan.run/1", "rows": [{"op": "x"}]}))
    assert error["path"] == "-: rows.0"


def test_a_link_carries_the_profile_to_the_page(wireplan):
    link = wireplan("validate", GATHER, "--cluster", "hgx-h100-80gb", "--print-link").out.strip()
    assert link.startswith("#v=1&") and len(link) <= 4096
    messages = wireplan.json("estimate", link)["communication"]
    assert {m["basis"] for m in messages if m["collective"] == "all_gather"} == {"profile"}
    # Too much for a link is an error that says so.
    rows = [{"op": op, "ranks": list(range(8)), "size_bytes": 1000 + 7 * i * i, "time_s": {"median": 1e-5 * (1 + (i * 7919 % 1000) / 3)}, "wrong": 0, "status": "ok"} for op in ("all_gather", "all_reduce") for i in range(600)]
    (error,) = wireplan.errors("validate", "-", "--cluster", "hgx-h100-80gb", "--print-link", text=json.dumps({"schema": "wireplan.run/1", "rows": rows}))
    assert error["path"] == "cluster.profile" and "does not fit into a link" in error["text"]


def test_a_byte_order_mark_is_no_part_of_a_file(wireplan, tmp_path):
    run = {"schema": "wireplan.run/1", "rows": [{"op": "all_gather", "ranks": list(range(8)), "size_bytes": 8589934592, "time_s": {"median": 0.034}, "wrong": 0, "status": "ok"}]}
    file = tmp_path / "run.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(run).encode())
    assert "8 GiB" in wireplan("import", str(file)).out
    assert wireplan("validate", str(file), "--cluster", "dgx-a100-80gb").returncode == 0


def test_wrong_results_are_not_within(wireplan):
    log = open(H100).read().replace("480.16      0 ", "480.16      5 ")
    done = wireplan("validate", "-", "--cluster", "hgx-h100-80gb", "--tolerance", "100", "--json", text=log)
    assert done.returncode == 1 and json.loads(done.out)["findings"][0]["rule"] == "wrong-results"


def test_what_validate_needs(wireplan):
    assert "--cluster is missing" in wireplan.errors("validate", "--measure")[0]["text"]
    assert "file is missing" in wireplan.errors("validate", "--cluster", "dgx-a100-80gb")[0]["text"]
    assert "--cluster is missing" in wireplan.errors("validate", H100)[0]["text"]
    assert "dgx-a100-80gb" in wireplan.errors("validate", H100, "--cluster", "dgx-a100-80g")[0]["text"]
    assert "not in this cluster" in wireplan.errors("validate", str(LOGS / "all_reduce_2.17.txt"), "--cluster", "dgx-a100-40gb")[0]["text"]
    assert wireplan.errors("validate", "-", "--cluster", "dgx-a100-80gb", text="{}")  # neither log nor document
