"""Checks of the preset files that need no build: counts, references between files, scenario arithmetic.

The product's own loader is the judge of the format; this is the second opinion on the numbers.
"""
import json
import re
from pathlib import Path

MODEL_KEYS = set("""name family hidden_size num_layers num_attention_heads num_key_value_heads head_dim intermediate_size mlp
vocab_size tie_word_embeddings norm norms_per_layer final_norm embedding_norm qkv_bias o_bias mlp_bias head_bias qk_norm
attention_sinks position max_position_embeddings extra_position_rows sliding_window sliding_window_pattern
sliding_window_note moe mla exact_parameters exact_parameters_basis published_parameters published_how count_check
active_parameters_published active_parameters_computed source upstream verified note""".split())
GPU_KEYS = set("""name architecture form launch_year memory_bytes reported_bytes memory_type hbm_bytes_per_s fp32_flops_per_s
tf32_flops_per_s bf16_flops_per_s fp16_flops_per_s fp16_with_fp16_accumulate_flops_per_s fp8_flops_per_s
fp8_with_fp16_accumulate_flops_per_s fp6_flops_per_s fp4_flops_per_s int8_ops_per_s sm_count boost_clock_hz l2_bytes
tdp_w nvlink pcie p2p_pcie peak_basis published_vs_arithmetic conflicts source verified note""".split())
NODE_KEYS = set("""name gpu gpus wiring p2p sockets numa_nodes cpu network host_memory_bytes assumed layout source verified
note""".split())
FABRICS = {"infiniband", "roce", "efa", "ethernet", "omnipath", "slingshot", "tcpx", "tcpxo"}
SHARDING = {"megatron": {"ddp", "zero1", "fsdp"}, "deepspeed": {"ddp", "zero1", "zero2", "zero3"},
            "pytorch": {"ddp", "zero1", "zero2", "fsdp", "hsdp"}}
# A preset says where a fact is published: no file of the survey, no place on one machine, no mirror of packages.
FORBIDDEN = re.compile(r"p[y]pi|python[h]osted|npm[j]s|crates[.]io|share[d]/|ID[S][.]md|[.]jsonl|/(work|home|tmp)\b", re.I)


def norm_size(kind, width):
    return {"rmsnorm": width, "layernorm": 2 * width, "layernorm1p": 2 * width,
            "layernorm-nobias": width, "layernorm-noparam": 0}[kind]


def parameters(m, active=False):
    """The count of the plan document's model keys, part by part; `active`: experts met by one token only."""
    h, layers, a, k = m["hidden_size"], m["num_layers"], m["num_attention_heads"], m["num_key_value_heads"]
    d, f, vocab, norm = m["head_dim"], m["intermediate_size"], m["vocab_size"], m["norm"]
    gated = m["mlp"] in ("swiglu", "geglu")
    if "mla" in m:
        x = m["mla"]
        query_head = x["qk_nope_head_dim"] + x["qk_rope_head_dim"]
        rank = x.get("q_lora_rank")
        attention = h * rank + rank + rank * a * query_head if rank else h * a * query_head
        attention += h * (x["kv_lora_rank"] + x["qk_rope_head_dim"]) + x["kv_lora_rank"]
        attention += x["kv_lora_rank"] * a * (x["qk_nope_head_dim"] + x["v_head_dim"]) + a * x["v_head_dim"] * h
    else:
        attention = h * a * d + 2 * h * k * d + a * d * h
    attention += (a + 2 * k) * d if m["qkv_bias"] else 0
    attention += h if m["o_bias"] else 0
    attention += a if m["attention_sinks"] else 0
    attention += {"none": 0, "l2-no-weight": 0, "per-head": 2 * d, "full": (a + k) * d}[m["qk_norm"]]
    dense = (3 if gated else 2) * h * f
    if m["mlp_bias"]:
        dense += (2 * f if gated else f) + h
    moe_layers, moe = 0, 0
    if "moe" in m:
        x = m["moe"]
        experts, fe = x["num_experts"], x["intermediate_size"]
        used = x["experts_per_token"] if active else experts
        moe = used * 3 * h * fe + h * experts + 3 * h * x.get("shared_intermediate_size", 0)
        moe += experts if x["router_bias"] != "none" else 0
        moe += used * (2 * fe + h) if x["expert_bias"] else 0
        moe += h if x["shared_gate"] else 0
        every = x["every"]
        moe_layers = sum(1 for i in range(layers) if i >= x["first_dense_layers"] and i % every == every - 1)
    total = layers * (attention + m["norms_per_layer"] * norm_size(norm, h))
    total += moe_layers * moe + (layers - moe_layers) * dense
    total += norm_size(norm, h) * (m["final_norm"] + m["embedding_norm"])
    total += vocab * h * (1 if m["tie_word_embeddings"] else 2) + (vocab if m["head_bias"] else 0)
    if m["position"] == "learned":
        total += (m["max_position_embeddings"] + m.get("extra_position_rows", 0)) * h
    return total


def load(folder):
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def check_models(models, fail):
    for ident, m in models.items():
        for key in set(m) - MODEL_KEYS:
            fail(f"models/{ident}: unknown key {key}")
        count = parameters(m)
        if count != m["exact_parameters"]:
            fail(f"models/{ident}: computed {count}, exact_parameters {m['exact_parameters']}")
        if m["count_check"] == "equal" and m.get("published_parameters") != count:
            fail(f"models/{ident}: computed {count}, published_parameters {m.get('published_parameters')}")
        minus = re.match(r"published total .* (\d+); minus (\d+) = this", m.get("published_how", ""))
        if m["count_check"] == "derived" and (not minus or int(minus[1]) - int(minus[2]) != count):
            fail(f"models/{ident}: {m['published_how']}, but the count is {count}")
        explained = re.match(r"explained, published ([+-]\d+)", m["count_check"])
        if explained and m["published_parameters"] - count != int(explained[1]):
            fail(f"models/{ident}: {m['count_check']}, but the difference is {m['published_parameters'] - count}")
        if "moe" in m and parameters(m, active=True) != m["active_parameters_computed"]:
            fail(f"models/{ident}: active {parameters(m, active=True)}, file {m['active_parameters_computed']}")
        if "mla" not in m and m["num_attention_heads"] % m["num_key_value_heads"]:
            fail(f"models/{ident}: heads not divisible by KV heads")


def check_names(presets, fail):
    for kind in ("models", "gpus", "nodes"):
        seen = {}
        for ident, preset in presets[kind].items():
            if seen.setdefault(preset["name"], ident) != ident:
                fail(f"{kind}/{ident}: has the name of {seen[preset['name']]}")


def check_gpus(gpus, fail):
    for ident, g in gpus.items():
        for key in set(g) - GPU_KEYS:
            fail(f"gpus/{ident}: unknown key {key}")
        if g.get("reported_bytes", 0) > g["memory_bytes"] * 1.06:
            fail(f"gpus/{ident}: reports more than it has")
        for half, full in (("fp8_flops_per_s", "fp16_flops_per_s"), ("fp4_flops_per_s", "fp8_flops_per_s")):
            if half in g and not 0.9 <= g[half] / g[full] <= 4.1:
                fail(f"gpus/{ident}: {half} is {g[half] / g[full]:.2f} times {full}")


def check_nodes(nodes, gpus, fail):
    for ident, n in nodes.items():
        for key in set(n) - NODE_KEYS:
            fail(f"nodes/{ident}: unknown key {key}")
        if n["gpu"] not in gpus:
            fail(f"nodes/{ident}: no GPU preset {n['gpu']}")
            continue
        wiring, gpu = n["wiring"], gpus[n["gpu"]]
        grouped = sorted(g for group in wiring["groups"] for g in group["gpus"])
        if grouped != list(range(n["gpus"])):
            fail(f"nodes/{ident}: groups hold {grouped}")
        if {group["socket"] for group in wiring["groups"]} != set(range(n["sockets"])):
            fail(f"nodes/{ident}: sockets of the groups are not 0 to {n['sockets'] - 1}")
        if any(group["numa"] >= n["numa_nodes"] for group in wiring["groups"]):
            fail(f"nodes/{ident}: NUMA node beyond numa_nodes")
        per_gpu = [0] * n["gpus"]
        links = wiring.get("links", []) + [[a, b, wiring["links_per_pair"]] for a, b in wiring.get("pairs", [])]
        for a, b, count in links:
            per_gpu[a] += count
            per_gpu[b] += count
        if any(count > gpu.get("nvlink", {}).get("links", 0) for count in per_gpu):
            fail(f"nodes/{ident}: {max(per_gpu)} links on a GPU, {n['gpu']} has {gpu.get('nvlink')}")
        if wiring["kind"] == "nvswitch" and "nvlink" not in gpu:
            fail(f"nodes/{ident}: NVSwitch, but {n['gpu']} has no NVLink")
        if "network" in n:
            network = parse_network(n["network"])
            if not network:
                fail(f"nodes/{ident}: network {n['network']}")
            elif sum(group["nics"] for group in wiring["groups"]) != network[1]:
                fail(f"nodes/{ident}: {n['network']}, groups have {sum(g['nics'] for g in wiring['groups'])} NICs")


def parse_network(text):
    match = re.fullmatch(r"([a-z]+)-(\d+)x(\d+)", text)
    return (match[1], int(match[2]), int(match[3])) if match and match[1] in FABRICS else None


def check_scenario(ident, plan, models, nodes, gpus, implementations, fail):
    def wrong(text):
        fail(f"scenarios/{ident}: {text}")

    if plan.get("schema") != "wireplan.plan/1" or set(plan) - {"schema", "model", "training", "parallel", "cluster"}:
        wrong("not a plan")
    model = models.get(plan["model"]) if isinstance(plan["model"], str) else plan["model"]
    cluster = plan["cluster"]
    node = nodes.get(cluster["node"]) if isinstance(cluster["node"], str) else cluster["node"]
    if not model or not node or node["gpu"] not in gpus:
        return wrong("model, node or GPU does not resolve")
    if "network" in cluster and not parse_network(cluster["network"]):
        wrong("network does not resolve")
    t, p = plan.get("training", {}), plan.get("parallel", {})
    used = cluster.get("gpus_per_node", node["gpus"])
    world = cluster.get("nodes", 1) * used
    tensor, pipeline, context = p.get("tensor", 1), p.get("pipeline", 1), p.get("context", 1)
    data = p.get("data", world // (tensor * pipeline * context))
    expert, virtual = p.get("expert", 1), p.get("virtual_stages", 1)
    if tensor * pipeline * context * data != world or used > node["gpus"]:
        wrong(f"{tensor} x {pipeline} x {context} x {data} is not {world} GPUs")
    micro = t.get("micro_batch_size", 1)
    batch = t.get("global_batch_size", micro * data)
    if batch % (micro * data):
        wrong(f"batch {batch} not divisible by {micro * data}")
    steps = batch // (micro * data)
    framework = p.get("framework", "pytorch")
    if p.get("data_sharding", "ddp") not in SHARDING[framework]:
        wrong(f"{p['data_sharding']} under {framework}")
    if model["num_attention_heads"] % tensor:
        wrong("query heads not divisible by tensor")
    if (data * context * tensor) % (expert * (p.get("expert_tensor") or 1)):
        wrong("expert x expert_tensor does not divide data x context x tensor")
    if expert > 1 and model["moe"]["num_experts"] % expert:
        wrong("experts not divisible by expert")
    layers, schedule = model["num_layers"], p.get("pipeline_schedule", "1f1b")
    if layers % (pipeline * virtual) and (layers + 2) % (pipeline * virtual):
        wrong(f"{layers} layers over {pipeline} stages x {virtual}")
    if (schedule == "interleaved") != (virtual > 1):
        wrong("virtual_stages and schedule disagree")
    if schedule == "interleaved" and steps % pipeline:
        wrong(f"{steps} micro-batches over {pipeline} interleaved stages")
    if schedule.startswith("dualpipe") and (pipeline % 2 or steps < 2 * pipeline):
        wrong("DualPipe needs an even number of stages and twice as many micro-batches")
    if p.get("sequence_parallel") and (tensor == 1 or t.get("sequence_length", 4096) % tensor):
        wrong("sequence_parallel needs tensor > 1 that divides the sequence")
    implementation = (t.get("implementation") or "").split("@")[0]
    if implementation and framework not in implementations.get(implementation, {}).get("frameworks", []):
        wrong(f"implementation {implementation} under {framework}")
    if t.get("sequence_length", 4096) > model["max_position_embeddings"]:
        wrong("sequence beyond max_position_embeddings")


def check_ids(ids, presets, fail):
    for kind, entries in ids.items():
        for entry in entries if isinstance(entries, list) else []:
            ident = entry["id"]
            found = parse_network(ident) if kind == "networks" else ident in presets[kind]
            if not found:
                fail(f"ids: {kind} {ident} does not resolve")


def check_text(assets, fail):
    for path in sorted(assets.rglob("*")):
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if FORBIDDEN.search(text):
            fail(f"{path.name}: says {FORBIDDEN.search(text)[0]!r}")
        if path.suffix == ".json":
            if not text.endswith("}\n"):
                fail(f"{path.name}: does not end with a newline")
            preset = json.loads(text)
            if path.parent not in (assets, assets / "languages") and not preset.get("source"):
                fail(f"{path.name}: no source")


def check(assets, ids=None):
    problems = []
    fail = problems.append
    presets = {kind: load(assets / kind) for kind in ("models", "gpus", "nodes", "networks", "scenarios", "implementations")}
    check_names(presets, fail)
    check_models(presets["models"], fail)
    check_gpus(presets["gpus"], fail)
    check_nodes(presets["nodes"], presets["gpus"], fail)
    if set(presets["networks"]) != FABRICS:
        fail(f"networks: {sorted(set(presets['networks']) ^ FABRICS)}")
    for ident, scenario in presets["scenarios"].items():
        check_scenario(ident, scenario["plan"], presets["models"], presets["nodes"], presets["gpus"],
                       presets["implementations"], fail)
    claimed = [f for i in presets["implementations"].values() for f in i["default_for"]]
    if sorted(claimed) != ["deepspeed", "megatron", "pytorch"]:
        fail(f"implementations: defaults for {claimed}")
    for key, entry in json.loads((assets / "references.json").read_text(encoding="utf-8")).items():
        if set(entry) - {"title", "authors", "url", "year", "note"} or not {"title", "url", "year", "note"} <= set(entry):
            fail(f"references: {key} has {sorted(entry)}")
    if ids:
        check_ids(json.loads(Path(ids).read_text(encoding="utf-8")), presets, fail)
    check_text(assets, fail)
    for line in problems:
        print(line)
    print(", ".join(f"{len(found)} {kind}" for kind, found in presets.items()), "checked,", len(problems), "problems")
    return 1 if problems else 0
