#include "core/cost/collective_run.hpp"

namespace wireplan {

PreparedCluster prepare(const CollectiveRun& run, const LinkConstants& constants) {
  PreparedCluster cluster = prepare(run.cluster, constants);
  cluster.switches = run.switches;
  return cluster;
}

GroupShape shape_of(const CollectiveRun& run) {
  GroupShape shape;
  shape.ranks = run.gpus;
  shape.nodes = run.nodes;
  shape.per_node = (run.gpus + run.nodes - 1) / run.nodes;
  shape.local.emplace_back();
  for (int i = 0; i < shape.per_node; ++i) shape.local.front().push_back(i);
  return shape;
}

std::string machine_of(const CollectiveRun& run) {
  const Node& node = run.cluster.node;
  std::string machine = node.id.empty() ? std::to_string(node.gpus) + " x " + node.gpu.id : node.id;
  if (run.nodes > 1 && run.cluster.network) machine += ", " + std::to_string(run.nodes) + " nodes, " + std::string(name_of(run.cluster.network->fabric));
  return machine;
}

}  // namespace wireplan
