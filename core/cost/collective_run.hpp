// Times of calls of a collective on a machine, as somebody measured them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cost/collective.hpp"
#include "core/describe/cluster.hpp"
#include "core/describe/profile.hpp"

namespace wireplan {

struct CollectiveRun {
  std::string source;  // where it was published
  Cluster cluster;
  Collective collective{};
  int gpus = 1, nodes = 1;      // that take part, in all
  CollectiveSwitches switches;  // what its environment decided
  std::vector<MeasuredCurve::Point> points;
  // What NCCL decides for its groups does not hang on the constants that are tried on it: worked out once, kept by copies.
  std::shared_ptr<nccl::GroupPlans> plans{};
};

// Gives runs that have none their `plans`.
void share_plans(std::vector<CollectiveRun>& runs, const LinkConstants& constants);

// Its cluster made ready, with what its environment decided. Keeps pointers to both arguments.
PreparedCluster prepare(const CollectiveRun& run, const LinkConstants& constants);

// One group of all GPUs of the run.
GroupShape group_of(const CollectiveRun& run);

// What counts as the same machine where one is left out of a fit: node, fabric and number of nodes.
std::string machine_of(const CollectiveRun& run);
// What counts as the same kind of wiring there: architecture of the GPU, wiring of the node, and the fabric where there are several.
std::string wiring_of(const CollectiveRun& run);

}  // namespace wireplan
