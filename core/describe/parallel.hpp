// The layout: how one model is spread over many GPUs (plan document, `parallel`).
//
// Notation: t tensor, p pipeline, c context, N data, e expert, e_t expert_tensor; t·c·p·N = GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/model.hpp"

namespace wireplan {

enum class Framework : unsigned char { pytorch, megatron, deepspeed };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Framework> = {"pytorch", "megatron", "deepspeed"};

enum class DataSharding : unsigned char { ddp, zero1, zero2, zero3, fsdp, hsdp };
template <>
inline constexpr std::array<std::string_view, 6> kNames<DataSharding> = {"ddp",   "zero1", "zero2",
                                                                         "zero3", "fsdp",  "hsdp"};

// What people call it; the documents say kNames.
constexpr std::string_view sharding_label(DataSharding s) {
  constexpr std::array<std::string_view, 6> kLabels = {"DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3", "FSDP", "HSDP"};
  return kLabels[static_cast<std::size_t>(s)];
}

enum class GradientSync : unsigned char { every, last };  // every micro-batch, or the last of a step only
template <>
inline constexpr std::array<std::string_view, 2> kNames<GradientSync> = {"every", "last"};

enum class PipelineSchedule : unsigned char {
  one_f_one_b,
  gpipe,
  interleaved,
  zb_h1,
  zb_h2,
  zb_v,
  dualpipe,
  dualpipe_v
};
template <>
inline constexpr std::array<std::string_view, 8> kNames<PipelineSchedule> = {
    "1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"};

enum class MoeDispatcher : unsigned char { alltoall, allgather, flex };
template <>
inline constexpr std::array<std::string_view, 3> kNames<MoeDispatcher> = {"alltoall", "allgather", "flex"};

enum class Dimension : unsigned char { tp, cp, ep, dp, pp };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Dimension> = {"tp", "cp", "ep", "dp", "pp"};

struct Overlap {
  bool gradient_reduce = false, parameter_gather = false, tensor = false, pipeline = false;
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

struct FsdpUnit {  // what one gather brings: a block, the whole model (none), or n layers
  enum class Kind : unsigned char { block, none, layers } kind = Kind::block;
  Count layers = 1;
  friend bool operator==(const FsdpUnit&, const FsdpUnit&) = default;
};

struct Parallel {
  Framework framework = Framework::pytorch;
  DataSharding data_sharding = DataSharding::ddp;
  Count shard_group = 0;  // 0: null, the whole data (and context) group
  FsdpUnit fsdp_unit;
  Count data = 1, tensor = 1, pipeline = 1, context = 1, expert = 1, expert_tensor = 1;
  bool sequence_parallel = false;
  PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
  Count virtual_stages = 1;
  std::string order = "tp-cp-ep-dp-pp";  // innermost (neighbouring ranks) first; a permutation of the five names
  std::vector<int> placement;            // rank -> GPU index; empty: null, rank r on GPU r
  GradientSync gradient_sync = GradientSync::last;
  Overlap overlap;
  MoeDispatcher moe_dispatcher = MoeDispatcher::alltoall;
  std::string deepspeed;  // the user's own DeepSpeed configuration as JSON text, "" for null
  friend bool operator==(const Parallel&, const Parallel&) = default;
};

// Parameters (and gradients, states) are sharded over the data group between uses.
constexpr bool shards_parameters(DataSharding s) {
  return s == DataSharding::zero3 || s == DataSharding::fsdp || s == DataSharding::hsdp;
}
constexpr bool shards_gradients(DataSharding s) { return shards_parameters(s) || s == DataSharding::zero2; }
constexpr bool shards_optimizer(DataSharding s) { return s != DataSharding::ddp; }

// What is wrong with the layout on its own (ranges, sharding a framework does not have). Paths start with `prefix`.
Errors validate(const Parallel& parallel, const std::string& prefix);

}  // namespace wireplan
