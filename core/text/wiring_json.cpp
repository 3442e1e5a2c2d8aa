#include "core/text/wiring_json.hpp"

#include <utility>

#include "core/answer/link_traffic.hpp"

namespace wireplan {
namespace {

Json link_json(const WiringGraph& graph, const LinkTraffic& traffic) {
  const Link& l = graph.links[static_cast<std::size_t>(traffic.link)];
  Json j;
  put(j, "a", graph.components[static_cast<std::size_t>(l.a)].id);
  put(j, "b", graph.components[static_cast<std::size_t>(l.b)].id);
  put(j, "kind", name_of(l.kind));
  put(j, "flows_forward", traffic.forward);
  put(j, "flows_backward", traffic.backward);
  put(j, "planning_bytes_per_s", l.planned());
  put(j, "nominal_bytes_per_s", rate_or_null(l.nominal));
  return j;
}

Json group_json(const Plan& plan, const Estimate& e, const WiringGroup& group) {
  const MessageCost& c = e.cost.messages[group.message];
  const Bottleneck bottleneck = group_bottleneck(plan, e, group);
  const GroupTraffic traffic = group_traffic(e, group);
  Json links = Json::array();
  for (const LinkTraffic& t : traffic.links) links.push_back(link_json(*e.graph, t));
  Json j;
  put(j, "dimension", name_of(group.dimension));
  put(j, "collective", name_of(c.message.collective));
  put(j, "ranks", c.ranks);
  put(j, "nodes", c.nodes);
  put(j, "groups_per_node", c.groups);
  put(j, "order", Json(c.ring.order));
  put(j, "bus_bandwidth_bytes_per_s", group_bandwidth(c));
  put(j, "bottleneck", bottleneck.name);
  put(j, "bottleneck_planning_bytes_per_s", bottleneck.rate);
  put(j, "bottleneck_nominal_bytes_per_s", rate_or_null(bottleneck.nominal));
  put(j, "host_memory", c.ring.uses_host_memory);
  put(j, "links", std::move(links));
  put(j, "links_left_out", static_cast<std::int64_t>(traffic.left_out));
  return j;
}

}  // namespace

Json rate_or_null(BytesPerSecond rate) { return rate.value > 0 ? number(rate.value) : Json(nullptr); }

Json write_wiring(const Plan& plan, const Estimate& estimate) {
  Json groups = Json::array();
  for (const WiringGroup& group : estimate.wiring) groups.push_back(group_json(plan, estimate, group));
  Json j;
  put(j, "groups", std::move(groups));
  return j;
}

}  // namespace wireplan
