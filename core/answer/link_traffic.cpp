#include "core/answer/link_traffic.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/sort.hpp"

namespace wireplan {

GroupTraffic group_traffic(const Estimate& e, const WiringGroup& group) {
  GroupTraffic traffic;
  for (const LinkLoad& load : e.cost.messages[group.message].ring.loads) {
    if (load.link < 0 || static_cast<std::size_t>(load.link) >= e.graph->links.size()) continue;
    // Both directions of a link stand next to each other.
    if (traffic.links.empty() || traffic.links.back().link != load.link) traffic.links.push_back({load.link, 0, 0});
    (load.forward ? traffic.links.back().forward : traffic.links.back().backward) += load.flows;
  }
  if (traffic.links.size() <= kMostLinks) return traffic;
  const auto fullness = [&](const LinkTraffic& t) {
    const double rate = e.graph->links[static_cast<std::size_t>(t.link)].rate.value;
    return rate > 0 ? std::max(t.forward, t.backward) / rate : 0;
  };
  sort(traffic.links, [&](const LinkTraffic& a, const LinkTraffic& b) {
    const double full_a = fullness(a), full_b = fullness(b);
    return full_a != full_b ? full_a > full_b : a.link < b.link;
  });
  traffic.left_out = traffic.links.size() - kMostLinks;
  traffic.links.resize(kMostLinks);
  sort(traffic.links, [](const LinkTraffic& a, const LinkTraffic& b) { return a.link < b.link; });
  return traffic;
}

BytesPerSecond group_bandwidth(const MessageCost& c) { return c.bandwidth.value > 0 ? c.bandwidth : bandwidth_of(c.ring, c.message.collective); }

Bottleneck group_bottleneck(const Plan& plan, const Estimate& e, const WiringGroup& group) {
  const MessageCost& c = e.cost.messages[group.message];
  return bottleneck_of(*e.graph, plan.cluster, c.ring, c.message.collective);
}

}  // namespace wireplan
