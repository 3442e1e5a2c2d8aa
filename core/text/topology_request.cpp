#include "core/text/topology_request.hpp"

#include <utility>

#include "core/text/read_cluster.hpp"
#include "core/text/read_node.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Json write_component(const Component& c) {
  Json j = Json::object();
  put(j, "id", c.id);
  put(j, "kind", name_of(c.kind));
  if (c.numa >= 0) put(j, "numa", c.numa);
  else put(j, "numa", nullptr);
  if (!c.model.empty()) put(j, "model", c.model);
  if (c.kind == ComponentKind::nic) {
    put_or_null(j, "bytes_per_s", c.nic_rate.value);
    put(j, "gpudirect", c.gpudirect);
  }
  return j;
}

Json write_link(const WiringGraph& graph, const Link& l) {
  Json j = Json::object();
  put(j, "a", graph.components[at(l.a)].id);
  put(j, "b", graph.components[at(l.b)].id);
  put(j, "kind", name_of(l.kind));
  put_or_null(j, "generation", l.generation);
  put_or_null(j, l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi ? "count" : "lanes", l.width);
  put(j, "planning_bytes_per_s", l.planned());
  put_or_null(j, "nominal_bytes_per_s", l.nominal.value);
  put(j, "stated", l.stated);
  return j;
}

Json write_paths(const std::vector<PathBetween>& paths, int gpus) {
  Json types = Json::array(), rates = Json::array(), p2p = Json::array();
  for (int i = 0; i < gpus; ++i) {
    Json type_row = Json::array(), rate_row = Json::array(), p2p_row = Json::array();
    for (int j = 0; j < gpus; ++j) {
      const PathBetween& p = paths[at(i) * at(gpus) + at(j)];
      type_row.push_back(path_name(p));
      rate_row.push_back(i == j || p.rate.value <= 0 ? Json(nullptr) : number(p.rate.value));
      p2p_row.push_back(p.p2p);
    }
    types.push_back(std::move(type_row));
    rates.push_back(std::move(rate_row));
    p2p.push_back(std::move(p2p_row));
  }
  Json j = Json::object();
  put(j, "types", std::move(types));
  put(j, "bytes_per_s", std::move(rates));
  put(j, "p2p", std::move(p2p));
  return j;
}

void put_ring(Json& j, const RingOnWiring& ring) {
  put(j, "bus_bandwidth_bytes_per_s", ring.bus_bandwidth);
  put(j, "bottleneck", ring.bottleneck);
  put_or_null(j, "bottleneck_planning_bytes_per_s", ring.bottleneck_rate.value);
  put_or_null(j, "bottleneck_nominal_bytes_per_s", ring.bottleneck_nominal.value);
}

Json write_ring(const GroupRing& group) {
  Json j = Json::object(), order = Json::array(), loads = Json::array();
  for (int g : group.ring.order) order.push_back(g);
  put(j, "nodes", group.nodes);
  put(j, "order", std::move(order));
  put_ring(j, group.ring);
  for (const LinkLoad& load : group.ring.loads) {
    Json l = Json::object();
    put(l, "link", load.link);
    put(l, "direction", load.forward ? "a-b" : "b-a");
    put(l, "flows", load.flows);
    loads.push_back(std::move(l));
  }
  put(j, "loads", std::move(loads));
  return j;
}

}  // namespace

const GroupRing& shown_ring(const Topology& t) { return t.cluster.gpus.empty() ? t.node : t.cluster; }

Result<TopologyAnswer> asked_topology(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  r.require("cluster", "the id of a node, or a cluster document");
  const Json* cluster = r.find("cluster");
  std::vector<int> gpus = asked_gpus(r);
  r.finish();
  if (!log.errors.empty() || !cluster) return log.finished();
  Result<StatedCluster> stated = stated_cluster(*cluster, presets);
  if (!stated) return stated.errors();
  Result<Constants> constants = presets.constants();
  if (!constants) return constants.errors();

  TopologyAnswer answer;
  answer.stated = std::make_unique<const StatedCluster>(std::move(stated.value()));
  answer.constants = std::make_unique<const LinkConstants>(std::move(constants.value().links));
  answer.prepared = prepare(answer.stated->cluster, *answer.constants);
  Result<Topology> found = topology(answer.prepared, std::move(gpus));
  if (!found) return found.errors();
  answer.topology = std::move(found.value());
  answer.assumed = answer.stated->assumed;
  for (const Assumption& a : answer.topology.assumed) {
    bool known = false;
    for (const Assumption& b : answer.assumed) known = known || a.path == b.path;
    if (!known) answer.assumed.push_back(a);
  }
  return answer;
}

Json write_topology(const TopologyAnswer& a) {
  const WiringGraph& graph = a.prepared.graph;
  Json components = Json::array(), links = Json::array(), pairs = Json::array();
  for (const Component& c : graph.components) components.push_back(write_component(c));
  for (const Link& l : graph.links) links.push_back(write_link(graph, l));
  for (const PairKind& kind : a.topology.pairs) {
    Json pair = Json::object();
    put(pair, "type", path_name(kind.path));
    put(pair, "p2p", kind.path.p2p);
    Json first = Json::array();
    first.push_back(kind.a);
    first.push_back(kind.b);
    put(pair, "first", std::move(first));
    put(pair, "count", kind.count);
    put_ring(pair, kind.ring);
    pairs.push_back(std::move(pair));
  }

  Json j = Json::object();
  put(j, "schema", "wireplan.topology/1");
  put(j, "cluster", write_cluster_part(a.stated->cluster));
  put(j, "components", std::move(components));
  put(j, "links", std::move(links));
  if (a.topology.paths.empty()) put(j, "paths", nullptr);
  else put(j, "paths", write_paths(a.topology.paths, a.prepared.gpus));
  put(j, "ring", write_ring(a.topology.node));
  if (a.topology.cluster.gpus.empty()) put(j, "cluster_ring", nullptr);
  else put(j, "cluster_ring", write_ring(a.topology.cluster));
  put(j, "pairs", std::move(pairs));
  put(j, "assumed", write_assumed(a.assumed));
  return j;
}

}  // namespace wireplan
