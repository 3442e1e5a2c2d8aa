"""presets: what can be named, and folders of one's own."""

import csv
import io
import json

import pytest

from program import ROOT

KINDS = ["scenarios", "models", "gpus", "nodes", "networks", "implementations", "measurements"]


def test_all_kinds(wireplan):
    kinds = {k["kind"]: k["count"] for k in wireplan.json("presets")["kinds"]}
    for kind in KINDS:
        assert kinds[kind] == len(list((ROOT / "assets" / kind).glob("*.json"))), kind
        assert kind in wireplan("presets").out


@pytest.mark.parametrize("kind", KINDS)
def test_every_preset_is_listed_with_its_source(wireplan, kind):
    document = wireplan.json("presets", kind)
    assert document["kind"] == kind
    files = {f.stem: json.loads(f.read_text("utf-8")) for f in (ROOT / "assets" / kind).glob("*.json")}
    assert [p["id"] for p in document["presets"]] == sorted(files)
    for preset in document["presets"]:
        file = files[preset["id"]]
        assert preset["source"] == file["source"] and preset["verified"] == file.get("verified")
        assert preset["name"] == file.get("name", file.get("title"))
    text = wireplan("presets", kind).out
    rows = list(csv.DictReader(io.StringIO(wireplan("presets", kind, "--csv").out)))
    assert [r["id"] for r in rows] == sorted(files)
    assert wireplan("presets", kind, "--markdown").out.count("\n") == len(files) + 2
    for preset in document["presets"]:
        assert f"  {preset['id']}" in text and preset["source"].split()[0] in text


def test_key_facts(wireplan):
    (mistral,) = (m for m in wireplan.json("presets", "models")["presets"] if m["id"] == "mistral-7b-v0.1")
    assert mistral["exact_parameters"] == 7_241_732_096 and mistral["num_layers"] == 32
    (dgx,) = (n for n in wireplan.json("presets", "nodes")["presets"] if n["id"] == "dgx-a100-80gb")
    assert dgx["gpus"] == 8 and dgx["wiring"] == "nvswitch"


def test_one_preset_is_printed_as_it_is_written(wireplan):
    file = json.loads((ROOT / "assets/models/mistral-7b-v0.1.json").read_text("utf-8"))
    assert wireplan.json("presets", "models", "mistral-7b-v0.1") == file
    assert json.loads(wireplan("presets", "models", "mistral-7b-v0.1").out) == file


def test_near_ids_on_a_typo(wireplan):
    (error,) = wireplan.errors("presets", "models", "mistral-7b-v0.2")
    assert error["path"] == "id" and "mistral-7b-v0.1" in error["text"]
    (error,) = wireplan.errors("presets", "model")
    assert error["path"] == "kind" and "models" in error["limit"]


def own_presets(folder, **change):
    model = json.loads((ROOT / "assets/models/mistral-7b-v0.1.json").read_text("utf-8"))
    model = {k: v for k, v in model.items() if "parameters" not in k and k not in ("published_how", "count_check")}
    (folder / "models").mkdir()
    (folder / "models/half-mistral.json").write_text(json.dumps({**model, "name": "Half Mistral", "num_layers": 16, **change}))
    return folder


def test_a_folder_of_ones_own(wireplan, tmp_path):
    folder = str(own_presets(tmp_path))
    plan = ["story", "--set", "model=half-mistral", "--presets", folder]
    assert wireplan.json("estimate", *plan)["model"]["parameters"] == 7_241_732_096 - 16 * 218_112_000
    assert "half-mistral" in [m["id"] for m in wireplan.json("presets", "models", "--presets", folder)["presets"]]


@pytest.mark.parametrize("change,path", [({"num_layers": 0}, "num_layers"), ({"surprise": 1}, "surprise"), ({"hidden_size": "4096"}, "hidden_size")])
def test_a_wrong_preset_is_refused_by_name_and_path(wireplan, tmp_path, change, path):
    errors = wireplan.errors("presets", "--presets", str(own_presets(tmp_path, **change)))
    assert any("half-mistral" in e["path"] and path in e["path"] for e in errors), errors


def test_a_folder_that_is_none(wireplan, tmp_path):
    (error,) = wireplan.errors("estimate", "story", "--presets", str(tmp_path / "nothing"))
    assert "nothing" in error["text"]
