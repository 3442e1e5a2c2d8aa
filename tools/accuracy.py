#!/usr/bin/env python3
"""The errors of all that is computed, beside what was measured, as one document: docs/accuracy.json.

    accuracy.py [--program PROGRAM] [--fit PROGRAM] [--check | --markdown]

Estimates every run of tests/data and assets/measurements with `wireplan accuracy`, fits anew without each source
(`wireplan_fit_step`, `wireplan accuracy --leave-out`), and sums the errors up by kind and source. The page shows the document,
docs/accuracy.md holds the same figures. --check compares instead of writing; --markdown prints the tables of docs/accuracy.md.

An error is predicted / measured - 1, of seconds for steps. A summary holds the median, 90th percentile and worst of the absolute
errors, the median with its sign, and the id of the worst run. Texts are by hand: names of sources below, causes in accuracy_causes.json.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs/accuracy.json"
CAUSES = Path(__file__).with_name("accuracy_causes.json")
DATA = ROOT / "tests/data"
TRACES = [DATA / "traces.jsonl", DATA / "traces_more.jsonl"]
MEMORY = DATA / "memory_runs.jsonl"
STEPS = DATA / "training_runs.jsonl"
SWEEPS = ROOT / "assets/measurements/collectives.jsonl"
NCCL = DATA / "nccl_graphs.jsonl"

# What ids begin with.
SOURCES = {
    "ao": "torchtitan with torchao, 8B: H100, B200, MI300X",
    "aws": "MoE over EFA",
    "bl": "BLOOM, Megatron-DeepSpeed over Omni-Path",
    "fms": "foundation-model-stack FSDP",
    "fq": "fsdp_qlora: QLoRA on two cards over PCIe",
    "gist": "Hugging Face 7B with DeepSpeed 0.14",
    "ka": "Megatron-LM 2022 (selective recomputation)",
    "lf": "llm-foundry FSDP",
    "lg": "litgpt, LoRA, one A100 and FSDP",
    "mb": "Megatron-Bridge, fp8 to nvfp4, many MoE",
    "mci": "Megatron-LM's own functional tests",
    "ms": "MegaScale's Megatron baseline",
    "nd": "NeMo, fp8",
    "nl": "NeMo launcher, fp8",
    "sc21": "Megatron-LM 2021, 6 of 22 DeepSpeed ZeRO-3",
    "sm": "Megatron-Core on B200 (SimuMax)",
    "t3": "1.3B on V100, Megatron-DeepSpeed",
    "tn": "torchtune, one A100",
    "tt": "torchtitan",
    "vts": "vTrain, small models on one node",
}
# Aims for what is predicted without its source, set before the model was made.
STEP_AIMS = {"median": 0.08, "p90": 0.15, "mean_regret": 0.02, "median_spearman": 0.9}
MANY_URLS = 3  # of one repository: then the repository stands for them
MIB = 1 << 20
CAMPAIGN = "ai-dynamo/aiconfigurator"  # two thirds of all points, few machines
FRAMEWORKS = {"pt": "PyTorch", "hf": "Hugging Face", "ds": "DeepSpeed"}


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def figure(value):
    return float(f"{value:.6g}")


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    i = int(at)
    return values[i] + (at - i) * (values[i + 1] - values[i]) if i + 1 < len(values) else values[i]


def summary(errors):
    """Of (id, error) pairs."""
    sizes = [abs(e) for _, e in errors]
    worst = max(errors, key=lambda pair: abs(pair[1]))
    return {
        "median": figure(quantile(sizes, 0.5)), "p90": figure(quantile(sizes, 0.9)), "worst": figure(abs(worst[1])),
        "leans": figure(quantile([e for _, e in errors], 0.5)), "worst_id": worst[0],
    }


def prefix(run):
    return run.split("-")[0]


def urls_of(rows):
    found = list(dict.fromkeys(re.match(r"https?://\S+", r["source"])[0] for r in rows if r["source"].startswith("http")))
    if len(found) < MANY_URLS:
        return found
    return list(dict.fromkeys(re.match(r"(https://github\.com/[^/]+/[^/]+|https?://[^/]+)", url)[0] for url in found))


def name_of_url(source):
    """A sweep's page in a few words."""
    match = re.match(r"https://github\.com/([^/]+/[^/ ]+)(/\S*)?", source)
    if not match:
        return source.removeprefix("a public page: ")
    repository, path = match[1], match[2] or ""
    if number := re.match(r"/(?:issues|pull)/(\d+)", path):
        return f"{repository} #{number[1]}"
    if campaign := re.search(r"/data/(\w+)/comm/nccl/([\d.]+)/", path):
        return f"{repository}: {campaign[1]}, NCCL {campaign[2]}"
    if commit := re.match(r"/commit/(\w{7})", path):
        return f"{repository} {commit[1]}"
    file = re.sub(r"^/blob/[^/]+/", "", path)
    return f"{repository}: {file}" if file else source.removeprefix("https://github.com/")


class Tools:
    def __init__(self, program, fit):
        self.program, self.fit = program, fit

    def accuracy(self, path, *options, text=None):
        done = subprocess.run([self.program, "accuracy", "--runs", "-" if text else str(path), "--json", *options],
                              input=text, capture_output=True, text=True, cwd=ROOT)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        answer = json.loads(done.stdout)
        if answer["skipped"]:
            sys.exit(f"{path}: skipped {answer['skipped'][:3]}")
        return answer

    def step_errors(self):
        """Every row's error with constants that know nothing of its source, and how layouts are ranked."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "errors.json"
            done = subprocess.run([self.fit, str(STEPS), "--leave-one-out", "--errors", str(out)], capture_output=True, text=True, cwd=ROOT)
            if done.returncode != 0:
                sys.exit(done.stderr)
            return json.loads(out.read_text())


def errors(answer, metric, of=lambda run: True):
    return [(r["id"], r["error"]) for r in answer["rows"] if r["metric"] == metric and of(r["id"])]


def traced(tools):
    rows = [row for path in TRACES for row in tools.accuracy(path)["rows"]]
    answer = {"rows": rows}
    out = []
    for key, name in FRAMEWORKS.items():
        found = errors(answer, "allocated_bytes", lambda run, key=key: prefix(run) == key)
        out.append({"id": f"peak.{key}", "name": name, "rows": len(found), "as_shipped": summary(found)})
    for metric in ("first_step_allocated_bytes", "between_steps_bytes", "after_forward_bytes", "after_backward_bytes", "initialize_peak_bytes"):
        found = errors(answer, metric)
        out.append({"id": metric, "rows": len(found), "as_shipped": summary(found)})
    places = errors(answer, "event")
    out.append({"id": "event", "rows": len(places), "right": sum(e == 0 for _, e in places)})
    calls, sizes = errors(answer, "collectives.calls"), errors(answer, "collectives.bytes")
    out.append({"id": "collectives.bytes", "rows": len(calls), "as_shipped": summary(calls + sizes)})
    found = errors(answer, "allocated_bytes")
    return {"id": "traced", "total": {"id": "peak", "rows": len(found), "as_shipped": summary(found)}, "rows": out}


def on_gpus(tools):
    runs = lines(MEMORY)
    answer = tools.accuracy(MEMORY)
    out = []
    for source in sorted({prefix(r["id"]) for r in runs}, key=list(SOURCES).index):
        of = [r for r in runs if prefix(r["id"]) == source]
        for metric in ("allocated_bytes", "reserved_bytes"):
            found = errors(answer, metric, lambda run, source=source: prefix(run) == source)
            if found:
                out.append({"id": source, "name": SOURCES[source], "urls": urls_of(of), "figure": metric, "rows": len(found), "as_shipped": summary(found)})
    # Every published plan ran, so that its need must fit its GPU: a test with or without a figure for its memory.
    timed = STEPS.read_text("utf-8")
    have = {json.loads(line)["id"] for line in timed.splitlines()}
    rest = "".join(line + "\n" for line in MEMORY.read_text("utf-8").splitlines() if json.loads(line)["id"] not in have)
    verdicts = tools.accuracy(STEPS, text=timed + rest)["verdicts"]
    fits = {"ran": verdicts["fits_right"] + verdicts["fits_wrong"] + verdicts["undecided"], "fits": verdicts["fits_right"],
            "may_not_fit": verdicts["undecided"], "does_not_fit": verdicts["fits_wrong"]}
    found = errors(answer, "allocated_bytes")
    total = {"id": "allocated_bytes", "rows": len(found), "as_shipped": summary(found)}
    return {"id": "gpus", "total": total, "rows": out, "verdicts": fits}


def decisions(tools):
    answer = tools.accuracy(NCCL, "--xml-dir", str(DATA / "nccl"))
    out = []
    for what in ("nodes", "paths", "graphs", "rings", "trees", "choice"):
        found = errors(answer, f"nccl.{what}")
        wrong = list(dict.fromkeys(run for run, e in found if e != 0))
        out.append({"id": f"nccl.{what}", "rows": len(found), "right": sum(e == 0 for _, e in found), "wrong_ids": wrong})
    found = errors(answer, "nccl.time")
    out.append({"id": "nccl.time", "rows": len(found), "as_shipped": summary(found)})
    return {"id": "nccl", "total": next(row for row in out if row["id"] == "nccl.choice"), "rows": out}


def kind_of(node):
    if isinstance(node, str):
        node = json.loads((ROOT / f"assets/nodes/{node}.json").read_text("utf-8"))
    return node["wiring"]["kind"] if isinstance(node["wiring"], dict) else node["wiring"]


GROUPS = {
    "all": lambda run: True,
    "one_node": lambda run: run["nodes"] == 1,
    "several_nodes": lambda run: run["nodes"] > 1,
    "pcie": lambda run: run["nodes"] == 1 and (kind_of(run["cluster"]["node"]).startswith("pcie") or kind_of(run["cluster"]["node"]) == "nvlink-pairs"),
    "no_campaign": lambda run: CAMPAIGN not in run["source"],
}


def collectives(tools):
    runs = {r["id"]: r for r in lines(SWEEPS)}
    answers = {"as_shipped": tools.accuracy(SWEEPS)}
    if tools.fit:
        answers |= {by: tools.accuracy(SWEEPS, "--leave-out", by) for by in ("source", "machine", "wiring")}

    def row(head, of):
        found = {by: [(r["id"], r["error"]) for r in answer["rows"] if of(r)] for by, answer in answers.items()}
        out = {**head, "rows": len(found["as_shipped"]), "as_shipped": summary(found["as_shipped"])}
        if tools.fit:
            out["left_out"] = {by: summary(found[by]) for by in answers if by != "as_shipped" and by in head.get("by", ("source", "machine", "wiring"))}
        out.pop("by", None)
        return out

    out = []
    for group, of in GROUPS.items():
        members = {i for i, run in runs.items() if of(run)}
        out.append(row({"id": f"{group}.large"}, lambda r, members=members: r["id"] in members and r["size_bytes"] >= MIB))
        out.append(row({"id": f"{group}.small"}, lambda r, members=members: r["id"] in members and r["size_bytes"] < MIB))
    sources = []
    for source in dict.fromkeys(r["source"] for r in runs.values()):
        members = {i for i, run in runs.items() if run["source"] == source}
        head = {"id": next(iter(sorted(members))), "name": name_of_url(source), "urls": urls_of([{"source": source}]), "by": ("source",)}
        sources.append(row(head, lambda r, members=members: r["id"] in members))
    total = row({"id": "all"}, lambda r: True)
    return {"id": "collectives", "total": total, "rows": out, "sources": sources}


def in_seconds(row):
    """A rate goes with 1 / seconds."""
    return row["error"] if row["metric"] == "step_time_s" else 1 / (1 + row["error"]) - 1


def steps(tools):
    runs = lines(STEPS)
    answer = tools.accuracy(STEPS)
    shipped = [(r["id"], in_seconds(r)) for r in answer["rows"]]
    left = tools.step_errors() if tools.fit else None
    without = [(r["id"], r["left_out"]) for r in left["rows"]] if left else []

    def row(head, of):
        found = [pair for pair in shipped if of(pair[0])]
        out = {**head, "rows": len(found), "as_shipped": summary(found)}
        if left:
            out["left_out"] = {"source": summary([pair for pair in without if of(pair[0])])}
        return out

    out = []
    for source in sorted({prefix(r["id"]) for r in runs}):
        of = [r for r in runs if prefix(r["id"]) == source]
        out.append(row({"id": source, "name": SOURCES[source], "urls": urls_of(of)}, lambda run, source=source: prefix(run) == source))
    total = row({"id": "all"}, lambda run: True)
    median = {"as_shipped": figure(quantile([r["as_shipped"]["median"] for r in out], 0.5))}
    if left:
        median["left_out"] = figure(quantile([r["left_out"]["source"]["median"] for r in out], 0.5))
    kind = {"id": "step", "total": total, "rows": out, "median_of_sources": median, "aims": STEP_AIMS}
    groups = [g for g in answer["ranking"]]
    ranking = {"as_shipped": {"groups": len(groups), "mean_regret": figure(sum(g["regret"] for g in groups) / len(groups)),
                              "worst_regret": figure(max(g["regret"] for g in groups)),
                              "within_2_percent": figure(sum(g["regret"] <= 0.02 for g in groups) / len(groups)),
                              **spearman([g["spearman"] for g in groups if g["runs"] >= 3 and g["spearman"] is not None])}}
    if left:
        ranking["left_out"] = {key: figure(value) if isinstance(value, float) else value for key, value in left["ranking"]["left_out"].items()}
        for counted in ("groups", "spearman_groups"):
            ranking["left_out"][counted] = int(ranking["left_out"][counted])
    return {**kind, "ranking": ranking}


def spearman(found):
    return {"spearman_groups": len(found), "mean_spearman": figure(sum(found) / len(found)), "median_spearman": figure(quantile(found, 0.5))}


def document(tools):
    causes = json.loads(CAUSES.read_text("utf-8"))
    kinds = [traced(tools), on_gpus(tools), decisions(tools), collectives(tools), steps(tools)]
    for kind in kinds:
        kind["causes"] = causes[kind["id"]]
    return {"schema": "wireplan.errors/1", "kinds": kinds}


def without_left_out(value):
    """What needs no fit: the rest is compared in seconds."""
    if isinstance(value, dict):
        return {k: without_left_out(v) for k, v in value.items() if k != "left_out"}
    return [without_left_out(v) for v in value] if isinstance(value, list) else value


def dump(value):
    """One row a line."""
    head = {k: v for k, v in value.items() if k != "kinds"}
    text = json.dumps(head, ensure_ascii=False)[:-1] + ', "kinds": [\n'
    kinds = []
    for kind in value["kinds"]:
        parts = []
        for key, part in kind.items():
            if isinstance(part, list):
                inside = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in part)
                parts.append(f'   {json.dumps(key)}: [\n{inside}]')
            else:
                parts.append(f"   {json.dumps(key)}: {json.dumps(part, ensure_ascii=False)}")
        kinds.append("  {\n" + ",\n".join(parts) + "}")
    return text + ",\n".join(kinds) + "]}\n"


# ---------------------------------------------------------------- docs/accuracy.md
def percent(share):
    value = 100 * share
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def nearly(share):
    """Of what should be exact."""
    return "exact" if share == 0 else f"{100 * share:.3f} %" if share < 9.5e-5 else f"{100 * share:.2f} %"


def one(share):
    return f"{100 * share:.1f}"


def signed(share):
    return f"{'+' if share > 0 else '−' if share < 0 else ''}{abs(100 * share):.1f}"


TRACED_NAMES = {
    "peak.pt": "peak of a steady step, PyTorch", "peak.hf": "… Hugging Face", "peak.ds": "… DeepSpeed",
    "first_step_allocated_bytes": "peak of the first step", "between_steps_bytes": "between steps", "after_forward_bytes": "kept after forward",
    "after_backward_bytes": "after backward, DeepSpeed", "initialize_peak_bytes": "highest while the framework starts, DeepSpeed",
    "event": "where the peak is: phase, and layer ± 1", "collectives.bytes": "collectives: kinds, calls, bytes",
}
NCCL_NAMES = {"nccl.nodes": "nodes as NCCL counts", "nccl.paths": "path types, rates and transports", "nccl.graphs": "graphs: channels, planned rates, types",
              "nccl.rings": "rings after connection", "nccl.trees": "trees after connection", "nccl.choice": "algorithm and protocol, points"}
GROUP_NAMES = {"all": "all", "one_node": "one node", "several_nodes": "several nodes", "pcie": "PCIe boxes and bridges, one node",
               "no_campaign": "without the one campaign that makes two thirds"}
FIGURES = {"allocated_bytes": "allocated", "reserved_bytes": "reserved"}


def markdown(value):
    """Tables as docs/accuracy.md holds them; lines may go on there by what is written by hand."""
    kinds = {kind["id"]: kind for kind in value["kinds"]}
    tables = {}
    rows = []
    for r in kinds["traced"]["rows"]:
        if "right" in r:
            rows.append(f"| {TRACED_NAMES[r['id']]} | {r['rows']} | {'all right' if r['right'] == r['rows'] else r['right']} | | |")
        else:
            rows.append(f"| {TRACED_NAMES[r['id']]} | {r['rows']} | " + " | ".join(nearly(r["as_shipped"][k]) for k in ("median", "p90", "worst")) + " |")
    tables["traced"] = rows
    tables["gpus"] = [f"| `{r['id']}` {r['name']} | {r['rows']} | {FIGURES[r['figure']]} | " + " | ".join(f"{percent(r['as_shipped'][k])} %" for k in ("median", "p90", "worst")) + " |"
                      for r in kinds["gpus"]["rows"]]
    tables["nccl"] = [f"| {NCCL_NAMES[r['id']]} | {r['right']:,} of {r['rows']:,} |" for r in kinds["nccl"]["rows"] if "right" in r]
    found = {r["id"]: r for r in kinds["collectives"]["rows"]}
    rows = []
    for group, name in GROUP_NAMES.items():
        large, small = found[f"{group}.large"], found[f"{group}.small"]

        def both(of, large=large, small=small):
            return "; ".join(f"{percent(of(r)['median'])} / {percent(of(r)['p90'])}" for r in (large, small))

        cells = [both(lambda r: r["as_shipped"])] + [both(lambda r, by=by: r["left_out"][by]) for by in ("source", "machine", "wiring")]
        rows.append(f"| {name} | {large['rows'] + small['rows']:,} | " + " | ".join(cells) + " |")
    tables["collectives"] = rows
    rows = []
    total = kinds["step"]["total"]
    for r in [*kinds["step"]["rows"], total]:
        left = r["left_out"]["source"]
        name = "**all rows**" if r["id"] == "all" else f"`{r['id']}` {r['name']}"
        rows.append(f"| {name} | {r['rows']} | " + " | ".join(f"{one(s['median'])} / {one(s['p90'])} / {one(s['worst'])} | {signed(s['leans'])}" for s in (r["as_shipped"], left)) + " |")
    median, ranking, aims = kinds["step"]["median_of_sources"], kinds["step"]["ranking"], kinds["step"]["aims"]
    rows.append(f"| **median over the sources** |  | {one(median['as_shipped'])} |  | {one(median['left_out'])} |  |")
    tables["step"] = rows
    a, b = ranking["as_shipped"], ranking["left_out"]
    tables["aims"] = [
        f"| median of all rows | {100 * aims['median']:.0f} % | {one(total['as_shipped']['median'])} | {one(total['left_out']['source']['median'])} |",
        f"| 90th percentile | {100 * aims['p90']:.0f} % | {one(total['as_shipped']['p90'])} | {one(total['left_out']['source']['p90'])} |",
        f"| order of layouts ({a['groups']} groups that differ in layout alone): mean regret | {100 * aims['mean_regret']:.0f} % | "
        + " | ".join(f"{100 * r['mean_regret']:.2f} (worst {one(r['worst_regret'])})" for r in (a, b)) + " |",
        "| … groups whose predicted best is within 2 % of the measured best | | " + " | ".join(f"{100 * r['within_2_percent']:.0f} %" for r in (a, b)) + " |",
        f"| … Spearman, {a['spearman_groups']} groups of three and more: median, mean | {aims['median_spearman']} | " + " | ".join(f"{r['median_spearman']:.2f}, {r['mean_spearman']:.2f}" for r in (a, b)) + " |",
    ]
    return tables


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build/native/wireplan"))
    parser.add_argument("--fit", default=str(ROOT / "build/native/wireplan_fit_step"))
    parser.add_argument("--check", action="store_true", help="compare with docs/accuracy.json, to its digits")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/accuracy.md out of docs/accuracy.json")
    options = parser.parse_args()
    if options.markdown:
        for name, rows in markdown(json.loads(OUT.read_text("utf-8"))).items():
            print(f"{name}\n" + "\n".join(rows) + "\n")
        return 0
    text = dump(document(Tools(options.program, options.fit)))
    if not options.check:
        OUT.write_text(text, "utf-8")
        return 0
    if text == OUT.read_text("utf-8"):
        return 0
    for mine, theirs in zip(text.splitlines(), OUT.read_text("utf-8").splitlines(), strict=False):
        if mine != theirs:
            print(f"is   {theirs}\nnow  {mine}", file=sys.stderr)
    print("docs/accuracy.json is not what tools/accuracy.py gives; run it without --check", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
