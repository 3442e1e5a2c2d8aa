"""Hosts with wires of a stated speed, on one machine: a network namespace each.

    with Hosts(["300mbit"] * 4) as hosts:
        done = hosts.mpirun([wireplan.path, "measure", ...])

A further namespace holds the bridge that joins them, so the machine's own network is never touched. Both ends of each
host's wire are shaped by a token bucket. Names hold this process's id: runs beside each other do not meet. What was made
is removed when the block ends, or else when Python does.
"""

import atexit
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

SUBNET = "10.77.0."  # known inside the namespaces alone
# What passes at once after a pause: at 300 Mbit/s the 28 ms for which a sender may wait for a core without its wire standing still. With a quarter of it
# calls of 4 MiB took 10 to 40 % longer on a busy machine, and now longer, now shorter. The queue holds what a window may send at once.
BURST, QUEUE = "1mb", "16mb"
OPEN_MPI = {
    "mpi_yield_when_idle": "1",  # ranks of all hosts poll on the same cores
    "btl": "tcp,self", "pml": "ob1", "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0",
    # Sockets hold what a wire of some 100 Mbit/s needs: with as much as the system allows, seconds of data queue before it, and TCP takes them for lost.
    "btl_tcp_sndbuf": "524288", "btl_tcp_rcvbuf": "524288",
    # Rings at every size, as on GPUs: by default the algorithm changes with the size, and a curve has steps.
    "coll_tuned_use_dynamic_rules": "1", "coll_tuned_allreduce_algorithm": "4", "coll_tuned_allgather_algorithm": "4",
    "coll_tuned_reduce_scatter_algorithm": "3",
}
count = 0


def missing():
    """Why there can be no such hosts here; "" where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "tc", "unshare", "mpirun"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    try:
        with Hosts(["100mbit"]):
            return ""
    except subprocess.CalledProcessError as e:
        return f"{' '.join(e.cmd)}: {(e.stderr or b'').decode().strip()}"


def run(*words, check=True):
    return subprocess.run(words, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Hosts:
    def __init__(self, rates, slots=1):
        """rates: of each host's wire in tc's words ("300mbit"), or None: as fast as it goes. slots: ranks on each host, neighbours by number."""
        self.rates, self.slots = rates, slots

    def __enter__(self):
        global count
        count += 1
        self.name = f"wp{os.getpid()}-{count}-"
        self.made = []
        self.folder = Path(tempfile.mkdtemp(prefix="wireplan-hosts-"))
        atexit.register(self.remove)
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()
        atexit.unregister(self.remove)

    def host(self, i):
        return f"{self.name}{i}"

    def make(self):
        switch = self.host("switch")
        self.add(switch)
        run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", switch, "link", "set", "bridge", "up")
        for i, rate in enumerate(self.rates):
            host, port = self.host(i), f"port{i}"
            self.add(host)
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", switch)
            run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
            run("ip", "-n", host, "address", "add", f"{SUBNET}{i + 1}/24", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "eth0", "up")
            if rate:
                self.shape(i, rate)
        # What mpirun starts its daemons with: it hands over an address, then a command. Host names must differ, or Open MPI takes the
        # ranks to share memory.
        agent = self.folder / "agent"
        agent.write_text("#!/bin/sh\naddress=$1; shift\n"
                         f"host={self.name}$(( ${{address##*.}} - 1 ))\n"
                         'exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        agent.chmod(0o755)
        (self.folder / "hosts").write_text("".join(f"{SUBNET}{i + 1} slots={self.slots}\n" for i in range(len(self.rates))))

    def shape(self, i, rate):
        """Both ends of a host's wire, also while it is in use."""
        for where, device in ((self.host(i), "eth0"), (self.host("switch"), f"port{i}")):
            run("tc", "-n", where, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", BURST, "limit", QUEUE)

    def add(self, namespace):
        run("ip", "netns", "add", namespace)
        self.made.append(namespace)

    def remove(self):
        for namespace in self.made:
            for pid in run("ip", "netns", "pids", namespace, check=False).stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            run("ip", "netns", "delete", namespace, check=False)
        self.made = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def mpirun(self, command, timeout=120, variables={}, **options):
        """The ranks of all hosts."""
        # Before other work on the machine, where that is allowed: a rank that waits for a core sends nothing. Chromium under test takes -8.
        words = ["nice", "-n", "-12", "mpirun", "--allow-run-as-root", "--hostfile", str(self.folder / "hosts"), "-np", str(len(self.rates) * self.slots),
                 "--map-by", "slot", "--mca", "plm_rsh_agent", str(self.folder / "agent")]
        for key, value in {**OPEN_MPI, **variables}.items():
            words += ["--mca", key, value]
        first = self.host(0)
        line = f"hostname {first}; exec {shlex.join([*words, *map(str, command)])}"
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run(["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c", line], timeout=timeout, **options)
        done.out, done.err = (done.stdout or b"").decode(), (done.stderr or b"").decode(errors="replace")
        return done
