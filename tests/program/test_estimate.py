"""estimate: the story's numbers, every scenario, the documents and the texts."""

import csv
import io
import json
import re

import pytest

STATES = {"parameters": 14_483_464_192, "gradients": 14_483_464_192, "master_weights": 0, "optimizer_states": 57_933_856_768}

KEYS = {  # formats of the documents: exactly these keys in this order
    "": "schema engine plan assumed model memory communication wiring step notes",
    "plan": "schema model training parallel cluster",
    "model": "parameters active_parameters flops_per_token",
    "memory": "capacity_bytes fits verdict states allocated_bytes need_bytes reserved_bytes device_bytes parts"
    " allocator_slack_bytes runtime_bytes peak_at worst_rank ranks phases after_forward_bytes after_backward_bytes"
    " host_bytes fits_host",
    "memory.states": "parameters gradients master_weights optimizer_states",
    "memory.allocated_bytes": "low value high",
    "memory.parts": "parameters gradients master_weights optimizer_states activations logits unsharded_parameters"
    " communication_buffers temporary",
    "memory.phases": "load initialize first_step steady between_steps save",
    "step": "time_s compute_s exposed_communication_s bubble_s optimizer_s host_s offload_s straggler_s on_ideal_wiring_s wiring_bandwidth_s wiring_latency_s"
    " tokens_per_s tokens_per_s_per_gpu model_tflops_per_gpu hardware_tflops_per_gpu mfu hfu conventions",
}
ROW = "name collective dimension ranks bytes calls algorithm protocol bus_bandwidth_bytes_per_s time_s exposed_s bottleneck basis"


def at(document, path):
    for key in filter(None, path.split(".")):
        document = document[key]
    return document


def numbers(document, path=""):
    if isinstance(document, dict):
        for key, value in document.items():
            yield from numbers(value, f"{path}.{key}")
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from numbers(value, f"{path}.{i}")
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield path, document


def test_the_story_does_not_fit_under_ddp(wireplan):
    memory = wireplan.json("estimate", "story")["memory"]
    assert memory["states"] == STATES
    assert memory["fits"] is False


def test_the_story_fits_under_fsdp_with_a_quarter_of_each(wireplan):
    memory = wireplan.json("estimate", "story", "--set", "parallel.data_sharding=fsdp")["memory"]
    assert memory["states"] == {name: size / 4 for name, size in STATES.items()}
    assert memory["fits"] is True


def test_the_documents_keys(wireplan, scenarios):
    for scenario in scenarios:
        document = wireplan.json("estimate", scenario)
        assert document["schema"] == "wireplan.estimate/1"
        for path, keys in KEYS.items():
            assert list(at(document, path)) == keys.split(), (scenario, path)
        for row in document["communication"]:
            assert list(row) == ROW.split(), scenario


def test_what_must_add_up(wireplan, scenarios):
    for scenario in scenarios:
        document = wireplan.json("estimate", scenario)
        memory, step = document["memory"], document["step"]
        assert sum(memory["parts"].values()) == memory["allocated_bytes"]["value"], scenario
        assert memory["phases"]["steady"] == memory["allocated_bytes"]["value"], scenario
        reserved = memory["allocated_bytes"]["value"] + memory["allocator_slack_bytes"]
        assert memory["reserved_bytes"]["value"] == pytest.approx(reserved, rel=1e-12), scenario
        assert memory["device_bytes"]["value"] == pytest.approx(reserved + memory["runtime_bytes"], rel=1e-12), scenario
        assert memory["fits"] == (memory["need_bytes"]["value"] <= memory["capacity_bytes"]), scenario
        parts = "compute exposed_communication bubble optimizer host offload straggler"
        total = sum(step[f"{part}_s"] for part in parts.split())
        assert step["time_s"]["value"] == pytest.approx(total, rel=1e-9), scenario
        assert step["on_ideal_wiring_s"] <= step["time_s"]["value"] * (1 + 1e-12), scenario
        for name in ("allocated_bytes", "need_bytes", "reserved_bytes", "device_bytes"):
            band = memory[name]
            assert band["low"] <= band["value"] <= band["high"], (scenario, name)


def test_the_same_bytes_each_time_and_in_every_language(wireplan, scenarios):
    for scenario in scenarios:
        first = wireplan("estimate", scenario, "--json").out
        german = wireplan("estimate", scenario, "--json", env={"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"}).out
        assert first == german
    text = wireplan("estimate", "story").out
    assert text == wireplan("estimate", "story", env={"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"}).out


def test_a_plan_reads_back_as_itself(wireplan, scenarios, tmp_path):
    for scenario in scenarios:
        document = wireplan.json("estimate", scenario)
        file = tmp_path / f"{scenario}.json"
        file.write_text(json.dumps(document["plan"]))
        again = wireplan.json("estimate", str(file))
        assert again["plan"] == document["plan"], scenario
        assert again["memory"] == document["memory"] and again["step"] == document["step"], scenario


def test_a_link_reads_back_as_the_same_plan(wireplan, scenarios):
    for scenario in scenarios:
        for change in ([], ["--set", "training.sequence_length=2048"]):
            link = wireplan("estimate", scenario, *change, "--print-link").out.strip()
            assert link.startswith("#v=1&m=") or scenario == "deepseek-v3-2048", link
            assert "\n" not in link and " " not in link
            document, again = wireplan.json("estimate", scenario, *change), wireplan.json("estimate", link)
            assert again["plan"] == document["plan"], (scenario, link)
            assert again["memory"] == document["memory"], (scenario, link)
            assert wireplan.json("estimate", scenario, *change, "--print-link") == {"link": link}


def test_standard_input_is_a_plan(wireplan):
    plan = wireplan.json("estimate", "story")["plan"]
    assert wireplan.json("estimate", "-", text=json.dumps(plan))["memory"]["states"] == STATES


def test_what_a_link_says_beyond_this_version_is_noted(wireplan):
    link = wireplan("estimate", "story", "--print-link").out.strip()
    known, unknown = wireplan.json("estimate", link), wireplan.json("estimate", link + "&surprise=1")
    assert unknown["memory"] == known["memory"]
    assert any("surprise" in note["path"] + note["text"] for note in unknown["notes"])


@pytest.mark.parametrize(
    "edit,path,value",
    [
        ("parallel.data_sharding=zero2", "parallel.data_sharding", "zero2"),
        ("training.micro_batch_size=2", "training.micro_batch_size", 2),
        ("training.recompute={\"full_layers\": 4}", "training.recompute", {"full_layers": 4}),
        ("training.master_weights_dtype=fp32", "training.master_weights_dtype", "fp32"),
        ("training.offload.optimizer=true", "training.offload.optimizer", True),
        ("model=llama-3-8b", "model", "llama-3-8b"),
        ("cluster.node=hgx-h100-80gb", "cluster.node", "hgx-h100-80gb"),
    ],
)
def test_set_changes_one_field(wireplan, edit, path, value):
    assert at(wireplan.json("estimate", "story", "--set", edit)["plan"], path) == value


def test_set_may_be_repeated_and_the_last_one_counts(wireplan):
    plan = wireplan.json(
        "estimate", "--set", "training.micro_batch_size=2", "story",
        "--set", "parallel.data_sharding=fsdp", "--set", "training.micro_batch_size=4",
    )["plan"]
    assert plan["training"]["micro_batch_size"] == 4 and plan["parallel"]["data_sharding"] == "fsdp"


def test_check_turns_no_into_a_status(wireplan):
    assert wireplan("estimate", "story").returncode == 0
    refused = wireplan("estimate", "story", "--check")
    assert refused.returncode == 1 and refused.out
    assert wireplan("estimate", "story", "--check", "--json").returncode == 1
    assert wireplan("estimate", "story", "--check", "--set", "parallel.data_sharding=fsdp").returncode == 0


# --- explanations ----------------------------------------------------------------------------------------------------


def test_the_explanation_of_a_count(wireplan):
    told = wireplan.json("estimate", "story", "--explain", "memory.states.parameters")
    assert list(told) == "key symbol formula values result unit kind band sources".split()
    assert told["result"] == STATES["parameters"] and told["unit"] == "bytes" and told["kind"] == "count"
    assert told["band"] is None and told["sources"]
    for value in told["values"]:
        assert list(value) == "symbol value unit kind meaning key".split()
    text = wireplan("estimate", "story", "--explain", "memory.states.parameters").out
    assert told["formula"] in text and "14483464192 bytes" in text


def test_every_number_has_an_explanation(wireplan, scenarios):
    for scenario in [s for s in scenarios if s in ("story", "llama-3-70b-megatron")]:
        document = wireplan.json("estimate", scenario)
        paths = [
            path[1:]
            for part in ("model", "memory", "communication", "step")
            for path, _ in numbers({part: document[part]})
            if not path.endswith(("worst_rank", ".stage"))  # names of places, not amounts
        ]
        assert len(paths) > 60
        for path in paths:
            told = wireplan.json("estimate", scenario, "--explain", path)
            assert told["result"] == pytest.approx(at_any(document, path), rel=1e-9, abs=1e-12), path
            assert told["formula"] and told["sources"] and told["kind"] in ("count", "bound", "estimate", "measured"), path


def at_any(document, path):
    for key in path.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def test_a_mistyped_path_is_answered_with_near_ones(wireplan):
    (error,) = wireplan.errors("estimate", "story", "--explain", "memory.states.parameter")
    assert "memory.states.parameters" in error["text"]


# --- texts -----------------------------------------------------------------------------------------------------------

QUESTIONS = ["Will it fit?", "Will the wiring keep up?", "Where does the step go?"]


def test_text_answers_first_and_is_narrow(wireplan, scenarios):
    for scenario in scenarios:
        for options in ([], ["--unit", "GB"], ["--unit", "GiB"]):
            text = wireplan("estimate", scenario, *options).out
            places = [text.index(q) for q in QUESTIONS]
            assert places == sorted(places) and places[0] > 40, scenario
            for line in text.splitlines():
                assert len(line) <= 100 or " " not in line.strip(), (scenario, line)
                assert line == line.rstrip(), (scenario, line)
            assert "\x1b" not in text and "nan" not in text.lower().split() and "inf" not in text.lower().split()


def test_the_storys_text(wireplan):
    text = wireplan("estimate", "story", "--unit", "GB").out
    first = text.split("\n\n")[0]
    assert "86.9" in first and "85.2" in first and "not fit" in first.lower()
    assert "Mistral 7B v0.1" in text and "4 of 8 GPUs of DGX/HGX A100 80 GB" in text
    in_binary = wireplan("estimate", "story", "--unit", "GiB").out
    assert "80.9" in in_binary.split("\n\n")[0] and re.search(r"capacity of A100 SXM4 80 GB +79\.3\n", in_binary)


@pytest.mark.parametrize("head,total", [("on the fullest GPU", "allocated at the peak"), ("in one step", "one step")])
@pytest.mark.parametrize("unit", ["GB", "GiB"])
def test_the_shown_parts_add_up_as_shown(wireplan, scenarios, head, total, unit):
    for scenario in scenarios:
        text = wireplan("estimate", scenario, "--unit", unit).out
        rows = {}  # title -> first number, as ten-thousandths
        for line in text[text.index(head) :].splitlines()[1:]:
            title, *cells = re.split(r"  +", line.strip())
            if "---" not in title:
                rows[title] = round(float(cells[0]) * 1e4)
            if title == total:
                break
        assert sum(rows.values()) == 2 * rows[total] and len(rows) > 2, (scenario, rows)


def test_markdown_has_tables_link_and_version(wireplan):
    text = wireplan("estimate", "story", "--markdown").out
    assert text.startswith("**") and all(f"## {q}\n" in text for q in QUESTIONS)
    link = wireplan("estimate", "story", "--print-link").out.strip()
    assert f"`{link}`" in text and "Wireplan 0." in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 3
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


def test_csv_holds_every_number_at_full_precision(wireplan, scenarios):
    for scenario in scenarios:
        raw = wireplan("estimate", scenario, "--csv").out
        assert raw.endswith("\r\n") and raw.count("\r\n") == raw.count("\n")
        header, line = csv.reader(io.StringIO(raw))
        row = dict(zip(header, line, strict=True))
        document = wireplan.json("estimate", scenario)
        assert row["memory.states.parameters [bytes]"] == str(document["memory"]["states"]["parameters"])
        assert float(row["step.time_s.value [s]"]) == document["step"]["time_s"]["value"]
        assert row["memory.verdict"] == document["memory"]["verdict"]
        names = []
        for message in document["communication"]:  # a name that comes again gets a number
            names.append(message["name"])
            name = message["name"] + (f"#{names.count(message['name'])}" if names.count(message["name"]) > 1 else "")
            assert float(row[f"communication.{name}.time_s.high [s]"]) == message["time_s"]["high"]
        assert len(set(header)) == len(header)


def test_the_memory_over_one_step(wireplan):
    answer = wireplan.json("estimate", "story", "--timeline")
    (line,) = answer["timeline"]["memory"]
    points = line["points"]
    assert line["stage"] == 0
    assert points == sorted(points, key=lambda p: p[0]) and points[0][0] == 0
    assert abs(points[-1][0] - answer["step"]["time_s"]["value"]) < 1e-9
    memory = answer["memory"]
    assert abs(max(b for _, b in points) - memory["allocated_bytes"]["value"]) < 64
    assert abs(points[0][1] - memory["phases"]["between_steps"]) < 64
    del answer["timeline"]
    assert answer == wireplan.json("estimate", "story")
    stages = wireplan.json("estimate", "llama-3-70b-megatron", "--timeline")
    assert [m["stage"] for m in stages["timeline"]["memory"]] == [r["stage"] for r in stages["memory"]["ranks"]]


def test_what_every_stream_does(wireplan):
    answer = wireplan.json("estimate", "story", "--set", "parallel.data_sharding=fsdp", "--set", "training.global_batch_size=8", "--timeline")
    streams = {s["stream"]: s["events"] for s in answer["timeline"]["streams"]}
    assert set(streams) == {"compute", "network"}
    for events in streams.values():
        for event, following in zip(events, events[1:]):
            assert event["start_s"] + event["duration_s"] <= following["start_s"] * (1 + 1e-12)
    assert abs(streams["compute"][-1]["start_s"] + streams["compute"][-1]["duration_s"] - answer["step"]["time_s"]["value"]) < 1e-9
    for event in streams["network"]:
        assert answer["communication"][event["communication"]]["name"] == event["name"]
    assert {e["name"] for e in streams["compute"] if e["micro_batch"] == 1} >= {f"{d} of layer {n}" for d in ("forward", "backward") for n in range(32)}
    first = next(e for e in streams["compute"] if e["waits_for"])
    assert first["waits_for"] == "the first fsdp-all-gather-forward of the pass: nothing computes before it"


def test_the_time_line_in_words(wireplan):
    text = wireplan("estimate", "story", "--set", "parallel.data_sharding=fsdp", "--timeline").out
    assert "What does the GPU wait for?" in text and "the first fsdp-all-gather-forward of the pass" in text
    done = wireplan("estimate", "story", "--timeline", "--csv")
    assert done.returncode == 2 and "--timeline" in done.err and "--json" in done.err
