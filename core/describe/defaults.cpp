#include "core/describe/defaults.hpp"

namespace wireplan {

GradientSync default_gradient_sync(Framework framework, DataSharding sharding, Count pipeline) {
  if (framework == Framework::megatron || (framework == Framework::pytorch && pipeline > 1)) return GradientSync::last;
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

bool default_autocast(const Plan& plan) {
  const Training& t = plan.training;
  const bool is_gathered = shards_parameters(plan.parallel.data_sharding) || plan.parallel.data_sharding == DataSharding::zero2;
  return plan.parallel.framework == Framework::pytorch && t.master_weights_dtype && !is_gathered && t.parameter_dtype != DType::fp32;
}

void decide_again(Plan& plan) {
  Parallel& p = plan.parallel;
  const LeftOpen& open = plan.left_open;
  if (open.gradient_sync) p.gradient_sync = open.usual_sync.value_or(default_gradient_sync(p.framework, p.data_sharding, p.pipeline));
  const Overlap usual = default_overlap(p, plan.training);
  if (open.gradient_reduce) p.overlap.gradient_reduce = usual.gradient_reduce;
  if (open.parameter_gather) p.overlap.parameter_gather = usual.parameter_gather;
  if (open.tensor) p.overlap.tensor = usual.tensor;
  if (open.pipeline) p.overlap.pipeline = usual.pipeline;
  Switches& s = plan.training.switches;
  s.loss = s.losses[static_cast<std::size_t>(plan.training.loss)];
  if (!plan.training.details || !plan.training.details->autocast) s.autocast = default_autocast(plan);
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
