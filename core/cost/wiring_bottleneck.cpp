// What binds a collective on a laid ring, in words and rates.
#include <algorithm>
#include <cstddef>

#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Bottleneck of_link(const WiringGraph& graph, const Cluster& cluster, const RingOnWiring& ring, int link, double flows) {
  const Link& l = graph.links[at(link)];
  return {(ring.uses_host_memory ? "copies through host memory, " : "") + link_name(graph, l, cluster.node), link, l.planned(), l.nominal, flows, false};
}

Bottleneck of_network(const Network& network, BytesPerSecond rate) { return {network_name(network), -1, rate, rate, 1, true}; }

Bottleneck of_ring(const RingOnWiring& ring) {
  Bottleneck b{ring.bottleneck, ring.bottleneck_link, ring.bottleneck_rate, ring.bottleneck_nominal, 1, ring.link_class == "network" && ring.bottleneck_link < 0};
  for (const LinkLoad& load : ring.loads)
    if (load.link == ring.bottleneck_link && !b.is_network) b.flows = std::max(b.flows, load.flows);
  return b;
}

}  // namespace

Bottleneck bottleneck_of(const WiringGraph& graph, const Cluster& cluster, const RingOnWiring& ring, Collective collective) {
  const bool is_across = ring.nodes > 1 && cluster.network;
  if (collective == Collective::send_recv && ring.pair_link >= 0) return of_link(graph, cluster, ring, ring.pair_link, ring.pair_flows);
  if (collective == Collective::send_recv && is_across) return of_network(*cluster.network, cluster.network->nic_rate);  // a pair of ranks sees one NIC
  if (collective == Collective::all_to_all && is_across) return of_network(*cluster.network, cluster.network->nic_rate * cluster.network->nics_per_node);
  if (collective == Collective::all_to_all && ring.all_to_all_link >= 0) return of_link(graph, cluster, ring, ring.all_to_all_link, ring.all_to_all_flows);
  return of_ring(ring);
}

}  // namespace wireplan
