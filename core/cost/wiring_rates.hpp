// Rates and names of links, and the rows of LinkConstants that hold for them.
#pragma once

#include <string>

#include "core/cost/wiring.hpp"

namespace wireplan {

inline int pcie_generation_of(const Node& node) {
  return node.wiring.pcie_generation > 0 ? node.wiring.pcie_generation : node.gpu.pcie_generation;
}

struct LinkRates { BytesPerSecond planning, nominal, measured{}; };  // per direction; measured 0: not known

// NVLink of `links` links. Kind: planning constant [nccl-topo]; falls back to the GPU's own data-sheet rate for an unknown generation.
LinkRates nvlink_rates(const Gpu& gpu, int generation, int links, const LinkConstants& constants);
// PCIe: x16 rate of the generation · lanes / 16 [nccl-topo].
LinkRates pcie_rates(int generation, int lanes, const LinkConstants& constants);
// Link between two CPU sockets by class of CPU [nccl-topo] and the generation of the PCIe links beside it, which tells a new CPU from
// an old one of its class; the slowest class where the CPU is not known.
LinkRates socket_rates(const Cpu& cpu, int pcie_generation, const LinkConstants& constants);

// "xGMI", "PCIe 4 ×16", "NVLink": a link without its ends.
std::string link_kind_name(const Link& link, const Node& node);
// "xGMI cpu0–cpu1", "PCIe 4 ×16 gpu0–switch0", "NVLink gpu0–nvswitch".
std::string link_name(const WiringGraph& graph, const Link& link, const Node& node);
// "8 × 400 Gbit/s InfiniBand".
std::string network_name(const Network& network);

// Generation a class of links goes by in this node: of its NVLinks, or of its PCIe links.
int generation_of(std::string_view class_name, const Node& node);

// L0 of a class on a GPU: launching is work of its clock; 1.7 GHz where that is not known.
Seconds launch_of(const LinkConstants::Class& row, const Gpu& gpu);

// Row of the class for a generation, else the one for any; -1: the file has neither.
int class_row(const LinkConstants& constants, std::string_view name, int generation);
// Row of the network's fabric, -1: none.
int fabric_row(const LinkConstants& constants, const Network& network);

// The class of links a path of this kind belongs to, in this node.
std::string_view class_of(PathKind kind, const Node& node);

}  // namespace wireplan
