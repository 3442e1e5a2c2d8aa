"""What the NCCL back-end declares of libraries it finds at run time, held against their headers where a machine has them; and its kernels
against what the compiler makes of them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEASURE = ROOT / "native/measure"
CUDA = [Path(p) / "include" for p in (os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr")]
# Of enums of NCCL's and the driver's own: the name there, what stands here.
NUMBERS = {
    "cuda.h": {"CUDA_SUCCESS": "kCudaDone", "CUDA_ERROR_OUT_OF_MEMORY": "kCudaOutOfMemory", "CUDA_ERROR_NOT_READY": "kCudaNotReady", "CU_STREAM_NON_BLOCKING": "kStreamNonBlocking",
               "CU_EVENT_RECORD_EXTERNAL": "kEventRecordExternal", "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL": "kCaptureThreadLocal", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": "kAttributeMultiprocessors",
               "CU_DEVICE_ATTRIBUTE_PCI_BUS_ID": "kAttributePciBus", "CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID": "kAttributePciDevice", "CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID": "kAttributePciDomain"},
    "nccl.h": {"ncclSuccess": "kNcclDone", "ncclInProgress": "kNcclInProgress", "NCCL_SPLIT_NOCOLOR": "kNoColor", "NCCL_UNIQUE_ID_BYTES": "sizeof(UniqueId)"}
    | {f"nccl{theirs}": f"nccl_type(wireplan::ElementType::{ours})" for theirs, ours in dict(
        Int8="int8", Uint8="uint8", Int32="int32", Uint32="uint32", Int64="int64", Uint64="uint64", Float16="half", Float32="float32", Float64="float64", Bfloat16="bfloat16",
        Float8e4m3="fp8_e4m3", Float8e5m2="fp8_e5m2").items()}
    | {f"nccl{name.capitalize()}": f"nccl_redop(wireplan::Reduction::{name})" for name in ("sum", "prod", "min", "max", "avg")},
}
# Equal in number of parameters, and in size, and pointer or none, of each.
SAME = """
template <class T> constexpr int form() { return std::is_pointer_v<T> ? -1 : static_cast<int>(sizeof(T)); }
template <class F> struct Form;
template <class R, class... A> struct Form<R (*)(A...)> {
  static constexpr std::array<int, sizeof...(A) + 1> value = {form<R>(), form<A>()...};
};
template <class A, class B> constexpr bool same() {
  if constexpr (Form<A>::value.size() != Form<B>::value.size()) return false;
  else return Form<A>::value == Form<B>::value;
}
"""


def header(name):
    for folder in CUDA:
        if (folder / name).exists():
            return folder
    pytest.skip(f"no {name} on this machine")


def found_functions(source, variable):
    text = (MEASURE / source).read_text()
    pairs = re.findall(r'find(?:_if_there)?\("(\w+)", ' + variable + r"(\w+)\)", text)
    assert pairs
    return pairs


def compile_with(tmp_path, folder, lines):
    compiler = shutil.which(os.environ.get("CXX", "g++")) or pytest.skip("no C++ compiler")
    source = tmp_path / "same.cpp"
    source.write_text("\n".join(lines))
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-w", f"-I{ROOT}", f"-I{folder}", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("name, source, variable, table", [("cuda.h", "nccl_api.cpp", "d.", "Driver"), ("nccl.h", "nccl_api.cpp", "n.", "Nccl"), ("cublasLt.h", "nccl_products.cpp", "found->", "BlasApi")])
def test_declarations_are_those_of_the_header(tmp_path, name, source, variable, table):
    folder = header(name)
    lines = [f"#include <{name}>", "#include <array>", "#include <type_traits>"]
    if table == "BlasApi":
        lines += ['#include "native/measure/nccl_blas.hpp"']
        lines += ["static_assert(sizeof(wireplan::nccl_backend::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));", "static_assert(sizeof(wireplan::nccl_backend::Algorithm) == sizeof(cublasLtMatmulAlgo_t));",
                  "namespace ours = wireplan::nccl_backend;", "static_assert(CUBLAS_COMPUTE_32F == ours::kComputeFloat && CUDA_R_32F == ours::kFloat && CUDA_R_16BF == ours::kBfloat16 && CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == ours::kPreferMostWorkspace);"]
    else:
        lines += ['#include "native/measure/nccl_api.hpp"']
    lines += [SAME, "using namespace wireplan::nccl_backend;"]
    # Where the header makes a newer version of a plain name (cuEventElapsedTime), the parameters are the same.
    lines += [f'static_assert(same<decltype(&::{theirs}), decltype({table}::{ours})>(), "{theirs}");' for theirs, ours in found_functions(source, re.escape(variable))]
    lines += [f'static_assert(static_cast<long>(::{theirs}) == static_cast<long>({ours}), "{theirs}");' if theirs[0] != "N" else f'static_assert({theirs} == {ours}, "{theirs}");'
              for theirs, ours in NUMBERS.get(name, {}).items()]
    if table == "Nccl":
        lines += ["static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking) && offsetof(Config, network) == offsetof(ncclConfig_t, netName));",
                  "static_assert(offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare) && sizeof(Config) <= sizeof(ncclConfig_t));"]
    compile_with(tmp_path, folder, lines)


def test_a_wrong_declaration_is_found(tmp_path):
    with pytest.raises(AssertionError, match="wrong"):
        compile_with(tmp_path, ".", ["#include <array>", "#include <type_traits>", SAME, 'static_assert(same<int (*)(long), int (*)(int)>(), "wrong");'])


def test_the_kernels_are_what_the_compiler_makes_of_them(tmp_path):
    if not shutil.which("clang++-19"):
        pytest.skip("no clang++-19 on this machine")
    made = tmp_path / "kernels.ptx"
    subprocess.run([ROOT / "tools/nccl_kernels.sh", made], check=True)
    assert made.read_text() == (MEASURE / "nccl_kernels.ptx").read_text(), "tools/nccl_kernels.sh makes another text: run it and commit what it writes"


def test_the_assembler_takes_the_kernels(tmp_path):
    assembler = shutil.which("ptxas") or pytest.skip("no ptxas on this machine")
    for architecture in ("sm_75", "sm_80", "sm_90", "sm_100"):
        subprocess.run([assembler, f"-arch={architecture}", MEASURE / "nccl_kernels.ptx", "-o", tmp_path / "kernels"], check=True)


def test_only_the_back_end_knows_nccl_and_the_driver():
    """By name, as a library that is opened at run time shows in no include."""
    for door in ("core", "native", "web"):
        for path in (ROOT / door).rglob("*"):
            if path.suffix in (".hpp", ".cpp", ".h") and not (path.parent == MEASURE and path.name.startswith("nccl_")):
                assert not re.search(r'"(libcuda|libnccl|libcublas\w*)\.so', path.read_text()), path
