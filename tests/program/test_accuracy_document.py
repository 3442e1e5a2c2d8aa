"""docs/accuracy.json is what tools/accuracy.py makes of the runs, and docs/accuracy.md holds its figures. What needs a fit without each
source is compared by tests/slow/accuracy.sh."""

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import accuracy  # noqa: E402

DOCUMENT = json.loads((ROOT / "docs/accuracy.json").read_text("utf-8"))
PROGRAM = os.environ.get("WIREPLAN_PROGRAM", str(ROOT / "build/native/wireplan"))


@pytest.fixture(scope="module")
def fresh():
    """All that is said as shipped."""
    return accuracy.document(accuracy.Tools(PROGRAM, None))


def test_it_is_what_the_program_says_as_shipped(fresh):
    stored = accuracy.without_left_out(DOCUMENT)
    for now, then in zip(fresh["kinds"], stored["kinds"], strict=True):
        for key in now:
            assert now[key] == then[key], f"{now['id']}.{key}: run tools/accuracy.py"
    assert fresh == stored


def test_a_summary_is_the_program_s(wireplan):
    """The tool's own quantiles against those of `wireplan accuracy`."""
    said = wireplan.json("accuracy", "--runs", str(ROOT / "tests/data/memory_runs.jsonl"))
    for metric in ("allocated_bytes", "reserved_bytes"):
        mine = accuracy.summary(accuracy.errors(said, metric))
        for key, theirs in (("median", "median_abs_error"), ("p90", "p90_abs_error"), ("worst", "worst_abs_error")):
            assert mine[key] == pytest.approx(said["summary"][metric][theirs], rel=1e-5)


def test_the_reference_runs_are_among_those_traced(wireplan):
    said = wireplan.json("accuracy")["summary"]["allocated_bytes"]
    (traced,) = [kind for kind in DOCUMENT["kinds"] if kind["id"] == "traced"]
    assert traced["total"]["rows"] >= said["count"] and traced["total"]["as_shipped"]["worst"] >= accuracy.figure(said["worst_abs_error"])


@pytest.mark.parametrize("table", list(accuracy.markdown(DOCUMENT)))
def test_the_page_of_documentation_agrees(table):
    text = (ROOT / "docs/accuracy.md").read_text("utf-8").splitlines()
    rows = accuracy.markdown(DOCUMENT)[table]
    assert len(rows) >= 5
    missing = [row for row in rows if not any(line.startswith(row) for line in text)]
    assert not missing, "tools/accuracy.py --markdown prints these rows:\n" + "\n".join(missing)


def test_prose_that_names_figures():
    text = " ".join((ROOT / "docs/accuracy.md").read_text("utf-8").split())
    kinds = {kind["id"]: kind for kind in DOCUMENT["kinds"]}
    verdicts = kinds["gpus"]["verdicts"]
    assert f"{verdicts['ran']} published plans that ran: {verdicts['fits']} are called" in text
    assert f"The {kinds['traced']['total']['rows']} rows are" in text
    assert f"Seconds per step of {kinds['step']['total']['rows']} published runs" in text


def test_rows_further_off_than_aimed(wireplan):
    """The sentence below the aims."""
    rows = wireplan.json("accuracy", "--runs", str(accuracy.STEPS))["rows"]
    far = [accuracy.prefix(row["id"]) for row in rows if abs(accuracy.in_seconds(row)) > accuracy.STEP_AIMS["p90"]]
    text = " ".join((ROOT / "docs/accuracy.md").read_text("utf-8").split())
    assert f"two thirds of the {len(far)} rows further off (as shipped) belong to `vts`, `mb`, `aws`, `ao` and `fq`" in text
    assert sum(source in ("vts", "mb", "aws", "ao", "fq") for source in far) / len(far) == pytest.approx(2 / 3, abs=0.05)


def test_every_figure_has_its_source():
    kinds = {kind["id"]: kind for kind in DOCUMENT["kinds"]}
    for kind in ("gpus", "step"):
        assert all(row["name"] and row["urls"] for row in kinds[kind]["rows"])
    assert sum(row["rows"] for row in kinds["step"]["rows"]) == kinds["step"]["total"]["rows"]
    assert sum(row["rows"] for row in kinds["collectives"]["sources"]) == kinds["collectives"]["total"]["rows"]
    # A cause names rows that are there.
    known = {row["id"] for kind in kinds.values() for row in kind["rows"]} | {i for row in kinds["nccl"]["rows"] for i in row.get("wrong_ids", [])}
    assert {of for kind in kinds.values() for cause in kind["causes"] for of in cause.get("of", [])} <= known
