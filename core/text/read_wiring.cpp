#include "core/text/read_wiring.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace wireplan {
namespace {

std::string element(std::string_view list, std::size_t i) { return std::string(list) + "." + std::to_string(i); }

// The elements of a list, or nothing when it is absent (or no list, which is an error).
const Json::array_t& list_of(Reader& r, std::string_view key) {
  static const Json::array_t kNone;
  const Json* json = r.stated(key);
  if (json == nullptr) return kNone;
  if (json->is_array()) return json->get_ref<const Json::array_t&>();
  r.fail_type(key, *json, "a list");
  return kNone;
}

std::vector<PcieGroup> read_groups(Reader& r) {
  std::vector<PcieGroup> groups;
  const Json::array_t& list = list_of(r, "groups");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Reader g(r.log(), list[i], r.path(element("groups", i)));
    PcieGroup group;
    g.read_stated("socket", group.socket);
    g.read_stated("numa", group.numa);
    const Json::array_t& gpus = list_of(g, "gpus");
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      int gpu = 0;
      if (g.read(element("gpus", j), &gpus[j], gpu)) group.gpus.push_back(gpu);
    }
    g.read_stated("nics", group.nics);
    g.read("switch", group.has_switch);
    g.finish();
    groups.push_back(std::move(group));
  }
  return groups;
}

template <std::size_t N>
std::vector<std::array<int, N>> read_tuples(Reader& r, std::string_view key, const char* form) {
  std::vector<std::array<int, N>> tuples;
  const Json::array_t& list = list_of(r, key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = element(key, i);
    if (!list[i].is_array() || list[i].size() != N) {
      r.fail_type(place, list[i], form);
      continue;
    }
    std::array<int, N> tuple{};
    bool sound = true;
    for (std::size_t j = 0; j < N; ++j) sound = r.read(element(place, j), &list[i][j], tuple[j]) && sound;
    if (sound) tuples.push_back(tuple);
  }
  return tuples;
}

Component read_component(ReadLog& log, const Json& json, std::string path) {
  Component c;
  Reader r(log, json, std::move(path));
  r.require("id", "text");
  // Ids are shown: in bottleneck names, tables and pictures.
  const auto is_control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
  if (r.read("id", c.id) && (c.id.empty() || c.id.size() > 64 || std::any_of(c.id.begin(), c.id.end(), is_control)))
    r.fail("id", *r.find("id"), "1 to 64 printable characters", r.path("id") + " cannot be shown. Nearest: \"gpu0\"");
  r.require("kind", names_listed<ComponentKind>());
  const bool known = r.read_name("kind", c.kind);
  r.read_stated("numa", c.numa);
  r.read_stated("model", c.model);
  if (!known || c.kind == ComponentKind::nic) {
    r.read_stated("bytes_per_s", c.nic_rate);
    r.read_stated("gpudirect", c.gpudirect);
  }
  r.finish();
  return c;
}

using Places = std::map<std::string_view, int>;

Link read_link(ReadLog& log, const Json& json, std::string path, const Places& places) {
  Link link;
  Reader r(log, json, std::move(path));
  for (const auto& [key, end] : {std::pair{"a", &link.a}, {"b", &link.b}}) {
    std::string id;
    r.require(key, "the id of a component");
    if (!r.read(key, id)) continue;
    const auto place = places.find(id);
    if (place != places.end()) {
      *end = place->second;
      continue;
    }
    std::vector<std::string_view> ids;
    for (const auto& [name, index] : places) ids.push_back(name);
    log.number_missing = true;
    r.fail(key, *r.find(key), "the id of a component",
           "there is no component " + value_text(*r.find(key)) + did_you_mean(nearest_words(id, ids)));
  }
  r.require("kind", names_listed<LinkKind>());
  r.read_name("kind", link.kind);
  r.read_stated("generation", link.generation);
  const bool lanes = r.read_stated("lanes", link.width);
  if (r.read_stated("count", link.width) && lanes)
    r.fail("count", *r.find("count"), "lanes or count",
           r.path("count") + " stands beside lanes. Nearest: leave one of them out");
  link.stated = r.read_stated("bytes_per_s", link.rate);
  link.nominal = link.rate;
  r.read_stated("latency_s", link.latency);
  r.finish();
  return link;
}

// GPUs come first, in the order given; that is their index.
WiringGraph read_graph(Reader& r) {
  WiringGraph graph;
  std::vector<Component> others;
  const Json::array_t& components = list_of(r, "components");
  for (std::size_t i = 0; i < components.size(); ++i) {
    Component c = read_component(r.log(), components[i], r.path(element("components", i)));
    (c.kind == ComponentKind::gpu ? graph.components : others).push_back(std::move(c));
  }
  graph.components.insert(graph.components.end(), others.begin(), others.end());
  Places places;
  for (std::size_t i = 0; i < graph.components.size(); ++i) places.emplace(graph.components[i].id, static_cast<int>(i));
  const Json::array_t& links = list_of(r, "links");
  for (std::size_t i = 0; i < links.size(); ++i)
    graph.links.push_back(read_link(r.log(), links[i], r.path(element("links", i)), places));
  return graph;
}

Json write_graph_components(const WiringGraph& graph) {
  Json list = Json::array();
  for (const Component& c : graph.components) {
    Json j = Json::object();
    put(j, "id", c.id);
    put(j, "kind", name_of(c.kind));
    if (c.numa >= 0) put(j, "numa", c.numa);
    if (!c.model.empty()) put(j, "model", c.model);
    if (c.nic_rate.value > 0) put(j, "bytes_per_s", c.nic_rate.value);
    if (c.kind == ComponentKind::nic) put(j, "gpudirect", c.gpudirect);
    list.push_back(std::move(j));
  }
  return list;
}

Json write_graph_links(const WiringGraph& graph) {
  Json list = Json::array();
  for (const Link& link : graph.links) {
    Json j = Json::object();
    put(j, "a", graph.components[static_cast<std::size_t>(link.a)].id);
    put(j, "b", graph.components[static_cast<std::size_t>(link.b)].id);
    put(j, "kind", name_of(link.kind));
    if (link.generation > 0) put(j, "generation", link.generation);
    const bool counted = link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
    if (link.width > 0) j[counted ? "count" : "lanes"] = link.width;
    if (link.stated) put(j, "bytes_per_s", link.rate.value);
    if (link.latency.value > 0) put(j, "latency_s", link.latency.value);
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

Wiring read_wiring(Reader& r) {
  Wiring w;
  r.require("kind", names_listed<WiringKind>());
  const bool known = r.read_name("kind", w.kind);
  if (w.kind == WiringKind::graph) {
    r.require("components", "a list");
    r.require("links", "a list");
    w.graph = read_graph(r);
    return w;
  }
  w.groups = read_groups(r);
  if (w.kind == WiringKind::nvlink_mesh) w.mesh = read_tuples<3>(r, "links", "[GPU, GPU, links]");
  if (w.kind == WiringKind::nvlink_pairs) {
    w.pairs = read_tuples<2>(r, "pairs", "[GPU, GPU]");
    r.read_stated("links_per_pair", w.links_per_pair);
  }
  // The keys of a kind that could not be read are not known, so none of them is called unknown.
  if (!known)
    for (const std::string_view key : {"links", "pairs", "links_per_pair", "components"}) r.find(key);
  if (const Json* json = r.stated("pcie")) {
    Reader pcie(r.log(), *json, r.path("pcie"));
    pcie.read("generation", w.pcie_generation);
    pcie.read("lanes", w.pcie_lanes);
    pcie.finish();
  }
  return w;
}

Json write_wiring(const Wiring& w) {
  Json j = Json::object();
  put(j, "kind", name_of(w.kind));
  if (w.kind == WiringKind::graph) {
    put(j, "components", write_graph_components(w.graph));
    put(j, "links", write_graph_links(w.graph));
    return j;
  }
  if (w.kind == WiringKind::nvlink_mesh) put(j, "links", w.mesh);
  if (w.kind == WiringKind::nvlink_pairs) {
    put(j, "pairs", w.pairs);
    if (w.links_per_pair > 0) put(j, "links_per_pair", w.links_per_pair);
  }
  if (!w.groups.empty()) {
    Json groups = Json::array();
    for (const PcieGroup& group : w.groups) {
      Json g = Json::object();
      put(g, "socket", group.socket);
      put(g, "numa", group.numa);
      put(g, "gpus", group.gpus);
      put(g, "nics", group.nics);
      put(g, "switch", group.has_switch);
      groups.push_back(std::move(g));
    }
    put(j, "groups", std::move(groups));
  }
  if (w.pcie_generation > 0 || w.pcie_lanes > 0) {
    Json pcie = Json::object();
    if (w.pcie_generation > 0) put(pcie, "generation", w.pcie_generation);
    if (w.pcie_lanes > 0) put(pcie, "lanes", w.pcie_lanes);
    put(j, "pcie", std::move(pcie));
  }
  return j;
}

}  // namespace wireplan
