// From what a machine says of itself to a cluster of one such node.
#pragma once

#include <string>

#include "core/text/machine_facts.hpp"
#include "core/text/topology_node.hpp"
#include "core/text/xml.hpp"

namespace wireplan {

// Why there is nothing to plan with, in a sentence that names what is missing; "" where there are GPUs.
std::string why_no_gpus(const MachineFacts& facts);

// The machine as NCCL would write it (NCCL_TOPO_DUMP_FILE): bridges taken two by two, a link as fast and wide as the slower of its ends,
// NVLinks by what is at their other end [nccl-topo]. Beyond NCCL: a width that the link has now counts where it is less than it could be,
// an end that the driver does not name falls back on sysfs, and NVLinks count as the end says that has fewer. `notes` gets what that took.
XmlDocument nccl_document(const MachineFacts& facts, std::vector<Assumption>& notes);

// One node by draft_of() and cluster_of(), as a pasted file of NCCL would be read, with the names, memory, power limits and peer access
// that the driver knows. `assumed` holds what was assumed, and in words whatever a reader should know of this machine: GPUs that are lost or
// cut into slices, narrow slots, links that are down, an IOMMU in the way. `dump`: NCCL's own file of this machine in place of the tree.
// Never fails for want of a driver. Test: tests/core/text/detect_topology_test.cpp, tests/program/test_detect.py.
Result<Cluster> detected_cluster(const MachineFacts& facts, const XmlDocument* dump, const TopologyHints& hints, const Presets& presets);

}  // namespace wireplan
