#include "core/answer/topology.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/count/groups.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool is_host(ComponentKind kind) { return kind == ComponentKind::cpu || kind == ComponentKind::root; }

// Ways over PCIe and the sockets from one GPU to all others, whether NCCL may take them or not: the matrix names what is plugged in.
class HostWays {
 public:
  explicit HostWays(const WiringGraph& graph) : graph_(graph), neighbours_(graph.components.size()) {
    for (const Link& l : graph.links) {
      const bool joins_gpus = (l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi) &&
                              (kind(l.a) == ComponentKind::gpu || kind(l.b) == ComponentKind::gpu);
      if (joins_gpus) continue;
      neighbours_[at(l.a)].push_back({l.b, l.kind});
      neighbours_[at(l.b)].push_back({l.a, l.kind});
    }
  }

  // Fewest links from `from` to every component: what each way passes.
  void search(int from) {
    passed_.assign(graph_.components.size(), {});
    passed_[at(from)].reached = true;
    std::vector<int> queue{from};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int c = queue[i];
      if (c != from && (kind(c) == ComponentKind::gpu || kind(c) == ComponentKind::nic || kind(c) == ComponentKind::nvme)) continue;
      for (const Neighbour& n : neighbours_[at(c)]) {
        Passed& next = passed_[at(n.component)];
        if (next.reached) continue;
        next = passed_[at(c)];
        next.switches += kind(n.component) == ComponentKind::pcie_switch;
        next.hosts += is_host(kind(n.component));
        next.sockets = next.sockets || (is_host(kind(c)) && is_host(kind(n.component)) && n.link != LinkKind::pcie);
        queue.push_back(n.component);
      }
    }
  }

  PathType type(int from, int to) const {
    const Passed& p = passed_[at(to)];
    if (!p.reached) return PathType::none;
    if (p.hosts == 0) return p.switches > 1 ? PathType::pxb : PathType::pix;
    const int a = graph_.components[at(from)].numa, b = graph_.components[at(to)].numa;
    if (p.sockets || (a >= 0 && b >= 0 && a != b)) return PathType::sys;
    return p.hosts > 1 ? PathType::node : PathType::phb;
  }

 private:
  struct Neighbour { int component; LinkKind link; };
  struct Passed { bool reached = false, sockets = false; int switches = 0, hosts = 0; };
  ComponentKind kind(int c) const { return graph_.components[at(c)].kind; }

  const WiringGraph& graph_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<Passed> passed_;
};

// The ways of one GPU.
std::vector<PathBetween> ways_from(const PreparedCluster& cluster, HostWays& ways, int from) {
  const Node& node = cluster.cluster->node;
  std::vector<PathBetween> row(at(cluster.gpus));
  bool searched = false;
  for (int to = 0; to < cluster.gpus; ++to) {
    const PreparedCluster::Route& route = cluster.route(from, to);
    PathBetween& p = row[at(to)];
    if (to == from) {
      p.type = PathType::self;
      p.p2p = true;
      continue;
    }
    p.rate = route.kind == PathKind::none ? BytesPerSecond{} : route.rate;
    p.p2p = route.kind != PathKind::host_memory && route.kind != PathKind::none;
    if (route.kind == PathKind::nvlink || route.kind == PathKind::nvswitch) {
      p.type = node.gpu.is_xgmi ? PathType::xgmi : PathType::nv;
      p.links = 1024;
      for (std::uint32_t s = route.first; s < route.first + route.count; ++s)
        p.links = std::min(p.links, cluster.graph.links[at(cluster.steps[s].link)].width);
      continue;
    }
    if (!searched) ways.search(from);
    searched = true;
    p.type = ways.type(from, to);
  }
  return row;
}

GroupRing ring_of(const PreparedCluster& cluster, std::vector<int> gpus, int nodes) {
  GroupRing group{std::move(gpus), nodes, {}};
  group.ring = ring_on_wiring(cluster, single_group(static_cast<int>(group.gpus.size()) * nodes, nodes, group.gpus));
  return group;
}

// "NVLink", "host bridge cpu0, PCIe 4 ×16": a bottleneck without the ends of its link.
std::string kind_of(const std::string& bottleneck) { return bottleneck.substr(0, bottleneck.rfind(' ')); }

void add_pair(const PreparedCluster& cluster, int a, int b, const PathBetween& path, std::vector<PairKind>& kinds) {
  GroupRing pair = ring_of(cluster, {a, b}, 1);
  for (PairKind& k : kinds) {
    const bool alike = k.path.type == path.type && k.path.links == path.links && k.path.p2p == path.p2p && k.ring.bus_bandwidth == pair.ring.bus_bandwidth &&
                       kind_of(k.ring.bottleneck) == kind_of(pair.ring.bottleneck);
    if (!alike) continue;
    ++k.count;
    return;
  }
  kinds.push_back({path, a, b, 1, std::move(pair.ring)});
}

std::vector<Assumption> assumed_of(const PreparedCluster& cluster, bool has_pcie_ways) {
  const Node& node = cluster.cluster->node;
  std::vector<Assumption> assumed;
  if (has_pcie_ways && node.p2p < 0 && node.p2p_matrix.empty()) {
    const bool may = peers_over_pcie(node, 0, 1);
    const std::string gpu = node.gpu.name.empty() ? "this GPU" : node.gpu.name;
    assumed.push_back({"cluster.node.p2p", may ? "true" : "false",
                       "not stated; the driver " + std::string(may ? "lets " : "does not let ") + gpu + " reach its peers' memory over PCIe"});
  }
  int sockets = 0;
  for (const Link& l : cluster.graph.links) sockets += l.kind == LinkKind::socket && !l.stated;
  bool known = false;
  for (const LinkConstants::Socket& s : cluster.constants->sockets) known = known || s.nccl_class == node.cpu.nccl_class;
  if (sockets > 0 && !known)
    assumed.push_back({"cluster.node.cpu", "null", "not stated: the link between the sockets counts with the slowest rate NCCL has for one, " + format_rate(socket_rates(node.cpu, pcie_generation_of(node), *cluster.constants).planning)});
  if (node.wiring.kind != WiringKind::graph && node.wiring.groups.empty() && node.sockets > 1 && node.gpus > 1)
    assumed.push_back({"cluster.node.wiring.groups", "null", "not stated: the GPUs hang on the sockets in equal parts, in their order"});
  return assumed;
}

}  // namespace

std::string path_name(const PathBetween& path) {
  constexpr std::array<std::string_view, 9> names = {"X", "NV", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS", "-"};
  std::string name(names[static_cast<std::size_t>(path.type)]);
  if (path.type == PathType::nv && path.links > 0) name += std::to_string(path.links);
  return name;
}

Result<Topology> topology(const PreparedCluster& cluster, std::vector<int> gpus) {
  const int n = cluster.gpus;
  const std::string limit = "GPUs 0 to " + std::to_string(n - 1) + ", each once";
  std::vector<bool> named(at(n), false);
  for (int g : gpus) {
    if (g < 0 || g >= n)
      return Error{"gpus", std::to_string(g), limit, "GPU " + std::to_string(g) + " is not one of GPUs 0 to " + std::to_string(n - 1) + " of each node. Nearest: " + std::to_string(g < 0 ? 0 : n - 1)};
    if (named[at(g)]) return Error{"gpus", std::to_string(g), limit, "GPU " + std::to_string(g) + " is listed twice. Nearest: list it once"};
    named[at(g)] = true;
  }
  if (gpus.empty()) gpus = used_gpus(*cluster.cluster);

  Topology t;
  HostWays ways(cluster.graph);
  bool has_pcie_ways = false;
  t.all_pairs = n <= kMostPairGpus || cluster.switched;
  for (int i = 0; i < n && (i == 0 || n <= kMostPathGpus); ++i) {
    const std::vector<PathBetween> row = ways_from(cluster, ways, i);
    for (int j = 0; j < n; ++j) {
      has_pcie_ways = has_pcie_ways || row[at(j)].type >= PathType::pix;
      if (j <= i || (i > 0 && n > kMostPairGpus)) continue;
      if (!cluster.switched || t.pairs.empty()) add_pair(cluster, i, j, row[at(j)], t.pairs);
    }
    if (n <= kMostPathGpus) t.paths.insert(t.paths.end(), row.begin(), row.end());
  }
  if (cluster.switched && !t.pairs.empty()) t.pairs.front().count = n * (n - 1) / 2;
  sort(t.pairs, [](const PairKind& a, const PairKind& b) {
    if (a.ring.bus_bandwidth != b.ring.bus_bandwidth) return a.ring.bus_bandwidth > b.ring.bus_bandwidth;
    return std::pair(a.a, a.b) < std::pair(b.a, b.b);
  });
  t.node = ring_of(cluster, gpus, 1);
  if (cluster.cluster->nodes > 1 && cluster.cluster->network) t.cluster = ring_of(cluster, gpus, cluster.cluster->nodes);
  t.assumed = assumed_of(cluster, has_pcie_ways);
  return t;
}

}  // namespace wireplan
