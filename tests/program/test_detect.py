"""wireplan topology detect: machines made up as trees of /sys, with a double of NVIDIA's library. Nothing here measures anything."""

import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest

from machine import Device, Machine, from_nccl, in_ncclS_order, like, said, whys, write
from program import ROOT

NCCL = ROOT / "tests/data/nccl"


def show(wireplan, *arguments):
    return wireplan.json("topology", "show", *arguments)


# --- machines that are presets, too ------------------------------------------------------------------------------------------------------


def hgx_h100(folder, links=18):
    """Eight GPUs on NVSwitches, each behind a PCIe switch with its own NIC, two sockets: DGX H100."""
    m = Machine(folder, "srp")
    m.numa_nodes([0, 1])
    (m.sys / "module/nvidia_peermem").mkdir(parents=True)
    for gpu in range(8):
        switch = m.switch(m.root(numa=gpu // 4), 5)
        m.gpu(switch, "NVIDIA H100 80GB HBM3", 80, 700, 5, device="0x2330")
        m.rdma(m.nic(switch))
        m.nvlink(gpu, None, links, version=6)
    return m


def consumer_cards(folder):
    """Four cards without peer access, two root ports on each of two NUMA nodes."""
    m = Machine(folder)
    m.numa_nodes([0, 1])
    for numa in (0, 1):
        root = m.root(numa)
        for _ in range(2):
            m.gpu(m.port(root, 4), "NVIDIA GeForce RTX 4090", 24, 450, 4, direct=True, device="0x2684")
    m.no_peers()
    return m


def bridged_pair(folder):
    m = Machine(folder, "srp")
    m.numa_nodes([0])
    root = m.root()
    for _ in range(2):
        m.gpu(root, "NVIDIA H100 PCIe", 80, 350, 5, device="0x2331")
    m.nvlink(0, 1, 12, version=6)
    return m


def test_hgx_with_nvswitch_is_its_preset(wireplan, tmp_path):
    found, preset = hgx_h100(tmp_path).topology(wireplan), show(wireplan, "hgx-h100-80gb")
    assert found["cluster"]["node"]["gpu"] == "h100-80gb-sxm" and found["cluster"]["node"]["wiring"]["kind"] == "nvswitch"
    for document in (found, preset):  # the preset's NICs have no rate of their own
        for component in document["components"]:
            component.pop("bytes_per_s", None)
    assert like(found) == like(preset)
    assert found["cluster"]["network"] == "infiniband-8x400" and found["cluster"]["node"]["p2p"] is True
    assert found["cluster"]["node"]["host_memory_bytes"] == 1056468172 * 1024 and found["cluster"]["node"]["power_limit_w"] is None
    assert found["assumed"] == []  # everything was said


def test_bridged_pair_is_its_preset(wireplan, tmp_path):
    found = bridged_pair(tmp_path).topology(wireplan)
    assert like(found) == like(show(wireplan, "h100-pcie-2x-bridge"))
    assert found["paths"]["types"] == [["X", "NV12"], ["NV12", "X"]] and found["assumed"] == []


def test_consumer_cards_on_two_numa_nodes(wireplan, tmp_path):
    m = consumer_cards(tmp_path / "four")
    found = m.topology(wireplan)
    assert found["paths"]["types"] == [["X", "PHB", "SYS", "SYS"], ["PHB", "X", "SYS", "SYS"], ["SYS", "SYS", "X", "PHB"], ["SYS", "SYS", "PHB", "X"]]
    assert found["cluster"]["node"]["p2p"] is False
    assert found["assumed"] == []
    # The preset of eight such cards, cut to four: the same document but for what it is called.
    preset = json.loads(wireplan("presets", "nodes", "rtx-4090-8x", "--json").out)
    node = {k: preset[k] for k in ("gpu", "p2p", "sockets", "numa_nodes", "cpu")} | {"gpus": 4, "wiring": {"kind": "pcie-host", "groups": [
        {"socket": s, "numa": s, "gpus": [2 * s, 2 * s + 1], "nics": 0, "switch": False} for s in (0, 1)]}}
    assert like(found) == like(show(wireplan, write(tmp_path / "node.json", node)))


def test_placement_costs_are_those_of_the_preset(wireplan, tmp_path):
    cluster = tmp_path / "cluster.json"
    m = hgx_h100(tmp_path / "m")
    assert m.detect(wireplan, "-o", str(cluster)).returncode == 0
    detected = json.loads(cluster.read_text())

    def estimate(name, c):
        plan = {"model": "llama-3-8b", "parallel": {"data_sharding": "fsdp", "tensor": 2}, "cluster": c}
        return wireplan.json("estimate", write(tmp_path / name, plan), "--placement")

    # Written out: tables of measurements go by the id of a preset, which a machine of one's own does not have.
    preset = json.loads(wireplan("presets", "nodes", "hgx-h100-80gb", "--json").out)
    node = {k: preset[k] for k in ("gpu", "gpus", "wiring", "p2p", "sockets", "numa_nodes", "cpu")}
    ours, preset = estimate("a.json", detected), estimate("b.json", {"node": node, "network": "infiniband-8x400"})
    assert ours["placement"] == preset["placement"] and ours["step"] == preset["step"]
    assert [c["bottleneck"] for c in ours["communication"]] == [c["bottleneck"] for c in preset["communication"]]


def test_amd_gpus_by_amdkfd(wireplan, tmp_path):
    m = Machine(tmp_path, "srp")
    m.has_driver = False
    m.numa_nodes([0, 1])
    gpus = []
    for gpu in range(8):
        switch = m.switch(m.root(numa=gpu // 4), 5)
        gpus.append(m.below(switch, "0x120000", 5, 16, vendor="0x1002", device="0x74a1", product_name="AMD Instinct MI300X OAM", mem_info_vram_total=205822885888))
        m.rdma(m.nic(switch), layer="Ethernet")
    nodes = m.sys / "class/kfd/kfd/topology/nodes"
    for i, device in enumerate(gpus, 2):  # nodes 0 and 1 are the sockets
        (nodes / str(i) / "io_links").mkdir(parents=True)
        domain, bus, rest = device.address.split(":")
        (nodes / str(i) / "properties").write_text(f"cpu_cores_count 0\nsimd_count 1216\nlocation_id {int(bus, 16) << 8 | int(rest[:2], 16) << 3}\ndomain {int(domain, 16)}\n")
        for k, j in enumerate([0] + [j for j in range(2, 10) if j != i]):
            (nodes / str(i) / f"io_links/{k}").mkdir()
            (nodes / str(i) / f"io_links/{k}/properties").write_text(f"type {2 if j == 0 else 11}\nnode_from {i}\nnode_to {j}\nmax_bandwidth 64000\n")
    for socket in (0, 1):
        (nodes / str(socket)).mkdir()
        (nodes / str(socket) / "properties").write_text("cpu_cores_count 96\nsimd_count 0\nlocation_id 0\n")
    found, preset = m.topology(wireplan), show(wireplan, "mi300x-8x")
    assert found["cluster"]["node"]["gpu"] == "mi300x-192gb" and found["cluster"]["network"] == "roce-8x400"
    for document in (found, preset):
        for component in document["components"]:
            component.pop("bytes_per_s", None)
    assert like(found) == like(preset)


# --- machines that NCCL wrote a file of ------------------------------------------------------------------------------------------------------


def is_all_pci(path):
    """NICs of the file that hang on no PCI device are beyond a tree of /sys."""
    tree = xml.parse(path).getroot()
    return all(cpu.find("nic") is None for cpu in tree.findall("cpu")) and "cpu" in {c.tag for c in tree}


FILES = sorted(p for p in [*NCCL.glob("*.xml"), *(ROOT / "tests/data/topologies").glob("*.xml")] if is_all_pci(p))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.parent.name + "/" + p.stem)
def test_the_graph_of_ncclS_file(wireplan, path, tmp_path):
    imported = wireplan.json("topology", "import", "-", text=in_ncclS_order(path))
    m = from_nccl(path, tmp_path / "m")
    found = m.topology(wireplan, "--gpu", imported["node"]["gpu"])
    imported["node"]["p2p"] = found["cluster"]["node"]["p2p"]  # the driver says whether peers may, the file does not
    expected = show(wireplan, write(tmp_path / "c.json", imported))
    if not m.says_gpudirect:
        for component in [*found["components"], *expected["components"]]:
            component.pop("gpudirect", None)
    assert like(found) == like(expected)


def test_a_tray_of_a_rack(wireplan, tmp_path):
    found = from_nccl(NCCL / "gb200-tray.xml", tmp_path).topology(wireplan, "--gpu", "gb200-186gb")
    assert said(found, "how many hosts share") and {"nvlink", "c2c"} <= {link["kind"] for link in found["links"]}


def test_most_files_are_compared():
    assert len(FILES) >= 40


def test_ncclS_own_file_in_place_of_the_tree(wireplan, tmp_path):
    path = NCCL / "hgx-h100.xml"
    m = hgx_h100(tmp_path)
    text = path.read_text()
    for device, pci in zip(m.gpus, [p for p in xml.parse(path).getroot().iter("pci") if p.find("gpu") is not None]):
        text = text.replace(f'busid="{pci.get("busid")}"', f'busid="{device.address}"')
    own = tmp_path / "topo.xml"
    own.write_text(text)
    found = m.topology(wireplan, "--nccl-xml", str(own))
    assert found["cluster"]["node"]["gpu"] == "h100-80gb-sxm" and found["cluster"]["node"]["p2p"] is True
    assert "cluster.node.gpu" not in [a["path"] for a in found["assumed"]]
    # Of another machine, without a driver, without a file.
    assert said(m.topology(wireplan, "--nccl-xml", str(NCCL / "c4140-v100.xml")), "none of the GPUs that are here")
    m.has_driver = False
    assert said(m.topology(wireplan, "--nccl-xml", str(own)), "no NVIDIA driver here", "the file of NCCL alone")
    assert "topo2.xml" in wireplan.errors(*m.arguments("--nccl-xml", str(tmp_path / "topo2.xml")), env=m.environment)[0]["text"]
    own.write_text("<system><cpu></system>")
    assert "topo.xml" in wireplan.errors(*m.arguments("--nccl-xml", str(own)), env=m.environment)[0]["text"]


# --- without ---------------------------------------------------------------------------------------------------------------------------------


def test_no_gpu_is_77_and_says_what_is_missing(wireplan, tmp_path):
    m = Machine(tmp_path)
    m.nic(m.root())
    m.has_driver = False
    done = m.detect(wireplan)
    assert done.returncode == 77 and done.out == "" and len(done.err.splitlines()) == 1
    assert "libnvidia-ml.so.1" in done.err and "bus/pci/devices lists no GPU of NVIDIA or AMD" in done.err
    m.has_driver = True
    assert "570.86.15 is here and shows no GPU" in m.detect(wireplan).err
    m.rows.append("fail nvmlInit_v2 -1 9")
    done = m.detect(wireplan, "--json")
    assert done.returncode == 77 and "Driver Not Loaded" in json.loads(done.out)["errors"][0]["text"]
    m.pci(m.root(), "0x030000", vendor="0x1002")
    assert "AMD's graphics" in m.detect(wireplan).err


def test_a_library_that_is_none(wireplan, tmp_path):
    m = Machine(tmp_path)
    environment = {**m.environment, "WIREPLAN_NVML": str(ROOT / "README.md")}
    done = wireplan(*m.arguments(), env=environment)
    assert done.returncode == 77 and "README.md" in done.err


def test_gpus_without_a_driver(wireplan, tmp_path):
    m = hgx_h100(tmp_path)
    m.has_driver = False
    found = m.topology(wireplan)
    assert said(found, "no NVIDIA driver here", "/nowhere/libnvidia-ml.so.1") and found["cluster"]["node"]["gpus"] == 8
    assert "cluster.node.gpu" in [a["path"] for a in found["assumed"]]  # guessed: nothing names it
    assert said(found, "no list of PCI ids")
    # The kernel's part of the driver names it, as in a container that was not given the library.
    for gpu in m.gpus:
        folder = m.proc / "driver/nvidia/gpus" / gpu.address
        folder.mkdir(parents=True)
        (folder / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n")
    found = m.topology(wireplan)
    assert found["cluster"]["node"]["gpu"] == "h100-80gb-sxm" and not said(found, "no list of PCI ids")
    shutil.rmtree(m.proc / "driver")
    # lspci's list names it.
    hwdata = tmp_path / "usr/share/hwdata"
    hwdata.mkdir(parents=True)
    (hwdata / "pci.ids").write_text("# comment\n10dd  Another\n\t2330  No\n10de  NVIDIA Corporation\n\t2330  GH100 [H100 SXM5 80GB]\n\t\t10de 16c1  x\n\t20b2  GA100 [A100 SXM4 80GB]\n10df  Emulex\n\t2330  No\n")
    found = m.topology(wireplan)
    assert found["cluster"]["node"]["gpu"] == "h100-80gb-sxm"
    assert said(found, "no driver tells of NVLinks", "NVSwitches")
    assert m.topology(wireplan, "--gpu", "h100-80gb-pcie")["cluster"]["node"]["gpu"] == "h100-80gb-pcie"


def test_a_driver_without_a_tree(wireplan, tmp_path):
    """As in WSL, or a container without /sys: the driver alone."""
    m = bridged_pair(tmp_path / "a")
    bare = Machine(tmp_path / "b")
    bare.rows = m.rows
    found = bare.topology(wireplan)
    assert found["paths"]["types"] == [["X", "NV12"], ["NV12", "X"]] and said(found, "GPU0", "is not in")
    # A tree of another machine: the driver is left out.
    other = consumer_cards(tmp_path / "c")
    other.rows = m.rows
    for i, row in enumerate(other.rows):
        other.rows[i] = row.replace(" 0000:", " 0007:")
    found = other.topology(wireplan)
    assert found["cluster"]["node"]["gpus"] == 4 and said(found, "is of another machine")


# --- what goes wrong -----------------------------------------------------------------------------------------------------------------------------


def test_a_lost_gpu(wireplan, tmp_path):
    m = consumer_cards(tmp_path)
    m.rows.append("fail nvmlDeviceGetHandleByIndex_v2 1 15")
    found = m.topology(wireplan)
    assert found["cluster"]["node"]["gpus"] == 3 and said(found, "the driver's GPU1", "GPU is lost") and len(found["assumed"]) == 1
    assert found["paths"]["types"] == [["X", "SYS", "SYS"], ["SYS", "X", "PHB"], ["SYS", "PHB", "X"]]
    m.rows.append("fail nvmlDeviceGetPciInfo_v3 -1 15")
    found = m.topology(wireplan)  # none can be used: what Linux lists
    assert found["cluster"]["node"]["gpus"] == 4 and said(found, "shows none of the GPUs") and said(found, "GPU2", "GPU is lost")


@pytest.mark.parametrize("function", [
    "nvmlDeviceGetCount_v2", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetMigMode",
    "nvmlDeviceGetVirtualizationMode", "nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkCapability", "nvmlDeviceGetNvLinkVersion",
    "nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetP2PStatus"])
@pytest.mark.parametrize("status", [3, 4, 15, 999])
def test_any_question_may_be_refused(wireplan, tmp_path, function, status):
    for make in (hgx_h100, bridged_pair):
        m = make(tmp_path / make.__name__)
        m.rows.append(f"fail {function} 1 {status}")
        m.rows.append(f"fail {function} -1 {status}") if function == "nvmlDeviceGetCount_v2" else None
        found = m.topology(wireplan)
        assert 1 <= found["cluster"]["node"]["gpus"] <= 8
        if status == 4 and function in ("nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetEnforcedPowerLimit"):
            assert said(found, "the driver does not tell", "Insufficient Permissions", "GPU1 (") and not said(found, "GPU0 (")


def test_nvlink_that_one_end_does_not_have(wireplan, tmp_path):
    m = bridged_pair(tmp_path / "a")
    m.rows = [row.replace(" 1 6 0 ", " 0 6 0 ", 1) if row.startswith(("link 1 0 ", "link 1 1 ")) else row for row in m.rows]
    found = m.topology(wireplan)
    assert found["paths"]["types"][0][1] == "NV10" and said(found, "GPU0 has 12 NVLinks to GPU1", "10 count")
    m = hgx_h100(tmp_path / "b")
    m.rows = [row.replace(" 1 6 2 ", " 0 6 2 ") if row.startswith(("link 3 0 ", "link 3 1 ")) else row for row in m.rows]
    found = m.topology(wireplan)
    assert said(found, "GPU3", "16 NVLinks up, another GPU 18")
    assert [link["count"] for link in found["links"] if link["kind"] == "nvlink"] == [18, 18, 18, 16, 18, 18, 18, 18]
    m = hgx_h100(tmp_path / "c")
    m.rows = [row.replace(" 1 6 2 ", " 0 6 2 ") for row in m.rows]
    assert said(m.topology(wireplan), "no NVLink of any GPU is up", "fabric manager")


def test_ends_that_the_driver_does_not_name(wireplan, tmp_path):
    m = hgx_h100(tmp_path / "a")
    m.rows = [row.replace(" 2 -", " 255 -") for row in m.rows]
    found = m.topology(wireplan)
    assert found["paths"]["types"][0][1] == "NV18" and said(found, "does not say where 18 NVLinks of GPU0 lead")
    m = hgx_h100(tmp_path / "b")  # the NVSwitches can be seen: no guess
    switch = m.below(m.root(), "0x068000", 4, 4, vendor="0x10de")
    m.rows = [row.replace(" 2 -", f" 255 {switch.address}") for row in m.rows]
    found = m.topology(wireplan)
    assert found["paths"]["types"][0][1] == "NV18" and not said(found, "does not say where")
    m = bridged_pair(tmp_path / "c")  # a container with one of the two
    m.rows = [row for row in m.rows if m.gpus[1].address not in row.split()[1:2] and not row.startswith("link 1")]
    found = m.topology(wireplan)
    assert found["cluster"]["node"]["gpus"] == 1 and said(found, "GPU0 has 12 NVLinks to GPUs that the driver does not show") and said(found, "lists a GPU that the driver does not show")


def test_slices_shares_limits_and_kinds(wireplan, tmp_path):
    m = consumer_cards(tmp_path)
    m.rows += ["mig 0", "share 1"]
    m.rows[2] = m.rows[2].replace(" 450000 ", " 300000 ")
    m.rows[3] = m.rows[3].replace("RTX 4090", "RTX 3090")
    found = m.topology(wireplan)
    assert said(found, "GPU0", "MIG") and said(found, "GPU1", "vGPU") and said(found, "300 W to 450 W") and said(found, "3 x NVIDIA GeForce RTX 4090")
    assert found["cluster"]["node"]["power_limit_w"] == 300


def test_what_slows_peers_down(wireplan, tmp_path):
    m = Machine(tmp_path)
    m.numa_nodes([0])
    switch = m.switch(m.root())
    acs = bytearray(4096)
    acs[0x100:0x104] = (0x0001 | 0x148 << 20).to_bytes(4, "little")  # another capability first
    acs[0x148:0x14c] = (0x000d | 1 << 16).to_bytes(4, "little")
    acs[0x14e] = 0x1d
    for i in range(2):
        gpu = m.gpu(m.port(switch, config=bytes(acs)), "NVIDIA L40S", 48, 350, direct=True, sm=89, current_link_width=16 if i == 0 else 4)
        m.iommu(gpu, 7 + i, "DMA-FQ")
    found = m.topology(wireplan)
    assert said(found, "IOMMU", "GPU0, GPU1", "iommu=pt") and said(found, "ACS", "GPU0, GPU1")
    assert said(found, "GPU1 (", "on 4 PCIe lanes now though it could use 16")
    assert [link["lanes"] for link in found["links"] if link["kind"] == "pcie" and link["a"].startswith("gpu")] == [16, 4]


def test_the_path_is_as_wide_as_its_narrower_end(wireplan, tmp_path):
    m = Machine(tmp_path)
    m.numa_nodes([0])
    root = m.root()
    for generation, width in ((4, 16), (3, 4)):
        m.gpu(m.port(root, generation, width), "NVIDIA GeForce RTX 3090", 24, 350, 4, direct=True)
    links = [link for link in m.topology(wireplan)["links"] if link["kind"] == "pcie"]
    assert [(link["generation"], link["lanes"]) for link in links] == [(4, 16), (3, 4)]


def test_nics(wireplan, tmp_path):
    def machine(name):
        m = Machine(tmp_path / name)
        m.numa_nodes([0])
        m.gpu(m.root())
        return m

    m = machine("rdma")
    m.net(m.nic(m.root()), 100_000)
    m.rdma(m.nic(m.root()), 200, "Ethernet")
    m.rdma(m.nic(m.root()), 10, state="1: DOWN")
    found = m.topology(wireplan)
    assert found["cluster"]["network"] == "roce-1x200" and said(found, "mlx5_2 (down)")
    m = machine("plain")
    m.net(m.nic(m.root()), 1000, "eno1")
    m.net(m.nic(m.root()), 100_000, "enp65s0")
    m.net(m.nic(m.root()), -1, "eno2", "down")
    found = m.topology(wireplan)
    assert found["cluster"]["network"] == "ethernet-1x100" and said(found, "eno1 (slower)")
    assert [c["gpudirect"] for c in found["components"] if c["kind"] == "nic"] == [False]
    m = machine("efa")
    for _ in range(4):
        m.rdma(m.nic(m.root()), 100, "Unspecified", name=f"rdmap{_}s0", driver="efa")
    assert m.topology(wireplan)["cluster"]["network"] == "efa-4x100"
    m = machine("virtual functions")
    nic = m.nic(m.root())
    m.rdma(nic, 400)
    for _ in range(300):
        virtual = m.nic(m.root())
        m.link(virtual.path / "physfn", nic.path)
        m.rdma(virtual, 400)
    assert m.topology(wireplan)["cluster"]["network"] == "infiniband-1x400"


def test_numa_nodes_and_sockets(wireplan, tmp_path):
    m = Machine(tmp_path / "nps4")
    m.numa_nodes([0, 0, 0, 0, 1, 1, 1, 1])
    for numa in range(8):
        m.gpu(m.root(numa), "NVIDIA GeForce RTX 4090", 24, 450)
    m.no_peers()
    found = m.topology(wireplan)
    assert found["cluster"]["node"]["sockets"] == 2 and found["cluster"]["node"]["numa_nodes"] == 8 and found["assumed"] == []
    m = Machine(tmp_path / "minus")  # as some BIOSes leave it
    m.numa_nodes([0])
    for _ in range(2):
        m.gpu(m.root(numa=-1), "NVIDIA GeForce RTX 4090", 24, 450)
    found = m.topology(wireplan)
    assert [c["numa"] for c in found["components"] if c["kind"] == "cpu"] == [0]
    m = Machine(tmp_path / "near")  # -1, though the list of CPUs tells
    m.numa_nodes([0, 1])
    for numa in (0, 1):
        m.gpu(m.root(numa=-1), "NVIDIA GeForce RTX 4090", 24, 450)
        for device in m.sys.rglob("local_cpulist"):
            if device.read_text() == "0-1023\n":
                device.write_text(f"{8 * numa}-{8 * numa + 7}\n")
    assert m.topology(wireplan)["paths"]["types"][0][1] == "SYS"


# --- trees made by strangers -----------------------------------------------------------------------------------------------------------------------

BAD = [b"", b"\n", b"Unknown\n", b"-1\n", b"999999999999999999999999\n", b"0x", b"\xff\xfe\x80\x00", b"\x1b[31m", b"NaN", b"8", b"16.0 GT", b" \t ", b"a" * 5000, b"</pci>\"'&", b"0x0302"]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_any_value_may_be_anything(wireplan, tmp_path, bad):
    m = hgx_h100(tmp_path)
    m.iommu(m.gpus[0], 1, "DMA")
    files = [p for p in [*m.sys.rglob("*"), *m.proc.rglob("*")] if p.is_file() and not p.is_symlink()]
    names = sorted({p.name for p in files})
    for name in [*names, None]:  # all of one name, then all at once
        saved = {p: p.read_bytes() for p in files if name in (p.name, None)}
        for p in saved:
            p.write_bytes(bad)
        for driver in (True, False):
            m.has_driver = driver
            done = m.detect(wireplan, "--json", timeout=20)
            assert done.returncode in (0, 77), (name, done.err)
            if driver:
                assert json.loads(done.out)["cluster"]["node"]["gpus"] == 8, name
        for p, content in saved.items():
            p.write_bytes(content)


def test_pipes_loops_and_ways_out(wireplan, tmp_path):
    m = consumer_cards(tmp_path / "m")
    devices = m.sys / "bus/pci/devices"
    for name, to in {"0000:aa:00.0": "0000:ab:00.0", "0000:ab:00.0": "0000:aa:00.0", "0000:ac:00.0": "../../../../..", "0000:ad:00.0": "nowhere"}.items():
        (devices / name).symlink_to(to)
    (devices / os.fsdecode(b"\xff\xfe")).symlink_to("nowhere")
    for i, name in enumerate(("max_link_speed", "numa_node", "config")):
        path = m.gpus[i].path / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    (m.gpus[3].path / "numa_node").unlink()
    (m.gpus[3].path / "numa_node").mkdir()
    (m.sys / "devices/system/node/node0/cpulist").unlink()
    (m.sys / "devices/system/node/node0/cpulist").symlink_to("cpulist")
    found = m.topology(wireplan)
    assert found["cluster"]["node"]["gpus"] == 4 and said(found, "0000:aa:00.0", "does not lead to a device")


def test_a_bridge_above_itself(wireplan, tmp_path):
    m = Machine(tmp_path)
    m.numa_nodes([0])
    above = m.root()
    for _ in range(30):
        above = m.port(above)
    again = above.path
    for _ in range(100):  # far too deep, with one name twice
        again = again / above.address
    again.mkdir(parents=True)
    m.gpu(Device(again, above.address, 0, 4, 16))
    m.gpu(above)
    assert m.topology(wireplan)["cluster"]["node"]["gpus"] == 2


def test_thousands_of_devices(wireplan, tmp_path):
    m = consumer_cards(tmp_path)
    devices = m.sys / "bus/pci/devices"
    other = m.pci(m.root(), "0x010802")
    for i in range(5000):
        (devices / f"{0x100 + i // 8192:04x}:{i // 32 & 255:02x}:{i & 31:02x}.0").symlink_to(os.path.relpath(other.path, devices))
    assert m.topology(wireplan)["cluster"]["node"]["gpus"] == 4
    for i in range(16_000):
        (devices / f"x{i}").touch()
    (error,) = wireplan.errors(*m.arguments(), env=m.environment)
    assert error["path"] == "--sysfs" and "20,000" in error["text"]


def test_too_many_gpus(wireplan, tmp_path):
    m = Machine(tmp_path)
    m.numa_nodes([0])
    for gpu in range(130):
        root = m.root() if gpu % 16 == 0 else root
        m.gpu(root, "NVIDIA L4", 24, 72, sm=89)
    (error,) = wireplan.errors(*m.arguments(), env=m.environment)
    assert error["value"] == "129" and "128" in error["limit"]  # the driver is asked for no more


def test_far_too_many_of_everything(wireplan, tmp_path):
    m = Machine(tmp_path / "gpus")
    for i in range(500):
        device = m.sys / "bus/pci/devices" / f"{i >> 8:04x}:{i & 255:02x}:00.0"
        device.mkdir()
        (device / "class").write_text("0x030200\n")
        (device / "vendor").write_text("0x10de\n")
    m.has_driver = False
    (error,) = wireplan.errors(*m.arguments(), env=m.environment, timeout=20)
    assert error["value"] == "500" and "128" in error["limit"]
    m = consumer_cards(tmp_path / "ports")
    nic = m.nic(m.root())
    m.rdma(nic)
    ports = m.sys / "class/infiniband/mlx5_0/ports"
    for i in range(500):
        (ports / f"a{i}").symlink_to("1")
        (m.sys / f"class/infiniband/z{i}").symlink_to("mlx5_0")
    assert any("256 NICs" in e["text"] for e in wireplan.errors(*m.arguments(), env=m.environment, timeout=20))
    m = consumer_cards(tmp_path / "nodes")
    nodes = m.sys / "class/kfd/kfd/topology/nodes"
    (nodes / "0/io_links").mkdir(parents=True)
    (nodes / "0/properties").write_text("simd_count 1\nlocation_id 256\n")
    for i in range(500):
        (nodes / f"0/io_links/{i}").symlink_to("..")
        (nodes / f"{i + 1}").symlink_to("0")
    done = wireplan(*m.arguments(), "--json", env=m.environment, timeout=20)
    assert done.returncode == 0 and json.loads(done.out)["cluster"]["node"]["gpus"] == 4


def test_names_from_the_driver_are_shown_as_text(wireplan, tmp_path):
    m = consumer_cards(tmp_path)
    m.rows.append("raw 0 " + " ".join(f"{b:02x}" for b in b"\x1b[31mRTX\xff\xfe 4090\"</text>"))
    for form in ("--json", "--svg", "--markdown", "--csv", "--json"):
        out = m.detect(wireplan, form).out
        assert "\x1b" not in out
    m.rows[0] = "gpu nonsense" + m.rows[0][len("gpu 0000:00:00.0"):]
    assert m.topology(wireplan)["cluster"]["node"]["gpus"] in (3, 4)


# --- the command ------------------------------------------------------------------------------------------------------------------------------------


def test_it_prints_what_show_prints(wireplan, tmp_path):
    m = consumer_cards(tmp_path / "m")
    cluster = tmp_path / "cluster.json"
    for form in ([], ["--json"], ["--svg"], ["--markdown"], ["--csv"], ["--gpus", "0,2"]):
        done = m.detect(wireplan, "-o", str(cluster), *form)
        assert done.returncode == 0 and not done.err
        assert done.out == wireplan("topology", "show", str(cluster), *form).out and done.out
    assert json.loads(cluster.read_text())["schema"] == "wireplan.cluster/1"
    assert wireplan("topology", "nccl", str(cluster)).returncode == 0
    assert wireplan("collectives", str(cluster), "-b", "1M", "-e", "4M").returncode == 0
    # The same twice, to the byte; printed as JSON it is a CLUSTER, too.
    assert m.detect(wireplan, "--json").out == m.detect(wireplan, "--json").out
    (tmp_path / "printed.json").write_text(m.detect(wireplan, "--json").out)
    assert wireplan("topology", "show", str(tmp_path / "printed.json")).out == wireplan("topology", "show", str(cluster)).out


def test_the_file_is_replaced_at_once(wireplan, tmp_path):
    m = consumer_cards(tmp_path / "m")
    out = tmp_path / "out"
    out.mkdir()
    cluster = out / "cluster.json"
    cluster.write_text("old")
    cluster.chmod(0o640)
    link = out / "link.json"
    link.symlink_to("cluster.json")
    with cluster.open() as before:
        assert m.detect(wireplan, "-o", str(link)).returncode == 0
        assert before.read() == "old"  # whoever had it open
    assert link.is_symlink() and json.loads(cluster.read_text()) and cluster.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in out.iterdir()) == ["cluster.json", "link.json"]
    assert m.detect(wireplan, "--csv", "-o", "/dev/null").returncode == 0 and os.path.exists("/dev/null") and not os.path.isfile("/dev/null")
    for bad in (str(out), str(out / "no/such/folder"), ""):
        assert wireplan.errors(*m.arguments("-o", bad), env=m.environment)
    assert sorted(p.name for p in out.iterdir()) == ["cluster.json", "link.json"]
    # Nothing to save: nothing is touched.
    cluster.write_text("old")
    nothing = Machine(tmp_path / "nothing")
    assert nothing.detect(wireplan, "-o", str(cluster)).returncode == 77 and cluster.read_text() == "old"


def test_bad_arguments(wireplan, tmp_path):
    m = consumer_cards(tmp_path / "m")
    for arguments in (["--sysfs", str(tmp_path / "nowhere")], ["--sysfs", __file__], ["--gpu", "no-such"], ["--network", "x"], ["--gpus", "0,9"], ["extra"]):
        wireplan.errors(*(m.arguments() if arguments[0] != "--sysfs" else ("topology", "detect")), *arguments, env=m.environment)
    assert m.detect(wireplan, "--svg", "--json").returncode == 2


def test_help(wireplan):
    text = wireplan("topology", "detect", "--help").out
    assert "wireplan topology detect -o cluster.json" in text and "77" in text and "WIREPLAN_NVML" in text
    assert "wireplan topology detect" in wireplan("topology", "--help").out


def test_text_has_units_and_what_was_not_said(wireplan, tmp_path):
    m = consumer_cards(tmp_path)
    m.has_driver = False
    text = m.detect(wireplan).out
    assert "GB/s" in text and "Assumed" in text and max(map(len, text.splitlines())) <= 100


def test_nothing_of_the_double_is_shipped():
    listed = subprocess.run(["git", "grep", "-l", "nvml_double", "--", ":!tests"], cwd=ROOT, capture_output=True, text=True)
    assert listed.stdout == ""


def test_this_machine_answers(wireplan):
    done = wireplan("topology", "detect", "--json")
    assert done.returncode in (0, 77)
    document = json.loads(done.out)
    assert document["cluster"]["node"]["gpus"] >= 1 if done.returncode == 0 else document["errors"]
