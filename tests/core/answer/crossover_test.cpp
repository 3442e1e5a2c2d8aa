#include "core/answer/crossover.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

Plan with_sharding(const Plan& plan, DataSharding s) {
  for (Alternative& a : sharding_alternatives(plan, constants()))
    if (a.plan.parallel.data_sharding == s) return a.plan;
  FAIL("no such sharding");
  return plan;
}

Seconds step_on(const Plan& plan, LinkPlace place, double factor) {
  const PreparedCluster cluster = prepare(plan.cluster, constants().links);
  const LinkLimits limits(cluster);
  return StepOnLinks(plan, estimate(plan, cluster, constants()), cluster, limits, constants()).at(place, factor).step;
}

}  // namespace

TEST_CASE("just below a crossing one sharding is faster, just above it the other") {
  int crossings = 0;
  for (const char* node : {"dgx-a100-80gb", "a100-80gb-pcie-4x-no-p2p", "rtx-4090-8x"}) {
    const Plan plan = scenario("story", {{"cluster.node", node}, {"cluster.gpus_per_node", "4"}});
    const Result<Crossover> found = crossover(plan, constants());
    REQUIRE(found);
    const Crossover& c = found.value();
    CHECK(c.link.place == LinkPlace::node);
    REQUIRE(c.shardings.size() >= 4);
    CHECK(c.pairs.size() == c.shardings.size() * (c.shardings.size() - 1) / 2);
    for (const ShardingPair& p : c.pairs)
      for (const ShardingPair::Crossing& x : p.crossings) {
        CHECK(x.at.factor > kSlowestLinks);
        CHECK(x.at.factor < kFastestLinks);
        CHECK(std::fabs(x.at.rate.value / (c.link.rate.value * x.at.factor) - 1) < 1e-12);
        const std::size_t other = x.faster_above == p.less ? p.more : p.less;
        const auto time = [&](std::size_t i, double factor) { return step_on(with_sharding(plan, c.shardings[i].sharding), c.link.place, factor); };
        CHECK(time(x.faster_above, x.at.factor * 1.011) < time(other, x.at.factor * 1.011));
        CHECK(time(other, x.at.factor / 1.011) < time(x.faster_above, x.at.factor / 1.011));
        ++crossings;
      }
  }
  CHECK(crossings > 0);
}

TEST_CASE("as they are the times are those of the estimates, slower links slower, and the fastest fits") {
  Random random(31);
  int seen = 0;
  for (int i = 0; i < 60; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(random));
    if (!plan) continue;
    const Estimate e = estimate(*plan, constants());
    const Result<Crossover> found = crossover(*plan, constants());
    CHECK(bool(found) == !e.communication.empty());
    if (!found) continue;
    const Crossover& c = found.value();
    const std::vector<Alternative> all = sharding_alternatives(*plan, constants());
    REQUIRE(all.size() == c.shardings.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::vector<Seconds>& times = c.shardings[k].times;
      REQUIRE(times.size() == static_cast<std::size_t>(kLinkSpeeds));
      CHECK(c.shardings[k].now() == all[k].estimate.step.time.value);
      for (std::size_t at = 1; at < times.size(); ++at) CHECK(times[at].value <= times[at - 1].value * (1 + 1e-9));
    }
    for (const FastestRange& r : c.fastest) CHECK(c.shardings[r.sharding].fits);
    CHECK(c.link.rate.value > 0);
    CHECK(std::isfinite(c.exposed.now));
    CHECK_FALSE(c.exposed.text.empty());
    ++seen;
  }
  CHECK(seen > 25);
}

TEST_CASE("the speeds that are looked at: half octaves from 1/64 to 64, today's in the middle") {
  CHECK(link_speed(0) == kSlowestLinks);
  CHECK(link_speed(kLinkSpeeds / 2) == 1);
  CHECK(link_speed(kLinkSpeeds - 1) == kFastestLinks);
  for (int i = 2; i < kLinkSpeeds; ++i) CHECK(std::fabs(link_speed(i) / link_speed(i - 2) - 2) < 1e-14);
  // Each time is the step on links of that speed, and the crossings lie between the speeds where the order changes.
  const Plan plan = scenario("story", {{"cluster.node", "rtx-4090-8x"}, {"cluster.gpus_per_node", "4"}});
  const Crossover c = crossover(plan, constants()).value();
  for (const ShardingTimes& s : c.shardings)
    for (const int i : {0, 7, 19}) CHECK(s.times[static_cast<std::size_t>(i)] == step_on(with_sharding(plan, s.sharding), c.link.place, link_speed(i)));
}

TEST_CASE("the speed needed for a share of exposed communication: at it the share holds, below it does not") {
  const Plan plan = scenario("llama-2-7b-rtx-4090");
  const PreparedCluster cluster = prepare(plan.cluster, constants().links);
  const LinkLimits limits(cluster);
  StepOnLinks step(plan, estimate(plan, cluster, constants()), cluster, limits, constants());
  double last = 0;
  for (const double limit : {0.2, 0.1, 0.05, 0.02}) {
    const ExposedNeed e = crossover(plan, constants(), {}, limit).value().exposed;
    REQUIRE(e.answer == ExposedAnswer::from);
    const auto share = [&](double factor) { const StepOnLinks::Times t = step.at(e.link.place, factor); return t.exposed / t.step; };
    CHECK(share(e.need.factor * 1.011) <= limit);
    CHECK(share(e.need.factor / 1.011) > limit);
    CHECK(e.now == share(1));
    CHECK(e.at_fastest == share(kFastestLinks));
    CHECK(e.need.factor > last);  // less may show: faster links
    last = e.need.factor;
  }
  CHECK(crossover(plan, constants(), {}, 0.99).value().exposed.answer == ExposedAnswer::always);
  CHECK(crossover(plan, constants(), {}, 1e-6).value().exposed.answer == ExposedAnswer::never);
}

TEST_CASE("what binds decides which links are asked about, unless it is said; links that nothing crosses are an error") {
  const Plan one = scenario("story"), several = scenario("codellama-34b-zero3");
  CHECK(crossover(one, constants()).value().link.place == LinkPlace::node);
  CHECK(crossover(several, constants()).value().link.place == LinkPlace::network);
  CHECK(crossover(several, constants()).value().link.nics == 8);
  CHECK(crossover(several, constants(), LinkPlace::node).value().link.name.find("NVLink") == 0);
  CHECK_FALSE(crossover(one, constants(), LinkPlace::network));
  const Result<Crossover> alone = crossover(scenario("qwen2.5-7b-lora"), constants());
  REQUIRE_FALSE(alone);
  CHECK(alone.errors().front().path == "crossover");
  // Tensor-parallel traffic inside the node is what shows, though sharding is a matter of the network.
  const Crossover mixed = crossover(scenario("llama-3-70b-megatron"), constants()).value();
  CHECK(mixed.link.place == LinkPlace::network);
  CHECK(mixed.exposed.link.place == LinkPlace::node);
}

TEST_CASE("a rate has the name of the slowest kind of link that reaches it") {
  AskedLink pcie;
  pcie.has_classes = true;
  const LinkConstants& k = constants().links;
  const auto name = [&](double gb) { return link_class_name(pcie, BytesPerSecond(gb * 1e9), k); };
  CHECK(name(1) == "PCIe 3 ×16");
  CHECK(name(12) == "PCIe 3 ×16");
  CHECK(name(12.2) == "PCIe 4 ×16");
  CHECK(name(30) == "PCIe 5 ×16");
  CHECK(name(100) == "NVLink 2, 6 links");
  CHECK(name(240) == "NVLink 3, 12 links");
  CHECK(name(241) == "NVLink 3, 12 links");  // a rate is found to 1 %
  CHECK(name(371) == "NVLink 4, 18 links");
  CHECK(name(1000) == "");
  AskedLink nic = pcie;
  nic.place = LinkPlace::network;
  CHECK(link_class_name(nic, BytesPerSecond(12.7e9), k) == "200 Gbit/s per NIC");
  CHECK(link_class_name(nic, BytesPerSecond(50e9), k) == "400 Gbit/s per NIC");
  CHECK(link_class_name(nic, BytesPerSecond(200e9), k) == "");
  CHECK(link_class_name(AskedLink{}, BytesPerSecond(1e9), k) == "");
}
