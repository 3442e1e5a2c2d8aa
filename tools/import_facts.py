#!/usr/bin/env python3
"""Turn the survey tables (models.csv, gpus.csv, nodes.csv, FACTS.md) into preset files, and check presets.

    import_facts.py FACTS_DIR ASSETS_DIR     write ASSETS_DIR/{models,gpus,nodes}/<id>.json
    import_facts.py --check ASSETS_DIR [IDS] verify every preset, and that the ids of IDS (a JSON file) resolve

Every row of the tables becomes one file. An empty cell is "not known": the key is left out, never zero.
The tables say the wiring of a node in prose; node_wiring.py is that prose read once, by hand. Whatever is not
in the prose is listed in the preset's `assumed`.
"""
import csv
import json
import re
import sys
from itertools import combinations
from pathlib import Path

sys.dont_write_bytecode = True
from check_assets import check
from node_wiring import CPUS, CUBE_ROW, MESH_LINKS, NO_COUNT, NODES, PAIR_LINKS, cube_links, even

# ---------------------------------------------------------------------------------------------- writing

def dump(value, indent=0):
    """JSON, two spaces, arrays of scalars and small objects inside arrays on one line."""
    pad, inner = "  " * indent, "  " * (indent + 1)
    if isinstance(value, dict) and value:
        rows = [f"{inner}{json.dumps(k)}: {dump(v, indent + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{pad}}}"
    if isinstance(value, list) and value:
        flat = json.dumps(value, ensure_ascii=False)
        scalars = all(not isinstance(v, (dict, list)) for v in value)
        if scalars or (len(flat) <= 100 and all(isinstance(v, list) for v in value)):
            return flat
        if all(isinstance(v, dict) and len(json.dumps(v)) <= 150 for v in value) or all(isinstance(v, list) for v in value):
            rows = [inner + json.dumps(v, ensure_ascii=False) for v in value]
        else:
            rows = [inner + dump(v, indent + 1) for v in value]
        return "[\n" + ",\n".join(rows) + f"\n{pad}]"
    return json.dumps(value, ensure_ascii=False)


def write(folder, ident, preset):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{ident}.json").write_text(dump(preset) + "\n", encoding="utf-8")


def rows_of(path):
    """The rows of a table; "as above" becomes "as <id>", since a preset has no row above it."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    anchor = ""
    for row in rows:
        if row["verified"].startswith("as above"):
            row["verified"] = row["verified"].replace("as above", f"as {anchor}", 1)
        else:
            anchor = row["id"]
    return rows


# A cell may name a table of runs or a description by its file; a preset names what that holds.
WORDS = [(re.compile(pattern), text) for pattern, text in [
    (r"\w+/training[.]\w+", "the published training runs collected for this project"),
    (r"see each source", "see the source of each run"),
    (r"collectives[.]\w+", "published nccl-tests runs"),
    (r"(?<=wiring from )ID[S][.]md", "the description of published training runs"),
    (r"(\w+/)?ID[S][.]md", "description of published training runs"),
]]
NODE_NAMES = {  # two rows of one name
    "dgx1-v100-16gb": "DGX-1 (8 x V100 SXM2 16 GB)", "dgx1-v100-32gb": "DGX-1 (8 x V100 SXM2 32 GB)",
}
WHO = "description used with published training runs; no further source"
NODE_SOURCES = {  # rows whose source cell names a file of the survey or another row
    "rtx-3090-2x": "https://github.com/AnswerDotAI/fsdp_qlora/blob/05ed9f2/benchmarks_03_2024.md",
    "rtx-4090-2x": "https://github.com/AnswerDotAI/fsdp_qlora/blob/05ed9f2/benchmarks_03_2024.md",
    "rtx-4090-8x": WHO, "rtx-a5000-2x": WHO, "rtx-a6000-4x": WHO, "titan-rtx-2x-nvlink": WHO,
}


def words(text):
    for pattern, replacement in WORDS:
        text = pattern.sub(replacement, text)
    return text


def put(preset, key, cell, kind=str):
    """One cell of a table into the preset; an empty cell leaves the key out."""
    if cell == "":
        return
    if kind is bool:
        preset[key] = {"true": True, "false": False}[cell]
    elif kind is int:
        preset[key] = int(cell)
    else:
        preset[key] = words(cell)


# ----------------------------------------------------------------------------------------------- models

MODEL_KEYS = [
    ("hidden_size", int), ("num_layers", int), ("num_attention_heads", int), ("num_key_value_heads", int),
    ("head_dim", int), ("intermediate_size", int), ("mlp", str), ("vocab_size", int), ("tie_word_embeddings", bool),
    ("norm", str), ("norms_per_layer", int), ("final_norm", bool), ("embedding_norm", bool), ("qkv_bias", bool),
    ("o_bias", bool), ("mlp_bias", bool), ("head_bias", bool), ("qk_norm", str), ("attention_sinks", bool),
    ("position", str), ("max_position_embeddings", int), ("extra_position_rows", int), ("sliding_window", int),
]
MOE_KEYS = [
    ("num_experts", int), ("experts_per_token", int), ("intermediate_size", int), ("num_shared_experts", int),
    ("shared_intermediate_size", int), ("shared_gate", bool), ("first_dense_layers", int), ("every", int),
    ("router_bias", str), ("expert_bias", bool),
]
MLA_KEYS = [(k, int) for k in ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")]
WINDOW_PATTERNS = {  # prose -> global layers; None: every layer has the window
    "all layers": None,
    "all layers; wider than the context, so without effect": None,
    "alternating, even layers (0, 2, ...) local": {"global_every": 2},
    "5 local then 1 global": {"global_every": 6},
    "chunked attention of 8192 on 3 of 4 layers; every 4th layer global without rope": {"global_every": 4},
}
ROUTER_BIAS = {"none": "none", "trained": "trained", "correction (not trained by gradient)": "correction"}


def model_preset(row):
    m = {}
    put(m, "name", row["name"])
    put(m, "family", row["family"])
    for key, kind in MODEL_KEYS:
        put(m, key, row[key], kind)
    note = words(row["note"])
    if "squared ReLU" in note:
        m["mlp"] = "relu2"
    if row["sliding_window_pattern"]:
        pattern = WINDOW_PATTERNS[row["sliding_window_pattern"]]
        if pattern:
            m["sliding_window_pattern"] = pattern
        m["sliding_window_note"] = row["sliding_window_pattern"]
    for group, keys in (("moe", MOE_KEYS), ("mla", MLA_KEYS)):
        inner = {}
        for key, kind in keys:
            put(inner, key, row[f"{group}.{key}"], kind)
        if inner:
            if group == "moe":
                inner["router_bias"] = ROUTER_BIAS[inner["router_bias"]]
            m[group] = inner
    put(m, "exact_parameters", row["exact_parameters"], int)
    put(m, "exact_parameters_basis", row["exact_parameters_basis"])
    put(m, "published_parameters", row["published_parameters"], int)
    put(m, "published_how", row["published_how"])
    put(m, "count_check", row["count_check"])
    put(m, "active_parameters_published", row["active_parameters_published"], int)
    put(m, "active_parameters_computed", row["active_parameters_computed"], int)
    for key in ("source", "upstream", "verified"):
        put(m, key, row[key])
    put(m, "note", note)
    return m


# ------------------------------------------------------------------------------------------------- GPUs

GPU_KEYS = [
    ("memory_bytes", "memory_bytes", int), ("reported_bytes", "reported_bytes", int), ("memory_type", "memory_type", str),
    ("hbm_bytes_per_s", "hbm_bytes_per_s", int), ("fp32_flops", "fp32_flops_per_s", int),
    ("tf32_flops", "tf32_flops_per_s", int), ("bf16_flops", "bf16_flops_per_s", int),
    ("fp16_flops", "fp16_flops_per_s", int),
    ("fp16_with_fp16_accumulate_flops", "fp16_with_fp16_accumulate_flops_per_s", int),
    ("fp8_flops", "fp8_flops_per_s", int),
    ("fp8_with_fp16_accumulate_flops", "fp8_with_fp16_accumulate_flops_per_s", int),
    ("fp6_flops", "fp6_flops_per_s", int), ("fp4_flops", "fp4_flops_per_s", int), ("int8_ops", "int8_ops_per_s", int),
    ("sm_count", "sm_count", int), ("boost_clock_hz", "boost_clock_hz", int), ("l2_bytes", "l2_bytes", int),
    ("tdp_w", "tdp_w", int),
]
CONFLICT_IDS = {  # first column of the table "Conflicts left open" -> presets
    "B300": ["b300-288gb-sxm"], "B300, GB300": ["b300-288gb-sxm", "gb300-288gb"], "GB200": ["gb200-186gb"],
    "B200": ["b200-180gb-sxm"], "H100 96 GB HBM2e": ["h100-96gb-hbm2e-sxm"], "A10G": ["a10g-24gb"],
    "RTX 6000 Ada": ["rtx-6000-ada-48gb"], "RTX PRO 6000 Server": ["rtx-pro-6000-server-96gb"],
    "L40S": ["l40s-48gb"], "A100, A800 PCIe 80 GB": ["a100-80gb-pcie", "a800-80gb-pcie"], "L4": ["l4-24gb"],
    "V100 SXM2": ["v100-16gb-sxm", "v100-32gb-sxm"], "AMD HBM3": ["mi300a-128gb", "mi300x-192gb"],
}
P2P_WORDS = {  # cell -> (peer access over PCIe, sentence kept in the note)
    "yes": (True, ""), "": (None, ""),
    "no (blocked by the vendor driver; a patched kernel module opens it)":
        (False, "PCIe P2P blocked by the vendor driver; a patched kernel module opens it"),
    "over NVLink bridge; PCIe P2P no (blocked by the vendor driver; a patched kernel module opens it)":
        (False, "P2P over NVLink bridge; PCIe P2P blocked by the vendor driver; a patched kernel module opens it"),
    "over NVLink bridge": (None, "P2P over NVLink bridge; over PCIe not known"),
}


def conflicts_of(facts):
    """The table 'Conflicts left open' of FACTS.md as {gpu id: text}."""
    found = {}
    table = facts.split("Conflicts left open:", 1)[1].split("\n\n", 2)[1]
    for line in table.splitlines()[2:]:
        name, what, values = (cell.strip() for cell in line.strip("|").split("|"))
        for ident in CONFLICT_IDS[name]:
            text = f"{what}: {values}"
            found[ident] = f"{found[ident]}. {text}" if ident in found else text
    return found


def gpu_preset(row, conflicts):
    g = {}
    put(g, "name", row["name"])
    put(g, "architecture", row["architecture"])
    put(g, "form", row["form"])
    put(g, "launch_year", row["launch_year"], int)
    for column, key, kind in GPU_KEYS:
        put(g, key, row[column], kind)
    note = [words(row["note"])] if row["note"] else []
    if row["nvlink_links"]:
        link = {}
        if row["nvlink_generation"] == "infinity-fabric":
            link["kind"] = "xgmi"
        else:
            link["generation"] = int(row["nvlink_generation"])
        link["links"] = int(row["nvlink_links"])
        link["bytes_per_s_per_direction"] = int(row["nvlink_bytes_per_s_per_direction"])
        g["nvlink"] = link
    elif row["nvlink_generation"]:
        note.append("has Infinity Fabric; count and rate of its links are not known")
    g["pcie"] = {"generation": int(row["pcie_generation"]), "lanes": int(row["pcie_lanes"])}
    allowed, sentence = P2P_WORDS[row["p2p_pcie"]]
    if allowed is not None:
        g["p2p_pcie"] = allowed
    if sentence:
        note.append(sentence)
    put(g, "peak_basis", row["peak_basis"])
    put(g, "published_vs_arithmetic", row["published_vs_arithmetic"])
    if row["id"] in conflicts:
        g["conflicts"] = conflicts[row["id"]]
    put(g, "source", row["source"])
    put(g, "verified", row["verified"])
    put(g, "note", "; ".join(note))
    return g


# ------------------------------------------------------------------------------------------------ nodes

def node_preset(row, cube):
    ident, gpus = row["id"], int(row["gpus"])
    cpu, groups, options = NODES[ident]
    kind = options.get("kind", row["wiring_kind"])
    wiring = {"kind": kind}
    if kind == "nvlink-mesh":
        if ident in MESH_LINKS:
            wiring["links"] = [[a, b, MESH_LINKS[ident]] for a, b in combinations(range(gpus), 2)]
        else:
            links = cube_links(row["nvlink_topology"]) or cube
            wiring["links"] = [[a, b, 1] for a, b, _ in links] if "one NVLink 1 link" in row["nvlink_topology"] else links
    elif kind == "nvlink-pairs":
        wiring["pairs"] = [[i, i + 1] for i in range(0, gpus, 2)]
        wiring["links_per_pair"] = PAIR_LINKS[ident]
    wiring["groups"] = groups
    if "pcie" in options:
        wiring["pcie"] = options["pcie"]

    sockets = int(row["cpu_sockets"] or options["sockets"])
    assumed = []
    if not row["cpu_sockets"]:
        assumed.append({"path": "sockets", "value": sockets, "why": NO_COUNT})
    if "cpu" in options:
        assumed.append({"path": "cpu.nccl_class", "value": cpu, "why": options["cpu"]})
    if "layout" in options:
        shared = max(len(g["gpus"]) for g in groups)
        value = f"{len([g for g in groups if g['gpus']])} groups of {shared}" if len(groups) > 1 else f"one group of {shared}"
        assumed.append({"path": "wiring.groups", "value": value, "why": options["layout"]})
    assumed += options.get("assumed", [])

    n = {}
    put(n, "name", NODE_NAMES.get(ident, row["name"]))
    put(n, "gpu", row["gpu"])
    n["gpus"] = gpus
    n["wiring"] = wiring
    put(n, "p2p", row["p2p"], bool)
    n["sockets"] = sockets
    n["numa_nodes"] = options.get("numa_nodes", sockets)
    n["cpu"] = CPUS[cpu]
    if row["fabric"] and row["nics"] not in ("", "0") and row["nic_gbit_per_s"]:
        n["network"] = f"{row['fabric']}-{row['nics']}x{row['nic_gbit_per_s']}"
    if assumed:
        n["assumed"] = assumed
    layout = {}
    put(layout, "pcie", row["pcie_layout"])
    put(layout, "nvlink", row["nvlink_topology"])
    put(layout, "nics", row["nic_attachment"])
    put(layout, "cpu", row["cpu"])
    if layout:
        n["layout"] = layout
    return n


def illustrative_nodes():
    """Four ways to build a box of four A100 PCIe cards: the card held fixed, only the wiring differs."""
    two = even(4, 2, 2, switch=False)
    plans = {
        "pairs": ("two NVLink bridges", {"kind": "nvlink-pairs", "pairs": [[0, 1], [2, 3]], "links_per_pair": 12, "groups": two}, True, 2),
        "host": ("no bridges, P2P through the host", {"kind": "pcie-host", "groups": two}, True, 2),
        "no-p2p": ("no bridges, no P2P", {"kind": "pcie-host", "groups": two}, False, 2),
        "switch": ("one PCIe switch", {"kind": "pcie-switch", "groups": even(4, 1, 4)}, True, 1),
    }
    for name, (words_, wiring, p2p, sockets) in plans.items():
        yield f"a100-80gb-pcie-4x-{name}", {
            "name": f"4 x A100 80 GB PCIe, {words_}", "gpu": "a100-80gb-pcie", "gpus": 4, "wiring": wiring, "p2p": p2p,
            "sockets": sockets, "numa_nodes": sockets, "cpu": CPUS["amd"],
            "assumed": [{"path": "wiring", "value": wiring["kind"], "why": "a typical build, not a product"},
                        {"path": "cpu.nccl_class", "value": "amd", "why": "a typical build, not a product"}],
            "source": "https://www.nvidia.com/en-us/data-center/a100/", "verified": "card only",
            "note": "basis: illustrative. For comparing wirings with the card held fixed",
        }


# ----------------------------------------------------------------------------------------------- import

def build(facts_dir, assets):
    facts = (facts_dir / "FACTS.md").read_text(encoding="utf-8")
    models = rows_of(facts_dir / "models.csv")
    gpus = rows_of(facts_dir / "gpus.csv")
    nodes = rows_of(facts_dir / "nodes.csv")
    for row in models:
        write(assets / "models", row["id"], model_preset(row))
    conflicts = conflicts_of(facts)
    for row in gpus:
        if row["reported_mib"] and int(row["reported_mib"]) * 2**20 != int(row["reported_bytes"]):
            sys.exit(f"{row['id']}: reported_mib and reported_bytes disagree")
        write(assets / "gpus", row["id"], gpu_preset(row, conflicts))
    by_id = {row["id"]: row for row in nodes}
    cube = cube_links(by_id[CUBE_ROW]["nvlink_topology"])
    for row in nodes:
        preset = node_preset(row, cube)
        source = NODE_SOURCES.get(row["id"], row["source"])
        if source.startswith("as "):
            source = by_id[source[3:]]["source"]
        put(preset, "source", source)
        put(preset, "verified", row["verified"])
        put(preset, "note", row["note"])
        write(assets / "nodes", row["id"], preset)
    extra = list(illustrative_nodes())
    for ident, preset in extra:
        write(assets / "nodes", ident, preset)
    print(f"{len(models)} models, {len(gpus)} GPUs, {len(nodes)} nodes and {len(extra)} illustrative nodes written")


if __name__ == "__main__":
    if len(sys.argv) >= 3 and sys.argv[1] == "--check":
        sys.exit(check(Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None))
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build(Path(sys.argv[1]), Path(sys.argv[2]))
