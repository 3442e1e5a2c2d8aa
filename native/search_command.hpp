// wireplan search: the best layouts, on all cores.
#pragma once

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_search(CLI::App& app, Options& options);
int run_search(const Options& options, const Presets& presets);

}  // namespace wireplan
