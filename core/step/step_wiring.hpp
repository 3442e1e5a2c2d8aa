// The rings of a plan's groups and the times of calls on them, on one cluster: found once, and remembered from one plan to the next.
#pragma once

#include <string>
#include <unordered_map>

#include "core/cost/collective.hpp"
#include "core/count/messages.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

// The ring of a group on the plan's wiring, as its framework uses it. DeepSpeed's data-parallel traffic between nodes keeps to one NIC of a node in
// every published run across nodes that was found: ZeRO-3 over 8 × 200 Gbit/s InfiniBand moved what one of the eight carries, ZeRO-1 over 4 × 100 Gbit/s
// Omni-Path what one of the four does [published-runs]. Why is not known; the low end of such a time's band is that of all NICs.
RingOnWiring ring_of(const Plan& plan, const PreparedCluster& cluster, GroupKind group, const GroupShape& shape);
double nic_share(const Plan& plan, GroupKind group, int nodes);  // that share of its NICs: 1 but for those

// Keeps a pointer to the cluster. Every plan it is asked about must stand on that cluster. Not for two threads at once.
class StepWiring {
 public:
  explicit StepWiring(const PreparedCluster& cluster) : cluster_(&cluster) {}
  const PreparedCluster& cluster() const { return *cluster_; }

  // The groups of a kind under the plan's layout.
  struct Group {
    RingOnWiring ring;
    int ranks = 1, nodes = 1, groups = 1;  // groups: of its kind on the node that `ring` is of
    double nic_share = 1;
    std::unordered_map<std::string, CollectiveCall> calls;
  };
  Group& group(const Plan& plan, GroupKind kind);  // lives as long as this

  // One call among them.
  const CollectiveCall& call(Group& group, Collective collective, Bytes bytes) const;

 private:
  const PreparedCluster* cluster_;
  std::unordered_map<std::string, Group> groups_;
};

}  // namespace wireplan
