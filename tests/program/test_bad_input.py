"""What must be refused: an error list with path, value and limit, exit 2, never a crash or a hang."""

import json
import os
import subprocess

import pytest

STORY = {
    "schema": "wireplan.plan/1",
    "model": "mistral-7b-v0.1",
    "training": {"global_batch_size": 64, "master_weights_dtype": None},
    "cluster": {"nodes": 1, "node": "dgx-a100-80gb", "gpus_per_node": 4},
}
SHAPE = {
    "hidden_size": 4096, "num_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 14336, "mlp": "swiglu", "vocab_size": 32000, "tie_word_embeddings": False, "norm": "rmsnorm",
    "qkv_bias": False, "mlp_bias": False, "position": "rope",
}


def changed(path, value):
    plan = json.loads(json.dumps(STORY))
    *inner, last = path.split(".")
    here = plan
    for key in inner:
        here = here.setdefault(key, {})
    here[last] = value
    return plan


def test_the_plan_used_here_is_good(wireplan):
    assert wireplan.json("estimate", "-", text=json.dumps(STORY))["memory"]["fits"] is False
    assert wireplan.json("estimate", "-", text=json.dumps(changed("model", SHAPE)))["model"]["parameters"] == 7_241_732_096


WRONG = [
    ("surprise", 1),
    ("training.surprise", 1),
    ("parallel.tensor_parallel", 2),
    ("model", "mistral-7b-v0.2"),
    ("model", 7),
    ("model", None),
    ("cluster.node", "dgx-a100-90gb"),
    ("cluster.network", "infiniband-8xfast"),
    ("training.sequence_length", "4096"),
    ("training.sequence_length", 4096.5),
    ("training.sequence_length", -1),
    ("training.sequence_length", 0),
    ("training.sequence_length", True),
    ("training.sequence_length", [4096]),
    ("training.sequence_length", 10**15),
    ("training.micro_batch_size", 10**18),
    ("training.micro_batch_size", 2**63),
    ("training.global_batch_size", 63),
    ("training.global_batch_size", 10**30),
    ("training.hidden_dropout", -0.1),
    ("training.hidden_dropout", 1e308),
    ("training.optimizer", "adamw2"),
    ("training.parameter_dtype", "fp7"),
    ("training.recompute", {"full_layers": -1}),
    ("training.implementation", "no-such-code"),
    ("training.offload", "yes"),
    ("parallel.tensor", 3),
    ("parallel.tensor", 0),
    ("parallel.data", 3),
    ("parallel.pipeline", -4),
    ("parallel.pipeline", 10**9),
    ("parallel.data_sharding", "zero3"),  # DeepSpeed's, not PyTorch's
    ("parallel.data_sharding", "hsdp"),  # without shard_group
    ("parallel.order", "tp-tp-tp"),
    ("parallel.placement", [0, 0, 0, 0]),
    ("parallel", []),
    ("cluster.nodes", 0),
    ("cluster.nodes", -1),
    ("cluster.nodes", 10**12),
    ("cluster.gpus_per_node", 0),
    ("cluster.gpus_per_node", 9),
    ("cluster.gpus_per_node", 1e300),
    ("cluster.node", {"gpu": "a100-80gb-sxm", "gpus": 0}),
    ("cluster.node", {"gpu": "no-such-gpu", "gpus": 4}),
    ("model", {"kind": "opaque", "parameters": 10**15, "units": 1, "flops_per_sample": 1, "saved_bytes_per_sample": 1}),
    ("model", {"kind": "opaque", "parameters": -1, "units": 1, "flops_per_sample": 1, "saved_bytes_per_sample": 1}),
    ("model", {**SHAPE, "num_layers": 10**9}),
    ("model", {**SHAPE, "hidden_size": 10**15}),
    ("model", {**SHAPE, "num_key_value_heads": 5}),
    ("model", {**SHAPE, "mlp": "relu9"}),
    ("model", {**SHAPE, "vocab_size": 1e40}),
    ("model", {k: v for k, v in SHAPE.items() if k != "num_layers"}),
    ("schema", "wireplan.plan/9"),
]


@pytest.mark.parametrize("path,value", WRONG, ids=[f"{p}={json.dumps(v)[:30]}" for p, v in WRONG])
def test_a_wrong_field_is_named_with_its_limit(wireplan, path, value):
    errors = wireplan.errors("estimate", "-", text=json.dumps(changed(path, value)))
    # The layout's product rule may be reported at any of the fields that make the product.
    near = {path.split(".")[0], "parallel", "cluster"} if path.startswith(("parallel", "cluster")) else {path.split(".")[0]}
    assert any(e["path"].split(".")[0] in near for e in errors), errors
    assert all(e["limit"] for e in errors), errors


def test_all_errors_come_at_once(wireplan):
    plan = {**STORY, "training": {"sequence_length": -1, "optimizer": "best"}, "surprise": 1}
    assert {e["path"] for e in wireplan.errors("estimate", "-", text=json.dumps(plan))} >= {
        "training.sequence_length", "training.optimizer", "surprise"}


def test_the_error_says_what_would_be_right(wireplan):
    (error,) = wireplan.errors("estimate", "story", "--set", "model=mistral-7b-v0.2")
    assert error["path"] == "model" and error["value"] == '"mistral-7b-v0.2"' and "mistral-7b-v0.1" in error["text"]
    errors = wireplan.errors("estimate", "story", "--set", "parallel.tensor=3")
    assert any(e["path"] == "parallel.tensor" and e["value"] == "3" for e in errors)


NOT_JSON = {
    "empty": b"",
    "white space": b" \n\t ",
    "text": b"hello",
    "half an object": b'{"model": ',
    "two documents": b"{} {}",
    "trailing comma": b'{"model": "x",}',
    "comment": b"{} // yes",
    "NaN": b'{"model": NaN}',
    "infinity": b'{"model": -Infinity}',
    "number without end": b'{"a": 1e999999}',
    "single quotes": b"{'model': 1}",
    "twice the same key": b'{"model": 1, "model": 2}',
    "array": b"[]",
    "number": b"7",
    "null": b"null",
    "cut UTF-8": b'{"model": "mistral \xe2\x82"}',
    "cut UTF-8 at the end": b'{"model": "\xf0\x9f\x98',
    "overlong UTF-8": b'{"model": "\xc0\xaf"}',
    "lone surrogate": b'{"model": "\\ud800"}',
    "UTF-16": '{"model": 1}'.encode("utf-16"),
    "zero bytes": b"\0" * 100,
    "zero byte in a string": b'{"model": "a\0b"}',
    "binary": bytes(range(256)) * 64,
    "control character": b'{"model": "a\x01b"}',
}


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_no_plan_is_refused(wireplan, tmp_path, text):
    assert wireplan.errors("estimate", "-", text=text)
    file = tmp_path / "plan.json"
    file.write_bytes(text)
    assert wireplan.errors("estimate", str(file))
    assert wireplan.errors("compare", "story", str(file))


@pytest.mark.parametrize("depth", [65, 1000, 100_000])
@pytest.mark.parametrize("opening,closing", ["[]", ("{\"a\":", "}"), ("[{\"a\":[", "]}]")])
def test_deep_nesting_is_refused(wireplan, depth, opening, closing):
    text = opening * depth + "1" + closing * depth
    assert wireplan.errors("estimate", "-", text=text)
    assert wireplan.errors("estimate", "-", text=opening * depth)


def test_fifty_megabytes_are_refused_without_being_read(wireplan, tmp_path):
    file = tmp_path / "large.json"
    with file.open("wb") as out:
        out.write(b'{"model": "')
        out.write(b"x" * 50_000_000)
        out.write(b'"}')
    before = os.times().children_user
    (error,) = wireplan.errors("estimate", str(file))
    assert "4" in error["limit"] + error["text"] and os.times().children_user - before < 2
    (error,) = wireplan.errors("estimate", "-", text=file.read_bytes())
    assert len(error["value"]) <= 80
    assert wireplan.errors("estimate", "/dev/zero")


def test_many_keys_and_long_values_are_cut(wireplan):
    plan = {**STORY, **{f"key{i}": "v" * 1000 for i in range(2000)}}
    errors = wireplan.errors("estimate", "-", text=json.dumps(plan))
    assert errors and all(len(e["value"]) <= 80 for e in errors)
    wide = changed("model", "ж" * 5000)
    (error,) = wireplan.errors("estimate", "-", text=json.dumps(wide, ensure_ascii=False))
    assert len(error["value"]) <= 80 and "\ufffd" not in error["value"]


# --- files and arguments -----------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(wireplan, tmp_path):
    (error,) = wireplan.errors("estimate", str(tmp_path))
    assert "directory" in error["text"]
    (error,) = wireplan.errors("estimate", str(tmp_path / "missing.json"))
    assert "missing.json" in error["text"]
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    secret.chmod(0)
    assert wireplan.errors("estimate", str(secret))
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    assert wireplan.errors("estimate", str(tmp_path / "loop"))


def test_a_scenario_that_is_none_is_answered_with_near_ones(wireplan):
    (error,) = wireplan.errors("estimate", "stroy")
    assert "story" in error["text"]
    assert wireplan.errors("estimate", "")
    assert wireplan.errors("estimate", "x" * 100_000)


@pytest.mark.parametrize("edit", [
    "parallel.tensor", "=4", "parallel.tensor=", "parallel..tensor=1", ".=1", "model.hidden_size=7", "nothing.at.all=1",
    "training.sequence_length=NaN", "training.sequence_length=1e999", "training.sequence_length=Infinity",
    "training.sequence_length=four", "schema.x=1", "cluster=7", "training=[]", "parallel.placement.0=1",
])
def test_an_edit_that_is_none(wireplan, edit):
    assert wireplan.errors("estimate", "story", "--set", edit)


@pytest.mark.parametrize("link", [
    "#v=1", "#v=1&m=no-such-model&c=dgx-a100-80gb", "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb&tp=three", "#v=99999999999999999999",
    "#v=1&j=%%%", "#v=1&j=AAAA", "#v=1&m=%ff%fe&c=x", "#v=1&" + "a" * 100_000, "#v=1&" + "&" * 10_000,
    "https://example.org/#v=1&m=", "#v=0&m=mistral-7b-v0.1",
])
def test_a_link_that_leads_nowhere(wireplan, link):
    assert wireplan.errors("estimate", link)


@pytest.mark.parametrize("arguments", [
    [], ["estimate"], ["estimat", "story"], ["estimate", "story", "story"], ["estimate", "story", "--surprise"],
    ["estimate", "story", "--unit", "kB"], ["estimate", "story", "--set"], ["estimate", "story", "--markdown", "--csv"],
    ["estimate", "story", "--markdown"], ["compare"], ["presets", "models", "a", "b"], ["--surprise"], ["story"],
    ["presets", "--presets"], ["estimate", "story", "--print-link", "--explain", "step.time_s"],
], ids=" ".join)
def test_a_command_line_that_is_none(wireplan, arguments):
    assert wireplan.errors(*arguments)
    if "--markdown" not in arguments:
        done = wireplan(*arguments)
        assert done.returncode == 2 and done.err.strip() and not done.out


# --- output ----------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_an_error(wireplan):
    for arguments in (["estimate", "story"], ["estimate", "story", "--json"], ["--help"], ["estimate", "stroy", "--json"]):
        with open("/dev/full", "wb") as full:
            done = wireplan(*arguments, stdout=full)
        assert done.returncode == 2 and "cannot write" in done.err.lower(), arguments


def test_a_closed_pipe_is_quiet(wireplan):
    reader, writer = os.pipe()
    os.close(reader)
    done = wireplan("presets", "models", stdout=writer)
    os.close(writer)
    assert done.returncode == 0 and done.err == ""


def test_no_output_at_all_is_an_error(wireplan):
    done = subprocess.run(["bash", "-c", '"$0" estimate story >&-', wireplan.path], stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 2 and b"cannot write" in done.stderr
