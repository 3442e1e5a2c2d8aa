"""A model's config.json: import, stored weights beside it, and --model in every command that takes a plan."""

import json
import struct

import pytest

from program import ROOT


def config_of(name):
    return json.loads((ROOT / f"tests/data/configs/{name}.json").read_text())["config"]


@pytest.fixture
def llama(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config_of("llama-3-8b")))
    return path


SMALL = {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 32, "torch_dtype": "bfloat16"}
SHAPES = {
    "model.embed_tokens.weight": [32, 8], "lm_head.weight": [32, 8], "model.norm.weight": [8],
    **{f"model.layers.0.self_attn.{p}_proj.weight": [8, 8] for p in "qkvo"},
    **{f"model.layers.0.mlp.{p}_proj.weight": s for p, s in (("gate", [16, 8]), ("up", [16, 8]), ("down", [8, 16]))},
    "model.layers.0.input_layernorm.weight": [8], "model.layers.0.post_attention_layernorm.weight": [8],
}
COUNT = 32 * 8 * 2 + 8 + 4 * 64 + 3 * 128 + 16


def write_weights(path, shapes, cut=0):
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 2
        for n in shape:
            size *= n
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at - cut))


@pytest.fixture
def small(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    return tmp_path


def test_a_configuration_becomes_a_model(wireplan, llama):
    document = wireplan.json("import", llama)
    assert document["schema"] == "wireplan.model/1" and document["parameters"] == 8030261248 and document["presets"] == ["llama-3-8b"]
    assert {"path": "model.num_layers", "value": 32, "origin": "key", "from": "num_hidden_layers"} in document["fields"]
    assert document["notes"] == [] and document["stored_dtype"] == "bfloat16"
    text = wireplan("import", llama).out
    assert "8,030,261,248 parameters" in text and "the preset llama-3-8b" in text and "num_hidden_layers" in text and "default of the class for mlp_bias" in text
    assert wireplan("import", "-", text=llama.read_text()).out == text
    # The model is one that a plan takes, and gives the preset's numbers.
    plan = {"model": document["model"], "cluster": "dgx-a100-80gb"}
    assert wireplan.json("estimate", "-", text=json.dumps(plan))["model"]["parameters"] == 8030261248


def test_a_plan_takes_its_model_from_the_file(wireplan, llama):
    by_id = wireplan.json("estimate", "story", "--set", "model=llama-3-8b")
    assert wireplan.json("estimate", "story", "--model", llama) == by_id
    assert wireplan.json("estimate", "--model", llama, "story") == by_id
    assert wireplan.json("estimate", "story", "--set", f"model={llama}") == by_id
    assert wireplan.json("estimate", "story", "--model", "llama-3-8b") == by_id
    # What import prints, and the object alone, are models too.
    printed = llama.parent / "model.json"
    for text in (json.dumps(wireplan.json("import", llama)), json.dumps(wireplan.json("import", llama)["model"])):
        printed.write_text(text)
        assert wireplan.json("estimate", "story", "--model", printed)["memory"] == by_id["memory"]
        assert wireplan.json("estimate", "story", "--model", printed, "--set", "model.num_layers=16")["plan"]["model"]["num_layers"] == 16
    changed = wireplan.json("estimate", "story", "--set", "model.num_layers=16", "--model", llama)
    assert changed["plan"]["model"]["num_layers"] == 16 and changed["model"]["parameters"] < by_id["model"]["parameters"]
    assert wireplan.json("compare", "story", "story", "--model", llama)["estimates"][1]["model"] == by_id["model"]


def test_what_the_file_does_not_say_is_asked_for(wireplan, llama):
    llama.write_text(json.dumps(config_of("llama-3-8b") | {"model_type": "lama", "moe_gating": 3}))
    for command in (("import", llama), ("estimate", "story", "--model", llama)):
        paths = [e["path"] for e in wireplan.errors(*command)]
        assert paths[0] == "model_type" and "model.mlp" in paths and "model.norm" in paths and "model.hidden_size" not in paths
    stated = ("--set", "model.mlp=swiglu", "--set", "model.norm=rmsnorm", "--set", "model.qkv_bias=false", "--set", "model.mlp_bias=false", "--set", "model.position=rope")
    done = wireplan("estimate", "story", "--model", llama, *stated)
    assert done.returncode == 0 and "moe_gating = 3 is not read" in done.err and "not known" in done.err
    assert wireplan.json("import", llama, *stated)["presets"] == ["llama-3-8b"]
    assert wireplan.json("import", llama, "--model-type", "llama")["presets"] == ["llama-3-8b"]


def test_stored_weights_beside_the_count(wireplan, small):
    file = small / "model.safetensors"
    write_weights(file, SHAPES)
    for weights in (file, small):
        agreed = wireplan.json("import", small / "config.json", "--weights", weights)["weights"]
        assert agreed["agrees"] and agreed["by_tensor"] and agreed["stored"] == COUNT
    assert "They agree: 1,176 parameters" in wireplan("import", small / "config.json", "--weights", file).out

    write_weights(file, SHAPES | {"model.layers.0.self_attn.q_proj.bias": [8], "vision_tower.a": [3]})
    done = wireplan("import", small / "config.json", "--weights", file)
    assert done.returncode == 1 and "(+8)" in done.out and "layer 0: stored" in done.out and "vision_tower.a" in done.out


def test_an_index_and_its_files(wireplan, small):
    index = small / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 2 * COUNT}, "weight_map": {name: f"{i % 2}.safetensors" for i, name in enumerate(SHAPES)}}))
    alone = wireplan.json("import", small / "config.json", "--weights", index)["weights"]
    assert alone["agrees"] and not alone["by_tensor"]
    names = list(SHAPES)
    for i in (0, 1):
        write_weights(small / f"{i}.safetensors", {name: SHAPES[name] for name in names[i::2]})
    assert wireplan.json("import", small / "config.json", "--weights", small)["weights"]["by_tensor"]
    # Names that lead out of the folder are not followed.
    index.write_text(json.dumps({"metadata": {"total_size": 2 * COUNT}, "weight_map": {"a": "../0.safetensors"}}))
    assert not wireplan.json("import", small / "config.json", "--weights", index)["weights"]["by_tensor"]


@pytest.mark.parametrize("content,says", [(b"", "shorter than 8"), (b"\xff" * 20, "too long"), (struct.pack("<Q", 2) + b"{}", "no tensors"), (struct.pack("<Q", 100) + b"{", "")])
def test_broken_weights(wireplan, small, content, says):
    file = small / "model.safetensors"
    file.write_bytes(content)
    done = wireplan("import", small / "config.json", "--weights", file)
    assert done.returncode == 2 and says in done.err and "model.safetensors" in done.err


def test_a_download_that_is_not_whole(wireplan, small):
    write_weights(small / "model.safetensors", SHAPES, cut=1)
    done = wireplan("import", small / "config.json", "--weights", small / "model.safetensors")
    assert done.returncode == 2 and "not whole" in done.err


@pytest.mark.parametrize("command", [("import", "x/none.json"), ("estimate", "story", "--model", "x/none.json"), ("import", "CONFIG", "--weights", "none.safetensors"), ("import", "CONFIG", "--weights", "EMPTY")])
def test_files_that_are_not_there(wireplan, small, tmp_path_factory, command):
    names = {"CONFIG": small / "config.json", "EMPTY": tmp_path_factory.mktemp("empty")}
    done = wireplan(*(names.get(word, word) for word in command))
    assert done.returncode == 2 and ("none" in done.err or "empty" in done.err)


def test_architectures_are_presets(wireplan, tmp_path):
    ids = [p["id"] for p in wireplan.json("presets", "architectures")["presets"]]
    assert len(ids) > 60 and {"llama", "qwen3_moe", "deepseek_v3"} <= set(ids)
    (tmp_path / "architectures").mkdir()
    (tmp_path / "architectures/mine.json").write_text(json.dumps({"name": "Mine", "source": "own", "like": "llama", "defaults": {"vocab_size": 77}}))
    (tmp_path / "c.json").write_text('{"model_type": "mine"}')
    assert wireplan.json("import", tmp_path / "c.json", "--presets", tmp_path)["model"]["vocab_size"] == 77
