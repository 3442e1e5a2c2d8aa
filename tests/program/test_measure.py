"""wireplan measure over MPI: real collectives between processes of this host."""

import csv
import io
import json
import os
import signal
import subprocess
import time

import pytest

import mpi

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv", "scatter", "gather")
TYPES = {"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "half": 2, "float": 4, "double": 8, "bfloat16": 2}
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
MPI = ("--backend", "mpi", "-w", "1")
QUICK = (*MPI, "-n", "3")


def measured(program, ranks, *arguments, status=0):
    done = mpi.run(program, ranks, "measure", *QUICK, *arguments, "--json")
    assert done.returncode == status, (done.returncode, done.err, done.out[-500:])
    return json.loads(done.out)


def bus_factor(op, n):
    return {"all_reduce": 2 * (n - 1) / n, "broadcast": 1, "reduce": 1, "send_recv": 1}.get(op, (n - 1) / n)


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_every_operation_is_right_in_every_form(wireplan, ranks):
    run = measured(wireplan, ranks, "--op", "all", "-b", "4K", "-e", "64K", "-f", "16")
    assert run["schema"] == "wireplan.run/1" and run["complete"] is True
    forms = {(r["op"], r["in_place"]) for r in run["rows"]}
    assert {op for op, _ in forms} == set(OPERATIONS)
    assert {op for op, in_place in forms if in_place} == set(OPERATIONS) - {"all_to_all", "send_recv"}
    for row in run["rows"]:
        assert (row["status"], row["wrong"]) == ("ok", 0), row
        assert row["ranks"] == list(range(ranks))
        assert 0 < row["time_s"]["min"] <= row["time_s"]["median"] <= row["time_s"]["p95"]
        assert row["algorithm_bandwidth_bytes_per_s"] == pytest.approx(row["size_bytes"] / row["time_s"]["median"])
        assert row["bus_bandwidth_bytes_per_s"] == pytest.approx(row["algorithm_bandwidth_bytes_per_s"] * bus_factor(row["op"], ranks))
        split = row["op"] in ("all_gather", "reduce_scatter", "all_to_all", "scatter", "gather")
        assert row["size_bytes"] == row["count"] * 4 * (ranks if split else 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_is_reduced_right(wireplan, dtype):
    for redop in ("sum", "prod", "min", "max") if dtype in ("half", "bfloat16") else ("sum", "max"):  # these two by functions of our own
        run = measured(wireplan, 4, "--op", "all_reduce", "-d", dtype, "--redop", redop, "-b", "8K", "-e", "8K")
        assert [(r["status"], r["wrong"], r["dtype"], r["redop"]) for r in run["rows"]] == [("ok", 0, dtype, redop)] * 2
        assert run["rows"][0]["count"] == 8192 // TYPES[dtype]


def test_what_mpi_cannot_do_is_a_row_that_says_so(wireplan):
    run = measured(wireplan, 2, "--redop", "avg", "-b", "1K", "-e", "1K", "--place", "out")
    assert [(r["status"], r["time_s"], r["message"]) for r in run["rows"]] == [("skipped", None, "MPI has no mean: --redop sum")]
    run = measured(wireplan, 2, "--op", "all", "-d", "f8e4m3", "-b", "1K", "-e", "1K", "--place", "out")
    assert {r["op"] for r in run["rows"] if r["status"] == "skipped"} == set(REDUCING)
    assert all(r["wrong"] == 0 for r in run["rows"] if r["status"] == "ok")


def test_too_large_for_the_memory_is_left_out_and_the_rest_measured(wireplan):
    limit = subprocess.run(["sh", "-c", "ulimit -v 2000000 && exec \"$@\"", "sh", *mpi.command(wireplan, 2, "measure", *QUICK, "-b", "1M", "-e", "4G", "-f", "4096", "--place", "out", "-d", "double", "--json")],
                           capture_output=True, text=True, timeout=90, env={**os.environ, **mpi.ENVIRONMENT})
    assert limit.returncode == 0, limit.stderr
    rows = json.loads(limit.stdout)["rows"]
    assert [r["status"] for r in rows] == ["ok", "skipped"]
    assert "not enough memory" in rows[1]["message"] and "8589934592 bytes" in rows[1]["message"]


def test_the_table_has_the_columns_of_nccl_tests_and_the_prediction(wireplan):
    done = mpi.run(wireplan, 4, "measure", *QUICK, "-b", "1K", "-e", "4K", "-f", "4", "--cluster", "dgx-a100-80gb")
    assert done.returncode == 0, done.err
    heads = [line.split() for line in done.out.splitlines() if line.startswith("#") and "algbw" in line]
    assert heads == [["#", "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong", "predicted", "error"]]
    rows = [line.split() for line in done.out.splitlines() if line and not line.startswith("#")]
    assert [row[:5] for row in rows] == [["1024", "256", "float", "sum", "-1"], ["4096", "1024", "float", "sum", "-1"]]
    for row in rows:
        time, predicted, error = float(row[5]), float(row[-2]), float(row[-1])
        assert error == pytest.approx(100 * (predicted / time - 1), abs=0.5)


def test_the_prediction_is_that_of_collectives(wireplan):
    run = measured(wireplan, 4, "--cluster", "dgx-a100-80gb", "-b", "64K", "-e", "64K", "--place", "out")
    curve = wireplan.json("collectives", "dgx-a100-80gb", "-g", "4", "-b", "64K", "-e", "64K")["curves"][0]
    row = run["rows"][0]
    assert row["predicted_s"] == curve["points"][0]["time_s"]["value"]
    assert row["error"] == pytest.approx(row["predicted_s"] / row["time_s"]["median"] - 1)


def test_ranks_that_the_cluster_lacks_have_no_prediction(wireplan):
    done = mpi.run(wireplan, 3, "measure", *QUICK, "-b", "1K", "-e", "1K", "--json", "--cluster", two_gpus(wireplan))
    assert done.returncode == 0, done.err
    assert "2 GPUs, 3 ranks measure" in done.err
    assert all(r["predicted_s"] is None and r["error"] is None for r in json.loads(done.out)["rows"])


def two_gpus(program):
    return next(p["id"] for p in program.json("presets", "nodes")["presets"] if p.get("gpus") == 2 or "-2x" in p["id"])


# ------------------------------------------------------------------------------ groups
def test_a_group_of_some_ranks(wireplan):
    run = measured(wireplan, 4, "--group", "3,1", "-b", "4K", "-e", "4K", "--op", "all_gather")
    assert {tuple(r["ranks"]) for r in run["rows"]} == {(3, 1)} and all(r["wrong"] == 0 for r in run["rows"])


def test_groups_that_call_at_once(wireplan):
    run = measured(wireplan, 4, "--groups", "tp=2", "-b", "4K", "-e", "4K", "--place", "out", "--op", "reduce_scatter")
    assert [r["ranks"] for r in run["rows"]] == [[0, 1], [2, 3]] and all(r["wrong"] == 0 for r in run["rows"])
    run = measured(wireplan, 4, "--groups", "dp=2", "-b", "4K", "-e", "4K", "--place", "out")
    assert [r["ranks"] for r in run["rows"]] == [[0, 2], [1, 3]]


def test_every_pair(wireplan):
    done = mpi.run(wireplan, 3, "measure", *MPI, "--pairs", "-b", "256K", "-e", "256K", "-n", "9")
    assert done.returncode in (0, 1), done.err  # this host's own noise decides
    square = [line.split()[1:] for line in done.out.splitlines() if line.startswith("#")][-5:-1]
    assert [row[0] for row in square[1:]] == ["0", "1", "2"]
    assert [[cell == "-" for cell in row[1:]] for row in square[1:]] == [[i == j for j in range(3)] for i in range(3)]
    assert done.out.count("# send_recv, ranks") == 3


# ------------------------------------------------------------------------------ forms
def test_csv_and_markdown_hold_the_same_rows(wireplan):
    arguments = ("-b", "1K", "-e", "2K", "--op", "reduce")
    done = mpi.run(wireplan, 2, "measure", *QUICK, *arguments, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(r["op"], r["ranks"], r["size_bytes"], r["in_place"], r["wrong"], r["status"]) for r in rows] == [
        ("reduce", "0 1", size, place, "0", "ok") for size in ("1024", "2048") for place in ("false", "true")]
    done = mpi.run(wireplan, 2, "measure", *QUICK, *arguments, "--markdown")
    assert done.out.startswith("| operation |") and done.out.count("| reduce |") == 4


def test_the_environment_is_recorded_and_no_secret(wireplan):
    environment = {**os.environ, **mpi.ENVIRONMENT, "NCCL_ALGO": "Ring", "NCCL_API_TOKEN": "hush", "HOME_PAGE": "no"}
    done = mpi.run(wireplan, 2, "measure", *QUICK, "-b", "1K", "-e", "1K", "--json", env=environment)
    found = json.loads(done.out)["environment"]
    assert found["backend"] == "mpi" and found["launch"] == "mpirun, 2 processes" and "Open MPI" in found["mpi"]
    assert len(found["hosts"]) == 2 and found["nccl"] is None and found["driver"] is None
    assert found["variables"]["NCCL_ALGO"] == "Ring"
    assert "hush" not in done.out and "HOME_PAGE" not in done.out


# ------------------------------------------------------------------------------ what goes wrong
def test_a_rank_that_stops_ends_the_run_and_keeps_what_was_measured(wireplan, tmp_path):
    file = tmp_path / "run.json"
    running = mpi.start(wireplan, 3, "measure", *MPI, "-b", "1K", "-e", "1K", "--op", "all", "-n", "1000", "--timeout", "10", "-o", str(file))
    try:
        ranks = ranks_of(running, 3)
        wait_for_rows(file)
        os.kill(ranks[-1], signal.SIGSTOP)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 1, (running.returncode, err)
    assert "has not returned after 10 s (--timeout)" in err and "of 1 KiB" in err and "(rank 0)" in err
    run = json.loads(file.read_text())
    assert run["complete"] is False
    assert [r["status"] for r in run["rows"][:-1]] == ["ok"] * (len(run["rows"]) - 1) and len(run["rows"]) >= 2
    last = run["rows"][-1]
    assert last["status"] == "failed" and last["time_s"] is None and "has not returned" in last["message"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_rank_or_an_interrupt_leaves_a_whole_document(wireplan, tmp_path, how):
    file = tmp_path / "run.json"
    running = mpi.start(wireplan, 2, "measure", *MPI, "-b", "1K", "-e", "64M", "-n", "1000", "--op", "all", "-o", str(file))
    try:
        ranks = ranks_of(running, 2)
        wait_for_rows(file)
        os.kill(ranks[1] if how == signal.SIGKILL else running.pid, how)
        running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode != 0
    run = json.loads(file.read_text())
    assert run["complete"] is False and run["rows"] and all(r["status"] == "ok" for r in run["rows"])


def ranks_of(running, count):
    """Process ids of the program's ranks below mpirun, in order of their start."""
    for _ in range(300):
        children = subprocess.run(["pgrep", "-P", str(running.pid)], capture_output=True, text=True).stdout.split()
        if len(children) >= count:
            return sorted(int(c) for c in children)[-count:]
        time.sleep(0.05)
    pytest.fail("mpirun started nobody")


def wait_for_rows(file, timeout=40):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if file.exists() and json.loads(file.read_text())["rows"]:
            return
        time.sleep(0.02)
    pytest.fail("nothing was measured")


def test_a_place_that_cannot_be_written_stops_no_measuring(wireplan, tmp_path):
    done = mpi.run(wireplan, 2, "measure", *QUICK, "-b", "1K", "-e", "1K", "--json", "-o", str(tmp_path / "no" / "run.json"))
    assert done.returncode == 2
    assert done.err.count("--output: cannot write") == 1 and "No such file" in done.err
    assert [r["status"] for r in json.loads(done.out)["rows"]] == ["ok", "ok"]


def test_a_full_disk_keeps_the_last_document_that_fitted(wireplan, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    file = disk / "run.json"
    with open(tmp_path / "kept.json", "wb") as kept:
        done = subprocess.run(["unshare", "-m", "sh", "-c", 'exec 3>&1 1>/dev/null; file=$1; mount -t tmpfs -o size=12k none "$(dirname "$file")" || exit 99; shift; "$@"; code=$?; cat "$file" >&3; exit $code', "sh", str(file),
                               *mpi.command(wireplan, 2, "measure", *QUICK, "-b", "1K", "-e", "1M", "--op", "all", "-o", str(file))],
                              stdout=kept, stderr=subprocess.PIPE, text=True, timeout=90, env={**os.environ, **mpi.ENVIRONMENT})
    if done.returncode == 99 or "Operation not permitted" in done.stderr:
        pytest.skip("no right to mount a small disk")
    assert done.returncode == 2 and "--output: cannot write" in done.stderr and "No space left" in done.stderr
    run = json.loads((tmp_path / "kept.json").read_text())
    assert run["complete"] is False and run["rows"]


def test_ranks_asked_for_different_things_are_refused(wireplan):
    line = [mpi.launcher(), "-n", "1", wireplan.path, "measure", *QUICK, "-e", "1K", ":", "-n", "1", wireplan.path, "measure", *QUICK, "-e", "2K"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, env={**os.environ, **mpi.ENVIRONMENT})
    assert done.returncode == 2 and "process 1 was started with other arguments" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("arguments,text", [
    (("--op", "all_redcue"), 'is no operation. Nearest: all_reduce'),
    (("-d", "fp32"), '"fp32" is no type'),
    (("--redop", "mean"), '"mean" is no reduction'),
    (("--group", "0,5"), "there is no rank 5 among 2"),
    (("--group", "0,0"), "rank 0 stands there twice"),
    (("--group", "1"), "one rank has nobody to talk to"),
    (("--group", "0,x"), '"x" is no rank'),
    (("--groups", "tp=3"), "does not cut 2 ranks into equal groups. Nearest: tp=2"),
    (("--groups", "xx=2"), "does not cut"),
    (("--root", "2"), "--root 2 is no rank of a group of 2"),
    (("-b", "1X"), '"1X" is no size'),
    (("-g", "0"), "0 not in range"),
    (("--backend", "smoke"), "smoke"),
    (("--cluster", "nowhere"), '"nowhere" is neither a node nor a file'),
    (("--timeout", "nan"), "nan"),
    (("-f", "1"), "-f"),
])
def test_bad_input_is_one_clear_error(wireplan, arguments, text):
    done = mpi.run(wireplan, 2, "measure", *QUICK, "-e", "1K", *arguments)
    assert done.returncode == 2, (done.returncode, done.out, done.err)
    said = [line for line in done.err.splitlines() if line.startswith("wireplan: ")]
    assert len(set(said)) == 1 and text in said[0], done.err
    assert len(said) == 1 or arguments[0] == "--cluster"  # files may differ between hosts, so each process says what it misses
    assert done.out == ""


def test_one_rank_alone_is_told_how_to_start_more(wireplan):
    done = wireplan("measure", *QUICK)
    assert done.returncode == 2 and "mpirun -n 2 wireplan measure --backend mpi" in done.err


def test_one_rank_s_own_refusal_is_heard(wireplan, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/c.json").write_text('"dgx-a100-80gb"')
    line = [mpi.launcher()]
    for name in ("a", "b"):
        line += [*([":"] if name == "b" else []), "-n", "1", "-wdir", str(tmp_path / name), wireplan.path, "measure", *QUICK, "-e", "1K", "--cluster", "c.json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, env={**os.environ, **mpi.ENVIRONMENT})
    assert done.returncode == 2 and "c.json" in done.stderr


@pytest.mark.parametrize("variables,text", [
    ({"RANK": "5", "WORLD_SIZE": "3"}, "RANK=5: of 3 processes the ranks are 0 to 2"),
    ({"RANK": "x", "WORLD_SIZE": "3"}, "RANK=x"),
    ({"RANK": "0", "WORLD_SIZE": "2000000000"}, "a run has 1 to 100000 processes"),
    ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "99999"}, "MASTER_PORT=99999: a port is 1 to 65535"),
])
def test_an_environment_that_no_launcher_sets(wireplan, variables, text):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI_", "SLURM_"))}
    done = wireplan("measure", env={**environment, **variables})
    assert done.returncode == 2 and text in done.err and done.err.count("\n") == 1


def test_more_memory_than_there_is_is_a_row_that_says_so(wireplan):
    run = measured(wireplan, 2, "-b", "1T", "-e", "1T", "-d", "double", "--place", "out")
    assert [r["status"] for r in run["rows"]] == ["skipped"]
    done = mpi.run(wireplan, 2, "measure", *QUICK, "-b", "1T", "-e", "1T", "-d", "double", "--place", "out")
    assert "are right" not in done.out


def test_a_rank_by_itself_is_no_curve(wireplan, tmp_path):
    file = tmp_path / "own.json"
    assert mpi.run(wireplan, 1, "measure", *QUICK, "--group", "0", "-e", "1K", "-o", str(file)).returncode == 0
    assert wireplan("import", str(file)).returncode == 0


# ------------------------------------------------------------------------------ validate
def test_what_was_measured_is_kept_as_it_comes(wireplan, tmp_path):
    out = tmp_path / "report"
    cluster = json.dumps({"node": "dgx-a100-80gb", "gpus_per_node": 4})  # there are two ranks, so nothing is missing but all is measured
    (tmp_path / "c.json").write_text(cluster)
    done = mpi.run(wireplan, 2, "validate", "--measure", *QUICK, "--op", "reduce", "-e", "1K", "--cluster", str(tmp_path / "c.json"), "--out", str(out))
    assert done.returncode in (0, 1), done.err
    assert json.loads((out / "run.json").read_text())["complete"] is True


def test_nothing_is_measured_where_nothing_is_missing(wireplan, tmp_path):
    file = tmp_path / "run.json"
    mpi.run(wireplan, 2, "measure", *QUICK, "-e", "4K", "-o", str(file))
    done = wireplan("validate", str(file), str(file), "--measure", "--op", "all_reduce", "--cluster", two_gpus(wireplan), "--json")  # no back-end is needed
    assert done.returncode in (0, 1), done.err
    assert len(json.loads(done.out)["rows"]) == 3 and len(json.loads(done.out)["fit"]) == 1  # the file that stands twice counts once


def predicted_from(wireplan, folder, profile):
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps({"node": two_gpus(wireplan), "profile": profile}))
    points = wireplan.json("collectives", str(cluster), "-b", "4K", "-e", "1M", "-f", "16")["curves"][0]["points"]
    assert [p["basis"] for p in points] == ["profile"] * 3
    return [p["time_s"]["value"] for p in points]


def test_validate_measures_what_the_files_lack(wireplan, tmp_path):
    out = tmp_path / "report"
    file = tmp_path / "run.json"
    mpi.run(wireplan, 2, "measure", *QUICK, "-b", "4K", "-e", "1M", "-f", "16", "-o", str(file))
    done = mpi.run(wireplan, 2, "validate", str(file), "--measure", *QUICK, "-b", "4K", "-e", "1M", "-f", "16", "--cluster", two_gpus(wireplan), "--tolerance", "100", "--out", str(out), "--json")
    assert done.returncode in (0, 1), done.err
    document = json.loads(done.out)
    assert {r["op"] for r in document["rows"]} == set(OPERATIONS)
    # On a busy machine a few short calls may take no longer for more bytes: then there is no line, and nothing is made up.
    assert all((fit["bytes_per_s"] or 0) > 0 if fit["residuals"] else fit["bytes_per_s"] is None for fit in document["fit"])
    assert any(fit["residuals"] for fit in document["fit"])
    assert sorted(p.name for p in out.iterdir()) == ["profile.json", "report.html", "report.json", "report.md", "run.json"]
    profile = json.loads((out / "profile.json").read_text())
    assert profile["schema"] == "wireplan.profile/1" and len(profile["collectives"]) == len(OPERATIONS)
    assert profile["software"]["backend"] == "mpi" and profile["date"]
    # The profile decides what is predicted from then on: nothing that was not measured, and no call faster than a smaller one.
    curve = next(c for c in profile["collectives"] if c["op"] == "all_reduce")
    measured = [t for _, t in curve["points"]]
    predicted = predicted_from(wireplan, tmp_path, profile)
    assert predicted == sorted(predicted)
    assert min(measured) * (1 - 1e-6) <= predicted[0] and predicted[-1] <= max(measured) * (1 + 1e-6)
    # Of a quiet machine it is what was measured, point by point.
    curve["points"] = [[4096, 10e-6], [65536, 30e-6], [1048576, 200e-6]]
    assert predicted_from(wireplan, tmp_path, profile) == pytest.approx([10e-6, 30e-6, 200e-6], rel=1e-6)
