#include "core/answer/compare.hpp"

#include <utility>

namespace wireplan {

Comparison compare(std::vector<Plan> plans, const Constants& constants) {
  Comparison comparison;
  comparison.estimates.reserve(plans.size());
  for (const Plan& plan : plans) comparison.estimates.push_back(estimate(plan, constants));
  comparison.plans = std::move(plans);
  return comparison;
}

}  // namespace wireplan
