#include "core/answer/budget.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

TEST_CASE("one token is one step, a step's tokens are one, one more are two") {
  const Plan plan = scenario("story");
  const Estimate e = estimate(plan, constants());
  const double step = 64 * 4096;
  for (const auto& [tokens, steps] : {std::pair(1.0, 1.0), std::pair(step, 1.0), std::pair(step + 1, 2.0), std::pair(1000 * step, 1000.0)}) {
    const Budget b = budget(plan, e, tokens, 2.5);
    CHECK(b.steps == steps);
    CHECK(b.time.value == steps * e.step.time.value);
    CHECK(b.time.low == steps * e.step.time.low);
    CHECK(b.time.high == steps * e.step.time.high);
    CHECK(b.gpu_hours.value == b.time.value.value * 4 / 3600);
    CHECK(b.cost.value == 2.5 * b.gpu_hours.value);
    CHECK(b.cost.low <= b.cost.value);
    CHECK(b.cost.value <= b.cost.high);
  }
}

TEST_CASE("without a price there is no cost, for nothing it is 0, and the largest question has a finite answer") {
  const Plan plan = scenario("qwen2.5-7b-lora");
  const Estimate e = estimate(plan, constants());
  CHECK_FALSE(budget(plan, e, 1e9, {}).price_per_gpu_hour);
  CHECK(budget(plan, e, 1e9, 0.0).cost.high == 0);
  const Budget most = budget(plan, e, kMostTokens, kMostPrice);
  CHECK(std::isfinite(most.cost.high));
  CHECK(most.cost.high > 1e20);
}
