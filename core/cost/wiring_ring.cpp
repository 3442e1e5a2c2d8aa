// What all groups of a kind load on the wiring of a node, and the bandwidth that leaves each of them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "core/cost/nccl/group_plans.hpp"
#include "core/cost/wiring_rates.hpp"
#include "core/cost/wiring_search.hpp"

namespace wireplan {
namespace {

using Route = PreparedCluster::Route;

// Classes of ways inside a node, from fast to slow: the slowest a ring takes times it.
constexpr std::array<std::string_view, 7> kClasses = {"nvswitch", "mesh", "xgmi", "bridge", "pcie-switch", "pcie-host", "host-memory"};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Loads {
 public:
  explicit Loads(const PreparedCluster& cluster) : cluster_(cluster), node_(cluster.cluster->node), constants_(*cluster.constants) {
    const std::size_t directions = 2 * cluster.graph.links.size();
    flows.assign(directions, 0);
    class_.assign(directions, 0);
    for (std::size_t c = 0; c < kClasses.size(); ++c) row_[c] = class_row(constants_, kClasses[c], generation_of(kClasses[c], node_));
  }

  // `share` of a flow between two GPUs of a group that has `members` on the node, one direction.
  void add(int from, int to, double share, std::size_t members) {
    const Route& r = cluster_.route(from, to);
    const int c = class_index(from, to, members);
    worst_class = std::max(worst_class, c);
    if (r.kind == PathKind::none) missing = {from, to};
    for (std::uint32_t s = r.first; s < r.first + r.count; ++s) {
      const std::size_t direction = direction_of(cluster_.steps[s]);
      flows[direction] += share;
      class_[direction] = std::max(class_[direction], c);
    }
  }

  struct Tightest {
    double rate = std::numeric_limits<double>::max();
    int link = -1;
  };
  // Least efficiency · rate / flows of all links; the first of equals. A measured rate is what a flow reaches.
  Tightest tightest(bool all_to_all) const {
    Tightest best;
    for (std::size_t d = 0; d < flows.size(); ++d) {
      if (flows[d] <= 0) continue;
      const Link& l = cluster_.graph.links[d / 2];
      const double rate = l.rate.value * (l.measured ? 1 : efficiency(class_[d], all_to_all)) / flows[d];
      if (rate < best.rate) best = {rate, static_cast<int>(d / 2)};
    }
    return best;
  }
  // The same as NCCL's search sees it.
  Tightest planned() const {
    Tightest best;
    for (std::size_t d = 0; d < flows.size(); ++d) {
      if (flows[d] <= 0) continue;
      const double rate = cluster_.graph.links[d / 2].planning.value / flows[d];
      if (rate < best.rate) best = {rate, static_cast<int>(d / 2)};
    }
    return best;
  }

  double efficiency(int c, bool all_to_all) const {
    if (row_[at(c)] < 0) return 0.75;
    const LinkConstants::Class& row = constants_.classes[at(row_[at(c)])];
    return all_to_all ? row.all_to_all_efficiency : row.efficiency;
  }

  // NCCL uses peer access up to one host bridge, and past it only between two GPUs of an AMD host.
  int class_index(int from, int to, std::size_t members) const {
    PathKind kind = cluster_.route(from, to).kind;
    const bool is_amd = node_.cpu.vendor == "amd" || node_.cpu.nccl_class == "amd";
    if ((kind == PathKind::host_bridge || kind == PathKind::sockets) && !cluster_.switches.peers_past_host && !(is_amd && members <= 2))
      kind = PathKind::host_memory;
    const std::string_view name = class_of(kind, node_);
    for (std::size_t c = 0; c < kClasses.size(); ++c)
      if (kClasses[c] == name) return static_cast<int>(c);
    return static_cast<int>(kClasses.size()) - 1;
  }
  int row(int c) const { return row_[at(c)]; }

  std::vector<double> flows;  // per direction of every link
  int worst_class = 0;
  std::array<int, 2> missing{-1, -1};  // two GPUs without any way between them

 private:
  const PreparedCluster& cluster_;
  const Node& node_;
  const LinkConstants& constants_;
  std::vector<int> class_;  // slowest class of the flows on that direction
  std::array<int, kClasses.size()> row_{};
};

// Hosts that share an NVLink domain; 1 where racks play no role.
int domain_hosts(const PreparedCluster& cluster) {
  return cluster.switched ? std::max(1, cluster.cluster->rack_nodes) : 1;
}

void load_switch(const PreparedCluster& cluster, int gpu, Loads& loads) {
  for (std::size_t i = 0; i < cluster.graph.links.size(); ++i) {
    const Link& l = cluster.graph.links[i];
    if (l.a != gpu && l.b != gpu) continue;
    if (cluster.graph.components[at(l.a == gpu ? l.b : l.a)].kind != ComponentKind::nvswitch) continue;
    loads.flows[2 * i] += 1;
    loads.flows[2 * i + 1] += 1;
    return;
  }
}

void name_bottleneck(const PreparedCluster& cluster, const Loads::Tightest& tight, bool host_memory, RingOnWiring& ring) {
  if (tight.link < 0) return;
  const Link& l = cluster.graph.links[at(tight.link)];
  ring.bottleneck_link = tight.link;
  ring.bottleneck_rate = l.planned();
  ring.bottleneck_nominal = l.nominal;
  const std::string link = link_name(cluster.graph, l, cluster.cluster->node);
  if (host_memory) ring.bottleneck = "copies through host memory, " + link;
  else ring.bottleneck = link;
}

std::string listed(const PreparedCluster& cluster, const std::vector<int>& gpus) {
  std::string text;
  for (int g : gpus) text += (text.empty() ? "" : ", ") + cluster.graph.components[at(g)].id;
  return text;
}

// Where copies go through host memory a channel carries so little that NCCL's number of them may bind.
void limit_by_channels(const PreparedCluster& cluster, const Loads::Tightest& planned, int row, RingOnWiring& ring) {
  if (planned.link < 0 || row < 0 || !ring.plan) return;
  const BytesPerSecond most = cluster.constants->classes[at(row)].channel * ring.plan->channels;
  if (most.value <= 0 || most >= ring.bus_bandwidth) return;
  const Link& link = cluster.graph.links[at(planned.link)];
  ring.bus_bandwidth = most;
  ring.bottleneck_rate = link.planned();
  ring.bottleneck_nominal = link.nominal;
  ring.bottleneck_link = planned.link;
  ring.bottleneck = std::to_string(ring.plan->channels) + " channels, all that NCCL plans past " + link_name(cluster.graph, link, cluster.cluster->node);
}

// The part of the ring inside the node (or NVLink domain): orders, loads, bandwidth.
void lay_rings(const PreparedCluster& cluster, const GroupShape& shape, Loads& loads, RingOnWiring& ring) {
  HalfFlows halves(2 * cluster.graph.links.size(), 0);
  Loads of_first(cluster);  // NCCL plans each group without the others
  MeshBound tightest_mesh;
  std::vector<int> mesh_members;
  int mesh_class = 0;
  for (const std::vector<int>& gpus : shape.local) {
    if (cluster.switched && ring.per_node > 1) {
      for (int g : gpus) load_switch(cluster, g, loads);
      if (ring.order.empty()) ring.order = gpus;
      continue;
    }
    const std::vector<int> order = ring_order(cluster, gpus, halves);
    if (ring.order.empty()) ring.order = order;
    if (order.size() < 2) continue;
    const MeshBound mesh = mesh_bound(cluster, order);
    if (mesh.rate.value > 0) {
      mesh_class = loads.class_index(order[0], order[1], order.size());
      for (int a : order) {
        double out = 0;
        for (int b : order) out += cluster.route(a, b).kind == PathKind::nvlink ? cluster.route(a, b).rate.value : 0;
        for (int b : order)
          if (cluster.route(a, b).kind == PathKind::nvlink) loads.add(a, b, cluster.route(a, b).rate.value / out, order.size());
      }
      const BytesPerSecond reached = mesh.rate * loads.efficiency(mesh_class, false);
      if (mesh_members.empty() || mesh.rate < tightest_mesh.rate) {
        tightest_mesh = mesh;
        mesh_members = order;
        ring.bus_bandwidth = reached;
      }
      continue;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int a = order[i], b = order[(i + 1) % order.size()];
      add_edge(cluster, a, b, 1, halves);
      for (Loads* l : {&loads, &of_first}) {
        if (l == &of_first && &gpus != &shape.local.front()) continue;
        l->add(a, b, 0.5, order.size());
        l->add(b, a, 0.5, order.size());
      }
    }
  }
  // Direct links of a mesh share traffic by their rate, so that each alone allows what its GPU can send in all; the cut of the whole
  // mesh may be tighter.
  const Loads::Tightest tight = loads.tightest(false);
  ring.uses_host_memory = kClasses[at(loads.worst_class)] == "host-memory";
  if (!mesh_members.empty() && ring.bus_bandwidth.value <= tight.rate) {
    ring.bottleneck_rate = tightest_mesh.rate;
    ring.bottleneck_nominal = tightest_mesh.nominal;
    if (mesh_members.size() == 2) {
      ring.bottleneck_link = cluster.steps[cluster.route(mesh_members[0], mesh_members[1]).first].link;
      ring.bottleneck = link_name(cluster.graph, cluster.graph.links[at(ring.bottleneck_link)], cluster.cluster->node);
    } else {  // no single link: all that leave one GPU, or one side of a cut
      ring.bottleneck_component = tightest_mesh.tight.empty() ? -1 : tightest_mesh.tight.front();
      ring.bottleneck = (kClasses[at(mesh_class)] == "xgmi" ? "xGMI" : "NVLink") + std::string(" links of ") + listed(cluster, tightest_mesh.tight);
    }
  } else if (tight.link >= 0) {
    ring.bus_bandwidth = BytesPerSecond(tight.rate);
    name_bottleneck(cluster, tight, ring.uses_host_memory, ring);
    limit_by_channels(cluster, of_first.planned(), loads.row(loads.worst_class), ring);
  }
  if (loads.missing[0] >= 0) {
    // validate() refuses such graphs; NCCL's last resort is one channel of 0.1 GB/s.
    ring.bus_bandwidth = BytesPerSecond(1e8);
    ring.bottleneck = "no way between " + listed(cluster, {loads.missing[0], loads.missing[1]});
  }
  for (std::size_t d = 0; d < loads.flows.size(); ++d)
    if (loads.flows[d] > 0) ring.loads.push_back({static_cast<int>(d / 2), d % 2 == 0, loads.flows[d]});
}

// Bandwidth of point-to-point traffic between neighbours in rank order, and of all pairs at once.
void weigh_pairs(const PreparedCluster& cluster, const GroupShape& shape, RingOnWiring& ring) {
  if (cluster.switched) {
    const BytesPerSecond rate = ring.per_node > 1 ? ring.bottleneck_rate : BytesPerSecond{};
    const Loads none(cluster);
    ring.pair_bandwidth = rate * none.efficiency(0, false);
    ring.all_to_all_bandwidth = rate * none.efficiency(0, true);
    return;
  }
  Loads pairs(cluster), all(cluster);
  for (const std::vector<int>& gpus : shape.local) {
    for (std::size_t i = 0; i + 1 < gpus.size(); ++i) {
      pairs.add(gpus[i], gpus[i + 1], 1, gpus.size());
      pairs.add(gpus[i + 1], gpus[i], 1, gpus.size());
    }
    for (int a : gpus)
      for (int b : gpus)
        if (a != b) all.add(a, b, 1.0 / static_cast<double>(gpus.size() - 1), gpus.size());
  }
  const Loads::Tightest pair = pairs.tightest(false), every = all.tightest(true);
  const auto flows_on = [](const Loads& loads, int link) { return std::max(loads.flows[2 * at(link)], loads.flows[2 * at(link) + 1]); };
  if (pair.link >= 0) {
    ring.pair_bandwidth = BytesPerSecond(pair.rate);
    ring.pair_link = pair.link;
    ring.pair_flows = flows_on(pairs, pair.link);
  }
  if (every.link >= 0) {
    ring.all_to_all_bandwidth = BytesPerSecond(every.rate);
    ring.all_to_all_link = every.link;
    ring.all_to_all_flows = flows_on(all, every.link);
  }
  if (pairs.missing[0] >= 0 || all.missing[0] >= 0) ring.pair_bandwidth = ring.all_to_all_bandwidth = BytesPerSecond(1e8);
}

// The network: what the groups' NICs carry for each of them, and their load.
//   W = NICs · rate · efficiency · share / groups,  share = min(1, max(used GPUs / GPUs of the node, 1 / NICs))
// A ring reaches only the NICs near its GPUs. Source: fitted on [published-nccl-tests]. Traffic of NICs on PCIe links inside the
// node is not counted (provisional).
void add_network(const PreparedCluster& cluster, const GroupShape& shape, RingOnWiring& ring) {
  const Network& net = *cluster.cluster->network;
  const int hosts = domain_hosts(cluster), groups = std::max<int>(1, static_cast<int>(shape.local.size()));
  std::size_t used = 0;
  for (const std::vector<int>& g : shape.local) used += g.size();
  const double nics = std::max(1, net.nics_per_node);
  const double share = std::min(1.0, std::max(static_cast<double>(used) / std::max(1, cluster.cluster->node.gpus), 1 / nics));
  ring.fabric_row = fabric_row(*cluster.constants, net);
  static constexpr LinkConstants::FabricRate kUnknown;
  const LinkConstants::FabricRate& fabric = ring.fabric_row >= 0 ? cluster.constants->fabrics[at(ring.fabric_row)] : kUnknown;
  const double reached = fabric.efficiency;
  BytesPerSecond node_rate = net.nic_rate * nics * share;
  if (fabric.most.value > 0) node_rate = std::min(node_rate, fabric.most / reached);
  if (!net.gpudirect) {
    const Node& node = cluster.cluster->node;
    const BytesPerSecond staged = pcie_rates(pcie_generation_of(node), node.gpu.pcie_lanes, *cluster.constants).planning * cluster.constants->staged_of_pcie;
    node_rate = std::min(node_rate, staged * static_cast<double>(std::max<std::size_t>(1, used)) / reached);
  }
  const double slowed = reached / std::max(1.0, net.oversubscription);
  ring.network_bandwidth = node_rate * slowed * hosts / groups;

  const BytesPerSecond nic_pair = std::min(net.nic_rate * slowed, ring.network_bandwidth);  // a pair of ranks sees one NIC
  if (ring.pair_bandwidth.value <= 0 || nic_pair <= ring.pair_bandwidth) ring.pair_link = -1;
  ring.pair_bandwidth = ring.pair_bandwidth.value > 0 ? std::min(ring.pair_bandwidth, nic_pair) : nic_pair;
  if (ring.bus_bandwidth.value == 0 || ring.network_bandwidth < ring.bus_bandwidth) {
    ring.bus_bandwidth = ring.network_bandwidth;
    ring.link_class = "network";
    ring.bottleneck = network_name(net);
    ring.bottleneck_link = ring.bottleneck_component = -1;
    ring.bottleneck_rate = ring.bottleneck_nominal = node_rate;
  }

  std::vector<int> links;
  for (std::size_t i = 0; i < cluster.graph.links.size(); ++i) {
    const Link& l = cluster.graph.links[i];
    for (int end : {l.a, l.b})
      if (cluster.graph.components[at(end)].kind == ComponentKind::nic) links.push_back(static_cast<int>(i));
  }
  const std::size_t busy = std::min(links.size(), static_cast<std::size_t>(nics * share + 0.999));
  for (std::size_t i = 0; i < busy; ++i)
    for (bool forward : {true, false}) ring.loads.push_back({links[i], forward, static_cast<double>(groups) / static_cast<double>(busy) / hosts});
}

RingOnWiring laid_ring(const PreparedCluster& cluster, const GroupShape& shape, std::shared_ptr<const nccl::Decision> plan) {
  RingOnWiring ring;
  if (shape.ranks < 2) return ring;
  ring.plan = std::move(plan);
  ring.is_plain_order = ring.plan && ring.plan->ring.is_plain_order;
  const int hosts = std::min(domain_hosts(cluster), std::max(1, shape.nodes));
  ring.per_node = std::min(shape.ranks, std::max(1, shape.per_node) * hosts);
  ring.nodes = (std::max(1, shape.nodes) + hosts - 1) / hosts;

  Loads loads(cluster);
  lay_rings(cluster, shape, loads, ring);
  ring.class_row = ring.per_node > 1 ? loads.row(loads.worst_class) : class_row(*cluster.constants, "network", 0);
  ring.link_class = ring.per_node > 1 ? kClasses[at(loads.worst_class)] : std::string_view("network");
  weigh_pairs(cluster, shape, ring);
  ring.node_bandwidth = ring.bus_bandwidth;
  if (ring.nodes > 1 && cluster.cluster->network) add_network(cluster, shape, ring);
  return ring;
}

}  // namespace

RingOnWiring ring_on_wiring(const PreparedCluster& cluster, const GroupShape& shape) {
  return laid_ring(cluster, shape, cluster.plans ? cluster.plans->of(shape, cluster.switched) : nullptr);
}

RingOnWiring unplanned_ring(const PreparedCluster& cluster, const GroupShape& shape) { return laid_ring(cluster, shape, nullptr); }

BytesPerSecond bandwidth_of(const RingOnWiring& ring, Collective collective) {
  if (collective == Collective::all_to_all) return ring.all_to_all_bandwidth;
  return collective == Collective::send_recv ? ring.pair_bandwidth : ring.bus_bandwidth;
}

}  // namespace wireplan
