#include "native/measure/prediction.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/cost/collective.hpp"

namespace wireplan {
namespace {

// How the groups lie on the node that holds most of their ranks.
std::optional<GroupShape> shape_of(const Cluster& cluster, const std::vector<int>& group, const std::vector<std::vector<int>>& together) {
  const int per_node = cluster.gpus_per_node;
  const std::vector<int> used = used_gpus(cluster, per_node);
  const auto node_of = [&](int rank) { return rank / per_node; };
  std::map<int, int> ranks_on;  // of all groups, by node
  std::map<int, int> own_on;    // of this one
  for (const std::vector<int>& g : together)
    for (int rank : g) {
      if (node_of(rank) >= cluster.nodes) return std::nullopt;
      ++ranks_on[node_of(rank)];
    }
  for (int rank : group) ++own_on[node_of(rank)];
  int node = node_of(group.front());
  for (const auto& [n, own] : own_on)
    if (ranks_on[n] > ranks_on[node]) node = n;
  GroupShape shape;
  shape.ranks = static_cast<int>(group.size());
  shape.nodes = static_cast<int>(own_on.size());
  shape.per_node = 1;
  for (const std::vector<int>& g : together) {
    std::vector<int> local;
    for (int rank : g)
      if (node_of(rank) == node) local.push_back(used[static_cast<std::size_t>(rank % per_node)]);
    if (local.empty()) continue;
    shape.per_node = std::max(shape.per_node, static_cast<int>(local.size()));
    shape.local.push_back(std::move(local));
  }
  return shape;
}

}  // namespace

Predict prediction_on(const Cluster& cluster, std::shared_ptr<const Constants> constants) {
  struct Known {
    std::shared_ptr<const Constants> constants;
    PreparedCluster prepared;
    std::vector<std::pair<GroupShape, RingOnWiring>> rings;
  };
  auto known = std::make_shared<Known>();
  known->constants = std::move(constants);
  known->prepared = prepare(cluster, known->constants->links);
  return [known](Collective op, const std::vector<int>& group, const std::vector<std::vector<int>>& together, Bytes size) -> std::optional<Range<Seconds>> {
    if (group.size() < 2) return std::nullopt;
    const std::optional<GroupShape> shape = shape_of(*known->prepared.cluster, group, together);
    if (!shape) return std::nullopt;
    auto ring = std::find_if(known->rings.begin(), known->rings.end(), [&](const auto& r) { return r.first == *shape; });
    if (ring == known->rings.end()) ring = known->rings.insert(ring, {*shape, ring_on_wiring(known->prepared, *shape)});
    const Range<Seconds> time = collective_call(known->prepared, ring->second, op, shape->ranks, size).time;
    if (!(time.value.value > 0)) return std::nullopt;
    return time;
  };
}

}  // namespace wireplan
