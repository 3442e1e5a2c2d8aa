"""Which rank on which GPU: estimate --placement, cluster.gpus."""
import json

PAIRS = ["--set", "cluster=a100-80gb-pcie-4x-pairs", "--set", "parallel.framework=megatron", "--set", "parallel.data=2", "--set", "parallel.tensor=2"]
TORN = [*PAIRS, "--set", "parallel.placement=[0,2,1,3]"]  # no tensor group inside a bridged pair


def test_the_document_has_the_best_mapping_beside_the_estimate(wireplan):
    document = wireplan.json("estimate", "story", *TORN, "--placement")
    plain = wireplan.json("estimate", "story", *TORN)
    placement = document.pop("placement")
    assert document == plain
    best = placement["best"]
    assert placement["schema"] == "wireplan.placement/1"
    assert placement["current"]["time_s"] == plain["step"]["time_s"]
    assert best["edits"] == [{"path": "parallel.placement", "value": None}]
    assert best["gain_s"] > 0 and best["exact"]
    edits = [argument for edit in best["edits"] for argument in ("--set", f"{edit['path']}={json.dumps(edit['value'])}")]
    assert wireplan.json("estimate", "story", *TORN, *edits)["step"]["time_s"] == best["time_s"]


def test_the_text_says_what_to_set(wireplan):
    text = wireplan("estimate", "story", *TORN, "--placement").out
    assert "Which rank on which GPU?" in text and "--set parallel.placement=null" in text
    assert all(len(line) <= 100 for line in text.splitlines() if "#v=1" not in line)
    assert "Which rank on which GPU?" not in wireplan("estimate", "story", *TORN).out
    assert "## Which rank on which GPU?" in wireplan("estimate", "story", *TORN, "--placement", "--markdown").out
    assert "as well as they can" in " ".join(wireplan("estimate", "story", *PAIRS, "--placement").out.split())


def test_a_bad_mapping_is_noted_without_being_asked_for(wireplan):
    def noted(*arguments):
        return [n["text"] for n in wireplan.json("estimate", "story", *arguments)["notes"] if n["path"] == "parallel.placement"]
    assert len(noted(*TORN)) == 1 and "GPUs nearest to each other" in noted(*TORN)[0]
    assert noted(*PAIRS) == []


def test_listed_gpus_are_used_and_travel_in_the_link(wireplan):
    half = ["--set", "cluster=dgx1-v100-32gb", "--set", "cluster.gpus=[4,5,6,7]"]
    document = wireplan.json("estimate", "story", *half)
    assert document["plan"]["cluster"]["gpus"] == [4, 5, 6, 7] and document["plan"]["cluster"]["gpus_per_node"] == 4
    assert document["wiring"]["groups"][0]["order"] == [4, 5, 6, 7]
    link = wireplan("estimate", "story", *half, "--print-link").out.strip()
    assert wireplan.json("estimate", link)["plan"] == document["plan"]
    assert "gpus" not in wireplan.json("estimate", "story")["plan"]["cluster"]
