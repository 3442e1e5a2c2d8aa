// Gradient reduction of replicas and of optimizer shards, in buckets: PyTorch's DDP and Megatron's gradient buffers.
#include <algorithm>

#include "core/count/stage_traffic.hpp"

namespace wireplan {
namespace {

constexpr double kBucketBytes = 26214400,
                 kFirstBucketBytes = 1048576;  // [pytorch-ddp-notes] bucket_cap_mb 25, first bucket 1 MiB
constexpr double kMegatronBucket = 40e6,
                 kMegatronBucketPerRank = 1e6;  // parameters, [megatron-lm] distributed_data_parallel

// Deals tensors into buckets; a bucket closes once it holds `cap` or more. close(size, is_last).
template <class Close>
class Buckets {
 public:
  Buckets(double first_cap, double cap, Close close) : limit_(first_cap), cap_(cap), close_(close) {}
  void put(double size, double copies) {
    while (copies > 0 && size > 0) {
      if (waiting_ > 0) {  // known not to be the last one now
        close_(waiting_, false);
        waiting_ = 0;
      }
      const double taken = std::min(copies, std::max(std::ceil((limit_ - open_) / size), 1.0));
      open_ += taken * size;
      copies -= taken;
      if (open_ >= limit_) {
        waiting_ = open_;
        open_ = 0;
        limit_ = cap_;
      }
    }
  }
  void finish() {
    if (open_ > 0) waiting_ = open_;
    if (waiting_ > 0) close_(waiting_, true);
  }

 private:
  double limit_, cap_, open_ = 0, waiting_ = 0;
  Close close_;
};

Element gradient_element(const StageTraffic& t) {
  const Training& training = t.plan.training;
  const auto& details = training.details;
  if (details && details->reduce_dtype) return element_of(*details->reduce_dtype);
  if (training.lora) return element_of(training.switches.adapter_dtype);
  return element_of(training.gradient_dtype);
}

// ZeroRedundancyOptimizer: after the step the owner of each tensor sends it to all others.
// Type as stored: fp32 under autocast, which an fp32 master without FSDP means.
void add_broadcasts(StageTraffic& t) {
  const Training& training = t.plan.training;
  const Element element = training.master_weights_dtype ? Element::fp32 : element_of(training.parameter_dtype);
  t.in_gradient_order([&](double elements, double copies, bool) {
    t.add("zero1-broadcast", Collective::broadcast, GroupKind::data, Phase::optimizer, elements * bytes_of(element),
          copies, element, false);
  });
}

void add_pytorch(StageTraffic& t) {
  const double cap = double(t.plan.training.switches.bucket_bytes);
  const double first = cap == kBucketBytes ? kFirstBucketBytes : cap;
  const Element element = gradient_element(t);
  const bool overlappable = t.plan.parallel.overlap.gradient_reduce;
  const auto close_in = [&](std::string_view name, GroupKind group) {
    return [&t, name, group, element, overlappable](double bytes, bool is_last) {
      t.add(name, Collective::all_reduce, group, Phase::backward, bytes, double(t.syncs), element, overlappable,
            !is_last);
    };
  };
  Buckets dense(first, cap, close_in("ddp-bucket", GroupKind::data));
  Buckets experts(first, cap, close_in("ddp-expert-bucket", GroupKind::expert_data));
  t.in_gradient_order([&](double elements, double copies, bool is_expert) {
    (is_expert && t.experts_apart ? experts : dense).put(elements * bytes_of(element), copies);
  });
  experts.finish();
  dense.finish();
  if (t.plan.parallel.data_sharding == DataSharding::zero1) add_broadcasts(t);
}

// One bucket of Megatron's buffers: all-reduce, or with the distributed optimizer reduce-scatter and all-gather; optimizer
// shards over part of the ranks (shard_group) all-reduce their shard between the parts.
void add_megatron_bucket(StageTraffic& t, double elements, bool is_expert) {
  const Parallel& p = t.plan.parallel;
  const Element gradient = gradient_element(t), parameter = t.activation;
  const double bytes = elements * bytes_of(gradient);
  const double syncs = double(t.syncs);
  const bool reduce = p.overlap.gradient_reduce, gather = p.overlap.parameter_gather;
  if (p.data_sharding == DataSharding::ddp) {
    t.add(is_expert ? "ddp-expert-bucket" : "ddp-bucket", Collective::all_reduce,
          is_expert ? GroupKind::expert_data : GroupKind::data, Phase::backward, bytes, syncs, gradient, reduce);
    return;
  }
  const bool parts = p.shard_group > 0 && !is_expert;
  const GroupKind group = is_expert ? GroupKind::expert_data : parts ? GroupKind::shard : GroupKind::data;
  t.add(is_expert ? "zero-expert-reduce-scatter" : "zero-reduce-scatter", Collective::reduce_scatter, group,
        Phase::backward, bytes, syncs, gradient, reduce);
  if (parts)
    t.add("zero-all-reduce", Collective::all_reduce, GroupKind::replicate, Phase::backward,
          bytes / t.ranks(GroupKind::shard), syncs, gradient, reduce);
  t.add(is_expert ? "zero-expert-all-gather" : "zero-all-gather", Collective::all_gather, group,
        gather ? Phase::forward : Phase::optimizer, elements * bytes_of(parameter), 1, parameter, gather);
}

void add_megatron(StageTraffic& t) {
  const double everything = 1e18;
  const auto cap = [&](GroupKind group) {
    return t.plan.parallel.overlap.gradient_reduce ? std::max(kMegatronBucket, kMegatronBucketPerRank * t.ranks(group))
                                                   : everything;
  };
  const double dense_cap = cap(GroupKind::data), expert_cap = cap(GroupKind::expert_data);
  Buckets dense(dense_cap, dense_cap, [&](double elements, bool) { add_megatron_bucket(t, elements, false); });
  Buckets experts(expert_cap, expert_cap, [&](double elements, bool) { add_megatron_bucket(t, elements, true); });
  t.in_gradient_order([&](double elements, double copies, bool is_expert) {
    is_expert&& t.experts_apart ? experts.put(elements, copies) : dense.put(elements, copies);
  });
  dense.finish();
  experts.finish();
}

}  // namespace

void add_data_parallel(StageTraffic& t) {
  t.plan.parallel.framework == Framework::megatron ? add_megatron(t) : add_pytorch(t);
}

}  // namespace wireplan
