// The same step by the conventions that people report utilization in: what each calls the FLOPs of one token, and the MFU that follows.
//
// Notation: s sequence length, w sliding window, L layers, a heads, d head size (MLA: d_qk and d_v), V vocabulary, V_pad as Megatron pads
// it, N parameters a token meets (K of E experts), N_e those of the embedding tables, P dense peak of the GPU in the type of the weights.
#pragma once

#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

// palm              6·(matrices a token is multiplied by, the head among them) + 12·L·a·d·s: the full square of attention; inside a window
//                   2·(w·s - w²/2) pairs. What step.mfu says.  [palm22] App. B, [megatron-lm]
// palm-causal       the same with what a causal kernel does of attention: half
// megatron-paper    3·forward, full square, no windows, head over V_pad, no router.  [megatron21] appendix without recomputation,
//                   [korthikanti22] model FLOPs (its appendix): 72·B·L·s·h²·(1 + s/6h + V/12hL) for a GPT with MLPs of 4h
// megatron-hardware that and what this plan computes twice, attention over the full square; with every layer recomputed it is eq. 3 of
//                   [megatron21], 96·B·s·l·h²·(1 + s/6h + V/16lh)
// megatron-lm       num_floating_point_operations() of newer Megatron-LM: as megatron-paper with half of attention
// torchtitan        6·(N - N_e, a tied table counts) + 6·a·(d_qk + d_v)·min(s, w) per layer, over the dense peak.  [torchtitan]
//                   models/utils.py, quadratic_attention_flops_per_token() and get_nparams_and_active_nparams()
// 6n                6·N, attention not counted.  [chinchilla22] App. F
enum class FlopConvention : unsigned char { palm, palm_causal, megatron_paper, megatron_hardware, megatron_lm, torchtitan, six_n };
template <>
inline constexpr std::array<std::string_view, 7> kNames<FlopConvention> = {"palm",        "palm-causal", "megatron-paper", "megatron-hardware",
                                                                           "megatron-lm", "torchtitan",  "6n"};

// What the conventions are made of, FLOPs of one sequence unless it says otherwise.
struct ConventionTerms {
  Flops palm, palm_causal;               // forward and backward
  Flops linear, attention, head;         // forward: without the router; the full square; over V_pad
  Flops recomputed;                      // again, attention over the full square
  double active = 0, embedding = 0;      // N, N_e that torchtitan leaves out
  double attention_per_token = 0;        // torchtitan's, forward and backward, FLOPs of one token
};

struct Utilization {
  FlopConvention convention{};
  double flops_per_token = 0, tflops_per_gpu = 0, mfu = 0;
};

// what: the terms.  valid: validate(plan) passed.  Kind: count. Under LoRA the first two count no weight gradients of frozen matrices; the
// tools of the others count every matrix as trained.
ConventionTerms convention_terms(const Plan& plan, const Estimate& estimate);

// what: every convention that means something for the model (an opaque one: what was stated, as palm), palm first.
// formula: tflops_per_gpu = F·s·g/(T·n)/1e12, mfu = tflops_per_gpu/P; 0 where the step takes no time or the peak is not known.
// kind: the FLOPs are counts, what follows an estimate like the step's time.  test: utilization_test.cpp.
std::vector<Utilization> utilization(const Plan& plan, const Estimate& estimate);

// FLOPs of one sequence by a convention.
Flops sequence_flops(const ConventionTerms& terms, FlopConvention convention, double sequence_length);

// "Megatron-LM", "torchtitan": as a reader knows it.
std::string_view convention_label(FlopConvention convention);

}  // namespace wireplan
