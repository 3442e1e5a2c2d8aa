#include "native/collectives_command.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "core/text/collectives.hpp"
#include "native/files.hpp"
#include "native/output.hpp"
#include "native/topology_command.hpp"

namespace wireplan {
namespace {

constexpr const char* kTypes = "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2";

// The request that the options make.
Result<Json> request_of(const Options& options, const Presets& presets) {
  const CollectiveOptions& asked = options.collectives;
  Result<Json> cluster = cluster_argument(options.cluster, presets);
  if (!cluster) return cluster.errors();
  Json request{{"cluster", std::move(cluster.value())}, {"op", asked.op}, {"dtype", asked.dtype}, {"redop", asked.redop}};
  Result<Json> sizes = stated_sizes(asked);
  if (!sizes) return sizes.errors();
  request["sizes"] = std::move(sizes.value());
  if (!options.gpus.empty()) {
    Result<Json> gpus = gpu_list(options.gpus);
    if (!gpus) return gpus.errors();
    request["gpus"] = std::move(gpus.value());
  }
  if (asked.per_node) request["per_node"] = *asked.per_node;
  if (asked.nodes) request["nodes"] = *asked.nodes;
  return request;
}

}  // namespace

Result<double> stated_size(const std::string& option, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, fault] = std::from_chars(text.data(), end, value);
  bool sound = fault == std::errc() && std::isfinite(value);
  if (sound && rest != end) {
    constexpr std::string_view units = "KMGTPkmgtp";
    const std::size_t unit = units.find(*rest);
    sound = unit != std::string_view::npos;
    for (std::size_t i = 0; sound && i <= unit % 5; ++i) value *= 1024;
    const std::string_view tail(rest + 1, static_cast<std::size_t>(end - rest - 1));
    sound = sound && (tail.empty() || tail == "iB" || tail == "ib");
  }
  if (!sound) return Error{option, value_text(Json(text)), "a number, or one with K, M, G, T or P", value_text(Json(text)) + " is no size. Nearest: 1M, which is 1,048,576 bytes"};
  return std::floor(value * 1e6 + 0.5) / 1e6;
}

Result<Json> stated_sizes(const CollectiveOptions& asked) {
  Json sizes = Json::object();
  const std::pair<const char*, const std::string*> stated[] = {{"begin", &asked.begin}, {"end", &asked.end}, {"step", &asked.step}, {"factor", &asked.factor}};
  for (const auto& [key, text] : stated) {
    if (text->empty()) continue;
    Result<double> size = stated_size("sizes." + std::string(key), *text);
    if (!size) return size.errors();
    sizes[key] = number(size.value());
  }
  return sizes;
}

void add_size_options(CLI::App& command, CollectiveOptions& asked, const char* begin, const char* end) {
  command.add_option("-b,--minbytes", asked.begin, std::string("smallest size, e.g. 1K = 1,024 bytes (default ") + begin + ")")->type_name("SIZE");
  command.add_option("-e,--maxbytes", asked.end, std::string("largest size (default ") + end + ")")->type_name("SIZE");
  auto* factor = command.add_option("-f,--stepfactor", asked.factor, "each size is so many times the one before (default 2)")->type_name("N");
  auto* step = command.add_option("-i,--stepbytes", asked.step, "each size is so many bytes more than the one before")->type_name("SIZE");
  step->excludes(factor);
  command.add_option("-d,--datatype", asked.dtype, std::string("type of an element (default float): ") + kTypes)->type_name("TYPE");
  command.add_option("--redop", asked.redop, "sum (default), prod, min, max, avg")->type_name("NAME");
}

void define_collectives(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("collectives", "time and bandwidth of collectives by size, as nccl-tests would measure them");
  CollectiveOptions& asked = options.collectives;
  command->add_option("CLUSTER", options.cluster, "the machine")->required()->type_name("");
  command->add_option("--op", asked.op, "all_reduce (default), all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv, scatter, gather; all: each")->type_name("NAME");
  add_size_options(*command, asked, "1K", "8G");
  command->add_option("-g,--ngpus", asked.per_node, "GPUs of each node, the first ones (default all that are used)")->type_name("N");
  command->add_option("--gpus", options.gpus, "these GPUs of each node instead, e.g. 0,1,4,5")->type_name("LIST")->excludes(command->get_option("-g"));
  command->add_option("--nodes", asked.nodes, "nodes (default as CLUSTER says)")->type_name("N");
  command->add_option("-n,--iters", asked.iterations, "accepted and without meaning: nothing is run")->type_name("N");
  command->add_option("-w,--warmup_iters", asked.warm_up, "accepted and without meaning: nothing is run")->type_name("N");
  add_output_options(*command, options);
  command->footer("CLUSTER is a node id (wireplan presets nodes), a scenario id, a share link, - for standard input, or a file with a cluster,\n"
                  "a node or a plan. Sizes, counts and bandwidths mean what they mean in nccl-tests.\n\nExamples:\n"
                  "  wireplan collectives dgx-a100-80gb --op all_reduce -b 1K -e 8G -f 2\n"
                  "  wireplan collectives hgx-h100-80gb --nodes 4 --op all --csv\n"
                  "  wireplan collectives a100-80gb-pcie-4x-pairs --gpus 0,2 -b 1M -e 1G -f 4");
}

int run_collectives(const Options& options, const Presets& presets) {
  Result<Json> request = request_of(options, presets);
  if (!request) return print_errors(request.errors(), options.json);
  Result<CollectivesAnswer> asked = asked_collectives(request.value(), presets);
  if (!asked) return print_errors(asked.errors(), options.json);
  return print(options.json ? dump_json(write_collectives(asked.value())) : render_collectives(asked.value(), options.format), kDone);
}

}  // namespace wireplan
