#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>
#include <string>

#include "core/text/hf_config.hpp"
#include "core/text/hf_weights.hpp"
#include "core/text/import_nccl_log.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_profile.hpp"
#include "core/text/read_run.hpp"
#include "core/text/reader.hpp"
#include "core/text/render_measurements.hpp"
#include "core/text/render_model.hpp"
#include "core/text/stated_cluster.hpp"
#include "core/text/trainers/trainer.hpp"
#include "native/files.hpp"
#include "native/measurements.hpp"
#include "native/output.hpp"
#include "native/topology_nccl.hpp"
#include "native/trainer_command.hpp"
#include "native/weights.hpp"

namespace wireplan {
namespace {

// Texts of other kinds that people try, each with the command that takes it.
Error not_imported(const std::string& path, const std::string& text) {
  const std::string given = value_text(Json(path));
  const auto holds = [&](const char* part) { return text.find(part) != std::string::npos; };
  std::string nearest = "a log of nccl-tests, one written with NCCL_DEBUG=INFO, a model's config.json, or a configuration of " + names_listed<Trainer>();
  std::string what = " is neither a log of nccl-tests nor one of NCCL, no model's configuration and no trainer's";
  if (holds("<system") || (holds("GPU0") && holds("GPU1"))) {
    what = " is a topology";
    nearest = "wireplan topology import FILE";
  } else if (holds("wireplan.profile/1")) {
    what = " is a document of this program already";
    nearest = "wireplan validate FILE --cluster NODE";
  }
  return {"", given, "a log of nccl-tests or NCCL, or a trainer's configuration", given + what + ". Nearest: " + nearest};
}

int import_tests(const Options& options, const std::string& text) {
  Result<ImportedMeasurements> found = import_measurements(text, value_named<Collective>(options.op));
  if (!found) return print_errors(found.errors(), options.json);
  ImportedMeasurements& measured = found.value();
  if (looks_like_nccl_log(text)) measured.notes.push_back({Severity::info, "", "the text also has NCCL's own messages: --as nccl reads those"});
  if (!options.json) return print(render_measurements(measured, options.format), kDone);
  // The document is the profile alone, so that it can be used as it is.
  for (const Note& n : measured.notes) std::fprintf(stderr, "wireplan: %s\n", n.text.c_str());
  return print(dump_json(write_profile(measured.profile)), kDone);
}

int import_log(const Options& options, const std::string& text, const Presets& presets) {
  Result<NcclLog> log = read_nccl_log(text);
  if (!log) return print_errors(log.errors(), options.json);
  if (options.cluster.empty()) return print(options.json ? dump_json(write_nccl_log(log.value())) : render_nccl_log(log.value()), kDone);
  Result<Json> request = machine_argument(options.cluster, presets);
  if (!request) return print_errors(in_file(options.cluster, request.errors()), options.json);
  Result<NcclBesideLog> both = asked_nccl_beside_log(request.value(), log.value(), presets);
  if (!both) return print_errors(in_file(options.cluster, both.errors()), options.json);
  const NcclLogComparison& comparison = both.value().comparison;
  return print(options.json ? dump_json(write_nccl_log(log.value(), &comparison)) : render_nccl_log(log.value(), &comparison), kDone);
}

int import_model(const Options& options, const std::string& text, const Presets& presets) {
  ConfigHints hints{options.model_type, {}};
  for (const std::string& edit : options.edits) {
    const std::size_t sign = edit.find('=');
    if (sign == std::string::npos || sign == 0) return print_errors({Error{"--set", value_text(Json(edit)), "path=value", "--set takes path=value, not " + value_text(Json(edit))}}, options.json);
    hints.fields.emplace_back(edit.substr(0, sign), edit.substr(sign + 1));
  }
  Result<ImportedModel> found = import_config(text, presets, hints);
  if (!found) return print_errors(in_file(options.files.front(), found.errors()), options.json);
  std::optional<WeightsCheck> weights;
  if (!options.weights.empty()) {
    Result<StoredWeights> stored = read_weights(options.weights);
    if (!stored) return print_errors(in_file(options.weights, stored.errors(), true), options.json);
    weights = check_weights(found.value().model, stored.value(), found.value().stored_dtype, found.value().is_quantised);
  }
  const ExitStatus status = weights && !weights->agrees ? kAnswerIsNo : kDone;
  if (!options.json) return print(render_imported_model(found.value(), weights ? &*weights : nullptr, options.format), status);
  Json document = write_imported_model(found.value());
  if (weights) put(document, "weights", write_weights_check(*weights));
  return print(dump_json(document), status);
}

std::vector<std::string> import_kinds() {
  std::vector<std::string> kinds = {"nccl-tests", "nccl", "config"};
  for (const std::string_view name : kNames<Trainer>) kinds.emplace_back(name);
  return kinds;
}

bool holds_run(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '{') return false;
  const Result<Json> json = parse_json(text);
  return json && is_run(json.value());
}

}  // namespace

Result<Cluster> named_cluster(const std::string& argument, const Presets& presets) {
  Result<Json> stated = cluster_argument(argument, presets);
  if (!stated) {
    Errors errors = stated.errors();
    for (Error& e : errors)
      if (e.path.empty()) e.path = "--cluster";
    return errors;
  }
  Result<StatedCluster> cluster = stated_cluster(stated.value(), presets);
  if (!cluster) return cluster.errors();
  return std::move(cluster.value().cluster);
}

int run_import(const Options& options, const Presets& presets) {
  Result<std::string> text = read_lines(options.files.front());
  if (!text) return print_errors(text.errors(), options.json);
  const bool is_tests = options.import_as.empty() ? looks_like_nccl_tests(text.value()) || holds_run(text.value()) : options.import_as == "nccl-tests";
  if (is_tests) return import_tests(options, text.value());
  if (options.import_as == "nccl" || looks_like_nccl_log(text.value())) return import_log(options, text.value(), presets);
  if (options.import_as == "config" || looks_like_config(text.value())) return import_model(options, text.value(), presets);
  if (value_named<Trainer>(options.import_as) || looks_like_trainer(text.value())) return run_import_trainer(options, text.value(), presets);
  if (text.value().find("\"wireplan.") != std::string::npos)
    if (const Result<Json> json = parse_json(text.value()); !json) return print_errors(in_file(options.files.front(), json.errors()), options.json);
  return print_errors({not_imported(options.files.front(), text.value())}, options.json);
}

void define_import(CLI::App& app, Options& options) {
  CLI::App* import = app.add_subcommand("import", "read a model's config.json, trainers' configurations, logs of nccl-tests and of NCCL, and runs of measure");
  import->add_option("FILE", options.files, "the file, or - for standard input")->required()->expected(1)->type_name("");
  import->add_option("--op", options.op, "what a table measured that does not say so, e.g. all_gather")->type_name("OP")->check(CLI::IsMember(std::vector<std::string>(kNames<Collective>.begin(), kNames<Collective>.end())));
  import->add_option("--as", options.import_as, "what the text is read as, where its content does not say: nccl-tests, nccl, config or a trainer")->type_name("KIND")->check(CLI::IsMember(import_kinds()));
  import->add_option("--cluster", options.cluster, "with a log of NCCL: the machine to compare with; a node's id, a file, or an NCCL topology file (*.xml)")->type_name("CLUSTER");
  import->add_option("--weights", options.weights, "with a config.json: its weights, to compare the count with; a .safetensors file, an index, or their folder")->type_name("FILE|DIR");
  import->add_option("--model-type", options.model_type, "with a config.json: read it as this model_type")->type_name("TYPE");
  import->add_option("--set", options.edits, "with a config.json: state a field it does not, e.g. model.mlp=swiglu; with --onto: change that plan; may be repeated")->type_name("PATH=VALUE")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_trainer_options(*import, options);
  auto* json = import->add_flag("--json", options.json, "print the JSON document: wireplan.model/1, wireplan.profile/1, wireplan.nccl/1 or the plan");
  import->add_flag_callback("--markdown", [&options] { options.format = RenderFormat::markdown; }, "print Markdown")->excludes(json);
  import->add_option("--presets", options.presets_folder, "folder with presets of your own: DIR/<kind>/<id>.json")->type_name("DIR");
  import->footer("Examples:\n"
                 "  wireplan import config.json --weights model.safetensors.index.json\n"
                 "  wireplan import all_reduce.txt --json > profile.json\n"
                 "  mpirun -np 8 all_gather_perf -b 8 -e 8G -f 2 | wireplan import -\n"
                 "  NCCL_DEBUG=INFO python train.py 2>&1 | wireplan import - --cluster dgx-a100-80gb\n"
                 "  wireplan import llama3_8b.toml --onto llama-3-8b-fsdp --json > plan.json");
}

}  // namespace wireplan
