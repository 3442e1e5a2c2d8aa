// What a layer keeps for its backward: the saved tensors of one layer of one micro-batch on one rank.
//
// Notation: T tokens of a micro-batch on the rank, b·s/c;  T' = T/t with sequence parallelism, else T;
//   h a k d f E K f_e as in describe/model.hpp; t tensor, e_t expert_tensor; g = 2 for a gated MLP, 1 otherwise.
#pragma once

#include "core/base/units.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

enum class ActivationInventory : unsigned char { eager, compiled, fused };
template <> inline constexpr std::array<std::string_view, 3> kNames<ActivationInventory> = {"eager", "compiled", "fused"};

// Which list of saved tensors a plan's kernels stand for.
ActivationInventory activation_inventory(const Plan& plan);

// T and T' of the plan.
double tokens_per_micro_batch(const Plan& plan);
double tokens_outside_tensor_parallel(const Plan& plan);

// what: bytes one layer keeps for its backward without recomputation, for one micro-batch on one rank.
// formula: eager, RMSNorm and gated MLP: T·(16h + 4ad + 4kd + 8f) + 4aT + 8T; GPT-2: T·(16h + 10f) + 4aT + 16T; plus
//   T·(a + k)·(6d + 4) for norms of each head. Stored scores: repeated keys and values, 8ad, and 6·b·a·s² (GPT-2: 2).
//   compiled: T·(12h + 2(a+2k)d + 6f) + 4aT
//   fused: T'·8h + T·(2(a+2k)d + 2ad + 2(g+1)f)/t + 4aT/t
// where: as above.
// source: eager: [framework-traces], closed forms of the traced layers; compiled: fitted on three rows of [published-runs];
//   fused: [korthikanti22] Eq. 1 without masks and scores, with the tensors [transformer-engine] keeps, on [published-runs].
// valid: validated plans; estimate: eager within 0.5 % of what the traced runs of the test keep, fused within 0.3 %, compiled as fitted.
// test: tests/core/cost/activations_test.cpp.
Bytes kept_per_layer(const Plan& plan, bool is_moe);

// What is left of it under the plan's recompute setting: full keeps the layer's input 2·T'·h; selective drops the stored score
// matrix (megatron) or keeps the inputs of every second matrix product (pytorch).  [korthikanti22] §5; [torchtitan]; estimate.
Bytes kept_per_layer_recomputed(const Plan& plan, bool is_moe);

// Share of a stage's layers whose activations are recomputed: 0 none, 1 selective and full, else recomputed_layers() of its
// layers ([megatron-lm], core/count/parameters.hpp). Stages differ where their pieces do: layers + 2 divides instead of layers.
double recomputed_share(const Plan& plan, Count stage);

// Bytes held per logit at the loss peak, for T·V/t logits: 16-bit logits, fp32 copies and gradients that coexist there.
// eager 12, compiled 10, megatron unfused 6, fused 2 (TE) or 4, chunked 2.25.  [framework-traces] for eager, else [published-runs]
// and [transformer-engine]; estimate.
double loss_bytes_per_logit(const Plan& plan);

}  // namespace wireplan
