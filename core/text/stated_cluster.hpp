// What a cluster may be stated as by any door, and what was assumed about it.
#pragma once

#include <vector>

#include "core/describe/cluster.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

struct StatedCluster {
  Cluster cluster;
  std::vector<Assumption> assumed;  // paths begin with "cluster"
};

// A cluster document, a node document, the id of a node, or a plan as stated_plan() takes it: its cluster. nodes > 0: so many nodes
// whatever the document says. Paths of errors begin with "cluster".
Result<StatedCluster> stated_cluster(const Json& stated, const Presets& presets, int nodes = 0);

// GPUs of a node that a request names under "gpus", 1 to 1,024; {}: left out, or an error is in the log.
std::vector<int> asked_gpus(Reader& r);

}  // namespace wireplan
