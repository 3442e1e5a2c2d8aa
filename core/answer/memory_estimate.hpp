// The memory of a plan alone.
#pragma once

#include "core/answer/estimate.hpp"

namespace wireplan {

// What: stages, their memory and `memory` of the estimate; the rest stays empty. For searches of the least need: a long pipeline's schedule takes a
// thousand times as long to play.
// Valid: as estimate().  Kind: estimate, equal to estimate() in all that it fills.  Test: search_test.cpp.
Estimate memory_estimate(const Plan& plan, const Constants& constants);

}  // namespace wireplan
