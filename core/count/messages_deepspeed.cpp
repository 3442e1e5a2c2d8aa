// DeepSpeed's ZeRO stages. Stages 1 and 2 reduce their buckets with all-reduce (use_multi_rank_bucket_allreduce, on by default)
// and gather all parameters in one call; stage 3 reduces buckets with reduce-scatter.  [deepspeed-zero]
#include <algorithm>

#include "core/count/deepspeed_settings.hpp"
#include "core/count/stage_traffic.hpp"
#include "core/count/zero3_replay.hpp"
#include "core/count/zero_parameters.hpp"

namespace wireplan {
namespace {

constexpr double kFallbackBucket = 5e8;  // elements, engine.py buffered_allreduce_fallback; cannot be set

// Reduces one flushed bucket: its content as slices by owner, a new call once the slices exceed the bucket size. Only a tensor
// larger than the bucket, which is then alone in it, makes a second call where it crosses the border of a partition.
void reduce_bucket(StageTraffic& t, const ZeroParameter* begin, const ZeroParameter* end, double part, double bucket,
                   Element element, bool overlappable) {
  const auto add = [&](double elements, double times) {
    t.add("zero-all-reduce", Collective::all_reduce, GroupKind::data, Phase::backward, elements * bytes_of(element),
          times * double(t.syncs), element, overlappable);
  };
  double total = 0;
  for (const ZeroParameter* p = begin; p != end; ++p) total += p->elements;
  if (total <= bucket) return add(total, 1);
  const double head = std::min(total, (std::floor(begin->offset / part) + 1) * part - begin->offset);
  double whole = std::floor((total - head) / part);  // partitions it covers
  const double tail = total - head - whole * part;
  const double first = std::min(whole, head > bucket ? 0 : std::floor((bucket - head) / part) + 1);
  const bool is_one = first == whole && head + whole * part <= bucket;
  add(head + first * part + (is_one ? tail : 0), 1);
  if (is_one) return;
  whole -= first;
  const double per_call = std::floor(bucket / part) + 1, calls = std::floor(whole / per_call);
  add(per_call * part, calls);
  add((whole - calls * per_call) * part + tail, 1);
}

void add_optimizer_stages(StageTraffic& t, const DeepSpeedSettings& settings) {
  const Training& training = t.plan.training;
  const Element element = t.activation;
  const bool is_16_bit = element != Element::fp32;
  const bool stage1 = t.plan.parallel.data_sharding == DataSharding::zero1;
  const bool overlappable = t.plan.parallel.overlap.gradient_reduce || settings.overlap;
  const ZeroParameters parameters(t, settings);
  const double padded = parameters.padded;
  const bool bf16_optimizer =
      stage1 && is_16_bit && training.gradient_dtype == DType::fp32 && !settings.offload_optimizer;
  if (bf16_optimizer) {  // one flat fp32 gradient, reduced as a 16-bit copy
    t.add("zero-all-reduce", Collective::all_reduce, GroupKind::data, Phase::after_backward, padded * bytes_of(element),
          double(t.syncs), element, false);
  } else {
    std::vector<ZeroParameter> pieces = parameters.ready;
    if (stage1 && !settings.overlap)  // after backward, in the order of the model
      for (std::size_t i = 0; i < pieces.size(); ++i)
        pieces[i] = parameters.ready[std::size_t(parameters.registered[i])];
    const double part = parameters.partition;
    std::size_t begin = 0;
    double held = 0;
    for (std::size_t i = 0; i <= pieces.size(); ++i) {
      if (i == pieces.size() || held + pieces[i].elements > settings.reduce_bucket) {
        reduce_bucket(t, pieces.data() + begin, pieces.data() + i, part, settings.reduce_bucket, element, overlappable);
        begin = i;
        held = 0;
      }
      if (i < pieces.size()) held += pieces[i].elements;
    }
    t.add("gradient-norm", Collective::all_reduce, GroupKind::data, Phase::optimizer, 4, 1, Element::fp32, false);
    if (is_16_bit && (settings.recent || element == Element::fp16))
      t.add("overflow-flag", Collective::all_reduce, GroupKind::data, Phase::optimizer, 1, 1, Element::uint8, false);
  }
  t.add("zero-all-gather", Collective::all_gather, GroupKind::data, Phase::optimizer, padded * bytes_of(element), 1,
        element, false);
}

void add_stage0(StageTraffic& t) {
  const Element element = t.activation;
  double open = 0;
  const auto close = [&] {
    t.add("ddp-bucket", Collective::all_reduce, GroupKind::data, Phase::after_backward, open * bytes_of(element),
          double(t.syncs), element, false);
    open = 0;
  };
  std::vector<double> sizes;
  t.in_gradient_order([&](double elements, double copies, bool) {
    sizes.insert(sizes.end(), static_cast<std::size_t>(copies), elements);
  });
  for (std::size_t i = sizes.size(); i-- > 0;) {  // in the order of the model
    open += sizes[i];
    if (open > kFallbackBucket) close();
  }
  close();
  if (element == Element::fp32)
    t.add("gradient-norm", Collective::all_reduce, GroupKind::data, Phase::optimizer, 4, 1, Element::fp32, false);
}

// The norm is summed in double precision per sub-group of shards (on the host: once, in single precision).
void add_stage3_scalars(StageTraffic& t, const DeepSpeedSettings& settings, const std::vector<double>& sizes) {
  double groups = 0, shard = 0;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    shard += std::ceil(sizes[i] / t.ranks(GroupKind::data));
    if (shard < settings.sub_group && i > 0) continue;
    groups += 1;
    shard = 0;
  }
  const bool host = settings.offload_optimizer;
  t.add("gradient-norm", Collective::all_reduce, GroupKind::data, Phase::optimizer, host ? 4 : 8, host ? 1 : groups,
        host ? Element::fp32 : Element::fp64, false);
  if (t.activation == Element::fp16)
    t.add("overflow-flag", Collective::all_reduce, GroupKind::data, Phase::optimizer, 1, 1, Element::uint8, false);
}

// All gathers of some like micro-batches, the shares of forward and backward of equal size each.
void add_gathers(StageTraffic& t, const Zero3Replay& replay, double times) {
  const Element element = t.activation;
  const bool overlappable = t.plan.parallel.overlap.parameter_gather;
  const auto add = [&](const Gathers& g, GroupKind group, std::string_view forward, std::string_view backward) {
    if (g.forward_calls > 0)
      t.add(forward, Collective::all_gather, group, Phase::forward,
            g.forward_elements * bytes_of(element) / g.forward_calls, g.forward_calls * times, element, overlappable);
    if (g.backward_calls > 0)
      t.add(backward, Collective::all_gather, group, Phase::backward,
            g.backward_elements * bytes_of(element) / g.backward_calls, g.backward_calls * times, element,
            overlappable);
  };
  add(replay.calls(), GroupKind::data, "zero3-all-gather-forward", "zero3-all-gather-backward");
  add(replay.calls_inside(), GroupKind::secondary, "zero3-all-gather-forward-secondary",
      "zero3-all-gather-backward-secondary");
}

void add_stage3(StageTraffic& t, const DeepSpeedSettings& settings) {
  const Element element = t.activation;
  const double size = bytes_of(element), n = t.ranks(GroupKind::data), m = double(t.micro_batches);
  const Overlap& overlap = t.plan.parallel.overlap;
  Zero3Replay replay(t, settings);
  replay.run(Zero3Pass::first);
  add_gathers(t, replay, 1);
  if (m > 1 && !replay.leaves_what_it_found()) replay.run(Zero3Pass::later);
  if (m > 1) add_gathers(t, replay, m - 1);
  std::vector<double> sizes;  // in gradient order
  t.in_gradient_order([&](double elements, double copies, bool) {
    sizes.insert(sizes.end(), static_cast<std::size_t>(copies), elements);
  });
  double held = 0, held_padded = 0;
  const auto flush = [&] {
    t.add("zero3-reduce-scatter", Collective::reduce_scatter, GroupKind::data, Phase::backward, held_padded * size,
          double(t.syncs), element, overlap.gradient_reduce);
    held = held_padded = 0;
  };
  for (const double elements : sizes) {
    const double padded = std::ceil(elements / n) * n;
    if (held + elements > settings.reduce_bucket) flush();
    held += elements;
    held_padded += padded;
    if (elements <= settings.persistence_threshold)  // whole on every rank: gathered again once the step has changed it
      t.add("zero3-all-gather-persistent", Collective::all_gather, GroupKind::data, Phase::optimizer, padded * size, 1,
            element, false);
  }
  flush();
  add_stage3_scalars(t, settings, sizes);
}

}  // namespace

void add_deepspeed(StageTraffic& t) {
  const DeepSpeedSettings settings = deepspeed_settings(t.plan);
  switch (t.plan.parallel.data_sharding) {
    case DataSharding::ddp:
      add_stage0(t);
      break;
    case DataSharding::zero1:
    case DataSharding::zero2:
      add_optimizer_stages(t, settings);
      break;
    case DataSharding::zero3:
    case DataSharding::fsdp:
    case DataSharding::hsdp:
      add_stage3(t, settings);
      break;
  }
}

}  // namespace wireplan
