// NCCL's own log as a document (wireplan.nccl/1 as far as it says), and what is wrong on the machine by it.
#pragma once

#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "core/text/nccl_log.hpp"
#include "core/text/nccl_log_compare.hpp"

namespace wireplan {

// What of the text was read and what left out: other communicators, what is beyond the limits.
std::vector<Note> nccl_log_notes(const NcclLog& log);

// What a log says is wrong, or unusual, most serious first: each with its remedy.
std::vector<Note> nccl_log_findings(const NcclLog& log);

// {"schema": "wireplan.nccl/1", "nccl", "ranks", …, "findings"}; `comparison` with what is decided for the machine adds "log".
Json write_nccl_log(const NcclLog& log, const NcclLogComparison* comparison = nullptr);

// For people: what was chosen, how GPUs are joined, findings, differences.
std::string render_nccl_log(const NcclLog& log, const NcclLogComparison* comparison = nullptr);

}  // namespace wireplan
