// The program: arguments in, one answer out. What it computes and how that reads stands in core.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "core/text/preset_list.hpp"
#include "core/text/read_runs.hpp"
#include "core/text/render_accuracy.hpp"
#include "core/text/request.hpp"
#include "core/text/step_questions.hpp"
#include "native/collectives_command.hpp"
#include "native/files.hpp"
#include "native/measure/launch.hpp"
#include "native/measure/measure_command.hpp"
#include "native/measure/replay_command.hpp"
#include "native/measurements.hpp"
#include "native/options.hpp"
#include "native/output.hpp"
#include "native/reference_runs.hpp"
#include "native/search_command.hpp"
#include "native/topology_command.hpp"
#include "native/trainer_command.hpp"

static_assert(wireplan::kEngineVersion == WIREPLAN_VERSION, "the engine's version is that of the project");

namespace wireplan {
namespace {

int print_document(const Json& document, ExitStatus status = kDone) { return print(dump_json(document), status); }

void ask_questions(const Options& options, Json& request) {
  for (const auto& [key, value] : options.questions) request[key] = value;
  for (const auto& [key, value] : {std::pair("scaling", &options.scaling), std::pair("crossover", &options.crossover)})
    if (!value->empty()) request[key] = *value == "true" ? Json(true) : Json(*value);
}

// "up_to" of a request is --up-to here.
Errors named_as_options(Errors errors) {
  for (Error& e : errors)
    if (e.path == "timeline" || std::find(kStepQuestions.begin(), kStepQuestions.end(), e.path) != kStepQuestions.end()) {
      e.path = "--" + e.path;
      std::replace(e.path.begin(), e.path.end(), '_', '-');
    }
  return errors;
}

int run_estimate(const Options& options, const Presets& presets) {
  Result<Json> plan = plan_with_edits(options.plans.front(), options.edits, presets);
  if (!plan) return print_errors(plan.errors(), options.json);
  Json request = plan.value().is_object() && plan.value().contains("plan") ? plan.value() : Json{{"plan", plan.value()}};
  auto ask = [&](const char* command) { return answer(command, request, presets); };

  if (options.timeline && !options.json && options.format == RenderFormat::csv)
    return print_errors({Error{"--timeline", "true", "text, --markdown or --json", "--csv has a line for each plan, not for the time line: ask with --json"}}, false);
  if (options.timeline && options.json) request["timeline"] = true;
  const bool has_questions = !options.questions.empty() || !options.scaling.empty() || !options.crossover.empty();
  if (has_questions && !options.json && options.format == RenderFormat::csv)
    return print_errors({Error{"--csv", "true", "text, --markdown or --json", "--csv has a line for each plan, not for budget, scaling and crossover: ask with --json"}}, false);
  if (options.advise && !options.json && options.format == RenderFormat::csv)
    return print_errors({Error{"--advise", "true", "text, --markdown or --json", "--csv has a line for each plan, not for advice: ask with --json"}}, false);
  if (options.placement && options.json) request["placement"] = true;
  if (options.advise && options.json) request["advise"] = true;
  const bool text_follows = !options.json && !options.print_link;  // then the questions are answered with it
  if (!text_follows) ask_questions(options, request);
  Result<Json> estimate = ask("estimate");
  if (!estimate) return print_errors(named_as_options(estimate.errors()), options.json);
  const Json& memory = estimate.value().at("memory");
  const bool fits = memory.at("fits") == true && memory.at("fits_host") != false;
  const ExitStatus status = options.check && !fits ? kAnswerIsNo : kDone;

  if (options.print_link) {
    Result<Json> link = ask("format_link");
    if (!link) return print_errors(link.errors(), options.json);
    return options.json ? print_document(link.value(), status) : print(link.value().at("link").get<std::string>() + '\n', status);
  }
  if (options.json && options.explain.empty()) return print_document(estimate.value(), status);
  if (!options.explain.empty()) request["path"] = options.explain;
  if (!options.json) {
    request["format"] = name_of(options.format);
    if (options.unit) request["unit"] = name_of(*options.unit);
    if (options.placement) request["placement"] = true;
    if (options.advise) request["advise"] = true;
    if (options.timeline) request["timeline"] = true;
    ask_questions(options, request);
  }
  Result<Json> document = ask(options.json ? "explain" : "render");
  if (!document) return print_errors(named_as_options(document.errors()), options.json);
  return options.json ? print_document(document.value(), status) : print(document.value().at("text").get<std::string>(), status);
}

int run_fit(const Options& options, const Presets& presets) {
  Result<Json> plan = plan_with_edits(options.plans.front(), options.edits, presets);
  if (!plan) return print_errors(plan.errors(), options.json);
  Json request = plan.value().is_object() && plan.value().contains("plan") ? plan.value() : Json{{"plan", plan.value()}};
  request["max"] = options.fit_field;
  Result<Json> fit = answer("fit", request, presets);
  if (!fit) {
    Errors errors = fit.errors();
    for (Error& e : errors)
      if (e.path == "max") e.path = "--max";
    return print_errors(errors, options.json);
  }
  const ExitStatus status = fit.value().at("largest").is_null() ? kAnswerIsNo : kDone;
  if (options.json) return print_document(fit.value(), status);
  request["format"] = name_of(options.format);
  if (options.unit) request["unit"] = name_of(*options.unit);
  return print(answer("fit", request, presets).value().at("text").get<std::string>(), status);
}

int run_compare(const Options& options, const Presets& presets) {
  Json plans = Json::array();
  for (const std::string& argument : options.plans) {
    Result<Json> plan = plan_with_edits(argument, options.edits, presets);
    if (!plan) return print_errors(plan.errors(), options.json);
    plans.push_back(std::move(plan.value()));
  }
  Json request{{"plans", std::move(plans)}};
  if (!options.json) {
    request["format"] = name_of(options.format);
    if (options.unit) request["unit"] = name_of(*options.unit);
  }
  Result<Json> document = answer(options.json ? "compare" : "render", request, presets);
  if (!document) return print_errors(document.errors(), options.json);
  return options.json ? print_document(document.value()) : print(document.value().at("text").get<std::string>(), kDone);
}

int run_presets(const Options& options, const Presets& presets) {
  Json request = Json::object();
  if (!options.preset_kind.empty()) request["kind"] = options.preset_kind;
  if (!options.preset_id.empty()) request["id"] = options.preset_id;
  Result<Json> document = answer("presets", request, presets);
  if (!document) return print_errors(document.errors(), options.json);
  if (options.json || !options.preset_id.empty()) return print_document(document.value());
  return print(render_preset_list(document.value(), options.format), kDone);
}

int run_accuracy(const Options& options, const Presets& presets) {
  Result<std::string> lines = options.runs_file.empty() ? Result<std::string>(std::string(reference_runs()) + std::string(published_sweeps())) : read_lines(options.runs_file);
  if (!lines) return print_errors(lines.errors(), options.json);
  TopologyText topology;
  if (!options.xml_folder.empty()) {
    if (Errors errors = folder_errors("--xml-dir", options.xml_folder); !errors.empty()) return print_errors(errors, options.json);
    topology = [&](const std::string& name) { return read_lines(options.xml_folder + '/' + name); };
  }
  Result<Runs> runs = read_runs(lines.value(), presets, topology);
  if (!runs) return print_errors(runs.errors(), options.json);
  Result<Constants> constants = presets.constants();
  if (!constants) return print_errors(constants.errors(), options.json);
  const GroupBy left_out = value_named<GroupBy>(options.leave_out).value_or(GroupBy::nothing);
  Fitted fitted{{}, left_out};
  if (left_out != GroupBy::nothing) {
    Result<Runs> published = read_runs(published_sweeps(), presets);
    if (!published) return print_errors(published.errors(), options.json);
    for (Run& run : published.value().runs)
      if (run.collective) fitted.runs.push_back(std::move(*run.collective));
    share_plans(fitted.runs, constants.value().links);
  }
  const Accuracy found = accuracy(std::move(runs.value()), constants.value(), fitted);
  return options.json ? print_document(write_accuracy(found, left_out)) : print(render_accuracy(found, left_out, options.format), kDone);
}

int run(const Options& options) {
  Presets presets;
  if (!options.presets_folder.empty())
    if (Errors errors = add_presets(options.presets_folder, presets); !errors.empty()) return print_errors(errors, options.json);
  if (options.command == "estimate") return run_estimate(options, presets);
  if (options.command == "fit") return run_fit(options, presets);
  if (options.command == "compare") return run_compare(options, presets);
  if (options.command == "search") return run_search(options, presets);
  if (options.command == "presets") return run_presets(options, presets);
  if (options.command == "topology") return run_topology(options, presets);
  if (options.command == "collectives") return run_collectives(options, presets);
  if (options.command == "accuracy") return run_accuracy(options, presets);
  if (options.command == "measure" || options.command == "replay" || options.measure)
    if (const std::string wrong = launch_from_environment().wrong; !wrong.empty())
      return print_errors({Error{"environment", value_text(Json(wrong.substr(0, wrong.find(':')))), "what mpirun, srun or torchrun set", wrong}}, options.json);
  if (options.command == "measure") return run_measure(options, presets);
  if (options.command == "replay") return run_replay(options, presets);
  if (options.command == "export") return run_export(options, presets);
  if (options.command == "import") return run_import(options, presets);
  if (options.command == "validate") return run_validate(options, presets);
  return print_errors({not_built_yet(options.command)}, options.json);
}

}  // namespace
}  // namespace wireplan

int main(int argc, char** argv) {
  using namespace wireplan;
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as a failed write
#endif
  try {
    const CommandLine line = read_command_line(argc, argv);
    if (const Help* help = std::get_if<Help>(&line)) return print(help->text, kDone);
    if (const Errors* errors = std::get_if<Errors>(&line))  // of many processes one says it
      return launch_from_environment().rank == 0 ? print_errors(*errors, asks_for_json(argc, argv)) : static_cast<int>(kBadInput);
    return run(std::get<Options>(line));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wireplan: %s\n", e.what());
    return kBadInput;
  }
}
