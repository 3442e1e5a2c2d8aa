// What NCCL decides for the groups of a prepared cluster, each kind of group worked out once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/cost/nccl/machine_of_cluster.hpp"

namespace wireplan::nccl {

class GroupPlans {
 public:
  // Reads the machine; decisions are made where a group is first asked for. Does not hang on what constants were fitted.
  GroupPlans(const Cluster& cluster, const LinkConstants& constants, const CollectiveSwitches& switches);

  // Without rings and trees; NCCL_ALGO is left to choice_at(). Groups of a kind are alike: that of the first group's GPUs.
  // Nothing without a release, for GPUs that NCCL does not run on, where a tuner plug-in decides (EFA, TCPX, TCPXO between nodes), for a
  // rack whose trays the group does not use alike, and for more than 128 GPUs in one NVLink domain. `is_switched`: any GPUs of a node
  // are as good as any others.
  std::shared_ptr<const Decision> of(const GroupShape& shape, bool is_switched);

 private:
  using Key = std::pair<std::vector<int>, int>;  // GPUs on a node, nodes
  std::shared_ptr<const Decision> decided(const Key& key) const;

  std::shared_ptr<const Release> release_;
  std::optional<ClusterMachine> machine_;
  bool has_network_ = false;  // of which NCCL itself decides
  std::map<Key, std::shared_ptr<const Decision>> known_;
};

}  // namespace wireplan::nccl
