#include "core/cost/deepspeed_memory.hpp"

#include <algorithm>

#include "core/base/blocks.hpp"

namespace wireplan {
namespace {

constexpr double kBlock = 512;

double tensor(double elements, double bytes) { return whole_blocks(elements * bytes); }

// Largest shards stage 3 updates at once; sub_group_size counts elements of shards.
std::vector<double> sub_groups(const ZeroPlan& z) {
  std::vector<double> groups;
  double open = 0;
  for (std::size_t i = 0; i < z.parameters.registered.size(); ++i) {
    open += z.parameters.shard(z.parameters.ready[std::size_t(z.parameters.registered[i])]);
    if (open < z.settings.sub_group && i + 1 < z.parameters.registered.size()) continue;
    groups.push_back(open);
    open = 0;
  }
  return groups;
}

double sum_of_groups(const ZeroPlan& z, double bytes) {
  double sum = 0;
  for (const double g : sub_groups(z)) sum += tensor(g, bytes);
  return sum;
}

double largest_gather(const ZeroPlan& z) {
  return tensor(std::ceil(z.parameters.largest / z.parameters.ranks) * z.parameters.ranks, z.E);
}

double secondary_shard(const ZeroPlan& z, const ZeroParameter& p) {
  return z.settings.hpz > 1 ? tensor(z.parameters.shard(p) * z.parameters.ranks / z.settings.hpz, z.E) : 0;
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
    if (p.elements <= s.persistence_threshold)
      b.persistent += tensor(z.parameters.shard(p) * z.parameters.ranks, z.E);
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

double bytes_of_each(const ZeroPlan& z, double bytes) {
  double sum = z.frozen_elements * bytes;
  for (const ZeroParameter& p : z.parameters.ready) sum += tensor(p.elements, bytes);
  return sum;
}

// The whole model on the device, cast there parameter by parameter where it was built in fp32.
double peak_of_building(const ZeroPlan& z) {
  switch (z.built) {
    case Built::gpu: {
      if (!z.is_16_bit()) return bytes_of_each(z, 4);
      const ZeroParameter& first = z.parameters.ready[std::size_t(z.parameters.registered.front())];
      return bytes_of_each(z, 4) + tensor(first.elements, z.E);
    }
    case Built::zero_init: return 0;
    case Built::bf16_host: case Built::fp32_host: break;
  }
  return bytes_of_each(z, z.E);
}

double stage3_initialize_peak(const ZeroPlan& z, double alive) {
  const DeepSpeedSettings& s = z.settings;
  const std::vector<double> groups = sub_groups(z);
  double whole = peak_of_building(z);
  if (z.built != Built::zero_init) {
    const ZeroParameter& first = z.parameters.ready[std::size_t(z.parameters.registered.front())];
    const double shard = s.offload_parameters ? 0 : tensor(z.parameters.shard(first), z.E);
    whole = std::max(whole, bytes_of_each(z, z.E) + shard + (s.offload_optimizer ? 0 : kBlock));
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

// The norm of one piece after the other in double precision; the results are kept until all are there.
class NormPeak {
 public:
  void add(double elements) {
    most_ = std::max(most_, results_ + tensor(elements, 8));
    results_ += kBlock;
  }
  double bytes() const { return most_ + kBlock; }

 private:
  double most_ = 0, results_ = 0;
};

double partitioned_optimizer_peak(const ZeroPlan& z, bool is_first, double held) {
  // Release 0.14 brings the fp32 partition to the device to cast it there.
  if (z.settings.offload_optimizer) return held + (z.settings.recent ? kBlock : tensor(z.parameters.partition, 4));
  if (z.kind == ZeroKind::bf16_optimizer) {  // one norm for each tensor, all kept
    const double norms = kBlock * (double(z.parameters.ready.size()) + 7);
    return held + std::max(norms, is_first ? 2 * tensor(z.parameters.partition, 4) + kBlock : 0);
  }
  NormPeak norm;
  double pieces = 0;
  for (const std::int32_t i : z.parameters.flat) {
    const double inside = z.parameters.inside(z.parameters.ready[std::size_t(i)], 0);
    if (!(inside > 0)) continue;
    norm.add(inside);
    pieces += 1;
  }
  double above = norm.bytes();
  if (!z.has_compact_gradients()) {
    const double flat = pieces > 1 ? tensor(z.parameters.partition, z.G) : 0;
    above = std::max(above, flat + (z.G < 4 ? tensor(z.parameters.partition, 4) : 0) + 2 * kBlock);
  }
  double peak = held + above;
  // Adam's moments join the fp32 gradient, when the pieces it was made from are gone.
  const double loss = z.settings.recent ? 0 : kBlock;
  if (is_first)
    peak = std::max(peak, zero_before_first_step(z).total() + 3 * tensor(z.parameters.partition, 4) + 2 * kBlock + loss);
  return peak;
}

double sharded_optimizer_peak(const ZeroPlan& z, bool is_first, double held, double persistent,
                              const Zero3Remains& remains) {
  if (z.settings.offload_optimizer) return held + remains.gathered;
  const std::vector<double> groups = sub_groups(z);
  double above = 0, states = 0;
  NormPeak norm;
  for (const std::int32_t i : z.parameters.registered) norm.add(z.parameters.shard(z.parameters.ready[std::size_t(i)]));
  for (const double g : groups) {
    const double flat = z.parameters.ready.size() > 1 ? tensor(g, z.G) : 0, master = tensor(g, 4);
    const double before = is_first ? states : 0;
    // Flat copy, its fp32 copy; then the latter alone while it is scaled and used.
    above = std::max({above, before + flat + (z.G < 4 ? master : 0), before + master + 4 * kBlock});
    states += 2 * master;
    if (is_first) above = std::max(above, states + master);
  }
  // Persistent parameters are released first (and then have a secondary shard too).
  double secondary = 0;
  if (z.settings.hpz > 1)
    for (const ZeroParameter& p : z.parameters.ready)
      if (p.elements <= z.settings.persistence_threshold) secondary += secondary_shard(z, p);
  return held - persistent + (is_first ? 0 : secondary) +
         std::max(above + (2 + double(groups.size())) * kBlock, norm.bytes());
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
  if (E == 4) G = 4;
  kind = sharding == DataSharding::ddp                                       ? ZeroKind::stage0
         : shards_parameters(sharding)                                       ? ZeroKind::sharded
         : stage1 && E < 4 && G == 4 && !settings.offload_optimizer          ? ZeroKind::bf16_optimizer
                                                                             : ZeroKind::partitioned;
  if (t.plan.training.details && t.plan.training.details->built) built = *t.plan.training.details->built;
  for (const ZeroParameter& p : parameters.ready) {
    all_gradients_ += tensor(p.elements, E);
    shard_elements_ += parameters.shard(p);
    if (!(parameters.inside(p, 0) > 0)) continue;
    own_elements_ += p.elements;
    own_tensors_ += 1;
  }
}

double ZeroPlan::after_backward() const {
  const double loss = settings.recent ? 0 : kBlock;
  if (kind == ZeroKind::stage0 || kind == ZeroKind::bf16_optimizer) return all_gradients_ + loss;
  if (kind == ZeroKind::sharded)
    return (settings.offload_optimizer ? kBlock * double(parameters.ready.size()) : 0) + loss;
  if (settings.offload_optimizer) return kBlock * own_tensors_ + loss;
  if (has_compact_gradients()) return tensor(parameters.partition, 4) + loss;
  if (settings.contiguous) return tensor(own_elements_, E) + loss;
  double sum = 0;
  for (const ZeroParameter& p : parameters.ready)
    if (parameters.inside(p, 0) > 0) sum += tensor(p.elements, E);
  return sum + loss;
}

ZeroBytes zero_between_steps(const ZeroPlan& z) {
  ZeroBytes b = z.kind == ZeroKind::stage0    ? stage0_states(z)
                : z.kind == ZeroKind::sharded ? sharded_states(z)
                                              : partitioned_states(z);
  b.frozen = z.frozen_bytes;
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
    for (const ZeroParameter& p : z.parameters.ready) b.parameters += secondary_shard(z, p);
  }
  return b;
}

double zero_host_bytes(const ZeroPlan& z) {
  const DeepSpeedSettings& s = z.settings;
  const double p = z.parameters.partition;
  if (z.kind == ZeroKind::sharded) {
    double bytes = s.offload_parameters ? tensor(z.shard_elements(), z.E) : 0;
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
  const double both = z.settings.recent ? bytes_of_each(z, z.E) + flat + (offload ? 0 : kBlock) : 0;
  const double zeros =
      offload || z.kind == ZeroKind::bf16_optimizer ? 0 : tensor(z.parameters.partition, 4);
  return std::max({built, both, alive + zeros});
}

double zero_optimizer_peak(const ZeroPlan& z, bool is_first, const Zero3Remains& remains) {
  const ZeroBytes b = is_first ? zero_before_first_step(z) : zero_between_steps(z);
  const double held = b.total() + z.after_backward() + (is_first ? 0 : remains.secondary);
  switch (z.kind) {
    case ZeroKind::stage0:
      if (z.is_16_bit()) return held + bytes_of_each(z, 4) + tensor(z.parameters.total, 4);
      if (is_first) return held + 2 * z.all_gradients();
      return held + kBlock * (double(z.parameters.ready.size()) + 5);
    case ZeroKind::sharded:
      return sharded_optimizer_peak(z, is_first, held, b.persistent, remains);
    case ZeroKind::partitioned:
    case ZeroKind::bf16_optimizer:
      break;
  }
  return partitioned_optimizer_peak(z, is_first, held);
}

}  // namespace wireplan
