#include "core/step/host_optimizer.hpp"

#include <algorithm>

namespace wireplan {

bool runs_optimizer_on_host(const Plan& p) {
  const Offload& offload = p.training.offload;
  if (p.parallel.framework == Framework::deepspeed && p.parallel.data_sharding == DataSharding::ddp) return false;
  return offload.optimizer || (offload.parameters && p.parallel.framework == Framework::pytorch && shards_parameters(p.parallel.data_sharding));
}

BytesPerSecond host_memory_rate(const Node& node, const EfficiencyConstants& k) {
  BytesPerSecond rate(k.host_memory_bytes_per_s);
  for (const HostMemory& m : k.host_memory)
    if (m.nccl_class == node.cpu.nccl_class && node.gpu.pcie_generation >= m.from_pcie_generation) rate = m.rate;
  return rate;
}

HostOptimizer host_optimizer(const Plan& p, double state_bytes, const EfficiencyConstants& k) {
  const Training& t = p.training;
  const bool is_pytorch = p.parallel.framework == Framework::pytorch, is_deepspeed = p.parallel.framework == Framework::deepspeed;
  const OptimizerKernel kernel = t.switches.optimizer_kernel;
  const double gradient = is_pytorch ? element_bytes(t.gradient_dtype) : 4;
  const double weight = t.master_weights_dtype || t.parameter_dtype == DType::fp32 ? 4 : 2;
  HostOptimizer o;
  o.bytes = 2 * (weight + state_bytes) + gradient + (is_deepspeed && weight > 2 ? 2 : 0);
  if (is_pytorch && (kernel == OptimizerKernel::foreach || kernel == OptimizerKernel::loop)) o.passes = k.host_optimizer_plain;
  if (is_deepspeed) o.clipping = 2 * gradient;                            // scaled in place; norms are taken on the GPU
  if (is_pytorch && t.switches.gradient_clipping) o.clipping = 3 * gradient;  // and read for their norm
  o.ranks = static_cast<double>(p.cluster.gpus_per_node);
  o.sockets = static_cast<double>(std::max(1, p.cluster.node.sockets));
  o.rate = host_memory_rate(p.cluster.node, k);
  return o;
}

Seconds HostOptimizer::time(double parameters) const { return Bytes((passes * bytes + clipping) * parameters * ranks) / (sockets * rate); }

}  // namespace wireplan
