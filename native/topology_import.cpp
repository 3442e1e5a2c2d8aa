#include "native/topology_import.hpp"

#include "core/text/import_topology.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/render_topology.hpp"
#include "native/files.hpp"
#include "native/output.hpp"

namespace wireplan {

void define_topology_import(CLI::App& topology, Options& options) {
  CLI::App* import = topology.add_subcommand("import", "read the wiring from what nvidia-smi or NCCL print");
  import->add_option("FILE", options.import_file, "output of nvidia-smi topo -m, or an NCCL topology XML; - for standard input")->required()->expected(1)->type_name("");
  import->add_option("--gpu", options.import_gpu, "the GPU, an id of wireplan presets gpus; left out: as the text says, or a guess")->type_name("ID");
  import->add_option("--network", options.import_network, "the network between nodes, e.g. infiniband-8x400")->type_name("NETWORK");
  add_output_options(*import, options);
  import->footer("With the matrix may stand, in any order: nvidia-smi topo -p2p r, nvidia-smi -L, and\n"
                 "  nvidia-smi --query-gpu=name,pcie.link.gen.max,pcie.link.width.max --format=csv\n"
                 "An XML is what NCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml, or a cloud vendor's file.\n"
                 "--json prints a cluster document, accepted wherever a cluster is.\n\n"
                 "Examples:\n"
                 "  nvidia-smi topo -m | wireplan topology import -\n"
                 "  wireplan topology import topo.xml --gpu h100-80gb-sxm --json > cluster.json");
}

int run_topology_import(const Options& options, const Presets& presets) {
  Result<std::string> text = read_lines(options.import_file);
  if (!text) return print_errors(text.errors(), options.json);
  Result<Cluster> cluster = import_topology(text.value(), {options.import_gpu, options.import_network}, presets);
  if (!cluster) return print_errors(in_file(options.import_file, cluster.errors()), options.json);
  if (options.json) return print(dump_json(write_cluster(cluster.value())), kDone);
  Result<Constants> constants = presets.constants();
  if (!constants) return print_errors(constants.errors(), false);
  return print(render_imported(cluster.value(), constants.value().links, options.format), kDone);
}

}  // namespace wireplan
