// A machine's wiring as a picture: self-contained SVG, light and dark.
#pragma once

#include <string>

#include "core/text/topology_request.hpp"

namespace wireplan {

// Sockets are grounds with the CPU on top and GPUs below; pipes are links, as wide as their rate allows, one lane for each direction,
// filled by the share of the planning rate that the shown ring takes. The bottleneck is violet. No scripts, no other files; what a user
// named is escaped. Of a rack one tray is drawn and the others are counted.
std::string topology_svg(const TopologyAnswer& answer);

}  // namespace wireplan
