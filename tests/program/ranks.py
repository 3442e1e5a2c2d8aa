"""Ranks of the program on this host, through mpirun, with arguments of their own; and one of them by its process."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import mpi



def need_mpi(wireplan):
    """Skips the test where the program cannot measure with MPI."""
    if not shutil.which("mpirun") or not Path(wireplan.path).with_name("wireplan_mpi.so").exists():
        pytest.skip("no mpirun, or the program was built without MPI")


def start(wireplan, ranks, *arguments, **options):
    """ranks: how many, or a list of (more options of mpirun, arguments) that start one rank each."""
    words = [mpi.launcher()]
    if isinstance(ranks, int):
        words += ["-n", str(ranks), wireplan.path, *arguments]
    else:
        for i, (more, own) in enumerate(ranks):
            words += [*([":"] if i else []), "-n", "1", *more, wireplan.path, *own]
    return subprocess.Popen([str(w) for w in words], env={**os.environ, **mpi.ENVIRONMENT}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def ended(process, timeout=120):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    process.out, process.err = out.decode(), err.decode(errors="replace")
    return process


def run(wireplan, ranks, *arguments, timeout=120, **options):
    return ended(start(wireplan, ranks, *arguments, **options), timeout)


def process_of_rank(launcher, rank):
    """Its number, once it is there: the child of mpirun that has this rank."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == launcher.pid and f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in (entry / "environ").read_bytes():
                return int(entry.name)
        except (OSError, IndexError):
            continue
    return None
