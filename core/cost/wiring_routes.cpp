// Routes between GPUs and whether they may reach each other's memory.
#include <algorithm>
#include <cstddef>

#include "core/base/sort.hpp"
#include "core/cost/measured_tables.hpp"
#include "core/cost/nccl/group_plans.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan {

bool peers_over_pcie(const Node& node, int i, int j) {
  if (!node.p2p_matrix.empty()) {
    const std::size_t index = static_cast<std::size_t>(i) * (static_cast<std::size_t>(node.gpus) + 1) + static_cast<std::size_t>(j);
    if (index < node.p2p_matrix.size()) return node.p2p_matrix[index] == '1';
  }
  if (node.p2p >= 0) return node.p2p == 1;
  if (node.gpu.p2p_pcie >= 0) return node.gpu.p2p_pcie == 1;
  return node.gpu.form != "consumer";
}

namespace {

using Step = PreparedCluster::Step;
using Route = PreparedCluster::Route;

struct Neighbour { int link, component; bool forward; };

// Which components a route may pass and which links it may use, from nearest to farthest.
struct Reach {
  PathKind kind;
  bool nvlink_only, through_nvswitch, through_switch, through_host, across_sockets;
};
constexpr Reach kReaches[] = {
    {PathKind::nvlink, true, false, false, false, false},
    {PathKind::nvswitch, true, true, false, false, false},
    {PathKind::pcie_switch, false, false, true, false, false},
    {PathKind::host_bridge, false, false, true, true, false},
    {PathKind::sockets, false, false, true, true, true},
};

class Routes {
 public:
  Routes(const Cluster& cluster, PreparedCluster& prepared) : cluster_(cluster), node_(cluster.node), prepared_(prepared), graph_(prepared.graph) {
    neighbours_.resize(graph_.components.size());
    for (std::size_t i = 0; i < graph_.links.size(); ++i) {
      const Link& l = graph_.links[i];
      neighbours_[at(l.a)].push_back({static_cast<int>(i), l.b, true});
      neighbours_[at(l.b)].push_back({static_cast<int>(i), l.a, false});
    }
  }

  void find_all() {
    const int n = prepared_.gpus;
    prepared_.routes.assign(at(n) * at(n), {});
    prepared_.switched = n > 1 && cluster_.gpus.size() != 1;
    std::vector<bool> used(at(n));
    for (int i = 0; i < n; ++i) used[at(i)] = cluster_.gpus.empty() || uses_gpu(cluster_, i);
    for (int i = 0; i < n; ++i) {
      prepared_.routes[at(i) * at(n) + at(i)].kind = PathKind::self;
      int missing = n - 1;
      for (const Reach& reach : kReaches) {
        if (missing == 0) break;
        search(i, reach);
        for (int j = 0; j < n; ++j) {
          Route& r = prepared_.routes[at(i) * at(n) + at(j)];
          if (r.kind != PathKind::none || hops_[at(j)] < 0) continue;
          if (!reach.nvlink_only && !peers_over_pcie(node_, i, j)) continue;
          if (reach.kind == PathKind::nvlink && hops_[at(j)] > 1) continue;
          r.kind = reach.kind;
          keep(r, path_to(j));
          --missing;
        }
      }
      if (missing > 0) copies_through_host(i);
      for (int j = 0; j < n; ++j)
        if (j != i && used[at(i)] && used[at(j)]) prepared_.switched = prepared_.switched && prepared_.route(i, j).kind == PathKind::nvswitch;
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool may_use(const Link& l, const Reach& reach) const {
    const bool between_gpus = graph_.components[at(l.a)].kind == ComponentKind::gpu && graph_.components[at(l.b)].kind == ComponentKind::gpu;
    const bool nvlink = l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi;
    if (reach.nvlink_only) return nvlink;
    if (between_gpus && nvlink) return false;
    const bool between_sockets = is_host(l.a) && is_host(l.b) && l.kind != LinkKind::pcie;
    return reach.across_sockets || !between_sockets;
  }

  bool is_host(int component) const {
    const ComponentKind kind = graph_.components[at(component)].kind;
    return kind == ComponentKind::cpu || kind == ComponentKind::root;
  }

  bool may_pass(int component, const Reach& reach) const {
    switch (graph_.components[at(component)].kind) {
      case ComponentKind::nvswitch: return reach.through_nvswitch;
      case ComponentKind::pcie_switch: return reach.through_switch;
      case ComponentKind::root: case ComponentKind::cpu: return reach.through_host;
      case ComponentKind::gpu: case ComponentKind::nic: case ComponentKind::nvme: break;
    }
    return false;
  }

  // Breadth first from one component: fewest links, among those the widest, among those the first in the order of the graph.
  void search(int from, const Reach& reach) {
    const std::size_t count = graph_.components.size();
    hops_.assign(count, -1);
    width_.assign(count, 0);
    via_.assign(count, {-1, -1, false});
    hops_[at(from)] = 0;
    width_[at(from)] = 1e300;
    std::vector<int> layer{from}, next;
    for (int hops = 0; !layer.empty(); ++hops) {
      next.clear();
      for (int c : layer) {
        if (c != from && !may_pass(c, reach)) continue;
        for (const Neighbour& n : neighbours_[at(c)]) {
          if ((hops_[at(n.component)] >= 0 && hops_[at(n.component)] != hops + 1) || !may_use(graph_.links[at(n.link)], reach)) continue;
          const double width = std::min(width_[at(c)], graph_.links[at(n.link)].rate.value);
          if (hops_[at(n.component)] < 0) next.push_back(n.component);
          else if (width <= width_[at(n.component)]) continue;
          hops_[at(n.component)] = hops + 1;
          width_[at(n.component)] = width;
          via_[at(n.component)] = {n.link, c, n.forward};
        }
      }
      sort(next);
      layer.swap(next);
    }
  }

  std::vector<Step> path_to(int component) const {
    std::vector<Step> path;
    for (int c = component; via_[at(c)].link >= 0; c = via_[at(c)].component) path.push_back({via_[at(c)].link, via_[at(c)].forward});
    std::reverse(path.begin(), path.end());
    return path;
  }

  void keep(Route& route, const std::vector<Step>& path) {
    route.first = static_cast<std::uint32_t>(prepared_.steps.size());
    route.count = static_cast<std::uint32_t>(path.size());
    route.rate = BytesPerSecond(1e300);
    for (const Step& s : path) route.rate = std::min(route.rate, graph_.links[at(s.link)].rate);
    prepared_.steps.insert(prepared_.steps.end(), path.begin(), path.end());
  }

  // Without peer access the sender writes to a buffer in the receiver's host memory, from where the receiver reads: up to the
  // receiver's CPU and down again, also where both hang on one switch [nccl-paths].
  void copies_through_host(int i) {
    const int n = prepared_.gpus;
    if (hosts_.empty())
      for (int j = 0; j < n; ++j) hosts_.push_back(nearest_host(j));
    search(i, kReaches[4]);
    for (int j = 0; j < n; ++j) {
      Route& r = prepared_.routes[at(i) * at(n) + at(j)];
      const Host& host = hosts_[at(j)];
      if (r.kind != PathKind::none || host.component < 0 || hops_[at(host.component)] < 0) continue;
      std::vector<Step> path = path_to(host.component);
      path.insert(path.end(), host.down.begin(), host.down.end());
      r.kind = PathKind::host_memory;
      keep(r, path);
    }
  }

  struct Host { int component = -1; std::vector<Step> down; };  // nearest CPU of a GPU and the way from it to the GPU

  Host nearest_host(int gpu) {
    search(gpu, kReaches[4]);
    Host host;
    for (int c = 0; c < static_cast<int>(graph_.components.size()); ++c)
      if (is_host(c) && hops_[at(c)] >= 0 && (host.component < 0 || hops_[at(c)] < hops_[at(host.component)])) host.component = c;
    if (host.component < 0) return host;
    host.down = path_to(host.component);
    std::reverse(host.down.begin(), host.down.end());
    for (Step& s : host.down) s.forward = !s.forward;
    return host;
  }

  const Cluster& cluster_;
  const Node& node_;
  PreparedCluster& prepared_;
  const WiringGraph& graph_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<int> hops_;
  std::vector<double> width_;
  std::vector<Host> hosts_;
  std::vector<Neighbour> via_;  // of the search last made: link and component a component was reached from
};

}  // namespace

PreparedCluster prepare(const Cluster& cluster, const LinkConstants& constants, const CollectiveSwitches& switches, std::shared_ptr<nccl::GroupPlans> plans) {
  PreparedCluster prepared;
  prepared.switches = switches;
  prepared.cluster = &cluster;
  prepared.constants = &constants;
  prepared.graph = wiring_graph(cluster.node, constants, cluster.network ? cluster.network->nics_per_node : -1);
  if (cluster.network)
    for (Component& c : prepared.graph.components)
      if (c.kind == ComponentKind::nic && c.nic_rate.value == 0) {
        c.nic_rate = cluster.network->nic_rate;
        c.gpudirect = cluster.network->gpudirect;
      }
  int gpus = 0;
  for (const Component& c : prepared.graph.components) gpus += c.kind == ComponentKind::gpu;
  prepared.gpus = cluster.gpus_per_node > 0 ? std::min(gpus, cluster.gpus_per_node) : gpus;
  for (int gpu : cluster.gpus) prepared.gpus = std::min(gpus, std::max(prepared.gpus, gpu + 1));
  Routes(cluster, prepared).find_all();
  prepared.lasting = std::make_shared<const WiringGraph>(prepared.graph);
  prepared.plans = plans ? std::move(plans) : std::make_shared<nccl::GroupPlans>(cluster, constants, switches);
  if (cluster.profile) prepared.own_tables = profile_tables(prepared, *cluster.profile);
  return prepared;
}

}  // namespace wireplan
