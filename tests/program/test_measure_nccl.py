"""wireplan measure with the NCCL back-end, on doubles of the driver, NCCL and cuBLASLt: nothing here is a measurement of anything."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest

from doubles import BANDWIDTH, BYTES, LATENCY, LIBRARIES, Team, free_port, leftovers, machine, model_s, torchrun
from program import ROOT, Program
from test_replay import MODEL

if not (LIBRARIES / "libnccl.so.2").exists():
    pytest.skip(f"the doubles are not built: {LIBRARIES}", allow_module_level=True)

OPS = "all_reduce all_gather reduce_scatter broadcast reduce all_to_all send_recv scatter gather".split()
BUS = dict(
    all_reduce=lambda n: 2 * (n - 1) / n, all_gather=lambda n: (n - 1) / n, reduce_scatter=lambda n: (n - 1) / n, broadcast=lambda n: 1, reduce=lambda n: 1,
    all_to_all=lambda n: (n - 1) / n, send_recv=lambda n: 1, scatter=lambda n: (n - 1) / n, gather=lambda n: (n - 1) / n,
)
SMALL = ("-b", "4K", "-e", "16K", "--place", "out", "-n", "5", "-w", "1")  # three sizes; 8 calls each: lead, warm-up; lead, 5; check = 9


def rows_of(wireplan, *arguments, **settings):
    return wireplan.json("measure", *arguments, env=machine(**settings))["rows"]


def is_close(a, b):
    return a == pytest.approx(b, rel=1e-4, abs=2e-9)  # events tell milliseconds in 24 bits


# --- results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", BYTES)
def test_all_operations_of_a_type_are_right(wireplan, dtype):
    gpus = 2 if dtype == "f8e5m2" else 4  # its sums are exact up to 8
    rows = rows_of(wireplan, "--op", "all", "-d", dtype, "-b", "3000", "-e", "3000", "-n", "2", "-w", "1", gpus=gpus)
    assert [(r["op"], r["in_place"]) for r in rows] == [(op, p) for op in OPS for p in ((False,) if op in ("all_to_all", "send_recv") else (False, True))]
    assert all(r["status"] == "ok" and r["wrong"] == 0 and r["dtype"] == dtype for r in rows)


@pytest.mark.parametrize("redop", ["sum", "prod", "min", "max", "avg"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "half", "bfloat16", "float", "f8e4m3"])
def test_all_reductions_are_right(wireplan, redop, dtype):
    for op in ("all_reduce", "reduce", "reduce_scatter"):
        for row in rows_of(wireplan, "--op", op, "--redop", redop, "-d", dtype, "-b", "1000", "-e", "1000", "-n", "1", "-w", "0", gpus=4):
            assert (row["status"], row["wrong"], row["redop"]) == ("ok", 0, redop)


@pytest.mark.parametrize("root", [0, 2])
def test_roots_are_right(wireplan, root):
    for op in ("broadcast", "reduce", "scatter", "gather"):
        for row in rows_of(wireplan, "--op", op, "-r", str(root), "-b", "1200", "-e", "1200", "-n", "1", gpus=3):
            assert (row["status"], row["wrong"], row["root"]) == ("ok", 0, root)


def test_one_rank_by_itself(wireplan):
    rows = rows_of(wireplan, "--group", "0", "--op", "all", "-b", "4K", "-e", "4K", "-n", "2", gpus=1)
    assert len(rows) == 16 and all(r["status"] == "ok" and r["wrong"] == 0 and r["ranks"] == [0] and r["predicted_s"] is None for r in rows)
    assert "--group 0" in wireplan.errors("measure", env=machine(gpus=1))[0]["text"]


# --- times --------------------------------------------------------------------------------------------------


def test_times_and_bus_bandwidth_are_the_model_s(wireplan):
    slow = lambda a, b: 2.5e9 if {a, b} == {1, 2} else BANDWIDTH
    for row in rows_of(wireplan, "--op", "all", "-b", "1K", "-e", "64K", "-f", "8", "-n", "3", gpus=4, link="1-2:2.5e9"):
        expected = model_s(row["op"], row["size_bytes"], [0, 1, 2, 3], slow)
        for quantile in ("min", "median", "p95"):
            assert is_close(row["time_s"][quantile], expected), (row, expected)
        assert row["bus_bandwidth_bytes_per_s"] == pytest.approx(row["size_bytes"] / expected * BUS[row["op"]](4), rel=1e-3)


def test_a_graph_and_registered_buffers_take_the_same_time(wireplan, tmp_path):
    plain, report = None, tmp_path / "left"
    for flags in ((), ("-G",), ("-R",), ("-G", "-R")):
        rows = rows_of(wireplan, "--op", "all", "-b", "4K", "-e", "4K", "-n", "70", *flags, gpus=2, report=report)
        times = [(r["op"], r["in_place"], r["wrong"], r["time_s"]["median"]) for r in rows]
        plain = plain or times
        assert [t[:3] for t in times] == [t[:3] for t in plain] and all(is_close(a[3], b[3]) for a, b in zip(times, plain))
    assert len(leftovers(report)) == 4 and not any(any(left.values()) for left in leftovers(report))


def test_groups_in_their_own_order(wireplan):
    link = "0-1:1e9,1-2:2e9,2-3:4e9"
    rates = {(0, 1): 1e9, (1, 2): 2e9, (2, 3): 4e9}
    rate = lambda a, b: rates.get((min(a, b), max(a, b)), BANDWIDTH)
    for how, groups in (("--group=3,1,0", [[3, 1, 0]]), ("--group=2,3", [[2, 3]]), ("--groups=tp=2", [[0, 1], [2, 3]]), ("--groups=dp=2", [[0, 2], [1, 3]])):
        rows = rows_of(wireplan, how, "--op", "all", "-b", "12000", "-e", "12000", "-n", "2", gpus=4, link=link)
        assert {tuple(r["ranks"]) for r in rows} == {tuple(g) for g in groups}
        for row in rows:
            assert row["wrong"] == 0 and is_close(row["time_s"]["median"], model_s(row["op"], row["size_bytes"], row["ranks"], rate)), row


def test_a_slow_pair_is_named(wireplan):
    done = wireplan("measure", "--pairs", "-b", "1M", "-e", "1M", "-n", "2", "-w", "0", env=machine(gpus=4, link="1-3:2e9"))
    assert done.returncode == 1 and "slow pair: send_recv of ranks 1 and 3" in done.err
    done = wireplan("measure", "--pairs", "-b", "1M", "-e", "1M", "-n", "2", "-w", "0", env=machine(gpus=4))
    assert done.returncode == 0 and "slow" not in done.err


def test_pairs_are_judged_by_what_each_operation_should_reach(wireplan):
    arguments = ("measure", "--pairs", "--op", "all", "-b", "64M", "-e", "64M", "-n", "2", "-w", "0", "--place", "out", "-c", "0")
    done = wireplan(*arguments, "--cluster", "dgx-a100-80gb", env=machine(gpus=2, bandwidth="2.4e11", latency="1e-6"))
    assert done.returncode == 0 and "slow" not in done.err, done.err
    done = wireplan(*arguments, "--cluster", "dgx-a100-80gb", env=machine(gpus=2, bandwidth="8e10", latency="1e-6"))
    assert done.returncode == 1 and done.err.count("slow pair: ") >= 5, done.err


def test_a_pair_that_was_not_measured_is_no_good_pair(wireplan):
    done = wireplan("measure", "--pairs", "-b", "1M", "-e", "1M", "-n", "2", "-w", "0", env=machine(gpus=3, memory=1e5))
    assert done.returncode == 1 and done.err.count("was not measured") == 3 and "are right" not in done.out
    done = wireplan("measure", "--pairs", "--place", "in", "--op", "all_reduce", "-b", "1M", "-e", "1M", "-n", "2", "-w", "0", env=machine(gpus=4, link="0-1:1e9"))
    assert done.returncode == 1 and "all_reduce of ranks 0 and 1" in done.err


def test_validate_names_wrong_results_when_nothing_else_is_left(wireplan):
    done = wireplan("validate", "--measure", "--op", "all_reduce", "-b", "1M", "-e", "1M", "-n", "2", "-w", "0", "--cluster", "-", text=json.dumps({"node": "dgx-a100-80gb", "gpus_per_node": 2}), env=machine(gpus=2, wrong="1@0"))
    assert done.returncode == 1 and "elements were wrong" in done.err, (done.returncode, done.err)


def test_a_caller_that_says_nothing_keeps_nobody_waiting(wireplan, tmp_path):
    port = free_port()
    env = machine(gpus=2, dir=tmp_path)
    arguments = ("measure", "-b", "1K", "-e", "1K", "-n", "2", "-w", "0", "--timeout", "20", "--json")
    first = subprocess.Popen([wireplan.path, *arguments], env=env | torchrun(0, 2, port), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    idle = None
    try:
        for _ in range(100):
            try:
                idle = socket.create_connection(("127.0.0.1", port), timeout=1)
                break
            except OSError:
                time.sleep(0.05)
        second = subprocess.run([wireplan.path, *arguments], env=env | torchrun(1, 2, port), capture_output=True, timeout=60)
        out, err = first.communicate(timeout=60)
    finally:
        first.kill()
    assert (first.returncode, second.returncode) == (0, 0), (err, second.stderr)


def test_the_tolerance_holds_without_a_prediction(wireplan):
    arguments = ("measure", "--pairs", "-b", "8M", "-e", "8M", "-n", "2", "-w", "0", "-c", "0")
    env = machine(gpus=3, link="0-2:8.5e9")
    assert wireplan(*arguments, env=env).returncode == 0
    assert wireplan(*arguments, "--tolerance", "0.05", env=env).returncode == 1


PLAN = {
    "schema": "wireplan.plan/1", "model": MODEL, "training": {"sequence_length": 1024, "micro_batch_size": 1, "global_batch_size": 4},
    "parallel": {"framework": "pytorch", "data_sharding": "fsdp"}, "cluster": {"node": "dgx-a100-80gb", "nodes": 1, "gpus_per_node": 4},
}


def replayed(wireplan, folder, processes, multiplies):
    plan, libraries = folder / "plan.json", folder / "lib"
    libraries.mkdir(parents=True)
    plan.write_text(json.dumps(PLAN))
    for name in ("libcuda.so.1", "libnccl.so.2") + (("libcublasLt.so.13",) if multiplies else ()):
        (libraries / name).symlink_to(LIBRARIES / name)
    if not multiplies:
        for version in (11, 12, 13):  # a machine may have its own
            (libraries / f"libcublasLt.so.{version}").write_bytes(b"no library")
    arguments = (str(plan), "--repeats", "2", "--tolerance", "100", "--json")
    if processes == 1:
        done = wireplan("replay", *arguments, env=machine(gpus=4) | {"LD_LIBRARY_PATH": str(libraries)})
    else:
        done = Team(4, machine(gpus=4, dir=folder) | {"LD_LIBRARY_PATH": str(libraries)}, *arguments, command="replay").done[0]
    assert done.returncode == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("processes", [1, 4])
def test_a_step_is_replayed(wireplan, tmp_path, processes):
    multiplied, waited = (replayed(wireplan, tmp_path / str(multiplies), processes, multiplies) for multiplies in (True, False))
    expected = wireplan.json("estimate", str(tmp_path / "True/plan.json"))["communication"]
    for document in (multiplied, waited):
        assert document["complete"] and document["step"]["measured_s"]["min"] > 0
        assert [(row["name"], row["calls"]) for row in document["collectives"]] == [(row["name"], row["calls"]) for row in expected]
    # Products take the double's time; without cuBLASLt all compute is a wait of the predicted time, and is said to be one.
    assert waited["step"]["timed_s"] > multiplied["step"]["timed_s"] * 1.05


def test_a_schedule_is_played(tmp_path):
    module = os.path.join(os.path.dirname(Program.path), "wireplan_nccl.so")
    report = tmp_path / "left"
    done = subprocess.run([LIBRARIES / "play", module], env=machine(gpus=4, report=report), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
    assert len(lines) == 8 and lines[:4] == lines[4:]  # played twice
    products = 2 * (256 * 512 * 1024 + 128**3) / 1e14
    size = 2 * 65536
    for rank, times in enumerate(lines[:4]):
        jobs = list(zip(times[::2], times[1::2]))
        all_reduce = 1e-3 + model_s("all_reduce", size, [0, 1, 2, 3])
        expected = [(0, 1e-3), (1e-3, 1e-3 + products), (1e-3, all_reduce), (0, 0), (0, 0), (all_reduce, all_reduce + 2e-3)]
        if rank < 2:
            expected[3] = (all_reduce, all_reduce + model_s("all_reduce", size, [0, 1]))
        else:
            expected[4] = (all_reduce, all_reduce + model_s("send_recv", size, [2, 3]))
        for got, wanted in zip(jobs, expected):
            assert is_close(got[0], wanted[0]) and is_close(got[1], wanted[1]), (rank, jobs, expected)
    assert not any(leftovers(report)[0].values())


def test_the_document_says_where_it_was_measured(wireplan):
    document = wireplan.json("measure", "-b", "4K", "-e", "4K", "-n", "2", env=machine(gpus=3, nccl=22703, driver=12040) | {"NCCL_ALGO": "Ring"})
    environment = document["environment"]
    assert document["complete"] and environment["backend"] == "nccl" and environment["nccl"] == "2.27.3" and "CUDA 12.4" in environment["driver"]
    assert environment["gpus"] == ["Double GPU"] * 3 and environment["hosts"] == [socket.gethostname()] * 3
    assert environment["launch"] == "one process" and environment["variables"]["NCCL_ALGO"] == "Ring" and environment["mpi"] is None


# --- what cannot run here -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, words",
    [(dict(nccl=21703), ("2.17.3", "2.18.0", "ncclCommSplit")), (dict(nccl=2708), ("2.7.8", "2.18.0")), (dict(gpus=0), ("cuInit", "no CUDA-capable device is detected", "CUDA_ERROR_NO_DEVICE"))],
)
def test_what_is_missing_is_said_in_one_sentence(wireplan, settings, words):
    done = wireplan("measure", env=machine(**settings))
    assert done.returncode == 77 and done.out == "" and done.err.count("\n") == 1
    assert all(word in done.err for word in words) and "--backend mpi" in done.err


def test_a_library_that_cannot_be_loaded(wireplan, tmp_path):
    os.symlink(LIBRARIES / "libcuda.so.1", tmp_path / "libcuda.so.1")
    (tmp_path / "libnccl.so.2").write_text("no library")
    done = wireplan("measure", env=machine(gpus=2) | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 77 and "no NCCL here" in done.err and "libnccl.so.2: file too short" in done.err
    (tmp_path / "libcuda.so.1").unlink()
    (tmp_path / "libcuda.so.1").write_text("no library")
    done = wireplan("measure", env=machine() | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 77 and "no NVIDIA driver here" in done.err and "libcuda.so.1: file too short" in done.err


def test_fp8_needs_a_new_nccl(wireplan):
    rows = rows_of(wireplan, "-d", "f8e4m3", "-b", "1K", "-e", "2K", gpus=2, nccl=22304)
    assert {r["status"] for r in rows} == {"skipped"} and all("2.23.4" in r["message"] and "2.24" in r["message"] for r in rows)


def test_more_gpus_than_there_are(wireplan):
    (error,) = wireplan.errors("measure", "-g", "8", env=machine(gpus=4))
    assert "should drive 8 GPUs" in error["text"] and "the driver shows 4" in error["text"]
    assert len(rows_of(wireplan, "-g", "3", "-b", "1K", "-e", "1K", gpus=4)[0]["ranks"]) == 3


# --- faults, in one process and in four ---------------------------------------------------------------------

FAULTS = {
    "error": ("2@13", "rank 2: all_reduce of 8192 bytes: ncclAllReduce: unhandled system error", "the double has no more sockets"),
    "async": ("3@13", "rank 3: all_reduce of 8192 bytes: ncclCommGetAsyncError: remote process exited", "socket closed by the peer of the double"),
    "gone": ("2@13", "rank 2: all_reduce of 8192 bytes: ", "unspecified launch failure"),
    "hang": ("1@13", "(rank 0) gave up: all_reduce of 8 KiB has not returned after 1 s (--timeout)", ""),
    "init_error": ("1", "rank 1: making communicators: ncclCommInitRankConfig: unhandled system error", "the double cannot listen"),
    "init_hang": ("2", "(rank 0) gave up: making communicators has not returned after 1 s", ""),
}


@pytest.mark.parametrize("processes", [1, 4])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_run_and_keeps_its_rows(tmp_path, fault, processes):
    value, *words = FAULTS[fault]
    output, report = tmp_path / "run.json", tmp_path / "left"
    env = machine(gpus=4, dir=tmp_path, report=report, **{fault: value})
    team = Team(processes, env, *SMALL, "--timeout", "1", "-o", output)
    assert team.statuses == [1] * processes, [d.err for d in team.done]
    document = json.loads(output.read_text())
    *kept, failed = document["rows"]
    assert document["complete"] is False and [r["status"] for r in kept] == ([] if fault.startswith("init") else ["ok"])
    assert failed["status"] == "failed" and failed["time_s"] is None
    for word in words:
        assert word in failed["message"] and word in team.done[0].err
    if "hang" not in fault:  # who is given up on frees nothing
        assert len(leftovers(report)) == processes
        for left in leftovers(report):
            left["bytes"] = left["allocations"] = 0 if fault == "gone" else left["allocations"]
            assert not any(left.values()), left


def test_a_library_that_does_not_come_back_holds_nobody_up(tmp_path):
    output = tmp_path / "run.json"
    team = Team(2, machine(gpus=2, dir=tmp_path, error="1@13", stuck="1"), *SMALL, "-o", output, timeout=30)
    assert team.statuses == [1, 1] and "the double has no more sockets" in json.loads(output.read_text())["rows"][-1]["message"]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_size_that_does_not_fit_is_skipped(tmp_path, processes):
    team = Team(processes, machine(gpus=2, dir=tmp_path, memory=45000), "-b", "8K", "-e", "32K", "-n", "2", "--op", "all_gather", "--json")
    rows = team.json()["rows"]
    assert [(r["size_bytes"], r["in_place"], r["status"]) for r in rows] == [(s, p, "skipped" if s == 32768 and not p else "ok") for s in (8192, 16384, 32768) for p in (False, True)]
    (skipped,) = [r for r in rows if r["status"] == "skipped"]
    assert "a buffer of 32768 bytes does not fit" in skipped["message"] and "bytes of Double GPU are free" in skipped["message"]


@pytest.mark.parametrize("processes", [1, 4])
def test_wrong_results_are_counted(tmp_path, processes):
    output = tmp_path / "run.json"
    team = Team(processes, machine(gpus=4, dir=tmp_path, wrong="1@13"), *SMALL, "-o", output)
    assert team.statuses == [1] * processes
    document = json.loads(output.read_text())
    assert document["complete"] is True and [r["wrong"] for r in document["rows"]] == [0, 1, 1] and "2 elements were WRONG" in team.done[0].out


@pytest.mark.parametrize("op", OPS)
def test_a_wrong_element_is_seen_in_every_operation(wireplan, op):
    rank = 0 if op in ("reduce", "gather") else 1
    for row in json.loads(wireplan("measure", "--op", op, "-b", "4K", "-e", "4K", "-n", "1", "-c", "1", "--json", env=machine(gpus=4, wrong=f"{rank}@0")).out)["rows"]:
        assert row["wrong"] >= 1, row


@pytest.mark.parametrize("killed", [0, 2])
def test_a_killed_process_is_named_by_the_others(tmp_path, killed):
    output = tmp_path / "run.json"
    team = Team(4, machine(gpus=4, dir=tmp_path, kill=f"{killed}@13"), *SMALL, "--timeout", "20", "-o", output)
    assert team.statuses == [-signal.SIGKILL if r == killed else 1 for r in range(4)]
    document = json.loads(output.read_text())
    assert document["complete"] is False and document["rows"][0]["status"] == "ok"
    if killed:
        failed = document["rows"][-1]
        assert failed["status"] == "failed" and f"process {killed} has gone" in failed["message"] and f"process {killed} has gone" in team.done[0].err


# --- processes that meet ------------------------------------------------------------------------------------


def srun(rank, processes, port):
    return {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(processes), "SLURM_LOCALID": str(rank), "SLURM_NTASKS_PER_NODE": str(processes), "SLURM_JOB_ID": str(port), "SLURM_STEP_ID": "0", "SLURM_JOB_NODELIST": "localhost"}


def agent(rank, processes, port):  # torchrun with its own store on MASTER_PORT
    return torchrun(rank, processes, port) | {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RUN_ID": "x"}


@pytest.mark.parametrize("launch, by", [(torchrun, "torchrun"), (srun, "srun")])
@pytest.mark.parametrize("processes", [2, 3, 4])
def test_launchers(tmp_path, launch, by, processes):
    report = tmp_path / "left"
    document = Team(processes, machine(gpus=4, dir=tmp_path, report=report), "--op", "all", "-b", "6000", "-e", "6000", "-n", "3", "--json", launch=launch).json()
    assert document["environment"]["launch"] == f"{by}, {processes} processes" and len(document["environment"]["gpus"]) == processes
    for row in document["rows"]:
        assert row["wrong"] == 0 and is_close(row["time_s"]["median"], model_s(row["op"], row["size_bytes"], list(range(processes))))
    assert len(leftovers(report)) == processes and not any(any(left.values()) for left in leftovers(report))


def test_torchrun_s_own_store_keeps_its_port(tmp_path):
    with socket.socket() as store:
        store.bind(("127.0.0.1", 0))
        store.listen()
        team = Team(2, machine(gpus=2, dir=tmp_path), "-b", "1K", "-e", "1K", launch=agent, port=store.getsockname()[1])
    assert team.statuses == [0, 0], [d.err for d in team.done]


def test_several_gpus_in_each_of_several_processes(tmp_path):
    document = Team(2, machine(gpus=4, dir=tmp_path, link="1-2:1e9"), "-g", "2", "--op", "all", "-b", "8000", "-e", "8000", "-n", "2", "--json").json()
    rate = lambda a, b: 1e9 if {a, b} == {1, 2} else BANDWIDTH
    assert {tuple(r["ranks"]) for r in document["rows"]} == {(0, 1, 2, 3)}
    for row in document["rows"]:
        assert row["wrong"] == 0 and is_close(row["time_s"]["median"], model_s(row["op"], row["size_bytes"], [0, 1, 2, 3], rate)), row


def test_processes_that_see_one_gpu_each_and_the_same(tmp_path):
    team = Team(2, machine(gpus=1, dir=tmp_path), "-b", "1K", "-e", "1K")
    assert team.statuses == [2, 2] and "ranks 0 and 1 have the same GPU" in team.done[0].err


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun here")
def test_mpirun(tmp_path):
    env = machine(gpus=3, dir=tmp_path) | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["mpirun", "--oversubscribe", "-np", "3", Program.path, "measure", "--op", "all", "-b", "6K", "-e", "6K", "--json"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["environment"]["launch"] == "mpirun, 3 processes" and all(r["wrong"] == 0 and r["ranks"] == [0, 1, 2] for r in document["rows"])


def test_mpirun_over_several_hosts_needs_an_address(wireplan):
    env = machine(gpus=2) | {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    (error,) = wireplan.errors("measure", env=env)
    assert "mpirun does not say on which host process 0 runs: set MASTER_ADDR" in error["text"]


def test_a_port_in_use_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        team = Team(2, machine(gpus=2, dir=tmp_path), "--timeout", "2", port=port)
    assert team.statuses == [2, 2] and f"port {port} of 127.0.0.1 is in use" in team.done[0].err and "MASTER_PORT" in team.done[0].err
    assert f"process 1 of 2 could not reach process 0 at 127.0.0.1:{port}" in team.done[1].err


def test_who_does_not_come_is_named(wireplan):
    port = free_port()
    done = wireplan("measure", "--timeout", "1", env=machine(gpus=3) | torchrun(0, 3, port))
    assert done.returncode == 2 and f"process 0 waited on 127.0.0.1:{port}" in done.err and "did not come in time: 1, 2" in done.err
    done = wireplan("measure", "--timeout", "1", env=machine(gpus=3) | torchrun(1, 3, port))
    assert done.returncode == 2 and "Connection refused" in done.err
    done = wireplan("measure", "--timeout", "1", env=machine(gpus=3) | torchrun(1, 3, port) | {"MASTER_ADDR": "nowhere.invalid"})
    assert done.returncode == 2 and "nowhere.invalid is not known here" in done.err
    done = wireplan("measure", "--timeout", "1", env=machine(gpus=3) | torchrun(0, 3, port) | {"MASTER_ADDR": "192.0.2.1"})
    assert done.returncode == 2 and "process 0 is not on the host of the master address 192.0.2.1" in done.err


def test_strangers_and_other_runs_are_sent_away(tmp_path):
    port = free_port()
    env = machine(gpus=2, dir=tmp_path)
    arguments = [Program.path, "measure", "-b", "1K", "-e", "1K", "--timeout", "20"]
    start = lambda rank, more={}: subprocess.Popen(arguments, env=env | torchrun(rank, 2, port) | more, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = start(0)
    for bytes_sent in (b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff\x01", b"\x05\x00\x00\x00\x01hello"):
        for _ in range(100):
            try:
                stranger = socket.create_connection(("127.0.0.1", port), timeout=5)
                break
            except OSError:
                signal.sigtimedwait([], 0.05)
        stranger.settimeout(5)
        try:  # it may be sent away before it has spoken
            stranger.sendall(bytes_sent)
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(100) == b""
        except OSError as error:
            assert not isinstance(error, TimeoutError), "a stranger was kept waiting"
        stranger.close()
    other = start(1, {"WIREPLAN_TOKEN": "of another run"})
    second = start(1)
    for p in (first, second):
        out, err = p.communicate(timeout=30)
        assert p.returncode == 0, err
    other.kill()
    other.communicate()


def test_different_arguments_are_refused(tmp_path):
    team = Team(3, machine(gpus=3, dir=tmp_path), "-b", "1K", each=lambda r: ("-e", "2K" if r == 1 else "1K"))
    assert team.statuses == [2, 2, 2] and "process 1 was started with other arguments" in team.done[0].err


# --- what is left over --------------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_is_left_over_after_a_thousand_calls(tmp_path, processes):
    report = tmp_path / "left"
    for arguments in (("-b", "1K", "-e", "4K", "-n", "1000"), ("-G", "-b", "1K", "-e", "1K", "-n", "1000"), ("--pairs", "--op", "all", "-b", "64", "-e", "4K", "-R", "-n", "2")):
        assert set(Team(processes, machine(gpus=4, dir=tmp_path, report=report), "-g", str(4 // processes), *arguments).statuses) == {0}
    lines = leftovers(report)
    assert len(lines) == 3 * processes and not any(any(left.values()) for left in lines)


def test_what_a_gpu_is_asked_for_is_rehearsed(tmp_path):
    """tests/gpu/run itself, with a nvidia-smi that says what it must; on a device it has its own say."""
    (tmp_path / "nvidia-smi").write_text('#!/bin/sh\ncase "$1" in -L) echo "GPU 0: Double GPU (UUID: x)"; echo "GPU 1: Double GPU (UUID: y)" ;; *) echo 1024 ;; esac\n')
    (tmp_path / "nvidia-smi").chmod(0o755)
    here = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "WIREPLAN_PROGRAM": Program.path, "GPU_TEST_SIZE": "64K", "GPU_TEST_CALLS": "2"}
    done = subprocess.run([ROOT / "tests/gpu/run", tmp_path / "out"], env=machine(gpus=2, dir=tmp_path) | here, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all as it must be" in done.stdout and json.loads((tmp_path / "out/memory.json").read_text())["left_bytes"] == 0
    done = subprocess.run([ROOT / "tests/gpu/run", tmp_path / "out"], env=machine(gpus=2, dir=tmp_path, error="0@0") | here, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "FAILED: the smallest run ended with 1" in done.stdout
    done = subprocess.run([ROOT / "tests/gpu/run", tmp_path / "out"], env=machine(nccl=21703) | here, capture_output=True, text=True, timeout=60)
    assert done.returncode == 77 and "NCCL 2.17.3 is too old" in done.stdout


def test_the_doubles_stay_among_the_tests():
    for folder in ("core", "native", "web", "tools", "assets"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                assert b"WIREPLAN_DOUBLE" not in path.read_bytes(), path
