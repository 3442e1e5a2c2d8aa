"""Plans out as trainers' configurations, and such configurations in."""

import json
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests/data/trainers/import"
TRAINERS = ["torchtitan", "accelerate", "training-arguments"]


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_plan_goes_out_and_comes_back(wireplan, tmp_path, trainer):
    done = wireplan("export", "llama-3-8b-fsdp", "--to", trainer, "-o", f"{tmp_path}/")
    assert done.returncode == 0 and "written: " in done.err
    (first, *_) = sorted(tmp_path.iterdir(), key=lambda path: path.suffix in (".py", ".sh"))  # the configuration before what starts it
    back = wireplan("import", str(first), "--onto", "llama-3-8b-fsdp", "--json")
    assert back.returncode == 0, back.err
    plan = json.loads(back.out)
    assert plan["parallel"]["data_sharding"] == "fsdp" and plan["training"]["global_batch_size"] == 64 or trainer == "accelerate"
    (tmp_path / "plan.json").write_text(back.out)
    assert wireplan("estimate", str(tmp_path / "plan.json"), "--json").returncode == 0


def test_the_toml_is_toml_and_what_it_cannot_say_is_said(wireplan):
    done = wireplan("export", "llama-3-8b-fsdp", "--set", "training.optimizer=lion")
    assert done.returncode == 0
    config = tomllib.loads(done.out)
    assert config["parallelism"]["data_parallel_shard_degree"] == 8 and config["optimizer"]["name"] == "AdamW"
    assert 'not in the files: training.optimizer = "lion"' in done.err
    document = json.loads(wireplan("export", "llama-3-8b-fsdp", "--set", "training.optimizer=lion", "--json").out)
    assert document["schema"] == "wireplan.export/1" and document["files"][0]["text"] == done.out
    assert [i["path"] for i in document["inexpressible"]] == ["training.optimizer"] == [d["path"] for d in document["round_trip"]]


def test_a_trainer_that_cannot_says_which_can(wireplan):
    (error,) = wireplan.errors("export", "story", "--to", "deepspeed")
    assert error["path"] == "--to" and "Nearest: --to accelerate" in error["text"]
    (error,) = wireplan.errors("export", "story", "--to", "keras")
    assert "torchtitan" in error["text"]


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_a_published_configuration_says_what_it_gave(wireplan, sample):
    done = wireplan("import", str(SAMPLES / sample))
    assert done.returncode == 0 and not done.err
    assert "   from " in done.out and "Still to be stated" in done.out
    parts = wireplan("import", str(SAMPLES / sample), "--json")
    assert parts.returncode == 0 and json.loads(parts.out)["schema"] == "wireplan.plan/1"


def test_several_files_want_a_folder(wireplan, tmp_path):
    done = wireplan("export", "story", "--to", "training-arguments", "-o", str(tmp_path / "one.yaml"))
    assert done.returncode == 2 and "no folder" in done.err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text,path,limit",
    [
        ("[parallelism]\ntensor_parallel_degree = 0\n[training]\nseq_len = 1", "parallelism.tensor_parallel_degree", "from 1"),
        ('{"zero_optimization": {"stage": 5}}', "zero_optimization.stage", "0 to 3"),
        ("distributed_type: FSDP\nmixed_precision: int4\nnum_processes: 1", "mixed_precision", "bf16"),
        ("per_device_train_batch_size: many\nlearning_rate: 1", "per_device_train_batch_size", "whole number"),
        ("[training]\nseq_len = ", "", "TOML"),
    ],
)
def test_bad_values_name_key_value_and_limit(wireplan, tmp_path, text, path, limit):
    (tmp_path / "config").write_text(text)
    (error,) = wireplan.errors("import", str(tmp_path / "config"))
    assert error["path"] == path and limit in error["limit"] and error["text"]
