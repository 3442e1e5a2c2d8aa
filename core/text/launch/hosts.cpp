#include "core/text/launch/hosts.hpp"

#include <algorithm>
#include <utility>

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Two-socket trays of a rack that is drawn as one node, as NCCL counts hosts (core/cost/nccl/machine_of_cluster.cpp).
int trays_of(const Node& node) { return node.wiring.kind == WiringKind::nvswitch && node.sockets > 8 && node.gpus % (node.sockets / 2) == 0 ? node.sockets / 2 : 1; }

// The CPU a GPU of a graph hangs below, over PCIe or C2C.
int numa_above(const WiringGraph& graph, int gpu) {
  std::vector<int> seen{gpu};
  for (std::size_t next = 0; next < seen.size(); ++next) {
    const Component& c = graph.components[at(seen[next])];
    if (c.kind == ComponentKind::cpu) return c.numa;
    for (const Link& l : graph.links) {
      if (l.kind != LinkKind::pcie && l.kind != LinkKind::c2c) continue;
      const int other = l.a == seen[next] ? l.b : l.b == seen[next] ? l.a : -1;
      if (other < 0 || std::find(seen.begin(), seen.end(), other) != seen.end()) continue;
      const ComponentKind kind = graph.components[at(other)].kind;
      if (kind == ComponentKind::cpu || kind == ComponentKind::root || kind == ComponentKind::pcie_switch) seen.push_back(other);
    }
  }
  return -1;
}

std::vector<int> numa_of_gpus(const Node& node) {
  std::vector<int> numa(at(node.gpus), -1);
  if (node.wiring.kind == WiringKind::graph) {
    const WiringGraph& graph = node.wiring.graph;
    for (int gpu = 0; gpu < node.gpus && at(gpu) < graph.components.size(); ++gpu) {
      const Component& c = graph.components[at(gpu)];
      numa[at(gpu)] = c.numa >= 0 ? c.numa : numa_above(graph, gpu);
    }
    return numa;
  }
  for (const PcieGroup& g : node.wiring.groups)
    for (const int gpu : g.gpus)
      if (gpu >= 0 && gpu < node.gpus) numa[at(gpu)] = g.numa;
  return numa;
}

bool is_assumed(const Node& node, std::string_view path) {
  for (const Assumption& a : node.assumed)
    if (a.path == path) return true;
  return false;
}

void find_numa(const Node& node, int trays, Hosts& hosts) {
  if (node.sockets < 2 && node.numa_nodes < 2) return;
  if (node.wiring.groups.empty() && node.wiring.kind != WiringKind::graph) {
    hosts.numa_unknown = "the node does not say which GPU hangs on which NUMA node";
    return;
  }
  if (trays == 1 && (is_assumed(node, "wiring") || is_assumed(node, "wiring.groups"))) {
    hosts.numa_unknown = "which GPU hangs on which NUMA node is assumed for this node, not known; wireplan topology detect says it on the machine";
    return;
  }
  std::vector<int> numa = numa_of_gpus(node);
  numa.resize(at(hosts.gpus));  // of the first tray; the others number theirs alike
  if (std::find(numa.begin(), numa.end(), -1) != numa.end()) {
    hosts.numa_unknown = "the wiring does not say the NUMA node of every GPU";
    return;
  }
  if (trays > 1) {
    const int first = *std::min_element(numa.begin(), numa.end());
    for (int& n : numa) n -= first;
  }
  if (*std::min_element(numa.begin(), numa.end()) != *std::max_element(numa.begin(), numa.end())) hosts.numa = std::move(numa);
}

void find_visible(const Plan& plan, Hosts& hosts) {
  const Cluster& c = plan.cluster;
  const std::vector<int>& placement = plan.parallel.placement;
  std::vector<int> first;
  if (placement.empty()) {
    if (!c.gpus.empty()) first = used_gpus(c);
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i] != static_cast<int>(i)) {
        hosts.visible.push_back(std::move(first));
        break;
      }
    return;
  }
  bool alike = true, plain = true;
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const int host = static_cast<int>(rank) / hosts.used, gpu = placement[rank];
    if (gpu / hosts.used != host) {
      hosts.fault_path = "parallel.placement";
      hosts.fault = "rank " + std::to_string(rank) + " is to sit on GPU " + std::to_string(gpu) + ", on node " + std::to_string(gpu / hosts.used) +
                    "; launchers number processes host by host, so it starts on node " + std::to_string(host);
      hosts.visible.clear();
      return;
    }
    if (static_cast<int>(rank) % hosts.used == 0) hosts.visible.emplace_back();
    const int own = hosts.per_node > 1 ? gpu % hosts.used : used_gpu(c, gpu % hosts.used);
    plain = plain && own == static_cast<int>(rank) % hosts.used;
    hosts.visible.back().push_back(own);
  }
  for (const std::vector<int>& list : hosts.visible) alike = alike && list == hosts.visible.front();
  if (plain) hosts.visible.clear();
  else if (alike) hosts.visible.resize(1);
}

}  // namespace

Hosts hosts_of(const Plan& plan) {
  const Cluster& c = plan.cluster;
  Hosts hosts;
  const int trays = trays_of(c.node);
  hosts.gpus = c.node.gpus / trays;
  hosts.used = c.gpus_per_node;
  if (trays > 1 && c.gpus_per_node > hosts.gpus) {
    hosts.per_node = (c.gpus_per_node + hosts.gpus - 1) / hosts.gpus;
    hosts.used = hosts.gpus;
    if (c.gpus_per_node % hosts.gpus != 0 || !c.gpus.empty()) {
      hosts.fault_path = c.gpus.empty() ? "cluster.gpus_per_node" : "cluster.gpus";
      hosts.fault = "a rack is " + std::to_string(trays) + " hosts of " + std::to_string(hosts.gpus) + " GPUs, and a launcher starts as many processes on each";
    }
  }
  hosts.count = c.nodes * hosts.per_node;
  hosts.in_domain = hosts.per_node * std::max(1, c.rack_nodes);
  if (hosts.fault.empty()) find_visible(plan, hosts);
  find_numa(c.node, trays, hosts);
  return hosts;
}

int segment_of(int hosts, int in_domain) {
  for (int n = std::min(hosts, in_domain); n > 1; --n)
    if (hosts % n == 0) return n;
  return 1;
}

}  // namespace wireplan
