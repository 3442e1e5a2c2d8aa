// The layouts a search chooses from: every valid one over the values that each field may take.
//
// Notation: t tensor, p pipeline, c context, e expert, e_t expert_tensor, N data, b micro_batch_size; t·p·c·N = GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/describe/abilities.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

// What a search may vary; what it does not stays as the plan has it.
enum class Vary : unsigned char { data_sharding, tensor, pipeline, context, expert, pipeline_schedule, micro_batch_size, recompute, sequence_parallel, loss, offload, order };
template <>
inline constexpr std::array<std::string_view, 12> kNames<Vary> = {"data_sharding", "tensor",    "pipeline",          "context", "expert",  "pipeline_schedule",
                                                                  "micro_batch_size", "recompute", "sequence_parallel", "loss",    "offload", "order"};

// A layout but for how data parallelism shards and where ranks stand. n: of recompute.
struct LayoutShape {
  std::int32_t tensor = 1, pipeline = 1, context = 1, expert = 1, expert_tensor = 1, virtual_stages = 1, micro_batch_size = 1, recompute_layers = 0;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  RecomputeKind recompute = RecomputeKind::none;
  Loss loss = Loss::logits_fp32;
  bool sequence_parallel = false;
  friend bool operator==(const LayoutShape&, const LayoutShape&) = default;
};

struct LayoutVariant {
  DataSharding data_sharding = DataSharding::ddp;
  std::int32_t shard_group = 0;
  Offload offload{};
  std::int32_t order = 0;  // into LayoutSpace::orders()
  friend bool operator==(const LayoutVariant&, const LayoutVariant&) = default;
};

// Limits on the values that are tried; wider ones than any published run has.
inline constexpr Count kMostTensor = 64, kMostContext = 256, kMostMicroBatch = 64, kMostVirtualStages = 32;

// What: the layouts of one plan on its cluster. Values:
//   tensor        divisors of the attention heads, pipeline  what divides the layers (validate()), context  divisors of the sequence
//   expert        divisors of the experts, expert_tensor  1 or t
//   schedules     those the code base has; interleaved with every number of virtual stages that divides the layers
//   micro-batch   divisors of the sequences of a rank
//   recompute     none, selective, full; where single layers can be chosen, quarters of a piece, or every second layer
//   sharding      those of the framework, in groups of a power of two ranks or of a node with hsdp
//   offload       none; what the framework moves to the host together
//   order         data-parallel or pipeline neighbours nearer to each other, where it makes a difference
// Valid: validate(plan) passed, but for the layout.  Kind: exact, in order.  Test: search_test.cpp.
class LayoutSpace {
 public:
  // data: the number of data-parallel ranks that is wanted, 0: any.
  LayoutSpace(const Plan& plan, NameSet<Vary> vary, const Abilities& can, Count data = 0);

  const std::vector<LayoutShape>& shapes() const { return shapes_; }
  const std::vector<std::string>& orders() const { return orders_; }
  // All variants of a shape, in order; into `list`, which is cleared.
  void variants(const LayoutShape& shape, std::vector<LayoutVariant>& list) const;

  // Makes `plan`, a copy of the space's own, a layout of the space. What the user left to the framework is decided again.
  void apply(const LayoutShape& shape, const LayoutVariant& variant, Plan& plan) const;

 private:
  struct Split { Count tensor, pipeline, context; };
  void add_shapes(const Split& split);
  void add_schedules(LayoutShape shape, Count data);
  void add_passes(LayoutShape shape, Count data);
  bool varies(Vary v) const { return vary_.has(v); }
  Count data_of(const LayoutShape& shape) const;

  const Plan plan_;
  NameSet<Vary> vary_;
  Abilities can_;
  Count data_ = 0;
  bool order_matters_ = false;
  std::vector<LayoutShape> shapes_;
  std::vector<std::string> orders_;
};

}  // namespace wireplan
