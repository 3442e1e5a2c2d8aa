"""Machines made up for `wireplan topology detect`: a tree as Linux has it under /sys and /proc, and what the double of NVIDIA's library
(tests/double/nvml.cpp) answers beside it.

    m = Machine(tmp_path)
    top = m.switch(m.root(numa=0))
    m.gpu(top)
    m.detect(wireplan, "--json")
"""

import json
import os
import xml.etree.ElementTree as xml

from program import ROOT

LIBRARY = os.environ.get("WIREPLAN_NVML_DOUBLE_LIBRARY", str(ROOT / "build/native/tests/libnvml_double.so"))

CPUS = {  # vendor, family, model
    "amd": ("AuthenticAMD", 25, 17),
    "skl": ("GenuineIntel", 6, 85),
    "srp": ("GenuineIntel", 6, 143),
}
SPEED = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
SM = {"A100": 80, "H100": 90, "H200": 90, "4090": 89, "3090": 86, "V100": 70}


class Device:
    def __init__(self, path, address, numa, generation, width):
        self.path, self.address, self.numa, self.generation, self.width = path, address, numa, generation, width


class Machine:
    def __init__(self, folder, cpu="amd"):
        self.sys, self.proc = folder / "sys", folder / "proc"
        self.driver_file = folder / "driver.txt"
        self.buses, self.roots, self.rows, self.gpus, self.nics = 0, 0, [], [], 0
        for place in ("bus/pci/devices", "class/net", "class/infiniband", "devices/system/node", "kernel/iommu_groups"):
            (self.sys / place).mkdir(parents=True)
        self.proc.mkdir()
        (self.proc / "meminfo").write_text("MemTotal:       1056468172 kB\nMemFree: 1 kB\n")
        if cpu:
            vendor, family, model = CPUS[cpu] if isinstance(cpu, str) else cpu
            one = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: a CPU\n\n"
            (self.proc / "cpuinfo").write_text(one * 4)
        self.has_driver = True

    # --- Linux ---------------------------------------------------------------------------------------------------------------------

    def numa_nodes(self, sockets):
        """sockets: the socket of each NUMA node, in order."""
        for node, socket in enumerate(sockets):
            folder = self.sys / f"devices/system/node/node{node}"
            folder.mkdir(exist_ok=True)
            (folder / "cpulist").write_text(f"{8 * node}-{8 * node + 7}\n")
            topology = self.sys / f"devices/system/cpu/cpu{8 * node}/topology"
            topology.mkdir(parents=True, exist_ok=True)
            (topology / "physical_package_id").write_text(f"{socket}\n")

    def root(self, numa=0):
        self.roots += 1
        return Device(self.sys / f"devices/pci0000:{self.roots:02x}", "", numa, 0, 0)

    def pci(self, above, kind, generation=4, width=16, *, vendor="0x8086", device="0x0001", subsystem=("0x0000", "0x0000"), slot=None, address=None, **files):
        """A device below a bridge, or on a root complex."""
        if address is None:
            if slot is None:
                self.buses += 1
                address = f"{self.buses >> 8:04x}:{self.buses & 0xff:02x}:00.0" if above.address else f"0000:{self.roots:02x}:{self.buses >> 3 & 31:02x}.{self.buses & 7:x}"
            else:
                address = slot
        path = above.path / address
        path.mkdir(parents=True)
        speed = f"{SPEED[generation]} GT/s PCIe" if generation in SPEED else "Unknown"
        attributes = {"class": kind, "vendor": vendor, "device": device, "subsystem_vendor": subsystem[0], "subsystem_device": subsystem[1], "max_link_speed": speed,
                      "current_link_speed": "2.5 GT/s PCIe" if kind.startswith("0x03") else speed, "max_link_width": width, "current_link_width": width,
                      "numa_node": above.numa, "local_cpulist": f"{8 * above.numa}-{8 * above.numa + 7}" if above.numa >= 0 else "0-1023", **files}
        for name, value in attributes.items():
            if value is not None:
                (path / name).write_bytes(value if isinstance(value, bytes) else f"{value}\n".encode())
        (self.sys / "bus/pci/devices" / address).symlink_to(os.path.relpath(path, self.sys / "bus/pci/devices"))
        return Device(path, address, above.numa, generation, width)

    def port(self, above, generation=4, width=16, **files):
        """A root port, or a port of a switch."""
        return self.pci(above, "0x060400", generation, width, **files)

    def switch(self, above, generation=4, width=16, **files):
        """Its upstream port; above: a root complex, or another switch."""
        return self.pci(self.port(above, generation, width), "0x060400", generation, width, **files)

    def below(self, above, kind, generation, width, **files):
        """A device with the port it needs above it."""
        return self.pci(self.port(above, generation, width), kind, generation, width, **files)

    def nic(self, above, generation=5, width=16, **files):
        return self.below(above, "0x020000", generation, width, vendor="0x15b3", **files)

    def rdma(self, device, gbit=400, layer="InfiniBand", state="4: ACTIVE", name=None, port=1, driver="mlx5_core"):
        name = name or f"mlx5_{self.nics}"
        self.nics += 1
        ports = self.sys / f"class/infiniband/{name}/ports/{port}"
        ports.mkdir(parents=True)
        for file, value in {"rate": f"{gbit} Gb/sec (4X NDR)", "link_layer": layer, "state": state}.items():
            (ports / file).write_text(value + "\n")
        self.link(self.sys / f"class/infiniband/{name}/device", device.path)
        if not (device.path / "driver").exists():
            drivers = self.sys / f"bus/pci/drivers/{driver}"
            drivers.mkdir(parents=True, exist_ok=True)
            self.link(device.path / "driver", drivers)
        return name

    def net(self, device, mbit=25000, name=None, state="up"):
        name = name or f"eth{self.nics}"
        self.nics += 1
        folder = self.sys / f"class/net/{name}"
        folder.mkdir()
        (folder / "speed").write_text(f"{mbit}\n")
        (folder / "operstate").write_text(state + "\n")
        self.link(folder / "device", device.path)

    @staticmethod
    def link(at, to):
        if not at.is_symlink():
            at.symlink_to(os.path.relpath(to, at.parent))

    def iommu(self, device, group, kind):
        folder = self.sys / f"kernel/iommu_groups/{group}"
        folder.mkdir(exist_ok=True)
        (folder / "type").write_text(kind + "\n")
        self.link(device.path / "iommu_group", folder)

    # --- GPUs ------------------------------------------------------------------------------------------------------------------------

    def gpu(self, above, name="NVIDIA A100-SXM4-80GB", memory_gib=80, watts=400, generation=4, width=16, sm=None, direct=False, **files):
        """With what the driver says of it; direct: on the bridge itself, where a port is above it already."""
        make = self.pci if direct else self.below
        files = {"vendor": "0x10de", "device": "0x20b2", **files}
        device = make(above, "0x030200", generation, width, **files)
        sm = sm or next((value for part, value in SM.items() if part in name), 80)
        self.rows.append(f"gpu {device.address} {memory_gib * 2**30} {watts * 1000} {sm} {generation if generation in SPEED else 0} {width} {files.get('current_link_width', width)} {name}")
        self.gpus.append(device)
        return device

    def nvlink(self, a, b, links=1, version=4):
        """Between two GPUs by index, or from one to the switches where b is None; version 1 to 7 as NVML counts (1.0 ... 5.0)."""
        for gpu, other in ((a, b), (b, a)):
            if gpu is None:
                continue
            first = sum(row.startswith(f"link {gpu} ") for row in self.rows)
            end, remote = (2, "-") if other is None else (0, self.gpus[other].address)
            self.rows += [f"link {gpu} {first + k} 1 {version} {end} {remote}" for k in range(links)]

    def no_peers(self, status=2, pairs=None):
        n = len(self.gpus)
        self.rows += [f"peers {a} {b} {status}" for a in range(n) for b in range(n) if a != b and (pairs is None or (a, b) in pairs or (b, a) in pairs)]

    # --- running -----------------------------------------------------------------------------------------------------------------------

    def arguments(self, *more):
        return ("topology", "detect", "--sysfs", str(self.sys), *more)

    @property
    def environment(self):
        self.driver_file.write_text("driver 570.86.15\n" + "".join(row + "\n" for row in self.rows))
        return {**os.environ, "WIREPLAN_NVML": LIBRARY if self.has_driver else "/nowhere/libnvidia-ml.so.1", "WIREPLAN_NVML_DOUBLE": str(self.driver_file)}

    def detect(self, wireplan, *more, **options):
        return wireplan(*self.arguments(*more), env=self.environment, **options)

    def topology(self, wireplan, *more):
        return wireplan.json(*self.arguments(*more), env=self.environment)


def whys(document):
    return [a["why"] for a in document["assumed"]]


def said(document, *words):
    """Whether one of the notes has all the words."""
    return any(all(word in why for word in words) for why in whys(document))


def like(document):
    """What two topologies must share: chips, links with their rates, the way between any two GPUs and what rings reach. NICs may have other names."""
    components = [{k: v for k, v in c.items() if k != "model"} for c in document["components"]]
    return {"components": components, **{key: document[key] for key in ("links", "paths", "ring", "pairs")}}


# --- NCCL's file as a machine --------------------------------------------------------------------------------------------------------------


def speed_of(pci):
    return next((g for g, text in SPEED.items() if pci.get("link_speed", "").split(" ")[0] in (text, text.removesuffix(".0"))), 0)


def from_nccl(path, folder):
    """The machine that NCCL would write the file of, but for bus ids."""
    tree = xml.parse(path).getroot()
    first = tree.find("cpu")
    vendor = first.get("vendor")
    m = Machine(folder, (vendor, int(first.get("familyid", 6)), int(first.get("modelid", 1))) if vendor else None)
    m.says_gpudirect = True
    if first.get("arch") == "arm64":
        (m.proc / "cpuinfo").write_text("processor\t: 0\nCPU implementer\t: 0x41\n")
    if first.get("arch") == "ppc64":
        (m.proc / "cpuinfo").write_text("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n")
    nodes = len(tree.findall("cpu"))
    m.numa_nodes([i * 2 // nodes if nodes > 2 else i for i in range(nodes)])  # as an import takes it, which is not told
    address_of, by_dev = {}, {}

    def place(pci, above):
        generation, width = speed_of(pci), int(pci.get("link_width") or 0)
        ids = {"vendor": pci.get("vendor") or "0x8086", "device": pci.get("device") or "0x0001",
               "subsystem": (pci.get("subsystem_vendor") or "0x0000", pci.get("subsystem_device") or "0x0000")}
        gpu, nic = pci.find("gpu"), pci.find("nic")
        if gpu is not None:
            ids["vendor"] = "0x10de"
        device = m.below(above, pci.get("class"), generation, width, **ids)
        address_of[pci.get("busid")] = device.address
        if gpu is not None:
            by_dev[int(gpu.get("dev"))] = (device, gpu, generation, width)
        for net in nic.findall("net") if nic is not None else ():
            gbit = int(net.get("speed")) // 1000
            assert net.get("gdr") in ("0", "1")
            if net.get("gdr") == "1":
                (m.sys / "module/nvidia_peermem").mkdir(parents=True, exist_ok=True)
            else:
                m.says_gpudirect = False  # Linux does not tell of RDMA ports that cannot
            if net.get("name").startswith("eth"):
                m.net(device, gbit * 1000, net.get("name"))
            else:
                m.rdma(device, gbit, name=net.get("name"), port=int(net.get("port", 1)))
        for child in pci.findall("pci"):
            place(child, device)

    for cpu in tree.findall("cpu"):
        root = m.root(int(cpu.get("numaid")))
        for pci in cpu.findall("pci"):
            place(pci, root)
    for dev in sorted(by_dev):
        device, gpu, generation, width = by_dev[dev]
        m.gpus.append(device)
        m.rows.append(f"gpu {device.address} 0 0 {gpu.get('sm')} {generation} {width} {width} ")
    for dev, index in zip(sorted(by_dev), range(len(by_dev))):
        gpu = by_dev[dev][1]
        if gpu.find("c2c") is not None:
            m.rows.append(f"c2c {index} 10")
        for link in gpu.findall("nvlink"):
            first = sum(row.startswith(f"link {index} ") for row in m.rows)
            target = address_of.get(link.get("target"))
            switch = link.get("tclass") == "0x068000"
            m.rows += [f"link {index} {first + k} 1 0 {2 if switch else 0} {'-' if switch else target}" for k in range(int(link.get("count")))]
    return m


def in_ncclS_order(path):
    """The file with its CPUs as NCCL meets them, which goes by the GPUs; a file that a vendor wrote may have another order."""
    tree = xml.parse(path)
    root = tree.getroot()
    cpus = sorted(root.findall("cpu"), key=lambda cpu: min([int(gpu.get("dev")) for gpu in cpu.iter("gpu")], default=10**6))
    for cpu in cpus:
        root.remove(cpu)
    root.extend(cpus)
    return xml.tostring(root)


def write(path, document):
    path.write_text(json.dumps(document))
    return str(path)
