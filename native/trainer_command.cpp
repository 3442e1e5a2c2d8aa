#include "native/trainer_command.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include "core/text/launch/launch.hpp"
#include "core/text/request.hpp"
#include "core/text/trainers/trainer_request.hpp"
#include "native/files.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

std::vector<std::string> trainer_names() {
  std::vector<std::string> names{kNames<Trainer>.begin(), kNames<Trainer>.end()};
  for (const std::string_view launcher : kNames<Launcher>)
    if (plain_launcher(launcher)) names.emplace_back(launcher);
  return names;
}

void say(const std::string& text) { std::fprintf(stderr, "wireplan: %s\n", text.c_str()); }

// Standard output and a single file hold the configuration; its launch comes with a folder.
void keep_configuration(Json& exported, const std::string& place) {
  std::error_code error;
  Json& files = exported["files"];
  if (files.size() < 2 || (!place.empty() && (place.back() == '/' || std::filesystem::is_directory(place, error)))) return;
  for (std::size_t i = 1; i < files.size(); ++i)
    if (files[i].at("name") == "launch.sh") {
      files.erase(i);
      say("launch.sh is written beside it into a folder: -o FOLDER/");
      return;
    }
}

// What the files do not say goes to standard error, so that standard output can be used as it is.
void say_the_rest(const Json& exported) {
  for (const Json& i : exported.at("inexpressible")) say("not in the files: " + i.at("path").get<std::string>() + " = " + i.at("value").get<std::string>() + ": " + i.at("text").get<std::string>());
  for (const Json& n : exported.at("notes")) say(n.at("text").get<std::string>());
}

int write_files(const Json& exported, const std::string& place) {
  const Json& files = exported.at("files");
  std::error_code error;
  const bool is_folder = place.back() == '/' || std::filesystem::is_directory(place, error);
  if (!is_folder && files.size() > 1)
    return print_errors({Error{"-o", value_text(Json(place)), "a folder", "there are " + std::to_string(files.size()) + " files, and " + value_text(Json(place)) + " is no folder. Nearest: " + place + "/"}}, false);
  if (is_folder) std::filesystem::create_directories(place, error);
  for (const Json& file : files) {
    const std::string path = is_folder ? (std::filesystem::path(place) / file.at("name").get<std::string>()).string() : place;
    if (Errors errors = write_file("-o", path, file.at("text").get_ref<const std::string&>()); !errors.empty()) return print_errors(errors, false);
    say("written: " + path);
  }
  return kDone;
}

}  // namespace

void define_export(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("export", "write a plan as the configuration of a trainer");
  command->add_option("PLAN", options.plans, "the plan")->required()->expected(1)->type_name("");
  command->add_option("--to", options.trainer, "the trainer, or torchrun, srun or mpirun for the launch alone; left out: the usual trainer of the plan's framework")->type_name("TRAINER")->check(CLI::IsMember(trainer_names()));
  command->add_option("-o,--output", options.out_folder, "a folder for the files, or the file where there is one; left out: standard output")->type_name("PLACE");
  add_plan_options(*command, options);
  command->add_flag("--json", options.json, "print the JSON document: wireplan.export/1");
  command->add_option("--presets", options.presets_folder, "folder with presets of your own: DIR/<kind>/<id>.json")->type_name("DIR");
  command->footer("What the trainer cannot say is listed on standard error.\n\nExamples:\n"
                  "  wireplan export llama-3-8b-fsdp --to torchtitan -o job.toml\n"
                  "  wireplan export codellama-34b-zero3 --to deepspeed > ds_config.json\n"
                  "  wireplan export story --to training-arguments -o configs/\n"
                  "  wireplan export llama-3-70b-megatron --to srun\n\n" +
                  std::string(kPlanForms));
}

void add_trainer_options(CLI::App& import, Options& options) {
  import.add_option("--onto", options.onto, "with a trainer's configuration: the plan that it is put over")->type_name("PLAN");
}

int run_export(const Options& options, const Presets& presets) {
  Result<Json> plan = plan_with_edits(options.plans.front(), options.edits, presets);
  if (!plan) return print_errors(plan.errors(), options.json);
  Json request = plan.value().is_object() && plan.value().contains("plan") ? plan.value() : Json{{"plan", plan.value()}};
  if (!options.trainer.empty()) request["trainer"] = options.trainer;
  Result<Json> exported = answer("export", request, presets);
  if (!exported) {
    Errors errors = exported.errors();
    for (Error& e : errors)
      if (e.path == "to" || e.path == "trainer") e.path = "--to";
    return print_errors(errors, options.json);
  }
  if (options.json) return print(dump_json(exported.value()), kDone);
  say_the_rest(exported.value());
  keep_configuration(exported.value(), options.out_folder);
  return options.out_folder.empty() ? print(render_export(exported.value()), kDone) : write_files(exported.value(), options.out_folder);
}

bool looks_like_trainer(const std::string& text) {
  if (detected_trainer(text)) return true;
  // A file with a fault in it has no keys, but still its words.
  for (const char* word : {"[parallelism]", "[training]", "\"zero_optimization\"", "distributed_type:", "per_device_train_batch_size"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

int run_import_trainer(const Options& options, const std::string& text, const Presets& presets) {
  Json request{{"text", text}};
  if (value_named<Trainer>(options.import_as)) request["trainer"] = options.import_as;
  if (options.onto.empty() && !options.edits.empty())
    return print_errors({Error{"--set", value_text(Json(options.edits.front())), "with --onto", "--set changes the plan that a trainer's configuration is put over. Nearest: --onto PLAN"}}, options.json);
  if (!options.onto.empty()) {
    Result<Json> onto = plan_with_edits(options.onto, options.edits, presets);
    if (!onto) return print_errors(onto.errors(), options.json);
    request["onto"] = std::move(onto.value());
  }
  const Result<Json> imported = answer("import_trainer", request, presets);
  if (!imported) return print_errors(in_file(options.files.front(), imported.errors()), options.json);
  const Json& found = imported.value();
  if (!options.json) return print(render_imported(found), kDone);
  // The document is the plan alone, so that it can be used as it is; the rest is said beside it.
  for (const Json& u : found.at("unread"))
    if (u.at("effect") != "none") say("not read: " + u.at("key").get<std::string>() + " = " + u.at("value").get<std::string>() + ": " + u.at("text").get<std::string>());
  if (!found.contains("document"))
    for (const Json& m : found.at("missing")) say("still to be stated: " + m.get<std::string>() + " (--onto PLAN)");
  for (const Json& n : found.at("notes")) say(n.at("text").get<std::string>());
  if (found.contains("problems"))
    for (const Json& p : found.at("problems")) say(p.at("text").get<std::string>());
  Json plan = found.contains("document") ? found.at("document") : Json{{"schema", "wireplan.plan/1"}};
  if (!found.contains("document"))
    for (auto it = found.at("plan").begin(); it != found.at("plan").end(); ++it) plan[it.key()] = it.value();
  return print(dump_json(plan), found.contains("problems") && !found.at("problems").empty() ? kBadInput : kDone);
}

}  // namespace wireplan
