#include "core/text/plan_edits.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

std::vector<PlanEdit> edits(const Plan& before, const Plan& after) { return edits_between(before, after, PresetFilling(before, presets())); }

}  // namespace

TEST_CASE("equal plans have no edits between them") {
  for (std::string_view id : presets().ids("scenarios")) {
    const Plan plan = scenario(id);
    CHECK(edits(plan, plan).empty());
    Plan filled = plan;
    PresetFilling(plan, presets()).fill(filled);  // gives what reading gave
    CHECK(filled == plan);
  }
}

TEST_CASE("single fields are edited one by one, parts that stand for one thing as a whole") {
  const Plan before = scenario("story");
  Plan after = before;
  after.training.recompute = {RecomputeKind::full_layers, 8};
  after.training.offload.activations = true;
  after.training.details = Details{};
  after.training.details->bucket_bytes = 100;
  const std::vector<PlanEdit> found = edits(before, after);
  REQUIRE(found.size() == 3);
  CHECK(found[0].path == "training.recompute");
  CHECK(found[0].value == Json{{"full_layers", 8}});
  CHECK(found[1].path == "training.details.bucket_bytes");
  CHECK(found[2].path == "training.offload.activations");
  CHECK(set_arguments(found) == "--set 'training.recompute={\"full_layers\":8}' --set training.details.bucket_bytes=100 --set training.offload.activations=true");
}

TEST_CASE("what the document left out and would be filled in otherwise is stated") {
  const Plan before = plan_of(R"({"model":"gpt2","cluster":"dgx-a100-80gb"})");
  Plan after = before;
  after.training.micro_batch_size = 1;
  after.parallel.tensor = 2;
  after.parallel.data = 4;
  const std::vector<PlanEdit> found = edits(before, after);
  bool says_batch = false;
  for (const PlanEdit& e : found) says_batch = says_batch || (e.path == "training.global_batch_size" && e.value == 8);
  CHECK(says_batch);
}

TEST_CASE("arguments are quoted for a shell") {
  CHECK(set_arguments({{"cluster.node", Json{{"name", "it's"}}}}) == "--set 'cluster.node={\"name\":\"it'\\''s\"}'");
  CHECK(set_arguments({{"parallel.placement", nullptr}, {"parallel.placement", Json{0, 2}}}) == "--set parallel.placement=null --set 'parallel.placement=[0,2]'");
  CHECK(set_arguments({}).empty());
}
