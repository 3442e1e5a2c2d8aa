"""estimate --tokens, --scaling, --crossover: what users ask about a step beyond its seconds."""

import json
import re

import pytest

FSDP = ["story", "--set", "parallel.data_sharding=fsdp"]


def numbers(document):
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        for element in document:
            yield from numbers(element)
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield document


def asked(wireplan, *arguments):
    """The document, and what the questions added to the estimate without them."""
    plan = [a for a in arguments if not a.startswith("--") or a == "--set"][: 3 if "--set" in arguments else 1]
    document, plain = wireplan.json("estimate", *arguments), wireplan.json("estimate", *plan)
    added = {key: document.pop(key) for key in list(document) if key not in plain}
    assert document == plain
    assert all(abs(n) < 1e300 for n in numbers(added))
    return document, added


def test_a_budget(wireplan):
    document, added = asked(wireplan, *FSDP, "--tokens", "15T", "--price", "2.5")
    budget = added.pop("budget")
    assert added == {}
    assert list(budget) == ["tokens", "steps", "time_s", "gpu_hours", "price_per_gpu_hour", "cost"]
    assert budget["tokens"] == 15e12 and budget["steps"] == -(-15_000_000_000_000 // (64 * 4096))
    for end in ("low", "value", "high"):
        assert budget["time_s"][end] == pytest.approx(budget["steps"] * document["step"]["time_s"][end])
        assert budget["gpu_hours"][end] == pytest.approx(budget["time_s"][end] * 4 / 3600)
        assert budget["cost"][end] == pytest.approx(2.5 * budget["gpu_hours"][end])
    for same in ("15e12", "15000B", "15000000000000", "15t"):
        assert wireplan.json("estimate", *FSDP, "--tokens", same)["budget"]["steps"] == budget["steps"]
    free = wireplan.json("estimate", *FSDP, "--tokens", "1")["budget"]
    assert free["steps"] == 1 and free["price_per_gpu_hour"] is None and free["cost"] is None
    text = wireplan("estimate", *FSDP, "--tokens", "15T", "--price", "2.5").out
    assert "57,220,459 steps" in text and "at 2.5 a" in text


def test_scaling(wireplan):
    document, added = asked(wireplan, *FSDP, "--scaling", "--up-to", "3")
    assert list(added) == ["scaling", "scaling_notes"]
    rows = added["scaling"]
    assert [(r["gpus"], r["nodes"]) for r in rows] == [(1, 1), (2, 1), (4, 1), (8, 2), (12, 3)]
    assert list(rows[0]) == ["gpus", "nodes", "time_s", "tokens_per_s", "exposed_communication_s", "fits", "efficiency"]
    assert rows[0]["efficiency"] == 1 and not rows[0]["fits"] and rows[2]["fits"]
    assert rows[2]["time_s"] == document["step"]["time_s"]["value"]
    assert added["scaling_notes"]["mode"] == "weak"
    # Each row is what the changed plan alone says.
    eight = wireplan.json("estimate", *FSDP, "--set", "cluster.nodes=2", "--set", "training.global_batch_size=128")
    assert eight["step"]["time_s"]["value"] == rows[3]["time_s"]
    strong = wireplan.json("estimate", *FSDP, "--scaling=strong")["scaling"]
    assert [r["gpus"] for r in strong] == [1, 2, 4]
    assert strong[1]["time_s"] > 1.8 * strong[2]["time_s"]


def test_counts_that_cannot_hold_the_layout_say_why(wireplan):
    notes = wireplan.json("estimate", "llama-3-70b-megatron", "--scaling")["scaling_notes"]
    assert [(gap["gpus"], gap["nodes"]) for gap in notes["left_out"]] == [(1, 1), (2, 1), (4, 1), (8, 1), (16, 2)]
    assert all("tensor 8 × pipeline 4" in gap["reason"] for gap in notes["left_out"])
    assert "left out, 1, 2, 4, 8, 16 GPUs: tensor 8" in wireplan("estimate", "llama-3-70b-megatron", "--scaling").out
    odd = wireplan.json("estimate", *FSDP, "--set", "training.global_batch_size=4", "--scaling=strong", "--up-to", "2")
    assert [gap["gpus"] for gap in odd["scaling_notes"]["left_out"]] == [8]


def test_crossover(wireplan):
    document, added = asked(wireplan, *FSDP, "--crossover")
    crossover = added.pop("crossover")
    assert added == {}
    assert crossover["link"]["place"] == "node" and crossover["link"]["bytes_per_s"] > 0
    chosen = [s for s in crossover["shardings"] if s["chosen"]]
    assert [s["sharding"] for s in chosen] == ["fsdp"] and chosen[0]["time_s"] == document["step"]["time_s"]["value"]
    factors = crossover["factors"]
    assert len(factors) == 25 and factors[0] == 1 / 64 and factors[12] == 1 and factors[24] == 64 and factors == sorted(factors)
    for s in crossover["shardings"]:
        assert [s["times_s"][i] for i in (0, 12, 24)] == [s["time_slowest_s"], s["time_s"], s["time_fastest_s"]] and len(s["times_s"]) == 25
    assert [s["label"] for s in crossover["shardings"]] == ["DDP", "ZeRO-1", "ZeRO-2", "FSDP", "HSDP 2 × 2"]
    assert crossover["link"]["stated"] is False and crossover["bound_from"] is None
    assert 0 < crossover["exposed"]["at_fastest"] < crossover["exposed"]["now"]
    assert {r["sharding"] for r in crossover["fastest"]} <= {s["sharding"] for s in crossover["shardings"] if s["fits"]}
    assert crossover["fastest"][0]["from"] is None
    assert ("ddp", "fsdp") in [(p["less"], p["more"]) for p in crossover["pairs"]]
    crossings = [(p, c) for p in crossover["pairs"] for c in p["crossings"]]
    assert crossings
    for pair, crossing in crossings:
        assert crossing["faster_above"] in (pair["less"], pair["more"]) and 1 / 64 < crossing["factor"] < 64
        assert crossing["bytes_per_s"] == pytest.approx(crossing["factor"] * crossover["link"]["bytes_per_s"])
    # A little more or less than what shows now is reached by links a little slower or faster.
    now = 100 * crossover["exposed"]["now"]
    assert crossover["exposed"]["limit"] == 0.05
    for percent, faster in ((now * 1.2, False), (now / 1.2, True)):
        need = wireplan.json("estimate", *FSDP, "--crossover=node", "--exposed", str(percent))["crossover"]["exposed"]
        assert need["answer"] == "from" and (need["from"]["factor"] > 1) is faster
    network = wireplan.json("estimate", "codellama-34b-zero3", "--crossover")["crossover"]["link"]
    assert network["place"] == "network" and network["nics"] == 8


@pytest.mark.parametrize("option,value", [
    ("--tokens", "abc"), ("--tokens", "0"), ("--tokens", "1e400"), ("--tokens", "-5"), ("--tokens", "nan"), ("--tokens", "15Q"), ("--tokens", "T"), ("--tokens", "1e18T"), ("--tokens", "[1]"),
    ("--price", "-1"), ("--price", "abc"), ("--price", "1e400"), ("--up-to", "0"), ("--up-to", "2.5"), ("--up-to", "1e9"), ("--scaling", "=both"), ("--crossover", "=moon"), ("--crossover", "=network"),
    ("--exposed", "0"), ("--exposed", "100"), ("--exposed", "x"),
])  # fmt: skip
def test_wrong_values_name_option_value_and_limit(wireplan, option, value):
    needed = {"--price": ["--tokens", "1T"], "--up-to": ["--scaling"], "--exposed": ["--crossover"]}.get(option, [])
    given = [option + value] if value.startswith("=") else [option, value]
    for text in (False, True):
        done = wireplan("estimate", "story", *needed, *given) if text else None
        if done:
            assert done.returncode == 2 and done.err.startswith(f"wireplan: {option}: ") and not done.out
        else:
            errors = wireplan.errors("estimate", "story", *needed, *given)
            assert [e["path"] for e in errors] == [option] and json.loads(errors[0]["value"]) == value.strip("=") and errors[0]["limit"]


def test_questions_that_mean_nothing_alone(wireplan):
    for option in ("--price", "--up-to", "--exposed"):
        assert [e["path"] for e in wireplan.errors("estimate", "story", option, "2")] == [option]
    assert wireplan.errors("estimate", "codellama-34b-zero3", "--scaling", "--up-to", "1")[0]["path"] == "--up-to"
    assert wireplan("estimate", "story", "--tokens", "1T", "--csv").returncode == 2
    assert wireplan.errors("estimate", "qwen2.5-7b-lora", "--crossover")[0]["path"] == "--crossover"


def test_every_scenario_answers_every_question(wireplan, scenarios):
    for scenario in scenarios:
        alone = wireplan.json("estimate", scenario)["communication"] == []
        questions = ["--tokens", "1T", "--price", "1", "--scaling", "--up-to", "1000"] + ([] if alone else ["--crossover"])
        document = wireplan.json("estimate", scenario, *questions)
        assert document["scaling"] and document["budget"]["cost"]["value"] > 0
        for arguments in ([], ["--markdown"]):
            text = wireplan("estimate", scenario, *questions, *arguments).out
            assert all(heading in text for heading in ("What would it cost?", "Where do more GPUs stop paying?")) and not re.search(r"\b(nan|inf)\b", text)
            if not arguments:
                assert all(len(line) <= 100 for line in text.splitlines() if "#v=1" not in line)


def test_others_conventions(wireplan):
    step = wireplan.json("estimate", "story")["step"]
    names = [c["name"] for c in step["conventions"]]
    assert names == ["palm", "palm-causal", "megatron-paper", "megatron-hardware", "megatron-lm", "torchtitan", "6n"]
    assert step["conventions"][0]["mfu"] == step["mfu"]
    assert "MFU as others count FLOPs: " in wireplan("estimate", "story").out
    explained = wireplan.json("estimate", "story", "--explain", "step.conventions.megatron-lm.mfu")
    assert explained["result"] == step["conventions"][4]["mfu"] and explained["sources"] == ["megatron-lm"]


def test_a_time_line_without_end_is_refused(wireplan):
    (error,) = wireplan.errors("estimate", "story", "--timeline", "--set", "parallel.pipeline=4", "--set", "parallel.data=1", "--set", "training.global_batch_size=100000")
    assert error["path"] == "--timeline" and "at most 100,000 events" in error["limit"] and "200,003 events" in error["text"]
