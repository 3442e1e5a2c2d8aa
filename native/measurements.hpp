// The commands that read measurements: import and validate.
#pragma once

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace CLI {
class App;
}

namespace wireplan {

void define_import(CLI::App& app, Options& options);
void define_validate(CLI::App& app, Options& options);

int run_import(const Options& options, const Presets& presets);
int run_validate(const Options& options, const Presets& presets);

// The argument of --cluster: what cluster_argument() takes.
Result<Cluster> named_cluster(const std::string& argument, const Presets& presets);

}  // namespace wireplan
