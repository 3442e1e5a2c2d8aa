"""Pages of the reference, out of the program and the presets: nothing in them is typed in."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

MADE = "<!-- made by tools/docs/reference.py -->\n\n"


class Asked:
    def __init__(self, program):
        self.program = str(program)

    def text(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        if done.returncode not in (0, 2):
            raise SystemExit(f"wireplan {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))


def pages(program, assets):
    ask = Asked(program)
    labels = json.loads((assets / "languages/en.json").read_text("utf-8"))
    references = json.loads((assets / "references.json").read_text("utf-8"))
    made = [
        ("commands", commands(ask)),
        ("plan", plan(ask, labels)),
        ("estimate", estimate(ask, labels, references)),
        *presets(assets),
        ("references", cited(references)),
    ]
    names = "\n".join(name for name, _ in made)
    index = (
        "# Reference\n\nWorked out from the program and its presets when this site was built, so it is what this version does.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n")
    return [("reference/index.md", MADE + index), *((f"reference/{name}.md", MADE + text) for name, text in made)]


# --- commands --------------------------------------------------------------------------------------
def commands(ask):
    def listed(text):
        return re.findall(r"^  ([a-z-]+) {2,}\S", text.partition("Subcommands:")[2].partition("Examples:")[0], re.M)

    top = ask.text("--help")
    parts = [f"# Commands\n\nWhat `--help` prints, of the program and of each command. [What they mean](../program.md).\n\n{block(top)}"]
    for name in listed(top):
        text = ask.text(name, "--help")
        parts.append(f"## {name}\n\n{block(text)}")
        parts += [f"### {name} {below}\n\n{block(ask.text(name, below, '--help'))}" for below in listed(text)]
    return "\n".join(parts)


def block(text):
    return f"```text\n{text.rstrip()}\n```\n"


# --- the plan ----------------------------------------------------------------------------------------
# Values that no field takes, of one kind after the other: the error says what may stand there.
IMPOSSIBLE = ('"?"', "-1", "[]")


def leaves(document, path=()):
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield ".".join((*path, key)), value


def plan(ask, labels):
    stated = {"model": "mistral-7b-v0.1", "cluster": {"node": "dgx-a100-80gb"}}
    done = subprocess.run([ask.program, "estimate", "-", "--json"], input=json.dumps(stated), capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    why = {entry["path"]: entry["why"] for entry in answer["assumed"]}

    def row(field):
        path, default = field
        limit = next(filter(None, (limit_of(ask, path, value) for value in IMPOSSIBLE)), "")
        name = labels.get(f"in.{path}", "")
        note = why.get(path, why.get(path.rsplit(".", 1)[0], ""))
        shown = "" if path in ("model", "cluster.node") else f"`{json.dumps(default)}`"
        return f"| `{path}` | {cell(name)} | {shown} {cell(f'({note})' if note else '')} | {cell(limit)} |"

    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(row, [f for f in leaves(answer["plan"]) if f[0] != "schema"]))
    head = "| field | | left out | may be |\n|---|---|---|---|\n"
    sections = [("model", "The model"), ("training", "Training"), ("parallel", "Layout"), ("cluster", "Cluster")]
    text = (
        "# The plan\n\n`wireplan.plan/1`: what is trained, how, spread over what. A field that is left out has the default of the third column, "
        "here for the smallest plan there is:\n\n"
        f"```json\n{json.dumps(stated, indent=2)}\n```\n\nThe limits are those that the program names when a value is wrong. "
        "[What the fields mean together](../program.md#plan), [models](models.md), [nodes](nodes.md), [code bases](implementations.md).\n\n")
    for key, title in sections:
        text += f"## {title}\n\n{head}" + "\n".join(r for r in rows if r.startswith((f"| `{key}`", f"| `{key}."))) + "\n\n"
    text += f"## How a share link writes it\n\nThe plan above: `{ask.text('estimate', 'story', '--print-link').strip()}` is the story's; every field that has no short key goes by its path.\n"
    return text


def limit_of(ask, path, value):
    errors = ask.json("estimate", "story", "--set", f"{path}={value}").get("errors", [])
    return next((error["limit"] for error in errors if error["path"] == path and error["limit"]), "")


# --- the estimate -------------------------------------------------------------------------------------
def estimate(ask, labels, references):
    answer = ask.json("estimate", "story")
    paths = []
    for part in ("model", "memory", "step"):
        for path, value in leaves(answer[part], (part,)):
            path = re.sub(r"\.(low|value|high)$", "", path)
            if path not in paths and isinstance(value, (int, float)) and not isinstance(value, bool):
                paths.append(path)
    paths += [f"communication.0.{key}" for key in ("bytes", "calls", "time_s", "exposed_s", "bus_bandwidth_bytes_per_s")]
    paths += [f"step.conventions.{entry['name']}.mfu" for entry in answer["step"]["conventions"]]
    with ThreadPoolExecutor(4) as pool:
        told = dict(zip(paths, pool.map(lambda path: ask.json("estimate", "story", "--explain", path), paths)))

    def row(path):
        said = told[path]
        if "errors" in said:
            return f"| `{path}` | {cell(labels.get(f'path.{path}', ''))} | | | |"
        sources = ", ".join(f"[{key}](references.md#{key})" if key in references else key for key in said["sources"])
        return f"| `{path}` | {cell(labels.get(f'path.{path}', ''))} | {cell(said['unit'])} | {said['kind']} | `{said['symbol']} = {cell(said['formula'])}` | {sources} |"

    text = (
        "# The estimate\n\n`wireplan.estimate/1`: the answer to a plan, as `wireplan estimate PLAN --json` and the module's `estimate(plan)` give it, "
        "byte for byte the same. [Its types](../module.md#the-estimate) stand in `wireplan.d.ts`. Of every number "
        "`wireplan estimate PLAN --explain PATH` says how it comes about; below is what it says for the story's plan: unit, how sure it is "
        "([four kinds](../program.md#how-sure-a-number-is)), formula and sources. A band is `{low, value, high}`.\n\n")
    for part, title in (("model", "The model"), ("memory", "Memory"), ("communication", "Communication"), ("step", "The step")):
        text += f"## {title}\n\n| path | | unit | kind | formula | sources |\n|---|---|---|---|---|---|\n" + "\n".join(row(p) for p in paths if p.startswith(part + ".")) + "\n\n"
    return text


# --- presets --------------------------------------------------------------------------------------------
def documents(folder):
    return [(path.stem, json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*.json"))]


def source(document):
    """Links to where the values were read, and how far that was checked."""
    where = document.get("source", "")
    links = re.findall(r"https?://[^\s,;)]+", where)
    shown = " ".join(f"[{link.split('//', 1)[1].split('/', 1)[0]}](<{link}>)" for link in links) or cell(where)
    return f"{shown} ({cell(document['verified'])})" if document.get("verified") else shown


def presets(assets):
    def made(kind, title, text, head, row):
        entries = documents(assets / kind)
        rows = "\n".join("| " + " | ".join((f"`{name}`", *row(document), source(document))) + " |" for name, document in entries)
        columns = ("id", *head, "source")
        return kind, f"# {title}\n\n{text} {len(entries)} of them; `wireplan presets {kind} ID` prints one with all its fields.\n\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|\n" + rows + "\n"

    number = lambda value, scale=1, form=",.0f": format(value / scale, form) if isinstance(value, (int, float)) else ""  # noqa: E731
    yield made("scenarios", "Scenarios", "Plans to start from.", ("what it is about",), lambda d: (cell(d.get("title", "")),))
    yield made(
        "models", "Models", "Shapes of published models. *count*: how the parameters that follow from the shape compare with a published count ([the words](../presets_format.md)).",
        ("name", "parameters", "layers", "width", "count"),
        lambda d: (cell(d["name"]), number(d.get("exact_parameters")), str(d.get("num_layers", "")), str(d.get("hidden_size", "")), cell(d.get("count_check", ""))))
    yield made(
        "gpus", "GPUs", "Dense peaks; memory as a process sees it where that is known.", ("name", "memory, GB", "HBM, GB/s", "bf16, TFLOP/s"),
        lambda d: (cell(d["name"]), number(d.get("reported_bytes", d.get("memory_bytes")), 1e9, ",.1f"), number(d.get("hbm_bytes_per_s"), 1e9), number(d.get("bf16_flops_per_s"), 1e12)))
    yield made(
        "nodes", "Nodes", "Servers, racks and cloud instances.", ("name", "GPUs", "wiring", "network"),
        lambda d: (cell(d["name"]), f"{d['gpus']} × {d['gpu'] if isinstance(d['gpu'], str) else d['gpu'].get('name', '')}", d.get("wiring", {}).get("kind", ""), str(d.get("network") or "")))
    yield made("networks", "Networks", "Fabrics: what is taken where a cluster does not say.", ("name",), lambda d: (cell(d["name"]),))
    yield made("implementations", "Code bases", "What a framework's code keeps, gathers and frees.", ("name", "frameworks", "remark"), lambda d: (cell(d["name"]), ", ".join(d.get("frameworks", [])), cell(d.get("note", ""))))


def cited(references):
    entries = "\n\n".join(
        f"({key})=\n## {key}\n\n{plain(entry['title'])}{', ' + str(entry['year']) if entry.get('year') else ''}."
        + (f" <{entry['url']}>" if entry.get("url", "").startswith("http") else "") + (f"\n\n{plain(entry['note'])}" if entry.get("note") else "")
        for key, entry in references.items())
    return f"# References\n\nWhat formulas and constants are taken from, by the keys that `--explain` prints.\n\n{entries}\n"


def plain(text):
    return re.sub(r"([\\`*_{}\[\]<>$|])", r"\\\1", text)


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
