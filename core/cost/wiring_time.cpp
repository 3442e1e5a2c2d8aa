// Time of one collective on a laid ring; the formula stands in wiring.hpp.
#include <algorithm>

#include "core/base/math.hpp"
#include "core/cost/wiring.hpp"

namespace wireplan {
namespace {

// Ring steps of the low-latency protocol on g GPUs.
double steps_of(Collective collective, int g) {
  if (g < 2) return 0;
  switch (collective) {
    case Collective::all_reduce: return 2.0 * (g - 1);
    case Collective::all_to_all: return 1.5 + 0.35 * (g - 2);  // pairs run side by side
    case Collective::send_recv: return 1;
    default: return g - 1;
  }
}

// V over the bandwidth of the call. all_to_all over several nodes: the part to other nodes over the NICs, the part inside behind it.
Seconds wire_time(const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  const double n = ranks, g = ring.per_node;
  const Bytes moved = bus_factor(collective, ranks) * size;
  if (ring.nodes <= 1) return moved / bandwidth_of(ring, collective);
  const double remote = 1 - 1.0 / ring.nodes;
  if (collective == Collective::all_to_all) {
    const Seconds across = size * (remote * g) / ring.network_bandwidth;
    return g > 1 && ring.all_to_all_bandwidth.value > 0 ? across + size * ((g - 1) / n) / ring.all_to_all_bandwidth : across;
  }
  // scatter and gather: only what leaves the node crosses the NICs.
  if (collective == Collective::scatter || collective == Collective::gather) {
    const Seconds across = size * remote / ring.network_bandwidth;
    return ring.link_class == "network" ? across : std::max(across, moved / ring.bus_bandwidth);
  }
  return moved / bandwidth_of(ring, collective);
}

}  // namespace

CollectiveParts collective_parts(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, int nodes, Bytes size) {
  CollectiveParts parts;
  if (ranks < 2 || ring.class_row < 0 || ring.bus_bandwidth.value <= 0) return parts;
  const LinkConstants::Class& c = cluster.constants->classes[static_cast<std::size_t>(ring.class_row)];
  const double k = steps_of(collective, ring.per_node);
  const Bytes moved = bus_factor(collective, ranks) * size;
  parts.start = c.launch + c.hop * k;
  parts.wire = wire_time(ring, collective, ranks, size);
  parts.band = c.band;

  if (ring.nodes > 1 && nodes > 1) {
    static constexpr LinkConstants::FabricRate kUnknown;
    const LinkConstants::FabricRate& fabric = ring.fabric_row >= 0 ? cluster.constants->fabrics[static_cast<std::size_t>(ring.fabric_row)] : kUnknown;
    const double passes = collective == Collective::all_reduce ? 1 : 0.6, far = log2_of(ring.nodes);
    parts.network = fabric.latency * ((1.6 + far) * passes);
    if (moved.value > 0) parts.fill = fabric.fill * ((1 + far) / 2 * passes) * (moved / (moved + fabric.fill_bytes));
    for (const LinkConstants::Class& network : cluster.constants->classes)
      if (network.name == "network") parts.band = std::max(parts.band, network.band);
    return parts;
  }

  if (collective != Collective::send_recv && c.copy.value > 0) parts.copy = size / ranks / c.copy;
  const bool all_to_all = collective == Collective::all_to_all;
  const Seconds fill = all_to_all ? c.all_to_all_fill : c.fill + c.fill_per_step * k;
  const double share = all_to_all ? c.all_to_all_low_latency_share : c.low_latency_share;
  if (fill.value > 0 && share > 0 && share < 1 && moved.value > 0) {
    const Bytes half = bandwidth_of(ring, collective) * fill / (1 / share - 1);
    parts.fill = fill * (moved / (moved + half));
  }
  return parts;
}

Range<Seconds> collective_time(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, int nodes, Bytes size) {
  return collective_parts(cluster, ring, collective, ranks, nodes, size).range();
}

}  // namespace wireplan
