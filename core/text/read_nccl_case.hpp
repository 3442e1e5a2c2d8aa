// Lines of a file of NCCL's decisions, as a run to compare.
#pragma once

#include <functional>
#include <string>

#include "core/answer/nccl_case.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// The text of a topology file by its name, or why there is none; empty where the caller has no files.
using TopologyText = std::function<Result<std::string>(const std::string& name)>;

// The input of asked_nccl() with `topology_xml`, a file's name, for the machine, and what NCCL decided. Keys that are not compared are
// allowed. Errors: the file is not there, the request is none, a part is not what the format says.
Result<NcclCase> read_nccl_case(const Json& row, const Presets& presets, const TopologyText& topology);

}  // namespace wireplan
