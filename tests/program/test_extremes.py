"""Plans at the limits of what is accepted: an answer without NaN or a negative number, parts that add up, no hang."""

import json
import time

import pytest

TINY = {
    "hidden_size": 1, "num_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 1, "intermediate_size": 1,
    "mlp": "swiglu", "vocab_size": 1, "tie_word_embeddings": True, "norm": "rmsnorm", "qkv_bias": False, "mlp_bias": False, "position": "rope",
}
MODELS = {
    "tiny": TINY,
    "deep": {**TINY, "hidden_size": 64, "num_layers": 100_000, "head_dim": 64, "intermediate_size": 64},
    "huge": {**TINY, "hidden_size": 10**6, "num_layers": 6, "num_attention_heads": 1000, "num_key_value_heads": 1000, "head_dim": 1000,
             "intermediate_size": 10**6, "vocab_size": 10**6},
    "many experts": {**TINY, "moe": {"num_experts": 10**5, "experts_per_token": 1, "intermediate_size": 1}},
    "opaque": {"kind": "opaque", "parameters": 10**14, "units": 10**5, "flops_per_sample": 1e24, "saved_bytes_per_sample": 1e15},
    "one parameter": {"kind": "opaque", "parameters": 1},
}
LAYOUTS = {
    "ddp": {}, "zero1": {"data_sharding": "zero1"}, "fsdp": {"data_sharding": "fsdp"}, "fsdp, one unit": {"data_sharding": "fsdp", "fsdp_unit": "none"},
    "hsdp, large unit": {"data_sharding": "hsdp", "shard_group": 2, "fsdp_unit": 100_000},
    "megatron": {"framework": "megatron", "data_sharding": "zero1"}, "stage 2": {"framework": "deepspeed", "data_sharding": "zero2"},
    "stage 3": {"framework": "deepspeed", "data_sharding": "zero3"},
    "stage 3, empty buckets": {"framework": "deepspeed", "deepspeed": {"zero_optimization": {
        "stage": 3, "reduce_bucket_size": 0, "stage3_prefetch_bucket_size": 0, "stage3_max_live_parameters": 0, "sub_group_size": 0}}},
    "stage 2, enormous bucket": {"framework": "deepspeed", "deepspeed": {"zero_optimization": {"stage": 2, "reduce_bucket_size": 1e15}}},
}
BATCHES = {"one token": (1, 1), "long": (10**8, 1), "wide": (1, 10**6)}


def numbers(value, path):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from numbers(inner, f"{path}.{index}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def judge(wireplan, plan):
    start = time.monotonic()
    estimate = wireplan.json("estimate", "-", text=json.dumps(plan))
    assert time.monotonic() - start < 10
    memory = estimate["memory"]
    assert sum(memory["parts"].values()) == memory["allocated_bytes"]["value"]
    for part in ("memory", "communication", "step"):
        for path, value in numbers(estimate[part], part):
            assert value >= 0 or path == "memory.after_forward_bytes", (path, value)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("model", MODELS)
def test_the_limits_of_models_batches_and_layouts(wireplan, model, layout):
    for sequence, micro in BATCHES.values():
        judge(wireplan, {"model": MODELS[model], "training": {"sequence_length": sequence, "micro_batch_size": micro, "loss": "chunked"},
                         "parallel": LAYOUTS[layout], "cluster": {"node": "dgx-a100-80gb", "gpus_per_node": 4}})


@pytest.mark.parametrize("schedule,virtual", [("1f1b", 1), ("gpipe", 1), ("interleaved", 16), ("zb-h2", 1), ("zb-v", 2), ("dualpipe", 1), ("dualpipe-v", 1)])
def test_a_pipeline_of_512_stages(wireplan, schedule, virtual):
    judge(wireplan, {"model": {**TINY, "num_layers": 512 * 16}, "training": {"global_batch_size": 1024},
                     "parallel": {"framework": "megatron", "pipeline": 512, "pipeline_schedule": schedule, "virtual_stages": virtual},
                     "cluster": {"nodes": 64, "node": "dgx-a100-80gb", "network": "infiniband-8x400"}})


@pytest.mark.parametrize("date", ["0000", "9999", "9999-99", "2025-13", "2025-", "", "2025-1", "@2025"])
def test_a_date_that_is_none_is_refused(wireplan, date):
    plan = {"model": "gpt2", "training": {"sequence_length": 1024, "implementation": f"huggingface@{date}"}, "cluster": {"node": "dgx-a100-80gb", "gpus_per_node": 1}}
    (error,) = wireplan.errors("estimate", "-", text=json.dumps(plan))
    assert error["path"] == "training.implementation" and error["limit"]
