#include <algorithm>

#include "core/answer/explainer.hpp"
#include "core/answer/link_traffic.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan {

namespace {

constexpr Claim kCount = Claim::count, kEstimate = Claim::estimate;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A rate and where it comes from: the user's own word, or a table.
struct Origin { std::string meaning; const char* source; };
Origin origin_of(bool is_stated, const std::string& of) {
  if (is_stated) return {"rate of " + of + " as stated, one direction", "wireplan-definition"};
  return {"NCCL planning rate of " + of + ", one direction", "nccl-topo"};
}

// Flows on the link that binds; groups that share the network.
ExplainedValue sharers(const MessageCost& c, const Bottleneck& b) {
  if (b.is_network) return count_of("f", std::max(1, c.groups), "groups that share it");
  return factor_of("f", b.flows, kEstimate, "flows that share it");
}

void explain_link(const Plan& p, const Estimate& e, const LinkTraffic& t, const std::string& path, Explainer& out) {
  const Link& l = e.graph->links[at(t.link)];
  const std::string name = link_name(*e.graph, l, p.cluster.node);
  const auto flows = [&](const char* key, double value, int from, int to) {
    out.add(path + key, "f", "f", {factor_of("f", value, kEstimate, "ring edges from " + e.graph->components[at(from)].id + " to " + e.graph->components[at(to)].id + ", of all groups of the node: what it carries is f · bandwidth")},
            value, "", kEstimate, {"nccl-search"});
  };
  flows("flows_forward", t.forward, l.a, l.b);
  flows("flows_backward", t.backward, l.b, l.a);
  const auto rate = [&](const char* key, BytesPerSecond value, const Origin& origin) {
    const double width = std::max(1, l.width);
    out.add(path + key, "R", "w·r", {count_of("w", width, l.width > 0 ? "lanes or links side by side" : "the link"), {"r", value.value / width, "bytes/s", kEstimate, origin.meaning + (l.width > 0 ? ", for each of them" : ""), ""}},
            value.value, "bytes/s", kEstimate, {origin.source});
  };
  rate("planning_bytes_per_s", l.planned(), origin_of(l.stated, name));
  if (l.nominal.value > 0) rate("nominal_bytes_per_s", l.nominal, {"data-sheet rate of " + name + ", one direction", "nccl-topo"});
}

void explain_group(const Plan& p, const Estimate& e, std::size_t i, Explainer& out) {
  const WiringGroup& group = e.wiring[i];
  const MessageCost& c = e.cost.messages[group.message];
  const std::string path = "wiring.groups." + std::to_string(i) + ".", kind(name_of(group.dimension));
  const auto counted = [&](const char* key, const char* symbol, int value, const std::string& meaning) {
    out.add(path + key, symbol, symbol, {count_of(symbol, value, meaning)}, value, "", kCount, {"wireplan-definition"});
  };
  counted("ranks", "n", c.ranks, "ranks of one " + kind + " group");
  counted("nodes", "q", c.nodes, "nodes one of them spans");
  counted("groups_per_node", "g", c.groups, "groups with ranks on the node, all at work at once");

  const GroupTraffic traffic = group_traffic(e, group);
  const Bottleneck bottleneck = group_bottleneck(p, e, group);
  const BytesPerSecond bandwidth = group_bandwidth(c), rate = bottleneck.rate;
  const bool is_stated = bottleneck.link >= 0 && e.graph->links[at(bottleneck.link)].stated;
  Origin origin = origin_of(is_stated, bottleneck.name.empty() ? "its links" : bottleneck.name);
  if (bottleneck.is_network) origin = {"data-sheet rate of the NICs it uses: " + bottleneck.name, "facts-nodes"};
  const std::string planning = path + "bottleneck_planning_bytes_per_s";
  if (rate.value > 0 && bandwidth.value > 0) {
    const ExplainedValue f = sharers(c, bottleneck);
    out.add(path + "bus_bandwidth_bytes_per_s", "B", "e·R/f",
            {factor_of("e", bandwidth.value * f.value / rate.value, kEstimate, "share of that rate which such links reach"), {"R", rate.value, "bytes/s", kEstimate, origin.meaning, planning}, f},
            bandwidth.value, "bytes/s", kEstimate, {"nccl-search", "published-nccl-tests"});
  } else {
    out.add(path + "bus_bandwidth_bytes_per_s", "B", "B", {{"B", bandwidth.value, "bytes/s", kEstimate, "NCCL's last resort where no way is known", ""}}, bandwidth.value, "bytes/s", kEstimate, {"nccl-search"});
  }
  out.add(planning, "R", "R", {{"R", rate.value, "bytes/s", kEstimate, origin.meaning, ""}}, rate.value, "bytes/s", kEstimate, {origin.source});
  if (const double nominal = bottleneck.nominal.value; nominal > 0)
    out.add(path + "bottleneck_nominal_bytes_per_s", "R_n", "R_n", {{"R_n", nominal, "bytes/s", kEstimate, "data-sheet rate of " + bottleneck.name + ", one direction", ""}}, nominal, "bytes/s", kEstimate, {bottleneck.is_network ? "facts-nodes" : "nccl-topo"});
  for (std::size_t j = 0; j < traffic.links.size(); ++j) explain_link(p, e, traffic.links[j], path + "links." + std::to_string(j) + ".", out);
  counted("links_left_out", "u", static_cast<int>(traffic.left_out), "links in use that are not listed: those with most flows for their rate are");
}

}  // namespace

void explain_wiring(const Plan& p, const Constants&, const Estimate& e, Explainer& out) {
  for (std::size_t i = 0; i < e.wiring.size(); ++i) explain_group(p, e, i, out);
}

}  // namespace wireplan
