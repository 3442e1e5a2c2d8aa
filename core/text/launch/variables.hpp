// Variables of the environment that a plan's wiring and framework ask for, each with its reason and source.
#pragma once

#include <vector>

#include "core/text/launch/launch.hpp"

namespace wireplan {

// what: the variables, but for which GPUs are visible. Left out on purpose: what NCCL finds by itself as the plan reckons (GPUDirect's and
// peer access' usual reach, NVLink across hosts, the interface), since the estimate is that of NCCL's own choices.
std::vector<LaunchLine> launch_variables(const Plan& plan);

}  // namespace wireplan
