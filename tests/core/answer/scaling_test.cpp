#include "core/answer/scaling.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

std::vector<std::pair<int, int>> counts_of(int nodes, int per_node, int up_to) {
  Cluster c;
  c.nodes = nodes;
  c.gpus_per_node = per_node;
  std::vector<std::pair<int, int>> list;
  for (const ScalingCount& n : scaling_counts(c, up_to)) list.push_back({n.nodes, n.gpus_per_node});
  return list;
}

}  // namespace

TEST_CASE("counts double inside the node, then node by node, with the plan's own and the last that is asked for") {
  using List = std::vector<std::pair<int, int>>;
  CHECK(counts_of(1, 1, 0) == List{{1, 1}});
  CHECK(counts_of(1, 6, 0) == List{{1, 1}, {1, 2}, {1, 4}, {1, 6}});
  CHECK(counts_of(3, 2, 0) == List{{1, 1}, {1, 2}, {2, 2}, {3, 2}});
  CHECK(counts_of(3, 2, 9) == List{{1, 1}, {1, 2}, {2, 2}, {3, 2}, {4, 2}, {8, 2}, {9, 2}});
  CHECK(counts_of(4, 1, 8) == List{{1, 1}, {2, 1}, {4, 1}, {8, 1}});
}

TEST_CASE("the plan's own count is its estimate, and every count is a valid plan of as many GPUs") {
  Random random(21);
  int seen = 0, left_out = 0;
  for (int i = 0; i < 120; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(random));
    if (!plan) continue;
    const Estimate e = estimate(*plan, constants());
    for (ScalingMode mode : {ScalingMode::weak, ScalingMode::strong}) {
      const Scaling s = scaling(*plan, constants(), mode);
      CHECK(s.points.size() + s.left_out.size() == scaling_counts(plan->cluster, 0).size());
      int own = 0;
      for (std::size_t k = 0; k < s.points.size(); ++k) {
        const ScalingPoint& p = s.points[k];
        const Result<Plan> on = plan_on(*plan, p.count, mode, {});
        REQUIRE(on);
        CHECK(validate(on.value()).empty());
        CHECK(total_gpus(on.value().cluster) == p.gpus);
        CHECK(on.value().parallel.tensor == plan->parallel.tensor);
        CHECK(on.value().parallel.expert == plan->parallel.expert);
        if (mode == ScalingMode::strong) CHECK(on.value().training.global_batch_size == plan->training.global_batch_size);
        else CHECK(micro_batches(on.value()) == micro_batches(*plan));
        CHECK(p.efficiency > 0);
        CHECK(std::isfinite(p.efficiency));
        if (s.breaks_at == static_cast<int>(k)) CHECK(p.kept < 0.9);
        else if (s.breaks_at < 0 || s.breaks_at > static_cast<int>(k)) CHECK(p.kept >= 0.9);
        if (!p.is_plan) continue;
        ++own;
        CHECK(on.value() == *plan);
        CHECK(p.step.time == e.step.time);
        CHECK(p.fits == (e.memory.fits && e.memory.fits_host != 0));
      }
      CHECK(own == 1);
      CHECK(s.points.front().efficiency == 1);
      for (const ScalingGap& g : s.left_out) CHECK_FALSE(g.reason.empty());
      left_out += static_cast<int>(s.left_out.size());
    }
    ++seen;
  }
  CHECK(seen > 60);
  CHECK(left_out > 20);
}

TEST_CASE("with links that take no time and no stragglers a GPU is as fast among many as alone") {
  Constants k = constants();
  k.efficiency.straggler = k.efficiency.scale = 0;
  for (LinkConstants::Class& c : k.links.classes) c.launch_cycles = 0, c.hop = Seconds(0), c.efficiency = 1e9, c.copy = {}, c.fill = {}, c.fill_per_step = {}, c.low_latency_channel = {}, c.nvls_efficiency = 1e9, c.nvls_fill = {};
  k.links.tables.clear();
  const Scaling s = scaling(plan_of(R"({"model":"gpt2","training":{"global_batch_size":64,"sequence_length":1024},"cluster":"dgx-a100-80gb"})"), k, ScalingMode::weak);
  REQUIRE(s.points.size() == 4);
  for (const ScalingPoint& p : s.points) CHECK(std::fabs(p.efficiency - 1) < 1e-3);
  CHECK(s.breaks_at == -1);
}

TEST_CASE("a slow network breaks the scaling where the second node comes in, and the sentence names it") {
  const Plan plan = scenario("story", {{"parallel.data_sharding", "fsdp"}, {"cluster.gpus_per_node", "8"}, {"cluster.nodes", "4"}, {"cluster.network", "ethernet-1x25"}, {"training.global_batch_size", "64"}});
  const Scaling s = scaling(plan, constants(), ScalingMode::weak);
  REQUIRE(s.breaks_at > 0);
  const ScalingPoint& broken = s.points[static_cast<std::size_t>(s.breaks_at)];
  CHECK(broken.count.nodes == 2);
  CHECK(broken.kept < 0.9);
  CHECK(s.text.rfind("From 8 to 16 GPUs each GPU keeps ", 0) == 0);
  CHECK(s.text.find("1 × 25 Gbit/s Ethernet") != std::string::npos);
}

TEST_CASE("nodes beyond a plan of one node take the network that is given, and are left out without one") {
  const Plan plan = scenario("story", {{"parallel.data_sharding", "fsdp"}});
  REQUIRE_FALSE(plan.cluster.network);
  const Scaling without = scaling(plan, constants(), ScalingMode::weak, 4);
  CHECK(without.points.back().count.nodes == 1);
  CHECK(without.left_out.size() == 2);
  const Scaling with = scaling(plan, constants(), ScalingMode::weak, 4, parse_network("infiniband-8x200", presets(), "network").value());
  CHECK(with.points.back().gpus == 16);
  CHECK(with.left_out.empty());
}
