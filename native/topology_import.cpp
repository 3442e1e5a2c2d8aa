#include "native/topology_import.hpp"

#include "core/text/import_topology.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/render_topology.hpp"
#include "native/files.hpp"
#include "native/output.hpp"

namespace wireplan {

int run_topology_import(const Options& options, const Presets& presets) {
  Result<std::string> text = read_lines(options.topology_file);
  if (!text) return print_errors(text.errors(), options.json);
  Result<Cluster> cluster = import_topology(text.value(), {options.topology_gpu, options.topology_network}, presets);
  if (!cluster) return print_errors(cluster.errors(), options.json);
  if (options.json) return print(dump_json(write_cluster(cluster.value())), kDone);
  Result<Constants> constants = presets.constants();
  if (!constants) return print_errors(constants.errors(), false);
  return print(render_imported(cluster.value(), constants.value().links, options.format), kDone);
}

}  // namespace wireplan
