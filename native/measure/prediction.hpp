// What a cluster's wiring is predicted to take for calls that are measured on it.
#pragma once

#include <memory>

#include "core/text/presets.hpp"
#include "native/measure/sweep.hpp"

namespace wireplan {

// Rank r sits on GPU (r mod g) of the used ones of node r div g. Groups that call together share links: the node with most of their ranks decides.
// Nothing is predicted for ranks that the cluster does not have. `cluster` must outlive the function that comes back.
Predict prediction_on(const Cluster& cluster, std::shared_ptr<const Constants> constants);

}  // namespace wireplan
