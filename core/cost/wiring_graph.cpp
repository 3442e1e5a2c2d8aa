// From short-hand to graph. Sources: rates [nccl-topo] through LinkConstants, layouts as the node states them [facts-nodes].
#include <algorithm>

#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

// Where a node does not say how its GPUs hang on the sockets: evenly, in order.
std::vector<PcieGroup> groups_of(const Node& node) {
  if (!node.wiring.groups.empty()) return node.wiring.groups;
  const int sockets = std::max(1, node.sockets);
  std::vector<PcieGroup> groups(static_cast<std::size_t>(sockets));
  for (int s = 0; s < sockets; ++s) {
    PcieGroup& g = groups[static_cast<std::size_t>(s)];
    g.socket = s;
    g.numa = node.numa_nodes >= sockets ? s * (node.numa_nodes / sockets) : 0;
    g.has_switch = node.wiring.kind == WiringKind::pcie_switch;
    for (int gpu = 0; gpu < node.gpus; ++gpu)
      if (static_cast<std::int64_t>(gpu) * sockets / std::max(1, node.gpus) == s) g.gpus.push_back(gpu);
  }
  return groups;
}

void spread_nics(std::vector<PcieGroup>& groups, int nics) {
  int stated = 0;
  for (const PcieGroup& g : groups) stated += g.nics;
  if (nics < 0 || nics == stated || groups.empty()) return;
  const bool any_gpu = std::any_of(groups.begin(), groups.end(), [](const PcieGroup& g) { return !g.gpus.empty(); });
  std::vector<PcieGroup*> hosts;
  for (PcieGroup& g : groups) {
    g.nics = 0;
    if (!any_gpu || !g.gpus.empty()) hosts.push_back(&g);
  }
  // As many as there are groups or more: in turn. Fewer: evenly apart.
  const int count = static_cast<int>(hosts.size());
  for (int i = 0; i < nics; ++i) {
    const std::int64_t host = nics >= count ? i % count : static_cast<std::int64_t>(i) * count / nics;
    ++hosts[static_cast<std::size_t>(host)]->nics;
  }
}

class Expansion {
 public:
  Expansion(const Node& node, const LinkConstants& constants, int nics) : node_(node), constants_(constants), groups_(groups_of(node)) {
    spread_nics(groups_, nics);
  }

  WiringGraph graph() {
    add_chips();
    add_pcie();
    add_sockets();
    add_nvlink();
    return std::move(graph_);
  }

 private:
  int add(std::string id, ComponentKind kind, int numa) {
    Component c;
    c.id = std::move(id);
    c.kind = kind;
    c.numa = numa;
    graph_.components.push_back(std::move(c));
    return static_cast<int>(graph_.components.size()) - 1;
  }

  void connect(int a, int b, LinkKind kind, int generation, int width, LinkRates rates) {
    Link l;
    l.a = a;
    l.b = b;
    l.kind = kind;
    l.generation = generation;
    l.width = width;
    l.planning = rates.planning;
    l.measured = rates.measured.value > 0;
    l.rate = l.measured ? rates.measured : rates.planning;
    l.nominal = rates.nominal;
    graph_.links.push_back(l);
  }

  void add_chips() {
    for (int i = 0; i < node_.gpus; ++i) add("gpu" + std::to_string(i), ComponentKind::gpu, -1);
    int sockets = std::max(1, node_.sockets);
    for (const PcieGroup& g : groups_) sockets = std::max(sockets, g.socket + 1);
    for (int s = 0; s < sockets; ++s) {
      // A socket has a NUMA node of its own number only where all that hangs on it agrees (NPS4 splits a socket in four).
      int numa = -1;
      bool agree = true;
      for (const PcieGroup& g : groups_)
        if (g.socket == s) {
          agree = agree && (numa < 0 || numa == g.numa);
          numa = g.numa;
        }
      cpus_.push_back(add("cpu" + std::to_string(s), ComponentKind::cpu, agree ? numa : -1));
    }
  }

  void add_pcie() {
    const int generation = pcie_generation_of(node_);
    const int lanes = node_.wiring.pcie_lanes > 0 ? node_.wiring.pcie_lanes : node_.gpu.pcie_lanes;
    const LinkRates card = pcie_rates(generation, lanes, constants_), x16 = pcie_rates(generation, 16, constants_);
    const bool superchip = node_.gpu.form == "superchip";  // GPU and CPU share a module: NVLink-C2C takes PCIe's place
    int nics = 0, switches = 0;
    for (const PcieGroup& g : groups_) {
      const int cpu = cpus_[static_cast<std::size_t>(std::max(0, g.socket))];
      int above = cpu;
      if (g.has_switch) {
        above = add("switch" + std::to_string(switches++), ComponentKind::pcie_switch, g.numa);
        connect(above, cpu, LinkKind::pcie, generation, 16, x16);
      }
      for (int gpu : g.gpus) {
        if (gpu < 0 || gpu >= node_.gpus) continue;
        graph_.components[static_cast<std::size_t>(gpu)].numa = g.numa;
        if (superchip && !g.has_switch) connect(gpu, above, LinkKind::c2c, 0, 0, {constants_.c2c, constants_.c2c_nominal});
        else connect(gpu, above, LinkKind::pcie, generation, lanes, card);
      }
      for (int i = 0; i < g.nics; ++i) {
        const int nic = add("nic" + std::to_string(nics++), ComponentKind::nic, g.numa);
        connect(nic, above, LinkKind::pcie, generation, 16, x16);
      }
    }
    // A GPU that no group names still has a slot.
    std::vector<bool> placed(static_cast<std::size_t>(node_.gpus), false);
    for (const PcieGroup& g : groups_)
      for (int gpu : g.gpus)
        if (gpu >= 0 && gpu < node_.gpus) placed[static_cast<std::size_t>(gpu)] = true;
    for (int gpu = 0; gpu < node_.gpus; ++gpu)
      if (!placed[static_cast<std::size_t>(gpu)]) connect(gpu, cpus_[0], LinkKind::pcie, generation, lanes, card);
  }

  void add_sockets() {
    // Every pair of sockets of a host has a link of its own, as NCCL draws it. A node of more than eight sockets is a rack of
    // two-socket trays that NVLink alone joins.
    const LinkRates rates = socket_rates(node_.cpu, pcie_generation_of(node_), constants_);
    const bool rack = cpus_.size() > 8 && node_.wiring.kind == WiringKind::nvswitch;
    for (std::size_t a = 0; a < cpus_.size(); ++a)
      for (std::size_t b = a + 1; b < cpus_.size(); ++b)
        if (!rack || (a % 2 == 0 && b == a + 1)) connect(cpus_[a], cpus_[b], LinkKind::socket, 0, 0, rates);
  }

  void add_nvlink() {
    const LinkKind kind = node_.gpu.is_xgmi ? LinkKind::xgmi : LinkKind::nvlink;
    const int generation = node_.gpu.nvlink_generation, all = std::max(1, node_.gpu.nvlink_links);
    auto join = [&](int a, int b, int links) {
      if (a < 0 || b < 0 || a == b || std::max(a, b) >= static_cast<int>(graph_.components.size()) || links < 1) return;
      connect(a, b, kind, generation, links, nvlink_rates(node_.gpu, generation, links, constants_));
    };
    switch (node_.wiring.kind) {
      case WiringKind::nvswitch: {
        const int nvswitch = add("nvswitch", ComponentKind::nvswitch, -1);
        for (int gpu = 0; gpu < node_.gpus; ++gpu) join(gpu, nvswitch, all);
        break;
      }
      case WiringKind::nvlink_mesh:
        for (const std::array<int, 3>& m : node_.wiring.mesh) join(m[0], m[1], m[2]);
        break;
      case WiringKind::nvlink_pairs:
        for (const std::array<int, 2>& p : node_.wiring.pairs) join(p[0], p[1], node_.wiring.links_per_pair > 0 ? node_.wiring.links_per_pair : all);
        break;
      case WiringKind::pcie_switch: case WiringKind::pcie_host: case WiringKind::graph: break;
    }
  }

  const Node& node_;
  const LinkConstants& constants_;
  std::vector<PcieGroup> groups_;
  WiringGraph graph_;
  std::vector<int> cpus_;
};

LinkRates usual_rates(const Link& link, const Node& node, const LinkConstants& constants) {
  switch (link.kind) {
    case LinkKind::nvlink: return nvlink_rates(node.gpu, link.generation, link.width > 0 ? link.width : node.gpu.nvlink_links, constants);
    case LinkKind::xgmi: return nvlink_rates(node.gpu, link.generation, link.width, constants);
    case LinkKind::pcie:
      return pcie_rates(link.generation > 0 ? link.generation : node.gpu.pcie_generation, link.width > 0 ? link.width : 16, constants);
    case LinkKind::socket: return socket_rates(node.cpu, pcie_generation_of(node), constants);
    case LinkKind::c2c: return {constants.c2c, constants.c2c_nominal};
    case LinkKind::eth: case LinkKind::ib: break;  // NCCL's rate of a NIC whose speed it cannot read: 100 Gbit/s
  }
  return {BytesPerSecond(12e9), BytesPerSecond(12.5e9)};
}

// A graph the user drew: rates he left out are filled in, GPUs moved to the front.
WiringGraph completed(const Node& node, const LinkConstants& constants) {
  const WiringGraph& given = node.wiring.graph;
  std::vector<int> new_of_old(given.components.size());
  WiringGraph graph;
  for (bool gpus : {true, false})
    for (std::size_t i = 0; i < given.components.size(); ++i)
      if ((given.components[i].kind == ComponentKind::gpu) == gpus) {
        new_of_old[i] = static_cast<int>(graph.components.size());
        graph.components.push_back(given.components[i]);
      }
  const int count = static_cast<int>(graph.components.size());
  for (Link l : given.links) {
    if (l.a < 0 || l.b < 0 || l.a >= count || l.b >= count || l.a == l.b) continue;
    l.a = new_of_old[static_cast<std::size_t>(l.a)];
    l.b = new_of_old[static_cast<std::size_t>(l.b)];
    if (l.rate.value <= 0) {
      const LinkRates usual = usual_rates(l, node, constants);
      l.planning = usual.planning;
      l.measured = usual.measured.value > 0;
      l.rate = l.measured ? usual.measured : usual.planning;
      if (l.nominal.value <= 0) l.nominal = usual.nominal;
      if (l.kind == LinkKind::pcie && l.generation == 0) l.generation = node.gpu.pcie_generation;
    }
    if (l.planning.value <= 0) l.planning = l.rate;
    graph.links.push_back(l);
  }
  return graph;
}

}  // namespace

WiringGraph wiring_graph(const Node& node, const LinkConstants& constants, int nics) {
  if (node.wiring.kind == WiringKind::graph) return completed(node, constants);
  return Expansion(node, constants, nics).graph();
}

}  // namespace wireplan
