"""How each node of the survey is wired, read once by hand from the prose of nodes.csv; guesses carry their reason."""
import re

CPUS = {
    "bdw": {"arch": "x86_64", "vendor": "intel", "nccl_class": "bdw"},
    "skl": {"arch": "x86_64", "vendor": "intel", "nccl_class": "skl"},
    "srp": {"arch": "x86_64", "vendor": "intel", "nccl_class": "srp"},
    "erp": {"arch": "x86_64", "vendor": "intel", "nccl_class": "erp"},
    "amd": {"arch": "x86_64", "vendor": "amd", "nccl_class": "amd"},
    "arm": {"arch": "arm64", "vendor": None, "nccl_class": "arm"},
}


def group(socket, numa, gpus, nics, switch):
    return {"socket": socket, "numa": numa, "gpus": list(gpus), "nics": nics, "switch": switch}


def even(gpus, sockets, per_group, nics=0, switch=True):
    """GPUs in order, `per_group` to a switch or root, split evenly over the sockets; one NUMA node per socket."""
    per_socket = gpus // sockets
    return [group(first // per_socket, first // per_socket, range(first, first + per_group), nics, switch)
            for first in range(0, gpus, per_group)]


def numa(groups, numbers):
    """The same groups on given NUMA nodes (several of them in a socket)."""
    return [dict(g, numa=n) for g, n in zip(groups, numbers)]


def nic_only(socket, nics=1):
    """NICs that hang on the socket, not behind a switch with GPUs."""
    return group(socket, socket, [], nics, False)


# Reasons, shared so that the same doubt reads the same everywhere.
SPLIT = "layout not stated: GPUs split evenly over the sockets, in order, each on a root port of its own"
SWITCHED = "layout not stated: GPUs split evenly over the sockets, in order, behind switches as listed"
ANALOGY = "layout by analogy with the HGX board of the same generation: a switch for each GPU and its NICs"
PER_GPU = "NICs per GPU are stated; that they share a switch with it is by analogy"
NO_COUNT = "number of sockets not stated"
NO_CPU = "processor not stated: class by analogy with machines of its kind"
MEMORY = "processor from memory, not seen"
CLASS = "maker stated, model not: class of the machine's generation"

# id: (cpu class, groups, options). Options: sockets/numa_nodes where not simply the table's sockets,
# layout = why the groups are a guess (absent: the table's prose says so), cpu = why the class is a guess,
# pcie = generation and lanes that differ from the GPU's own, assumed = further doubts.
PAIRS_8 = even(8, 2, 2)
ROOTS_8 = even(8, 2, 4, switch=False)
EIGHT = even(8, 2, 1, nics=1)
NPS4 = numa(even(8, 2, 2, nics=2), [3, 1, 7, 5])
OCI4 = numa(even(8, 2, 2, nics=4), [3, 1, 7, 5])
NDV4 = numa(even(8, 2, 2, nics=2), [1, 0, 3, 2])
TRAY = even(4, 2, 2, nics=2, switch=False)
RACK = even(72, 36, 2, nics=2, switch=False)
DGX1 = even(8, 2, 2, nics=1)
FIRST_NIC = [dict(ROOTS_8[0], nics=1), ROOTS_8[1]]
RACK_ASSUMED = {"path": "wiring.groups", "value": "18 trays of 2 sockets",
                "why": "the rack is one node here: sockets of different trays have no link but NVLink and the network"}
GEN3 = {"generation": 3, "lanes": 16}

NODES = {
    "dgx1-v100-16gb": ("bdw", DGX1, {"cpu": MEMORY}),
    "dgx1-v100-32gb": ("bdw", DGX1, {"cpu": MEMORY}),
    "dgx1-p100-16gb": ("bdw", DGX1, {"cpu": MEMORY}),
    "dgx2-v100-32gb": ("skl", even(16, 2, 4, nics=2), {"cpu": MEMORY, "assumed": [
        {"path": "wiring.groups", "value": "one switch for four GPUs and two NICs",
         "why": "the real switches have two levels: the NIC of the other pair is PXB, here it is PIX"}]}),
    "v100-16gb-4x": ("skl", even(4, 2, 2, nics=2, switch=False), {"cpu": MEMORY, "layout": SPLIT}),
    "v100-32gb-4x": ("skl", even(4, 2, 2, nics=2, switch=False), {"cpu": MEMORY, "layout": SPLIT}),
    "dgx-a100-40gb": ("amd", NPS4, {"numa_nodes": 8}),
    "dgx-a100-80gb": ("amd", NPS4, {"numa_nodes": 8}),
    "dgx-station-a100-80gb": ("amd", even(4, 1, 4, switch=False), {"layout": SPLIT}),
    "hgx-a100-80gb-4x": ("amd", even(4, 2, 2, switch=False), {"sockets": 2, "cpu": NO_CPU, "layout": SPLIT}),
    "hgx-a800-80gb": ("skl", even(8, 2, 2, nics=2), {"cpu": NO_CPU,
        "layout": "layout not stated: four switches of two GPUs and two NICs as on the HGX A100; the matrix seen has NICs PIX to single GPUs"}),
    "hgx-h100-80gb": ("srp", EIGHT, {}),
    "hgx-h100-96gb": ("srp", EIGHT, {"cpu": NO_CPU, "layout": ANALOGY}),
    "hgx-h200-141gb": ("srp", EIGHT, {"cpu": NO_CPU, "layout": ANALOGY}),
    "hgx-h800-80gb": ("srp", EIGHT, {"cpu": NO_CPU, "layout": ANALOGY}),
    "hgx-h20-96gb": ("srp", EIGHT, {"cpu": NO_CPU, "layout": ANALOGY}),
    "hgx-h100-80gb-4x": ("srp", even(4, 2, 2, switch=False), {"cpu": NO_CPU, "layout": SPLIT}),
    "hgx-b200-180gb": ("erp", EIGHT, {"layout": ANALOGY}),
    "hgx-b300-288gb": ("srp", EIGHT, {"cpu": MEMORY, "layout": ANALOGY}),
    "gb200-nvl72": ("arm", RACK, {"assumed": [RACK_ASSUMED]}),
    "gb200-tray": ("arm", TRAY, {}),
    "gb300-nvl72": ("arm", RACK, {"assumed": [RACK_ASSUMED]}),
    "gh200-4x": ("arm", even(4, 4, 1, nics=1, switch=False), {"assumed": [
        {"path": "wiring.links", "value": 6, "why": "links per pair from memory: 18 links over three neighbours"}]}),
    "mi300x-8x": ("srp", EIGHT, {}),
    "mi325x-8x": ("srp", EIGHT, {"cpu": NO_CPU, "layout": "layout by analogy with mi300x-8x"}),
    "mi350x-8x": ("srp", EIGHT, {"cpu": NO_CPU, "layout": "layout by analogy with mi300x-8x"}),
    "mi355x-8x": ("srp", EIGHT, {"cpu": NO_CPU, "layout": "layout by analogy with mi300x-8x"}),
    "mi250x-4x": ("amd", [group(0, 0, range(4), 4, False)], {"kind": "pcie-host", "assumed": [
        {"path": "wiring.kind", "value": "pcie-host",
         "why": "the Infinity Fabric graph between the packages is not known, so only the way through the host is drawn: real transfers are faster"},
        {"path": "wiring.groups", "value": "all packages on the one socket", "why": "layout from memory, not seen"}]}),
    "rtx-3090-2x": ("bdw", even(2, 1, 2, switch=False), {"cpu": NO_CPU, "pcie": {"generation": 3, "lanes": 8}, "assumed": [
        {"path": "wiring.pcie", "value": "generation 3, 8 lanes",
         "why": "lanes and generation not stated: two cards on an old desktop board usually share 16 lanes of generation 3"}]}),
    "rtx-4090-2x": ("amd", even(2, 1, 2, switch=False), {"cpu": NO_CPU}),
    "rtx-4090-8x": ("amd", ROOTS_8, {"sockets": 2, "cpu": NO_CPU, "layout": SPLIT}),
    "rtx-a5000-2x": ("amd", even(2, 1, 2, switch=False), {"sockets": 1, "cpu": NO_CPU, "layout": SPLIT}),
    "rtx-a6000-4x": ("amd", even(4, 1, 4, switch=False), {"sockets": 1, "cpu": NO_CPU, "layout": SPLIT}),
    "titan-rtx-2x-nvlink": ("skl", even(2, 1, 2, switch=False), {"sockets": 1, "cpu": NO_CPU, "layout": SPLIT}),
    "rtx-2080ti-2x-nvlink": ("skl", even(2, 1, 2, switch=False), {"sockets": 1, "cpu": NO_CPU, "layout": SPLIT}),
    "p40-8x": ("bdw", even(8, 2, 4), {"cpu": NO_CPU, "assumed": [
        {"path": "wiring.groups", "value": "one switch for the four GPUs of a socket", "why": "exact switch split not stated"}]}),
    "t4-2x-dual-socket": ("skl", even(2, 2, 1, switch=False), {"cpu": NO_CPU}),
    "t4-8x": ("skl", FIRST_NIC, {"layout": SPLIT}),
    "l40s-8x": ("srp", even(8, 2, 4), {"cpu": NO_CPU, "layout": SWITCHED}),
    "rtx-pro-6000-8x": ("srp", PAIRS_8, {"sockets": 2, "cpu": NO_CPU,
        "layout": "layout not stated: pairs behind switches on two sockets of this class is one reading that fits the measured change of protocol at 1 MiB for 2, 4 and 8 GPUs; not a proof"}),
    "rtx-pro-6000-8x-direct": ("amd", ROOTS_8, {}),
    "rtx-pro-6000-8x-switch": ("amd", PAIRS_8, {"assumed": [
        {"path": "wiring.groups", "value": "four separate switches",
         "why": "the join of the two virtual switches inside a chip is not drawn: nvidia-smi and NCCL see NODE there and copy through the host by default"}]}),
    "aws-p3.16xlarge": ("bdw", FIRST_NIC, {"cpu": MEMORY, "layout": SPLIT}),
    "aws-p3dn.24xlarge": ("skl", FIRST_NIC, {"cpu": MEMORY, "layout": SPLIT}),
    "aws-p4d.24xlarge": ("skl", DGX1, {"pcie": GEN3}),
    "aws-p4de.24xlarge": ("skl", DGX1, {"pcie": GEN3}),
    "aws-p5.48xlarge": ("amd", even(8, 2, 1, nics=4), {"layout": PER_GPU}),
    "aws-p5e.48xlarge": ("amd", even(8, 2, 1, nics=4), {"layout": PER_GPU}),
    "aws-p5en.48xlarge": ("srp", even(8, 2, 1, nics=2), {"layout": PER_GPU}),
    "aws-p6-b200.48xlarge": ("erp", EIGHT, {"cpu": CLASS, "layout": PER_GPU}),
    "aws-p6-b300.48xlarge": ("srp", even(8, 2, 1, nics=2), {"cpu": CLASS, "layout": PER_GPU,
        "pcie": {"generation": 5, "lanes": 16}, "assumed": [
            {"path": "wiring.pcie", "value": "generation 5", "why": "not stated; the 400 Gbit/s adapters are generation 5 parts"}]}),
    "aws-g4dn.12xlarge": ("skl", [group(0, 0, range(4), 1, False)], {"cpu": CLASS, "layout": SPLIT}),
    "aws-g5.48xlarge": ("amd", [ROOTS_8[0], dict(ROOTS_8[1], nics=1)], {"cpu": MEMORY}),
    "aws-g6.48xlarge": ("amd", FIRST_NIC, {"layout": SPLIT, "pcie": {"generation": 4, "lanes": 8}, "assumed": [
        {"path": "wiring.pcie", "value": "generation 4, 8 lanes", "why": "lanes of the virtual machine not stated; 8 taken"}]}),
    "aws-g6e.48xlarge": ("amd", even(8, 2, 4, nics=2, switch=False), {"layout": SPLIT}),
    "aws-g7e.48xlarge": ("erp", even(8, 2, 2, nics=1), {"sockets": 2, "cpu": CLASS, "layout": SWITCHED}),
    "gcp-a2-highgpu-8g": ("skl", PAIRS_8 + [nic_only(0)], {"layout": "virtual layout hides the switches: pairs behind switches as on the HGX A100"}),
    "gcp-a2-megagpu-16g": ("skl", even(16, 2, 2) + [nic_only(0)], {"layout": "virtual layout hides the switches: pairs behind switches as on the HGX A100"}),
    "gcp-a2-ultragpu-8g": ("skl", PAIRS_8 + [nic_only(0)], {"layout": "virtual layout hides the switches: pairs behind switches as on the HGX A100"}),
    "gcp-a3-highgpu-8g": ("srp", even(8, 2, 2, nics=1), {"layout": "one NIC per two GPUs from memory; a switch for each pair and its NIC"}),
    "gcp-a3-megagpu-8g": ("srp", EIGHT, {"layout": PER_GPU}),
    "gcp-a3-ultragpu-8g": ("erp", EIGHT, {"layout": PER_GPU}),
    "gcp-a4-highgpu-8g": ("erp", EIGHT, {"layout": PER_GPU}),
    "gcp-a4x-highgpu-4g": ("arm", TRAY, {}),
    "gcp-a4x-maxgpu-4g": ("arm", TRAY, {}),
    "gcp-g2-standard-96": ("skl", FIRST_NIC, {"sockets": 2, "layout": SPLIT, "pcie": GEN3}),
    "gcp-g4-standard-384": ("amd", PAIRS_8 + [nic_only(0), nic_only(1)], {"layout": SWITCHED}),
    "azure-nd40rs-v2": ("skl", FIRST_NIC, {"pcie": {"generation": 4, "lanes": 16}, "assumed": [
        {"path": "wiring.pcie", "value": "generation 4", "why": "what the topology file of the virtual machine declares; the cards are generation 3"}]}),
    "azure-nd96asr-v4": ("amd", NDV4, {"numa_nodes": 4}),
    "azure-nd96amsr-v4": ("amd", NDV4, {"numa_nodes": 4}),
    "azure-nd96isr-h100-v5": ("srp", EIGHT, {}),
    "azure-nd96isr-h200-v5": ("srp", EIGHT, {"layout": ANALOGY}),
    "azure-nd96isr-mi300x-v5": ("srp", EIGHT, {"layout": "layout by analogy with mi300x-8x"}),
    "azure-nc96ads-a100-v4": ("amd", [group(0, i, [i], 1 if i == 0 else 0, False) for i in range(4)],
                              {"numa_nodes": 4, "assumed": [
        {"path": "wiring.pairs", "value": "0-1 and 2-3", "why": "pairs from memory; the topology file does not state them"}]}),
    "azure-nc80adis-h100-v5": ("amd", [group(0, 0, range(2), 1, False)], {"layout": SPLIT, "assumed": [
        {"path": "wiring.pairs", "value": "0-1", "why": "bridge from memory"}]}),
    "azure-nv72ads-a10-v5": ("amd", [group(0, 0, range(2), 1, False)], {"sockets": 1, "layout": SPLIT}),
    "oci-bm.gpu4.8": ("amd", OCI4, {"numa_nodes": 8}),
    "oci-bm.gpu.b4.8": ("amd", OCI4, {"numa_nodes": 8}),
    "oci-bm.gpu.a100-v2.8": ("amd", OCI4, {"numa_nodes": 8}),
    "oci-bm.gpu.h100.8": ("srp", even(8, 2, 1, nics=2), {}),
    "oci-bm.gpu.h200.8": ("srp", EIGHT, {"layout": PER_GPU}),
    "oci-bm.gpu.b200.8": ("erp", EIGHT, {"cpu": NO_CPU, "layout": PER_GPU}),
    "oci-bm.gpu.b300.8": ("srp", even(8, 2, 1, nics=2), {"cpu": NO_CPU, "layout": PER_GPU}),
    "oci-bm.gpu.gb200.4": ("arm", TRAY, {}),
    "oci-bm.gpu.gb300.4": ("arm", even(4, 2, 2, nics=4, switch=False), {}),
    "oci-bm.gpu.mi300x.8": ("srp", EIGHT, {"cpu": NO_CPU, "layout": "layout by analogy with mi300x-8x"}),
    "oci-bm.gpu.mi355x.8": ("srp", EIGHT, {"cpu": NO_CPU, "layout": "layout by analogy with mi300x-8x"}),
    "oci-bm.gpu.rtxpro.8": ("erp", EIGHT, {"cpu": NO_CPU, "layout": PER_GPU}),
    "lambda-hgx-b200": ("erp", EIGHT, {"cpu": NO_CPU, "layout": ANALOGY}),
    "coreweave-gb200-nvl72": ("arm", RACK, {"assumed": [RACK_ASSUMED]}),
    "coreweave-hgx-h100": ("srp", EIGHT, {}),
    "a100-80gb-pcie-4x": ("skl", even(4, 1, 4, switch=False), {"sockets": 1, "cpu": NO_CPU, "layout": SPLIT}),
    "gb300-tray": ("arm", TRAY, {}),
    "h100-pcie-2x-bridge": ("srp", even(2, 1, 2, switch=False), {"sockets": 1, "cpu": NO_CPU, "layout": SPLIT}),
    "rtx-4090-8x-p2p": ("amd", ROOTS_8, {"sockets": 2, "cpu": NO_CPU, "layout": SPLIT}),
}

CUBE_ROW = "dgx1-v100-16gb"  # the row that writes out the V100 cube link by link
MESH_LINKS = {  # meshes whose prose says "all connected", in links per pair
    "v100-16gb-4x": 2, "v100-32gb-4x": 2, "dgx-station-a100-80gb": 4, "hgx-a100-80gb-4x": 4, "hgx-h100-80gb-4x": 6,
    "gh200-4x": 6, "mi300x-8x": 1, "mi325x-8x": 1, "mi350x-8x": 1, "mi355x-8x": 1, "azure-nd96isr-mi300x-v5": 1,
    "oci-bm.gpu.mi300x.8": 1, "oci-bm.gpu.mi355x.8": 1,
}
PAIR_LINKS = {  # bridged pairs, in links per pair
    "titan-rtx-2x-nvlink": 2, "rtx-2080ti-2x-nvlink": 2, "azure-nc96ads-a100-v4": 12, "azure-nc80adis-h100-v5": 12,
    "a100-80gb-pcie-4x": 12, "h100-pcie-2x-bridge": 12,
}


def cube_links(prose):
    return [[int(a), int(b), int(n)] for a, b, n in re.findall(r"(\d)-(\d) (\d)", prose)]
