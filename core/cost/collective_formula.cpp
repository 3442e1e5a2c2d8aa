// Time of one collective on a laid ring; the formulas stand in collective.hpp.
#include <algorithm>
#include <optional>

#include "core/base/math.hpp"
#include "core/cost/collective.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

using Class = LinkConstants::Class;
using FabricRate = LinkConstants::FabricRate;

bool is_direct(Collective c) {
  return c == Collective::send_recv || c == Collective::all_to_all || c == Collective::scatter || c == Collective::gather;
}

bool goes_one_way(Collective c) {
  return c == Collective::broadcast || c == Collective::reduce || c == Collective::scatter || c == Collective::gather;
}

std::optional<nccl::Operation> operation_of(Collective c) {
  switch (c) {
    case Collective::all_reduce: return nccl::Operation::all_reduce;
    case Collective::all_gather: return nccl::Operation::all_gather;
    case Collective::reduce_scatter: return nccl::Operation::reduce_scatter;
    case Collective::broadcast: return nccl::Operation::broadcast;
    case Collective::reduce: return nccl::Operation::reduce;
    default: return std::nullopt;  // NCCL builds them of send and recv
  }
}

Algorithm algorithm_of(nccl::Algorithm a) {
  switch (a) {
    case nccl::Algorithm::tree: return Algorithm::tree;
    case nccl::Algorithm::ring: return Algorithm::ring;
    case nccl::Algorithm::nvls: return Algorithm::nvls;
    case nccl::Algorithm::nvls_tree: return Algorithm::nvls_tree;
    case nccl::Algorithm::pat: return Algorithm::pat;
  }
  return Algorithm::ring;
}

// What NCCL takes for a call, where it is known.
std::optional<nccl::Choice> choice_of(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, Bytes size) {
  const auto operation = operation_of(collective);
  if (!ring.plan || !operation) return std::nullopt;
  std::optional<nccl::Algorithm> only;
  if (const auto& fixed = cluster.switches.algorithm) only = value_named<nccl::Algorithm>(name_of(*fixed));
  const nccl::Choice choice = nccl::choice_at(*ring.plan, *cluster.constants->nccl, *operation, size.value, only);
  if (choice.is_none) return std::nullopt;
  return choice;
}

void show(const nccl::Choice& choice, const RingOnWiring& ring, Collective collective, Bytes size, CollectiveCall& call) {
  call.algorithm = algorithm_of(choice.algorithm);
  call.protocol = static_cast<Protocol>(choice.protocol);
  const nccl::Decision::Cost& cost = ring.plan->cost(*operation_of(collective), choice.algorithm, choice.protocol);
  call.nccl = {choice.channels, Seconds(cost.latency_us * 1e-6), size / BytesPerSecond(cost.rate * 1e9)};
}

struct Asked {
  const PreparedCluster& cluster;
  const RingOnWiring& ring;
  Collective collective;
  int ranks;
  Bytes size, moved;  // S, V
  const Class& row;
  const std::optional<nccl::Choice>& choice;
};

// The fill of the bandwidth protocol, F·V/(V + v0); `low_latency` where less than half of it is spent.
Seconds fill_of(Seconds fill, double share, BytesPerSecond bandwidth, Bytes moved, bool& low_latency) {
  if (fill.value <= 0 || share <= 0 || share >= 1 || moved.value <= 0) return {};
  const Bytes half = bandwidth * fill / (1 / share - 1);
  low_latency = moved < half;
  return fill * (moved / (moved + half));
}

// Wire and fill by the protocol that NCCL takes.
void by_protocol(const Asked& a, BytesPerSecond bandwidth, Seconds fill, double steps, CollectiveCall& call) {
  const Class& c = a.row;
  const LinkConstants& k = *a.cluster.constants;
  switch (a.choice->protocol) {
    case nccl::Protocol::ll: {
      const BytesPerSecond channels = c.low_latency_channel * a.choice->channels, low = bandwidth * c.low_latency_share;
      call.parts.wire = a.moved / (channels.value > 0 ? std::min(low, channels) : low);
      return;
    }
    case nccl::Protocol::ll128:
      call.parts.wire = a.moved / (bandwidth * k.ll128_share);
      call.parts.fill = fill * k.ll128_fill;
      return;
    case nccl::Protocol::simple:
      if (a.ring.is_plain_order) call.parts.start += c.hop * (steps * (k.plain_order_hop - 1));
      else call.parts.fill = fill;
      return;
  }
}

CollectiveCall inside_one_node(const Asked& a) {
  CollectiveCall call;
  const Class& c = a.row;
  const double k = ring_steps(a.collective, a.ring.per_node);
  BytesPerSecond bandwidth = bandwidth_of(a.ring, a.collective);
  if (a.ranks == 2 && goes_one_way(a.collective)) bandwidth = bandwidth * c.one_way;
  call.parts.start = launch_of(c, a.cluster.cluster->node.gpu) + c.hop * k;
  call.parts.wire = a.moved / bandwidth;
  if (a.collective != Collective::send_recv && c.copy.value > 0) call.parts.copy = a.size / a.ranks / c.copy;
  const Seconds fill = c.fill + c.fill_per_step * k;
  if (a.choice) {
    by_protocol(a, bandwidth, fill, k, call);
    return call;
  }
  const bool all_to_all = a.collective == Collective::all_to_all;
  bool low_latency = false;
  call.parts.fill = fill_of(all_to_all ? c.all_to_all_fill : fill, all_to_all ? c.all_to_all_low_latency_share : c.low_latency_share, bandwidth, a.moved, low_latency);
  call.algorithm = is_direct(a.collective) ? Algorithm::direct : Algorithm::ring;
  call.protocol = low_latency ? Protocol::ll : Protocol::simple;
  return call;
}

CollectiveCall in_the_switch(const Asked& a) {
  CollectiveCall call;
  const Class& c = a.row;
  const BytesPerSecond link = a.ring.bus_bandwidth / c.efficiency;
  call.parts.start = launch_of(c, a.cluster.cluster->node.gpu) + c.hop * std::min(14.0, ring_steps(a.collective, a.ring.per_node));
  if (a.moved.value > 0) call.parts.fill = c.nvls_fill * power(a.ranks / 8.0, 0.45) * (a.moved / (a.moved + a.cluster.constants->nvls_fill_bytes));
  call.parts.wire = a.moved / (link * c.nvls_efficiency);
  call.algorithm = Algorithm::nvls;
  return call;
}

// Reducing in the switch came with NVLink 4.
bool reduces_in_switch(const Class& row, const Gpu& gpu) { return row.nvls_efficiency > 0 && gpu.nvlink_generation >= 4 && !gpu.is_xgmi; }

// The rate of all that is in a node's way of one group, without the network.
BytesPerSecond inside_of(const RingOnWiring& ring) { return ring.per_node > 1 ? ring.node_bandwidth : ring.network_bandwidth; }

CollectiveCall over_several_nodes(const Asked& a, const FabricRate& fabric, bool by_tree) {
  CollectiveCall call;
  const Class& c = a.row;
  const RingOnWiring& ring = a.ring;
  const double n = a.ranks, g = ring.per_node, far = log2_of(ring.nodes), remote = 1 - 1.0 / ring.nodes;
  const double passes = a.collective == Collective::all_reduce ? 1 : 0.6;
  call.algorithm = is_direct(a.collective) ? Algorithm::direct : Algorithm::ring;
  call.parts.start = launch_of(c, a.cluster.cluster->node.gpu) + c.hop * ring_steps(a.collective, ring.per_node);
  call.parts.network = fabric.latency * ((1.6 + far) * passes);
  if (a.moved.value > 0) call.parts.fill = fabric.fill * ((1 + far) / 2 * passes) * (a.moved / (a.moved + fabric.fill_bytes));
  call.protocol = a.moved < fabric.fill_bytes ? Protocol::ll128 : Protocol::simple;
  const BytesPerSecond across = ring.network_bandwidth;
  switch (a.collective) {
    case Collective::all_to_all:
      call.parts.wire = a.size * (remote * g) / across;
      if (g > 1 && ring.all_to_all_bandwidth.value > 0) call.parts.wire += a.size * ((g - 1) / n) / ring.all_to_all_bandwidth;
      return call;
    case Collective::scatter: case Collective::gather:  // only what leaves the node crosses the NICs
      call.parts.wire = std::max(a.size * remote / across, a.moved / inside_of(ring));
      return call;
    case Collective::send_recv: call.parts.wire = a.moved / ring.pair_bandwidth; return call;
    default: break;
  }
  BytesPerSecond bandwidth = std::min(across, inside_of(ring));
  if (by_tree) {
    // Each node sends the message once up and down the tree, so two nodes reach f times what their NICs carry.
    const bool nvls = reduces_in_switch(c, a.cluster.cluster->node.gpu);
    const BytesPerSecond inside = ring.per_node < 2 ? across : nvls ? ring.node_bandwidth * (c.nvls_efficiency / c.efficiency) : ring.node_bandwidth * 0.95;
    const BytesPerSecond tree = std::min(across * (bus_factor(a.collective, a.ranks) * (ring.nodes == 2 ? 1 : 0.5)), inside);
    if (tree > bandwidth) {
      bandwidth = tree;
      call.algorithm = nvls ? Algorithm::nvls_tree : Algorithm::tree;
    }
  }
  call.parts.wire = a.moved / bandwidth;
  return call;
}

}  // namespace

double ring_steps(Collective collective, int g) {
  if (g < 2) return 0;
  switch (collective) {
    case Collective::all_reduce: return 2.0 * (g - 1);
    case Collective::all_to_all: return 1.5 + 0.35 * (g - 2);  // pairs run side by side
    case Collective::send_recv: return 1;
    default: return g - 1;
  }
}

bool takes_trees(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective) {
  if (collective != Collective::all_reduce || ring.class_row < 0) return false;
  if (const auto& fixed = cluster.switches.algorithm) return *fixed == Algorithm::tree || *fixed == Algorithm::nvls_tree;
  const Fabric fabric = cluster.cluster->network ? cluster.cluster->network->fabric : Fabric::infiniband;
  const Gpu& gpu = cluster.cluster->node.gpu;
  return (gpu.nvlink_generation >= 4 && !gpu.is_xgmi) || fabric == Fabric::efa || fabric == Fabric::tcpxo;
}

CollectiveCall collective_formula(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  CollectiveCall call;
  if (ranks < 2 || ring.class_row < 0 || ring.bus_bandwidth.value <= 0) return call;
  const Class& row = cluster.constants->classes[static_cast<std::size_t>(ring.class_row)];
  const std::optional<nccl::Choice> choice = choice_of(cluster, ring, collective, size);
  const Asked asked{cluster, ring, collective, ranks, size, bus_factor(collective, ranks) * size, row, choice};
  if (ring.nodes > 1) {
    static constexpr FabricRate kUnknown;
    const FabricRate& fabric = ring.fabric_row >= 0 ? cluster.constants->fabrics[static_cast<std::size_t>(ring.fabric_row)] : kUnknown;
    call = over_several_nodes(asked, fabric, takes_trees(cluster, ring, collective));
  } else if (choice) {
    call = choice->algorithm == nccl::Algorithm::nvls && row.nvls_efficiency > 0 ? in_the_switch(asked) : inside_one_node(asked);
  } else {
    call = inside_one_node(asked);
    const bool nvls = collective == Collective::all_reduce && reduces_in_switch(row, cluster.cluster->node.gpu) && cluster.switches.nvls && ranks >= 5 &&
                      cluster.switches.algorithm.value_or(Algorithm::nvls) == Algorithm::nvls;
    if (nvls) {
      const CollectiveCall in_switch = in_the_switch(asked);
      if (in_switch.parts.total() < call.parts.total()) call = in_switch;
    }
  }
  if (choice) show(*choice, ring, collective, size, call);
  const Node& node = cluster.cluster->node;
  if (node.launch == "single-process") call.parts.start += cluster.constants->launch_per_gpu * std::max(0, std::min(ranks, ring.per_node) - 2);
  call.time = {call.parts.total(), call.parts.total(), call.parts.total()};
  return call;
}

}  // namespace wireplan
