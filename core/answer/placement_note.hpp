// Whether tensor groups sit on GPUs that are badly joined: a test cheap enough for every estimate.
#pragma once

#include <optional>

#include "core/step/step.hpp"

namespace wireplan {

// A note where tensor groups that lie whole inside a node would have 1.5 times the bandwidth or more if each took the GPUs nearest to
// each other, in turn from the lowest index on. Looks at nodes of up to 16 GPUs, so that the work is one ring search. Valid after step_cost().
std::optional<Note> placement_note(const Plan& plan, const PreparedCluster& cluster, const StepCost& cost);

// `start` and the size - 1 of `others` that are nearest to it and each other, taken one by one: by kind of way, then links, then width.
std::vector<int> nearest_to(const PreparedCluster& cluster, int start, std::vector<int> others, std::size_t size);
// All of `gpus` in such lists, each from the lowest that is left.
std::vector<std::vector<int>> nearest_groups(const PreparedCluster& cluster, std::vector<int> gpus, std::size_t size);

}  // namespace wireplan
