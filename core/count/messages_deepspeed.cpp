// DeepSpeed's ZeRO stages. Stages 1 and 2 reduce their buckets with all-reduce (use_multi_rank_bucket_allreduce, on by default)
// and gather all parameters in one call; stage 3 reduces buckets with reduce-scatter.  [deepspeed-zero]
#include <algorithm>

#include "core/count/deepspeed_settings.hpp"
#include "core/count/stage_traffic.hpp"

namespace wireplan {
namespace {

constexpr double kFallbackBucket = 5e8;  // elements, engine.py buffered_allreduce_fallback; cannot be set

// transformers registers the norms of a layer after its matrices: decides where partitions are cut.
bool norms_come_last(const Training& training) {
  return training.implementation.empty() || training.implementation.compare(0, 11, "huggingface") == 0;
}

struct Piece {
  double offset = 0, elements = 0;  // place in the flat buffer
};

// Offsets of the trained tensors in the flat buffer, in gradient order. The buffer follows the order of registration; with
// round_robin_gradients tensor i is moved to rank i mod N's part.
std::vector<Piece> flat_pieces(const StageTraffic& t, const DeepSpeedSettings& settings) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> flat;  // flat[j] = index into pieces of the j-th registered tensor
  t.in_gradient_order([&](double elements, double copies, bool) {
    pieces.insert(pieces.end(), static_cast<std::size_t>(copies), {0, elements});
  });
  const auto register_list = [&](const TensorList& list, std::size_t end,
                                 bool norms_last) {  // `end`: index after the list's last tensor
    std::size_t index = end;
    for (const bool norms : {false, true}) {
      index = end;
      for (const Tensor& x : list) {
        const bool is_norm = norms_last && x.part == Part::norm;
        for (double copy = 0; copy < x.copies; ++copy) {
          --index;
          if (is_norm == norms) flat.push_back(index);
        }
      }
    }
    return index;
  };
  std::size_t end = register_list(t.trained_embedding, pieces.size(), false);
  for (Count i = 0; i < t.layers.total(); ++i)
    end =
        register_list(t.is_moe(i) ? t.trained_moe_layer : t.trained_dense_layer, end, norms_come_last(t.plan.training));
  register_list(t.trained_head, end, false);
  if (settings.round_robin) {
    const std::size_t ranks = static_cast<std::size_t>(t.ranks(GroupKind::data));
    std::vector<std::size_t> dealt;
    for (std::size_t rank = 0; rank < std::min(ranks, flat.size()); ++rank)
      for (std::size_t i = rank; i < flat.size(); i += ranks) dealt.push_back(flat[i]);
    flat = std::move(dealt);
  }
  double offset = 0;
  for (const std::size_t i : flat) {
    pieces[i].offset = offset;
    offset += pieces[i].elements;
  }
  return pieces;
}

// Reduces one flushed bucket: its content as slices by owner, a new call once the slices exceed the bucket size. Only a tensor
// larger than the bucket, which is then alone in it, makes a second call where it crosses the border of a partition.
void reduce_bucket(StageTraffic& t, const Piece* begin, const Piece* end, double part, double bucket, Element element,
                   bool overlappable) {
  const auto add = [&](double elements, double times) {
    t.add("zero-all-reduce", Collective::all_reduce, GroupKind::data, Phase::backward, elements * bytes_of(element),
          times * double(t.syncs), element, overlappable);
  };
  double total = 0;
  for (const Piece* p = begin; p != end; ++p) total += p->elements;
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
  double total = 0;
  t.in_gradient_order([&](double elements, double copies, bool) { total += elements * copies; });
  const double n = t.ranks(GroupKind::data), padded = std::ceil(total / (2 * n)) * 2 * n;
  const bool bf16_optimizer =
      stage1 && is_16_bit && training.gradient_dtype == DType::fp32 && !settings.offload_optimizer;
  if (bf16_optimizer) {  // one flat fp32 gradient, reduced as a 16-bit copy
    t.add("zero-all-reduce", Collective::all_reduce, GroupKind::data, Phase::after_backward, padded * bytes_of(element),
          double(t.syncs), element, false);
  } else {
    const std::vector<Piece> pieces = flat_pieces(t, settings);
    const double part = padded / n;
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

void add_stage3(StageTraffic& t, const DeepSpeedSettings& settings) {
  const Element element = t.activation;
  const double size = bytes_of(element), n = t.ranks(GroupKind::data), m = double(t.micro_batches);
  const Overlap& overlap = t.plan.parallel.overlap;
  const Gathers gathers = zero3_gathers(t, settings);
  if (gathers.forward_calls > 0)
    t.add("zero3-all-gather-forward", Collective::all_gather, GroupKind::data, Phase::forward,
          gathers.forward_elements * size / gathers.forward_calls, gathers.forward_calls * m, element,
          overlap.parameter_gather);
  if (gathers.backward_calls > 0)
    t.add("zero3-all-gather-backward", Collective::all_gather, GroupKind::data, Phase::backward,
          gathers.backward_elements * size / gathers.backward_calls, gathers.backward_calls * m, element,
          overlap.parameter_gather);
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
