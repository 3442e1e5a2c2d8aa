// How the chips of a node hang on its sockets, for drawings of it.
#pragma once

#include <vector>

#include "core/describe/wiring.hpp"

namespace wireplan {

struct WiringTree {
  std::vector<int> tops;                    // sockets, then whatever else nothing hangs above
  std::vector<std::vector<int>> below;      // of each component, GPUs first, in the order of the graph
  std::vector<int> above, link_above;       // -1: none
};

// Over PCIe and C2C links, nearest to a socket first.
WiringTree wiring_tree(const WiringGraph& graph);

}  // namespace wireplan
