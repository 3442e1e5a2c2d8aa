// Where the chips and links of a node stand in a drawing: chips on top, GPUs below, so that "up" is "through the host".
#pragma once

#include <string>
#include <vector>

#include "core/describe/wiring.hpp"
#include "web/geometry.hpp"

namespace wireplan {

struct PlacedLink {
  int link = 0;  // index into graph.links
  ImVec2 a, b;   // ends, at component a and at component b
  float width = 4;
  bool bent = false;  // not between neighbours, or too close to be seen: led around below (above) them
  float dip = 0;      // how far
};

struct Ground {  // a socket or the node
  Rect rect;
  int numa = -1;
  int socket = -1;  // -1: the whole node
};

struct WiringPicture {
  std::vector<Rect> chips;  // by component; width 0 where it is not drawn
  std::vector<PlacedLink> links;
  std::vector<Ground> grounds;
  Rect between;  // room between two sockets, width 0 when there is none
};

// Nodes with a switch that joins all GPUs are drawn without their hosts, which carry nothing then.
WiringPicture wiring_picture(const WiringGraph& graph, Rect area);

}  // namespace wireplan
