#include "core/text/stated_cluster.hpp"

#include <utility>

#include "core/text/link.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/request.hpp"

namespace wireplan {
namespace {

// The plan that a text or a document stands for, as the cluster in it.
Result<Json> cluster_of_plan(const Json& stated, const Presets& presets) {
  Result<StatedPlan> plan = stated_plan(stated, presets);
  if (!plan) return plan.errors();
  return write_cluster_part(plan.value().plan.cluster);
}

Json one_node(Json node) {
  Json cluster = Json::object();
  put(cluster, "node", std::move(node));
  return cluster;
}

Result<Json> cluster_document(const Json& stated, const Presets& presets) {
  if (stated.is_string()) {
    const std::string& text = stated.get_ref<const std::string&>();
    if (!presets.text("nodes", text).empty()) return stated;
    if (looks_like_link(text) || !presets.text("scenarios", text).empty()) return cluster_of_plan(stated, presets);
    return Error{"cluster", value_text(stated), "the id of a node or a scenario, a link or a cluster document",
                 value_text(stated) + " is neither a node nor a scenario" + did_you_mean(presets.nearest("nodes", text))};
  }
  if (!stated.is_object())
    return Error{"cluster", value_text(stated), "the id of a node or a scenario, a link or a cluster document",
                 value_text(stated) + " is no cluster. Nearest: \"dgx-a100-80gb\""};
  if (stated.contains("plan")) return cluster_of_plan(stated, presets);
  if (auto part = stated.find("cluster"); part != stated.end()) return *part;  // a plan document: only its cluster is judged
  if (stated.contains("gpu") && !stated.contains("node")) return one_node(stated);
  return stated;
}

}  // namespace

Result<StatedCluster> stated_cluster(const Json& stated, const Presets& presets, int nodes) {
  Result<Json> document = cluster_document(stated, presets);
  if (!document) return document.errors();
  if (nodes > 0) {
    if (document.value().is_string()) document = one_node(std::move(document.value()));
    if (document.value().is_object()) put(document.value(), "nodes", nodes);
  }
  ReadLog log;
  StatedCluster read;
  read.cluster = read_cluster_part(log, document.value(), "cluster", presets);
  log.add_new(validate(read.cluster, "cluster"));
  if (!log.errors.empty()) return log.finished();
  read.assumed = std::move(log.assumed);
  return read;
}

std::vector<int> asked_gpus(Reader& r) {
  std::vector<int> gpus;
  if (const Json* list = r.stated("gpus")) {
    if (!list->is_array() || list->empty() || list->size() > 1024) r.fail_type("gpus", *list, "a list of 1 to 1,024 GPUs");
    else
      for (const Json& gpu : *list) {
        int index = 0;
        if (!r.read("gpus", &gpu, index)) break;
        gpus.push_back(index);
      }
  }
  return gpus;
}

}  // namespace wireplan
