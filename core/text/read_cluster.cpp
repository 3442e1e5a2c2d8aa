#include "core/text/read_cluster.hpp"

#include "core/text/plan_json.hpp"
#include "core/text/read_network.hpp"
#include "core/text/read_node.hpp"
#include "core/text/read_profile.hpp"

namespace wireplan {
namespace {

// What a preset says it had to guess, as assumptions of the plan.
void note_guesses(ReadLog& log, const std::string& path, const std::vector<Assumption>& guesses) {
  for (const Assumption& guess : guesses)
    log.assumed.push_back({joined_path(path, guess.path), guess.value, guess.why});
}

Node read_node_of(ReadLog& log, const Json& json, const std::string& path, const Presets& presets) {
  // Stands in for a node that could not be read, which has an error of its own.
  Node unread;
  unread.gpus = 1'024;
  if (!json.is_string()) {
    if (!json.is_object()) {
      log.number_missing = true;
      log.add({path, value_text(json), "the id of a node, or an object",
               path + " must be the id of a node or an object, not " + value_text(json)});
      return unread;
    }
    Reader r(log, json, path);
    Node node = read_node(r, false, presets);
    r.finish();
    return node;
  }
  const std::string& id = json.get_ref<const std::string&>();
  if (presets.text("nodes", id).empty()) {
    log.number_missing = true;
    log.add(unknown_preset(path, "nodes", id, presets));
    return unread;
  }
  Result<Node> node = presets.node(id);
  if (node) return std::move(node.value());
  log.number_missing = true;
  for (const Error& error : node.errors()) log.add(error);
  return unread;
}

// Several nodes whose network is not stated have the one that such nodes usually come with.
void fill_network(ReadLog& log, const std::string& path, Cluster& cluster, const Presets& presets) {
  if (cluster.network || cluster.nodes < 2 || cluster.node.usual_network.empty()) return;
  Result<Network> usual = parse_network(cluster.node.usual_network, presets, joined_path(path, "network"));
  if (!usual) return;
  cluster.network = std::move(usual.value());
  log.assume(joined_path(path, "network"), cluster.node.usual_network,
             "the network that " + cluster.node.name + " usually has");
}

// The GPUs of each node that are used.
std::vector<int> read_gpus(Reader& r) {
  std::vector<int> gpus;
  const Json* json = r.stated("gpus");
  if (json == nullptr) return gpus;
  if (!json->is_array() || json->empty()) {
    r.log().number_missing = true;
    r.fail_type("gpus", *json, "null, or a list of GPUs of a node (how many: gpus_per_node)");
    return gpus;
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    int gpu = 0;
    if (!r.read("gpus." + std::to_string(i), &(*json)[i], gpu)) return {};
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

Cluster read_cluster_part(ReadLog& log, const Json& json, const std::string& path, const Presets& presets) {
  Cluster cluster;
  if (json.is_string()) {
    cluster.node = read_node_of(log, json, path, presets);
    cluster.gpus_per_node = cluster.node.gpus;
    note_guesses(log, joined_path(path, "node"), cluster.node.assumed);
    return cluster;
  }
  Reader r(log, json, path);
  std::string schema;
  if (r.read("schema", schema) && schema != "wireplan.cluster/1")
    r.fail("schema", *r.find("schema"), "wireplan.cluster/1",
           r.path("schema") + " is not that of a cluster. Nearest: wireplan.cluster/1");
  r.read("nodes", cluster.nodes);
  r.require("node", "the id of a node, or an object");
  if (const Json* node = r.stated("node")) cluster.node = read_node_of(log, *node, r.path("node"), presets);
  if (const Json* network = r.stated("network"))
    cluster.network = read_network(log, *network, r.path("network"), presets);
  cluster.gpus = read_gpus(r);
  cluster.gpus_per_node = cluster.gpus.empty() ? cluster.node.gpus : static_cast<int>(cluster.gpus.size());
  r.read_stated("gpus_per_node", cluster.gpus_per_node);
  if (r.read_stated("rack_nodes", cluster.rack_nodes) && cluster.rack_nodes == 0)
    r.fail("rack_nodes", 0, "null, or 1 and more", r.path("rack_nodes") + " 0 holds no node. Nearest: null");
  if (const Json* profile = r.stated("profile")) {
    if (profile->is_object())
      cluster.profile = read_profile_part(log, *profile, r.path("profile"));
    else
      r.fail_type("profile", *profile, "null, or a profile document");
  }
  cluster.assumed = read_assumed(r, "assumed");
  r.finish();
  fill_network(log, path, cluster, presets);
  note_guesses(log, joined_path(path, "node"), cluster.node.assumed);
  note_guesses(log, path, cluster.assumed);
  return cluster;
}

Result<Cluster> read_cluster(const Json& document, const Presets& presets, const std::string& path) {
  ReadLog log;
  Cluster cluster = read_cluster_part(log, document, path, presets);
  log.add_new(validate(cluster, path));
  if (!log.errors.empty()) return log.finished();
  return cluster;
}

Json write_cluster_part(const Cluster& cluster) {
  Json j = Json::object();
  put(j, "nodes", cluster.nodes);
  put(j, "node", cluster.node.id.empty() ? write_node(cluster.node) : Json(cluster.node.id));
  put(j, "network", cluster.network ? write_network(*cluster.network) : Json(nullptr));
  put(j, "gpus_per_node", cluster.gpus_per_node);
  if (!cluster.gpus.empty()) put(j, "gpus", Json(cluster.gpus));
  put_or_null(j, "rack_nodes", cluster.rack_nodes);
  put(j, "profile", cluster.profile ? write_profile(*cluster.profile) : Json(nullptr));
  if (!cluster.assumed.empty()) put(j, "assumed", write_assumed(cluster.assumed));
  return j;
}

Json write_cluster(const Cluster& cluster) {
  Json j = Json::object();
  put(j, "schema", "wireplan.cluster/1");
  j.update(write_cluster_part(cluster));
  if (!j.contains("assumed")) put(j, "assumed", Json::array());
  return j;
}

}  // namespace wireplan
