// The optimizer step (deepspeed_memory.hpp).
#include <algorithm>

#include "core/cost/deepspeed_memory.hpp"

namespace wireplan {
namespace {

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
    peak =
        std::max(peak, zero_before_first_step(z).total() + 3 * tensor(z.parameters.partition, 4) + 2 * kBlock + loss);
  return peak;
}

double sharded_optimizer_peak(const ZeroPlan& z, bool is_first, double held, double persistent,
                              const Zero3Remains& remains) {
  if (z.settings.offload_optimizer) return held + remains.gathered;
  const std::vector<double>& groups = z.sub_groups();
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
  for (const ZeroParameter& p : z.parameters.ready)
    if (p.elements <= z.settings.persistence_threshold) secondary += z.secondary_shard(p);
  return held - persistent + (is_first ? 0 : secondary) +
         std::max(above + (2 + double(groups.size())) * kBlock, norm.bytes());
}

}  // namespace

double zero_optimizer_peak(const ZeroPlan& z, bool is_first, const Zero3Remains& remains) {
  const ZeroBytes b = is_first ? zero_before_first_step(z) : zero_between_steps(z);
  const double held = b.total() + z.after_backward() + (is_first ? 0 : remains.secondary);
  switch (z.kind) {
    case ZeroKind::stage0:
      if (z.is_16_bit()) return held + z.bytes_of_each(4) + tensor(z.parameters.total, 4);
      if (is_first) return held + 2 * z.all_gradients();
      return held + kBlock * (double(z.parameters.ready.size()) + 5);
    case ZeroKind::sharded:
      // At its end persistent parameters are gathered again.
      return std::max(sharded_optimizer_peak(z, is_first, held, b.persistent, remains), zero_between_steps(z).total() + (is_first ? 2 : 3) * kBlock);
    case ZeroKind::partitioned:
    case ZeroKind::bf16_optimizer:
      break;
  }
  return partitioned_optimizer_peak(z, is_first, held);
}

}  // namespace wireplan
