// From what a capture says of a machine to a cluster of one such node, with everything the capture did not say under `assumed`.
#pragma once

#include <string>

#include "core/describe/cluster.hpp"
#include "core/text/presets.hpp"
#include "core/text/topology_draft.hpp"

namespace wireplan {

struct TopologyHints {
  std::string gpu{}, network{};  // id of a GPU preset, short-hand of a network; "": not stated
};

// The short-hands nvswitch, nvlink-mesh, nvlink-pairs, pcie-switch and pcie-host where they say all that the draft says, else an
// explicit graph: switches above one another, links of different widths, NUMA nodes beyond two whose GPUs meet over PCIe.
Result<Cluster> cluster_of(TopologyDraft draft, const TopologyHints& hints, const Presets& presets);

// The draft drawn out: GPUs, a CPU for each NUMA node, switches, NICs, the NVSwitch. `nvswitch_links`: of each GPU, 0: none.
WiringGraph graph_of(const TopologyDraft& draft, const Gpu& gpu, int nvswitch_links);

}  // namespace wireplan
