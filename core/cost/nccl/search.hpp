// The search for channels (rules 8 to 16).
#pragma once

#include "core/cost/nccl/system.hpp"

namespace wireplan::nccl {

// The graph of `pattern` over the system's GPUs, at least `least` and at most `most` channels. Takes from the rates of the system's
// edges while it runs and gives all back.
Graph search(System& system, const Release& release, const Environment& environment, Pattern pattern, int least, int most);

}  // namespace wireplan::nccl
