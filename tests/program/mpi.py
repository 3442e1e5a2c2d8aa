"""The program on several ranks of one host, through mpirun."""

import os
import shutil
import subprocess

import pytest

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # more ranks than cores
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_orte_execute_quiet": "1",
}


def launcher():
    found = shutil.which("mpirun")
    if not found:
        pytest.fail("mpirun is missing; ./dev setup installs it")
    return found


def command(program, ranks, *arguments):
    return [launcher(), "-n", str(ranks), program.path, *arguments]


def start(program, ranks, *arguments, **options):
    options.setdefault("env", {**os.environ, **ENVIRONMENT})
    return subprocess.Popen(command(program, ranks, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, **options)


def run(program, ranks, *arguments, timeout=90, **options):
    """mpirun's end, with .out and .err."""
    options.setdefault("env", {**os.environ, **ENVIRONMENT})
    done = subprocess.run(command(program, ranks, *arguments), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, **options)
    done.out, done.err = done.stdout, done.stderr
    return done
