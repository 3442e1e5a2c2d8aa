// Plans side by side (wireplan.compare/1).
#pragma once

#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

struct Comparison {
  int baseline = 0;                 // the plan the others are measured against
  std::vector<Plan> plans;
  std::vector<Estimate> estimates;  // one for each plan, same order
};

// The estimates of all plans; the first is the baseline. Each equals estimate() of its plan alone.
Comparison compare(std::vector<Plan> plans, const Constants& constants);

}  // namespace wireplan
