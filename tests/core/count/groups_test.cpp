#include "core/count/groups.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "tests/core/count/shapes.hpp"

using namespace wireplan;

namespace {

std::vector<GroupKind> all_kinds() {
  std::vector<GroupKind> kinds;
  for (std::size_t i = 0; i < kNames<GroupKind>.size(); ++i) kinds.push_back(static_cast<GroupKind>(i));
  return kinds;
}

int world_of(const Plan& p) {
  return static_cast<int>(p.parallel.tensor * p.parallel.context * p.parallel.data * p.parallel.pipeline);
}

Plan random_plan(std::mt19937& random) {
  const auto pick = [&](int n) { return Count(1) << (random() % unsigned(n)); };
  Parallel p;
  p.tensor = pick(4);
  p.context = pick(3);
  p.data = pick(4) * (random() % 4 == 0 ? 3 : 1);
  p.pipeline = pick(3);
  const Count inside = p.tensor * p.context * p.data;
  p.expert_tensor = random() % 2 ? 1 : p.tensor;
  while (inside % p.expert_tensor != 0) p.expert_tensor = 1;
  p.expert = pick(4);
  while (inside % (p.expert * p.expert_tensor) != 0) p.expert /= 2;
  p.shard_group = pick(3);
  while ((p.data * p.context) % p.shard_group != 0) p.shard_group /= 2;
  std::vector<std::string> names = {"tp", "cp", "ep", "dp", "pp"};
  if (random() % 2) std::shuffle(names.begin(), names.end() - 1, random);
  p.order = names[0] + "-" + names[1] + "-" + names[2] + "-" + names[3] + "-" + names[4];
  const int per_node[] = {1, 2, 4, 6, 8};
  Plan plan = shapes::plan(shapes::mixtral_8x7b(), p, per_node[random() % 5]);
  if (random() % 3 == 0) {
    for (int i = 0; i < world_of(plan); ++i) plan.parallel.placement.push_back(i);
    std::shuffle(plan.parallel.placement.begin(), plan.parallel.placement.end(), random);
  }
  return plan;
}

}  // namespace

TEST_CASE("groups: megatron's example of 16 ranks, tensor 2, pipeline 4", "[count]") {
  // [megatron-lm] parallel_state.py, comment of initialize_model_parallel: tensor [0,1] [2,3] ..., data [0,2] [1,3] ...,
  // pipeline [0,4,8,12] ...
  Parallel p;
  p.tensor = 2;
  p.pipeline = 4;
  p.data = 2;
  const Plan plan = shapes::plan(shapes::mistral_7b(), p);
  CHECK(group_ranks(plan, GroupKind::tensor, 5) == std::vector<int>{4, 5});
  CHECK(group_ranks(plan, GroupKind::data, 5) == std::vector<int>{5, 7});
  CHECK(group_ranks(plan, GroupKind::pipeline, 5) == std::vector<int>{1, 5, 9, 13});
  CHECK(group_ranks(plan, GroupKind::embedding, 13) == std::vector<int>{1, 13});
  CHECK(group_ranks(plan, GroupKind::embedding, 5) == std::vector<int>{5});
}

TEST_CASE("groups: context lies inside data, experts inside both", "[count]") {
  Parallel p;
  p.tensor = 2;
  p.context = 2;
  p.data = 4;
  p.expert = 4;
  const Plan plan = shapes::plan(shapes::mixtral_8x7b(), p);
  CHECK(group_ranks(plan, GroupKind::context, 0) == std::vector<int>{0, 2});
  CHECK(group_ranks(plan, GroupKind::data, 1) == std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15});
  CHECK(group_ranks(plan, GroupKind::expert, 0) == std::vector<int>{0, 1, 2, 3});  // expert_tensor 1
  CHECK(group_ranks(plan, GroupKind::expert_data, 0) == std::vector<int>{0, 4, 8, 12});
}

TEST_CASE("groups: hsdp shards are neighbours, replicas far", "[count]") {
  Parallel p;
  p.data_sharding = DataSharding::hsdp;
  p.data = 16;
  p.shard_group = 8;
  const Plan plan = shapes::plan(shapes::mistral_7b(), p);
  CHECK(group_ranks(plan, GroupKind::shard, 9) == std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(group_ranks(plan, GroupKind::replicate, 9) == std::vector<int>{1, 9});
  const GroupShape replicate = group_shape(plan, GroupKind::replicate);
  CHECK(replicate.nodes == 2);
  CHECK(replicate.per_node == 1);
  CHECK(replicate.local.size() == 8);
}

TEST_CASE("groups: every rank is in exactly one group of each kind", "[count]") {
  std::mt19937 random(20260729);
  for (int round = 0; round < 120; ++round) {
    const Plan plan = random_plan(random);
    const int world = world_of(plan);
    for (const GroupKind kind : all_kinds()) {
      INFO(plan.parallel.order << " " << name_of(kind) << " round " << round);
      std::vector<int> times(static_cast<std::size_t>(world));
      for (int r = 0; r < world; ++r) {
        const std::vector<int> group = group_ranks(plan, kind, r);
        REQUIRE(std::is_sorted(group.begin(), group.end()));
        REQUIRE(std::find(group.begin(), group.end(), r) != group.end());
        if (group.front() != r) continue;
        for (const int member : group) {
          ++times[static_cast<std::size_t>(member)];
          REQUIRE(group_ranks(plan, kind, member) == group);
        }
      }
      REQUIRE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
    }
  }
}

TEST_CASE("groups: tensor, context, data and pipeline coordinates tell every rank apart", "[count]") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const Plan plan = random_plan(random);
    const Parallel& p = plan.parallel;
    CHECK(group_size(plan, GroupKind::tensor) == p.tensor);
    CHECK(group_size(plan, GroupKind::data) == p.data * p.context);
    CHECK(group_size(plan, GroupKind::shard) * group_size(plan, GroupKind::replicate) == p.data * p.context);
    CHECK(group_size(plan, GroupKind::expert) * group_size(plan, GroupKind::expert_tensor) *
              group_size(plan, GroupKind::expert_data) ==
          p.tensor * p.context * p.data);
    // Only the rank itself is in all four groups.
    for (int r = 0; r < world_of(plan); r += 5) {
      std::vector<int> common = group_ranks(plan, GroupKind::tensor, r);
      for (const GroupKind kind : {GroupKind::data, GroupKind::pipeline}) {
        std::vector<int> kept;
        const std::vector<int> group = group_ranks(plan, kind, r);
        std::set_intersection(common.begin(), common.end(), group.begin(), group.end(), std::back_inserter(kept));
        common = kept;
      }
      CHECK(common == std::vector<int>{r});
    }
  }
}

TEST_CASE("groups: the shape is what counting ranks on nodes gives", "[count]") {
  std::mt19937 random(99);
  for (int round = 0; round < 120; ++round) {
    const Plan plan = random_plan(random);
    const int world = world_of(plan), gpus = plan.cluster.gpus_per_node;
    const auto gpu_of = [&](int r) {
      return plan.parallel.placement.empty() ? r : plan.parallel.placement[static_cast<std::size_t>(r)];
    };
    for (const GroupKind kind : all_kinds()) {
      INFO(plan.parallel.order << " " << name_of(kind) << " round " << round << " per node " << gpus);
      const GroupShape shape = group_shape(plan, kind);
      std::size_t local = 0;
      int nodes = 1, most = 1;
      for (const std::vector<int>& list : shape.local) local += list.size();
      CHECK(local == static_cast<std::size_t>(std::min(world, gpus)));
      for (int r = 0; r < world; ++r) {
        if (gpu_of(r) >= gpus) continue;
        const std::vector<int> group = group_ranks(plan, kind, r);
        std::vector<int> expected;
        std::vector<int> per_node(static_cast<std::size_t>(plan.cluster.nodes));
        for (const int member : group) {
          ++per_node[static_cast<std::size_t>(gpu_of(member) / gpus)];
          if (gpu_of(member) < gpus) expected.push_back(gpu_of(member));
        }
        CHECK(std::count(shape.local.begin(), shape.local.end(), expected) == 1);
        nodes = std::max(
            nodes, static_cast<int>(std::count_if(per_node.begin(), per_node.end(), [](int n) { return n > 0; })));
        most = std::max(most, *std::max_element(per_node.begin(), per_node.end()));
      }
      CHECK(shape.nodes == nodes);
      CHECK(shape.per_node == most);
    }
  }
}

TEST_CASE("groups: 100,000 nodes cost no more than their first", "[count]") {
  Parallel p;
  p.framework = Framework::megatron;
  p.tensor = 8;
  p.pipeline = 16;
  p.data = 6250;
  const Plan plan = shapes::plan(shapes::mistral_7b(), p);
  const GroupShape data = group_shape(plan, GroupKind::data);
  CHECK(data.ranks == 6250);
  CHECK(data.nodes == 6250);
  CHECK(data.per_node == 1);
  CHECK(data.local.size() == 8);
  p.tensor = p.pipeline = 1;
  p.data = 800000;
  const GroupShape whole = group_shape(shapes::plan(shapes::mistral_7b(), p), GroupKind::data);
  CHECK(whole.nodes == 100000);
  CHECK(whole.per_node == 8);
  CHECK(whole.local == std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}});
}
