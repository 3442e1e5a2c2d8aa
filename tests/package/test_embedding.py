"""C and C++ against the installed library: the examples, built and run; what the library shows of itself."""

import json
import os
import re
import shutil
import subprocess

import pytest
from packages import BUILD, ROOT, program, run, version

pytestmark = pytest.mark.skipif(not (BUILD / "libwireplan.a").exists(), reason="no library was built here")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation that was moved after it was made: no path of the build may be needed."""
    made = tmp_path_factory.mktemp("made")
    run("cmake", "--install", BUILD, "--prefix", made / "wireplan")
    moved = tmp_path_factory.mktemp("moved") / "pre fix"
    shutil.move(made / "wireplan", moved)
    return moved


def built(source, folder, prefix, *options):
    # Without ccache and its like, as at a stranger's.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CMAKE_", "CCACHE_"))}
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *options, env=environment)
    run("cmake", "--build", folder, env=environment)
    return folder


@pytest.fixture(scope="module")
def fits(prefix, tmp_path_factory):
    return built(ROOT / "examples/c", tmp_path_factory.mktemp("c"), prefix, "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror -std=c99") / "fits"


@pytest.fixture(scope="module")
def best(prefix, tmp_path_factory):
    return built(ROOT / "examples/cpp", tmp_path_factory.mktemp("cpp"), prefix, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror") / "best"


def test_the_c_example_says_what_the_program_says(fits):
    done = subprocess.run([fits], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, program("estimate", "story", "--json"))
    plan = {"plan": "story", "set": [["parallel.data_sharding", "fsdp"]]}
    done = subprocess.run([fits, json.dumps(plan)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, program("estimate", "story", "--set", "parallel.data_sharding=fsdp", "--json"))


@pytest.mark.parametrize("request_", ['"stroy"', "{", "", '"\\ud800"', "[" * 5000, "nul\u00fcl", '{"plan": "story", "set": [["parallel.tensor", 3]]}'])
def test_what_is_wrong_is_data(fits, request_):
    done = subprocess.run([fits, request_], capture_output=True, text=True)
    assert done.returncode == 2 and all(e["text"] for e in json.loads(done.stdout)["errors"])


def test_the_cpp_example_says_what_the_program_says(best):
    done = subprocess.run([best], capture_output=True, text=True)
    answer = json.loads(program("search", "story", "--top", "3", "--json"))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == answer["text"].splitlines()[0]
    plans = [re.fullmatch(r'"(.*)": (\S+) s, fits (true|false)', line).groups() for line in lines[-len(answer["plans"]):]]
    assert [(p["label"], p["time_s"], p["fits"]) for p in answer["plans"]] == [(label, float(time), fits == "true") for label, time, fits in plans]
    assert done.stderr.splitlines()[-1] == "searched 1"
    refused = subprocess.run([best, "stroy"], capture_output=True, text=True)
    assert refused.returncode == 2 and "stroy" in refused.stderr


def test_the_library_shows_the_c_interface_alone(prefix):
    header = (prefix / "include/wireplan.h").read_text()
    declared = set(re.findall(r"\b(wireplan_\w+)\(", header))
    assert {"wireplan_call", "wireplan_free", "wireplan_version", "wireplan_search_open"} <= declared
    symbols = [line.split() for line in run("nm", "--extern-only", "--defined-only", prefix / "lib/libwireplan.a").splitlines() if len(line.split()) == 3]
    assert {name for _, _, name in symbols} == declared
    # Linked without a linker's help: nothing is asked for but the language's own libraries.
    wanted = run("nm", "--undefined-only", prefix / "lib/libwireplan.a")
    assert not re.findall(r"\b(?:yaml_|_ZN?\w*nlohmann|_ZN8wireplan)\w*", wanted)


# Another JSON library of the same name with exceptions, a yaml_parser_parse and a class wireplan::Search of one's own, threads, a shared library.
NEIGHBOUR = """
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>
#include <wireplan.hpp>

extern "C" int yaml_parser_parse(void*, void*) { return 42; }
namespace wireplan { struct Search { int x = 7; ~Search() { x = 0; } }; }

extern "C" int neighbour() {
  try {
    const nlohmann::json never = nlohmann::json::parse("{");
    return 1;
  } catch (const nlohmann::json::parse_error&) {
  }
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (std::string& answer : answers) threads.emplace_back([&answer] { answer = wireplan::call("estimate", "\\"story\\""); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers)
    if (answer != answers[0] || answer.find("\\"fits\\": false") == std::string::npos) return 2;
  wireplan::Search search;
  if (wireplan::call("import_trainer", R"({"text": "compute_environment: LOCAL_MACHINE\\nnum_processes: 8\\n"})").find("accelerate") == std::string::npos) return 3;
  std::cout << wireplan::version();
  return yaml_parser_parse(nullptr, nullptr) == 42 && search.x == 7 ? 0 : 4;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(neighbour LANGUAGES CXX)
find_package(wireplan 0.1 REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
add_library(neighbour SHARED neighbour.cpp)
target_link_libraries(neighbour PRIVATE wireplan::core nlohmann_json::nlohmann_json Threads::Threads)
file(WRITE main.cpp "extern \\"C\\" int neighbour(); int main() { return neighbour(); }")
add_executable(main main.cpp)
target_link_libraries(main PRIVATE neighbour)
get_target_property(program wireplan::program IMPORTED_LOCATION)
file(WRITE ${CMAKE_BINARY_DIR}/found "${wireplan_VERSION}\\n${program}\\n")
"""


def test_it_keeps_out_of_its_neighbours_way(prefix, tmp_path):
    (tmp_path / "neighbour.cpp").write_text(NEIGHBOUR)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.replace("main.cpp \"", "${CMAKE_BINARY_DIR}/main.cpp \"").replace("main main.cpp", "main ${CMAKE_BINARY_DIR}/main.cpp"))
    folder = built(tmp_path, tmp_path / "build", prefix)
    assert run(folder / "main") == version()
    assert (folder / "found").read_text().splitlines() == [version(), str(prefix / "bin/wireplan")]


def test_without_cmake(prefix, tmp_path):
    """By pkg-config's file, read here by hand so that the tool need not be there."""
    stated = (prefix / "lib/pkgconfig/wireplan.pc").read_text().replace("${pcfiledir}", str(prefix / "lib/pkgconfig"))
    variables = dict(re.findall(r"^(\w+)=(.*)$", stated, re.M))
    fields = {k: re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], v) for k, v in re.findall(r"^(\w+): (.*)$", re.sub(r"\$\{prefix\}", variables["prefix"], stated), re.M)}
    variables = {k: v.replace("${prefix}", variables["prefix"]) for k, v in variables.items()}
    cflags, libs = (re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], fields[k]) for k in ("Cflags", "Libs"))
    assert fields["Version"] == version()
    # One word each but for the space in the folder's name.
    include, *_ = [cflags]
    library, *rest = re.split(r" (?=-l)", libs)
    run("cc", "-std=c99", include, ROOT / "examples/c/fits.c", library, *rest, "-o", tmp_path / "fits")
    assert json.loads(subprocess.run([tmp_path / "fits"], capture_output=True, text=True).stdout)["schema"] == "wireplan.estimate/1"


def test_another_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES C)\nfind_package(wireplan 0.2 REQUIRED)\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "b", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True)
    assert done.returncode != 0 and f"version: {version()}" in done.stderr


def test_manuals_show_the_examples_as_they_are():
    text = (ROOT / "docs/packages.md").read_text("utf-8")
    blocks = [re.sub(r"^    ", "", block, flags=re.M).strip() for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M)]
    for path in ("examples/c/CMakeLists.txt", "examples/c/fits.c", "examples/cpp/best.cpp"):
        code = (ROOT / path).read_text("utf-8").strip()
        code = re.sub(r"\A(?:/\*.*?\*/|//[^\n]*)\n", "", code, flags=re.S).strip()
        assert code in blocks, path
