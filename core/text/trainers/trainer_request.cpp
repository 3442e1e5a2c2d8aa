#include "core/text/trainers/trainer_request.hpp"

#include "core/text/launch/launch.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/reader.hpp"
#include "core/text/request.hpp"

namespace wireplan {
namespace {

// A trainer of the request by its name; none where it is left out.
std::optional<Trainer> trainer_of(Reader& r) {
  Trainer trainer{};
  return r.name_stated("trainer", trainer) ? std::optional(trainer) : std::nullopt;
}

// A model that a configuration names and no preset has is asked for instead.
void settle_model(ImportedTrainer& imported, const Presets& presets) {
  const auto model = imported.plan.find("model");
  if (model == imported.plan.end() || !model->is_string()) return;
  const std::string id = model->get<std::string>();
  if (!presets.text("models", id).empty()) return;
  imported.plan.erase("model");
  for (std::size_t i = 0; i < imported.fields.size(); ++i) {
    if (imported.fields[i].path != "model") continue;
    imported.unread.push_back({imported.fields[i].from, value_text(Json(id)), KeyEffect::changes, "no preset is called so" + did_you_mean(presets.nearest("models", id))});
    imported.fields.erase(imported.fields.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  imported.missing.insert(imported.missing.begin(), "model");
}

// Every key of `onto`'s cluster that the work of `completed` needs.
Json with_gpus(Json onto, const ImportedTrainer& imported, const Presets& presets) {
  auto cluster = onto.find("cluster");
  if (cluster == onto.end()) return onto;
  if (!cluster->is_object() || !cluster->contains("node")) {
    if (!cluster->is_string()) return onto;
    *cluster = Json{{"node", *cluster}};
  }
  const bool states_gpus = imported.plan.contains("cluster") && imported.plan["cluster"].contains("gpus_per_node");
  if (states_gpus || cluster->contains("gpus_per_node")) return onto;
  const Json& node = cluster->at("node");
  if (!node.is_string()) return onto;
  if (const Result<Node> known = presets.node(node.get_ref<const std::string&>())) (*cluster)["gpus_per_node"] = known.value().gpus;
  return onto;
}

Json write_errors(const Errors& errors) {
  Json list = Json::array();
  for (const Error& e : errors) {
    Json one = Json::object();
    put(one, "path", e.path);
    put(one, "value", e.value);
    put(one, "limit", e.limit);
    put(one, "text", e.text);
    list.push_back(std::move(one));
  }
  return list;
}

void line(std::string& text, const std::string& indent, std::string_view words) {
  ((text += indent) += words) += '\n';
}

// The launch lines alone, for a training code of one's own.
Result<Json> answer_launch(const Json& request, Launcher launcher, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  r.require("plan", "a plan document, a scenario id or a link");
  for (const char* key : {"plan", "set", "trainer"}) r.find(key);
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Json only = request;
  only.erase("trainer");
  const Result<StatedPlan> stated = stated_plan(only, presets);
  if (!stated) return stated.errors();
  const Launch lines = launch(stated.value().plan, launcher);
  Json document = write_launch(lines, launch_script(lines, "Starts the plan with " + std::string(name_of(launcher)) + "; train.py stands for your program."));
  put(document, "round_trip", Json::array());
  return document;
}

}  // namespace

Result<Json> answer_export(const Json& request, const Presets& presets) {
  if (const auto named = request.find("trainer"); named != request.end() && named->is_string())
    if (const auto launcher = plain_launcher(named->get_ref<const std::string&>())) return answer_launch(request, *launcher, presets);
  ReadLog log;
  Reader r(log, request, "");
  r.require("plan", "a plan document, a scenario id or a link");
  r.find("plan");
  r.find("set");
  std::optional<Trainer> trainer = trainer_of(r);
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Json only = request;
  only.erase("trainer");
  const Result<StatedPlan> stated = stated_plan(only, presets);
  if (!stated) return stated.errors();
  const Plan& plan = stated.value().plan;
  if (!trainer) trainer = usual_trainer(plan);
  const Result<Export> exported = export_plan(plan, *trainer);
  if (!exported) return exported.errors();
  Json document = write_export(exported.value(), *trainer);
  Json changed = Json::array();
  if (const auto back = round_trip(plan, *trainer, presets))
    for (const RoundTripDifference& d : back.value()) {
      Json one = Json::object();
      put(one, "path", d.path);
      put(one, "before", d.before);
      put(one, "after", d.after);
      changed.push_back(std::move(one));
    }
  put(document, "round_trip", std::move(changed));
  return document;
}

Result<Json> answer_import_trainer(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  std::string text;
  r.require("text", "a trainer's configuration");
  r.read("text", text);
  const std::optional<Trainer> trainer = trainer_of(r);
  const Json* onto = r.stated("onto");
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<ImportedTrainer> imported = import_trainer(text, trainer);
  if (!imported) return imported.errors();
  settle_model(imported.value(), presets);
  Json document = write_imported(imported.value());
  if (onto == nullptr) return document;
  Json base;
  if (onto->is_object() && !onto->contains("plan"))
    base = *onto;
  else {
    const Result<StatedPlan> stated = stated_plan(*onto, presets);
    if (!stated) return stated.errors();
    base = write_plan(stated.value().plan);
  }
  Json plan = completed(imported.value(), with_gpus(std::move(base), imported.value(), presets));
  const Result<Plan> read = read_plan(plan, presets);
  put(document, "document", std::move(plan));
  put(document, "problems", read ? Json::array() : write_errors(read.errors()));
  return document;
}

std::string render_export(const Json& exported) {
  std::string text;
  const Json& files = exported.at("files");
  for (const Json& file : files) {
    if (files.size() > 1) line(text, text.empty() ? "==> " : "\n==> ", file.at("name").get<std::string>() + " <==");
    text += file.at("text").get<std::string>();
  }
  return text;
}

std::string render_imported(const Json& imported) {
  const std::string_view trainer = trainer_label(value_named<Trainer>(imported.at("trainer").get_ref<const std::string&>()).value_or(Trainer{}));
  std::string text = "Configuration of " + std::string(trainer) + "\n\n";
  for (const Json& f : imported.at("fields"))
    line(text, "  ", f.at("path").get<std::string>() + " = " + dump_json_compact(f.at("value")) + "   from " + f.at("from").get<std::string>());
  if (!imported.at("unread").empty()) line(text, "\n", "Not read:");
  for (const Json& u : imported.at("unread")) {
    const std::string effect = u.at("effect") == "none" ? "" : u.at("effect") == "unknown" ? " (unknown)" : " (changes memory or time)";
    line(text, "  ", u.at("key").get<std::string>() + " = " + u.at("value").get<std::string>() + effect + ": " + u.at("text").get<std::string>());
  }
  if (!imported.contains("document")) {
    if (!imported.at("missing").empty()) line(text, "\n", "Still to be stated (--onto PLAN):");
    for (const Json& m : imported.at("missing")) line(text, "  ", m.get<std::string>());
  } else if (imported.at("problems").empty()) {
    line(text, "\n", "With the plan it is put over it is a plan: --json prints it.");
  }
  for (const Json& n : imported.at("notes")) line(text, "\n", n.at("text").get<std::string>());
  if (imported.contains("problems"))
    for (const Json& p : imported.at("problems")) line(text, "\n", "Not a plan yet: " + p.at("text").get<std::string>());
  return text;
}

}  // namespace wireplan
