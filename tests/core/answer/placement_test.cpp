#include "core/answer/placement.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "core/answer/compare.hpp"
#include "core/answer/placement_note.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/request.hpp"
#include "tests/core/cost/wiring_nodes.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

using Groups = std::vector<std::vector<int>>;

// Round rates instead of the shipped ones, everything else as shipped.
Constants ideal() {
  Constants k = constants();
  k.links = ideal_links();
  return k;
}

// A model that sends a lot, on a machine of the test.
Plan training_on(const Cluster& cluster, const std::string& parallel) {
  Plan plan = plan_of(R"({"model":"llama-3.2-1b","training":{"sequence_length":2048,"global_batch_size":24},"parallel":)" + parallel + R"(,"cluster":{"node":"dgx-a100-80gb","gpus_per_node":)" +
                      std::to_string(cluster.gpus_per_node) + "}}");
  const Node shipped = plan.cluster.node;
  plan.cluster = cluster;
  Gpu gpu = shipped.gpu;  // with its computing rates
  const Gpu wires = cluster.node.gpu;
  gpu.form = wires.form;
  gpu.nvlink_generation = wires.nvlink_generation;
  gpu.nvlink_links = wires.nvlink_links;
  gpu.nvlink = wires.nvlink;
  gpu.pcie_generation = wires.pcie_generation;
  gpu.p2p_pcie = wires.p2p_pcie;
  plan.cluster.node.gpu = gpu;
  return plan;
}

Cluster bridged(int gpus, std::vector<std::array<int, 2>> pairs) {
  Cluster c = machine(WiringKind::nvlink_pairs, gpus, a100_pcie(), 1);
  for (const auto& p : pairs) c.node.wiring.pairs.push_back({p[0], p[1]});
  return c;
}

Groups groups_of(const Mapping& m, GroupKind kind) {
  for (const MappedGroup& g : m.groups)
    if (g.dimension == kind) {
      Groups groups = g.gpus;
      for (std::vector<int>& group : groups) std::sort(group.begin(), group.end());
      std::sort(groups.begin(), groups.end());
      return groups;
    }
  return {};
}

std::vector<int> best_gpus(const Cluster& cluster, const LinkConstants& links, int k) { return best_subsets(prepare(cluster, links), k).best.front().gpus; }

// A graph of GPUs on random switches, with some NVLinks.
Cluster random_machine(std::mt19937& random, int gpus) {
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Cluster c = machine(WiringKind::graph, gpus, a100_pcie(), 1);
  WiringGraph& g = c.node.wiring.graph;
  for (int i = 0; i < gpus; ++i) g.components.push_back({"gpu" + std::to_string(i), ComponentKind::gpu});
  const int switches = 1 + below(3);
  for (int s = 0; s < switches; ++s) g.components.push_back({"switch" + std::to_string(s), ComponentKind::pcie_switch});
  g.components.push_back({"cpu0", ComponentKind::cpu});
  auto link = [&](int a, int b, LinkKind kind, int width) {
    Link l;
    l.a = a;
    l.b = b;
    l.kind = kind;
    l.generation = kind == LinkKind::pcie ? 3 + below(2) : 3;
    l.width = width;
    g.links.push_back(l);
  };
  for (int i = 0; i < gpus; ++i) link(i, gpus + below(switches), LinkKind::pcie, 8 << below(2));
  for (int s = 0; s < switches; ++s) link(gpus + s, gpus + switches, LinkKind::pcie, 16);
  for (int i = 0; i < gpus; ++i)
    for (int j = i + 1; j < gpus; ++j)
      if (below(3) == 0) link(i, j, LinkKind::nvlink, 2 << below(2));
  return c;
}

}  // namespace

TEST_CASE("the best GPUs of a node: worked by hand", "[placement]") {
  const LinkConstants links = ideal_links();
  SECTION("two of four with two bridges: a bridged pair") {
    const Cluster c = bridged(4, {{0, 2}, {1, 3}});
    const Subsets s = best_subsets(prepare(c, links), 2);
    CHECK(s.exact);
    CHECK(s.best.front().gpus == std::vector<int>{0, 2});
    CHECK(s.best[1].gpus == std::vector<int>{1, 3});
    CHECK(gigabytes(s.best.front().bus_bandwidth) == 12 * 20);  // the bridge of twelve links
    CHECK(gigabytes(s.first.bus_bandwidth) == 24);              // GPUs 0 and 1 meet over PCIe 4
    CHECK(s.first.gpus == std::vector<int>{0, 1});
  }
  SECTION("three GPUs with one bridge: the PCIe hop sets the ring") {
    const Subsets s = best_subsets(prepare(bridged(3, {{0, 1}}), links), 3);
    CHECK(gigabytes(s.best.front().bus_bandwidth) == 24);
    CHECK(s.best.front().bottleneck.find("PCIe") != std::string::npos);
  }
  SECTION("four of the cube mesh: a quad joined by NVLink alone") {
    const Cluster c = cube_mesh();
    const PreparedCluster cluster = prepare(c, links);
    const Subsets s = best_subsets(cluster, 4);
    CHECK(s.exact);
    const std::vector<int>& quad = s.best.front().gpus;
    for (int a : quad)
      for (int b : quad) CHECK((a == b || cluster.route(a, b).kind == PathKind::nvlink));
    CHECK(quad == std::vector<int>{0, 1, 2, 3});  // as good as 4 to 7, with the lower indices
  }
  SECTION("four of eight over two sockets: one socket") {
    Cluster c = machine(WiringKind::pcie_host, 8, a100_pcie(), 2);
    CHECK(best_gpus(c, links, 4) == std::vector<int>{0, 1, 2, 3});
    // Numbered so that neighbours sit on different sockets.
    c.node.wiring.groups = {{0, 0, {0, 2, 4, 6}, 0, false}, {1, 1, {1, 3, 5, 7}, 0, false}};
    const Subsets s = best_subsets(prepare(c, links), 4);
    CHECK(s.best.front().gpus == std::vector<int>{0, 2, 4, 6});
    CHECK(s.best.front().bus_bandwidth > s.first.bus_bandwidth);
  }
  SECTION("behind an NVSwitch any are as good") {
    const Subsets s = best_subsets(prepare(machine(WiringKind::nvswitch, 8, a100_sxm()), links), 5);
    CHECK(s.all_equal);
    CHECK(s.best.size() == 1);
    CHECK(s.best.front().gpus == std::vector<int>{0, 1, 2, 3, 4});
  }
}

TEST_CASE("no subset of a random graph is better than the best", "[placement]") {
  std::mt19937 random(7);
  const LinkConstants links = ideal_links();
  for (int round = 0; round < 60; ++round) {
    const int n = 4 + round % 4, k = 2 + round % 3;
    const Cluster c = random_machine(random, n);
    const PreparedCluster cluster = prepare(c, links);
    const Subsets s = best_subsets(cluster, k);
    REQUIRE(s.exact);
    for (unsigned mask = 0; mask < (1u << n); ++mask) {
      std::vector<int> gpus;
      for (int i = 0; i < n; ++i)
        if (mask >> i & 1) gpus.push_back(i);
      if (static_cast<int>(gpus.size()) != k) continue;
      INFO("round " << round);
      CHECK(ring_on_wiring(cluster, on_one_node({gpus})).bus_bandwidth.value <= s.best.front().bus_bandwidth.value * (1 + 1e-12));
    }
  }
}

TEST_CASE("GPUs that hang alike on the node are known", "[placement]") {
  const LinkConstants links = ideal_links();
  CHECK(alike_gpus(prepare(machine(WiringKind::pcie_host, 4, a100_pcie(), 2), links)) == std::vector<int>{0, 0, 2, 2});
  CHECK(alike_gpus(prepare(bridged(4, {{0, 2}, {1, 3}}), links)) == std::vector<int>{0, 1, 0, 1});
  Cluster odd = machine(WiringKind::pcie_host, 4, a100_pcie(), 1);
  odd.node.p2p_matrix = "0100/1000/0000/0000";
  CHECK(alike_gpus(prepare(odd, links)) == std::vector<int>{0, 0, 2, 2});
}

TEST_CASE("tensor groups belong into the bridged pairs", "[placement]") {
  const Constants k = ideal();
  const Plan plan = training_on(bridged(4, {{0, 2}, {1, 3}}), R"({"framework":"megatron","tensor":2})");
  const PlacementAnswer a = best_placement(plan, k);
  REQUIRE(a.is_better);
  CHECK(a.exact);
  CHECK(groups_of(a.current, GroupKind::tensor) == Groups{{0, 1}, {2, 3}});
  CHECK(groups_of(a.best, GroupKind::tensor) == Groups{{0, 2}, {1, 3}});
  CHECK(a.text.find("Tensor groups inside the bridged pairs, GPUs 0–2, 1–3") == 0);
  CHECK(a.text.find("NVLink") != std::string::npos);
  CHECK(a.best.order == plan.parallel.order);
  CHECK(a.best.gpus.empty());

  // What it promises is what the estimate says of the plan so changed.
  Plan changed = plan;
  changed.parallel.placement = a.best.placement;
  REQUIRE(validate(changed).empty());
  const Estimate before = estimate(plan, k), after = estimate(changed, k);
  CHECK(after.step.time == a.best.time);
  CHECK(before.step.time == a.current.time);
  CHECK(a.gain.value > 0);
  CHECK(a.gain == before.step.time.value - after.step.time.value);

  // Asked again, there is nothing left to gain.
  const PlacementAnswer again = best_placement(changed, k);
  CHECK_FALSE(again.is_better);
  CHECK(again.best.placement == changed.parallel.placement);
  CHECK(again.text.find("as well as they can") != std::string::npos);
}

TEST_CASE("no assignment of ranks is faster than the best", "[placement]") {
  std::mt19937 random(11);
  const Constants k = ideal();
  const char* layouts[] = {R"({"framework":"megatron","tensor":2})", R"({"framework":"megatron","pipeline":2,"tensor":2})", R"({"framework":"megatron","pipeline":4})",
                           R"({"framework":"megatron","tensor":2,"context":2})", R"({"framework":"pytorch","data_sharding":"hsdp","shard_group":2})"};
  for (int round = 0; round < 15; ++round) {
    const std::string layout = layouts[round % 5];
    const int n = round % 5 == 0 && round > 0 ? 6 : 4;
    const Plan plan = training_on(random_machine(random, n), layout);
    if (!validate(plan).empty()) FAIL(validate(plan)[0].text);
    const PlacementAnswer a = best_placement(plan, k);
    INFO("round " << round << ": " << a.text);
    CHECK(a.exact);
    Plan other = plan;
    other.parallel.placement.resize(static_cast<std::size_t>(n));
    std::iota(other.parallel.placement.begin(), other.parallel.placement.end(), 0);
    double fastest = 1e300;
    do fastest = std::min(fastest, estimate(other, k).step.time.value.value);
    while (std::next_permutation(other.parallel.placement.begin(), other.parallel.placement.end()));
    CHECK(a.best.time.value.value <= fastest * (1 + 1e-3));  // what is not worth a change is not proposed
    CHECK(a.best.time.value.value >= fastest * (1 - 1e-12));
  }
}

TEST_CASE("other names for the GPUs change nothing", "[placement]") {
  std::mt19937 random(3);
  const Constants k = ideal();
  for (int round = 0; round < 20; ++round) {
    const Plan plan = training_on(random_machine(random, 4), R"({"framework":"megatron","tensor":2})");
    std::vector<int> name{0, 1, 2, 3};  // GPU i is called name[i]
    std::shuffle(name.begin(), name.end(), random);
    Plan renamed = plan;
    WiringGraph& graph = renamed.cluster.node.wiring.graph;
    for (Link& l : graph.links)
      for (int* end : {&l.a, &l.b})
        if (*end < 4) *end = name[static_cast<std::size_t>(*end)];
    renamed.parallel.placement = name;
    INFO("round " << round);
    const Estimate one = estimate(plan, k), other = estimate(renamed, k);
    CHECK(std::abs(one.step.time.value / other.step.time.value - 1) < 1e-12);
    const PlacementAnswer a = best_placement(plan, k), b = best_placement(renamed, k);
    CHECK(std::abs(a.best.time.value / b.best.time.value - 1) < 1e-3);
  }
}

TEST_CASE("the used GPUs may be others", "[placement]") {
  const Constants k = ideal();
  Cluster c = bridged(4, {{0, 2}, {1, 3}});
  c.gpus_per_node = 2;
  const Plan plan = training_on(c, R"({"framework":"megatron","tensor":2})");
  const PlacementAnswer a = best_placement(plan, k);
  REQUIRE(a.is_better);
  CHECK(a.best.gpus == std::vector<int>{0, 2});
  CHECK(a.subset_size == 2);
  CHECK(a.subset_text.find("Of 2 of 4 GPUs the best are 0–2: 240 GB/s") == 0);
  Plan changed = plan;
  changed.cluster.gpus = a.best.gpus;
  REQUIRE(validate(changed).empty());
  CHECK(estimate(changed, k).step.time == a.best.time);
}

TEST_CASE("a plan that lists its GPUs goes on listing them", "[placement]") {
  const Constants k = ideal();
  Cluster c = bridged(4, {{0, 1}, {2, 3}});
  c.gpus = {3, 1};
  c.gpus_per_node = 2;
  const PlacementAnswer a = best_placement(training_on(c, R"({"framework":"megatron","tensor":2})"), k);
  REQUIRE(a.is_better);
  CHECK(a.best.gpus == std::vector<int>{0, 1});  // null would stand for all four
}

TEST_CASE("several nodes have one mapping, and an order that keeps tensor groups inside", "[placement]") {
  const Constants k = ideal();
  Cluster c = bridged(4, {{0, 2}, {1, 3}});
  c.nodes = 2;
  c.network = Network{};
  c.network->nic_rate = BytesPerSecond(12.5e9);
  Plan plan = training_on(bridged(4, {{0, 2}, {1, 3}}), R"({"framework":"megatron","tensor":2})");
  const Gpu gpu = plan.cluster.node.gpu;
  plan.cluster = c;
  plan.cluster.node.gpu = gpu;
  plan.parallel.data = 4;
  plan.parallel.order = "dp-tp-cp-ep-pp";
  REQUIRE(validate(plan).empty());
  const PlacementAnswer a = best_placement(plan, k);
  REQUIRE(a.is_better);
  CHECK(a.best.placement.empty());
  CHECK(a.best.order.find("tp") < a.best.order.find("dp"));
  CHECK(groups_of(a.best, GroupKind::tensor) == Groups{{0, 2}, {1, 3}});
  Plan changed = plan;
  changed.parallel.order = a.best.order;
  changed.cluster.gpus = a.best.gpus;
  REQUIRE(validate(changed).empty());
  CHECK(estimate(changed, k).step.time == a.best.time);
}

TEST_CASE("what of a gain survives the bands is said", "[placement]") {
  Constants k = ideal();
  const Plan plan = training_on(bridged(4, {{0, 2}, {1, 3}}), R"({"framework":"megatron","tensor":2})");
  CHECK(best_placement(plan, k).certainty == Certainty::apart);  // ten times as fast

  // Two sockets joined by a slow link; all ways are of one class, with a band as wide as the gain.
  Cluster c = machine(WiringKind::pcie_host, 4, a100_pcie(), 2);
  c.node.wiring.groups = {{0, 0, {0, 2}, 0, false}, {1, 1, {1, 3}, 0, false}};
  for (LinkConstants::Band& band : k.links.bands) band.low = band.high = 1.8;
  const PlacementAnswer a = best_placement(training_on(c, R"({"framework":"megatron","tensor":2})"), k);
  REQUIRE(a.is_better);
  CHECK(groups_of(a.best, GroupKind::tensor) == Groups{{0, 2}, {1, 3}});
  CHECK(a.certainty == Certainty::same_constants);
  CHECK(a.gain_low.value > 0);
  CHECK(a.gain_low <= a.gain);
  CHECK(a.gain <= a.gain_high);
  CHECK(a.text.find("the ranking holds") != std::string::npos);
}

TEST_CASE("an estimate notes tensor groups that sit badly, and only those", "[placement]") {
  const auto has_note = [](const Plan& plan) {
    const std::vector<Note> notes = estimate(plan, ideal()).notes;
    return std::any_of(notes.begin(), notes.end(), [](const Note& n) { return n.path == "parallel.placement"; });
  };
  const char* layout = R"({"framework":"megatron","tensor":2})";
  Plan plan = training_on(bridged(4, {{0, 2}, {1, 3}}), layout);
  CHECK(has_note(plan));
  plan.parallel.placement = {0, 2, 1, 3};
  CHECK_FALSE(has_note(plan));
  CHECK_FALSE(has_note(training_on(bridged(4, {{0, 1}, {2, 3}}), layout)));
  CHECK_FALSE(has_note(training_on(machine(WiringKind::nvswitch, 4, a100_sxm()), layout)));
}

TEST_CASE("a comparison of placements shows the bottlenecks and times that differ", "[placement]") {
  const Json request = parse_json(R"({"plans":[{"plan":"story","set":[["model","gpt2"],["parallel.framework","megatron"],["parallel.data",2],["parallel.tensor",2],
    ["cluster",{"node":"a100-80gb-pcie-4x-pairs"}]]},{"plan":"story","set":[["model","gpt2"],["parallel.framework","megatron"],["parallel.data",2],["parallel.tensor",2],
    ["cluster",{"node":"a100-80gb-pcie-4x-pairs"}],["parallel.placement",[0,2,1,3]]]}]})").value();
  const Result<Json> answered = answer("compare", request, presets());
  if (!answered) FAIL(answered.errors()[0].text);
  std::vector<std::string> paths;
  for (const Json& difference : answered.value()["differences"]) paths.push_back(difference["path"].get<std::string>());
  for (const char* path : {"plan.parallel.placement.1", "communication.tensor-forward.bottleneck", "communication.tensor-forward.time_s.value", "wiring.groups.tensor.bottleneck",
                           "wiring.groups.tensor.bus_bandwidth_bytes_per_s", "wiring.groups.data.bottleneck", "step.time_s.value"}) {
    INFO(path);
    CHECK(std::find(paths.begin(), paths.end(), path) != paths.end());
  }
}

TEST_CASE("the request for a placement answers with edits that can be made", "[placement]") {
  const Json plan = parse_json(R"({"model":"llama-3-8b","training":{"global_batch_size":16},"parallel":{"framework":"megatron","tensor":2,"placement":[0,2,1,3]},"cluster":{"node":"a100-80gb-pcie-4x-pairs"}})").value();
  const Result<Json> answered = answer("placement", Json{{"plan", plan}, {"gpus", 2}}, presets());
  if (!answered) FAIL(answered.errors()[0].text);
  const Json& a = answered.value();
  CHECK(a["schema"] == "wireplan.placement/1");
  REQUIRE(a["best"]["edits"].size() == 1);
  CHECK(a["best"]["edits"][0]["path"] == "parallel.placement");
  CHECK(a["best"]["edits"][0]["value"].is_null());  // the bridged pairs are 0–1 and 2–3
  CHECK(a["best"]["gain_s"].get<double>() > 0);
  CHECK(a["subsets"][0]["gpus"] == Json({0, 1}));
  Json set = Json::array();
  for (const Json& edit : a["best"]["edits"]) set.push_back(Json::array({edit["path"], edit["value"]}));
  const Result<Json> changed = answer("estimate", Json{{"plan", plan}, {"set", set}}, presets());
  REQUIRE(changed);
  CHECK(changed.value()["step"]["time_s"] == a["best"]["time_s"]);
  const Result<Json> both = answer("estimate", Json{{"plan", plan}, {"placement", true}}, presets());
  REQUIRE(both);
  CHECK(both.value()["placement"]["best"] == a["best"]);

  for (const Json& gpus : {Json(0), Json(5), Json(1.5), Json("2"), Json(-1), Json(1e300)}) {
    const Result<Json> refused = answer("placement", Json{{"plan", plan}, {"gpus", gpus}}, presets());
    REQUIRE_FALSE(refused);
    CHECK(refused.errors()[0].path == "gpus");
  }
  CHECK_FALSE(answer("placement", Json{{"plan", plan}, {"gpu", 2}}, presets()));
  CHECK_FALSE(answer("estimate", Json{{"plan", plan}, {"placement", 1}}, presets()));
}

TEST_CASE("the wiring of an estimate lists what every link carries", "[placement]") {
  const Plan plan = training_on(bridged(4, {{0, 1}, {2, 3}}), R"({"framework":"megatron","tensor":2})");
  const Json groups = write_estimate(plan, estimate(plan, ideal()))["wiring"]["groups"];
  const auto group = std::find_if(groups.begin(), groups.end(), [](const Json& g) { return g["dimension"] == "tensor"; });
  REQUIRE(group != groups.end());
  CHECK((*group)["order"] == Json({0, 1}));
  CHECK((*group)["groups_per_node"] == 2);
  CHECK((*group)["bus_bandwidth_bytes_per_s"] == 240e9);
  CHECK((*group)["bottleneck_planning_bytes_per_s"] == 240e9);
  CHECK((*group)["bottleneck_nominal_bytes_per_s"] == 300e9);
  REQUIRE((*group)["links"].size() == 2);  // one bridge for each group, nothing else
  for (const Json& link : (*group)["links"]) {
    CHECK(link["kind"] == "nvlink");
    CHECK(link["flows_forward"] == 1);
    CHECK(link["flows_backward"] == 1);
  }
  CHECK((*group)["links_left_out"] == 0);
}

TEST_CASE("two groups that share a root port get half, and the document shows both on it", "[placement]") {
  Cluster c = machine(WiringKind::pcie_switch, 4, a100_pcie(), 1);  // two GPUs behind each of two switches
  c.node.wiring.groups = {{0, 0, {0, 1}, 0, true}, {0, 0, {2, 3}, 0, true}};
  const LinkConstants links = ideal_links();
  const PreparedCluster cluster = prepare(c, links);
  CHECK(gigabytes(ring_on_wiring(cluster, on_one_node({{0, 1}})).bus_bandwidth) == 24);  // through one switch
  CHECK(gigabytes(ring_on_wiring(cluster, on_one_node({{0, 2}})).bus_bandwidth) == 24);
  CHECK(gigabytes(ring_on_wiring(cluster, on_one_node({{0, 2}, {1, 3}})).bus_bandwidth) == 12);

  Plan plan = training_on(c, R"({"framework":"megatron","tensor":2})");
  plan.parallel.placement = {0, 2, 1, 3};
  const Estimate e = estimate(plan, ideal());
  const Json groups = write_estimate(plan, e)["wiring"]["groups"];
  const auto tensor = std::find_if(groups.begin(), groups.end(), [](const Json& g) { return g["dimension"] == "tensor"; });
  REQUIRE(tensor != groups.end());
  CHECK((*tensor)["bus_bandwidth_bytes_per_s"] == 12e9);
  CHECK((*tensor)["bottleneck_planning_bytes_per_s"] == 24e9);
  int uplinks = 0;
  for (const Json& link : (*tensor)["links"]) {
    const std::string a = link["a"], b = link["b"];
    const bool is_uplink = a.find("switch") == 0 && b.find("cpu") == 0;
    uplinks += is_uplink;
    CHECK(link["flows_forward"] == (is_uplink ? 2 : 1));
    CHECK(link["flows_backward"] == (is_uplink ? 2 : 1));
  }
  CHECK(uplinks == 2);
  const PlacementAnswer a = best_placement(plan, ideal());
  REQUIRE(a.is_better);
  CHECK(groups_of(a.best, GroupKind::tensor) == Groups{{0, 1}, {2, 3}});
  CHECK(a.text.find("Tensor groups behind one PCIe switch each") == 0);
}

TEST_CASE("a long list of links keeps the fullest", "[placement]") {
  const Plan plan = plan_of(R"({"model":"gpt2","cluster":"gb200-nvl72"})");
  const Estimate e = estimate(plan, constants());
  const Json groups = write_estimate(plan, e)["wiring"]["groups"];
  REQUIRE_FALSE(groups.empty());
  CHECK(groups[0]["links"].size() + groups[0]["links_left_out"].get<std::size_t>() == e.cost.messages[e.wiring[0].message].ring.loads.size() / 2);
  CHECK(groups[0]["links"].size() <= 64);
}

TEST_CASE("a placement question is answered in bounded time", "[placement]") {
  // Loose: other things run beside the tests. Native figures stand in docs/program.md.
  for (const char* node : {"dgx1-v100-32gb", "l40s-8x", "aws-g5.48xlarge", "gb200-nvl72", "gcp-a2-megagpu-16g"})
    for (const char* parallel : {R"({"framework":"megatron","tensor":2,"pipeline":2})", R"({"framework":"megatron","pipeline":4})", R"({})"}) {
      const Plan plan = plan_of(R"({"model":"llama-3.2-1b","parallel":)" + std::string(parallel) + R"(,"cluster":")" + node + "\"}");
      const auto start = std::chrono::steady_clock::now();
      const PlacementAnswer a = best_placement(plan, constants());
      const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
      INFO(node << ' ' << parallel << ": " << a.compared << " mappings, " << spent.count() << " ms");
      CHECK(spent.count() < 2000);
      CHECK(a.best.time.value <= a.current.time.value);
      UNSCOPED_INFO("");
      if (std::getenv("WIREPLAN_TIMES")) std::printf("%-20s %-50s %5d mappings exact %d %8.1f ms  %s\n", node, parallel, a.compared, a.exact, spent.count(), a.text.substr(0, 60).c_str());
    }
}

TEST_CASE("exchanges inside one large group come to an end", "[placement]") {
  std::string components = R"({"id":"s","kind":"pcie-switch"})", links;
  for (int i = 0; i < 1024; ++i) {
    components += R"(,{"id":"g)" + std::to_string(i) + R"(","kind":"gpu"})";
    links += std::string(i > 0 ? "," : "") + R"({"a":"g)" + std::to_string(i) + R"(","b":"s","kind":"pcie","generation":4,"lanes":16})";
  }
  const Plan plan = plan_of(R"({"model":"llama-3.2-1b","cluster":{"node":{"gpu":"a100-40gb-pcie","gpus":1024,"wiring":{"kind":"graph","components":[)" + components + R"(],"links":[)" + links + "]}}}}");
  const PlacementAnswer a = best_placement(plan, constants());
  CHECK(a.compared <= 2 * 5e7 / 1024 + 2);
  CHECK_FALSE(a.is_better);
}
