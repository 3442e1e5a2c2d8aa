// Compute time of one micro-batch on one pipeline stage: matrix products, attention, element-wise traffic, loss, optimizer.
//
// Notation: T tokens of a micro-batch on the rank, t tensor, c context, other letters as in describe/model.hpp.
#pragma once

#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/count/parameters.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

// What a GPU reaches of its data-sheet figures (assets/measurements/efficiency.json; with source and date).
struct EfficiencyConstants {
  double reference = 0.647;            // e_ref: share of the dense 16-bit peak a long matrix product reaches on the reference part
  double reference_w_per_tflops = 0.7077;  // board power over dense peak of that part (H100 SXM: 700 W / 989 TFLOP/s)
  double power_exponent = 0.55;        // pw
  double ceiling = 0.88;               // ecap
  double attention_matmul = 0.68;      // fa_e: share of the matrix rate inside a fused attention kernel
  double attention_exponential = 1.7;  // fa_k: exponentials against what the special function units could do
  double attention_backward = 1.4;     // fa_b
  double memory = 0.85;                // emem: share of the memory bandwidth
  double elementwise_eager = 2.3, elementwise_compiled = 1.03, elementwise_fused = 0.91;  // phi: traffic against the minimum
  double optimizer = 1.2;              // traffic of the optimizer step against the minimum
  double host_per_micro_batch_s = 0.0015, host_per_step_s = 0.009;
  double host_link_bytes_per_s = 12e9; // offload copies over PCIe
  double tensor_exposed = 0.91, tensor_overlapped = 0.41;  // share of tensor-parallel communication that shows
  double overlap_window = 0.8;         // share of backward that gradient reduction can hide behind
  double straggler = 0.0085;           // per standard deviation over ranks
  double scale = 0.005;                // per doubling of nodes
  double band = 0.2, band_moe = 0.35;  // relative half widths of the time band
  std::string source;
};

// e: share of the dense peak that long matrix products reach. The fewer watts a part has per TFLOP/s, the lower its clock under load:
//   e = softmin(e_ref · ((W/F) / (W/F)_ref)^pw, ecap),  softmin(x, y) = (x^-8 + y^-8)^(-1/8)
// Kind: estimate, 4 % median over twelve parts. Test: tests/core/step/compute_test.cpp.
double matrix_efficiency(const Gpu& gpu, FlopsPerSecond peak, double power_limit_w, const EfficiencyConstants& k);

// Seconds and counts of one micro-batch on one stage.
struct ComputeCost {
  Flops linear, attention, head;         // forward, on this rank
  Seconds linear_s, attention_s, head_s; // forward
  Seconds elementwise_s, loss_s;         // forward; loss: forward and backward
  Seconds forward, backward;             // backward includes recomputation
  Seconds optimizer;                     // once per step
};

// `trained`: parameters of the stage that are trained on this rank. Valid after validate(plan) passed; a rate the preset does not
// state counts as no time (the estimate warns).
ComputeCost stage_compute(const Plan& plan, const StageParameters& stage, double trained, bool is_last, const EfficiencyConstants& k);

}  // namespace wireplan
