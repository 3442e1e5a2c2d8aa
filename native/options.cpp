#include "native/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "core/text/json.hpp"
#include "core/text/reader.hpp"
#include "native/collectives_command.hpp"
#include "native/measure/measure_command.hpp"
#include "native/measure/replay_command.hpp"
#include "native/measurements.hpp"
#include "native/search_command.hpp"
#include "native/topology_command.hpp"
#include "native/trainer_command.hpp"

namespace wireplan {
namespace {

struct Later {  // commands of the design that are not built yet
  const char *name, *arguments, *what;
};
constexpr std::array<Later, 1> kLater = {{
    {"diagnose", "story", "what to change first"},
}};

}  // namespace

void add_output_options(CLI::App& command, Options& options) {
  auto* json = command.add_flag("--json", options.json, "print the JSON document");
  auto* markdown = command.add_flag_callback("--markdown", [&options] { options.format = RenderFormat::markdown; }, "print Markdown");
  auto* csv = command.add_flag_callback("--csv", [&options] { options.format = RenderFormat::csv; }, "print CSV, full precision");
  json->excludes(markdown)->excludes(csv);
  markdown->excludes(csv);
  command.add_option("--presets", options.presets_folder, "folder with presets of your own: DIR/<kind>/<id>.json")->type_name("DIR");
}

void add_plan_options(CLI::App& command, Options& options) {
  // One value for each --set, so that a PLAN may follow it.
  command.add_option("--set", options.edits, "change a field of the plan, e.g. parallel.data_sharding=fsdp; may be repeated")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  // Before every --set, which may change fields of it.
  command.add_option_function<std::string>(
             "--model", [&options](const std::string& model) { options.edits.insert(options.edits.begin(), "model=" + model); }, "the model: an id (wireplan presets models), a config.json, or what import --json printed of one")
      ->type_name("ID|FILE");
  command.add_option_function<std::string>(
             "--unit", [&options](const std::string& unit) { options.unit = value_named<ByteUnit>(unit); }, "unit of memory in text (default GiB)")
      ->type_name("UNIT")
      ->check(CLI::IsMember({"GB", "GiB"}));
}

namespace {

// What step_questions.hpp reads; it judges the values.
void add_questions(CLI::App& estimate, Options& options, const std::vector<CLI::Option*>& excluded) {
  const auto ask = [&](const char* key, const char* option, const char* type, const char* what) {
    CLI::Option* added = estimate.add_option_function<std::string>(option, [&options, key](const std::string& value) { options.questions.emplace_back(key, value); }, what)->type_name(type);
    for (CLI::Option* other : excluded) added->excludes(other);
  };
  const auto ask_maybe = [&](std::string& value, const char* option, const char* what) {  // a value only with "=", so that a PLAN may follow
    CLI::Option* added = estimate.add_flag(option, value, what);
    for (CLI::Option* other : excluded) added->excludes(other);
  };
  ask("tokens", "--tokens", "N", "also steps, days and GPU-hours for so many tokens: 15e12, 15T, 300B");
  ask("price", "--price", "P", "with --tokens: the cost at this price of one GPU-hour");
  ask_maybe(options.scaling, "--scaling{weak}", "also the plan on 1, 2, 4 ... GPUs and nodes, each GPU's work as it is; --scaling=strong: the global batch as it is");
  ask("up_to", "--up-to", "NODES", "with --scaling: on to so many nodes");
  ask_maybe(options.crossover, "--crossover{true}", "also the link speeds at which another sharding is faster; --crossover=node or =network: of those links");
  ask("exposed", "--exposed", "PERCENT", "with --crossover: the share of communication that may show (default 5)");
}

void define(CLI::App& app, Options& options) {
  app.set_version_flag("--version", "wireplan " + std::string(kEngineVersion));
  app.footer("Examples:\n"
             "  wireplan estimate story\n"
             "  wireplan estimate story --set parallel.data_sharding=fsdp\n"
             "  wireplan estimate --help\n\n" +
             std::string(kPlanForms));
  app.require_subcommand(0, 1);

  CLI::App* estimate = app.add_subcommand("estimate", "whether a plan fits, what travels, how long a step takes");
  estimate->add_option("PLAN", options.plans, "the plan")->required()->expected(1)->type_name("");
  add_plan_options(*estimate, options);
  auto* explain = estimate->add_option("--explain", options.explain, "where one number comes from, e.g. memory.states.parameters")->type_name("PATH");
  auto* link = estimate->add_flag("--print-link", options.print_link, "print the share link of the plan instead");
  auto* timeline = estimate->add_flag("--timeline", options.timeline, "what the GPU waits for; with --json: what every stream does when, and the memory over one step");
  timeline->excludes(explain)->excludes(link);
  auto* placement = estimate->add_flag("--placement", options.placement, "also the best mapping of ranks to GPUs, and the best of a node's GPUs");
  placement->excludes(explain)->excludes(link);
  auto* advise = estimate->add_flag("--advise", options.advise, "also what to change first, and the smallest clusters that would do");
  advise->excludes(explain)->excludes(link);
  add_questions(*estimate, options, {explain, link});
  estimate->add_flag("--check", options.check, "exit with 1 when the plan does not fit");
  link->excludes(explain);
  add_output_options(*estimate, options);
  estimate->footer("Examples:\n"
                   "  wireplan estimate story --set parallel.data_sharding=fsdp --unit GB\n"
                   "  wireplan estimate plan.json --json\n"
                   "  wireplan estimate story --explain memory.states.parameters\n"
                   "  wireplan estimate story --advise\n"
                   "  wireplan estimate story --tokens 300B --price 2.5 --scaling --up-to 16 --crossover\n\n" +
                   std::string(kPlanForms));

  CLI::App* fit = app.add_subcommand("fit", "the largest value of one field that still fits");
  fit->add_option("PLAN", options.plans, "the plan")->required()->expected(1)->type_name("");
  add_plan_options(*fit, options);
  fit->add_option("--max", options.fit_field, "micro_batch_size or sequence_length")->required()->type_name("FIELD");
  add_output_options(*fit, options);
  fit->footer("The global batch stays where the plan states one. Exit status 1 where not even the smallest value fits.\n\nExamples:\n"
              "  wireplan fit llama-3-8b-fsdp --max micro_batch_size\n"
              "  wireplan fit llama-3-8b-fsdp --max sequence_length --set training.recompute=full\n\n" +
              std::string(kPlanForms));

  CLI::App* compare = app.add_subcommand("compare", "plans side by side; the first is the baseline");
  compare->add_option("PLAN", options.plans, "the plans")->required()->type_name("");
  add_plan_options(*compare, options);
  add_output_options(*compare, options);
  compare->footer("--set changes every plan.\n\nExample:\n"
                  "  wireplan compare story \"$(wireplan estimate story --set parallel.data_sharding=fsdp --print-link)\"\n\n" +
                  std::string(kPlanForms));

  CLI::App* presets = app.add_subcommand("presets", "models, GPUs, nodes and scenarios that can be named by id");
  presets->add_option("KIND", options.preset_kind, "models, gpus, nodes, networks, scenarios, ...; left out: all kinds")->type_name("");
  presets->add_option("ID", options.preset_id, "one preset: prints its document")->type_name("");
  add_output_options(*presets, options);
  presets->footer("Examples:\n  wireplan presets models\n  wireplan presets models mistral-7b-v0.1");

  define_search(app, options);

  CLI::App* accuracy = app.add_subcommand("accuracy", "compare estimates with measured runs");
  accuracy->add_option("--runs", options.runs_file, "the runs, one JSON object a line, or - for standard input; left out: the reference runs")->type_name("FILE");
  accuracy->add_option("--xml-dir", options.xml_folder, "where the topology files of decisions of NCCL lie (topology_xml of a row)")->type_name("DIR");
  accuracy->add_option("--leave-out", options.leave_out, "predict each collective without what was measured by its source, on its machine, or on its kind of wiring; show the errors by that")->type_name("WHAT")->check(CLI::IsMember({"source", "machine", "wiring"}));
  add_output_options(*accuracy, options);
  accuracy->footer("A line holds a plan and what was measured of it, or a cluster, a collective and its times, or a plan and its outcome:\n"
                   "  {\"id\": \"a\", \"source\": \"own\", \"plan\": {...}, \"measured\": {\"step_time_s\": 1.9, \"allocated_bytes\": 6.1e10}}\n"
                   "  {\"id\": \"b\", \"cluster\": {...}, \"collective\": \"all_reduce\", \"measured\": [[1048576, 4.7e-5], ...]}\n"
                   "  {\"id\": \"c\", \"plan\": {...}, \"outcome\": \"oom\"}\n"
                   "A row of decisions of NCCL (topology nccl --json, with topology_xml and what was asked) is right or wrong in each part: error 0 or 1.\n"
                   "error = predicted / measured - 1. Rows that cannot be used are named, with the reason; the exit status is 0 all the same.\n\n"
                   "Examples:\n"
                   "  wireplan accuracy\n"
                   "  wireplan accuracy --runs runs.jsonl --leave-out source\n"
                   "  wireplan accuracy --runs nccl_runs.jsonl --xml-dir topologies\n"
                   "  wireplan accuracy --runs runs.jsonl --json");

  define_topology(app, options);
  define_collectives(app, options);
  define_measure(app, options);
  define_replay(app, options);
  define_export(app, options);
  define_import(app, options);
  define_validate(app, options);

  for (const Later& later : kLater) {
    CLI::App* command = app.add_subcommand(later.name, std::string(later.what) + " (not built yet)");
    command->add_flag("--json", options.json, "print the JSON document");
    command->allow_extras();
    command->footer("Example, once it is built:\n  wireplan " + std::string(later.name) + ' ' + later.arguments);
  }
  app.allow_extras();  // so that a mistyped command is answered with near ones; commands would inherit it
}

Errors command_line_error(std::string path, std::string value, std::string text) {
  return {{std::move(path), value_text(Json(value)), "see wireplan --help", std::move(text)}};
}

Errors unknown_command(const CLI::App& app, const std::string& word) {
  std::string listed;
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
    listed += (listed.empty() ? "" : " | ") + command->get_name();
  }
  const std::string text = word.empty() ? "a command is missing; wireplan --help lists them"
                                        : value_text(Json(word)) + " is no command" + did_you_mean(nearest_words(word, names));
  return {{"command", word.empty() ? "" : value_text(Json(word)), listed, text}};
}

}  // namespace

bool asks_for_json(int argc, char** argv) {
  return std::any_of(argv + std::min(argc, 1), argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
}

CommandLine read_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Wireplan: will it fit, and will your wiring keep up?", "wireplan");
  define(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, text;
    if (app.exit(e, out, text) == 0) return Help{out.str()};
    std::string given;
    for (int i = 1; i < argc; ++i) given += (i > 1 ? " " : "") + std::string(argv[i]);
    return command_line_error("command line", given, e.what());
  }
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto rest = app.remaining();
    return unknown_command(app, rest.empty() ? "" : rest.front());
  }
  options.command = chosen.front()->get_name();
  for (int i = 1; i < argc; ++i) options.words += (i > 1 ? " " : "") + std::string(argv[i]);
  if (const auto inner = chosen.front()->get_subcommands(); !inner.empty()) options.subcommand = inner.front()->get_name();
  options.json = asks_for_json(argc, argv);  // also where an option without its value has swallowed it
  if (!app.remaining().empty())
    return command_line_error("command line", app.remaining().front(), value_text(Json(app.remaining().front())) + " is not known");
  return options;
}

}  // namespace wireplan
