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

// Peer access as `topo -p2p` says: "01/10", a row for each of `gpus` GPUs, "" where no matrix speaks of it. Reading and writing must both
// be allowed; the matrix n speaks of NVLink alone, a of atomics.
std::string peer_matrix(const std::vector<SmiMatrix>& matrices, int gpus);

// Names, sizes and slots that other outputs give; a slot the draft has already stays.
void add_known(const std::map<int, SmiGpu>& gpus, TopologyDraft& draft);

}  // namespace wireplan
