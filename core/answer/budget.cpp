#include "core/answer/budget.hpp"

#include <cmath>

namespace wireplan {

Budget budget(const Plan& plan, const Estimate& estimate, double tokens, std::optional<double> price) {
  Budget b;
  b.tokens = tokens;
  b.tokens_per_step = static_cast<double>(plan.training.global_batch_size) * static_cast<double>(plan.training.sequence_length);
  b.steps = std::ceil(tokens / b.tokens_per_step);
  b.price_per_gpu_hour = price;
  constexpr double kSecondsPerHour = 3600;
  const double gpus = static_cast<double>(total_gpus(plan.cluster)), each = price.value_or(0);
  const Range<Seconds>& step = estimate.step.time;
  b.time = {b.steps * step.low, b.steps * step.value, b.steps * step.high};
  const auto hours = [&](Seconds time) { return time.value * gpus / kSecondsPerHour; };
  b.gpu_hours = {hours(b.time.low), hours(b.time.value), hours(b.time.high)};
  b.cost = {each * b.gpu_hours.low, each * b.gpu_hours.value, each * b.gpu_hours.high};
  return b;
}

}  // namespace wireplan
