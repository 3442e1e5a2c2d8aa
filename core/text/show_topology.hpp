// A machine's wiring as text for people: the tree of its chips, who reaches whom and how, what rings reach, every kind of link.
#pragma once

#include <string>

#include "core/text/render.hpp"
#include "core/text/topology_request.hpp"

namespace wireplan {

// At most 100 columns. CSV: a line for each link with its rates and the flows of the shown ring.
std::string render_topology(const TopologyAnswer& answer, RenderFormat format);

// "DGX A100 80 GB: 8 GPUs (A100 SXM 80 GB) on 2 sockets, all joined by NVSwitch." For a title; not yet safe to print (plain_text).
std::string topology_sentence(const Cluster& cluster);

// "PCIe 4 ×16", "NVLink 3 ×12": a link without its ends, which a user may have named.
std::string link_kind_text(const Link& link, const Node& node);

// Links that look and carry alike, for tables and legends: kind, ends' kinds, rates and, where `by_load`, the flows.
struct LinkGroup {
  int first = 0, count = 0;
  double forward = 0, backward = 0;  // flows of the first
};
std::vector<LinkGroup> link_groups(const WiringGraph& graph, const RingOnWiring& ring, bool by_load);

// Flows of a ring on every direction: 2·link + (0 forward, 1 back).
std::vector<double> flows_of(const WiringGraph& graph, const RingOnWiring& ring);

}  // namespace wireplan
