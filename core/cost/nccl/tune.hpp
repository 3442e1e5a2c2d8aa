// NCCL's cost model ([nccl-tuning]; rules 16 to 18).
#pragma once

#include "core/cost/nccl/decision.hpp"

namespace wireplan::nccl {

// Fills `costs` of a connected decision.
void tune(Decision& decision, const Release& release, const Environment& environment);

}  // namespace wireplan::nccl
