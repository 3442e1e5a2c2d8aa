#include "core/text/answer_json.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/plan_json.hpp"

namespace wireplan {
namespace {

using wireplan::number;  // of a double; here also of quantities

template <class Dimension>
Json number(Quantity<Dimension> quantity) { return number(quantity.value); }

template <class Q>
Json range(const Range<Q>& r) {
  return Json{{"low", number(r.low)}, {"value", number(r.value)}, {"high", number(r.high)}};
}

// An assumption holds its value as JSON text; one that does not read as JSON is shown as it stands.
Json assumption(const Assumption& a, const std::string& prefix) {
  Result<Json> value = parse_json(a.value);
  return Json{{"path", prefix + a.path}, {"value", value ? std::move(value.value()) : Json(a.value)}, {"why", a.why}};
}

Json assumptions(const Plan& plan) {
  Json list = Json::array();
  for (const Assumption& a : plan.assumed) list.push_back(assumption(a, ""));
  for (const Assumption& a : plan.cluster.assumed) list.push_back(assumption(a, "cluster."));
  for (const Assumption& a : plan.cluster.node.assumed) list.push_back(assumption(a, "cluster.node."));
  return list;
}

Json memory_json(const MemoryAnswer& m) {
  Json ranks = Json::array();
  for (const RankMemory& r : m.ranks)
    ranks.push_back({{"stage", r.stage},
                     {"allocated_bytes", number(r.allocated)},
                     {"reserved_bytes", number(r.reserved)},
                     {"device_bytes", number(r.device)}});
  return Json{
      {"capacity_bytes", number(m.capacity)},
      {"fits", m.fits},
      {"verdict", name_of(m.verdict)},
      {"states",
       {{"parameters", number(m.states.parameters)},
        {"gradients", number(m.states.gradients)},
        {"master_weights", number(m.states.master_weights)},
        {"optimizer_states", number(m.states.optimizer_states)}}},
      {"allocated_bytes", range(m.allocated)},
      {"need_bytes", range(m.need)},
      {"reserved_bytes", range(m.reserved)},
      {"device_bytes", range(m.device)},
      {"parts",
       {{"parameters", number(m.parts.parameters)},
        {"gradients", number(m.parts.gradients)},
        {"master_weights", number(m.parts.master_weights)},
        {"optimizer_states", number(m.parts.optimizer_states)},
        {"activations", number(m.parts.activations)},
        {"logits", number(m.parts.logits)},
        {"unsharded_parameters", number(m.parts.unsharded_parameters)},
        {"communication_buffers", number(m.parts.communication_buffers)},
        {"temporary", number(m.parts.temporary)}}},
      {"allocator_slack_bytes", number(m.allocator_slack)},
      {"runtime_bytes", number(m.runtime)},
      {"peak_at", m.peak_at},
      {"worst_rank", m.worst_rank},
      {"ranks", std::move(ranks)},
      {"phases",
       {{"load", number(m.load)},
        {"initialize", number(m.initialize)},
        {"first_step", number(m.first_step)},
        {"steady", number(m.steady)},
        {"between_steps", number(m.between_steps)},
        {"save", number(m.save)}}},
      {"after_forward_bytes", number(m.after_forward)},
      {"after_backward_bytes", number(m.after_backward)},
      {"host_bytes", number(m.host)},
      {"fits_host", m.fits_host < 0 ? Json(nullptr) : Json(m.fits_host == 1)}};
}

Json communication_json(const std::vector<CommunicationRow>& rows) {
  Json list = Json::array();
  for (const CommunicationRow& r : rows)
    list.push_back({{"name", r.name},
                    {"collective", name_of(r.collective)},
                    {"dimension", name_of(r.dimension)},
                    {"ranks", r.ranks},
                    {"bytes", number(r.bytes)},
                    {"calls", number(r.calls)},
                    {"algorithm", r.algorithm},
                    {"protocol", r.protocol},
                    {"bus_bandwidth_bytes_per_s", number(r.bus_bandwidth)},
                    {"time_s", range(r.time)},
                    {"exposed_s", number(r.exposed)},
                    {"bottleneck", r.bottleneck},
                    {"basis", r.basis}});
  return list;
}

Json step_json(const StepAnswer& s) {
  return Json{{"time_s", range(s.time)},
              {"compute_s", number(s.compute)},
              {"exposed_communication_s", number(s.exposed_communication)},
              {"bubble_s", number(s.bubble)},
              {"optimizer_s", number(s.optimizer)},
              {"host_s", number(s.host)},
              {"offload_s", number(s.offload)},
              {"straggler_s", number(s.straggler)},
              {"on_ideal_wiring_s", number(s.on_ideal_wiring)},
              {"tokens_per_s", number(s.tokens_per_s)},
              {"tokens_per_s_per_gpu", number(s.tokens_per_s_per_gpu)},
              {"model_tflops_per_gpu", number(s.model_tflops_per_gpu)},
              {"hardware_tflops_per_gpu", number(s.hardware_tflops_per_gpu)},
              {"mfu", number(s.mfu)},
              {"hfu", number(s.hfu)}};
}

// --- differences: where documents of the same kind say different things -----------------------------------------------------

using Documents = std::vector<const Json*>;  // one for each estimate; null where the document has no such place

std::vector<std::pair<std::string, const Json*>> children(const Json& json) {
  std::vector<std::pair<std::string, const Json*>> list;
  if (json.is_object()) {
    for (auto it = json.begin(); it != json.end(); ++it) list.emplace_back(it.key(), &it.value());
  } else {
    const std::vector<std::string> names = element_names(json);
    for (std::size_t i = 0; i < json.size(); ++i) list.emplace_back(names[i], &json[i]);
  }
  return list;
}

void add_differences(const std::string& path, const Documents& documents, Json& list) {
  bool all_equal = true, any_inner = false, any_leaf = false;
  for (const Json* d : documents) {
    all_equal = all_equal && (d == nullptr) == (documents[0] == nullptr) && (d == nullptr || *d == *documents[0]);
    if (d == nullptr || d->is_null()) continue;
    (d->is_structured() ? any_inner : any_leaf) = true;
  }
  if (all_equal) return;
  if (!any_inner || any_leaf) {  // values, or a value here and an object there: shown whole
    Json values = Json::array();
    for (const Json* d : documents) values.push_back(d == nullptr ? Json(nullptr) : *d);
    list.push_back({{"path", path}, {"values", std::move(values)}});
    return;
  }
  std::vector<std::string> names;  // of every document, in order of first appearance
  std::vector<std::vector<std::pair<std::string, const Json*>>> inner;
  for (const Json* d : documents) {
    inner.push_back(d == nullptr ? decltype(children(*d)){} : children(*d));
    for (const auto& [name, child] : inner.back())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const std::string& name : names) {
    Documents next;
    for (const auto& list_of_one : inner) {
      auto it = std::find_if(list_of_one.begin(), list_of_one.end(), [&](const auto& c) { return c.first == name; });
      next.push_back(it == list_of_one.end() ? nullptr : it->second);
    }
    add_differences(path.empty() ? name : path + "." + name, next, list);
  }
}

// Notes are sentences about the numbers; that they differ says nothing beyond the numbers.
Json differences(const Json& estimates) {
  Json list = Json::array();
  for (const char* part : {"plan", "assumed", "model", "memory", "communication", "step"}) {
    Documents documents;
    for (const Json& e : estimates) documents.push_back(&e.at(part));
    add_differences(part, documents, list);
  }
  return list;
}

}  // namespace

std::vector<std::string> element_names(const Json& array) {
  std::vector<std::string> names;
  for (const Json& element : array) {
    std::string name = std::to_string(names.size());
    if (element.is_object())
      for (const char* key : {"name", "path", "stage"}) {
        auto it = element.find(key);
        if (it == element.end()) continue;
        name = it->is_string() ? it->get<std::string>() : dump_json_compact(*it);
        break;
      }
    std::string unique = name;
    for (int count = 2; std::find(names.begin(), names.end(), unique) != names.end(); ++count) unique = name + '#' + std::to_string(count);
    names.push_back(std::move(unique));
  }
  return names;
}

Json write_note(const Note& note) {
  std::string_view severity = note.severity == Severity::info ? "info" : note.severity == Severity::warning ? "warning" : "error";
  return Json{{"severity", severity}, {"path", note.path}, {"text", note.text}};
}

Json write_estimate(const Plan& plan, const Estimate& estimate) {
  Json notes = Json::array();
  for (const Note& n : estimate.notes) notes.push_back(write_note(n));
  return Json{{"schema", "wireplan.estimate/1"},
              {"engine", kEngineVersion},
              {"plan", write_plan(plan)},
              {"assumed", assumptions(plan)},
              {"model",
               {{"parameters", number(estimate.parameters)},
                {"active_parameters", number(estimate.active_parameters)},
                {"flops_per_token", number(estimate.flops_per_token)}}},
              {"memory", memory_json(estimate.memory)},
              {"communication", communication_json(estimate.communication)},
              {"step", step_json(estimate.step)},
              {"notes", std::move(notes)}};
}

Json write_comparison(const Comparison& comparison) {
  Json estimates = Json::array();
  for (std::size_t i = 0; i < comparison.plans.size(); ++i)
    estimates.push_back(write_estimate(comparison.plans[i], comparison.estimates[i]));
  Json different = differences(estimates);
  return Json{{"schema", "wireplan.compare/1"},
              {"baseline", comparison.baseline},
              {"estimates", std::move(estimates)},
              {"differences", std::move(different)}};
}

Json write_explanation(const Explanation& e) {
  Json values = Json::array();
  for (const ExplainedValue& v : e.values)
    values.push_back({{"symbol", v.symbol},
                      {"value", number(v.value)},
                      {"unit", v.unit},
                      {"kind", name_of(v.kind)},
                      {"meaning", v.meaning},
                      {"key", v.key}});
  return Json{{"key", e.key},
              {"symbol", e.symbol},
              {"formula", e.formula},
              {"values", std::move(values)},
              {"result", number(e.result)},
              {"unit", e.unit},
              {"kind", name_of(e.kind)},
              {"band", e.has_band ? range(e.band) : Json(nullptr)},
              {"sources", e.sources}};
}

Json write_errors(const Errors& errors) {
  Json list = Json::array();
  for (const Error& e : errors) list.push_back({{"path", e.path}, {"value", e.value}, {"limit", e.limit}, {"text", e.text}});
  return Json{{"errors", std::move(list)}};
}

}  // namespace wireplan
