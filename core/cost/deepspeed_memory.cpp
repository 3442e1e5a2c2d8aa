#include "core/cost/deepspeed_memory.hpp"

#include <algorithm>
#include <cmath>

namespace wireplan {
namespace {

double sum_of_groups(const ZeroPlan& z, double bytes) {
  double sum = 0;
  for (const double g : z.sub_groups()) sum += tensor(g, bytes);
  return sum;
}

double largest_gather(const ZeroPlan& z) {
  return tensor(std::ceil(z.parameters.largest / z.parameters.ranks) * z.parameters.ranks, z.E);
}

ZeroBytes partitioned_states(const ZeroPlan& z) {
  ZeroBytes b;
  b.parameters = tensor(z.parameters.padded, z.E);
  if (z.settings.offload_optimizer) {
    b.staging = tensor(z.parameters.largest, z.E);
    return b;
  }
  b.master_weights = tensor(z.parameters.partition, 4);
  b.optimizer_states = 2 * b.master_weights;
  b.scalars = 2 * kBlock;
  if (z.kind == ZeroKind::bf16_optimizer) b.gradients = tensor(z.parameters.padded, 4);
  return b;
}

ZeroBytes sharded_states(const ZeroPlan& z) {
  const DeepSpeedSettings& s = z.settings;
  ZeroBytes b;
  if (!s.offload_parameters) b.parameters = tensor(z.shard_elements(), z.E);
  if (s.contiguous) b.bucket = tensor(s.reduce_bucket, z.E);
  for (const ZeroParameter& p : z.parameters.ready)
    if (p.elements <= s.persistence_threshold) b.persistent += tensor(z.parameters.shard(p) * z.parameters.ranks, z.E);
  if (s.offload_optimizer) {
    b.scalars = s.recent ? 0 : 2 * kBlock;
    return b;
  }
  b.gradients = tensor(z.shard_elements(), z.G);
  b.master_weights = sum_of_groups(z, 4);
  b.optimizer_states = 2 * b.master_weights;
  b.scalars = 3 * kBlock;
  return b;
}

ZeroBytes stage0_states(const ZeroPlan& z) {
  ZeroBytes b;
  b.scalars = kBlock;
  if (z.is_16_bit()) {
    b.parameters = tensor(z.parameters.total, z.E);
    b.master_weights = tensor(z.parameters.total, 4);
    b.optimizer_states = 2 * b.master_weights;
  } else {
    b.parameters = z.all_gradients();
    b.optimizer_states = 2 * b.parameters;
  }
  return b;
}

ZeroParameter first_parameter(const ZeroPlan& z) {
  const ZeroParameters& all = z.parameters;
  return all.registered.empty() ? ZeroParameter{} : all.ready[std::size_t(all.registered.front())];
}

// The whole model on the device, cast there parameter by parameter where it was built in fp32.
double peak_of_building(const ZeroPlan& z) {
  switch (z.built) {
    case Built::gpu: {
      if (!z.is_16_bit()) return z.bytes_of_each(4);
      return z.bytes_of_each(4) + tensor(first_parameter(z).elements, z.E);
    }
    case Built::zero_init:
      return 0;
    case Built::bf16_host:
    case Built::fp32_host:
      break;
  }
  return z.bytes_of_each(z.E);
}

double stage3_initialize_peak(const ZeroPlan& z, double alive) {
  const DeepSpeedSettings& s = z.settings;
  const std::vector<double>& groups = z.sub_groups();
  double whole = peak_of_building(z);
  if (z.built != Built::zero_init) {
    const ZeroParameter first = first_parameter(z);
    const double shard = s.offload_parameters ? 0 : tensor(z.parameters.shard(first), z.E);
    whole = std::max(whole, z.bytes_of_each(z.E) + shard + (s.offload_optimizer ? 0 : kBlock));
  }
  double peak = whole;
  if (!s.offload_optimizer) {
    // Each sub-group is converted and cloned; then a gradient as large as the largest.
    double done = 0, most = 0, largest = 0;
    for (const double g : groups) {
      const double bytes = tensor(g, 4);
      most = std::max(most, done + 2 * bytes);
      done += bytes;
      largest = std::max(largest, bytes);
    }
    const double shards = s.offload_parameters ? 0 : tensor(z.shard_elements(), z.E);
    peak = std::max(peak, shards + std::max(most, done + largest) + 2 * kBlock);
  }
  // Every parameter is gathered once to find the place of its gradient.
  double gather = largest_gather(z);
  if (!s.recent)
    gather *= 2;
  else if (s.offload_parameters)
    gather += tensor(std::ceil(z.parameters.largest / z.parameters.ranks), z.E);
  return std::max(peak, alive + gather);
}

}  // namespace

ZeroPlan::ZeroPlan(const StageTraffic& t, const DeepSpeedSettings& s)
    : settings(s),
      parameters(t, s),
      E(bytes_of(t.activation)),
      G(element_bytes(t.plan.training.gradient_dtype)),
      micro_batches(double(t.micro_batches)) {
  const DataSharding sharding = t.plan.parallel.data_sharding;
  stage1 = sharding == DataSharding::zero1;
  settings.hpz = t.ranks(GroupKind::secondary);  // 1 where it does not divide N
  if (E == 4) G = 4;
  kind = sharding == DataSharding::ddp                              ? ZeroKind::stage0
         : shards_parameters(sharding)                              ? ZeroKind::sharded
         : stage1 && E < 4 && G == 4 && !settings.offload_optimizer ? ZeroKind::bf16_optimizer
                                                                    : ZeroKind::partitioned;
  if (t.plan.training.lora) add_frozen(t);
  if (t.plan.training.details && t.plan.training.details->built) built = *t.plan.training.details->built;
  for (const ZeroParameter& p : parameters.ready) {
    all_gradients_ += tensor(p.elements, E);
    shard_elements_ += parameters.shard(p);
    if (!(parameters.inside(p, 0) > 0)) continue;
    own_elements_ += p.elements;
    own_tensors_ += 1;
  }
  if (kind != ZeroKind::sharded) return;
  double open = 0;
  for (const std::int32_t i : parameters.registered) {
    open += parameters.shard(parameters.ready[std::size_t(i)]);
    if (open < settings.sub_group && i != parameters.registered.back()) continue;
    sub_groups_.push_back(open);
    open = 0;
  }
}

// The base that adapters leave as it is: stage 3 shards it too, each tensor by itself.
void ZeroPlan::add_frozen(const StageTraffic& t) {
  const double base = element_bytes(t.plan.training.lora->base_dtype);
  const auto add = [&](const TensorList& list, double times, bool is_layer) {
    for (const Tensor& x : list) {
      const double n = x.rows * x.columns, bytes = is_layer && x.columns > 1 ? std::min(base, E) : E;
      const double held = kind == ZeroKind::sharded ? std::ceil(n / parameters.ranks) : n;
      frozen_bytes += times * x.copies * whole_blocks(held * bytes);
      frozen_elements += times * x.elements();
    }
  };
  add(t.embedding, 1, false);
  add(t.dense_layer, double(t.layers.dense), true);
  add(t.moe_layer, double(t.layers.moe), true);
  add(t.head, 1, false);
}

double ZeroPlan::secondary_shard(const ZeroParameter& p) const {
  return settings.hpz > 1 ? tensor(parameters.shard(p) * parameters.ranks / settings.hpz, E) : 0;
}

double ZeroPlan::bytes_of_each(double bytes) const {
  double sum = frozen_elements * bytes;
  for (const ZeroParameter& p : parameters.ready) sum += tensor(p.elements, bytes);
  return sum;
}

double ZeroPlan::own_gradients() const {
  if (kind == ZeroKind::stage0 || kind == ZeroKind::bf16_optimizer) return all_gradients_;
  if (kind == ZeroKind::sharded || settings.offload_optimizer) return 0;
  if (has_compact_gradients()) return tensor(parameters.partition, 4);
  if (settings.contiguous) return tensor(own_elements_, E);
  double sum = 0;
  for (const ZeroParameter& p : parameters.ready)
    if (parameters.inside(p, 0) > 0) sum += tensor(p.elements, E);
  return sum;
}

double ZeroPlan::after_backward() const {
  const bool scales = kind == ZeroKind::partitioned || kind == ZeroKind::sharded;
  const double loss = scales && !settings.recent ? kBlock : 0;
  if (!settings.offload_optimizer || !scales) return own_gradients() + loss;
  return kBlock * (kind == ZeroKind::sharded ? double(parameters.ready.size()) : own_tensors_) + loss;
}

ZeroBytes zero_between_steps(const ZeroPlan& z) {
  ZeroBytes b = z.kind == ZeroKind::stage0    ? stage0_states(z)
                : z.kind == ZeroKind::sharded ? sharded_states(z)
                                              : partitioned_states(z);
  if (z.kind != ZeroKind::sharded || !z.settings.offload_parameters) b.frozen = z.frozen_bytes;
  return b;
}

ZeroBytes zero_before_first_step(const ZeroPlan& z) {
  ZeroBytes b = zero_between_steps(z);
  b.persistent = 0;
  if (z.kind == ZeroKind::stage0 && z.is_16_bit()) return b;
  b.optimizer_states = 0;
  if (z.kind != ZeroKind::stage0 && b.scalars > 0 && !z.settings.offload_optimizer) b.scalars -= kBlock;
  if (z.kind == ZeroKind::sharded) {
    if (z.settings.offload_optimizer) b.scalars = z.settings.recent ? 0 : kBlock;
    for (const ZeroParameter& p : z.parameters.ready) b.parameters += z.secondary_shard(p);
  }
  return b;
}

double zero_host_bytes(const ZeroPlan& z) {
  const DeepSpeedSettings& s = z.settings;
  const double p = z.parameters.partition;
  if (z.kind == ZeroKind::sharded) {
    double bytes = s.offload_parameters ? tensor(z.shard_elements(), z.E) + z.frozen_bytes : 0;
    if (s.offload_optimizer)
      bytes += 4 * sum_of_groups(z, 4) + tensor(z.shard_elements(), z.G) + (s.recent ? 2 * kBlock : 0);
    return bytes;
  }
  if (z.kind != ZeroKind::partitioned || !s.offload_optimizer) return 0;
  // Master, gradient and two moments, 16-bit copy of the result, staging; accumulated gradients of stage 2.
  double bytes = 4 * tensor(p, 4) + (s.recent ? tensor(p, z.E) : 0) + tensor(z.parameters.largest, z.E) + kBlock;
  if (!z.stage1 && z.micro_batches > 1)
    for (const ZeroParameter& x : z.parameters.ready)
      if (z.parameters.inside(x, 0) > 0) bytes += tensor(x.elements, z.E);
  return bytes;
}

double zero_initialize_peak(const ZeroPlan& z) {
  const double alive = zero_before_first_step(z).total(), built = peak_of_building(z);
  switch (z.kind) {
    case ZeroKind::stage0:
      // Gradients of zeros in fp32 while the moments are made.
      return std::max(built, alive + (z.is_16_bit() ? tensor(z.parameters.total, 4) : 0));
    case ZeroKind::sharded:
      return stage3_initialize_peak(z, alive);
    case ZeroKind::partitioned:
    case ZeroKind::bf16_optimizer:
      break;
  }
  const bool offload = z.settings.offload_optimizer;
  // The model and its flat copy (release 0.14 flattens on the host); later the master partition and a gradient of zeros.
  const double flat = tensor(z.parameters.padded, z.E);
  const double both = z.settings.recent ? z.bytes_of_each(z.E) + flat + (offload ? 0 : kBlock) : 0;
  const double zeros = offload || z.kind == ZeroKind::bf16_optimizer ? 0 : tensor(z.parameters.partition, 4);
  return std::max({built, both, alive + zeros});
}

}  // namespace wireplan
