#include "core/answer/fit_largest.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/plans.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

bool fits(const Plan& p) {
  const Estimate e = estimate(p, constants());
  return e.memory.fits && e.memory.fits_host != 0;
}

}  // namespace

TEST_CASE("the largest micro-batch is the largest divisor that fits") {
  for (const char* recompute : {"none", "selective", "full"})
    for (const char* global : {"64", "96", "60"}) {
      const Plan plan = scenario("llama-3-8b-fsdp", {{"training.recompute", recompute}, {"training.global_batch_size", global}, {"cluster.gpus_per_node", "4"}});
      const LargestFit found = fit_largest(plan, FitField::micro_batch_size, constants());
      Count largest = 0, next = 0;
      const Count sequences = plan.training.global_batch_size / plan.parallel.data;
      for (Count n = 1; n <= sequences; ++n) {
        if (sequences % n != 0) continue;
        Plan p = plan;
        p.training.micro_batch_size = n;
        if (fits(p)) largest = n;
        else if (next == 0) next = n;
      }
      INFO(recompute << ' ' << global);
      CHECK(found.largest == largest);
      CHECK(found.next == next);
      CHECK(found.limit == (next > 0 ? FitLimit::memory : FitLimit::batch));
      CHECK(found.plan.training.global_batch_size == plan.training.global_batch_size);
      CHECK_FALSE(found.moves_batch);
      CHECK(fit_text(found, ByteUnit::GB).find(largest > 0 ? "The global batch" : "Nothing fits") != std::string::npos);
    }
}

TEST_CASE("a global batch that was not stated goes along with the micro-batch") {
  const Plan plan = plan_of(R"({"model":"llama-3-8b","training":{"recompute":"full"},"parallel":{"data_sharding":"fsdp"},"cluster":"hgx-h100-80gb"})");
  const LargestFit found = fit_largest(plan, FitField::micro_batch_size, constants());
  REQUIRE(found.largest > 0);
  CHECK(found.moves_batch);
  CHECK(found.plan.training.global_batch_size == found.largest * plan.parallel.data);
  CHECK(found.next == found.largest + 1);
  Plan more = found.plan;
  more.training.micro_batch_size = found.next;
  more.training.global_batch_size = found.next * plan.parallel.data;
  CHECK(fits(found.plan));
  CHECK_FALSE(fits(more));
  CHECK(estimate(more, constants()).memory.need.value == found.next_need);
  CHECK(fit_text(found, ByteUnit::GB).find("goes along") != std::string::npos);
}

TEST_CASE("the longest sequence fits and the next does not") {
  for (const char* context : {"1", "2", "4"}) {
    const Plan plan = scenario("llama-3-8b-fsdp", {{"parallel.context", context}, {"parallel.data", std::string(context) == "1" ? "8" : std::string(context) == "2" ? "4" : "2"}});
    const LargestFit found = fit_largest(plan, FitField::sequence_length, constants());
    INFO(context);
    REQUIRE(found.largest > plan.training.sequence_length);
    CHECK(found.largest % plan.parallel.context == 0);
    CHECK(found.next == found.largest + plan.parallel.context);
    CHECK(fits(found.plan));
    Plan more = found.plan;
    more.training.sequence_length = found.next;
    CHECK_FALSE(fits(more));
    CHECK(found.estimate.memory.need.value == estimate(found.plan, constants()).memory.need.value);
  }
}

TEST_CASE("where nothing fits that is the answer") {
  for (FitField field : {FitField::micro_batch_size, FitField::sequence_length}) {
    const LargestFit found = fit_largest(scenario("story"), field, constants());
    CHECK(found.largest == 0);
    CHECK(found.limit == FitLimit::memory);
    CHECK(found.next_need > found.estimate.memory.capacity);
    CHECK(validate(found.plan).empty());
    CHECK(fit_text(found, ByteUnit::GB).find("Nothing fits") == 0);
  }
}

TEST_CASE("a small model is bounded by its batch or by what a plan may have") {
  const Plan plan = plan_of(R"({"model":"gpt2","training":{"sequence_length":16,"global_batch_size":8},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":2}})");
  const LargestFit found = fit_largest(plan, FitField::micro_batch_size, constants());
  CHECK(found.largest == 4);
  CHECK(found.next == 0);
  CHECK(found.limit == FitLimit::batch);
}

TEST_CASE("the largest value of plans of all kinds is valid, fits, and the next does not") {
  Random r(7);
  for (int i = 0, seen = 0; seen < 40; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(r));
    if (!plan) continue;
    ++seen;
    for (FitField field : {FitField::micro_batch_size, FitField::sequence_length}) {
      const LargestFit found = fit_largest(*plan, field, constants());
      INFO(i << ' ' << name_of(field) << ' ' << dump_json(write_plan(*plan)));
      CHECK(validate(found.plan).empty());
      CHECK(fits(found.plan) == (found.largest > 0));
      if (fits(*plan)) CHECK(found.largest >= (field == FitField::micro_batch_size ? plan->training.micro_batch_size : plan->training.sequence_length));
      if (found.next > 0 && found.largest > 0) CHECK(found.next > found.largest);
    }
  }
}
