#include "core/answer/search_space.hpp"

#include <algorithm>

#include "core/count/parameters.hpp"
#include "core/describe/checks.hpp"
#include "core/describe/defaults.hpp"

namespace wireplan {
namespace {

constexpr bool is_power_of_two(Count n) { return n > 0 && (n & (n - 1)) == 0; }

// Pieces that a schedule cuts a rank's layers into by itself.
constexpr Count own_chunks(PipelineSchedule s) {
  return s == PipelineSchedule::zb_v || s == PipelineSchedule::dualpipe_v ? 2 : 1;
}

// As validate() has it: over pipeline × virtual_stages.
bool layers_divide(Count layers, Count stages) { return stages <= layers + 2 && (layers % stages == 0 || (layers + 2) % stages == 0); }

}  // namespace

LayoutSpace::LayoutSpace(const Plan& plan, NameSet<Vary> vary, const Abilities& can, Count data) : plan_(plan), vary_(vary), can_(can), data_(data) {
  const Model& m = plan_.model;
  const Parallel& p = plan_.parallel;
  const Count gpus = total_gpus(plan_.cluster);
  if (!p.deepspeed.empty()) {  // the configuration decides
    vary_.set(Vary::data_sharding, false);
    vary_.set(Vary::offload, false);
  }
  if (m.opaque)
    for (const Vary v : {Vary::tensor, Vary::context, Vary::loss, Vary::sequence_parallel}) vary_.set(v, false);
  if (!m.moe) vary_.set(Vary::expert, false);

  orders_ = {p.order};
  if (varies(Vary::order))
    for (const char* order : {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"})
      if (p.order != order) orders_.emplace_back(order);
  order_matters_ = plan_.cluster.nodes > 1 || plan_.cluster.node.wiring.kind != WiringKind::nvswitch;

  const auto values = [&](Vary v, bool can_do, Count now, Count of, Count most) {
    return varies(v) && can_do ? divisors_of(of, most) : std::vector<Count>{varies(v) ? 1 : now};
  };
  const bool is_opaque = m.opaque.has_value();
  for (const Count t : values(Vary::tensor, can_.tensor, p.tensor, is_opaque ? 1 : m.num_attention_heads, kMostTensor)) {
    if (gpus % t != 0) continue;
    for (const Count stages : values(Vary::pipeline, can_.pipeline, p.pipeline, gpus / t, layers_of(m) + 2)) {
      if (gpus % (t * stages) != 0) continue;
      for (const Count c : values(Vary::context, can_.context, p.context, plan_.training.sequence_length, kMostContext))
        if (gpus % (t * stages * c) == 0) add_shapes({t, stages, c});
    }
  }
}

Count LayoutSpace::data_of(const LayoutShape& s) const { return total_gpus(plan_.cluster) / (static_cast<Count>(s.tensor) * s.pipeline * s.context); }

void LayoutSpace::add_shapes(const Split& split) {
  const Parallel& p = plan_.parallel;
  const Count data = total_gpus(plan_.cluster) / (split.tensor * split.pipeline * split.context);
  if (plan_.training.global_batch_size % data != 0 || (data_ > 0 && data != data_)) return;
  LayoutShape shape;
  shape.tensor = static_cast<std::int32_t>(split.tensor);
  shape.pipeline = static_cast<std::int32_t>(split.pipeline);
  shape.context = static_cast<std::int32_t>(split.context);
  if (!plan_.model.moe) return add_schedules(shape, data);
  const Count ranks = split.tensor * split.context * data;
  const bool free = varies(Vary::expert);
  for (const Count e : free ? (can_.expert ? divisors_of(plan_.model.moe->num_experts, ranks) : std::vector<Count>{1}) : std::vector<Count>{p.expert}) {
    std::vector<Count> slices = {free ? 1 : p.expert_tensor};
    if (free && split.tensor > 1) slices.push_back(split.tensor);
    for (const Count e_t : slices) {
      if (ranks % (e * e_t) != 0) continue;
      shape.expert = static_cast<std::int32_t>(e);
      shape.expert_tensor = static_cast<std::int32_t>(e_t);
      add_schedules(shape, data);
    }
  }
}

void LayoutSpace::add_schedules(LayoutShape shape, Count data) {
  const Parallel& p = plan_.parallel;
  const Count layers = layers_of(plan_.model), stages = shape.pipeline;
  const auto add = [&](PipelineSchedule kind, Count chunks) {
    if (!layers_divide(layers, stages * chunks)) return;
    shape.schedule = kind;
    shape.virtual_stages = static_cast<std::int32_t>(chunks);
    add_passes(shape, data);
  };
  if (stages == 1) {
    if (varies(Vary::pipeline_schedule) || p.pipeline > 1) return add(PipelineSchedule::one_f_one_b, 1);
    return add(p.pipeline_schedule, p.virtual_stages);
  }
  if (!varies(Vary::pipeline_schedule)) return add(p.pipeline_schedule, p.virtual_stages);
  for (std::size_t i = 0; i < kNames<PipelineSchedule>.size(); ++i) {
    const PipelineSchedule kind = static_cast<PipelineSchedule>(i);
    if (!can_.pipeline_schedule.has(kind) || (kind == PipelineSchedule::dualpipe && stages % 2 != 0)) continue;
    if (kind != PipelineSchedule::interleaved) {
      // Two pieces of a rank need layers for both.
      if (stages * own_chunks(kind) <= layers + 2) add(kind, 1);
      continue;
    }
    for (Count v = 2; v <= std::min(kMostVirtualStages, (layers + 2) / stages); ++v) add(kind, v);
  }
}

void LayoutSpace::add_passes(LayoutShape shape, Count data) {
  const Training& t = plan_.training;
  const Parallel& p = plan_.parallel;
  const Count sequences = t.global_batch_size / data;

  std::vector<Recompute> kinds = {t.recompute};
  if (varies(Vary::recompute)) {
    kinds.clear();
    for (const RecomputeKind kind : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
      if (can_.recompute.has(kind) && (kind != RecomputeKind::selective || !plan_.model.opaque)) kinds.push_back({kind, 0});
    // Layers of the smallest piece: as many of each piece are chosen.
    const Count piece = std::max<Count>(1, layers_of(plan_.model) / (static_cast<Count>(shape.pipeline) * shape.virtual_stages));
    if (can_.recompute.has(RecomputeKind::full_layers))
      for (const Count quarters : {1, 2, 3})
        if (const Count n = quarters * piece / 4; n > (quarters - 1) * piece / 4 && n > 0) kinds.push_back({RecomputeKind::full_layers, n});
    if (can_.recompute.has(RecomputeKind::every) && piece > 1) kinds.push_back({RecomputeKind::every, 2});
    if (kinds.empty()) kinds = {t.recompute};
  }
  std::vector<Loss> losses = {t.loss};
  if (varies(Vary::loss)) {
    losses.clear();
    for (std::size_t i = 0; i < kNames<Loss>.size(); ++i)
      if (can_.loss.has(static_cast<Loss>(i)) || t.loss == static_cast<Loss>(i)) losses.push_back(static_cast<Loss>(i));
  }
  std::vector<char> sequence_parallel = {p.sequence_parallel};
  if (shape.tensor == 1) {
    if (varies(Vary::sequence_parallel) || p.tensor > 1) sequence_parallel = {false};
  } else if (varies(Vary::sequence_parallel)) {
    // Megatron refuses experts beside tensor parallelism without it.
    const bool must = p.framework == Framework::megatron && plan_.model.moe;
    sequence_parallel = must ? std::vector<char>{true} : std::vector<char>{false, true};
  }
  for (const Count b : varies(Vary::micro_batch_size) ? divisors_of(sequences, std::max(kMostMicroBatch, t.micro_batch_size)) : std::vector<Count>{t.micro_batch_size}) {
    if (sequences % b != 0) continue;
    if (shape.schedule == PipelineSchedule::interleaved && shape.virtual_stages > 1 && sequences / b % shape.pipeline != 0) continue;
    shape.micro_batch_size = static_cast<std::int32_t>(b);
    for (const char split : sequence_parallel)
      for (const Recompute& recompute : kinds)
        for (const Loss loss : losses) {
          shape.sequence_parallel = split;
          shape.recompute = recompute.kind;
          shape.recompute_layers = static_cast<std::int32_t>(recompute.n);
          shape.loss = loss;
          shapes_.push_back(shape);
        }
  }
}

void LayoutSpace::variants(const LayoutShape& shape, std::vector<LayoutVariant>& list) const {
  list.clear();
  const Parallel& p = plan_.parallel;
  const Count data = data_of(shape), ranks = data * shape.context;

  struct Sharding { DataSharding kind; Count group; };
  std::vector<Sharding> shardings;
  if (!varies(Vary::data_sharding)) {
    if (p.shard_group == 0 || ranks % p.shard_group == 0) shardings.push_back({p.data_sharding, p.shard_group});
  } else {
    const Count on_node = plan_.cluster.gpus_per_node / std::max<Count>(1, shape.tensor);
    for (const DataSharding kind : shardings_of(p.framework)) {
      if (!can_.data_sharding.has(kind)) continue;
      // One rank has nobody to share with; FSDP still keeps its parameters in another type.
      if (ranks == 1 && kind != DataSharding::ddp && kind != DataSharding::fsdp) continue;
      if (kind == DataSharding::ddp && !can_.mixes_ddp && data > 1 && shape.tensor * shape.pipeline * shape.context > 1) continue;
      // DeepSpeed's pipeline engine takes ZeRO up to stage 1. [deepspeed-zero]
      if (p.framework == Framework::deepspeed && shape.pipeline > 1 && shards_gradients(kind)) continue;
      if (kind != DataSharding::hsdp) shardings.push_back({kind, 0});
      else
        for (const Count group : divisors_of(ranks, ranks / 2))
          if (group > 1 && (is_power_of_two(group) || group == on_node)) shardings.push_back({kind, group});
    }
  }
  const bool orders_differ = order_matters_ && shape.pipeline > 1 && data > 1;
  for (const Sharding& s : shardings) {
    std::vector<Offload> offloads = {plan_.training.offload};
    if (varies(Vary::offload)) {
      offloads = {Offload{}};
      if (can_.offload) {
        const bool is_pytorch = p.framework == Framework::pytorch;
        // Megatron's optimizer on the host goes with its own data parallelism, not with its FSDP.
        const bool is_megatron = p.framework == Framework::megatron;
        if (is_megatron ? !shards_parameters(s.kind) : !is_pytorch && shards_optimizer(s.kind)) offloads.push_back({true, false, false});
        if ((is_pytorch || p.framework == Framework::deepspeed) && shards_parameters(s.kind)) offloads.push_back({true, true, false});
      }
    }
    for (const Offload& offload : offloads)
      for (std::size_t order = 0; order < (orders_differ ? orders_.size() : 1); ++order)
        list.push_back({s.kind, static_cast<std::int32_t>(s.group), offload, static_cast<std::int32_t>(order)});
  }
}

void LayoutSpace::apply(const LayoutShape& s, const LayoutVariant& v, Plan& plan) const {
  Parallel& p = plan.parallel;
  p.tensor = s.tensor;
  p.pipeline = s.pipeline;
  p.context = s.context;
  p.data = data_of(s);
  p.expert = s.expert;
  p.expert_tensor = s.expert_tensor;
  p.pipeline_schedule = s.schedule;
  p.virtual_stages = s.virtual_stages;
  p.sequence_parallel = s.sequence_parallel;
  p.data_sharding = v.data_sharding;
  p.shard_group = v.shard_group;
  p.order = orders_[static_cast<std::size_t>(v.order)];
  const Parallel& own = plan_.parallel;
  const bool is_own = p.tensor == own.tensor && p.pipeline == own.pipeline && p.context == own.context && p.expert == own.expert && p.order == own.order;
  if (is_own) p.placement = own.placement;  // a mapping of ranks to GPUs means nothing in another layout
  else p.placement.clear();
  Training& t = plan.training;
  t.micro_batch_size = s.micro_batch_size;
  t.recompute = {s.recompute, s.recompute_layers};
  t.loss = s.loss;
  t.offload = v.offload;
  decide_again(plan);
}

}  // namespace wireplan
