// wireplan measure: real collectives, beside what is predicted.
#pragma once

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_measure(CLI::App& app, Options& options);
int run_measure(const Options& options, const Presets& presets);

}  // namespace wireplan
