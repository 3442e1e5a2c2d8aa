// The smallest cluster of each kind of node that can train a plan's model as the plan says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/answer/advice.hpp"

namespace wireplan {

struct NodeKind {
  Node node;
  std::optional<Network> network;  // between several of them; none: not known, one node only
};

struct SmallestCluster {
  Plan plan;
  Effect effect;
  Count gpus = 1;
  bool recomputes = false;    // whole layers, which the plan as stated does not
  double gpu_hours = 0;       // of 10^9 tokens
  std::string label, layout;  // "16 × H100 80 GB SXM in 2 nodes"; "FSDP, tensor 8, recomputed"
};
struct KindLeftOut { std::string node, reason; };
struct SmallestClusters {
  std::vector<SmallestCluster> found;  // fewest GPUs first, then the fastest
  std::vector<KindLeftOut> left_out;
};

inline constexpr int kMostSmallestNodes = 1024;

// what: of each kind the smallest count that fits, with the fastest layout there. Counts: 1, 2, 4 … GPUs of a node and all of them, then
// 2, 4, 8 … whole nodes. Layouts: the framework's most divided data sharding, tensor 1 or all that divides inside a node, pipeline 1 or one
// stage a node (where the code base has them), micro-batches as stated or of one sequence; whole layers are recomputed only where nothing
// fits without. Global batch, sequence and number formats stay.
// valid: validate(plan) passed.
// kind: estimate; another layout may fit on fewer GPUs.  test: smallest_cluster_test.cpp.
SmallestClusters smallest_clusters(const Plan& plan, const std::vector<NodeKind>& kinds, const PlanFilling& filling, const Constants& constants);

}  // namespace wireplan
