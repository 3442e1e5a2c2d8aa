#include "native/detect/detect_command.hpp"

#include <optional>
#include <utility>

#include "core/text/detect_topology.hpp"
#include "core/text/read_cluster.hpp"
#include "native/detect/driver.hpp"
#include "native/detect/sysfs.hpp"
#include "native/files.hpp"
#include "native/output.hpp"
#include "native/topology_command.hpp"

namespace wireplan {
namespace {

std::string is_stated(const std::string& value) { return value.empty() ? "must not be empty" : ""; }

}  // namespace

void define_topology_detect(CLI::App& topology, Options& options) {
  CLI::App* detect = topology.add_subcommand("detect", "this machine: what its driver and Linux say of its GPUs, links and NICs");
  DetectOptions& o = options.detect;
  detect->add_option("-o,--output", o.out, "also save the cluster document, which every command takes as CLUSTER")->check(is_stated, "")->type_name("FILE");
  detect->add_option("--nccl-xml", o.nccl_xml, "NCCL's own file of this machine (NCCL_TOPO_DUMP_FILE), in place of what Linux says of the wiring")->check(is_stated, "")->type_name("FILE");
  detect->add_option("--sysfs", o.sysfs, "the folder to read in place of /sys, with ../proc beside it, as a container may have the host's")->check(is_stated, "")->type_name("DIR");
  detect->add_option("--gpu", options.import_gpu, "the GPU, an id of wireplan presets gpus; left out: as the driver says")->type_name("ID");
  detect->add_option("--network", options.import_network, "the network between nodes, e.g. infiniband-8x400; left out: as the NICs say")->type_name("NETWORK");
  detect->add_option("--gpus", options.gpus, "let the ring join only these GPUs, e.g. 0,1,4,5")->type_name("LIST");
  detect->add_flag("--svg", options.svg, "print a drawing");
  add_output_options(*detect, options);
  for (const char* other : {"--json", "--markdown", "--csv"}) detect->get_option("--svg")->excludes(detect->get_option(other));
  detect->footer("Asked are NVIDIA's driver (libnvidia-ml.so.1, or the library that WIREPLAN_NVML names), /sys and /proc. Nothing is run on a GPU, nothing\n"
                 "is changed, nothing leaves the machine. What none of them says is assumed, and listed. Prints what topology show prints.\n"
                 "Exit status 77: there is no GPU here.\n\n"
                 "Examples:\n"
                 "  wireplan topology detect\n"
                 "  wireplan topology detect -o cluster.json && wireplan topology nccl cluster.json\n"
                 "  wireplan topology detect --svg > wiring.svg\n"
                 "  NCCL_TOPO_DUMP_FILE=topo.xml python train.py; wireplan topology detect --nccl-xml topo.xml");
}

int run_topology_detect(const Options& options, const Presets& presets) {
  const DetectOptions& o = options.detect;
  MachineFacts facts;
  if (Errors errors = read_sysfs(o.sysfs.empty() ? "/sys" : o.sysfs, !o.sysfs.empty(), facts); !errors.empty()) return print_errors(errors, options.json);
  std::optional<XmlDocument> dump;
  if (!o.nccl_xml.empty()) {
    Result<std::string> text = read_lines(o.nccl_xml);
    if (!text) return print_errors(text.errors(), options.json);
    Result<XmlDocument> document = parse_xml(text.value());
    if (!document) return print_errors(in_file(o.nccl_xml, document.errors()), options.json);
    dump = std::move(document.value());
  }
  ask_driver(facts);
  if (!dump)
    if (const std::string why = why_no_gpus(facts); !why.empty())
      return print_errors({Error{"", "", "a machine with GPUs", why}}, options.json, kCannotRunHere);
  Result<Cluster> cluster = detected_cluster(facts, dump ? &*dump : nullptr, {options.import_gpu, options.import_network}, presets);
  if (!cluster) return print_errors(dump ? in_file(o.nccl_xml, cluster.errors()) : cluster.errors(), options.json);
  Json document = write_cluster(cluster.value());
  if (!o.out.empty())
    if (Errors errors = write_file("--output", o.out, dump_json(document)); !errors.empty()) return print_errors(errors, options.json);
  return print_topology(std::move(document), options, presets);
}

}  // namespace wireplan
