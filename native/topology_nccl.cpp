#include "native/topology_nccl.hpp"

#include <utility>

#include "core/text/nccl_compare.hpp"
#include "core/text/nccl_request.hpp"
#include "core/text/render_nccl.hpp"
#include "core/text/render_nccl_log.hpp"
#include "native/files.hpp"
#include "native/output.hpp"
#include "native/topology_command.hpp"

namespace wireplan {
namespace {

Result<Json> variables_of(const std::vector<std::string>& stated) {
  Json variables = Json::object();
  for (const std::string& text : stated) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0) return Error{"--env", value_text(Json(text)), "NAME=VALUE", "--env takes NAME=VALUE, such as NCCL_ALGO=Ring, not " + value_text(Json(text))};
    variables[text.substr(0, sign)] = text.substr(sign + 1);
  }
  return variables;
}

Result<Json> stated_request(const std::string& machine, const NcclOptions& o, const std::string& gpu_text, const Presets& presets) {
  Result<Json> request = machine_argument(machine, presets);
  if (!request) return request;
  Json& j = request.value();
  if (!gpu_text.empty()) {
    Result<Json> gpus = gpu_list(gpu_text);
    if (!gpus) return gpus;
    j["gpus"] = std::move(gpus.value());
  }
  if (o.nodes) j["nodes"] = *o.nodes;
  if (o.rack_nodes) j["rack_nodes"] = *o.rack_nodes;
  if (!o.p2p.empty()) j["p2p"] = o.p2p;
  if (!o.gpudirect.empty()) j["gpudirect"] = o.gpudirect == "on";
  if (!o.release.empty()) j["nccl"] = o.release;
  if (!o.variables.empty()) {
    Result<Json> variables = variables_of(o.variables);
    if (!variables) return variables;
    j["env"] = std::move(variables.value());
  }
  return request;
}

// Errors name their machine where there are several.
Errors of_machine(const std::string& machine, const Options& options, const Errors& errors) {
  return in_file(machine, errors, options.nccl.machines.size() > 1 && !errors.front().path.starts_with("--"));
}

// The decision for the communicator of a log, and the log beside it.
int run_beside_log(const Options& options, const Presets& presets) {
  const NcclOptions& o = options.nccl;
  if (o.machines.size() > 1 || o.compare)
    return print_errors({Error{"--log", value_text(Json(o.log)), "one machine, without --compare", "--log holds one log against one machine: leave --compare and further machines out"}}, options.json);
  Result<Json> request = stated_request(o.machines.front(), o, options.gpus, presets);
  if (!request) return print_errors(of_machine(o.machines.front(), options, request.errors()), options.json);
  Result<std::string> text = read_lines(o.log);
  if (!text) return print_errors(text.errors(), options.json);
  const Result<NcclLog> log = read_nccl_log(text.value());
  if (!log) return print_errors(in_file(o.log, log.errors()), options.json);
  Result<NcclBesideLog> both = asked_nccl_beside_log(request.value(), log.value(), presets);
  if (!both) return print_errors(of_machine(o.machines.front(), options, both.errors()), options.json);
  const auto& [answer, comparison] = both.value();
  if (!options.json) return print(render_nccl(answer, options.format, &comparison), kDone);
  Json document = write_nccl(answer);
  document["log"] = write_log_comparison(comparison);
  return print(dump_json(document), kDone);
}

// "--gpus 0,1 NCCL_ALGO=Ring": the label of a what-if.
std::string what_is_asked(const Options& options) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (!options.gpus.empty()) add("GPUs " + options.gpus);
  if (!options.nccl.p2p.empty()) add("P2P " + options.nccl.p2p);
  if (!options.nccl.gpudirect.empty()) add("GPUDirect " + options.nccl.gpudirect);
  if (!options.nccl.release.empty()) add("NCCL " + options.nccl.release);
  for (const std::string& variable : options.nccl.variables) add(variable);
  return text.empty() ? "the same" : text;
}

// An option that is there says something: "" would count as left out.
std::string is_stated(const std::string& value) { return value.empty() ? "must not be empty" : ""; }

}  // namespace

Result<Json> machine_argument(const std::string& argument, const Presets& presets) {
  Json request = Json::object();
  if (argument.ends_with(".xml")) {
    Result<std::string> text = read_lines(argument);
    if (!text) return text.errors();
    request["xml"] = std::move(text.value());
    return request;
  }
  Result<Json> cluster = cluster_argument(argument, presets);
  if (!cluster) return cluster.errors();
  request["cluster"] = std::move(cluster.value());
  return request;
}

void define_topology_nccl(CLI::App& topology, Options& options) {
  CLI::App* nccl = topology.add_subcommand("nccl", "what NCCL decides on a machine: paths, rings, trees, channels, algorithm and protocol at every size");
  NcclOptions& o = options.nccl;
  nccl->add_option("CLUSTER", o.machines, "the machine, or an NCCL topology file (*.xml); several are compared")->required()->expected(1, 4)->type_name("");
  nccl->add_option("--nodes", o.nodes, "so many hosts like this one")->type_name("N");
  nccl->add_option("--gpus", options.gpus, "GPUs of each host, in the order of ranks (as CUDA_VISIBLE_DEVICES), e.g. 0,1,4,5")->check(is_stated, "")->type_name("LIST");
  nccl->add_option("--p2p", o.p2p, "whether the driver lets GPUs at each other's memory: all, none, or a row of 0 and 1 for each GPU (01/10)")->check(is_stated, "")->type_name("P2P");
  nccl->add_option("--gpudirect", o.gpudirect, "on or off: whether NICs reach GPU memory")->check(CLI::IsMember({"on", "off"}))->type_name("");
  nccl->add_option("--rack-nodes", o.rack_nodes, "hosts that share one NVLink domain, as in an NVL72 rack")->type_name("N");
  nccl->add_option("--env", o.variables, "a variable NCCL reads, e.g. NCCL_ALGO=Ring; may be given several times")->type_name("NAME=VALUE");
  nccl->add_option("--nccl", o.release, "the release of NCCL (2.28.9)")->check(is_stated, "")->type_name("VERSION");
  nccl->add_flag("--compare", o.compare, "beside what is decided without --gpus, --p2p, --gpudirect, --env and --nccl");
  nccl->add_option("--log", o.log, "a log written with NCCL_DEBUG=INFO on this machine, or -: what agrees, what differs, and the usual cause")->type_name("FILE");
  add_output_options(*nccl, options);
  nccl->footer("CLUSTER is a node id (wireplan presets nodes), a scenario id, a share link, - for standard input, or a file with a cluster, a node,\n"
               "a plan, or what nvidia-smi topo -m prints. Nothing of NCCL runs: the decisions are worked out, as NCCL works them out.\n\n"
               "Examples:\n"
               "  wireplan topology nccl dgx-a100-80gb\n"
               "  wireplan topology nccl hgx-h100-80gb --nodes 2\n"
               "  wireplan topology nccl topo.xml --gpus 0,1,2,3 --env NCCL_P2P_LEVEL=SYS\n"
               "  wireplan topology nccl topo.xml --env NCCL_P2P_DISABLE=1 --compare\n"
               "  wireplan topology nccl before.xml after.xml\n"
               "  NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING python train.py 2>&1 | wireplan topology nccl topo.xml --log -");
}

int run_topology_nccl(const Options& options, const Presets& presets) {
  if (!options.nccl.log.empty()) return run_beside_log(options, presets);
  std::vector<NcclCandidate> cases;
  const auto ask = [&](std::string label, const std::string& machine, const NcclOptions& what_if, const std::string& gpus) -> Errors {
    const Result<Json> request = stated_request(machine, what_if, gpus, presets);
    if (!request) return of_machine(machine, options, request.errors());
    Result<NcclAnswer> answer = asked_nccl(request.value(), presets);
    if (!answer) return of_machine(machine, options, answer.errors());
    cases.push_back({std::move(label), std::move(answer.value())});
    return {};
  };
  const std::vector<std::string>& machines = options.nccl.machines;
  Errors errors;
  if (options.nccl.compare) {  // the first machine as it is, then with what is asked
    NcclOptions plain;
    plain.nodes = options.nccl.nodes;
    plain.rack_nodes = options.nccl.rack_nodes;
    errors = ask("as it is", machines.front(), plain, "");
  }
  for (std::size_t i = 0; i < machines.size() && errors.empty(); ++i)
    errors = ask(options.nccl.compare && machines.size() == 1 ? what_is_asked(options) : machines[i], machines[i], options.nccl, options.gpus);
  if (!errors.empty()) return print_errors(errors, options.json);
  if (cases.size() == 1) return print(options.json ? dump_json(write_nccl(cases.front().answer)) : render_nccl(cases.front().answer, options.format), kDone);
  return print(options.json ? dump_json(write_nccl_comparison(cases)) : render_nccl_comparison(cases, options.format), kDone);
}

}  // namespace wireplan
