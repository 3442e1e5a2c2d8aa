// Single switches of a code base that a plan may state (plan document, `training.details`).
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/describe/dtype.hpp"
#include "core/describe/model.hpp"

namespace wireplan {

enum class OptimizerKernel : unsigned char { fused, foreach, loop, in_backward };
template <>
inline constexpr std::array<std::string_view, 4> kNames<OptimizerKernel> = {"fused", "foreach", "loop", "in-backward"};
enum class NormKernel : unsigned char { fused, eager };
template <>
inline constexpr std::array<std::string_view, 2> kNames<NormKernel> = {"fused", "eager"};
enum class AttentionKernel : unsigned char { flash, memory_efficient, cudnn, math };
template <>
inline constexpr std::array<std::string_view, 4> kNames<AttentionKernel> = {"flash", "memory-efficient", "cudnn",
                                                                            "math"};
enum class FsdpUnits : unsigned char { blocks, embedding_blocks_head };
template <>
inline constexpr std::array<std::string_view, 2> kNames<FsdpUnits> = {"blocks", "embedding-blocks-head"};
enum class Built : unsigned char { bf16_host, fp32_host, gpu, zero_init };
template <>
inline constexpr std::array<std::string_view, 4> kNames<Built> = {"bf16-host", "fp32-host", "gpu", "zero-init"};

// Single switches that override the implementation; unset: the implementation decides.
struct Details {
  std::optional<bool> autocast, gradient_clipping, repeat_kv, padding, logits_kept, loss_recompute, loss_parallel;
  std::optional<bool> gradient_as_bucket_view, reshard_last_unit, fsdp_backward_prefetch, fsdp_use_orig_params,
      frozen_embedding, stragglers;
  std::optional<OptimizerKernel> optimizer_kernel;
  std::optional<NormKernel> norm_kernel;
  std::optional<AttentionKernel> attention_kernel;
  std::optional<Count> loss_chunks, bucket_bytes, fsdp_version;
  std::optional<DType> reduce_dtype, adapter_dtype;
  std::optional<FsdpUnits> fsdp_units;
  std::optional<double> lora_dropout;
  std::optional<Built> built;
  friend bool operator==(const Details&, const Details&) = default;
};

}  // namespace wireplan
