// NCCL's own log as a document (wireplan.nccl/1 as far as it says), what is wrong on the machine by it, and where it differs from
// what this program predicts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/wiring.hpp"
#include "core/text/json.hpp"
#include "core/text/nccl_log.hpp"

namespace wireplan {

// What a log says is wrong, or unusual, most serious first: each with its remedy.
std::vector<Note> nccl_log_findings(const NcclLog& log);

// One thing that the log says beside what is predicted for the cluster.
struct NcclComparison {
  std::string what, logged, predicted;  // what: "ring", "0 -> 1"
  bool agrees = true;
  std::string text;  // the usual cause where they differ, "" where they agree
};
// Ring order on the first host (orders over links of the same kinds and rates agree), and how each pair of neighbours is joined, at
// most 512 pairs. Empty where the log's hosts do not fit the cluster.
std::vector<NcclComparison> compare_with_cluster(const NcclLog& log, const PreparedCluster& cluster);

// {"schema": "wireplan.nccl/1", "nccl", "ranks", …, "findings"}; `comparison` adds "comparison".
Json write_nccl_log(const NcclLog& log, const std::vector<NcclComparison>& comparison = {});

// For people: what was chosen, how GPUs are joined, findings, differences.
std::string render_nccl_log(const NcclLog& log, const std::vector<NcclComparison>& comparison = {});

}  // namespace wireplan
