// From the channels of each node to rings and trees over all ranks.
#pragma once

#include "core/cost/nccl/decision.hpp"

namespace wireplan::nccl {

// How many channels a decision whose nodes and agreed graphs stand ends up with: `least` or more, whatever the environment allows.
int connected_channels(const Decision& decision, const Environment& environment, int least);

// Fills channels, rings and trees of such a decision. Work: ranks · channels.
void connect(Decision& decision, const Environment& environment, int least);

struct TreePlace { int up = -1, down0 = -1, down1 = -1; };
// Place of `node` in the two binary trees over `nodes`: every node is a leaf in one and inside in the other.
std::array<TreePlace, 2> double_tree(int nodes, int node);

}  // namespace wireplan::nccl
