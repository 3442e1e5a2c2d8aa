// From nvidia-smi's matrices to the tree of PCIe that explains them.
#pragma once

#include <map>

#include "core/text/smi_gpus.hpp"
#include "core/text/smi_matrix.hpp"
#include "core/text/topology_draft.hpp"

namespace wireplan {

// Errors: a pair of GPUs that no row speaks of, halves that say different things, GPUs whose numbers have gaps, no `topo -m` at all.
//   PIX        one switch;           PXB        switches above one another
//   PHB, NODE  one NUMA node;        SYS        different NUMA nodes;       NV#        NVLinks, and nothing about PCIe
Result<TopologyDraft> draft_of(const std::vector<SmiMatrix>& matrices, const std::map<int, SmiGpu>& gpus);

}  // namespace wireplan
