"""wireplan topology show: machines as text, JSON, CSV, Markdown and as a picture."""

import csv
import io
import json
import xml.etree.ElementTree as xml

import pytest

FORMS = ["", "--json", "--csv", "--markdown", "--svg"]


@pytest.fixture(scope="module")
def nodes(wireplan):
    return [n["id"] for n in wireplan.json("presets", "nodes")["presets"]]


def show(wireplan, *arguments, **options):
    done = wireplan("topology", "show", *arguments, **options)
    assert done.returncode == 0 and not done.err, done.err
    return done.out


@pytest.mark.parametrize("form", FORMS)
def test_every_node_in_every_form(wireplan, nodes, form):
    assert len(nodes) > 90
    for node in nodes:
        out = show(wireplan, node, *([form] if form else []))
        assert out.endswith("\n") and "nan" not in out.lower().split(), node
        if form == "--json":
            j = json.loads(out)
            assert j["schema"] == "wireplan.topology/1"
            ids = {c["id"] for c in j["components"]}
            assert all(link["a"] in ids and link["b"] in ids and link["planning_bytes_per_s"] > 0 for link in j["links"])
        elif form == "--csv":
            rows = list(csv.DictReader(io.StringIO(out)))
            assert all(float(row["planning [bytes/s]"]) > 0 for row in rows)
        elif form == "--svg":
            root = xml.fromstring(out)
            assert root.tag == "{http://www.w3.org/2000/svg}svg" and root[0].tag.endswith("title") and root[1].tag.endswith("desc")
        elif form == "":
            assert all(len(line) <= 100 for line in out.splitlines()), node


def test_bridged_pairs_by_hand(wireplan):
    j = wireplan.json("topology", "show", "a100-80gb-pcie-4x-pairs")
    assert j["paths"]["types"] == [["X", "NV12", "SYS", "SYS"], ["NV12", "X", "SYS", "SYS"], ["SYS", "SYS", "X", "NV12"], ["SYS", "SYS", "NV12", "X"]]
    assert j["paths"]["bytes_per_s"][0] == [None, 240e9, 16e9, 16e9]  # 12 NVLinks of 20 GB/s; AMD's socket link as NCCL plans with it
    assert all(all(row) for row in j["paths"]["p2p"])
    assert "cpu0–cpu1" in j["ring"]["bottleneck"] and j["ring"]["order"] in ([0, 1, 2, 3], [0, 1, 3, 2])
    # One ring each way: each direction of the socket link carries one edge.
    between = next(i for i, link in enumerate(j["links"]) if link["kind"] == "socket")
    assert sorted((load["direction"], load["flows"]) for load in j["ring"]["loads"] if load["link"] == between) == [("a-b", 1), ("b-a", 1)]
    assert [(p["type"], p["count"]) for p in j["pairs"]] == [("NV12", 2), ("SYS", 4)]


def test_some_gpus(wireplan):
    near = wireplan.json("topology", "show", "a100-80gb-pcie-4x-pairs", "--gpus", "0,1")["ring"]
    far = wireplan.json("topology", "show", "a100-80gb-pcie-4x-pairs", "--gpus", "2,0")["ring"]
    assert near["bus_bandwidth_bytes_per_s"] > 5 * far["bus_bandwidth_bytes_per_s"]
    assert sorted(far["order"]) == [0, 2]
    assert "GPUs 2,0" in show(wireplan, "a100-80gb-pcie-4x-pairs", "--gpus", "2,0")


def test_no_peer_access_is_said(wireplan):
    text = " ".join(show(wireplan, "rtx-4090-8x").split())
    assert "(P2P): no, copies go through host memory" in text and "PHB = a PCIe host bridge" in text
    assert wireplan.json("topology", "show", "rtx-4090-8x")["assumed"][0] == {
        "path": "cluster.node.sockets", "value": 2, "why": "number of sockets not stated"}
    assert "DRAM" in show(wireplan, "rtx-4090-8x", "--svg")


def test_planning_rates_are_called_so(wireplan):
    text = " ".join(show(wireplan, "dgx-a100-80gb").split())
    assert '"NCCL plans" is the constant' in text and "nominal" in text and "busy" not in text
    assert "NCCL planning rate; nominal 300 GB/s" in show(wireplan, "dgx-a100-80gb", "--svg")


def test_clusters_from_files_plans_and_standard_input(wireplan, tmp_path):
    plain = show(wireplan, "dgx-a100-80gb", "--json")
    documents = {
        "cluster": {"node": "dgx-a100-80gb"},
        "written": json.loads(plain)["cluster"],
        "plan": {"model": "mistral-7b-v0.1", "cluster": {"node": "dgx-a100-80gb"}},
    }
    for name, document in documents.items():
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(document))
        assert show(wireplan, str(file), "--json") == plain, name
        assert show(wireplan, "-", "--json", text=json.dumps(document)) == plain, name
    assert "4 are used" in " ".join(show(wireplan, "story").split())


HOSTILE = {
    "node": {
        "name": "<b>&'\" </svg><script>alert(1)</script>",
        "gpu": "a100-80gb-pcie", "gpus": 2, "sockets": 1, "numa_nodes": 1,
        "wiring": {
            "kind": "graph",
            "components": [
                {"id": "</text><script>alert(1)</script>", "kind": "gpu", "numa": 0},
                {"id": "&amp;\"'`|*[x](http://y)", "kind": "gpu", "numa": 0},
                {"id": "a\u202eb\u2066c", "kind": "cpu", "numa": 0},
            ],
            "links": [
                {"a": "</text><script>alert(1)</script>", "b": "a\u202eb\u2066c", "kind": "pcie", "bytes_per_s": 2e10},
                {"a": "&amp;\"'`|*[x](http://y)", "b": "a\u202eb\u2066c", "kind": "pcie", "generation": 4, "lanes": 16},
            ],
        },
    }
}


@pytest.mark.parametrize("form", FORMS)
def test_names_that_a_user_chose_stay_names(wireplan, form):
    out = show(wireplan, "-", *([form] if form else []), text=json.dumps(HOSTILE))
    if form == "--json":
        assert json.loads(out)["components"][0]["id"] == "</text><script>alert(1)</script>"
        return
    assert "\u202e" not in out and "\u2066" not in out and "\x1b" not in out
    if form == "--svg":
        root = xml.fromstring(out)
        assert not [e for e in root.iter() if e.tag.split("}")[1] not in ("svg", "title", "desc", "style", "rect", "text", "path", "g")]
    if form == "--markdown":
        outside = out.split("```")[0::2]
        assert not any("<script" in part.replace("\\<", "") for part in outside)


def test_sixteen_gpus_and_a_rack(wireplan):
    assert len(wireplan.json("topology", "show", "dgx2-v100-32gb")["paths"]["types"]) == 16
    assert "17 more trays" in show(wireplan, "gb200-nvl72", "--svg")


@pytest.mark.parametrize("arguments", [
    ["no-such-node"],
    ["dgx-a100-80gb", "--gpus", "0,8"],
    ["dgx-a100-80gb", "--gpus", "0,0"],
    ["dgx-a100-80gb", "--gpus", "0,,1"],
    ["dgx-a100-80gb", "--gpus", "-1"],
    ["dgx-a100-80gb", "--gpus", "a"],
    ["dgx-a100-80gb", "--gpus", "99999999999"],
    ["dgx-a100-80gb", "extra"],
    [],
])
def test_bad_input(wireplan, arguments):
    wireplan.errors("topology", "show", *arguments)


def test_a_near_name_is_offered(wireplan):
    (error,) = wireplan.errors("topology", "show", "dgx-a100-80")
    assert "dgx-a100-80gb" in error["text"]


def test_one_form_at_a_time(wireplan):
    assert wireplan("topology", "show", "dgx-a100-80gb", "--svg", "--json").returncode == 2
    assert wireplan("topology", "show", "dgx-a100-80gb", "--csv", "--svg").returncode == 2


def test_topology_without_a_word(wireplan):
    (error,) = wireplan.errors("topology")
    assert "topology show" in error["text"]


@pytest.mark.parametrize("document", ["", "{", "[]", "3", "null", '{"node":"x"}', '{"nodes":2}', '{"cluster":7}'])
def test_documents_that_are_none(wireplan, document):
    wireplan.errors("topology", "show", "-", text=document)
