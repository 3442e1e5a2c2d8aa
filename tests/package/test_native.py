"""The tarball of program and library, unpacked somewhere and run with an empty environment."""

import os
import re
import subprocess

import pytest
from packages import BUILD, ROOT, made, program, run, unpacked, version

import native

pytestmark = pytest.mark.skipif(not (BUILD / "libwireplan.a").exists(), reason="no library was built here")


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    (path,) = made(tmp_path_factory.mktemp("native"), "native")
    return path


@pytest.fixture(scope="module")
def folder(tarball, tmp_path_factory):
    (folder,) = unpacked(tarball, tmp_path_factory.mktemp("some where")).iterdir()
    return folder


def names(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_what_is_in_it(tarball, folder):
    assert re.fullmatch(rf"wireplan-{re.escape(version())}-linux-\w+", folder.name) and tarball.name == folder.name + ".tar.gz"
    found = names(folder)
    assert {"bin/wireplan", "lib/wireplan/wireplan_nccl.so", "include/wireplan.h", "include/wireplan.hpp", "lib/libwireplan.a", "lib/cmake/wireplan/wireplan-config.cmake",
            "lib/cmake/wireplan/wireplan-config-version.cmake", "lib/pkgconfig/wireplan.pc", "share/doc/wireplan/LICENSE", "share/doc/wireplan/README.md", "share/doc/wireplan/docs/program.md"} <= found
    assert ("lib/wireplan/wireplan_mpi.so" in found) == (BUILD / "wireplan_mpi.so").exists()
    # Nothing that only tests need, and no header of others.
    assert not [name for name in found if "double" in name or "test" in name or name.startswith("include/") and not name.startswith("include/wireplan.")]
    for library in ("cli11", "libyaml", "nlohmann-json", "tomlplusplus"):
        assert f"share/doc/wireplan/licences/{library}.txt" in found
    listed = run("tar", "-tvf", tarball)
    assert all(line.startswith(("-rw-r--r-- 0/0", "-rwxr-xr-x 0/0")) for line in listed.splitlines()), listed
    assert [line.split()[-1] for line in listed.splitlines() if line.startswith("-rwx")].count(f"{folder.name}/bin/wireplan") == 1


def test_pictures_and_pages_that_the_manuals_name_are_there(folder):
    docs = folder / "share/doc/wireplan"
    missing = [f"{path.name}: {target}" for path in [docs / "README.md", *docs.glob("docs/*.md")] for target in re.findall(r"^(?! {4}).*?(?:!\[[^\]]*\]\(([^)#:]+)\)|\]\((docs/[^)#]+\.md)\))", path.read_text("utf-8"), re.M)
               for target in [next(t for t in target if t)] if not (path.parent / target).exists()]
    assert not missing


def test_it_answers_with_nothing_around_it(folder, tmp_path):
    for arguments in (("estimate", "story", "--json"), ("topology", "nccl", "dgx-a100-80gb"), ("search", "story", "--top", "1", "--json"), ("accuracy",), ("--help",)):
        assert run(folder / "bin/wireplan", *arguments, env={}, cwd=tmp_path) == program(*arguments)


def test_what_measures_is_found_beside_it(folder):
    """Here without a GPU: the module is loaded and says what the machine lacks, not that it is missing."""
    done = subprocess.run([folder / "bin/wireplan", "measure", "--backend", "nccl", "-b", "1K", "-e", "1K"], env={}, capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        return  # a GPU
    assert done.returncode == 77 and "missing" not in done.stderr and "cannot be loaded" not in done.stderr, done.stderr
    if (BUILD / "wireplan_mpi.so").exists():
        alone = ("measure", "--backend", "mpi", "--op", "all_reduce", "-b", "1K", "-e", "1K", "--json")
        done = subprocess.run([folder / "bin/wireplan", *alone], env={"HOME": str(folder), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}, capture_output=True, text=True, timeout=60)
        assert "missing" not in done.stderr and "without --backend" not in done.stderr and "cannot be loaded" not in done.stderr, done.stderr


@pytest.mark.parametrize("file", ["bin/wireplan", "lib/wireplan/wireplan_nccl.so"])
def test_it_asks_little_of_the_system(folder, file):
    text = run("objdump", "-p", folder / file)
    libraries = set(re.findall(r"NEEDED\s+(\S+)", text))
    assert libraries <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, libraries
    assert "RPATH" not in text and "RUNPATH" not in text
    assert native.needed(folder / file, "GLIBC") and native.needed(folder / file, "GLIBC")[:2] <= native.GLIBC
    assert native.needed(folder / file, "GLIBCXX") <= native.LIBSTDCXX
    stated = (ROOT / "docs/packages.md").read_text("utf-8")
    assert f"glibc {native.GLIBC[0]}.{native.GLIBC[1]}" in stated and "GLIBCXX_" + ".".join(map(str, native.LIBSTDCXX)) in stated


def test_no_trace_of_the_machine(folder):
    here = str(ROOT).encode()
    assert not [name for name in sorted(names(folder)) if here in (folder / name).read_bytes()]


def test_the_same_bytes_every_time(tarball, tmp_path):
    (again,) = made(tmp_path, "native")
    assert again.read_bytes() == tarball.read_bytes()


def test_components_can_be_had_alone(tmp_path):
    for component, expected in (("program", {"bin", "lib"}), ("development", {"include", "lib"}), ("docs", {"share"})):
        run("cmake", "--install", BUILD, "--prefix", tmp_path / component, "--component", component)
        assert {p.name for p in (tmp_path / component).iterdir()} == expected
    assert not (tmp_path / "program/lib/cmake").exists() and os.access(tmp_path / "program/bin/wireplan", os.X_OK)
