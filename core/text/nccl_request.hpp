// NCCL's decisions as a request and a document (wireplan.nccl/1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/answer/nccl_findings.hpp"
#include "core/cost/nccl/decision.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

struct NcclAnswer {
  std::string name;                // of the machine, for people
  nccl::Machine machine;
  nccl::Request request;
  nccl::Release release;
  nccl::Decision decision;
  std::vector<NcclFinding> findings;
  std::vector<Assumption> assumed;
  std::vector<Note> notes;
};

// {"cluster": as stated_cluster() takes it, or "xml": the text of an NCCL topology file; "nodes"?, "gpus"?: [index, …], "p2p"?: "all", "none" or rows
// "01/10", "gpudirect"?: true or false, "rack_nodes"?, "env"?: {NAME: value}, "nccl"?: a release}.
// Limits: 2 to 4,096 ranks on 1 to 512 hosts, at most 128 of them in one NVLink domain.
Result<NcclAnswer> asked_nccl(const Json& request, const Presets& presets);
// The same, but for the decision and what is found about it.
Result<NcclAnswer> stated_nccl(const Json& request, const Presets& presets);

Json write_nccl(const NcclAnswer& answer);

// Sizes the document gives choices for, in bytes.
inline constexpr double kChoiceSizes[] = {1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456, 1073741824, 4294967296, 8589934592};

// Where the choice changes: the first power of two from 512 bytes to 16 GiB with a new one.
struct NcclSwitch { double size; nccl::Choice choice; };
std::vector<NcclSwitch> nccl_switches(const NcclAnswer& answer, nccl::Operation operation);
// [[size_bytes, algorithm, protocol], …].
Json write_nccl_switches(const NcclAnswer& answer, nccl::Operation operation);

// Operations as documents list them.
inline constexpr nccl::Operation kNcclOperations[] = {nccl::Operation::all_reduce, nccl::Operation::all_gather, nccl::Operation::reduce_scatter, nccl::Operation::broadcast, nccl::Operation::reduce};

}  // namespace wireplan
