#include "core/answer/link_speed.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

struct Asked {
  Plan plan;
  PreparedCluster cluster;
  Estimate estimate;
  LinkLimits limits;
  StepOnLinks step;
  explicit Asked(const Plan& p)
      : plan(p), cluster(prepare(plan.cluster, constants().links)), estimate(wireplan::estimate(plan, cluster, constants())), limits(cluster), step(plan, estimate, cluster, limits, constants()) {}
};

std::vector<Plan> many_plans(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<Plan> plans;
  for (int i = 0; i < count; ++i) {
    Json document = random_document(random);
    if (random.chance(40)) document["cluster"]["node"] = random.text({"a100-80gb-pcie-4x-pairs", "a100-80gb-pcie-4x-no-p2p", "rtx-4090-8x", "dgx1-v100-32gb", "mi300x-8x", "gb200-nvl72"});
    if (document["cluster"].contains("network")) document["cluster"]["network"] = random.text({"infiniband-8x400", "roce-2x100", "efa-32x100", "ethernet-1x25", "tcpxo-8x200"});
    if (std::optional<Plan> plan = read_if_valid(document)) plans.push_back(std::move(*plan));
  }
  for (std::string_view id : presets().ids("scenarios")) plans.push_back(scenario(id));
  return plans;
}

}  // namespace

TEST_CASE("links as fast as they are give the estimate, to the last bit") {
  for (const Plan& plan : many_plans(5, 150)) {
    Asked asked(plan);
    for (LinkPlace place : {LinkPlace::node, LinkPlace::network}) {
      asked.step.at(place, 0.25);  // whatever was asked before
      const StepOnLinks::Times same = asked.step.at(place, 1);
      CHECK(same.step == asked.estimate.step.time.value);
      CHECK(same.exposed == asked.estimate.step.exposed_communication);
      CHECK(asked.step.cost().time == asked.estimate.step.time);
    }
    for (const MessageCost& m : asked.estimate.cost.messages) {
      RingOnWiring ring = m.ring;
      asked.limits.of(plan, m).apply(1, 1, ring);
      CHECK(ring.bus_bandwidth == m.ring.bus_bandwidth);
      CHECK(ring.pair_bandwidth == m.ring.pair_bandwidth);
      CHECK(ring.all_to_all_bandwidth == m.ring.all_to_all_bandwidth);
      CHECK(ring.node_bandwidth == m.ring.node_bandwidth);
      CHECK(ring.network_bandwidth == m.ring.network_bandwidth);
    }
  }
}

TEST_CASE("a step falls with the bandwidth of its links, never below that of infinitely fast ones") {
  int fell = 0;
  for (const Plan& plan : many_plans(6, 150)) {
    Asked asked(plan);
    for (LinkPlace place : {LinkPlace::node, LinkPlace::network}) {
      Seconds before(1e30), exposed(1e30);
      for (double factor = 1.0 / 256; factor <= 256; factor *= 1.7) {
        const StepOnLinks::Times t = asked.step.at(place, factor);
        INFO(plan.model.id << ' ' << name_of(plan.parallel.data_sharding) << ' ' << plan.cluster.node.id << ' ' << name_of(place) << ' ' << factor);
        CHECK(t.step.value <= before.value * (1 + 1e-12));
        CHECK(t.exposed.value <= exposed.value * (1 + 1e-12));
        CHECK(t.step.value >= asked.step.cost().on_ideal_wiring.value * (1 - 1e-12));
        if (t.step < before && before.value < 1e29) ++fell;
        before = t.step;
        exposed = t.exposed;
      }
    }
  }
  CHECK(fell > 1000);
}

TEST_CASE("a network that nobody crosses plays no role, nor do links inside a node where every group has one GPU there") {
  Asked one_node(scenario("story", {{"parallel.data_sharding", "fsdp"}}));
  CHECK(one_node.step.at(LinkPlace::network, 1.0 / 64).step == one_node.estimate.step.time.value);
  CHECK(one_node.step.at(LinkPlace::node, 1.0 / 64).step > one_node.estimate.step.time.value);
  Asked apart(plan_of(R"({"model":"llama-3.2-1b","parallel":{"data_sharding":"fsdp"},"cluster":{"node":"dgx-a100-80gb","nodes":4,"gpus_per_node":1,"network":"infiniband-8x200"}})"));
  CHECK(apart.step.at(LinkPlace::node, 1.0 / 64).step == apart.estimate.step.time.value);
  CHECK(apart.step.at(LinkPlace::network, 1.0 / 64).step > apart.estimate.step.time.value);
}

TEST_CASE("what the fabric or copies through host memory allow stays, however fast the NICs") {
  const Plan staged = plan_of(R"({"model":"llama-3.2-1b","parallel":{"data_sharding":"fsdp"},"cluster":{"node":"dgx-a100-80gb","nodes":4,"network":{"fabric":"infiniband","nics_per_node":8,"nic_bytes_per_s":2.5e10,"latency_s":5e-6,"gpudirect":false}}})");
  Asked asked(staged);
  CHECK(asked.step.at(LinkPlace::network, 64).step == asked.step.at(LinkPlace::network, 128).step);
  const double bound = asked.step.bound_from(LinkPlace::network);
  REQUIRE(bound < 64);
  CHECK(asked.step.at(LinkPlace::network, bound).exposed.value <= asked.step.at(LinkPlace::network, 64).exposed.value * (1 + 1e-12));
  CHECK(asked.step.bound_from(LinkPlace::node) == StepOnLinks::kNeverBound);
  Plan direct = staged;
  direct.cluster.network->gpudirect = true;
  Asked fast(direct);
  CHECK(fast.step.at(LinkPlace::network, 64).exposed < asked.step.at(LinkPlace::network, 64).exposed);
}

TEST_CASE("halving the work of the wire: formula parts other than the wire stay") {
  Asked asked(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"cluster.node", "a100-80gb-pcie-4x-no-p2p"}}));
  asked.step.at(LinkPlace::node, 2);
  int checked = 0;
  for (std::size_t i = 0; i < asked.step.cost().messages.size(); ++i) {
    const MessageCost &now = asked.estimate.cost.messages[i], &faster = asked.step.cost().messages[i];
    if (now.message.bytes.value < 1e6) continue;
    CHECK(faster.call.time.value < now.call.time.value);
    CHECK(faster.call.time.value >= now.call.time.value * 0.499);
    ++checked;
  }
  CHECK(checked > 0);
}
