#include <algorithm>
#include <cmath>

#include "core/cost/nccl/connect.hpp"
#include "core/cost/nccl/decision.hpp"
#include "core/cost/nccl/limit.hpp"
#include "core/cost/nccl/search.hpp"
#include "core/cost/nccl/system.hpp"
#include "core/cost/nccl/tune.hpp"

namespace wireplan::nccl {
namespace {

constexpr int kMostRingChannels = 32, kMostNvlsChannels = 64;

// To a peer on another node: one channel per NIC at least, more where a channel cannot carry what the NICs of the GPU can together,
// up to what the GPU has to its CPU. The GPU with the fewest decides.
int p2p_net_channels(const System& system, double rate_per_channel) {
  constexpr int kWithoutNets = 2;
  int least = kMostChannels;
  for (const int g : system.gpus) {
    const GBps most = system.path(g, local_cpu(system, g)).rate;
    GBps rate = 0;
    int count = 0;
    for (const int net : local_nets(system, g)) {
      if (count == kMostChannels || rate >= most) break;
      rate += system.path(g, net).rate;
      ++count;
    }
    least = std::min(least, count == 0 ? kWithoutNets : std::max(count, static_cast<int>(std::ceil(std::trunc(rate) / rate_per_channel))));
  }
  return least;
}

// What one rank sees and searches, for it and all that end up in its node. `system`: all of its domain, paths found.
Node node_of(System system, const Request& request, const Release& release, int rank, int ranks) {
  keep_reachable(system, rank);
  find_paths(system, request);
  Node node;
  for (const int g : system.gpus) {
    node.ranks.push_back(system.vertex(g).rank);
    node.gpus.push_back(system.vertex(g).gpu);
    node.hosts.push_back(system.vertex(g).host);
  }
  for (const int a : system.gpus) {
    node.pairs.emplace_back();
    for (const int b : system.gpus) {
      const Path& path = system.path(a, b);
      node.pairs.back().push_back({path.type, path.rate, transport_of(system, request, a, b)});
    }
  }
  if (release.p2p_net_rate_per_channel > 0) node.p2p_net_channels = p2p_net_channels(system, release.p2p_net_rate_per_channel);
  for (const int n : system.nets) {
    Node::Nic nic;
    nic.dev = system.vertex(n).net->dev;
    nic.host = system.vertex(n).host;
    nic.rate = system.vertex(n).net->rate;
    for (const int g : system.gpus) {
      nic.types.push_back(system.path(g, n).type);
      nic.rates.push_back(system.path(g, n).rate);
      nic.gpudirect_read.push_back(may_use_gpudirect(system, request, g, n, true));
      nic.gpudirect_write.push_back(may_use_gpudirect(system, request, g, n, false));
    }
    node.nics.push_back(std::move(nic));
  }
  const bool is_all = static_cast<int>(system.gpus.size()) == ranks;  // rule 3: nothing leaves the node
  system.crosses = !is_all && !system.nets.empty();
  if (is_all && !release.keeps_nets && !system.nets.empty()) {
    remove_nets(system);
    find_paths(system, request);
  }
  set_bounds(system);
  node.most = system.most;
  node.total = system.total;
  node.least_compute_capability = system.least_compute_capability();
  node.most_compute_capability = system.most_compute_capability();
  node.cpu = system.vertex(system.cpus.front()).cpu;
  node.ring = search(system, release, request.environment, Pattern::ring, 1, kMostRingChannels);
  node.ring_limit = limit_of(system, node.ring);
  node.tree = search(system, release, request.environment, Pattern::balanced_tree, node.ring.channels, node.ring.channels);
  node.nvls.pattern = Pattern::nvls;
  if (request.environment.nvls_enable && static_cast<int>(system.gpus.size()) >= release.nvls_least_gpus)
    node.nvls = search(system, release, request.environment, Pattern::nvls, 1, kMostNvlsChannels);
  return node;
}

int power_of_two_from(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// Rule 19: as many channels to a peer as the worst peer of the first node's GPUs allows.
void set_p2p_channels(Decision& d, const Release& release) {
  const Node& node = d.nodes.front();
  int least = d.channels;
  for (const auto& row : node.pairs)
    for (const Node::Pair& pair : row) {
      if (pair.type == PathType::loc) continue;
      const GBps link = nvlink_rate(release, node.least_compute_capability);
      least = std::min(least, pair.type == PathType::nvl ? 2 * std::max(1, static_cast<int>(pair.rate / link)) : 2);
    }
  d.p2p_channels = power_of_two_from(d.channels);
  const bool by_nic = release.p2p_net_rate_per_channel > 0;
  if (d.nccl_nodes() > 1 && by_nic) {
    for (const Node& n : d.nodes) least = std::min(least, n.p2p_net_channels);
  } else if (d.nccl_nodes() > 1) {
    int per_peer = 2;
    while (per_peer * d.ranks > d.channels * 4 && per_peer > 1) per_peer /= 2;
    least = std::min(least, per_peer);
  }
  d.p2p_channels_per_peer = std::min(power_of_two_from(least), d.p2p_channels);
  if (d.nccl_nodes() > 1 && by_nic) {  // all peers in one round, eight of them in a batch
    const int batches = (d.ranks + 7) / 8;
    while (d.p2p_channels_per_peer * batches > d.p2p_channels && d.p2p_channels_per_peer > 1) d.p2p_channels_per_peer /= 2;
  }
}

// Releases that copy rings up to the channels of NVLS.
int least_channels(const Decision& d, const Release& release) { return release.nvls_raises_channels ? d.nvls_channels : 0; }

void agree(Graph& all, const Graph& one, bool first) {
  if (first) {
    all = one;
    return;
  }
  all.channels = std::min(all.channels, one.channels);
  all.same_channels = all.same_channels && one.same_channels;
  all.intra = std::min(all.intra, one.intra);
  all.inter = std::min(all.inter, one.inter);
  all.intra_type = std::max(all.intra_type, one.intra_type);
  all.inter_type = std::max(all.inter_type, one.inter_type);
  all.cross_nic = std::max(all.cross_nic, one.cross_nic);
  all.is_plain_order = all.is_plain_order || one.is_plain_order;
  if (one.pattern == Pattern::tree) all.pattern = Pattern::tree;
}

}  // namespace

std::vector<int> Decision::ranks_of(int node) const {
  const Node& kind = kind_of(node);
  std::vector<int> of_node, sorted = kind.ranks, placed;
  for (int r = 0; r < ranks; ++r)
    if (node_of_rank[static_cast<std::size_t>(r)] == node) of_node.push_back(r);
  std::sort(sorted.begin(), sorted.end());
  for (const int r : kind.ranks) placed.push_back(of_node[static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), r) - sorted.begin())]);
  return placed;
}

int Node::gpu_number(int position) const {
  const std::size_t p = static_cast<std::size_t>(position);
  if (std::all_of(hosts.begin(), hosts.end(), [&](int host) { return host == hosts.front(); })) return gpus[p];
  return ranks[p] - *std::min_element(ranks.begin(), ranks.end());
}

Decision decide_costs(const Machine& machine, const Request& request, const Release& release) {
  Decision d;
  const int per_host = static_cast<int>(request.gpus.size());
  d.ranks = per_host * request.hosts;
  const int rack = std::max(1, std::min(request.rack_hosts, request.hosts));
  const int domains = (request.hosts + rack - 1) / rack;
  d.node_of_rank.assign(static_cast<std::size_t>(d.ranks), -1);

  // Domains are alike, but the last may be smaller; a domain may fall into several nodes.
  struct Known { int hosts; std::vector<int> kinds; };
  std::vector<Known> known;
  for (int domain = 0; domain < domains; ++domain) {
    const int first_host = domain * rack, hosts = std::min(rack, request.hosts - first_host);
    const int first_rank = first_host * per_host, count = hosts * per_host;
    const auto like = std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.hosts == hosts; });
    std::vector<int> kinds;
    if (like != known.end()) {
      kinds = like->kinds;
    } else {
      System system = system_of(machine, request, release, first_host, hosts);
      find_paths(system, request);
      std::vector<bool> placed(static_cast<std::size_t>(count), false);
      for (int r = 0; r < count; ++r) {
        if (placed[static_cast<std::size_t>(r)]) continue;
        Node node = node_of(system, request, release, first_rank + r, d.ranks);
        for (const int rank : node.ranks) placed[static_cast<std::size_t>(rank - first_rank)] = true;
        kinds.push_back(static_cast<int>(d.nodes.size()));
        d.nodes.push_back(std::move(node));
      }
      known.push_back({hosts, kinds});
    }
    // Nodes count in the order of their first rank.
    for (const int kind : kinds) {
      const Node& node = d.nodes[static_cast<std::size_t>(kind)];
      const int shift = first_rank - *std::min_element(d.nodes[static_cast<std::size_t>(kinds.front())].ranks.begin(), d.nodes[static_cast<std::size_t>(kinds.front())].ranks.end());
      for (const int rank : node.ranks) d.node_of_rank[static_cast<std::size_t>(rank + shift)] = d.nccl_nodes();
      d.node_kind.push_back(kind);
    }
  }

  for (std::size_t k = 0; k < d.nodes.size(); ++k) {
    const Node& node = d.nodes[k];
    agree(d.ring, node.ring, k == 0);
    agree(d.tree, node.tree, k == 0);
    agree(d.nvls, node.nvls, k == 0);
    d.least_compute_capability = k == 0 ? node.least_compute_capability : std::min(d.least_compute_capability, node.least_compute_capability);
    d.most_compute_capability = std::max(d.most_compute_capability, node.most_compute_capability);
  }
  d.cpu = d.nodes.front().cpu;
  for (const Node& node : d.nodes)
    if (release.plain_order_needs_net && node.nics.empty() && (node.ring.is_plain_order || node.tree.is_plain_order))
      d.fails = "no ring or tree is found, NCCL " + release.version + " then asks for a network device, and this topology has none";
  d.ring.channels = d.tree.channels = std::min(d.ring.channels, d.tree.channels);
  if (d.nvls.channels > 0) {
    const std::size_t row = d.least_compute_capability < 100 ? 0 : domains > 1 ? 2 : 1;
    d.nvls_channels = release.nvls_channels[row];
  }
  for (const Node& node : d.nodes) d.most_ranks_of_node = std::max(d.most_ranks_of_node, static_cast<int>(node.ranks.size()));
  d.channels = connected_channels(d, request.environment, least_channels(d, release));
  set_p2p_channels(d, release);
  tune(d, release, request.environment);
  return d;
}

Decision decide(const Machine& machine, const Request& request, const Release& release) {
  Decision d = decide_costs(machine, request, release);
  connect(d, request.environment, least_channels(d, release));
  return d;
}

}  // namespace wireplan::nccl
