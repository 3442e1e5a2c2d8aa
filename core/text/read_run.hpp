// Runs of collectives (wireplan.run/1) as curves.
#pragma once

#include <vector>

#include "core/describe/profile.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// Rows of one operation and number of ranks are one curve: the median time of each size that was measured and came out right.
// `gpus_per_node` of the cluster tells on how many nodes the ranks are. Unknown keys are let pass.
Result<std::vector<MeasuredCurve>> read_run_curves(const Json& document, int gpus_per_node);

}  // namespace wireplan
