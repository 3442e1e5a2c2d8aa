// The command line: what is asked for, and the text of --help.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/text/render.hpp"

namespace CLI {
class App;
}

namespace wireplan {

// As nccl-tests reads them; "" or 0 where not given.
struct CollectiveOptions {
  std::string op = "all_reduce", redop = "sum", dtype = "float";
  std::string begin, end, factor, step;
  std::optional<int> per_node, nodes;
  int iterations = 20, warm_up = 5;  // mean nothing to a prediction
};

struct MeasureOptions {  // besides CollectiveOptions
  std::string backend = "nccl", shapes, group, groups, place = "both", output;
  bool op_is_given = false, pairs = false, use_graphs = false, register_buffers = false, progress = false;
  int root = 0, checks = 1;
  double timeout_s = 300;
};

struct ReplayOptions {  // besides MeasureOptions
  std::string profile;
  int repeats = 5;
};

struct NcclOptions {  // of topology nccl
  std::vector<std::string> machines;   // CLUSTER…
  std::optional<int> nodes, rack_nodes;
  std::string p2p, gpudirect, release, log;
  std::vector<std::string> variables;  // NAME=VALUE
  bool compare = false;
};

struct DetectOptions {  // of topology detect
  std::string sysfs, nccl_xml, out;
};

struct SearchingOptions {
  std::string objective = "throughput", vary, verdict;
  std::optional<Count> gpus;
  std::vector<std::string> fix;  // PATH=VALUE
  int top = 10, threads = 0;     // threads 0: one a core
  bool points = false;
};

struct Options {
  std::string command;
  std::string words;                            // the command line as it was given
  std::vector<std::string> plans;               // PLAN…
  std::vector<std::string> edits;               // --set path=value
  bool json = false;
  RenderFormat format = RenderFormat::text;
  std::optional<ByteUnit> unit;                 // not given: as the scenario or link asks
  bool check = false, print_link = false, timeline = false, placement = false, advise = false;
  std::vector<std::pair<std::string, std::string>> questions;  // of an estimate besides: key of the request, value
  std::string scaling, crossover;               // the same of these keys; "" where not given
  std::string fit_field;                        // --max of fit
  std::string explain;                          // a path of the estimate
  std::string presets_folder;
  std::string preset_kind, preset_id;
  std::string runs_file, xml_folder;            // of accuracy
  std::string leave_out;                        // source, machine, wiring or ""
  std::string subcommand;                       // of topology
  std::string cluster;                          // CLUSTER, --cluster
  std::string gpus;                             // "0,1,4,5"
  bool svg = false;
  CollectiveOptions collectives;
  MeasureOptions measuring;
  ReplayOptions replaying;
  NcclOptions nccl;
  DetectOptions detect;
  SearchingOptions searching;
  std::string import_file, import_gpu, import_network;  // of topology import, the latter two also of topology detect
  std::vector<std::string> files;               // FILE… of import and validate
  std::string op, import_as;                    // --op, --as
  std::string weights, model_type;              // of import with a config.json
  double tolerance = 0;                         // 0: the band of the prediction
  std::string out_folder;
  std::string trainer, onto;                    // --to of export, --onto of import
  bool measure = false;
};

struct Help { std::string text; };  // --help, --version: text for standard output
using CommandLine = std::variant<Options, Help, Errors>;

CommandLine read_command_line(int argc, char** argv);

// --json, --markdown, --csv and --presets, as most commands have them.
void add_output_options(CLI::App& command, Options& options);

// --set and --unit, as commands that take a PLAN have them.
void add_plan_options(CLI::App& command, Options& options);
inline constexpr const char* kPlanForms =
    "PLAN is a file, - for standard input, a scenario id (wireplan presets scenarios) or a share link.\n"
    "Exit status: 0 done, 1 the answer is no, 2 bad input, 77 this machine cannot run it.";

// True when --json stands on the command line, whatever else is wrong with it.
bool asks_for_json(int argc, char** argv);

}  // namespace wireplan
