#include "core/text/launch/variables.hpp"

#include <utility>

namespace wireplan {
namespace {

constexpr const char* kNcclVariables = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
constexpr const char* kMegatronArguments = "https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py";

bool has_nvlink(const Node& node) {
  if (node.wiring.kind == WiringKind::graph) {
    for (const Link& l : node.wiring.graph.links)
      if (l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi) return true;
    return false;
  }
  return node.wiring.kind == WiringKind::nvswitch || node.wiring.kind == WiringKind::nvlink_mesh || node.wiring.kind == WiringKind::nvlink_pairs;
}

// Peer access over PCIe that the plan says is off. Where the card cannot, NCCL asks the driver and is told so, but for drivers that claimed
// it; where it can, NCCL would use it.
void add_peers(const Plan& plan, std::vector<LaunchLine>& lines) {
  const Node& node = plan.cluster.node;
  if (node.p2p != 0 || plan.cluster.gpus_per_node < 2) return;
  if (has_nvlink(node)) {
    lines.push_back({"NCCL_P2P_LEVEL=NVL", "the plan's node has no peer access over PCIe: peers over NVLink only (NCCL_P2P_DISABLE would take NVLink as well)", kNcclVariables});
    return;
  }
  if (node.gpu.p2p_pcie == 0)
    lines.push_back({"NCCL_P2P_DISABLE=1", "this card has no peer access over PCIe; drivers that claim it all the same let NCCL hang, others are not slower for it", "https://github.com/NVIDIA/nccl-tests/issues/117"});
  else
    lines.push_back({"NCCL_P2P_DISABLE=1", "the plan's node has no peer access although its GPUs could: NCCL would try it where the driver allows it, and hang or corrupt where IOMMU or ACS are in the way",
                     "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"});
}

void add_rails(const Plan& plan, std::vector<LaunchLine>& lines) {
  const auto& network = plan.cluster.network;
  if (plan.cluster.nodes < 2 || !network || !network->rail_optimized || network->oversubscription <= 1) return;
  lines.push_back({"NCCL_CROSS_NIC=0", "rings stay on their rail: the plan's network is rail-optimized and oversubscribed between rails", kNcclVariables});
}

// NICs by name, where the plan uses fewer than the node has: those of the network's rate.
void add_nics(const Plan& plan, std::vector<LaunchLine>& lines) {
  const auto& network = plan.cluster.network;
  const Node& node = plan.cluster.node;
  if (plan.cluster.nodes < 2 || !network || node.wiring.kind != WiringKind::graph) return;
  if (network->fabric != Fabric::infiniband && network->fabric != Fabric::roce) return;
  std::string names;
  int nics = 0, wanted = 0;
  for (const Component& c : node.wiring.graph.components) {
    if (c.kind != ComponentKind::nic) continue;
    ++nics;
    if (c.nic_rate.value != network->nic_rate.value || c.model.empty()) continue;
    names += (wanted > 0 ? "," : "") + c.model;
    ++wanted;
  }
  if (wanted == nics || wanted != network->nics_per_node) return;
  for (const char c : names)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ',' || c == '-')) return;  // no device's name
  lines.push_back({"NCCL_IB_HCA==" + names, "the plan's network has " + std::to_string(wanted) + " of the node's " + std::to_string(nics) + " NICs; '=' takes these names exactly", kNcclVariables});
}

// One queue of work keeps communication ahead of the products that need it.
void add_connections(const Plan& plan, std::vector<LaunchLine>& lines) {
  const Parallel& p = plan.parallel;
  const Gpu& gpu = plan.cluster.node.gpu;
  if (p.framework != Framework::megatron || shards_parameters(p.data_sharding) || (p.tensor < 2 && p.context < 2)) return;
  if (gpu.architecture.starts_with("Blackwell")) return;
  lines.push_back({"CUDA_DEVICE_MAX_CONNECTIONS=1", "Megatron-LM refuses tensor or context parallelism without it before Blackwell: one queue keeps kernels in the order in which communication is to overlap them", kMegatronArguments});
}

}  // namespace

std::vector<LaunchLine> launch_variables(const Plan& plan) {
  std::vector<LaunchLine> lines;
  add_connections(plan, lines);
  if (total_gpus(plan.cluster) > 1) {
    add_peers(plan, lines);
    add_rails(plan, lines);
    add_nics(plan, lines);
  }
  return lines;
}

}  // namespace wireplan
