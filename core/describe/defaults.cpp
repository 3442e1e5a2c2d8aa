#include "core/describe/defaults.hpp"

namespace wireplan {

GradientSync default_gradient_sync(Framework framework, DataSharding sharding) {
  if (framework == Framework::megatron) return GradientSync::last;
  return shards_gradients(sharding) ? GradientSync::every : GradientSync::last;
}

Overlap default_overlap(Framework framework, DataSharding sharding) {
  Overlap overlap;
  switch (framework) {
    case Framework::pytorch: overlap.gradient_reduce = overlap.parameter_gather = true; break;
    case Framework::megatron: break;
    case Framework::deepspeed: overlap.gradient_reduce = overlap.parameter_gather = sharding == DataSharding::zero3; break;
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
