// wireplan topology nccl: what NCCL decides on a machine.
#pragma once

#include <CLI/CLI.hpp>

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

// {"xml"} for a topology file of NCCL (*.xml), {"cluster"} for everything else: how a request to asked_nccl() begins.
Result<Json> machine_argument(const std::string& argument, const Presets& presets);

void define_topology_nccl(CLI::App& topology, Options& options);
int run_topology_nccl(const Options& options, const Presets& presets);

}  // namespace wireplan
