"""estimate --advise: what to change first, how small a cluster would do; fit: the largest value that fits."""

import json

import pytest

FSDP = "llama-3-8b-fsdp"


def applied(wireplan, plan, change):
    """The plan with the edits of a change, as the arguments it prints say."""
    edits = [argument for e in change["edits"] for argument in ("--set", f"{e['path']}={json.dumps(e['value'])}")]
    return wireplan.json("estimate", plan, *edits)


def test_advice_adds_itself_and_changes_nothing_else(wireplan):
    document, plain = wireplan.json("estimate", "story", "--advise"), wireplan.json("estimate", "story")
    advice = document.pop("advice")
    assert document == plain
    assert list(advice) == ["text", "changes", "smallest", "smallest_left_out"]
    assert advice["text"].startswith("Does not fit.")


@pytest.mark.parametrize("plan", ["story", FSDP, "mixtral-8x7b-experts"])
def test_every_change_does_what_it_says(wireplan, plan):
    document = wireplan.json("estimate", plan, "--advise")
    changes, step, need = document["advice"]["changes"], document["step"], document["memory"]["need_bytes"]["value"]
    assert changes
    for change in changes:
        assert list(change) == [
            "key", "label", "edits", "set", "kind", "fits", "verdict", "need_bytes", "time_s", "tokens_per_s", "need_change_bytes", "time_change_s", "tokens_change", "price", "text", "trainer_lines"]
        after = applied(wireplan, plan, change)
        assert after["memory"]["need_bytes"]["value"] == change["need_bytes"]
        assert after["step"]["time_s"]["value"] == change["time_s"]
        assert after["step"]["tokens_per_s"] == change["tokens_per_s"]
        assert after["memory"]["verdict"] == change["verdict"]
        assert change["need_change_bytes"] == pytest.approx(change["need_bytes"] - need)
        assert change["time_change_s"] == pytest.approx(change["time_s"] - step["time_s"]["value"])
        assert change["tokens_change"] == pytest.approx(change["tokens_per_s"] / step["tokens_per_s"] - 1)
        assert after["plan"]["training"]["global_batch_size"] == document["plan"]["training"]["global_batch_size"]
        assert change["price"] and change["text"] and change["label"]


def test_the_arguments_it_prints_are_those_of_a_shell(wireplan):
    import shlex

    change = next(c for c in wireplan.json("estimate", FSDP, "--advise")["advice"]["changes"] if "recompute-layers" in c["key"])
    arguments = shlex.split(change["set"])
    assert arguments[::2] == ["--set"] * len(change["edits"])
    assert wireplan.json("estimate", FSDP, *arguments)["step"]["time_s"]["value"] == change["time_s"]
    text = wireplan("estimate", FSDP, "--advise").out
    assert "What to change first?" in text and "How small a cluster would do?" in text and "--set" in text
    assert max(len(line) for line in text.split("What to change first?")[1].splitlines() if not line.startswith("#")) <= 100
    markdown = wireplan("estimate", FSDP, "--advise", "--markdown").out
    assert "`" + change["set"] + "`" in markdown


def test_smallest_clusters(wireplan):
    advice = wireplan.json("estimate", "story", "--advise")["advice"]
    kinds = {p["id"] for p in wireplan.json("presets", "nodes")["presets"]}
    assert {s["node"] for s in advice["smallest"]} | {k["node"] for k in advice["smallest_left_out"]} == kinds
    gpus = [s["gpus"] for s in advice["smallest"]]
    assert gpus == sorted(gpus)
    by_node = {s["node"]: s for s in advice["smallest"]}
    smallest = by_node["dgx-a100-80gb"]
    assert list(smallest) == ["node", "nodes", "gpus", "edits", "need_bytes", "time_s", "tokens_per_s", "gpu_hours_per_billion_tokens", "recomputes", "text"]
    assert smallest["gpus"] == 2 and smallest["nodes"] == 1
    after = applied(wireplan, "story", smallest)
    assert after["memory"]["fits"] and after["step"]["time_s"]["value"] == smallest["time_s"]
    assert smallest["gpu_hours_per_billion_tokens"] == pytest.approx(1e9 / smallest["tokens_per_s"] * 2 / 3600)


def test_advice_is_refused_where_it_has_no_place(wireplan):
    assert wireplan("estimate", "story", "--advise", "--csv").returncode == 2
    assert wireplan("estimate", "story", "--advise", "--print-link").returncode == 2


def test_fit(wireplan):
    document = wireplan.json("fit", FSDP, "--max", "micro_batch_size", "--set", "training.recompute=full")
    assert list(document) == ["path", "largest", "limit", "next", "next_need_bytes", "global_batch_size", "moves_batch", "text", "estimate"]
    assert document["path"] == "training.micro_batch_size" and document["limit"] in ("memory", "batch")
    plain = wireplan.json("estimate", FSDP, "--set", "training.recompute=full", "--set", f"training.micro_batch_size={document['largest']}")
    assert document["estimate"]["memory"] == plain["memory"] and document["estimate"]["step"] == plain["step"]
    assert wireplan.json("fit", FSDP, "--max", "training.micro_batch_size", "--set", "training.recompute=full") == document
    sequence = wireplan.json("fit", FSDP, "--max", "sequence_length")
    over = wireplan.json("estimate", FSDP, "--set", f"training.sequence_length={sequence['next']}")
    assert not over["memory"]["fits"] and over["memory"]["need_bytes"]["value"] == sequence["next_need_bytes"]
    text = wireplan("fit", FSDP, "--max", "sequence_length").out
    assert f"--set training.sequence_length={sequence['largest']}" in text
    header, row = wireplan("fit", FSDP, "--max", "sequence_length", "--csv").out.splitlines()
    assert dict(zip(header.split(","), row.split(",")))["largest"] == str(sequence["largest"])


def test_a_fit_that_is_none(wireplan):
    done = wireplan("fit", "story", "--max", "sequence_length")
    assert done.returncode == 1 and done.out.startswith("Nothing fits")
    assert json.loads(wireplan("fit", "story", "--max", "micro_batch_size", "--json").out)["largest"] is None


@pytest.mark.parametrize("field", ["layers", "", "training.", "parallel.data", "micro_batch"])
def test_a_field_that_fit_does_not_know(wireplan, field):
    done = wireplan("fit", "story", "--max", field, "--json")
    assert done.returncode == 2
    (error,) = json.loads(done.out)["errors"]
    assert error["path"] == "--max" and "micro_batch_size" in error["limit"] and error["text"]
