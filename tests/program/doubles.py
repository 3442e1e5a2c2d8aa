"""The program on a machine of GPUs that is not there: tests/double/nccl/machine.hpp says what can be set.

machine(gpus=4, error="2@30") is the environment of one process; Team(2, machine) starts several, as torchrun does. The model of time stands
here once more, by its formulas, so that what the program prints is held against them."""

import json
import os
import socket
import subprocess
from pathlib import Path

from program import ROOT, Program

LIBRARIES = Path(os.environ.get("WIREPLAN_DOUBLES", ROOT / "build/native/tests/double/nccl/lib"))
LATENCY, BANDWIDTH = 5e-6, 1e10
LAUNCHERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "MASTER_", "TORCHELASTIC_", "WIREPLAN_PORT", "WIREPLAN_TOKEN")
BYTES = dict(int8=1, uint8=1, int32=4, uint32=4, int64=8, uint64=8, half=2, float=4, double=8, bfloat16=2, f8e4m3=1, f8e5m2=1)


def machine(**settings):
    """The environment of a process on the double, without what the tests' own launcher may have set."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS) and k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")}
    words = " ".join(f"{key.replace('_', '-')}={value}" for key, value in settings.items())
    return env | {"LD_LIBRARY_PATH": str(LIBRARIES), "WIREPLAN_DOUBLE": words}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torchrun(rank, processes, port, local=None):
    return {
        "RANK": str(rank), "WORLD_SIZE": str(processes), "LOCAL_RANK": str(rank if local is None else local),
        "LOCAL_WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }


class Team:
    """Processes that were started together. done[i] has returncode, out, err of process i."""

    def __init__(self, count, env, *arguments, command="measure", each=None, launch=torchrun, port=None, timeout=60):
        port = port or free_port()
        self.running = [
            subprocess.Popen(
                [Program.path, command, *arguments, *(each(r) if each else ())], env=env | launch(r, count, port),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for r in range(count)
        ]
        self.done = []
        try:
            for p in self.running:
                out, err = p.communicate(timeout=timeout)
                self.done.append(subprocess.CompletedProcess(p.args, p.returncode, out.decode(), err.decode()))
        finally:
            for p in self.running:
                if p.poll() is None:
                    p.kill()
                    p.wait()
        for d in self.done:
            d.out, d.err = d.stdout, d.stderr

    @property
    def statuses(self):
        return [d.returncode for d in self.done]

    def json(self):
        assert self.statuses == [0] * len(self.done), [d.err for d in self.done]
        return json.loads(self.done[0].out)


def model_s(op, size, ranks, link=lambda a, b: BANDWIDTH, latency=LATENCY):
    """Seconds of a call of `size` bytes (nccl-tests' size) on the ranks, in the order of their places; root: place 0."""
    n = len(ranks)
    if n < 2:
        return 0.0
    around = [link(ranks[i], ranks[(i + 1) % n]) for i in range(n)]
    others = [link(ranks[0], r) for r in ranks[1:]]
    part = size / n
    return {
        "all_reduce": lambda: latency * 2 * (n - 1) + 2 * (n - 1) / n * size / min(around),
        "all_gather": lambda: latency * (n - 1) + (n - 1) / n * size / min(around),
        "reduce_scatter": lambda: latency * (n - 1) + (n - 1) / n * size / min(around),
        "broadcast": lambda: latency * (n - 1) + size / min(around),
        "reduce": lambda: latency * (n - 1) + size / min(around),
        "send_recv": lambda: latency + size / min(around),
        "scatter": lambda: latency * (n - 1) + sum(part / rate for rate in others),
        "gather": lambda: latency + sum(part / rate for rate in others),
        "all_to_all": lambda: latency * (n - 1) + max(sum(part / link(a, b) for b in ranks if b != a) for a in ranks),
    }[op]()


def leftovers(file):
    """What the libraries still had alive at the end of each process, by process."""
    return [{k: int(v) for k, v in (word.split("=") for word in line.split())} for line in Path(file).read_text().splitlines()]
