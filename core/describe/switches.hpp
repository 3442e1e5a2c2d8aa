// What a code base does that decides bytes: the values of one release (assets/implementations), with the plan's `details` put over
// them. Everything that models memory asks these and never an implementation's name.
#pragma once

#include <array>

#include "core/describe/details.hpp"

namespace wireplan {

// How layers are written.
enum class ModuleCode : unsigned char {
  huggingface,  // norms spelled out in fp32, rotation in the type of the arithmetic, scores through SDPA or spelled out
  torchtitan,   // rotation in complex fp32, keys and values repeated, nn.RMSNorm
  nanogpt,      // fused q, k, v and its split views, GELU as one kernel
  megatron,     // fused kernels of Megatron-Core and Transformer Engine
  litgpt,       // fused q, k, v with one adapter, norms spelled out in fp32
};
template <>
inline constexpr std::array<std::string_view, 5> kNames<ModuleCode> = {"huggingface", "torchtitan", "nanogpt", "megatron", "litgpt"};

// Bytes per logit that coexist, for one way to compute the loss.
struct LossBytes {
  double forward = 0;   // at its highest in forward
  double kept = 0;      // from forward to backward
  double backward = 0;  // at its highest in backward
  double gradient = 0;  // of the logits, entering the head's backward
  friend bool operator==(const LossBytes&, const LossBytes&) = default;
};

struct Switches {
  ModuleCode modules = ModuleCode::huggingface;
  LossBytes loss;               // unchunked; forward 0: the eager chain of operations, computed from the types
  std::array<LossBytes, 3> losses{};  // of each Loss: what `loss` is with that one
  bool reentrant_checkpoint = false;  // a recomputed layer runs to its end again
  bool tables_per_layer = false;      // every layer keeps rotation tables of its own for all positions
  bool logits_in_fp32 = false;        // the model returns them so, and the loss copies them once more
  bool loss_in_forward = false;  // inside the root module's forward: FSDP frees its last gather only after it
  bool autocast = false, gradient_clipping = false, repeat_kv = false, padding = false, logits_kept = false;
  bool loss_recompute = false, loss_parallel = false;
  Count loss_chunks = 8;
  OptimizerKernel optimizer_kernel = OptimizerKernel::fused;
  NormKernel norm_kernel = NormKernel::eager;
  AttentionKernel attention_kernel = AttentionKernel::flash;
  bool gradient_as_bucket_view = false;
  Count bucket_bytes = 26214400;
  Count fsdp_version = 2;
  FsdpUnits fsdp_units = FsdpUnits::blocks;
  bool reshard_last_unit = true, fsdp_backward_prefetch = true, fsdp_use_orig_params = false;
  DType reduce_dtype = DType::bf16;
  double lora_dropout = 0;
  DType adapter_dtype = DType::bf16;
  bool frozen_embedding = false;
  Built built = Built::bf16_host;
  bool fused_weight_gradients = false;  // products add the gradient of a weight to the buffer that stays
  bool separate_adapter_units = false;  // each adapter is a unit of FSDP version 1 beside its frozen block
  bool keeps_quantised_inputs = false;  // products with a quantised base keep their input although the base is frozen
  bool first_flash_attention = false;   // fused attention is FlashAttention before version 2
  bool batch_has_mask = false;          // a batch brings its attention mask, a byte for each pair of tokens
  double workspace_bytes = 0;           // of matrix products and libraries, on the plan's GPU; 0: not known
  double elementwise_traffic = 0;       // of fused kernels against the least possible; 0: as Transformer Engine
  double grouped_workspace_bytes = 0;   // more of them where products of several experts run side by side
  friend bool operator==(const Switches&, const Switches&) = default;
};

// Puts what `details` states over the switches. Version 1 of FSDP has one unit a block and a root unless it is said otherwise.
void apply(const Details& details, Switches& switches);

}  // namespace wireplan
