#include "core/cost/deepspeed_buckets.hpp"

#include <algorithm>
#include <cmath>

namespace wireplan {
namespace {

constexpr double kFallbackBucket = 5e8;  // elements, engine.py buffered_allreduce_fallback
constexpr double kNormBuffer = 2.5e8;    // elements, stage3.py _constant_buffered_norm2

}  // namespace

ZeroBuckets::ZeroBuckets(const ZeroPlan& plan) : z_(plan) {
  const DeepSpeedSettings& s = z_.settings;
  const bool contiguous = s.contiguous || s.offload_optimizer;
  if (z_.kind == ZeroKind::partitioned && contiguous)
    bucket_bytes_ = tensor(s.reduce_bucket, z_.E) * (s.overlap ? 2 : 1);
  moves_ = contiguous && (z_.kind == ZeroKind::partitioned || z_.kind == ZeroKind::sharded);
  open_.reserve(z_.parameters.ready.size());
}

void ZeroBuckets::begin_step() {
  alive_ = peak_ = accumulated_ = held_ = alone_ = unmoved_ = left_ = pending_ = 0;
  is_first_ = true;
  has_bucket_ = has_own_ = false;
  open_.clear();
}

void ZeroBuckets::begin_backward(bool is_last) {
  is_last_ = is_last;
  peak_ = alive_;
  reduces_in_backward_ = z_.kind == ZeroKind::sharded ||
                         (z_.kind == ZeroKind::partitioned && (!z_.stage1 || (z_.settings.overlap && is_last)));
  // The scaled loss; in 2024 it stays until the next one, or the step, is done.
  if (z_.kind == ZeroKind::partitioned || z_.kind == ZeroKind::sharded) hold(kBlock);
  if (!z_.settings.recent) open_bucket();
}

double ZeroBuckets::own(std::size_t i) const { return tensor(z_.parameters.ready[i].elements, z_.E); }

void ZeroBuckets::open_bucket() {
  if (has_bucket_ || !(bucket_bytes_ > 0)) return;
  has_bucket_ = true;
  hold(bucket_bytes_);
}

void ZeroBuckets::gradient(std::size_t i) {
  const double bytes = own(i);
  peak_ = alive_;
  hold(bytes);
  open_bucket();
  if (reduces_in_backward_) {
    if (z_.stage1 && !is_first_) alive_ -= bytes;  // added to what the micro-batches before have left
    put(i, bytes);
  } else if (!is_first_) {
    alive_ -= bytes;
  }
}

// Into the bucket, which is reduced first if it would not fit. `bytes`: of its own gradient, already counted.
void ZeroBuckets::put(std::size_t i, double bytes) {
  const ZeroParameter& p = z_.parameters.ready[i];
  const double bucket = z_.settings.reduce_bucket;
  if (held_ + p.elements > bucket) flush();
  if (moves_ && p.elements <= bucket)
    alive_ -= bytes;
  else if (moves_)
    alone_ = bytes;
  else
    unmoved_ += bytes;
  held_ += p.elements;
  open_.push_back(std::int32_t(i));
}

void ZeroBuckets::flush() {
  if (open_.empty()) return;
  if (z_.kind == ZeroKind::sharded)
    flush_sharded();
  else
    flush_partitioned();
  open_.clear();
  held_ = alone_ = unmoved_ = 0;
}

// The largest flat copy of a flush. Slices by partition are joined, and sent once they exceed the bucket size (only those of a
// parameter larger than the bucket do); a single slice is sent as it is.
double ZeroBuckets::flush_copy() const {
  const ZeroParameters& all = z_.parameters;
  const double bucket = z_.settings.reduce_bucket, p = all.partition;
  if (!moves_) return open_.size() > 1 ? tensor(held_, z_.E) : 0;
  const ZeroParameter& first = all.ready[std::size_t(open_.front())];
  if (held_ > bucket) {
    const double head = std::min(held_, (std::floor(first.offset / p) + 1) * p - first.offset);
    const double whole = head > bucket ? 0 : std::floor((bucket - head) / p) + 1;  // partitions that join it
    const double call = whole > 0 ? std::min(held_, head + whole * p) : 0;
    const double each = std::floor(bucket / p) + 1;  // partitions of a later call
    const double later = each > 1 ? std::min(std::max(held_ - std::max(call, head), 0.0), each * p) : 0;
    return tensor(std::max(call, later), z_.E);
  }
  bool is_one = true;  // all of one partition, and not of the compact buffer's
  for (const std::int32_t i : open_) {
    const ZeroParameter& x = all.ready[std::size_t(i)];
    is_one = is_one && std::floor(x.offset / p) == std::floor(first.offset / p) &&
             std::floor((x.end() - 1) / p) == std::floor(first.offset / p);
  }
  if (is_one && open_.size() > 1 && z_.has_compact_gradients() && is_own(first)) is_one = false;
  return is_one ? 0 : tensor(held_, z_.E);
}

void ZeroBuckets::flush_partitioned() {
  const ZeroParameters& all = z_.parameters;
  const bool compact = z_.has_compact_gradients();
  alive_ -= pending_;
  pending_ = 0;
  if (compact && !has_own_)
    for (const std::int32_t i : open_)
      if (is_own(all.ready[std::size_t(i)]) && !has_own_) {
        has_own_ = true;
        hold(tensor(all.partition, 4));
      }
  double widened = 0;  // the rank's own slice as fp32, on its way to its place
  if (compact)
    for (const std::int32_t i : open_) widened = std::max(widened, tensor(all.inside(all.ready[std::size_t(i)], 0), 4));
  touch(flush_copy() + widened);

  double freed = 0;
  for (const std::int32_t i : open_) {
    const ZeroParameter& p = all.ready[std::size_t(i)];
    if (is_own(p))
      copy_out_own(p);
    else if (!moves_ && !z_.stage1)
      freed += tensor(p.elements, z_.E);
  }
  if (moves_) {  // a large parameter's own gradient: gone once copied or not needed
    const ZeroParameter& p = all.ready[std::size_t(open_.front())];
    const bool stays = is_own(p) ? compact : z_.stage1;
    (stays ? left_ : freed) += alone_;
  }
  if (z_.settings.overlap && !moves_)
    pending_ = freed;
  else
    alive_ -= freed;
}

void ZeroBuckets::copy_out_own(const ZeroParameter& p) {
  const double inside = z_.parameters.inside(p, 0);
  if (z_.settings.offload_optimizer) {
    if (!is_last_) return;
    touch(tensor(inside, 8) + kBlock);
    hold(kBlock);  // its norm
    touch(z_.E < 4 ? tensor(inside, 4) : 0);
  } else if (moves_ && !z_.has_compact_gradients() && !has_own_) {
    has_own_ = true;
    hold(tensor(z_.own_elements(), z_.E));
  }
}

void ZeroBuckets::flush_sharded() {
  const ZeroParameters& all = z_.parameters;
  double shards = 0;
  for (const std::int32_t i : open_) shards += all.shard(all.ready[std::size_t(i)]);
  const double padded = shards * all.ranks;
  const bool in_place = open_.size() == 1 && padded == held_;
  const double copy = in_place || !z_.settings.reduce_scatter ? 0 : tensor(padded, z_.E);
  hold(copy);
  double widened = 0;  // shards turned into fp32, all at once
  if (z_.G > z_.E)
    for (const std::int32_t i : open_) widened += tensor(all.shard(all.ready[std::size_t(i)]), z_.G);
  hold(widened);
  if (z_.settings.offload_optimizer) {
    for (const std::int32_t i : open_) {
      const double shard = all.shard(all.ready[std::size_t(i)]);
      const double device = tensor(shard, z_.G);  // copied to the host, and back for its norm
      touch(device);
      if (!is_last_) continue;
      touch(device + tensor(std::min(shard, kNormBuffer), 8) + kBlock);
      hold(kBlock);
      touch(device + tensor(shard, 4));
    }
  }
  alive_ -= widened + copy + alone_ + unmoved_;
}

void ZeroBuckets::end_backward() {
  peak_ = alive_;
  const bool keeps_all = z_.kind == ZeroKind::stage0 || z_.kind == ZeroKind::bf16_optimizer;
  if (keeps_all && is_last_) reduce_all_at_once();
  if (z_.kind == ZeroKind::partitioned && z_.stage1 && is_last_ && !reduces_in_backward_) {
    for (const std::int32_t i : z_.parameters.registered) put(std::size_t(i), own(std::size_t(i)));
  }
  flush();
  alive_ -= pending_ + left_;
  pending_ = left_ = 0;
  if (z_.kind == ZeroKind::partitioned && (!z_.stage1 || is_last_)) {
    if (has_bucket_) alive_ -= bucket_bytes_;
    has_bucket_ = false;
    if (!moves_ && z_.stage1)  // what is not the rank's own
      for (const ZeroParameter& p : z_.parameters.ready)
        if (!is_own(p)) alive_ -= tensor(p.elements, z_.E);
    // Added to those of the micro-batches before.
    const double mine = z_.settings.offload_optimizer ? 0 : z_.own_gradients();
    if (!z_.has_compact_gradients()) {
      if (accumulated_ > 0) alive_ -= mine;
      accumulated_ = mine;
      has_own_ = false;
    }
  }
  if ((z_.kind == ZeroKind::partitioned || z_.kind == ZeroKind::sharded) && (z_.settings.recent || !is_first_))
    alive_ -= kBlock;
  is_first_ = false;
}

void ZeroBuckets::reduce_all_at_once() {
  const ZeroParameters& all = z_.parameters;
  if (z_.kind == ZeroKind::bf16_optimizer) {
    for (const ZeroParameter& p : all.ready) touch(tensor(p.elements, 4));  // added to the flat fp32 gradient
    touch(tensor(all.padded, z_.E));                                        // one copy for one all-reduce
    return;
  }
  double open = 0;
  int tensors = 0;
  for (const std::int32_t i : all.registered) {
    open += all.ready[std::size_t(i)].elements;
    ++tensors;
    if (open <= kFallbackBucket && i != all.registered.back()) continue;
    if (tensors > 1) touch(tensor(open, z_.E));
    open = 0;
    tensors = 0;
  }
}

}  // namespace wireplan
