#include "core/text/request.hpp"

#include <initializer_list>
#include <utility>

#include "core/answer/compare.hpp"
#include "core/answer/explain.hpp"
#include "core/text/advice_json.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/collectives.hpp"
#include "core/text/fit_json.hpp"
#include "core/text/import_request.hpp"
#include "core/text/import_topology.hpp"
#include "core/text/link.hpp"
#include "core/text/nccl_request.hpp"
#include "core/text/placement_text.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/preset_list.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/reader.hpp"
#include "core/text/render.hpp"
#include "core/text/search_request.hpp"
#include "core/text/step_waits_text.hpp"
#include "core/text/step_questions.hpp"
#include "core/text/topology_request.hpp"
#include "core/text/trainers/trainer_request.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostPlans = 1000;

Error wrong(std::string path, const Json& value, std::string limit) {
  std::string text = value_text(value) + " is not " + limit;
  return {std::move(path), value_text(value), std::move(limit), std::move(text)};
}

Errors prefixed(Errors errors, const std::string& prefix) {
  for (Error& e : errors) e.path = e.path.empty() ? prefix : prefix + '.' + e.path;
  return errors;
}

// Every key of the request must be one of `keys`.
Errors unknown_keys(const Json& request, const std::vector<std::string_view>& keys) {
  Errors errors;
  const std::string allowed = listed(keys);
  for (auto it = request.begin(); it != request.end(); ++it) {
    bool known = false;
    for (std::string_view key : keys) known = known || key == it.key();
    if (!known) errors.push_back({it.key(), value_text(it.value()), allowed, "a request has no key " + value_text(Json(it.key())) + "; the keys are " + allowed});
  }
  return errors;
}

Result<StatedDocument> scenario_document(const std::string& id, const Presets& presets) {
  if (presets.text("scenarios", id).empty())
    return Error{"", value_text(Json(id)), "a plan document, a scenario id or a link",
                 value_text(Json(id)) + " is no scenario" + did_you_mean(presets.nearest("scenarios", id))};
  Result<Json> scenario = preset_document(presets, "scenarios", id);
  if (!scenario) return scenario.errors();
  StatedDocument stated;
  auto plan = scenario.value().find("plan");
  if (plan == scenario.value().end()) return wrong("scenarios/" + id + ".plan", nullptr, "a plan document");
  stated.document = *plan;
  auto unit = scenario.value().find("unit");
  if (unit != scenario.value().end() && *unit == "GB") stated.unit = ByteUnit::GB;
  return stated;
}

Result<StatedDocument> link_document(const std::string& text) {
  Result<ParsedLink> link = parse_link(text);
  if (!link) return link.errors();
  StatedDocument stated;
  for (const auto& [key, value] : link.value().view)
    if (key == "u" && value == "gb") stated.unit = ByteUnit::GB;
  stated.notes = std::move(link.value().notes);
  stated.document = std::move(link.value().plan);
  return stated;
}

// The plan of a request that has other keys beside "plan" and "set".
Json only_plan(const Json& request) {
  Json plan = Json::object();
  for (const char* key : {"plan", "set"})
    if (request.contains(key)) plan[key] = request.at(key);
  return plan;
}

struct StatedPlans {
  std::vector<Plan> plans;
  std::vector<std::vector<Note>> notes;
  ByteUnit unit = ByteUnit::GiB;
};

Result<StatedPlans> stated_plans(const Json& list, const Presets& presets) {
  if (!list.is_array() || list.empty() || list.size() > kMostPlans) return wrong("plans", list, "an array of 1 to 1,000 plans");
  StatedPlans all;
  Errors errors;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Result<StatedPlan> one = stated_plan(list[i], presets);
    if (!one) {
      for (Error& e : prefixed(one.errors(), "plans." + std::to_string(i))) errors.push_back(std::move(e));
      continue;
    }
    if (i == 0) all.unit = one.value().unit;
    all.plans.push_back(std::move(one.value().plan));
    all.notes.push_back(std::move(one.value().notes));
  }
  if (!errors.empty()) return errors;
  return all;
}

Comparison compared(StatedPlans stated, const Constants& constants) {
  Comparison comparison = compare(std::move(stated.plans), constants);
  for (std::size_t i = 0; i < stated.notes.size(); ++i) {
    std::vector<Note>& notes = comparison.estimates[i].notes;
    notes.insert(notes.begin(), stated.notes[i].begin(), stated.notes[i].end());
  }
  return comparison;
}

// A document that says one thing.
Json document_of(const char* key, const std::string& text) {
  Json j;
  put(j, key, text);
  return j;
}

// --- the commands ---------------------------------------------------------------------------------------------------------

// What an estimate can have besides, true or false; and the questions of step_questions.hpp.
constexpr const char* kExtras[] = {"timeline", "placement"};
constexpr double kMostEvents = 100'000;  // of a time line in a document: some 20 MB

std::vector<std::string_view> with_questions(std::vector<std::string_view> keys) {
  keys.insert(keys.end(), kStepQuestions.begin(), kStepQuestions.end());
  return keys;
}

bool asks_for(const Json& request, const char* extra) { return request.is_object() && request.contains("plan") && request.contains(extra) && request.at(extra) == true; }

// What "advise" asks for; an empty list: nothing. `true` is both.
Result<std::vector<AdviseWhat>> asked_advice(const Json& request) {
  const auto it = request.is_object() && request.contains("plan") ? request.find("advise") : request.end();
  if (it == request.end() || it->is_null() || *it == false) return std::vector<AdviseWhat>{};
  if (*it == true) return std::vector<AdviseWhat>{AdviseWhat::changes, AdviseWhat::smallest};
  if (it->is_string())
    if (const auto what = value_named<AdviseWhat>(it->get_ref<const std::string&>())) return std::vector<AdviseWhat>{*what};
  return wrong("advise", *it, "true | false | " + names_listed<AdviseWhat>());
}
std::optional<AdviseWhat> only_one(const std::vector<AdviseWhat>& asked) { return asked.size() == 1 ? std::optional(asked.front()) : std::nullopt; }

// The request is a plan, or that.
Result<Json> answer_estimate(const Json& request, const Presets& presets, const Constants& constants) {
  bool has_extras = false;
  const auto look_for = [&](std::string_view key) { has_extras = has_extras || (request.is_object() && request.contains("plan") && request.contains(key)); };
  for (const char* extra : kExtras) look_for(extra);
  look_for("advise");
  for (std::string_view question : kStepQuestions) look_for(question);
  StepQuestions questions;
  if (has_extras) {
    if (Errors errors = unknown_keys(request, with_questions({"plan", "set", kExtras[0], kExtras[1], "advise"})); !errors.empty()) return errors;
    Result<StepQuestions> asked = read_step_questions(request);
    if (!asked) return asked.errors();
    questions = asked.value();
    for (const char* extra : kExtras)
      if (request.contains(extra) && !request.at(extra).is_boolean()) return wrong(extra, request.at(extra), "true or false");
  }
  Result<std::vector<AdviseWhat>> advise = asked_advice(request);
  if (!advise) return advise.errors();
  Result<StatedPlan> stated = stated_plan(has_extras ? only_plan(request) : request, presets);
  if (!stated) return stated.errors();
  const Plan& plan = stated.value().plan;
  const Estimate answered = estimate(stated.value(), constants);
  Json document = write_estimate(plan, answered);
  if (asks_for(request, "timeline")) {
    const std::vector<StepStream> streams = step_streams(plan, answered.cost, constants.efficiency);
    double events = 0;
    for (const StepStream& s : streams) events += static_cast<double>(s.events.size());
    if (events > kMostEvents)
      return Error{"timeline", "true", "at most " + format_count(kMostEvents) + " events",
                   "the time line of this step has " + format_count(events) + " events, one for each pass of each micro-batch. Nearest: fewer micro-batches (training.global_batch_size), which repeat each other"};
    document["timeline"] = write_timeline(plan, streams, memory_timeline(plan, answered));
  }
  if (asks_for(request, "placement")) document["placement"] = write_placement(best_placement(plan, constants));
  if (questions.any()) {
    Result<StepAnswers> answers = answer_step_questions(questions, plan, answered, constants, presets);
    if (!answers) return answers.errors();
    add_step_answers(document, answers.value());
  }
  if (!advise.value().empty()) {
    Result<AdviceAnswer> advised = advice_answer(plan, answered, presets, constants, only_one(advise.value()));
    if (!advised) return advised.errors();
    put(document, "advice", write_advice(plan, advised.value(), presets));
  }
  return document;
}

// {"plan", "set"?, "gpus"?: how many GPUs of a node the subsets have}.
Result<Json> answer_placement(const Json& request, const Presets& presets, const Constants& constants) {
  if (Errors errors = unknown_keys(request, {"plan", "set", "gpus"}); !errors.empty()) return errors;
  Result<StatedPlan> stated = stated_plan(only_plan(request), presets);
  if (!stated) return stated.errors();
  const Plan& plan = stated.value().plan;
  int size = 0;
  if (auto gpus = request.find("gpus"); gpus != request.end() && !gpus->is_null()) {
    const double most = plan.cluster.node.gpus, n = gpus->is_number() ? gpus->get<double>() : 0;
    if (n < 1 || n > most || n != static_cast<int>(n)) return wrong("gpus", *gpus, "null, or a whole number of GPUs from 1 to " + format_exact(most));
    size = static_cast<int>(n);
  }
  return write_placement(best_placement(plan, constants, size));
}

// A string of the request that names a value of an enumeration, or `otherwise` where it is left out.
template <class E>
Result<E> named(const Json& request, const char* key, E otherwise) {
  auto it = request.find(key);
  if (it == request.end() || it->is_null()) return otherwise;
  if (it->is_string())
    if (auto value = value_named<E>(it->get_ref<const std::string&>())) return *value;
  return wrong(key, *it, names_listed<E>());
}

// {"plan", "set"?, "max": the field, "format"?, "unit"?}; with a format {"text"}.
Result<Json> answer_fit(const Json& request, const Presets& presets, const Constants& constants) {
  if (Errors errors = unknown_keys(request, {"plan", "set", "max", "format", "unit"}); !errors.empty()) return errors;
  Result<FitField> field = read_fit_field(request.contains("max") ? request.at("max") : Json(nullptr));
  if (!field) return field.errors();
  Result<RenderFormat> format = named(request, "format", RenderFormat::text);
  if (!format) return format.errors();
  Result<StatedPlan> stated = stated_plan(only_plan(request), presets);
  if (!stated) return stated.errors();
  Result<ByteUnit> unit = named(request, "unit", stated.value().unit);
  if (!unit) return unit.errors();
  const LargestFit fit = fit_largest(stated.value().plan, field.value(), constants);
  if (request.contains("format") && !request.at("format").is_null()) return document_of("text", render_fit(fit, format.value(), unit.value()));
  return write_fit(fit);
}

Result<Explanation> explained(const Json& request, const Presets& presets, const Constants& constants) {
  auto path = request.find("path");
  if (path == request.end() || !path->is_string()) return wrong("path", path == request.end() ? Json(nullptr) : *path, "a path of the estimate");
  Result<StatedPlan> stated = stated_plan(only_plan(request), presets);
  if (!stated) return stated.errors();
  return explain(stated.value().plan, constants, estimate(stated.value(), constants), path->get_ref<const std::string&>());
}

Result<Json> answer_explain(const Json& request, const Presets& presets, const Constants& constants) {
  if (Errors errors = unknown_keys(request, {"plan", "set", "path"}); !errors.empty()) return errors;
  Result<Explanation> explanation = explained(request, presets, constants);
  if (!explanation) return explanation.errors();
  return write_explanation(explanation.value());
}

Result<Json> answer_compare(const Json& request, const Presets& presets, const Constants& constants) {
  if (Errors errors = unknown_keys(request, {"plans"}); !errors.empty()) return errors;
  Result<StatedPlans> stated = stated_plans(request.contains("plans") ? request.at("plans") : Json(nullptr), presets);
  if (!stated) return stated.errors();
  return write_comparison(compared(std::move(stated.value()), constants));
}

Result<Json> answer_collectives(const Json& request, const Presets& presets) {
  Result<CollectivesAnswer> asked = asked_collectives(request, presets);
  if (!asked) return asked.errors();
  return write_collectives(asked.value());
}

Result<Json> answer_topology(const Json& request, const Presets& presets) {
  Result<TopologyAnswer> asked = asked_topology(request, presets);
  if (!asked) return asked.errors();
  return write_topology(asked.value());
}

Result<Json> answer_nccl(const Json& request, const Presets& presets) {
  Result<NcclAnswer> asked = asked_nccl(request, presets);
  if (!asked) return asked.errors();
  return write_nccl(asked.value());
}

Result<Json> answer_presets(const Json& request, const Presets& presets) {
  if (Errors errors = unknown_keys(request, {"kind", "id"}); !errors.empty()) return errors;
  if (!request.contains("kind")) return preset_kinds(presets);
  for (const char* key : {"kind", "id"})
    if (request.contains(key) && !request.at(key).is_string()) return wrong(key, request.at(key), "a string");
  const std::string& kind = request.at("kind").get_ref<const std::string&>();
  return request.contains("id") ? preset_document(presets, kind, request.at("id").get_ref<const std::string&>()) : preset_list(presets, kind);
}

Result<Json> answer_parse_link(const Json& request) {
  if (Errors errors = unknown_keys(request, {"link"}); !errors.empty()) return errors;
  if (!request.contains("link") || !request.at("link").is_string()) return wrong("link", request.contains("link") ? request.at("link") : Json(nullptr), "a link");
  Result<ParsedLink> link = parse_link(request.at("link").get_ref<const std::string&>());
  if (!link) return prefixed(link.errors(), "link");
  Json view = Json::object(), notes = Json::array();
  for (const auto& [key, value] : link.value().view) view[key] = value;
  for (const Note& n : link.value().notes) notes.push_back(write_note(n));
  Json j;
  put(j, "plan", std::move(link.value().plan));
  put(j, "view", std::move(view));
  put(j, "notes", std::move(notes));
  return j;
}

// {"text", "gpu"?, "network"?} -> the cluster document.
Result<Json> answer_import_topology(const Json& request, const Presets& presets) {
  if (Errors errors = unknown_keys(request, {"text", "gpu", "network"}); !errors.empty()) return errors;
  if (!request.contains("text") || !request.at("text").is_string()) return wrong("text", request.contains("text") ? request.at("text") : Json(nullptr), "the text of a topology");
  TopologyHints hints;
  for (const auto& [key, hint] : {std::pair{"gpu", &hints.gpu}, {"network", &hints.network}}) {
    if (!request.contains(key) || request.at(key).is_null()) continue;
    if (!request.at(key).is_string()) return wrong(key, request.at(key), "a string, or null");
    *hint = request.at(key).get<std::string>();
  }
  Result<Cluster> cluster = import_topology(request.at("text").get_ref<const std::string&>(), hints, presets);
  if (!cluster) return cluster.errors();
  return write_cluster(cluster.value());
}

Result<Json> answer_format_link(const Json& request, const Presets& presets) {
  Result<StatedPlan> stated = stated_plan(request, presets);
  if (!stated) return stated.errors();
  const std::string link = format_link(stated.value().plan, presets);
  if (link.empty()) return unlinkable(stated.value().plan, presets);
  return document_of("link", link);
}

Result<Json> answer_render(const Json& request, const Presets& presets, const Constants& constants) {
  const bool many = request.contains("plans");
  if (Errors errors = many ? unknown_keys(request, {"plans", "format", "unit"}) : unknown_keys(request, with_questions({"plan", "set", "path", kExtras[0], kExtras[1], "advise", "format", "unit"}));
      !errors.empty())
    return errors;
  Result<RenderFormat> format = named(request, "format", RenderFormat::text);
  if (!format) return format.errors();
  auto unit_or = [&](ByteUnit otherwise) { return named(request, "unit", otherwise); };
  if (Result<ByteUnit> unit = unit_or(ByteUnit::GiB); !unit) return unit.errors();
  if (many) {
    Result<StatedPlans> stated = stated_plans(request.at("plans"), presets);
    if (!stated) return stated.errors();
    const ByteUnit unit = unit_or(stated.value().unit).value();
    Comparison comparison = compared(std::move(stated.value()), constants);
    std::vector<std::string> links;
    for (const Plan& plan : comparison.plans) links.push_back(format_link(plan, presets));
    return document_of("text", render_comparison(comparison, format.value(), unit, links));
  }
  if (request.contains("path")) {
    Result<Explanation> explanation = explained(request, presets, constants);
    if (!explanation) return explanation.errors();
    return document_of("text", render_explanation(explanation.value()));
  }
  Result<StepQuestions> questions = read_step_questions(request);
  if (!questions) return questions.errors();
  Result<std::vector<AdviseWhat>> advise = asked_advice(request);
  if (!advise) return advise.errors();
  Result<StatedPlan> stated = stated_plan(only_plan(request), presets);
  if (!stated) return stated.errors();
  const Plan& plan = stated.value().plan;
  const Estimate answered = estimate(stated.value(), constants);
  std::string text = render_estimate(plan, answered, format.value(), unit_or(stated.value().unit).value(), format_link(plan, presets));
  if (asks_for(request, "timeline") && format.value() != RenderFormat::csv) {
    Sheet sheet(format.value() == RenderFormat::markdown);
    render_waits(sheet, answered.cost, step_streams(plan, answered.cost, constants.efficiency));
    text += '\n' + sheet.text();
  }
  if (asks_for(request, "placement") && format.value() != RenderFormat::csv) {
    Sheet sheet(format.value() == RenderFormat::markdown);
    render_placement(sheet, best_placement(plan, constants));
    text += '\n' + sheet.text();
  }
  if (questions.value().any() && format.value() != RenderFormat::csv) {
    Result<StepAnswers> answers = answer_step_questions(questions.value(), plan, answered, constants, presets);
    if (!answers) return answers.errors();
    Sheet sheet(format.value() == RenderFormat::markdown);
    render_step_answers(sheet, answers.value());
    text += '\n' + sheet.text();
  }
  if (!advise.value().empty() && format.value() != RenderFormat::csv) {
    Result<AdviceAnswer> advised = advice_answer(plan, answered, presets, constants, only_one(advise.value()));
    if (!advised) return advised.errors();
    Sheet sheet(format.value() == RenderFormat::markdown);
    render_advice(sheet, plan, advised.value(), presets, unit_or(stated.value().unit).value());
    text += '\n' + sheet.text();
  }
  return document_of("text", text);
}

}  // namespace

Result<StatedDocument> stated_document(const Json& stated, const Presets& presets) {
  if (stated.is_string()) {
    const std::string& text = stated.get_ref<const std::string&>();
    return looks_like_link(text) ? link_document(text) : scenario_document(text, presets);
  }
  if (!stated.is_object()) return wrong("", stated, "a plan document, a scenario id or a link");
  if (!stated.contains("plan")) return StatedDocument{stated, {}, ByteUnit::GiB};

  if (Errors errors = unknown_keys(stated, {"plan", "set"}); !errors.empty()) return errors;
  Result<StatedDocument> inner = stated_document(stated.at("plan"), presets);
  if (!inner || !stated.contains("set")) return inner;
  const Json& edits = stated.at("set");
  if (!edits.is_array()) return wrong("set", edits, "an array of [path, value]");
  Errors errors;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const Json& edit = edits[i];
    if (!edit.is_array() || edit.size() != 2 || !edit[0].is_string()) {
      errors.push_back(wrong("set." + std::to_string(i), edit, "an array of [path, value]"));
      continue;
    }
    std::string value = edit[1].is_string() ? edit[1].get<std::string>() : dump_json_compact(edit[1]);
    for (Error& e : set_path(inner.value().document, edit[0].get_ref<const std::string&>(), value)) errors.push_back(std::move(e));
  }
  if (!errors.empty()) return errors;
  return inner;
}

Result<StatedPlan> stated_plan(const Json& stated, const Presets& presets) {
  Result<StatedDocument> document = stated_document(stated, presets);
  if (!document) return document.errors();
  Result<Plan> plan = read_plan(document.value().document, presets);
  if (!plan) return plan.errors();
  return StatedPlan{std::move(plan.value()), std::move(document.value().notes), document.value().unit};
}

Estimate estimate(const StatedPlan& stated, const Constants& constants) {
  Estimate e = estimate(stated.plan, constants);
  e.notes.insert(e.notes.begin(), stated.notes.begin(), stated.notes.end());
  return e;
}

Error not_built_yet(std::string_view command) {
  return {"", value_text(Json(command)), "a command that is built", "the command " + std::string(command) + " is not built yet"};
}

Result<Json> answer(std::string_view command, const Json& request, const Presets& presets) {
  const bool is_plan = command == "estimate" || command == "format_link";  // their request may be the plan itself
  if (!is_plan && !request.is_object()) return wrong("", request, "an object");
  if (command == "presets") return answer_presets(request, presets);
  if (command == "parse_link") return answer_parse_link(request);
  if (command == "format_link") return answer_format_link(request, presets);
  if (command == "collectives") return answer_collectives(request, presets);
  if (command == "topology") return answer_topology(request, presets);
  if (command == "nccl") return answer_nccl(request, presets);
  if (command == "import_nccl_tests") return answer_import_nccl_tests(request);
  if (command == "import_nccl_log") return answer_import_nccl_log(request, presets);
  if (command == "search") return answer_search(request, presets);
  if (command == "import_config") return answer_import_config(request, presets);
  if (command == "import_topology") return answer_import_topology(request, presets);
  if (command == "export") return answer_export(request, presets);
  if (command == "import_trainer") return answer_import_trainer(request, presets);

  constexpr std::string_view names = "estimate | explain | compare | placement | fit | render | collectives | topology | nccl | presets | parse_link | format_link | import_topology | import_nccl_tests | import_nccl_log | import_config | import_trainer | export | search";
  const bool needs_constants = command == "estimate" || command == "explain" || command == "compare" || command == "placement" || command == "fit" || command == "render";
  if (!needs_constants)
    return Error{"", value_text(Json(command)), std::string(names), "there is no command " + value_text(Json(command)) + "; the commands are " + std::string(names)};
  Result<Constants> constants = presets.constants();
  if (!constants) return constants.errors();
  if (command == "explain") return answer_explain(request, presets, constants.value());
  if (command == "compare") return answer_compare(request, presets, constants.value());
  if (command == "placement") return answer_placement(request, presets, constants.value());
  if (command == "fit") return answer_fit(request, presets, constants.value());
  if (command == "render") return answer_render(request, presets, constants.value());
  return answer_estimate(request, presets, constants.value());
}

}  // namespace wireplan
