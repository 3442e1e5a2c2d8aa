// Layers as Megatron-Core writes them: fused q, k, v and gate/up products, norms that keep their input, column- and row-parallel
// linear layers with or without sequence parallelism, experts behind a token dispatcher.
//
// Notation: core/cost/layer_tape.hpp; T' tokens of the residual stream (T/t with sequence parallelism), g branches of the MLP (2
// where it is gated, else 1), n rows at a rank's experts.
// formula: without dropout, flash attention: 8·T'·h + (2·T·(a+2k)·d + 2·T·a·d + 2(g+1)·T·f + 4·a·T)/t; with h = a·d = k·d, f = 4h,
//   g = 1, dropout and scores as matrices this is 34·T·h/t + 5·b·a·s²/t with sequence parallelism ([korthikanti22] §4.2.2).
// source: [megatron-lm], [transformer-engine] modelling code.  valid: count but for experts, whose rows are taken as balanced.
// test: tests/core/cost/megatron_memory_test.cpp, on published peaks.
#pragma once

#include "core/cost/layer_tape.hpp"

namespace wireplan {

Tape megatron_layer_tape(const Plan& plan, const LayerKind& kind);
Tape megatron_head_tape(const Plan& plan);

}  // namespace wireplan
