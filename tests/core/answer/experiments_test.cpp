// What is worth measuring: nothing where nothing is uncertain, first what is uncertain most and matters; and measuring it leads to the best layout.
#include "core/answer/experiments.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <algorithm>
#include <string>

#include "core/base/math.hpp"
#include "tests/support/plans.hpp"
#include "tools/experiments/campaign.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

const char* kTwoNodes = R"({"model": "llama-3-8b", "training": {"global_batch_size": 64, "gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1"}, "cluster": {"nodes": 2, "node": "hgx-h100-80gb", "network": "infiniband-8x400"}})";

std::vector<Plan> rivals_of(const Plan& plan, const Constants& k) {
  Search search({plan}, {}, k);
  Campaign::run(search);
  std::vector<Plan> plans;
  for (const Candidate& c : search.rivals(kMostRivals)) plans.push_back(search.plan_of(c));
  return plans;
}

// Constants that are sure of themselves.
Constants without_bands() {
  Constants k = constants();
  k.links.bands.clear();
  k.efficiency.band = k.efficiency.band_moe = 0;
  k.memory.band_exact = k.memory.band_moe = k.memory.band_default = 0;
  k.memory.unavoidable_fragmentation = k.memory.band_fragmentation = 0;
  return k;
}

// One band for calls over several nodes, or for those inside one; the rest is sure.
Constants with_band(bool several_nodes, double width) {
  Constants k = without_bands();
  for (const char* basis : {"profile", "measured", "interpolated", "fitted", "unknown"}) k.links.bands.push_back({basis, several_nodes, Bytes(0), width, width});
  return k;
}

bool is_over_nodes(const Experiment& e) { return e.sweep.front().nodes > 1; }

double total_saved(const Experiments& e) {
  double sum = 0;
  for (const Experiment& x : e.list) sum += x.saved.value;
  return sum;
}

}  // namespace

TEST_CASE("experiments: nothing is uncertain, nothing is to be measured") {
  const Constants k = without_bands();
  const Experiments e = experiments(rivals_of(plan_of(kTwoNodes), k), Verdict::tight, k);
  CHECK(e.list.empty());
  CHECK_FALSE(e.sweeps.empty());
  CHECK(e.regret.value == 0);
  CHECK(e.text.find("No measurement would change the plan") == 0);
  CHECK(experiments({}, Verdict::tight, k).list.empty());
}

TEST_CASE("experiments: a single layout has no rival") {
  const Experiments e = experiments({plan_of(kTwoNodes)}, Verdict::tight, constants());
  CHECK(e.list.empty());
  CHECK(e.regret.value == 0);
}

TEST_CASE("experiments: what is uncertain comes first") {
  const std::vector<Plan> rivals = rivals_of(plan_of(kTwoNodes), constants());
  for (const bool several_nodes : {false, true}) {
    const Constants k = with_band(several_nodes, 1.2);
    const Experiments e = experiments(rivals, Verdict::tight, k);
    INFO(e.text);
    REQUIRE_FALSE(e.list.empty());
    for (const Experiment& x : e.list) {
      if (x.kind != Uncertain::collectives) continue;
      CHECK(is_over_nodes(x) == several_nodes);
      CHECK_THAT(x.low, WithinRel(exponential(-1.2), 1e-9));
      CHECK_THAT(x.high, WithinRel(exponential(1.2), 1e-9));
    }
    CHECK(e.list.front().kind == Uncertain::collectives);
  }
}

TEST_CASE("experiments: saved, regret and flips belong together") {
  const std::vector<Plan> rivals = rivals_of(plan_of(kTwoNodes), constants());
  Constants k = with_band(true, 1.2);
  for (const LinkConstants::Band& b : with_band(false, 1.2).links.bands) k.links.bands.push_back(b);
  const Experiments e = experiments(rivals, Verdict::tight, k);
  REQUIRE(e.list.size() > 1);
  for (const Experiment& x : e.list) {
    CHECK(x.saved >= kWorthwhile * e.time);
    CHECK(x.flips.has_value() == (x.regret.value > 0));
    if (x.flips) CHECK(*x.flips < rivals.size());
    if (x.kind == Uncertain::memory) CHECK(x.saved <= x.regret);
    CHECK(x.duration >= kMeasureStart);
    CHECK_FALSE(x.text.empty());
  }
  for (std::size_t i = 1; i < e.list.size(); ++i) CHECK(e.list[i - 1].saved / e.list[i - 1].duration >= e.list[i].saved / e.list[i].duration);
}

TEST_CASE("experiments: wider bands are worth more, known ones nothing") {
  const std::vector<Plan> rivals = rivals_of(plan_of(kTwoNodes), constants());
  double before = 0;
  for (const double width : {0.1, 0.3, 0.6, 1.2}) {
    const Experiments e = experiments(rivals, Verdict::tight, with_band(true, width));
    CHECK(total_saved(e) >= before);
    before = total_saved(e);
  }
  CHECK(before > 0);
}

TEST_CASE("experiments: the same question has the same answer") {
  const std::vector<Plan> rivals = rivals_of(plan_of(kTwoNodes), constants());
  const Constants k = with_band(true, 1.2);
  const Experiments a = experiments(rivals, Verdict::tight, k), b = experiments(rivals, Verdict::tight, k);
  REQUIRE(a.list.size() == b.list.size());
  REQUIRE_FALSE(a.list.empty());
  CHECK(a.text == b.text);
  CHECK(a.regret.value == b.regret.value);
  for (std::size_t i = 0; i < a.list.size(); ++i) {
    CHECK(a.list[i].text == b.list[i].text);
    CHECK(a.list[i].saved.value == b.list[i].saved.value);
  }
}

TEST_CASE("experiments: a faster layout that may fit is worth a trial") {
  const std::vector<Plan> plans = rivals_of(scenario("story"), constants());
  const Experiments e = experiments(plans, Verdict::tight, constants());
  const auto trial = std::find_if(e.list.begin(), e.list.end(), [](const Experiment& x) { return x.kind == Uncertain::memory; });
  REQUIRE(trial != e.list.end());
  REQUIRE(trial->flips);
  const Estimate there = estimate(plans[*trial->flips], constants());
  CHECK(there.memory.verdict > Verdict::tight);
  CHECK(there.memory.need.low <= there.memory.capacity);
  CHECK(there.step.time.value < e.time);
  CHECK(trial->command.empty());
}

TEST_CASE("experiments: commands name what they measure") {
  const Experiments e = experiments(rivals_of(plan_of(kTwoNodes), constants()), Verdict::tight, with_band(true, 1));
  REQUIRE_FALSE(e.list.empty());
  const Experiment& x = e.list.front();
  CHECK(x.command.find("wireplan measure --op " + std::string(name_of(x.sweep.front().collective))) != std::string::npos);
  CHECK(x.command.find("mpirun -n 16 --map-by ppr:8:node") == 0);
  CHECK((x.command.find("--group") != std::string::npos) == (x.sweep.front().ranks < 16));
  for (std::size_t i = 1; i < x.sweep.front().points.size(); ++i) CHECK(x.sweep.front().points[i - 1].size < x.sweep.front().points[i].size);
}

TEST_CASE("experiments: what was measured is not asked for again") {
  const Constants k = with_band(true, 1.2);
  std::vector<Plan> rivals = rivals_of(plan_of(kTwoNodes), k);
  const Experiments before = experiments(rivals, Verdict::tight, k);
  REQUIRE_FALSE(before.list.empty());
  Profile profile;
  profile.curves = before.list.front().sweep;
  for (Plan& p : rivals) p.cluster.profile = profile;
  for (const Experiment& e : experiments(rivals, Verdict::tight, k).list) CHECK_FALSE(e.sweep == before.list.front().sweep);
}

TEST_CASE("experiments: on the machine that is expected, measuring changes nothing") {
  const Plan plan = plan_of(R"({"model": "mistral-7b-v0.1", "training": {"global_batch_size": 16, "implementation": "torchtitan", "gradient_dtype": "fp32"}, "parallel": {"data_sharding": "fsdp"}, "cluster": {"nodes": 1, "node": "dgx-a100-80gb", "gpus_per_node": 4}})");
  const Constants k = with_band(false, 1.2);
  const Campaign campaign{plan, {}, k, k};
  const double best = campaign.true_best();
  REQUIRE(best > 0);
  for (const Campaign::Course& course : {campaign.course(best, 3, Campaign::ranked), campaign.course(best, 3, Campaign::AtRandom{1})})
    for (const double regret : course.regret) CHECK_THAT(1 + regret, WithinRel(1.0, 1e-9));
}
