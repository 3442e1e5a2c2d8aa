// What holds a graph's channels down: the link they fill most, and between which GPUs.
#pragma once

#include "core/cost/nccl/system.hpp"

namespace wireplan::nccl {

// Of all links the channels of `graph` use, each as often as it is used, the one whose planning rate is filled most; of equals the first
// met. Empty for graphs without channels and for one GPU without NICs. Kind: follows exactly from the graph.
Limit limit_of(const System& system, const Graph& graph);

}  // namespace wireplan::nccl
