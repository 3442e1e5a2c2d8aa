// NCCL's topology files: what NCCL_TOPO_DUMP_FILE writes, and what cloud vendors ship for their virtual machines.
#pragma once

#include <string_view>

#include "core/text/topology_draft.hpp"
#include "core/text/xml.hpp"

namespace wireplan {

// A file of vendors may leave out <gpu>, <net>, speeds and NVLinks: NCCL finds them on the machine. It is read as NCCL reads it
// [nccl-topo]: an unknown speed is that of PCIe 3, no width is 16 lanes, two-level Broadcom switches of one kind are one switch.
// Errors: no GPU, two GPUs of one bus id, several hosts in one file, NVLinks that only one end counts so.
Result<TopologyDraft> draft_of(const XmlDocument& document);

// "32.0 GT/s PCIe", "16 GT/s" -> 5, 4: the generation of PCIe with that speed; 0 for anything else.
int pcie_generation(std::string_view speed);

}  // namespace wireplan
