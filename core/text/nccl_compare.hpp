// Decisions of NCCL side by side: what a variable, another order of GPUs, P2P, a release or another wiring changes.
#pragma once

#include <string>
#include <vector>

#include "core/text/nccl_request.hpp"
#include "core/text/render.hpp"

namespace wireplan {

struct NcclCandidate {
  std::string label;  // "as it is", "NCCL_P2P_LEVEL=SYS"
  NcclAnswer answer;
};

// {"schema": "wireplan.nccl-compare/1", "labels", "decisions": [wireplan.nccl/1, …], "differences": [{"path","values": one of each}]}.
// Two cases or more; paths are those of the document; "switches.<op>" and "time_s.<op>.<size>" stand for what its lists say.
Json write_nccl_comparison(const std::vector<NcclCandidate>& cases);

// A row for what is compared, a column for each case; rows that differ come first. CSV: the same rows.
std::string render_nccl_comparison(const std::vector<NcclCandidate>& cases, RenderFormat format);

}  // namespace wireplan
