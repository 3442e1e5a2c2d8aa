#include "core/answer/smallest_cluster.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "core/text/advice_json.hpp"
#include "core/text/plan_edits.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

SmallestClusters smallest_of(const Plan& plan) { return *advice_answer(plan, estimate(plan, constants()), presets(), constants(), AdviseWhat::smallest).value().smallest; }

const SmallestCluster* on(const SmallestClusters& all, std::string_view node) {
  for (const SmallestCluster& s : all.found)
    if (s.plan.cluster.node.id == node) return &s;
  return nullptr;
}

}  // namespace

TEST_CASE("every kind of node has its smallest cluster or a reason") {
  for (const char* id : {"story", "llama-3-70b-megatron", "codellama-34b-zero3", "mixtral-8x7b-experts", "qwen2.5-7b-lora"}) {
    const Plan plan = scenario(id);
    const SmallestClusters all = smallest_of(plan);
    INFO(id);
    CHECK(all.found.size() + all.left_out.size() == presets().ids("nodes").size());
    for (const KindLeftOut& k : all.left_out) CHECK_FALSE(k.reason.empty());
    const PresetFilling filling(plan, presets());
    for (std::size_t i = 0; i < all.found.size(); ++i) {
      const SmallestCluster& s = all.found[i];
      INFO(s.label << ", " << s.layout);
      CHECK(validate(s.plan).empty());
      CHECK(s.plan.training.global_batch_size == plan.training.global_batch_size);
      CHECK(total_gpus(s.plan.cluster) == s.gpus);
      if (i > 0) CHECK((all.found[i - 1].gpus < s.gpus || (all.found[i - 1].gpus == s.gpus && all.found[i - 1].effect.time <= s.effect.time)));
      if (i % 7 != 0) continue;
      Json document = parse_json(presets().text("scenarios", id)).value()["plan"];
      for (const PlanEdit& e : edits_between(plan, s.plan, filling)) REQUIRE(set_path(document, e.path, e.value.is_string() ? e.value.get<std::string>() : dump_json_compact(e.value)).empty());
      const Result<Plan> read = read_plan(document, presets());
      REQUIRE(read);
      const Effect e = effect_of(estimate(read.value(), constants()));
      CHECK(e.fits);
      CHECK(e.need == s.effect.need);
      CHECK(e.time == s.effect.time);
    }
  }
}

TEST_CASE("fewer GPUs would not do") {
  const Plan plan = scenario("story");
  const SmallestClusters all = smallest_of(plan);
  const SmallestCluster* dgx = on(all, "dgx-a100-80gb");
  REQUIRE(dgx);
  CHECK(dgx->gpus == 2);  // 86.9 GB of states: not one card, half of them on each of two
  for (const char* sharding : {"ddp", "fsdp"})
    for (const char* recompute : {"none", "full"})
      CHECK_FALSE(estimate(scenario("story", {{"cluster.gpus_per_node", "1"}, {"parallel.data", "1"}, {"parallel.data_sharding", sharding}, {"training.recompute", recompute}}), constants()).memory.fits);
  // Cards of the same memory need as many; larger ones never more.
  const SmallestCluster *h200 = on(all, "hgx-h200-141gb"), *t4 = on(all, "t4-8x");
  REQUIRE(h200);
  CHECK(h200->gpus == 1);
  if (t4) CHECK(t4->gpus > dgx->gpus);
}

TEST_CASE("layers are recomputed only where nothing fits without") {
  const SmallestClusters all = smallest_of(scenario("story"));
  for (const SmallestCluster& s : all.found)
    if (s.recomputes) {
      Plan p = s.plan;
      p.training.recompute = {};
      CHECK_FALSE(effect_of(estimate(p, constants())).fits);
    }
}
