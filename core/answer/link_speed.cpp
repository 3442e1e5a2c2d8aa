#include "core/answer/link_speed.hpp"

#include <algorithm>

#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

// Powers of two, so that a rate found with one is exact when taken back.
constexpr double kFar = 0x1p20;

BytesPerSecond least(BytesPerSecond a, BytesPerSecond limit) { return limit.value > 0 ? std::min(a, limit) : a; }

}  // namespace

LinkLimits::LinkLimits(const PreparedCluster& cluster)
    : constants_(*cluster.constants), alone_(*cluster.cluster), slow_(alone_), fast_(alone_), inside_(cluster), slowly_(cluster), fast_prepared_(cluster) {
  constants_.tables.clear();
  if (const std::optional<Network>& network = cluster.cluster->network) {
    const int row = fabric_row(constants_, *network);
    if (row >= 0) {
      LinkConstants::FabricRate fabric = constants_.fabrics[static_cast<std::size_t>(row)];
      fabric.node_from = fabric.nic_from = {};
      constants_.fabrics = {fabric};
    }
    slow_.network->nic_rate = network->nic_rate / kFar;
    fast_.network->nic_rate = network->nic_rate * kFar;
  }
  alone_.network.reset();
  for (const auto& [prepared, stated] : {std::pair(&inside_, &alone_), std::pair(&slowly_, &slow_), std::pair(&fast_prepared_, &fast_)}) {
    prepared->cluster = stated;
    prepared->constants = &constants_;
    prepared->own_tables.clear();
  }
}

RingLimits LinkLimits::of(const Plan& plan, const MessageCost& message) const {
  RingLimits limits;
  limits.kind = message.message.group;
  const GroupShape shape = group_shape(plan, limits.kind);
  const RingOnWiring alone = inside(shape);
  limits.inside = alone.node_bandwidth;
  limits.pair_inside = alone.pair_bandwidth;
  limits.all_to_all = alone.all_to_all_bandwidth;
  if (message.ring.node_bandwidth < limits.inside) limits.channels = message.ring.node_bandwidth;
  if (message.ring.network_bandwidth.value > 0) {
    const RingOnWiring slow = unplanned_ring(slowly_, shape);
    limits.network = slow.network_bandwidth * kFar;
    limits.pair_network = slow.pair_bandwidth * kFar;
    limits.network_most = unplanned_ring(fast_prepared_, shape).network_bandwidth;
    // A code base may reach less of the NICs than their groups could; the step's ring says what.
    const BytesPerSecond whole = std::min(limits.network, limits.network_most), reached = message.ring.network_bandwidth;
    if (reached != whole) {
      const bool by_nics = limits.network <= limits.network_most;
      const double share = reached / whole;
      limits.network = by_nics ? reached : limits.network * share;
      limits.network_most = by_nics ? limits.network_most * share : reached;
    }
  }
  return limits;
}

void RingLimits::apply(double inside_factor, double network_factor, RingOnWiring& ring) const {
  ring.node_bandwidth = least(inside * inside_factor, channels);
  ring.all_to_all_bandwidth = all_to_all * inside_factor;
  ring.pair_bandwidth = pair_inside * inside_factor;
  ring.bus_bandwidth = ring.node_bandwidth;
  if (network.value <= 0) return;
  ring.network_bandwidth = std::min(network * network_factor, network_most);
  const BytesPerSecond pair = std::min(pair_network * network_factor, network_most);
  ring.pair_bandwidth = ring.pair_bandwidth.value > 0 ? std::min(ring.pair_bandwidth, pair) : pair;
  ring.bus_bandwidth = ring.bus_bandwidth.value > 0 ? std::min(ring.bus_bandwidth, ring.network_bandwidth) : ring.network_bandwidth;
}

StepOnLinks::StepOnLinks(const Plan& plan, const Estimate& estimate, const PreparedCluster& cluster, const LinkLimits& limits, const Constants& constants)
    : plan_(plan), cluster_(cluster), constants_(constants), cost_(estimate.cost) {
  for (const MessageCost& m : cost_.messages) {
    std::size_t ring = 0;
    while (ring < limits_.size() && limits_[ring].kind != m.message.group) ++ring;
    if (ring == limits_.size()) {
      limits_.push_back(limits.of(plan, m));
      rings_.push_back(m.ring);
    }
    calls_.push_back({m.call.time, formula(m, m.ring), ring});
  }
}

Seconds StepOnLinks::formula(const MessageCost& m, const RingOnWiring& ring) const {
  return collective_formula(cluster_, ring, m.message.collective, m.ranks, m.message.bytes).time.value;
}

double StepOnLinks::bound_from(LinkPlace place) const {
  double factor = kNeverBound;
  for (const RingLimits& l : limits_) {
    const BytesPerSecond links = place == LinkPlace::node ? l.inside : l.network, most = place == LinkPlace::node ? l.channels : l.network_most;
    if (links.value > 0 && most.value > 0) factor = std::min(factor, most / links);
  }
  return factor;
}

StepOnLinks::Times StepOnLinks::at(LinkPlace place, double factor) {
  for (std::size_t i = 0; i < rings_.size(); ++i) limits_[i].apply(place == LinkPlace::node ? factor : 1, place == LinkPlace::network ? factor : 1, rings_[i]);
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    MessageCost& m = cost_.messages[i];
    const Call& call = calls_[i];
    const double moved = call.formula.value > 0 ? formula(m, rings_[call.ring]) / call.formula : 1;
    m.call.time = {call.time.low * moved, call.time.value * moved, call.time.high * moved};
  }
  settle(plan_, constants_.efficiency, cost_);
  return {cost_.time.value, cost_.exposed_communication};
}

}  // namespace wireplan
