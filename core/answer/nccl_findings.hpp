// What NCCL does on a machine that its users do not expect, in words, and what to change.
//
// Rules look at a decision alone; only where one is raised is its remedy tried, by deciding again with it. A variable or a choice of
// GPUs that does not raise what NCCL plans is not offered as one that does. "Planned" is channels x rate of the ring as the search
// found it: NCCL's own expectation, no measurement. Rule numbers in comments: [nccl-rules].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/cost/nccl/decision.hpp"

namespace wireplan {

struct NcclFinding {
  std::string_view rule;  // "no-graph": one word for programs
  Severity severity = Severity::info;
  std::string text;       // what NCCL does and why, with the numbers
  std::string remedy;     // what to change and what is planned then; where nothing helps, that
};

// At most eight further decisions, three for a rack. The most serious come first, else in the order of the rules.
std::vector<NcclFinding> nccl_findings(const nccl::Machine& machine, const nccl::Request& request, const nccl::Release& release, const nccl::Decision& decision);

}  // namespace wireplan
