#include "core/cost/nccl/group_plans.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/base/sort.hpp"

namespace wireplan::nccl {
namespace {

constexpr std::size_t kMostKnown = 1'024, kMostGpusOfDomain = 128;

bool has_tuner(Fabric fabric) { return fabric == Fabric::efa || fabric == Fabric::tcpx || fabric == Fabric::tcpxo; }

// GPUs of a rack drawn as one node, as its trays use them: indices on one tray and trays in use; no GPUs where trays differ.
std::pair<std::vector<int>, int> on_trays(const std::vector<int>& gpus, int per_tray) {
  std::vector<int> first;
  for (const int g : gpus)
    if (g / per_tray == gpus.front() / per_tray) first.push_back(g % per_tray);
  const int trays = static_cast<int>(gpus.size() / first.size());
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i] % per_tray != first[i % first.size()]) return {{}, 0};
  return {first, trays};
}

}  // namespace

GroupPlans::GroupPlans(const Cluster& cluster, const LinkConstants& constants, const CollectiveSwitches& switches)
    : release_(constants.nccl), has_network_(cluster.network && !has_tuner(cluster.network->fabric)) {
  if (!release_) return;
  Result<ClusterMachine> machine = machine_of(cluster, std::nullopt, constants);
  if (!machine) return;
  machine_ = std::move(machine.value());
  Request& request = machine_->request;
  request.rack_hosts = std::max(1, cluster.rack_nodes);  // until it is known how many trays a node's group has
  request.environment.nvls_enable = switches.nvls;
  request.environment.min_channels = switches.min_channels;
  if (switches.peers_past_host) request.environment.p2p_level = PathType::sys;
}

std::shared_ptr<const Decision> GroupPlans::of(const GroupShape& shape, bool is_switched) {
  if (!machine_ || shape.ranks < 2 || shape.local.empty() || shape.local.front().empty()) return nullptr;
  Key key{shape.local.front(), std::max(1, shape.nodes)};
  if (key.second == 1 && is_switched) {
    for (std::size_t i = 0; i < key.first.size(); ++i) key.first[i] = static_cast<int>(i);
  } else {
    sort(key.first);
  }
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.emplace(key, decided(key)).first->second;
}

std::shared_ptr<const Decision> GroupPlans::decided(const Key& key) const {
  const int per_host = static_cast<int>(machine_->machine.gpus.size());
  Request request = machine_->request;
  int trays = 1;
  request.gpus = key.first;
  if (key.first.back() >= per_host) {
    std::tie(request.gpus, trays) = on_trays(key.first, per_host);
    if (request.gpus.empty()) return nullptr;
  }
  request.hosts = key.second * trays;
  request.rack_hosts = std::min(request.hosts, trays * request.rack_hosts);
  if (request.gpus.size() * static_cast<std::size_t>(request.rack_hosts) > kMostGpusOfDomain) return nullptr;
  if (request.hosts > request.rack_hosts && (machine_->machine.nets.empty() || !has_network_)) return nullptr;
  return std::make_shared<const Decision>(decide_costs(machine_->machine, request, *release_));
}

}  // namespace wireplan::nccl
