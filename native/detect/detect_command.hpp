// `wireplan topology detect`: the machine the program runs on.
#pragma once

#include <CLI/CLI.hpp>

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_topology_detect(CLI::App& topology, Options& options);
int run_topology_detect(const Options& options, const Presets& presets);

}  // namespace wireplan
