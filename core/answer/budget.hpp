// What a number of tokens costs at the speed of an estimated step.
#pragma once

#include <optional>

#include "core/answer/estimate.hpp"

namespace wireplan {

// Limits of what is asked: whole runs, from one token to a thousand times the largest known; prices in any currency.
inline constexpr double kMostTokens = 1e18, kMostPrice = 1e9;

struct Budget {
  double tokens = 0, tokens_per_step = 0, steps = 0;
  Range<Seconds> time;
  Range<double> gpu_hours;
  std::optional<double> price_per_gpu_hour;
  Range<double> cost;  // in the currency of the price; all 0 without one
};

// what: steps, time, GPU-hours and cost of training on `tokens`.
// formula: steps = ceil(tokens / (g·s)),  time = steps·T,  GPU-hours = time·n/3600,  cost = GPU-hours · price.
// where: g sequences per step of s tokens, T the step's time with its band (an error of T is the same in every step, so bands add up), n GPUs.
// valid: 1 <= tokens <= kMostTokens, 0 <= price <= kMostPrice; no checkpoints, evaluations, restarts or idle GPUs.
// kind: estimate, as the step's time.  test: budget_test.cpp.
Budget budget(const Plan& plan, const Estimate& estimate, double tokens, std::optional<double> price_per_gpu_hour);

}  // namespace wireplan
