// What the rings of one kind of groups load on the links of a node, as the estimate lists it.
#pragma once

#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

struct LinkTraffic {
  int link = 0;                      // of estimate.graph
  double forward = 0, backward = 0;  // flows; what a direction carries is flows × bandwidth of the group
};

inline constexpr std::size_t kMostLinks = 64;  // of one ring; of more the fullest (most flows for their rate) are listed

struct GroupTraffic {
  std::vector<LinkTraffic> links;  // in order of the graph
  std::size_t left_out = 0;
};
GroupTraffic group_traffic(const Estimate& estimate, const WiringGroup& group);

// What a rank can send of the group's first message over the time the wires need, and what binds it.
BytesPerSecond group_bandwidth(const MessageCost& message);
Bottleneck group_bottleneck(const Plan& plan, const Estimate& estimate, const WiringGroup& group);

}  // namespace wireplan
