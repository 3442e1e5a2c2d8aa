#include "core/text/answer_json.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/answer/utilization.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/wiring_json.hpp"

namespace wireplan {

Json write_range(double low, double value, double high) {
  Json j;
  put(j, "low", low);
  put(j, "value", value);
  put(j, "high", high);
  return j;
}

namespace {

// An assumption holds its value as JSON text; one that does not read as JSON is shown as it stands.
Json assumption(const Assumption& a) {
  Result<Json> value = parse_json(a.value);
  Json j;
  put(j, "path", a.path);
  put(j, "value", value ? std::move(value.value()) : Json(a.value));
  put(j, "why", a.why);
  return j;
}

Json assumptions(const Plan& plan) {
  Json list = Json::array();
  for (const Assumption& a : plan.assumed) list.push_back(assumption(a));
  return list;
}

Json states_json(const StateBytes& states) {
  Json j;
  put(j, "parameters", states.parameters);
  put(j, "gradients", states.gradients);
  put(j, "master_weights", states.master_weights);
  put(j, "optimizer_states", states.optimizer_states);
  return j;
}

Json parts_json(const MemoryParts& parts) {
  Json j;
  put(j, "parameters", parts.parameters);
  put(j, "gradients", parts.gradients);
  put(j, "master_weights", parts.master_weights);
  put(j, "optimizer_states", parts.optimizer_states);
  put(j, "activations", parts.activations);
  put(j, "logits", parts.logits);
  put(j, "unsharded_parameters", parts.unsharded_parameters);
  put(j, "communication_buffers", parts.communication_buffers);
  put(j, "temporary", parts.temporary);
  return j;
}

Json phases_json(const MemoryAnswer& m) {
  Json j;
  put(j, "load", m.load);
  put(j, "initialize", m.initialize);
  put(j, "first_step", m.first_step);
  put(j, "steady", m.steady);
  put(j, "between_steps", m.between_steps);
  put(j, "save", m.save);
  return j;
}

Json ranks_json(const std::vector<RankMemory>& ranks) {
  Json list = Json::array();
  for (const RankMemory& r : ranks) {
    Json j;
    put(j, "stage", r.stage);
    put(j, "allocated_bytes", r.allocated);
    put(j, "reserved_bytes", r.reserved);
    put(j, "device_bytes", r.device);
    list.push_back(std::move(j));
  }
  return list;
}

Json memory_json(const MemoryAnswer& m) {
  Json j;
  put(j, "capacity_bytes", m.capacity);
  put(j, "fits", m.fits);
  put(j, "verdict", name_of(m.verdict));
  put(j, "states", states_json(m.states));
  put(j, "allocated_bytes", write_range(m.allocated));
  put(j, "need_bytes", write_range(m.need));
  put(j, "reserved_bytes", write_range(m.reserved));
  put(j, "device_bytes", write_range(m.device));
  put(j, "parts", parts_json(m.parts));
  put(j, "allocator_slack_bytes", m.allocator_slack);
  put(j, "runtime_bytes", m.runtime);
  put(j, "peak_at", m.peak_at);
  put(j, "worst_rank", m.worst_rank);
  put(j, "ranks", ranks_json(m.ranks));
  put(j, "phases", phases_json(m));
  put(j, "after_forward_bytes", m.after_forward);
  put(j, "after_backward_bytes", m.after_backward);
  put(j, "host_bytes", m.host);
  put(j, "fits_host", m.fits_host < 0 ? Json(nullptr) : Json(m.fits_host == 1));
  return j;
}

Json communication_json(const std::vector<CommunicationRow>& rows) {
  Json list = Json::array();
  for (const CommunicationRow& r : rows) {
    Json j;
    put(j, "name", r.name);
    put(j, "collective", name_of(r.collective));
    put(j, "dimension", name_of(r.dimension));
    put(j, "ranks", r.ranks);
    put(j, "bytes", r.bytes);
    put(j, "calls", r.calls);
    put(j, "algorithm", r.algorithm);
    put(j, "protocol", r.protocol);
    put(j, "bus_bandwidth_bytes_per_s", r.bus_bandwidth);
    put(j, "time_s", write_range(r.time));
    put(j, "exposed_s", r.exposed);
    put(j, "bottleneck", r.bottleneck);
    put(j, "basis", r.basis);
    list.push_back(std::move(j));
  }
  return list;
}

Json conventions_json(const std::vector<Utilization>& all) {
  Json list = Json::array();
  for (const Utilization& u : all) {
    Json j;
    put(j, "name", name_of(u.convention));
    put(j, "flops_per_token", u.flops_per_token);
    put(j, "tflops_per_gpu", u.tflops_per_gpu);
    put(j, "mfu", u.mfu);
    list.push_back(std::move(j));
  }
  return list;
}

Json step_json(const Plan& plan, const Estimate& estimate) {
  const StepAnswer& s = estimate.step;
  Json j;
  put(j, "time_s", write_range(s.time));
  put(j, "compute_s", s.compute);
  put(j, "exposed_communication_s", s.exposed_communication);
  put(j, "bubble_s", s.bubble);
  put(j, "optimizer_s", s.optimizer);
  put(j, "host_s", s.host);
  put(j, "offload_s", s.offload);
  put(j, "straggler_s", s.straggler);
  put(j, "on_ideal_wiring_s", s.on_ideal_wiring);
  put(j, "wiring_bandwidth_s", s.wiring_bandwidth);
  put(j, "wiring_latency_s", s.wiring_latency);
  put(j, "tokens_per_s", s.tokens_per_s);
  put(j, "tokens_per_s_per_gpu", s.tokens_per_s_per_gpu);
  put(j, "model_tflops_per_gpu", s.model_tflops_per_gpu);
  put(j, "hardware_tflops_per_gpu", s.hardware_tflops_per_gpu);
  put(j, "mfu", s.mfu);
  put(j, "hfu", s.hfu);
  put(j, "conventions", conventions_json(utilization(plan, estimate)));
  return j;
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
    Json difference;
    put(difference, "path", path);
    put(difference, "values", std::move(values));
    list.push_back(std::move(difference));
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
  for (const char* part : {"plan", "assumed", "model", "memory", "communication", "wiring", "step"}) {
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
      for (const char* key : {"name", "path", "stage", "dimension", "a"}) {
        auto it = element.find(key);
        if (it == element.end()) continue;
        name = it->is_string() ? it->get<std::string>() : dump_json_compact(*it);
        if (auto other = element.find("b"); other != element.end() && other->is_string()) name += "–" + other->get<std::string>();
        break;
      }
    std::string unique = name;
    for (int count = 2; std::find(names.begin(), names.end(), unique) != names.end(); ++count) unique = name + '#' + std::to_string(count);
    names.push_back(std::move(unique));
  }
  return names;
}

Json write_note(const Note& note) {
  Json j;
  put(j, "severity", name_of(note.severity));
  put(j, "path", note.path);
  put(j, "text", note.text);
  return j;
}

Json write_estimate(const Plan& plan, const Estimate& estimate) {
  Json model, notes = Json::array();
  put(model, "parameters", estimate.parameters);
  put(model, "active_parameters", estimate.active_parameters);
  put(model, "flops_per_token", estimate.flops_per_token);
  for (const Note& n : estimate.notes) notes.push_back(write_note(n));
  Json j;
  put(j, "schema", "wireplan.estimate/1");
  put(j, "engine", kEngineVersion);
  put(j, "plan", write_plan(plan));
  put(j, "assumed", assumptions(plan));
  put(j, "model", std::move(model));
  put(j, "memory", memory_json(estimate.memory));
  put(j, "communication", communication_json(estimate.communication));
  put(j, "wiring", write_wiring(plan, estimate));
  put(j, "step", step_json(plan, estimate));
  put(j, "notes", std::move(notes));
  return j;
}

namespace {

Json stream_json(const Plan& plan, const StepStream& stream) {
  Json events = Json::array();
  for (const StepEvent& e : stream.events) {
    Json event;
    put(event, "name", e.name);
    put(event, "start_s", e.start);
    put(event, "duration_s", e.duration);
    put(event, "kind", name_of(e.kind));
    put(event, "micro_batch", e.micro_batch < 0 ? Json(nullptr) : Json(e.micro_batch));
    put(event, "communication", e.communication < 0 ? Json(nullptr) : Json(e.communication));
    put(event, "waits_for", e.waits_for.empty() ? Json(nullptr) : Json(e.waits_for));
    events.push_back(std::move(event));
  }
  Json j;
  put(j, "rank", first_rank_of_stage(plan, static_cast<int>(stream.stage)));
  put(j, "stage", stream.stage);
  put(j, "stream", stream.name);
  put(j, "events", std::move(events));
  return j;
}

}  // namespace

Json write_timeline(const Plan& plan, const std::vector<StepStream>& streams, const std::vector<MemoryLine>& lines) {
  Json memory = Json::array();
  for (const MemoryLine& line : lines) {
    Json points = Json::array();
    for (const MemoryPoint& p : line.points) points.push_back(Json::array({number(p.time.value), number(std::ceil(p.allocated.value))}));
    Json j;
    put(j, "stage", line.stage);
    put(j, "points", std::move(points));
    memory.push_back(std::move(j));
  }
  Json j;
  Json laid_out = Json::array();
  for (const StepStream& stream : streams) laid_out.push_back(stream_json(plan, stream));
  put(j, "streams", std::move(laid_out));
  put(j, "memory", std::move(memory));
  return j;
}

Json write_comparison(const Comparison& comparison) {
  Json estimates = Json::array();
  for (std::size_t i = 0; i < comparison.plans.size(); ++i)
    estimates.push_back(write_estimate(comparison.plans[i], comparison.estimates[i]));
  Json different = differences(estimates);
  Json j;
  put(j, "schema", "wireplan.compare/1");
  put(j, "baseline", Json(comparison.baseline));
  put(j, "estimates", std::move(estimates));
  put(j, "differences", std::move(different));
  return j;
}

Json write_explanation(const Explanation& e) {
  Json values = Json::array();
  for (const ExplainedValue& v : e.values) {
    Json j;
    put(j, "symbol", v.symbol);
    put(j, "value", v.value);
    put(j, "unit", v.unit);
    put(j, "kind", name_of(v.kind));
    put(j, "meaning", v.meaning);
    put(j, "key", v.key);
    values.push_back(std::move(j));
  }
  Json j;
  put(j, "key", e.key);
  put(j, "symbol", e.symbol);
  put(j, "formula", e.formula);
  put(j, "values", std::move(values));
  put(j, "result", e.result);
  put(j, "unit", e.unit);
  put(j, "kind", name_of(e.kind));
  put(j, "band", e.has_band ? write_range(e.band) : Json(nullptr));
  put(j, "sources", e.sources);
  return j;
}

Json write_errors(const Errors& errors) {
  Json list = Json::array();
  for (const Error& e : errors) {
    Json j;
    put(j, "path", e.path);
    put(j, "value", e.value);
    put(j, "limit", e.limit);
    put(j, "text", e.text);
    list.push_back(std::move(j));
  }
  Json j;
  put(j, "errors", std::move(list));
  return j;
}

}  // namespace wireplan
