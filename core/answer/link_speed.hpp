// The step of a plan on links that are faster or slower than those of its machine.
//
// Notation: x factor on a link's bandwidth. B, W and the parts of a call's time as in cost/collective.hpp.
#pragma once

#include <vector>

#include "core/answer/estimate.hpp"
#include "core/count/groups.hpp"

namespace wireplan {

// Which links: all inside a node (NVLink, PCIe, between sockets), or the NICs.
enum class LinkPlace : unsigned char { node, network };
template <> inline constexpr std::array<std::string_view, 2> kNames<LinkPlace> = {"node", "network"};

// What rings of one kind of group may pass around by the links inside the node, by the NICs, and by what is neither.
struct RingLimits {
  GroupKind kind{};
  BytesPerSecond inside, pair_inside, all_to_all;  // proportional to the links inside the node
  BytesPerSecond channels;                         // what NCCL's channels carry inside the node, 0: not the limit
  BytesPerSecond network, pair_network;            // proportional to the NICs, 0 on one node
  BytesPerSecond network_most;                     // of the fabric, and of copies to the NICs through host memory
  // The bandwidths of `ring` with links inside the node and NICs so much faster.
  void apply(double inside_factor, double network_factor, RingOnWiring& ring) const;
};

// A prepared cluster as it is, without its network, and with NICs so slow or so fast that they always or never bind.
class LinkLimits {
 public:
  explicit LinkLimits(const PreparedCluster& cluster);
  LinkLimits(const LinkLimits&) = delete;
  LinkLimits& operator=(const LinkLimits&) = delete;
  RingLimits of(const Plan& plan, const MessageCost& message) const;
  // The ring inside the node alone, for its bottleneck there.
  RingOnWiring inside(const GroupShape& shape) const { return unplanned_ring(inside_, shape); }

 private:
  LinkConstants constants_;  // without tables; the one row of the fabric holds at every rate
  Cluster alone_, slow_, fast_;
  PreparedCluster inside_, slowly_, fast_prepared_;
};

// what: the step on links x times as fast.
// formula: of each call  t(x) = t · T(x)/T  with T the formula of collective_formula() on the rings' scaled bandwidths; then settle().
// where: t, and with it what measured tables or a profile say over the formula at this size, is that of the machine as it is; so are NCCL's
// choice of algorithm, protocol and channels, latencies, and the constants that were fitted for these links.
// valid: x > 0; x = 1 gives the estimate, to the last bit. Falls monotonically in x.  kind: estimate, the less sure the farther x is from 1.
// test: link_speed_test.cpp.
class StepOnLinks {
 public:
  StepOnLinks(const Plan& plan, const Estimate& estimate, const PreparedCluster& cluster, const LinkLimits& limits, const Constants& constants);
  struct Times { Seconds step, exposed; };
  Times at(LinkPlace place, double factor);
  // From this factor on something else than these links binds some group: copies to NICs through host memory, what the fabric reaches in
  // all, the channels that NCCL plans. kNeverBound: nothing.
  static constexpr double kNeverBound = 1e30;
  double bound_from(LinkPlace place) const;
  const StepCost& cost() const { return cost_; }  // of the last question

 private:
  struct Call { Range<Seconds> time; Seconds formula; std::size_t ring; };
  Seconds formula(const MessageCost& message, const RingOnWiring& ring) const;
  const Plan& plan_;
  const PreparedCluster& cluster_;
  const Constants& constants_;
  StepCost cost_;
  std::vector<Call> calls_;
  std::vector<RingLimits> limits_;
  std::vector<RingOnWiring> rings_;  // of each of these
};

}  // namespace wireplan
