// The wiring of an estimate as a document: which GPUs talk over which links.
#pragma once

#include "core/answer/estimate.hpp"
#include "core/text/json.hpp"

namespace wireplan {

Json write_wiring(const Plan& plan, const Estimate& estimate);  // {"groups":[...]}

// A rate, null where it is not known.
Json rate_or_null(BytesPerSecond rate);

}  // namespace wireplan
