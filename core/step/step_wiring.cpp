#include "core/step/step_wiring.hpp"

#include <algorithm>

namespace wireplan {
namespace {

// The bytes of a value, as part of a key that only means to be told from others.
template <class T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What the shape of a group depends on, of plans on one cluster.
std::string key_of(const Plan& plan, GroupKind kind) {
  const Parallel& p = plan.parallel;
  std::string key;
  key.reserve(96);
  append(key, kind);
  append(key, p.framework);
  append(key, p.data_sharding);
  for (const Count n : {p.tensor, p.pipeline, p.context, p.data, p.expert, p.expert_tensor, p.shard_group}) append(key, n);
  key += p.order;
  for (const int gpu : p.placement) append(key, gpu);
  key += p.deepspeed;  // may state a group of its own
  return key;
}

}  // namespace

double nic_share(const Plan& p, GroupKind group, int nodes) {
  const bool is_data = group == GroupKind::data || group == GroupKind::expert_data;
  return p.parallel.framework == Framework::deepspeed && is_data && nodes > 1 && p.cluster.network ? 1.0 / std::max(1, p.cluster.network->nics_per_node) : 1;
}

RingOnWiring ring_of(const Plan& p, const PreparedCluster& cluster, GroupKind group, const GroupShape& shape) {
  RingOnWiring ring = ring_on_wiring(cluster, shape);
  if (const double share = nic_share(p, group, ring.nodes); share < 1) {
    ring.network_bandwidth = share * ring.network_bandwidth;
    ring.bus_bandwidth = std::min(ring.bus_bandwidth, ring.network_bandwidth);
    ring.bottleneck = "one of " + ring.bottleneck;
  }
  return ring;
}

StepWiring::Group& StepWiring::group(const Plan& plan, GroupKind kind) {
  const auto [at, is_new] = groups_.try_emplace(key_of(plan, kind));
  Group& group = at->second;
  if (!is_new) return group;
  const GroupShape shape = group_shape(plan, kind);
  group.ring = ring_of(plan, *cluster_, kind, shape);
  group.ranks = shape.ranks;
  group.nodes = shape.nodes;
  group.groups = static_cast<int>(shape.local.size());
  group.nic_share = nic_share(plan, kind, group.ring.nodes);
  return group;
}

const CollectiveCall& StepWiring::call(Group& group, Collective collective, Bytes bytes) const {
  std::string key;
  append(key, collective);
  append(key, bytes.value);
  const auto [at, is_new] = group.calls.try_emplace(std::move(key));
  if (!is_new) return at->second;
  CollectiveCall& call = at->second;
  call = collective_call(*cluster_, group.ring, collective, group.ranks, bytes);
  call.time.low = group.nic_share * call.time.low;
  return call;
}

}  // namespace wireplan
