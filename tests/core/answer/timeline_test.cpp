#include "core/answer/timeline.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

TEST_CASE("the highest point of the memory line is the peak, and it begins and ends between two steps") {
  for (const char* sharding : {"ddp", "fsdp", "zero2"}) {
    DYNAMIC_SECTION(sharding) {
      const Plan plan = scenario("story", {{"parallel.data_sharding", sharding}});
      const Estimate e = estimate(plan, constants());
      const std::vector<MemoryLine> lines = memory_timeline(plan, e);
      REQUIRE(lines.size() == 1);
      const std::vector<MemoryPoint>& points = lines.front().points;
      const auto highest = std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.allocated < b.allocated; });
      CHECK(std::abs(highest->allocated.value - e.memory.allocated.value.value) < 32);  // terms are rounded up to whole bytes
      CHECK(points.front().time.value == 0);
      CHECK(std::abs(points.back().time.value - e.step.time.value.value) < 1e-9);
      CHECK(std::abs(points.front().allocated.value - e.memory.between_steps.value) < 32);
      CHECK(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.time < b.time; }));
    }
  }
}

TEST_CASE("every layer has its points in both directions") {
  const Plan plan = scenario("story", {{"training.global_batch_size", "4"}});
  const std::vector<MemoryLine> lines = memory_timeline(plan, estimate(plan, constants()));
  for (const StepPhase phase : {StepPhase::forward, StepPhase::backward})
    for (Count layer = 0; layer < plan.model.num_layers; ++layer)
      CHECK(std::any_of(lines.front().points.begin(), lines.front().points.end(), [&](const MemoryPoint& p) { return p.place.phase == phase && p.place.layer == layer; }));
}
