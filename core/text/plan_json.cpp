#include "core/text/plan_json.hpp"

#include <algorithm>

#include "core/text/plan_defaults.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/read_model.hpp"
#include "core/text/read_node.hpp"
#include "core/text/read_parallel.hpp"
#include "core/text/read_training.hpp"

namespace wireplan {
namespace {

constexpr std::string_view kSchema = "wireplan.plan/1";

Model read_model_of(ReadLog& log, const Json& json, const std::string& path, const Presets& presets) {
  // Stands in for a model that could not be read, which has an error of its own.
  Model unread;
  unread.opaque = OpaqueModel{.parameters = 1};
  if (json.is_object()) {
    Reader r(log, json, path);
    Model model = read_model(r, false);
    r.finish();
    return model;
  }
  if (!json.is_string()) {
    log.number_missing = true;
    log.add({path, value_text(json), "the id of a model, or an object",
             path + " must be the id of a model or an object, not " + value_text(json)});
    return unread;
  }
  const std::string& id = json.get_ref<const std::string&>();
  if (presets.text("models", id).empty()) {
    log.number_missing = true;
    log.add(unknown_preset(path, "models", id, presets));
    return unread;
  }
  Result<Model> model = presets.model(id);
  if (model) return std::move(model.value());
  log.number_missing = true;
  for (const Error& error : model.errors()) log.add(error);
  return unread;
}

bool is_date(std::string_view text) {  // YYYY or YYYY-MM, of a release that there can be
  if (text.size() != 4 && text.size() != 7) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i == 4 ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  if (text.substr(0, 4) < "2016" || text.substr(0, 4) > "2099") return false;
  return text.size() == 4 || (text.substr(5) >= "01" && text.substr(5) <= "12");
}

// "<id>" or "<id>@<YYYY[-MM]>" of a code base that trains in this framework.
void check_implementation(ReadLog& log, const Plan& plan, const Presets& presets) {
  const std::string& given = plan.training.implementation;
  const std::string path = "training.implementation", shown = value_text(Json(given));
  const std::string_view id = implementation_id(given);
  if (presets.text("implementations", id).empty()) {
    Error error = unknown_preset(path, "implementations", id, presets);
    error.value = shown;
    error.limit = "<id> or <id>@<YYYY[-MM]>, the id of an implementation";
    log.add(std::move(error));
    return;
  }
  if (id.size() < given.size() && !is_date(std::string_view(given).substr(id.size() + 1)))
    log.add({path, shown, "<id>@<YYYY> or <id>@<YYYY-MM>, 2016 to 2099",
             "implementation " + shown + " has no date of the form 2025 or 2025-03. Nearest: " + std::string(id)});
  const Result<Implementation> implementation = presets.implementation(id);
  if (!implementation) {
    for (const Error& error : implementation.errors()) log.add(error);
    return;
  }
  std::string listed;
  for (const Framework framework : implementation.value().frameworks) {
    if (framework == plan.parallel.framework) return;
    listed += (listed.empty() ? "" : " or ") + std::string(name_of(framework));
  }
  log.add({path, shown, "an implementation of framework " + std::string(name_of(plan.parallel.framework)),
           "implementation " + shown + " trains with " + listed + ", not " +
               std::string(name_of(plan.parallel.framework)) + ". Nearest: framework " + listed});
}

// A part of the plan that may be left out whole.
const Json& part_or_empty(Reader& r, std::string_view key, const Json& empty) {
  const Json* json = r.find(key);
  return json != nullptr ? *json : empty;
}

Result<Plan> read_plan(const Json& document, const Presets& presets, bool is_whole) {
  ReadLog log;
  Plan plan;
  PlanStated stated;
  const Json empty = Json::object();
  Reader r(log, document, "");
  if (!document.is_object()) return log.finished();

  std::string schema;
  if (r.read("schema", schema) && schema != kSchema)
    r.fail("schema", *r.find("schema"), std::string(kSchema),
           "the document is a " + value_text(*r.find("schema")) + ", not a plan. Nearest: " + std::string(kSchema));
  r.require("model", "the id of a model, or an object");
  if (const Json* json = r.stated("model"))
    plan.model = read_model_of(log, *json, "model", presets);
  else
    plan.model.opaque = OpaqueModel{.parameters = 1};
  Reader training(log, part_or_empty(r, "training", empty), "training");
  plan.training = read_training(training, stated.training);
  training.finish();
  Reader parallel(log, part_or_empty(r, "parallel", empty), "parallel");
  plan.parallel = read_parallel(parallel, stated.parallel);
  parallel.finish();
  r.require("cluster", "a cluster, or the id of a node");
  if (const Json* json = r.stated("cluster")) plan.cluster = read_cluster_part(log, *json, "cluster", presets);
  r.finish();

  fill_defaults(plan, stated, presets, log);
  check_implementation(log, plan, presets);
  Errors found = validate(plan.model, "model");
  for (Errors more :
       {validate(plan.training, "training"), validate(plan.parallel, "parallel"), validate(plan.cluster, "cluster")})
    found.insert(found.end(), more.begin(), more.end());
  // Rules between parts would only confuse where a number in them could not be read.
  if (is_whole && !log.number_missing)
    for (Error& error : validate_between(plan)) found.push_back(std::move(error));
  log.add_new(found);
  if (!log.errors.empty()) return log.finished();
  plan.assumed = std::move(log.assumed);
  return plan;
}

}  // namespace

Result<Plan> read_plan(const Json& document, const Presets& presets) { return read_plan(document, presets, true); }
Result<Plan> read_plan_parts(const Json& document, const Presets& presets) { return read_plan(document, presets, false); }

Result<Plan> read_plan_text(std::string_view text, const Presets& presets) {
  Result<Json> json = parse_json(text);
  if (!json) return json.errors();
  return read_plan(json.value(), presets);
}

Json write_plan(const Plan& plan) {
  Json j = Json::object();
  put(j, "schema", kSchema);
  put(j, "model", plan.model.id.empty() ? write_model(plan.model) : Json(plan.model.id));
  put(j, "training", write_training(plan.training));
  put(j, "parallel", write_parallel(plan.parallel));
  put(j, "cluster", write_cluster_part(plan.cluster));
  return j;
}

Errors set_path(Json& document, std::string_view path, std::string_view value) {
  const std::string shown = value_text(Json(path));
  const auto wrong = [&](std::string limit, std::string text) {
    return Errors{{std::string(path.substr(0, 80)), shown, std::move(limit), std::move(text)}};
  };
  if (path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos)
    return wrong("names joined by points", shown + " is no path of a plan. Nearest: parallel.tensor");
  if (std::count(path.begin(), path.end(), '.') >= kMaxDocumentDepth - 1)
    return wrong("at most 62 points", shown + " is too deep. Nearest: parallel.tensor");
  if (document.is_null()) document = Json::object();
  Json* here = &document;
  for (std::size_t start = 0;;) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const std::string key(path.substr(start, end - start));
    // "cluster": "dgx-a100-80gb" is short for one such node.
    if (here->is_string() && path.substr(0, start) == "cluster.") {
      Json node = std::move(*here);
      *here = Json::object();
      (*here)["nodes"] = 1;
      (*here)["node"] = std::move(node);
    }
    if (!here->is_object())
      return wrong("a path through objects", std::string(path.substr(0, start == 0 ? 0 : start - 1)) + " is " +
                                                 value_text(*here) + ", which has no " + value_text(Json(key)) +
                                                 ". Nearest: set all of it");
    Json& next = (*here)[key];
    if (end == path.size()) {
      Result<Json> parsed = parse_json(value);
      next = parsed ? std::move(parsed.value()) : Json(value);
      return {};
    }
    if (next.is_null()) next = Json::object();
    here = &next;
    start = end + 1;
  }
}

}  // namespace wireplan
