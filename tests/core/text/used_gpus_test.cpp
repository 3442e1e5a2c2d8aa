// cluster.gpus: which of a node's GPUs are used, in which order.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "core/text/link.hpp"
#include "core/text/render.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

std::string with_cluster(const std::string& cluster, const std::string& parallel = "{}") {
  return R"({"model":"gpt2","parallel":)" + parallel + R"(,"cluster":)" + cluster + "}";
}

Errors errors_of(const std::string& cluster) {
  Result<Plan> plan = read_plan_text(with_cluster(cluster), presets());
  return plan ? Errors{} : plan.errors();
}

}  // namespace

TEST_CASE("the used GPUs of a node are read, counted and written", "[gpus]") {
  const Plan plan = plan_of(with_cluster(R"({"node":"dgx1-v100-32gb","gpus":[4,5,7,6]})"));
  CHECK(plan.cluster.gpus == std::vector<int>{4, 5, 7, 6});
  CHECK(plan.cluster.gpus_per_node == 4);  // as many as are listed
  CHECK(plan.parallel.data == 4);
  CHECK(uses_gpu(plan.cluster, 7));
  CHECK_FALSE(uses_gpu(plan.cluster, 0));
  const Json written = write_plan(plan);
  CHECK(dump_json_compact(written["cluster"]["gpus"]) == "[4,5,7,6]");
  CHECK(plan_of(dump_json(written)).cluster == plan.cluster);
  CHECK(plan_title(plan).find("(GPUs 4, 5, 7, 6)") != std::string::npos);
  // A plan that says nothing is written as ever.
  CHECK_FALSE(write_plan(plan_of(with_cluster(R"("dgx1-v100-32gb")")))["cluster"].contains("gpus"));
  CHECK(plan_of(with_cluster(R"({"node":"dgx1-v100-32gb","gpus":null})")).cluster.gpus.empty());
}

TEST_CASE("a link carries the used GPUs", "[gpus]") {
  const Plan plan = plan_of(with_cluster(R"({"node":"dgx1-v100-32gb","gpus":[0,3,4,7]})"));
  const std::string link = format_link(plan, presets());
  CHECK(link.find("cluster.gpus=%5B0,3,4,7%5D") != std::string::npos);
  const Result<ParsedLink> parsed = parse_link(link);
  REQUIRE(parsed);
  CHECK(parsed.value().notes.empty());
  CHECK(plan_of(dump_json(parsed.value().plan)).cluster == plan.cluster);
}

TEST_CASE("GPUs that cannot be used are errors that name place and limit", "[gpus]") {
  struct Case { const char *gpus, *path, *text; };
  for (const Case& c : {Case{"[0,8]", "cluster.gpus.1", "the node has not"}, Case{"[0,-1]", "cluster.gpus.1", "the node has not"}, Case{"[1,1]", "cluster.gpus.1", "twice"},
                        Case{"[]", "cluster.gpus", "null, or a list"}, Case{"4", "cluster.gpus", "gpus_per_node"}, Case{"[\"0\"]", "cluster.gpus.0", "number"}}) {
    const Errors errors = errors_of(R"({"node":"dgx1-v100-32gb","gpus":)" + std::string(c.gpus) + "}");
    INFO(c.gpus);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].path == c.path);
    CHECK((errors[0].text + errors[0].limit).find(c.text) != std::string::npos);
  }
  const Errors both = errors_of(R"({"node":"dgx1-v100-32gb","gpus":[0,1],"gpus_per_node":4})");
  REQUIRE_FALSE(both.empty());
  CHECK(both[0].path == "cluster.gpus");
  CHECK(both[0].text.find("Nearest: gpus_per_node 2") != std::string::npos);
}

TEST_CASE("ranks sit on the listed GPUs, on every node", "[gpus]") {
  const Plan plan = plan_of(with_cluster(R"({"nodes":2,"network":"infiniband-4x100","node":"dgx1-v100-32gb","gpus":[6,2,5,1]})", R"({"tensor":2})"));
  const GroupShape tensor = group_shape(plan, GroupKind::tensor), data = group_shape(plan, GroupKind::data);
  CHECK(tensor.local == std::vector<std::vector<int>>{{6, 2}, {5, 1}});
  CHECK(data.local == std::vector<std::vector<int>>{{6, 5}, {2, 1}});
  CHECK(data.nodes == 2);
  // A placement counts the used ones: ranks 0 and 1 on the second and fourth of node 0.
  const Plan placed = plan_of(with_cluster(R"({"node":"dgx1-v100-32gb","gpus":[6,2,5,1]})", R"({"tensor":2,"placement":[1,3,0,2]})"));
  CHECK(group_shape(placed, GroupKind::tensor).local == std::vector<std::vector<int>>{{2, 1}, {6, 5}});
}

TEST_CASE("other GPUs of the node have other wires", "[gpus]") {
  // Across both halves of the cube mesh four GPUs have no ring over NVLink; on one half they have.
  auto step = [](const char* gpus) { return estimate(plan_of(with_cluster(R"({"node":"dgx1-v100-32gb","gpus":)" + std::string(gpus) + "}")), constants()); };
  const Estimate half = step("[4,5,6,7]"), first = step("[0,1,2,3]"), torn = step("[0,2,5,7]");
  CHECK(half.cost.messages[0].ring.order.front() == 4);
  CHECK(half.step.time.value == first.step.time.value);
  CHECK(torn.cost.messages[0].ring.bus_bandwidth < first.cost.messages[0].ring.bus_bandwidth);
  CHECK(half.communication[0].bottleneck.find("gpu4") != std::string::npos);
}
