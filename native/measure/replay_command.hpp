// wireplan replay: a plan's step played for real, compute as waits or matrix products, beside the prediction.
#pragma once

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_replay(CLI::App& app, Options& options);
int run_replay(const Options& options, const Presets& presets);

}  // namespace wireplan
