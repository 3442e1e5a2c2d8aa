#include "native/topology_command.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/text/request.hpp"
#include "core/text/show_topology.hpp"
#include "core/text/topology_svg.hpp"
#include "native/detect/detect_command.hpp"
#include "native/files.hpp"
#include "native/output.hpp"
#include "native/topology_import.hpp"
#include "native/topology_nccl.hpp"

namespace wireplan {
namespace {

int run_show(const Options& options, const Presets& presets) {
  Result<Json> cluster = cluster_argument(options.cluster, presets);
  if (!cluster) return print_errors(cluster.errors(), options.json);
  return print_topology(std::move(cluster.value()), options, presets);
}

}  // namespace

int print_topology(Json cluster, const Options& options, const Presets& presets) {
  Json request{{"cluster", std::move(cluster)}};
  if (!options.gpus.empty()) {
    Result<Json> gpus = gpu_list(options.gpus);
    if (!gpus) return print_errors(gpus.errors(), options.json);
    request["gpus"] = std::move(gpus.value());
  }
  Result<TopologyAnswer> asked = asked_topology(request, presets);
  if (!asked) return print_errors(asked.errors(), options.json);
  if (options.json) return print(dump_json(write_topology(asked.value())), kDone);
  return print(options.svg ? topology_svg(asked.value()) : render_topology(asked.value(), options.format), kDone);
}

Result<Json> gpu_list(const std::string& text) {
  Json list = Json::array();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int index = 0;
    const auto [rest, fault] = std::from_chars(text.data() + at, text.data() + end, index);
    if (fault != std::errc() || rest != text.data() + end || list.size() == 1024)
      return Error{"--gpus", value_text(Json(text)), "GPU indices separated by commas", "--gpus takes up to 1,024 indices like 0,1,4,5, not " + value_text(Json(text))};
    list.push_back(index);
    at = end + 1;
  }
  return list;
}

void define_topology(CLI::App& app, Options& options) {
  CLI::App* topology = app.add_subcommand("topology", "the wiring of a machine: of this one, of any that is named, or read from other tools");
  topology->require_subcommand(0, 1);
  topology->add_flag("--json", options.json, "print the JSON document");
  topology->footer("Examples:\n  wireplan topology detect\n  wireplan topology show dgx-a100-80gb");

  CLI::App* show = topology->add_subcommand("show", "chips, links, who reaches whom, what a ring of GPUs reaches");
  show->add_option("CLUSTER", options.cluster, "the machine")->required()->type_name("");
  show->add_option("--gpus", options.gpus, "let the ring join only these GPUs of each node, e.g. 0,1,4,5")->type_name("LIST");
  show->add_flag("--svg", options.svg, "print a drawing");
  add_output_options(*show, options);
  for (const char* other : {"--json", "--markdown", "--csv"}) show->get_option("--svg")->excludes(show->get_option(other));
  show->footer("CLUSTER is a node id (wireplan presets nodes), a scenario id, a share link, - for standard input, or a file with a cluster,\n"
               "a node or a plan.\n\nExamples:\n"
               "  wireplan topology show dgx-a100-80gb\n"
               "  wireplan topology show a100-80gb-pcie-4x-pairs --gpus 0,2\n"
               "  wireplan topology show dgx1-v100-16gb --svg");
  define_topology_detect(*topology, options);
  define_topology_import(*topology, options);
  define_topology_nccl(*topology, options);
}

int run_topology(const Options& options, const Presets& presets) {
  if (options.subcommand == "show") return run_show(options, presets);
  if (options.subcommand == "detect") return run_topology_detect(options, presets);
  if (options.subcommand == "import") return run_topology_import(options, presets);
  if (options.subcommand == "nccl") return run_topology_nccl(options, presets);
  return print_errors({Error{"command", "\"topology\"", "detect | show | import | nccl", "topology needs a word on what to do: wireplan topology detect, wireplan topology show CLUSTER, wireplan topology import FILE, or wireplan topology nccl CLUSTER"}}, options.json);
}

}  // namespace wireplan
