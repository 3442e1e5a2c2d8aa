// A machine's wiring as a request and a document (wireplan.topology/1).
#pragma once

#include <memory>

#include "core/answer/topology.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/stated_cluster.hpp"

namespace wireplan {

// What the graph and its rings point to lies beside them, where it stays when the answer is moved.
struct TopologyAnswer {
  std::unique_ptr<const StatedCluster> stated;
  std::unique_ptr<const LinkConstants> constants;
  PreparedCluster prepared;
  Topology topology;
  std::vector<Assumption> assumed;  // by reading and about the wiring
};

// {"cluster", "gpus"?: those that the ring joins}
Result<TopologyAnswer> asked_topology(const Json& request, const Presets& presets);

// `paths` is null beyond 256 GPUs.
Json write_topology(const TopologyAnswer& answer);

// The ring that is drawn and whose loads are shown: over all nodes where there are several.
const GroupRing& shown_ring(const Topology& topology);

}  // namespace wireplan
