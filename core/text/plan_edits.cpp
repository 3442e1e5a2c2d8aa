#include "core/text/plan_edits.hpp"

#include <algorithm>
#include <utility>

#include "core/describe/defaults.hpp"
#include "core/text/plan_defaults.hpp"
#include "core/text/plan_json.hpp"

namespace wireplan {
namespace {

// Objects whose fields are edited one by one; all others are set as a whole.
constexpr std::string_view kOpen[] = {"", "training", "parallel", "cluster", "training.offload", "training.details", "parallel.overlap"};

class Differences {
 public:
  void compare(const std::string& path, const Json& before, const Json& after) {
    if (before == after) return;
    if (!after.is_object() || std::find(std::begin(kOpen), std::end(kOpen), path) == std::end(kOpen)) {
      edits.push_back({path, after});
      return;
    }
    const Json none = Json::object();
    const Json& from = before.is_object() ? before : none;
    const auto below = [&](const std::string& key) { return path.empty() ? key : path + '.' + key; };
    for (auto it = after.begin(); it != after.end(); ++it) {
      if (below(it.key()) == "cluster.assumed") continue;
      const auto found = from.find(it.key());
      compare(below(it.key()), found == from.end() ? Json(nullptr) : *found, it.value());
    }
    for (auto it = from.begin(); it != from.end(); ++it)
      if (!after.contains(it.key()) && below(it.key()) != "cluster.assumed") compare(below(it.key()), it.value(), nullptr);
  }

  // States a field that is the same in both, where the document may have left it out.
  void state(const std::string& path, Json value) {
    if (std::any_of(edits.begin(), edits.end(), [&](const PlanEdit& e) { return e.path == path; })) return;
    edits.erase(std::remove_if(edits.begin(), edits.end(), [&](const PlanEdit& e) { return e.path.rfind(path + '.', 0) == 0; }), edits.end());
    edits.push_back({path, std::move(value)});
  }

  std::vector<PlanEdit> edits;
};

}  // namespace

PresetFilling::PresetFilling(const Plan& plan, const Presets& presets) : presets_(presets) {
  Result<Implementation> found = presets.implementation(implementation_id(plan.training.implementation));
  if (found) implementation_ = std::move(found.value());
}

void PresetFilling::fill(Plan& plan) const { fill_switches(plan, implementation_); }

GradientSync PresetFilling::gradient_sync(const Plan& plan) const {
  const Parallel& p = plan.parallel;
  return implementation_.gradient_sync && p.framework == Framework::pytorch ? *implementation_.gradient_sync : default_gradient_sync(p.framework, p.data_sharding, p.pipeline);
}

std::optional<Network> PresetFilling::network(const Node& node) const {
  if (node.usual_network.empty()) return std::nullopt;
  Result<Network> usual = parse_network(node.usual_network, presets_, "cluster.network");
  return usual ? std::optional(std::move(usual.value())) : std::nullopt;
}

std::vector<PlanEdit> edits_between(const Plan& before, const Plan& after, const PlanFilling& filling) {
  const Json from = write_plan(before), to = write_plan(after);
  Differences d;
  d.compare("", from, to);
  const auto is_assumed = [&](std::string_view path) {
    return std::any_of(before.assumed.begin(), before.assumed.end(), [&](const Assumption& a) { return a.path == path; });
  };
  const Training& t = after.training;
  const Parallel &p = after.parallel, &was = before.parallel;
  if (is_assumed("training.global_batch_size") && (t.micro_batch_size != before.training.micro_batch_size || p.data != was.data))
    d.state("training.global_batch_size", t.global_batch_size);
  if (is_assumed("parallel.gradient_sync") && (p.data_sharding != was.data_sharding || p.pipeline != was.pipeline) && filling.gradient_sync(after) != p.gradient_sync)
    d.state("parallel.gradient_sync", name_of(p.gradient_sync));
  const Overlap filled = default_overlap(p, t);
  if (is_assumed("parallel.overlap") && !(filled == p.overlap) && !(filled == default_overlap(was, before.training))) d.state("parallel.overlap", to.at("parallel").at("overlap"));
  if (follows_vendor_recipes(was.framework, before.training) != follows_vendor_recipes(p.framework, t)) {
    d.state("training.cuda_graphs", t.cuda_graphs);
    d.state("parallel.moe_dispatcher", name_of(p.moe_dispatcher));
  }
  if (!(before.cluster.node == after.cluster.node)) {
    if (after.cluster.gpus_per_node != after.cluster.node.gpus) d.state("cluster.gpus_per_node", after.cluster.gpus_per_node);
    if (after.cluster.nodes > 1) d.state("cluster.network", to.at("cluster").at("network"));
  }
  return std::move(d.edits);
}

Json edits_json(const std::vector<PlanEdit>& edits) {
  Json list = Json::array();
  for (const PlanEdit& e : edits) {
    Json j;
    put(j, "path", e.path);
    put(j, "value", e.value);
    list.push_back(std::move(j));
  }
  return list;
}

std::string set_arguments(const std::vector<PlanEdit>& edits) {
  std::string text;
  for (const PlanEdit& e : edits) {
    const std::string word = e.path + '=' + (e.value.is_string() ? e.value.get<std::string>() : dump_json_compact(e.value));
    text += text.empty() ? "--set " : " --set ";
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=,:@+/";
    if (word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace wireplan
