#include "core/count/groups.hpp"

#include <algorithm>
#include <chrono>
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
    const bool placed = !plan.parallel.placement.empty();
    const auto gpu_of = [&](int r) { return placed ? plan.parallel.placement[static_cast<std::size_t>(r)] : r; };
    for (const GroupKind kind : all_kinds()) {
      INFO(plan.parallel.order << " " << name_of(kind) << " round " << round << " per node " << gpus);
      const GroupShape shape = group_shape(plan, kind);
      int nodes = 1, most = 1;
      std::vector<std::vector<std::vector<int>>> lists(static_cast<std::size_t>(plan.cluster.nodes));
      for (int r = 0; r < world; ++r) {
        const std::vector<int> group = group_ranks(plan, kind, r);
        if (group.front() != r) continue;
        std::vector<std::vector<int>> on(lists.size());
        for (const int member : group)
          on[static_cast<std::size_t>(gpu_of(member) / gpus)].push_back(gpu_of(member) % gpus);
        int spanned = 0;
        for (std::size_t node = 0; node < on.size(); ++node) {
          if (on[node].empty()) continue;
          ++spanned;
          most = std::max(most, static_cast<int>(on[node].size()));
          lists[node].push_back(on[node]);
        }
        // Without a placement only groups that stand on node 0 are looked at.
        if (placed || !on[0].empty()) nodes = std::max(nodes, spanned);
      }
      CHECK(shape.nodes == nodes);
      CHECK(shape.per_node == most);
      std::size_t longest = 0;
      for (const std::vector<int>& list : shape.local) longest = std::max(longest, list.size());
      CHECK(longest == static_cast<std::size_t>(shape.per_node));
      if (placed)
        CHECK(std::count(lists.begin(), lists.end(), shape.local) >= 1);
      else
        CHECK(shape.local == lists[0]);
    }
  }
}

TEST_CASE("groups: with a placement the fullest node shows the load", "[count]") {
  Parallel p;
  p.framework = Framework::megatron;
  p.data = 6;
  p.expert = 3;
  p.placement = {0, 2, 3, 1, 4, 5};  // of each three ranks one stands on node 0, two together elsewhere
  const GroupShape shape = group_shape(shapes::plan(shapes::mixtral_8x7b(), p, 2), GroupKind::expert);
  CHECK(shape.ranks == 3);
  CHECK(shape.nodes == 2);
  CHECK(shape.per_node == 2);
  CHECK(shape.local == std::vector<std::vector<int>>{{0, 1}});
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

TEST_CASE("groups: torn groups of 1,024 GPUs on 100,000 nodes are counted without walking them", "[count]") {
  struct Torn {
    const char* order;
    Count tensor, context, data, pipeline, shard;
  };
  const Torn rows[] = {
      {"cp-tp-ep-dp-pp", 512, 2, 100'000, 1, 2},   {"cp-tp-dp-ep-pp", 8, 16, 800'000, 1, 16},
      {"dp-tp-cp-ep-pp", 512, 100'000, 2, 1, 100}, {"cp-ep-pp-dp-tp", 4, 10, 640'000, 4, 640'000},
      {"dp-pp-tp-cp-ep", 3, 7, 487'619, 10, 7},    {"cp-tp-pp-dp-ep", 1000, 3, 3413, 10, 3413},
      {"tp-cp-pp-dp-ep", 512, 10'000, 5, 4, 50},   {"cp-tp-ep-dp-pp", 3, 1000, 34'133, 1, 7},
  };
  for (const Torn& row : rows) {
    Parallel p;
    p.order = row.order;
    p.tensor = row.tensor;
    p.context = row.context;
    p.data = row.data;
    p.pipeline = row.pipeline;
    p.shard_group = row.shard;
    Plan plan = shapes::plan(shapes::mistral_7b(), p, 1024);
    for (const GroupKind kind : all_kinds()) {
      INFO(row.order << " tensor " << row.tensor << " " << name_of(kind));
      const auto begin = std::chrono::steady_clock::now();
      const GroupShape shape = group_shape(plan, kind);
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(50));
      CHECK(shape.nodes >= (shape.ranks + 1023) / 1024);
      CHECK(shape.nodes <= std::min(shape.ranks, plan.cluster.nodes));
    }
  }
  // Two ranks of each group in every eight: a group stands on every node, whatever the period.
  Parallel p;
  p.order = "cp-tp-ep-dp-pp";
  p.context = 2;
  for (const Count tensor : {4, 3}) {
    p.tensor = tensor;
    p.data = Count{102'400'000} / (2 * tensor);
    const GroupShape data = group_shape(shapes::plan(shapes::mistral_7b(), p, 1024), GroupKind::data);
    CHECK(data.nodes == 100'000);
  }
}

TEST_CASE("groups: periods of a torn group give the nodes that walking it gives", "[count]") {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    const auto one_of = [&](std::initializer_list<Count> list) { return list.begin()[random() % list.size()]; };
    Parallel p;
    p.order = round % 2 ? "cp-tp-ep-dp-pp" : "cp-tp-pp-dp-ep";
    p.tensor = one_of({160, 192, 200, 256, 320});
    p.context = one_of({2, 3});
    p.pipeline = one_of({1, 2});
    p.data = 2600 + 6 * one_of({0, 7, 20, 51});
    p.shard_group = one_of({1, 2});
    const int gpus = static_cast<int>(one_of({768, 1000, 1024}));
    const Plan plan = shapes::plan(shapes::mistral_7b(), p, gpus);
    for (const GroupKind kind : {GroupKind::data, GroupKind::replicate}) {
      INFO(p.order << " tensor " << p.tensor << " context " << p.context << " pipeline " << p.pipeline << " data "
                   << p.data << " shard " << p.shard_group << " on " << gpus << " " << name_of(kind));
      int nodes = 1;
      std::vector<bool> seen(static_cast<std::size_t>(gpus));
      for (int r = 0; r < gpus; ++r) {
        if (seen[static_cast<std::size_t>(r)]) continue;
        const std::vector<int> group = group_ranks(plan, kind, r);
        int spanned = 1;
        for (std::size_t i = 0; i < group.size(); ++i) {
          if (group[i] < gpus) seen[static_cast<std::size_t>(group[i])] = true;
          if (i > 0) spanned += group[i] / gpus != group[i - 1] / gpus;
        }
        nodes = std::max(nodes, spanned);
      }
      CHECK(group_shape(plan, kind).nodes == nodes);
    }
  }
}
