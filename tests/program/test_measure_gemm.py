"""wireplan measure gemm, on the double of the CUDA driver and cuBLASLt: rates are its model's, nothing is measured."""

import json

import pytest

from doubles import machine

FLOPS, MEMORY = 2e14, 3e12


def profile(wireplan, *arguments, status=0, **settings):
    done = wireplan("measure", "gemm", "-n", "3", *arguments, "--json", env=machine(flops=FLOPS, memory_rate=MEMORY, **settings))
    assert done.returncode == status, done.err
    return json.loads(done.out)


def test_rates_are_those_of_the_machine(wireplan):
    found = profile(wireplan, "--shapes", "4096x4096x4096,2048x14336x4096", gpus=2)
    assert found["schema"] == "wireplan.profile/1"
    assert [(g["dtype"], g["m"], g["n"], g["k"]) for g in found["gemm"]] == [("bf16", 4096, 4096, 4096), ("bf16", 2048, 14336, 4096)]
    assert [g["flops_per_s"] for g in found["gemm"]] == pytest.approx([FLOPS] * 2, rel=1e-3)
    assert found["hbm_bytes_per_s"] == pytest.approx(MEMORY, rel=1e-3)
    assert found["collectives"] == [] and found["date"]


def test_the_table_says_the_same(wireplan):
    done = wireplan("measure", "gemm", "-n", "3", "--shapes", "8192x8192x8192", env=machine(flops=FLOPS, memory_rate=MEMORY))
    assert done.returncode == 0 and "200 TFLOP/s" in done.out and "3000 GB/s" in done.out.replace("3,000", "3000").replace("3.00 TB/s", "3000 GB/s")


def test_a_profile_keeps_its_collectives(wireplan, tmp_path):
    file = tmp_path / "profile.json"
    curve = {"op": "all_reduce", "ranks": 2, "nodes": 1, "gpus": None, "dtype": None, "launch": None, "points": [[1024, 1e-5], [2048, 2e-5]]}
    file.write_text(json.dumps({"schema": "wireplan.profile/1", "machine": "mine", "collectives": [curve], "gemm": [{"dtype": "bf16", "m": 1, "n": 1, "k": 1, "flops_per_s": 1.0}]}))
    profile(wireplan, "--shapes", "512x512x512", "-o", str(file))
    found = json.loads(file.read_text())
    assert found["machine"] == "mine" and [c["points"] for c in found["collectives"]] == [curve["points"]]
    assert [g["m"] for g in found["gemm"]] == [512] and found["hbm_bytes_per_s"] > 0
    file.write_text('{"schema": "wireplan.profile/1", "collectives": 3}')
    assert "collectives" in wireplan.errors("measure", "gemm", "-o", str(file), env=machine())[0]["text"]
    assert file.read_text() == '{"schema": "wireplan.profile/1", "collectives": 3}'


def test_too_large_for_the_memory_is_left_out(wireplan):
    done = wireplan("measure", "gemm", "-n", "2", "--shapes", "512x512x512,32768x32768x512", "--json", env=machine(memory=7e8))
    assert done.returncode == 1 and "32768 x 32768 x 512" in done.err and "does not fit" in done.err
    assert [g["m"] for g in json.loads(done.out)["gemm"]] == [512]


@pytest.mark.parametrize("shapes", ["512", "512x512", "0x1x1", "1x1x65537", "512x512x512,", "axbxc", "512x512x512x2", "1X1X1"])
def test_shapes_that_are_none(wireplan, shapes):
    (error,) = wireplan.errors("measure", "gemm", "--shapes", shapes, env=machine())
    assert error["path"] == "--shapes" and "4096x4096x4096" in error["text"]


def test_without_a_gpu_or_in_many_processes(wireplan):
    done = wireplan("measure", "gemm", env=machine(gpus=0))
    assert done.returncode == 77 and done.err.count("\n") == 1
    (error,) = wireplan.errors("measure", "gemm", env=machine() | {"RANK": "0", "WORLD_SIZE": "2"})
    assert "started once on a host" in error["text"]
