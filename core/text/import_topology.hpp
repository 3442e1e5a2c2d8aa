// A machine's wiring out of what its own tools print: nvidia-smi's matrix, or an NCCL topology file.
#pragma once

#include <string_view>

#include "core/text/topology_node.hpp"

namespace wireplan {

// The text says itself what it is:
//   `nvidia-smi topo -m`, with `topo -p2p`, `--query-gpu=... --format=csv`, `-L` or the usual table before or after it;
//   an NCCL topology XML (NCCL_TOPO_DUMP_FILE, or a cloud vendor's file).
// Prompts, legends, Markdown, escape sequences and cut rows are allowed for. The cluster is valid and has one node; `assumed` says in
// words all that the text does not. Errors name what the text is where it is something else, and never more than is needed.
// Test: tests/core/text/import_topology_test.cpp.
Result<Cluster> import_topology(std::string_view text, const TopologyHints& hints, const Presets& presets);

}  // namespace wireplan
