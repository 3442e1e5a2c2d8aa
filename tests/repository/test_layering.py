"""Who may include whom.

The folders of core/ stand in the order in which an answer is made; a file
includes its own folder and those before it. core/ knows no input or output, no
threads and no door; the doors never include each other; Emscripten is known to
web/platform_* alone, CUDA and NCCL to native/measure/nccl_* alone, MPI to
native/measure/mpi_* alone. Libraries are loaded at run time by native/measure (its
back-ends) and native/detect (NVIDIA's NVML) alone. TOML and YAML are parsed by libraries that one file each knows.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORDER = ("base", "describe", "count", "cost", "step", "answer", "text", "capi")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)

NOT_IN_CORE = re.compile(
    r"(iostream|fstream|sstream|istream|ostream|iomanip|filesystem|thread|mutex|future"
    r"|condition_variable|regex|locale|format|random)$"
    r"|imgui|implot|GLFW|GLES|emscripten|^(cuda|nccl)|mpi\.h|CLI/|^dlfcn\.h$"
)
EMSCRIPTEN = re.compile(r"emscripten|GLES")
CUDA = re.compile(r"^(cuda|nccl|nvml|cupti)")
MPI = re.compile(r"^mpi\.h$")
CONFIGS = {"toml++": "core/text/toml.cpp", "yaml.h": "core/text/yaml.cpp"}  # libraries that one file each knows
LOADER = re.compile(r"^dlfcn\.h$")


def violations(path, text):
    """What is wrong with the includes of the source `path` (relative to the root)."""
    parts = Path(path).parts
    for name in INCLUDE.findall(text):
        target = name.split("/")
        why = None
        if target[0] in CONFIGS and Path(path).as_posix() != CONFIGS[target[0]]:
            why = f"only {CONFIGS[target[0]]} knows it"
        elif parts[0] == "core":
            if target[0] in ("web", "native", "tests") or NOT_IN_CORE.search(name):
                why = "core does not know it"
            elif target[0] == "core":
                if target[1] not in ORDER or parts[1] not in ORDER:
                    why = "no folder of core"
                elif ORDER.index(target[1]) > ORDER.index(parts[1]):
                    why = f"core/{target[1]} comes after core/{parts[1]}"
        elif parts[0] == "web":
            if target[0] in ("native", "tests"):
                why = "web does not know it"
            elif EMSCRIPTEN.search(name) and not parts[-1].startswith("platform_"):
                why = "only web/platform_* knows Emscripten"
            elif parts[1] == "panels" and target[-1].startswith("platform"):
                why = "a panel does not know the platform"
        elif parts[0] == "native":
            if target[0] in ("web", "tests") or "imgui" in name or EMSCRIPTEN.search(name):
                why = "native does not know it"
            elif CUDA.search(name) and not (
                parts[1] == "measure" and parts[-1].startswith("nccl_")
            ):
                why = "only native/measure/nccl_* knows CUDA and NCCL"
            elif MPI.search(name) and not (parts[1] == "measure" and parts[-1].startswith("mpi_")):
                why = "only native/measure/mpi_* knows MPI"
            elif LOADER.search(name) and parts[1] not in ("detect", "measure"):
                why = "only native/detect and native/measure load libraries"
        if why:
            yield f"{path}: {name}: {why}"


def test_the_sources_keep_the_order():
    found = [
        line
        for door in ("core", "web", "native")
        for path in sorted((ROOT / door).rglob("*"))
        if path.suffix in (".hpp", ".cpp", ".h")
        for line in violations(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


PLANTED = [
    ("core/base/units.hpp", '#include "core/describe/plan.hpp"'),
    ("core/count/flops.cpp", "#include <iostream>"),
    ("core/count/flops.cpp", "  #  include <filesystem>"),
    ("core/text/json.cpp", '#include "core/capi/wireplan.h"'),
    ("core/text/json.cpp", '#include "imgui.h"'),
    ("core/answer/estimate.cpp", '#include "web/state.hpp"'),
    ("web/app.cpp", '#include "native/main.hpp"'),
    ("web/app.cpp", "#include <emscripten.h>"),
    ("web/panels/memory.cpp", '#include "web/platform.hpp"'),
    ("native/main.cpp", '#include "web/state.hpp"'),
    ("native/main.cpp", "#include <nccl.h>"),
    ("native/measure/run.cpp", "#include <cuda_runtime.h>"),
    ("native/measure/sweep.cpp", "#include <mpi.h>"),
    ("native/detect/driver.cpp", "#include <nvml.h>"),
    ("native/files.cpp", "#include <dlfcn.h>"),
    ("core/text/detect_topology.cpp", "#include <dlfcn.h>"),
    ("core/text/detect_topology.cpp", '#include "native/detect/sysfs.hpp"'),
    ("core/text/trainers/accelerate.cpp", "#include <yaml.h>"),
    ("native/main.cpp", "#include <toml++/toml.h>"),
]


@pytest.mark.parametrize("path,text", PLANTED)
def test_a_planted_violation_is_found(path, text):
    assert len(list(violations(path, text))) == 1


ALLOWED = [
    ("core/text/json.cpp", '#include "core/base/units.hpp"\n#include <nlohmann/json.hpp>'),
    ("core/base/units.hpp", "#include <cstdint>"),
    ("web/platform_web.cpp", "#include <emscripten.h>"),
    ("web/panels/memory.cpp", '#include "web/panels/panels.hpp"\n#include "web/state.hpp"'),
    ("core/text/yaml.cpp", "#include <yaml.h>"),
    ("native/measure/mpi_backend.cpp", "#include <mpi.h>"),
    ("native/measure/nccl_run.cpp", "#include <nccl.h>\n#include <cuda_runtime.h>"),
    ("native/detect/driver.cpp", '#include <dlfcn.h>\n#include "core/text/machine_facts.hpp"'),
]


@pytest.mark.parametrize("path,text", ALLOWED)
def test_what_is_allowed_passes(path, text):
    assert not list(violations(path, text))
