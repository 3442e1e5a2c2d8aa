// Rates and names of links, and the rows of LinkConstants that hold for them.
#pragma once

#include <string>

#include "core/cost/wiring.hpp"

namespace wireplan {

struct LinkRates { BytesPerSecond planning, nominal; };  // per direction

// NVLink of `links` links. Kind: planning constant [nccl-topo]; falls back to the GPU's own data-sheet rate for an unknown generation.
LinkRates nvlink_rates(const Gpu& gpu, int generation, int links, const LinkConstants& constants);
// PCIe: x16 rate of the generation · lanes / 16 [nccl-topo].
LinkRates pcie_rates(int generation, int lanes, const LinkConstants& constants);
// Link between two CPU sockets by class of CPU [nccl-topo]; the slowest class where the CPU is not known.
LinkRates socket_rates(const Cpu& cpu, const LinkConstants& constants);

// "xGMI cpu0–cpu1", "PCIe 4 ×16 gpu0–switch0", "NVLink gpu0–nvswitch".
std::string link_name(const WiringGraph& graph, const Link& link, const Node& node);
// "8 × 400 Gbit/s InfiniBand".
std::string network_name(const Network& network);

// Row of the class for a generation, else the one for generation 0; -1: the file has neither.
int class_row(const LinkConstants& constants, std::string_view name, int generation);
// Row of the network's fabric, -1: none.
int fabric_row(const LinkConstants& constants, const Network& network);

// The class of links a path of this kind belongs to, in this node.
std::string_view class_of(PathKind kind, const Node& node);

}  // namespace wireplan
