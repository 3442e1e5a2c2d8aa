"""`wireplan topology nccl`: what NCCL decides on a topology file, and files and requests that are none."""

import json
import re
import time

import pytest

from program import ROOT

DATA = ROOT / "tests/data/nccl"
INTEL = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'
NVSWITCH = '<nvlink target="0000:ff:00.0" count="18" tclass="0x068000"/>'


def pci(bus, inside, kind="0x030200", width="16", speed="32.0 GT/s PCIe"):
    return f'<pci busid="{bus}" class="{kind}" link_speed="{speed}" link_width="{width}">{inside}</pci>'


def gpu(number, inside="", sm=' sm="90"', **link):
    return pci(f"0000:{number + 1:02x}:00.0", f'<gpu dev="{number}"{sm}>{inside}</gpu>', **link)


def switch(number, inside):
    return pci(f"{number:04x}:00:00.0", inside, "0x060400")


def nic(number, speed="100000", **other):
    words = "".join(f' {key}="{value}"' for key, value in {"dev": number, "guid": hex(number + 100), "port": 1, "gdr": 1, **other}.items())
    return pci(f"0001:{number:02x}:00.0", f'<nic><net name="mlx5_{number}" speed="{speed}"{words}/></nic>', "0x020700")


def cpu(*parts, numa="0", words=INTEL):
    return f'<cpu numaid="{numa}" {words}>\n' + "\n".join(parts) + "\n</cpu>\n"


def system(*cpus):
    return '<system version="1">\n' + "".join(cpus) + "</system>\n"


TWO = system(cpu(gpu(0), gpu(1)))
NEAR = system(cpu(switch(1, gpu(0) + gpu(1))))
PAIR_WITH_NIC = system(cpu(gpu(0), gpu(1), nic(0, latency="1.5")))


@pytest.fixture
def nccl(wireplan, tmp_path):
    """What the command answers to the text of a file, and never after more than two seconds."""

    class Asked:
        def file(self, text):
            path = tmp_path / "topology.xml"
            path.write_text(text)
            return str(path)

        def timed(self, call, *arguments):
            start = time.monotonic()
            answer = call("topology", "nccl", *arguments)
            assert time.monotonic() - start < 2
            return answer

        def json(self, text, *options):
            return self.timed(wireplan.json, self.file(text), *options)

        def error(self, text, *options):
            (error,) = self.timed(wireplan.errors, self.file(text), *options)
            assert error["limit"]
            assert error["path"] or error["text"].startswith(f"{self.file(text)}: ") or options
            return error

        def text(self, text, *options):
            done = self.timed(wireplan, self.file(text), *options)
            assert done.returncode == 0
            assert not re.search(r"\b(nan|inf)\b|e\+\d\d", done.out, re.IGNORECASE)
            return done.out

    return Asked()


def test_two_gpus_are_decided(nccl):
    answer = nccl.json(TWO)
    assert answer["ranks"] == 2 and answer["nccl_nodes"] == 1
    assert all(sorted(ring["order"]) == [0, 1] for ring in answer["rings"])
    assert all(point[3] > 0 for choice in answer["choices"] for point in choice["points"])


@pytest.mark.parametrize("path", sorted(DATA.glob("*.xml")), ids=lambda p: p.stem)
def test_every_topology_is_decided_soon(nccl, path):
    answer = nccl.json(path.read_text())
    assert answer["ranks"] == sum(1 for _ in re.finditer(r"<gpu ", path.read_text()))
    for ring in answer["rings"]:
        assert sorted(ring["order"]) == list(range(answer["ranks"]))
    nccl.text(path.read_text())


# --- files ------------------------------------------------------------------------------


@pytest.mark.parametrize("length", range(1, len(PAIR_WITH_NIC) - len("</system>\n") + 9, 23))
def test_a_file_that_was_cut(nccl, length):
    assert "line " in nccl.error(PAIR_WITH_NIC[:length])["text"] or length < 3


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "no element"),
        ("<system version='1'>", "ends inside <system>"),
        ("<system><cpu></system></cpu>", "line 1"),
        ('<!DOCTYPE system SYSTEM "file:///etc/hostname">' + TWO, "document types"),
        ('<!DOCTYPE s [<!ENTITY a "&b;&b;"><!ENTITY b "&a;&a;">]>' + TWO, "document types"),
        (TWO.replace('sm="90"', 'sm="&secret;"', 1), "line 3"),
        (TWO.replace('dev="0"', 'dev="0" dev="1"'), "line 3"),
        ("<graphs/>", "<system>"),
        (system(), "no GPU"),
        (system(cpu()), "no GPU"),
        (system(cpu(nic(0))), "no GPU"),
        (system(cpu(gpu(0, sm=""), gpu(1))), "line 3: the GPU 0000:01:00.0 does not say its compute capability (sm)"),
        (system(cpu(gpu(0), gpu(1)), cpu(gpu(2))), "line 6: two <cpu> have the numaid 0"),
        (system(cpu(gpu(0), gpu(0))), "line 4: two GPUs have the bus id 0000:01:00.0"),
        (system(cpu(switch(1, gpu(0)), switch(1, gpu(1)))), "line 4: two PCIe switches have the bus id"),
        (system(cpu(gpu(0), gpu(1), nic(0), nic(1, dev=0))), "line 6: two <net> have the dev 0"),
        (TWO.replace("<gpu ", '<gpu gcn="942" ', 1), "AMD"),
        (TWO.replace('arch="x86_64"', 'arch="mips"'), "mips"),
        (TWO.replace('arch="x86_64"', ""), "arch"),
        (TWO.replace('busid="0000:02:00.0"', ""), "line 4: the <pci> has no bus id"),
        (TWO.replace('busid="0000:02:00.0"', 'busid="0000:zz:00.0"'), "bus id"),
        (system(cpu(gpu(0, '<nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>'), gpu(1))), "4 NVLinks at one end, 0 at the other"),
        (system(cpu(gpu(0, '<nvlink target="0000:01:00.0" count="4" tclass="0x030200"/>'), gpu(1))), "its own GPU"),
        (system(cpu(gpu(0), words='host_hash="0x1" ' + INTEL), cpu(gpu(1), numa="1", words='host_hash="0x2" ' + INTEL)), "several hosts"),
        (system(cpu(*(gpu(i) for i in range(129)))), "more than 128 GPUs"),
        (system(cpu(gpu(0), gpu(1), *(nic(i) for i in range(129)))), "more than 128 NICs"),
        ("<a>" * 65, "64 deep"),
        ("<a>" * 100_000, "64 deep"),
        (system(*(cpu(numa=i) for i in range(1026))), "1,024"),
        (system("<x/>" * 100_001), "100,000 elements"),
    ],
)
def test_a_file_that_is_none(nccl, text, words):
    error = nccl.error(text)
    assert words in error["text"]


@pytest.mark.parametrize(
    "key, old, values, limit",
    [
        ("link_width", 'link_width="16"', ["33", "-1", "1e9", "x16", "999999999999999999999", "nan"], "0 to 32"),
        ("link_width", 'link_width="16"', ["3", "17", "24", "31"], "1, 2, 4, 8, 12, 16 or 32, or 0 where it is not known"),
        ("latency", 'latency="1.5"', ["1e30", "1e999", "nan", "inf", "-100", "-0.1", "100000.1", "soon", "1.5us", "0x10", "[0]", "1 2"], "0 to 100000 (µs)"),
        ("sm", 'sm="90"', ["-1", "0", "7", "1000", "9.0", "ninety"], "30 to 999"),
        ("speed", 'speed="100000"', ["-2", "100000001", "inf", "1e5"], "-1 to 100000000"),
        ("dev", 'dev="0"', ["-2", "4096", "none"], "-1 to 4095"),
        ("numaid", 'numaid="0"', ["-2", "99999999", "a"], "-1 to 1048576"),
        ("familyid", 'familyid="6"', ["-6", "six"], "0 to 1048576"),
        ("gdr", 'gdr="1"', ["2", "yes"], "0 to 1"),
        ("port", 'port="1"', ["-1", "p"], "0 to 1048576"),
    ],
)
def test_values_that_no_hardware_has(nccl, key, old, values, limit):
    assert old in PAIR_WITH_NIC
    for value in values:
        error = nccl.error(PAIR_WITH_NIC.replace(old, f'{key}="{value}"', 1))
        assert re.search(r"\.xml: line \d+: <", error["text"]) and f'{key}="{value}"' in error["text"]
        assert error["limit"] == limit and limit in error["text"]
        assert json.loads(error["value"]) == value


@pytest.mark.parametrize("count", ["0", "-1", "1025", "many"])
def test_counts_of_nvlinks(nccl, count):
    error = nccl.error(system(cpu(gpu(0, NVSWITCH.replace("18", count)), gpu(1, NVSWITCH))))
    assert "1 to 1024" == error["limit"] and "<nvlink>" in error["text"]


def test_long_values_are_cut(nccl):
    error = nccl.error(PAIR_WITH_NIC.replace('link_width="16"', f'link_width="{"9" * 5000}"', 1))
    assert len(error["text"]) < 300 + len(nccl.file(""))


@pytest.mark.parametrize("value", ["0", "0.000000", "1.25", "1e+02", "100000", ""])
def test_latencies_as_nccl_writes_them(nccl, value):
    assert nccl.json(PAIR_WITH_NIC.replace('latency="1.5"', f'latency="{value}"'), "--nodes", "2")["nccl_nodes"] == 2


def test_a_latency_counts(nccl):
    times = lambda latency: [point[3] for choice in nccl.json(system(cpu(gpu(0), nic(0, latency=latency))), "--nodes", "2")["choices"] if choice["op"] == "all_reduce" for point in choice["points"]]
    assert all(slow > quick for quick, slow in zip(times("0"), times("1e2"), strict=True))


def test_a_speed_nccl_does_not_know_is_pcie_3(nccl):
    """As NCCL takes it; what the file says there, and where, is said."""
    text = system(cpu(gpu(0, speed="Unknown"), gpu(1, speed="64 GT/s"), gpu(2, speed=""), *(gpu(i, speed="fast") for i in range(3, 10)), nic(0)))
    (assumed,) = nccl.json(text)["assumed"]
    assert assumed["path"] == "link_speed" and assumed["value"] == "8.0 GT/s PCIe"
    for words in ("line 3 (Unknown)", "line 4 (64 GT/s)", "line 5 (none)", "line 10 (fast) and 2 more", "PCIe 3"):
        assert words in assumed["why"]
    assert "line 3 (Unknown)" in " ".join(nccl.text(text).split())
    assert "not stated" not in nccl.text(text)
    assert nccl.json(TWO)["assumed"] == []
    assert nccl.json(system(cpu(gpu(0, speed="Unknown"), gpu(1, speed="Unknown"))))["paths"] == nccl.json(system(cpu(gpu(0, speed="8.0 GT/s PCIe"), gpu(1, speed="8.0 GT/s PCIe"))))["paths"]


def test_nvlinks_to_gpus_the_file_does_not_have_are_said(nccl):
    mesh = lambda i, others: "".join(f'\n<nvlink target="0000:{j + 1:02x}:00.0" count="2" tclass="0x030200"/>' for j in others if j != i)
    whole, cut = (system(cpu(*(gpu(i, mesh(i, others)) for i in range(2)))) for others in (range(2), range(4)))
    (assumed,) = nccl.json(cut)["assumed"]
    assert assumed["path"] == "nvlink" and assumed["value"] == 4
    assert "line 5 (0000:03:00.0), line 6 (0000:04:00.0), line 9 (0000:03:00.0), line 10 (0000:04:00.0): left out" in assumed["why"]
    assert nccl.json(whole) == nccl.json(cut) | {"assumed": []}
    for legitimate in (NVSWITCH, NVSWITCH.replace("0x068000", "0x068001")):
        assert nccl.json(system(cpu(gpu(0, legitimate), gpu(1, legitimate))))["assumed"] == []
    many = system(cpu(*(gpu(i, mesh(i, range(2, 60))) for i in range(2))))
    (assumed,) = nccl.json(many)["assumed"]
    assert assumed["value"] == 116 and " and 108 more: left out" in assumed["why"] and len(assumed["why"]) < 400


def test_what_is_not_known_is_passed_over(nccl):
    plain = nccl.json(PAIR_WITH_NIC)
    more = PAIR_WITH_NIC.replace("<gpu ", '<gpu rank="7" colour="red" ').replace("</cpu>", '<usb a="1"/><pci busid="0009:00:00.0" class="0x010802"/></cpu>').replace("<net ", '<net maxconn="131072" ')
    assert nccl.json(more) == plain


def test_10000_elements(nccl):
    junk = system(cpu(*(f'<thing n="{i}"/>' for i in range(10_000)), gpu(0), gpu(1)))
    assert nccl.json(junk) == nccl.json(TWO)
    assert nccl.json(system(cpu(*(switch(i + 1, "") for i in range(10_000)), gpu(0), gpu(1))))["ranks"] == 2
    assert nccl.json(system(cpu(*(gpu(i) for i in range(128)))))["ranks"] == 128
    mesh = lambda i: "".join(f'<nvlink target="0000:{j + 1:02x}:00.0" count="{1 + i * j % 3}" tclass="0x030200"/>' for j in range(64) if j != i)
    assert nccl.json(system(cpu(*(gpu(i, mesh(i)) for i in range(64)))))["ranks"] == 64


def test_deep_switches(nccl):
    inside = gpu(0) + gpu(1)
    for level in range(1, 60):
        inside = switch(level, inside)
    assert nccl.json(system(cpu(inside)))["ranks"] == 2


def test_switches_joined_in_a_circle(nccl):
    joined = lambda i, to, inside: switch(i, inside + f'<pcilink target="{to:04x}:00:00.0"/>')
    text = system(cpu(joined(1, 2, gpu(0)), joined(2, 3, gpu(1)), joined(3, 1, gpu(2)), joined(4, 4, gpu(3)), joined(5, 99, "")))
    assert nccl.json(text)["ranks"] == 4


def test_many_nics_between_hosts(nccl):
    text = system(cpu(gpu(0, NVSWITCH), gpu(1, NVSWITCH), *(nic(i) for i in range(64))))
    assert nccl.json(text, "--nodes", "16")["nccl_nodes"] == 16


@pytest.mark.parametrize("name, hosts", [("aws-p5", "8"), ("oci-h100", "12"), ("gb200-tray", "32")])
def test_a_rack_without_p2p(nccl, name, hosts):
    answer = nccl.json((DATA / f"{name}.xml").read_text(), "--nodes", hosts, "--rack-nodes", hosts, "--env", "NCCL_P2P_DISABLE=1")
    assert answer["nccl_nodes"] >= int(hosts)


# --- the text -----------------------------------------------------------------------------


def names_in(text):
    return re.findall(r"^  (\S+(?: \d)?)  +\S", text.split("\nNames\n")[1], re.MULTILINE)[1:]


def test_the_names_in_the_text_are_explained(nccl):
    assert names_in(nccl.text(NEAR)) == ["Pattern 1", "Pattern 4", "crossNic", "sameChannels", "PIX", "P2P", "LL", "Simple"]
    dgx = nccl.text((DATA / "oci-h100.xml").read_text(), "--nodes", "2")
    assert {"Pattern 3", "Pattern 4", "Pattern 5", "NVL", "PXN", "LL128", "NVLS", "NVLSTree"} <= set(names_in(dgx)) and not {"SHM", "DIS", "P2C"} & set(names_in(dgx))
    assert "SHM" in names_in(nccl.text(NEAR, "--p2p", "none"))
    everything = [path.read_text() for path in sorted(DATA.glob("*.xml"))[::6]]
    for text in everything:
        said = nccl.text(text).split("\nNames\n")[0]
        for name in re.findall(r"\b(?:LOC|NVL|NVB|C2C|PIX|PXB|P2C|PXN|PHB|SYS|DIS|P2P|SHM|Pattern \d)\b", said):
            assert name in ("LOC", *names_in(nccl.text(text)))


def test_lines_of_nccl_are_folded_between_whole_items(nccl):
    done = nccl.text((DATA / "oci-h100.xml").read_text(), "--nodes", "16")
    assert max(map(len, done.splitlines())) <= 120
    trees = re.sub(r"\n {6}", " ", done.split("\nTrees", 1)[1].split(" coll channels")[0].rsplit("\n", 1)[0]).split("\nTrees")
    assert len(trees) == 16
    for rank, line in enumerate(trees):
        assert re.fullmatch(r"( \[\d+\] -?\d+/-?\d+/-?\d+->%d->-?\d+){32}" % rank, line)
    rings = re.findall(r"^Channel \d\d/32 : ([\d \n]+)$", re.sub(r"\n {6}", " ", done), re.MULTILINE)
    assert len(rings) == 32 and all(sorted(map(int, ring.split())) == list(range(128)) for ring in rings)


def test_nics_of_a_rack(nccl):
    """A NIC is out of reach for GPUs of other hosts: neither GPUDirect nor host memory."""
    done = nccl.text((DATA / "gb200-tray.xml").read_text(), "--nodes", "36", "--rack-nodes", "18")
    nics = done.split("Paths to NICs")[1].split("Graphs found")[0]
    assert "DIS" not in nics and re.search(r"NIC +GB/s +0 +1 +2 +3\n", nics)
    count = len(re.findall(r"^ +\d+ +\d+\.\d ", nics, re.MULTILINE))
    assert f"and {17 * count} more on the other hosts of the rack" in " ".join(nics.split())
    wide = nccl.text(system(cpu(*(gpu(i, NVSWITCH) for i in range(20)), nic(0))), "--nodes", "2")
    assert "The first 16 of 20 GPUs." in wide.split("Paths to NICs")[1]
    assert "on the other hosts" not in wide


def test_nothing_unusual_is_said(nccl):
    quiet, loud = NEAR, system(cpu(gpu(0, speed=""), gpu(1, speed="")))
    assert nccl.json(quiet)["findings"] == [] and "Findings\n--------\n\nNothing unusual.\n" in nccl.text(quiet)
    assert nccl.json(loud)["findings"] and "Nothing unusual" not in nccl.text(loud)
    assert "## Findings\n\nNothing unusual.\n" in nccl.text(quiet, "--markdown")


# --- requests -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, path, words",
    [
        (["--gpus", "0,0"], "gpus", "GPU 0 stands twice"),
        (["--gpus", "0,2"], "gpus", "there is no GPU 2: the machine has 2, 0 to 1"),
        (["--gpus", "-1,0"], "gpus", "there is no GPU -1"),
        (["--gpus", ""], "command line", "--gpus"),
        (["--gpus", ","], "--gpus", "indices"),
        (["--gpus", "0,one"], "--gpus", "indices"),
        (["--gpus", "0"], "gpus", "one GPU alone"),
        (["--nodes", "0"], "nodes", "1 to 512"),
        (["--nodes", "-1"], "nodes", "1 to 512"),
        (["--nodes", "1000000000"], "nodes", "1 to 512"),
        (["--nodes", "1e9"], "command line", "--nodes"),
        (["--nodes", "99999999999999999999"], "command line", "--nodes"),
        (["--nodes", "2"], "nodes", "no NIC"),
        (["--rack-nodes", "0"], "rack_nodes", "1 to 512"),
        (["--rack-nodes", "4"], "rack_nodes", "rack_nodes is 4, but there is one node"),
        (["--p2p", "01"], "p2p", "each of 2 GPUs"),
        (["--p2p", "01/10/00"], "p2p", "each of 2 GPUs"),
        (["--p2p", "011/101/110"], "p2p", "each of 2 GPUs"),
        (["--p2p", "02/20"], "p2p", "each of 2 GPUs"),
        (["--p2p", "some"], "p2p", "all, none"),
        (["--p2p", ""], "command line", "--p2p"),
        (["--gpudirect", "perhaps"], "command line", "gpudirect"),
        (["--nccl", "9.9"], "nccl", "2.28.9"),
        (["--nccl", "../gpus/h100-80gb-sxm"], "nccl", "2.28.9"),
        (["--env", "NCCL_ALGO"], "--env", "NAME=VALUE"),
        (["--env", "=Ring"], "--env", "NAME=VALUE"),
        (["--env", "PATH=/bin"], "env.PATH", "NCCL_"),
        (["--env", "NCCL_ALGO=Foo"], "env.NCCL_ALGO", "Tree, Ring, NVLS"),
        (["--env", "NCCL_ALGO="], "env.NCCL_ALGO", "Tree, Ring, NVLS"),
        (["--env", "NCCL_ALGO=Ring;allsum:Tree"], "env.NCCL_ALGO", "Tree, Ring, NVLS"),
        (["--env", "NCCL_PROTO=LL256"], "env.NCCL_PROTO", "LL, LL128, Simple"),
        (["--env", "NCCL_P2P_LEVEL=FAR"], "env.NCCL_P2P_LEVEL", "LOC"),
        (["--env", "NCCL_P2P_DISABLE=1", "--env", "NCCL_P2P_LEVEL=FAR"], "env.NCCL_P2P_LEVEL", "LOC"),
        (["--env", "NCCL_NET_GDR_LEVEL=-3"], "env.NCCL_NET_GDR_LEVEL", "LOC"),
        (["--env", "NCCL_CROSS_NIC=3"], "env.NCCL_CROSS_NIC", "0, 1 or 2"),
        (["--env", "NCCL_MIN_NCHANNELS=0"], "env.NCCL_MIN_NCHANNELS", "1 to 64"),
        (["--env", "NCCL_MAX_NCHANNELS=65"], "env.NCCL_MAX_NCHANNELS", "1 to 64"),
        (["--env", "NCCL_NVLS_ENABLE=maybe"], "env.NCCL_NVLS_ENABLE", "whole number"),
    ],
)
def test_a_request_that_is_none(nccl, options, path, words):
    error = nccl.error(TWO, *options)
    assert error["path"] == path and words in error["text"]


def test_too_many_ranks(nccl):
    text = system(cpu(*(gpu(i, NVSWITCH) for i in range(16)), nic(0)))
    assert "at most 4096" in nccl.error(text, "--nodes", "512")["text"]
    assert "at most 128" in nccl.error(text, "--nodes", "16", "--rack-nodes", "16")["text"]
    assert nccl.json(text, "--nodes", "256")["ranks"] == 4096


def test_one_gpu_alone_and_hosts_without_nic(nccl):
    one = system(cpu(gpu(0)))
    assert "one GPU alone" in nccl.error(one)["text"]
    assert "no NIC" in nccl.error(one, "--nodes", "2")["text"]
    assert nccl.json(system(cpu(gpu(0), nic(0))), "--nodes", "2")["nccl_nodes"] == 2


def test_a_rack_of_more_hosts_than_there_are(nccl):
    tray = (DATA / "gb200-tray.xml").read_text()
    part, whole = (nccl.json(tray, "--nodes", "2", "--rack-nodes", n) for n in ("18", "2"))
    assert part["notes"] == [{"severity": "info", "path": "rack_nodes", "text": "rack_nodes is 18, more than the nodes (2): all of them share one NVLink domain"}]
    assert whole["notes"] == [] and part == whole | {"notes": part["notes"]}
    assert nccl.json(tray, "--nodes", "1", "--rack-nodes", "18")["notes"]
    assert nccl.json(tray, "--rack-nodes", "1")["notes"] == []


def test_errors_say_which_of_several_machines(wireplan, tmp_path):
    for name, text in {"a.xml": TWO, "b.xml": TWO[:200], "c.xml": system(cpu(gpu(0), gpu(1), gpu(2))), "d.json": "{", "e.log": "nothing"}.items():
        (tmp_path / name).write_text(text)
    text = lambda *arguments: wireplan.errors("topology", "nccl", *arguments, cwd=tmp_path)[0]["text"]
    for arguments in (["b.xml"], ["a.xml", "b.xml"], ["b.xml", "--compare"], ["a.xml", "b.xml", "--compare"]):
        assert re.match(r"b\.xml: line \d", text(*arguments))
    assert text("d.json").startswith("d.json: not JSON at line 1")
    assert text("c.xml", "a.xml", "--gpus", "0,2").startswith("a.xml: there is no GPU 2")
    assert text("a.xml", "--gpus", "0,2").startswith("there is no GPU 2")
    assert text("a.xml", "c.xml", "--gpus", "x").startswith("--gpus takes")
    assert text("a.xml", "--log", "e.log").startswith("e.log: there is no message of NCCL")
    assert text("a.xml", "none.xml").startswith('cannot read "none.xml"')
    (error,) = wireplan.errors("topology", "nccl", "-", text="{")
    assert error["text"].startswith("standard input: not JSON")
    assert re.match(r"b\.xml: line \d", wireplan.errors("topology", "import", "b.xml", cwd=tmp_path)[0]["text"])


def test_variables_that_decide_nothing_are_a_note(nccl):
    (note,) = nccl.json(TWO, "--env", "NCCL_DEBUG=INFO", "--env", "NCCL_ALGO=Ring")["notes"]
    assert note["path"] == "env.NCCL_DEBUG" and "NCCL_DEBUG is not part of this model" in note["text"]
    assert nccl.json(TWO)["notes"] == []
    assert "NCCL_DEBUG is not part of this model" in nccl.text(TWO, "--env", "NCCL_DEBUG=INFO")
    assert nccl.json(TWO, "--env", "NCCL_DEBUG=INFO")["choices"] == nccl.json(TWO)["choices"]


@pytest.mark.parametrize("algorithm, left", [("PAT", set()), ("CollNetDirect", set()), ("NVLS", set()), ("Tree", {"all_reduce"}), ("Ring", {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"})])
def test_no_algorithm_is_left(nccl, algorithm, left):
    """NCCL stops such a call; a time of 1e32 s is no answer."""
    answer = nccl.json(TWO, "--env", f"NCCL_ALGO={algorithm}")
    assert {choice["op"] for choice in answer["choices"] if choice["points"]} == left
    for choice in answer["choices"]:
        assert all(0 < point[3] < 100 for point in choice["points"])
        assert bool(choice["switches"]) == bool(choice["points"])
    assert ("NCCL stops such a call" in nccl.text(TWO, "--env", f"NCCL_ALGO={algorithm}")) == (len(left) < 5)
    nccl.text(TWO, "--env", f"NCCL_ALGO={algorithm}", "--csv")


def test_accuracy_counts_what_is_right(wireplan):
    runs = [json.loads(line) for line in (ROOT / "tests/data/nccl_graphs.jsonl").read_text().splitlines()]
    answer = wireplan.json("accuracy", "--runs", str(ROOT / "tests/data/nccl_graphs.jsonl"), "--xml-dir", str(DATA))
    assert answer["skipped"] == [] and len(runs) >= 60
    for metric in ("nodes", "paths", "graphs", "rings", "trees"):
        assert answer["summary"]["nccl." + metric]["count"] == len(runs)
    assert {row["id"] for row in answer["rows"] if row["error"] and row["metric"] != "nccl.time"} == {"ng-110"}
    assert all(("size_bytes" in row) == (row["metric"] in ("nccl.choice", "nccl.time")) for row in answer["rows"])
    done = wireplan("accuracy", "--runs", str(ROOT / "tests/data/nccl_graphs.jsonl"), "--xml-dir", str(DATA))
    assert max(map(len, done.out.splitlines())) <= 100
    assert re.search(rf"nccl\.paths +{len(runs)} +{len(runs)} +100\.0 %", done.out)
    assert re.search(rf"cases right in all +{len(runs) - 1} +{len(runs)} ", done.out)


@pytest.mark.parametrize("name", ["none", "file"])
def test_accuracy_says_that_the_folder_is_none(wireplan, tmp_path, name):
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / name)
    for runs in ([], ["--runs", str(ROOT / "tests/data/nccl_graphs.jsonl")]):
        (error,) = wireplan.errors("accuracy", *runs, "--xml-dir", folder)
        assert error["path"] == "--xml-dir" and error["limit"] == "a folder"
        assert json.dumps(folder) in error["text"]


def test_accuracy_without_the_files_names_them(wireplan, tmp_path):
    line = (ROOT / "tests/data/nccl_graphs.jsonl").read_text().splitlines()[0]
    case = json.loads(line)
    assert "--xml-dir" in wireplan.json("accuracy", "--runs", "-", text=line)["skipped"][0]["reason"]
    (skipped,) = wireplan.json("accuracy", "--runs", "-", "--xml-dir", str(tmp_path), text=line)["skipped"]
    assert skipped["id"] == case["id"] and case["topology_xml"] in skipped["reason"]
    secret = tmp_path / "secret.xml"
    secret.write_text(TWO)
    (tmp_path / "inside").mkdir()
    for name in ("../secret.xml", str(secret), "..", "", "inside/../../secret.xml"):
        answer = wireplan.json("accuracy", "--runs", "-", "--xml-dir", str(tmp_path / "inside"), text=json.dumps(case | {"topology_xml": name}))
        assert answer["rows"] == [] and "without a path" in answer["skipped"][0]["reason"]


def run_log(host, ranks, comm_id, channels, order=None):
    """What NCCL 2.28.9 prints of one run on a host, cut to what is compared."""
    order = order or range(ranks)
    lines = [f"{host}:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda12.9"]
    lines += [f"{host}:{r + 1}:{r + 101} [{r}] NCCL INFO ncclCommInitRank comm 0x5{r} rank {r} nranks {ranks} cudaDev {r} nvmlDev {r} busId {r + 1}000 commId {comm_id} - Init START" for r in range(ranks)]
    lines += [f"{host}:1:101 [0] NCCL INFO Channel {c:02d}/{channels:02d} : " + " ".join(map(str, order)) for c in range(channels)]
    return "\n".join([*lines, f"{host}:1:101 [0] NCCL INFO {channels} coll channels, {channels} collnet channels, 0 nvls channels, {channels} p2p channels, {channels} p2p channels per peer"]) + "\n"


def test_a_log_of_two_runs_says_which_is_compared(wireplan):
    both = run_log("a", 4, "0x1", 24) + run_log("b", 8, "0x2", 24)
    answer = wireplan.json("topology", "nccl", "hgx-h100-80gb", "--log", "-", text=both)
    assert answer["ranks"] == 8 and any("2 communicators" in n and "0x2" in n for n in answer["log"]["notes"])
    assert next(line for line in answer["log"]["lines"] if line["what"].startswith("ring"))["agrees"]
    alone = wireplan.json("topology", "nccl", "hgx-h100-80gb", "--log", "-", text=run_log("b", 8, "0x2", 24))
    assert alone["log"]["lines"] == answer["log"]["lines"] and not alone["log"]["notes"]


@pytest.mark.parametrize("log, part", [(run_log("a", 8, "0x1", 2, [0, 3, 2, 1, 5, 6, 7, 4]), "channels: 2, expected 24"), (run_log("a", 16, "0x1", 24), "there is no GPU 8")])
def test_a_log_of_another_machine_gets_one_verdict(wireplan, log, part):
    for command in (["topology", "nccl", "hgx-h100-80gb", "--log", "-"], ["import", "-", "--cluster", "hgx-h100-80gb"]):
        compared = wireplan.json(*command, text=log)["log"]
        assert compared["other_machine"] and compared["verdict"].startswith("This log looks to be of another machine") and part in compared["verdict"]
        text = " ".join(wireplan(*command, text=log).out.split())
        assert part in text and "usual cause" not in text and "Nothing unusual" not in text and "--gpus" not in text
