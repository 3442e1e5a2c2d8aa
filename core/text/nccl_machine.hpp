// A machine as NCCL reads it, from a topology file (NCCL_TOPO_DUMP_FILE).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/cost/nccl/machine.hpp"
#include "core/text/xml.hpp"

namespace wireplan {

struct NcclMachine {
  nccl::Machine machine;
  std::vector<Assumption> assumed;  // what the file left out
  std::vector<std::uint64_t> buses;  // of the GPUs, by index
};

// Errors (path "", with the line) for what NCCL would fail on or could not mean: no <system>, no GPU, a GPU without sm, a bus id given
// twice, widths, rates and latencies no hardware has, NVLinks counted otherwise at their other end. Assumed where NCCL goes on: PCIe speeds it
// does not know, NVLinks to GPUs that are not in the file.
Result<NcclMachine> nccl_machine_of(const XmlDocument& document);

}  // namespace wireplan
