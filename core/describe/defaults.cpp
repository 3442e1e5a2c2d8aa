#include "core/describe/defaults.hpp"

namespace wireplan {

GradientSync default_gradient_sync(Framework framework, DataSharding sharding) {
  if (framework == Framework::megatron) return GradientSync::last;
  return shards_gradients(sharding) ? GradientSync::every : GradientSync::last;
}

bool follows_vendor_recipes(Framework framework, const Training& training) {
  return framework == Framework::megatron && is_low_precision(training.parameter_dtype) && training.gradient_dtype == DType::bf16;
}

Overlap default_overlap(const Parallel& p, const Training& training) {
  if (follows_vendor_recipes(p.framework, training)) return {true, true, p.sequence_parallel, true};
  Overlap overlap;
  switch (p.framework) {
    case Framework::pytorch: overlap.gradient_reduce = overlap.parameter_gather = true; break;
    case Framework::megatron: break;
    case Framework::deepspeed: overlap.gradient_reduce = overlap.parameter_gather = p.data_sharding == DataSharding::zero3; break;
  }
  return overlap;
}

std::vector<DataSharding> shardings_of(Framework framework) {
  switch (framework) {
    case Framework::megatron: return {DataSharding::ddp, DataSharding::zero1, DataSharding::fsdp};
    case Framework::deepspeed: return {DataSharding::ddp, DataSharding::zero1, DataSharding::zero2, DataSharding::zero3};
    case Framework::pytorch: break;
  }
  return {DataSharding::ddp, DataSharding::zero1, DataSharding::zero2, DataSharding::fsdp, DataSharding::hsdp};
}

}  // namespace wireplan
