// `wireplan topology import`: a capture in, a cluster out.
#pragma once

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

int run_topology_import(const Options& options, const Presets& presets);

}  // namespace wireplan
