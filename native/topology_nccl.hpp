// wireplan topology nccl: what NCCL decides on a machine.
#pragma once

#include <CLI/CLI.hpp>

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_topology_nccl(CLI::App& topology, Options& options);
int run_topology_nccl(const Options& options, const Presets& presets);

}  // namespace wireplan
