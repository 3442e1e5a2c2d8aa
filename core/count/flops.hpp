// Floating point operations, exact by shape. One multiply-add is two operations.
//
// Notation: s sequence length, w sliding window; others as in describe/model.hpp.
#pragma once

#include "core/base/units.hpp"
#include "core/describe/model.hpp"
#include "core/describe/parallel.hpp"
#include "core/describe/training.hpp"

namespace wireplan {

// Forward operations of one sequence of length s through the whole model.
struct ForwardFlops {
  Flops linear;  // attention projections and MLP / active experts, router included: 2 · active matrix parameters · s
  Flops attention_full;  // QK^T and AV over the full square: 4·a·d·s² per layer (MLA: 2·a·(d_qk + d_v)·s²)
  Flops attention;       // what a causal kernel does: half of it, less where a sliding window is shorter than s
  Flops head;            // 2·h·V·s
  Flops total() const { return linear + attention + head; }
};

// what: forward operations of one sequence.
// formula: linear = 2·s·Σ matrices; attention = 4·a·d·pairs, pairs = s²/2, or w·s − w²/2 in a layer with a window w < s.
// source: [megatron-lm] num_floating_point_operations, with the causal half and windows made explicit; [deepseek-v3] §2.1 for MLA.
// valid: exact up to the diagonal (s²/2 for s·(s+1)/2, the convention of all code bases). Opaque models: a third of the stated
// forward and backward operations, as `linear`.  test: tests/core/count/flops_test.cpp.
ForwardFlops forward_flops(const Model& model, Count sequence_length);

// Model FLOPs of one training step for one sequence: 3 × forward (backward is twice the forward), recompute not counted.
// Conventions: `causal` halves attention (what the kernels do); `full_square` is the PaLM convention ([palm22] App. B), with a sliding
// window twice the pairs a causal kernel computes inside it.
struct TrainingFlops {
  Flops causal, full_square;
};
TrainingFlops training_flops(const Model& model, Count sequence_length);

// The same for a recipe: under LoRA the frozen matrices have no weight gradient (2 × forward instead of 3 ×) and the adapters
// add 3·2·s·r·(in + out) per target.  [lora21] §4.2
TrainingFlops training_flops(const Model& model, const Training& training);
TrainingFlops training_flops(const Model& model, const Training& training, const ForwardFlops& forward);  // of forward_flops

// what: extra forward work that recomputation adds, FLOPs per sequence through the whole model (0 for none).
// formula: `selective`: the attention core, in PyTorch what its per-operator policy repeats, 0.55 of a forward (every second matrix
// product and the element-wise rest; estimate, [published-runs]); else the forward of recomputed_of() the layers of each piece of the pipeline
// (parameters.hpp). The head is never repeated.
// source: [korthikanti22] §5; [megatron-lm] recompute_method.  valid: count.  test: flops_test.cpp.
Flops recompute_flops(const Model& model, const Training& training, const Parallel& parallel);
Flops recompute_flops(const Model& model, const Training& training, const Parallel& parallel, const ForwardFlops& forward);

}  // namespace wireplan
