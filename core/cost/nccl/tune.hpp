// NCCL's cost model ([nccl-tuning]; rules 16 to 18).
#pragma once

#include <cstddef>

#include "core/cost/nccl/decision.hpp"

namespace wireplan::nccl {

// Fills `costs` of a decision whose graphs and channels stand.
void tune(Decision& decision, const Release& release, const Environment& environment);

// Row of a table by generation: Volta and older, Ampere, Hopper, Blackwell.
std::size_t generation_of(int compute_capability);

}  // namespace wireplan::nccl
