"""Gives the files of tests/data/trainers/golden to the trainers' own readers, and writes which releases took them.

    python tools/trainers/accept.py            in an environment with torch, transformers, accelerate and deepspeed

For development: none of these packages is needed to build or test. The result is tests/data/trainers/accepted.txt.
"""

import json
import os
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/data/trainers/golden"


def accelerate(path):
    from accelerate.commands.config.config_args import ClusterConfig

    config = ClusterConfig.from_yaml_file(str(path))
    if config.fsdp_config:
        from accelerate.utils import FullyShardedDataParallelPlugin

        for key, value in config.fsdp_config.items():
            os.environ[key.upper()] = str(value).lower() if isinstance(value, bool) else str(value)
        plugin = FullyShardedDataParallelPlugin()
        assert plugin.fsdp_version == config.fsdp_config["fsdp_version"]
    return f"{config.distributed_type}, {config.num_processes} processes"


def deepspeed(path):
    from deepspeed.runtime.config import DeepSpeedConfig

    given = json.loads(path.read_text())
    # No process group here: as many ranks as the three numbers of the batch make.
    ranks = given["train_batch_size"] // (given["train_micro_batch_size_per_gpu"] * given["gradient_accumulation_steps"])
    with mock.patch("deepspeed.runtime.config.dist.get_world_size", return_value=ranks), mock.patch("deepspeed.runtime.config.dist.get_rank", return_value=0):
        config = DeepSpeedConfig(given)
    return f"stage {int(config.zero_optimization_stage)}, {config.train_batch_size} sequences on {ranks} ranks"


def training_arguments(path):
    from transformers import HfArgumentParser, TrainingArguments

    # No GPU here either.
    with mock.patch("transformers.training_args.is_torch_bf16_gpu_available", return_value=True):
        return read_arguments(path, HfArgumentParser, TrainingArguments)


def read_arguments(path, HfArgumentParser, TrainingArguments):
    import yaml

    if path.suffix == ".py":
        names = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        arguments = names["training_args"]
    else:
        given = yaml.safe_load(path.read_text())
        (arguments,) = HfArgumentParser(TrainingArguments).parse_dict(given)
    return f"{arguments.per_device_train_batch_size} × {arguments.gradient_accumulation_steps}, bf16 {arguments.bf16}"


READERS = {"accelerate": accelerate, "deepspeed": deepspeed, "training-arguments": training_arguments}
PACKAGES = {"accelerate": "accelerate", "deepspeed": "deepspeed", "training-arguments": "transformers"}


def main():
    os.environ["ACCELERATE_USE_CPU"] = "true"
    os.chdir(tempfile.mkdtemp())
    lines, failed = [], False
    for trainer, read in READERS.items():
        for path in sorted((GOLDEN / trainer).iterdir()):
            name = f"{PACKAGES[trainer]} {metadata.version(PACKAGES[trainer])} {path.relative_to(GOLDEN)}"
            try:
                lines.append(f"{name}: accepted ({read(path)})")
            except Exception as error:  # noqa: BLE001: whatever the trainer says
                failed = True
                lines.append(f"{name}: refused: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (ROOT / "tests/data/trainers/accepted.txt").write_text(text)
    return failed


if __name__ == "__main__":
    sys.exit(main())
