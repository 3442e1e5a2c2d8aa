#include "core/answer/alternatives.hpp"

#include <algorithm>

#include "core/describe/defaults.hpp"

namespace wireplan {

namespace {

std::string label_of(DataSharding s, Count shard_group, Count ranks) {
  std::string label(sharding_label(s));
  if (s == DataSharding::hsdp && shard_group > 0) label += " " + std::to_string(shard_group) + " × " + std::to_string(ranks / shard_group);
  return label;
}

std::string implemented_by(Framework f, DataSharding s) {
  if (f == Framework::megatron) return s == DataSharding::ddp ? "DistributedDataParallel" : s == DataSharding::zero1 ? "distributed optimizer" : "Megatron-FSDP";
  if (f == Framework::deepspeed) return s == DataSharding::ddp ? "stage 0" : s == DataSharding::zero1 ? "stage 1" : s == DataSharding::zero2 ? "stage 2" : "stage 3";
  switch (s) {
    case DataSharding::ddp: return "DistributedDataParallel";
    case DataSharding::zero1: return "ZeroRedundancyOptimizer";
    case DataSharding::zero2: return "SHARD_GRAD_OP";
    case DataSharding::hsdp: return "HYBRID_SHARD";
    case DataSharding::zero3: case DataSharding::fsdp: break;
  }
  return "FULL_SHARD";
}

// The cluster is prepared once where only the layout or the recipe differs.
Alternative evaluated(std::string key, std::string label, Plan plan, const PreparedCluster& cluster, const Constants& constants) {
  Alternative a;
  a.key = std::move(key);
  a.label = std::move(label);
  a.estimate = estimate(plan, cluster, constants);
  a.plan = std::move(plan);
  return a;
}

// What is prepared points into the plan, which therefore has its place before.
Alternative evaluated(std::string key, std::string label, Plan plan, const Constants& constants) {
  Alternative a;
  a.key = std::move(key);
  a.label = std::move(label);
  a.plan = std::move(plan);
  a.estimate = estimate(a.plan, constants);
  return a;
}

}  // namespace

Count hybrid_shard_group(const Plan& p) {
  const Count ranks = p.parallel.data * p.parallel.context;
  if (ranks < 4) return 0;
  const Count per_node = static_cast<Count>(p.cluster.gpus_per_node) / std::max<Count>(1, p.parallel.tensor);
  if (p.cluster.nodes > 1 && per_node > 1 && per_node < ranks && ranks % per_node == 0) return per_node;
  return ranks % 2 == 0 ? ranks / 2 : 0;
}

Plan with_wiring(const Plan& plan, WiringKind kind, int p2p) {
  Plan result = plan;
  Node& node = result.cluster.node;
  node.wiring = Wiring{};
  node.wiring.kind = kind;
  node.p2p = p2p;
  node.p2p_matrix.clear();
  if (kind != WiringKind::nvswitch) node.sockets = node.numa_nodes = 2;
  if (kind == WiringKind::nvlink_pairs)
    for (int g = 0; g + 1 < node.gpus; g += 2) node.wiring.pairs.push_back({g, g + 1});
  return result;
}

std::vector<Alternative> sharding_alternatives(const Plan& plan, const Constants& constants) {
  std::vector<Alternative> result;
  const Count ranks = plan.parallel.data * plan.parallel.context;
  const PreparedCluster cluster = prepare(plan.cluster, constants.links);
  for (DataSharding s : shardings_of(plan.parallel.framework)) {
    Plan changed = plan;
    const bool is_chosen = s == plan.parallel.data_sharding;
    if (!is_chosen) {
      changed.parallel.data_sharding = s;
      changed.parallel.shard_group = s == DataSharding::hsdp ? hybrid_shard_group(plan) : 0;
      if (s == DataSharding::hsdp && changed.parallel.shard_group == 0) continue;
      decide_again(changed);
    }
    const Count group = changed.parallel.shard_group;
    result.push_back(evaluated(std::string(name_of(s)), label_of(s, group, ranks), std::move(changed), cluster, constants));
    result.back().chosen = is_chosen;
    result.back().implemented_by = implemented_by(plan.parallel.framework, s);
  }
  return result;
}

std::vector<Alternative> wiring_alternatives(const Plan& plan, const Constants& constants) {
  std::vector<Alternative> result;
  const Node& node = plan.cluster.node;
  if (node.gpus < 2) return result;
  struct Kind { const char* key; const char* label; WiringKind wiring; int p2p; bool needs_nvlink; };
  static constexpr Kind kKinds[] = {
      {"nvswitch", "NVSwitch", WiringKind::nvswitch, -1, true},
      {"nvlink-pairs", "NVLink pairs over PCIe", WiringKind::nvlink_pairs, 1, true},
      {"pcie-switch", "PCIe switches", WiringKind::pcie_switch, 1, false},
      {"pcie-host", "PCIe through the host", WiringKind::pcie_host, 1, false},
      {"no-p2p", "PCIe without P2P", WiringKind::pcie_host, 0, false},
  };
  const bool has_nvlink = node.gpu.nvlink_links > 0;
  bool is_listed = false;
  for (const Kind& k : kKinds) {
    if (k.needs_nvlink && (!has_nvlink || (k.wiring == WiringKind::nvlink_pairs && node.gpus % 2 != 0))) continue;
    if (k.wiring == WiringKind::pcie_switch && has_nvlink) continue;
    const bool is_chosen = node.wiring.kind == k.wiring && (k.wiring != WiringKind::pcie_host || peers_over_pcie(node, 0, 1) == (k.p2p != 0));
    // The plan's own node is shown as it is, with every detail of its wiring.
    Plan changed = is_chosen ? plan : with_wiring(plan, k.wiring, k.p2p);
    if (!is_chosen) changed.cluster.node.id.clear();  // no longer the node of that name
    result.push_back(evaluated(k.key, k.label, std::move(changed), constants));
    result.back().chosen = is_chosen;
    is_listed = is_listed || is_chosen;
  }
  if (!is_listed) {
    result.insert(result.begin(), evaluated("as-stated", node.name.empty() ? "This node" : node.name, plan, constants));
    result.front().chosen = true;
  }
  return result;
}

std::vector<Alternative> recipe_alternatives(const Plan& plan, const Constants& constants) {
  struct Recipe { const char* key; const char* label; DType gradient, state; bool has_master; };
  static constexpr Recipe kRecipes[] = {
      {"bf16", "pure bf16 AdamW", DType::bf16, DType::bf16, false},
      {"bf16-fp32-moments", "bf16 with fp32 moments", DType::bf16, DType::fp32, false},
      {"mixed", "mixed precision", DType::fp32, DType::fp32, true},
  };
  const PreparedCluster cluster = prepare(plan.cluster, constants.links);
  std::vector<Alternative> result;
  for (const Recipe& r : kRecipes) {
    Plan changed = plan;
    Training& t = changed.training;
    t.parameter_dtype = DType::bf16;
    t.gradient_dtype = r.gradient;
    t.optimizer = Optimizer::adamw;
    t.optimizer_state_dtype = r.state;
    t.master_weights_dtype = r.has_master ? std::optional(DType::fp32) : std::nullopt;
    const Training& now = plan.training;
    const bool is_chosen = now.parameter_dtype == t.parameter_dtype && now.gradient_dtype == t.gradient_dtype && now.optimizer == t.optimizer &&
                           now.optimizer_state_dtype == t.optimizer_state_dtype && now.master_weights_dtype == t.master_weights_dtype;
    if (!is_chosen) decide_again(changed);
    result.push_back(evaluated(r.key, r.label, std::move(changed), cluster, constants));
    result.back().chosen = is_chosen;
  }
  return result;
}

}  // namespace wireplan
