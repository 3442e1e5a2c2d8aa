// Layers whose inventory differs from modules run one by one: blocks that torch.compile rewrote, and litgpt's fused q, k, v adapter.
//
// compiled: inputs and outputs of matrix products stay, element-wise results are computed again:
//   12·T·h + 2·T·(a+2k)·d + 6·T·f + 4·a·T (gated; k = a where heads are repeated: 18·T·h + 6·T·f + 4·a·T); per-operator
//   checkpointing keeps the stream, q, v, gate and attention instead.
// litgpt with adapters on q and v, k = a: 27·T·h + 6·T·f (gated, RMSNorm) or 21·T·h + 2·T·f (LayerNorm, GELU, parallel residual):
//   the view of v keeps all of q, k and v alive, and the copy that pads the adapter's result keeps its source.
// source: [torchtune], [torchtitan], [litgpt] modelling code, published peaks.  valid: estimate; errors of whole peaks in
// docs/accuracy.md.  test: tests/core/cost/megatron_memory_test.cpp.
#pragma once

#include "core/cost/layer_tape.hpp"

namespace wireplan {

// The block runs as compiled kernels (adapters and opaque models: module by module).
bool is_compiled_block(const Plan& plan, const LayerKind& kind);
Tape compiled_layer_tape(const Plan& plan, const LayerKind& kind);

Tape litgpt_layer_tape(const Plan& plan, const LayerKind& kind);

}  // namespace wireplan
