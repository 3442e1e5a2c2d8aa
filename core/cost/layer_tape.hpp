// The tape of one transformer layer as its code base writes it: which operations run, in which order, with which sizes.
//
// Notation: T tokens of a micro-batch on the rank, b·s/c;  h a k d f E K f_e as in describe/model.hpp;  t tensor;
//   e bytes of a value in the type of the arithmetic.
// source: [huggingface-transformers], [torchtitan], [nanogpt], [megatron-lm], [transformer-engine] modelling code, checked tensor by
//   tensor and at the peaks of [framework-traces].  test: tests/core/answer/traces_test.cpp, tests/core/cost/megatron_memory_test.cpp.
#pragma once

#include "core/cost/tape.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

// The kinds of layers one model needs tapes for.
struct LayerKind {
  bool is_moe = false;
  bool entered_needs_gradient = true;  // false: first layer of a model whose embedding is frozen
};

Tape layer_tape(const Plan& plan, const LayerKind& kind);

// Final norm and output projection, up to the logits (whose bytes the loss accounts for); or the final norm alone.
Tape head_tape(const Plan& plan);
Tape final_norm_tape(const Plan& plan);

// T, and T' = T/t where the residual stream is divided by sequence parallelism.
double tokens_per_micro_batch(const Plan& plan);
double tokens_of_stream(const Plan& plan);

// Bytes of a value in the type of the arithmetic, and of one in the residual stream (fp32 where autocast runs on fp32 weights).
double compute_bytes(const Plan& plan);
double stream_bytes(const Plan& plan);
// Padding, packing or a window that is reached put a mask on the attention of transformers.
bool masks_attention(const Plan& plan);
// Autocast makes 16-bit copies of fp32 weights.
bool casts_weights(const Plan& plan);
// Attention scores and logits pass a tanh, as in Gemma-2: told by its four norms, GeGLU and absent query-key norm.
bool has_soft_caps(const Model& model);

}  // namespace wireplan
