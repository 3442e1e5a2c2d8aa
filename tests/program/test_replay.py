"""wireplan replay: a plan's step played over MPI, beside its prediction."""

import json
import os
import signal
import subprocess
import time

import pytest

import ranks

# A decoder small enough that its messages are 1 to 6 MB, on the rates of an A100 with so many tokens that a layer takes as long as they do at 300 Mbit/s.
MODEL = {
    "hidden_size": 384, "num_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 6, "head_dim": 64, "intermediate_size": 768, "mlp": "swiglu",
    "vocab_size": 2048, "tie_word_embeddings": False, "norm": "rmsnorm", "position": "rope", "qkv_bias": False, "mlp_bias": False,
}
PLAN = {
    "schema": "wireplan.plan/1",
    "model": MODEL,
    "training": {
        "sequence_length": 4096, "micro_batch_size": 32, "global_batch_size": 128, "parameter_dtype": "fp32", "gradient_dtype": "fp32", "master_weights_dtype": None,
        # A bucket for each matrix, so that they divide by the layers; no norm, whose few bytes no curve below covers.
        "details": {"bucket_bytes": 1000000, "gradient_clipping": False},
    },
    "parallel": {"framework": "pytorch", "data_sharding": "ddp"},
    "cluster": {"nodes": 4, "node": "dgx-a100-80gb", "gpus_per_node": 1, "network": "ethernet-1x0.3"},
}
QUICK = ["--set", "training.micro_batch_size=1", "--set", "training.global_batch_size=4", "--backend", "mpi", "--repeats", "2", "--tolerance", "100"]
MEGATRON = ["--set", "parallel.framework=megatron", "--set", "training.details=null", "--set", "training.parameter_dtype=bf16", "--set", "training.gradient_dtype=fp32", "--set", "training.master_weights_dtype=fp32"]


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN))
    return path


def check_document(document):
    assert list(document) == ["schema", "engine", "complete", "environment", "plan", "repeats", "step", "exposed", "slowest_rank", "collectives", "findings", "tolerance", "within", "verdict"]
    assert document["schema"] == "wireplan.replay/1"
    assert set(document["environment"]) == {"date", "backend", "hosts", "gpus", "driver", "nccl", "mpi", "launch", "variables"}
    for part in [document["step"], document["exposed"], *document["collectives"]]:
        spread = part["measured_s"]
        assert 0 <= spread["min"] <= spread["median"] <= spread["max"]
    step = document["step"]
    assert step["error"] == pytest.approx(step["predicted_s"] / step["measured_s"]["median"] - 1)
    assert document["within"] == (document["complete"] and abs(step["error"]) <= document["tolerance"])
    assert step["measured_s"]["min"] >= 0.99 * step["timed_s"]  # waits are no shorter than they must be
    assert document["verdict"].count(".") >= 1
    for finding in document["findings"]:
        assert list(finding) == ["rule", "text", "check"] and finding["text"]


@pytest.mark.parametrize(
    "layout",
    [
        [],
        ["--set", "parallel.data_sharding=fsdp", "--set", "training.global_batch_size=8"],
        ["--set", "parallel.framework=deepspeed", "--set", "parallel.data_sharding=zero3", "--set", "training.details=null"],
        [*MEGATRON, "--set", "parallel.data_sharding=zero1", "--set", "parallel.tensor=2", "--set", "parallel.data=2"],
        [*MEGATRON, "--set", "parallel.pipeline=2", "--set", "parallel.tensor=2", "--set", "parallel.data=1"],
        [*MEGATRON, "--set", "parallel.pipeline=4", "--set", "parallel.data=1"],
        [*MEGATRON, "--set", "parallel.pipeline=2", "--set", "parallel.data=2", "--set", "parallel.pipeline_schedule=interleaved", "--set", "parallel.virtual_stages=2"],
    ],
    ids=["ddp", "fsdp", "zero3", "tensor-and-zero1", "tensor-and-pipeline", "pipeline", "interleaved-and-data"],
)
def test_every_message_of_the_estimate_is_sent(wireplan, plan, layout):
    ranks.need_mpi(wireplan)
    done = ranks.run(wireplan, 4, "replay", plan, *QUICK, *layout, "--json")
    assert done.returncode == 0, done.err
    document = json.loads(done.out)
    check_document(document)
    assert document["complete"] and document["repeats"] == 2 and document["environment"]["launch"] == "mpirun, 4 processes"
    edits = [word for word in [*QUICK[:4], *layout]]
    expected = wireplan.json("estimate", str(plan), *edits)
    of = lambda rows: [(c["name"], c["collective"], c["dimension"], c["ranks"], c["bytes"], c["calls"]) for c in rows]
    assert of(document["collectives"]) == of(expected["communication"])
    assert document["step"]["predicted_s"] == expected["step"]["time_s"]["value"]
    assert document["exposed"]["estimate_s"] == pytest.approx(expected["step"]["exposed_communication_s"])
    assert document["plan"] == expected["plan"]
    for row in document["collectives"]:
        assert row["measured_s"]["min"] > 0, row  # every one was really called


def test_text_markdown_csv_and_file(wireplan, plan, tmp_path):
    ranks.need_mpi(wireplan)
    out = tmp_path / "replay.json"
    text = ranks.run(wireplan, 4, "replay", plan, *QUICK, "-o", out)
    assert text.returncode == 0, text.err
    document = json.loads(out.read_text())
    check_document(document)
    assert document["verdict"] == " ".join(text.out.split("\n\n")[0].split())
    assert "ddp-bucket" in text.out and "without a curve of this machine" in " ".join(text.out.split())
    markdown = ranks.run(wireplan, 4, "replay", plan, *QUICK, "--markdown")
    assert "| collective |" in markdown.out
    csv = ranks.run(wireplan, 4, "replay", plan, *QUICK, "--csv").out.splitlines()
    assert csv[0].startswith("what,collective,") and csv[1].startswith("step,") and len(csv) == 3 + len(document["collectives"])


def test_outside_the_tolerance_the_answer_is_no_and_names_the_message(wireplan, plan):
    ranks.need_mpi(wireplan)
    quick = [w if w != "100" else "0.01" for w in QUICK]
    done = ranks.run(wireplan, 4, "replay", plan, *quick, "--json")
    assert done.returncode == 1
    document = json.loads(done.out)
    assert not document["within"] and document["verdict"].startswith("Not as predicted")
    assert "ddp-bucket" in {f["rule"]: f for f in document["findings"]}["off"]["text"]


def test_refusals(wireplan, plan, tmp_path):
    ranks.need_mpi(wireplan)

    def refused(processes, *arguments):
        done = ranks.run(wireplan, processes, *arguments)
        assert done.returncode == 2, (done.returncode, done.out, done.err)
        return done.err

    err = refused(2, "replay", plan, *QUICK)
    assert "the plan has 4 GPUs, but 2 ranks were started" in err and "--set cluster.nodes=2" in err
    other = [*QUICK[:-3], "3", *QUICK[-2:]]
    assert "other arguments" in refused([([], ["replay", plan, *QUICK])] + 3 * [([], ["replay", plan, *other])])
    folders = []
    for name, batch in (("a", 128), ("b", 256)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "p.json").write_text(json.dumps({**PLAN, "training": {**PLAN["training"], "global_batch_size": batch}}))
        folders.append(["--wdir", str(folder)])
    arguments = ["replay", "p.json", "--backend", "mpi"]
    assert "process 3 read another plan" in refused(3 * [(folders[0], arguments)] + [(folders[1], arguments)])
    assert "standard input" in refused(2, "replay", "-", "--backend", "mpi")
    assert "parallel.data_shardin" in refused(4, "replay", plan, *QUICK, "--set", "parallel.data_shardin=fsdp")
    profile = tmp_path / "profile.json"
    profile.write_text('{"schema": "wireplan.profile/1", "collectives": 3}')
    assert "profile.json" in refused(4, "replay", plan, *QUICK, "--profile", profile)
    assert "longer than --timeout" in refused(4, "replay", plan, *QUICK, "--timeout", "0.01")
    assert "too many to play" in refused(4, "replay", plan, *QUICK, "--set", "training.global_batch_size=400000")


def test_without_its_back_end_it_cannot_run_here(wireplan, plan):
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("there is a GPU")
    done = wireplan("replay", str(plan))
    assert done.returncode == 77 and "--backend mpi plays it on host memory" in done.err


# A step of some seconds, so that there is time to hit it.
LONG = ["--set", "training.micro_batch_size=64", "--set", "training.global_batch_size=512", "--backend", "mpi", "--repeats", "3"]


@pytest.mark.parametrize("what", ["stopped", "killed"])
def test_a_rank_that_hangs_or_dies_ends_all(wireplan, plan, tmp_path, what):
    ranks.need_mpi(wireplan)
    out = tmp_path / "replay.json"
    process = ranks.start(wireplan, 4, "replay", plan, *LONG, "--timeout", "8", "--progress", "-o", out)
    try:
        seen = b""
        while b"repeat 1" not in seen:  # the first step is under way
            read = os.read(process.stderr.fileno(), 4096)
            assert read, seen
            seen += read
        victim = ranks.process_of_rank(process, 2)
        assert victim
        os.kill(victim, signal.SIGSTOP if what == "stopped" else signal.SIGKILL)
        start = time.monotonic()
        ranks.ended(process, timeout=60)
    finally:
        process.kill()
    assert process.returncode not in (0, 2, 77)
    assert time.monotonic() - start < 40
    if what == "killed":
        return
    assert "gave up: repeat" in process.err and "--timeout" in process.err
    document = json.loads(out.read_text())
    assert not document["complete"] and not document["within"]
    assert any(f["rule"] == "failed" and "gave up" in f["text"] for f in document["findings"])
