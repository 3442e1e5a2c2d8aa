// `wireplan topology import`: a capture in, a cluster out.
#pragma once

#include <CLI/CLI.hpp>

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_topology_import(CLI::App& topology, Options& options);
int run_topology_import(const Options& options, const Presets& presets);

}  // namespace wireplan
