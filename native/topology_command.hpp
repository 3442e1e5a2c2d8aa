// wireplan topology: what a machine's wiring is and what it lets its GPUs do.
#pragma once

#include <CLI/CLI.hpp>

#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

// Adds the command and its subcommands; Options::subcommand names the one that is chosen.
void define_topology(CLI::App& app, Options& options);
int run_topology(const Options& options, const Presets& presets);

// Prints the wiring of a cluster as the options ask: of topology show, and of topology detect.
int print_topology(Json cluster, const Options& options, const Presets& presets);

// "0,1,4,5" as a list, or an error that names --gpus.
Result<Json> gpu_list(const std::string& text);

}  // namespace wireplan
