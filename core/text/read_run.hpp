// Runs of collectives (wireplan.run/1), and what validate printed of some, as curves.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/describe/profile.hpp"
#include "core/text/import_nccl_tests.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// True for a document of either kind.
bool is_run(const Json& document);

// Rows of one operation and set of GPUs are one curve: the median time of each size that was measured and came out right, out of place.
// Nodes and GPUs follow from the hosts of the run's environment: a rank's GPU is its number among the ranks of its host; all ranks of
// each of its hosts: no GPUs are stated. Without hosts `gpus_per_node` tells the nodes (0: one). Unknown keys are let pass.
Result<std::vector<MeasuredCurve>> read_run_curves(const Json& document, int gpus_per_node = 0);

// The same with what the environment says of machine, date and software, as a profile; rows that failed or were wrong are notes.
Result<ImportedMeasurements> import_run(const Json& document, int gpus_per_node = 0);

// Whatever holds measurements: a document of either kind, or what import_nccl_tests() reads.
Result<ImportedMeasurements> import_measurements(std::string_view text, std::optional<Collective> op = std::nullopt);

}  // namespace wireplan
