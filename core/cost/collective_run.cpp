#include "core/cost/collective_run.hpp"

#include "core/cost/nccl/group_plans.hpp"

namespace wireplan {

PreparedCluster prepare(const CollectiveRun& run, const LinkConstants& constants) {
  return prepare(run.cluster, constants, run.switches, run.plans);
}

void share_plans(std::vector<CollectiveRun>& runs, const LinkConstants& constants) {
  for (CollectiveRun& run : runs)
    if (!run.plans) run.plans = std::make_shared<nccl::GroupPlans>(run.cluster, constants, run.switches);
}

GroupShape group_of(const CollectiveRun& run) {
  return single_group(run.gpus, run.nodes, used_gpus(run.cluster, (run.gpus + run.nodes - 1) / run.nodes));
}

std::string machine_of(const CollectiveRun& run) {
  const Node& node = run.cluster.node;
  std::string machine = node.id.empty() ? std::to_string(node.gpus) + " x " + node.gpu.id : node.id;
  if (run.nodes > 1 && run.cluster.network) machine += ", " + std::to_string(run.nodes) + " nodes, " + std::string(name_of(run.cluster.network->fabric));
  return machine;
}

std::string wiring_of(const CollectiveRun& run) {
  const Node& node = run.cluster.node;
  const std::string kind = run.nodes == 1 || node.gpus > 1 ? ", " + std::string(name_of(node.wiring.kind)) : "";
  return node.gpu.architecture + kind + (run.nodes > 1 && run.cluster.network ? ", " + std::string(name_of(run.cluster.network->fabric)) : "");
}

}  // namespace wireplan
