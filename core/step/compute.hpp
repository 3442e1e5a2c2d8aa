// Compute time of one micro-batch on one pipeline stage: matrix products, attention, element-wise traffic, loss, optimizer.
//
// Notation: T tokens of a micro-batch on the rank, t tensor, c context, other letters as in describe/model.hpp.
#pragma once

#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/count/flops.hpp"
#include "core/count/parameters.hpp"
#include "core/describe/plan.hpp"
#include "core/step/matrix_product.hpp"

namespace wireplan {

// What a vectorised Adam reached of the memory of one socket: CPUs of a class of NCCL's, beside GPUs of this PCIe generation and later.
struct HostMemory {
  std::string nccl_class;
  int from_pcie_generation = 0;
  BytesPerSecond rate;
};

// What a GPU reaches of its data-sheet figures (assets/measurements/efficiency.json; with source and date).
// The values stand in the file alone; a field it leaves out is an error of its reader.
struct EfficiencyConstants {
  // e_ref: share of the dense peak a long matrix product reaches on the reference part (H100 SXM), and that part's board power over
  // its peak: 700 W over 989 TFLOP/s in 16 bit, over 1979 in fp8. The part has no fp4; its row holds against the fp8 figure.
  double reference = 0, reference_fp8 = 0, reference_fp4 = 0;
  double reference_w_per_tflops = 0, reference_w_per_tflops_fp8 = 0;
  double power_exponent = 0;          // pw
  double ceiling = 0;                 // ecap
  double product_fill = 0;            // k0: filling and emptying the pipeline of a tile, as depth; twice that in 8 and 4 bits
  double kernel_s = 0;                // ck: launch and tail of a kernel on the GPU
  double volta = 0;                   // what is left of that efficiency on Volta, whose shared memory feeds its first tensor cores late
  double attention_matmul = 0;        // fa_e: share of the matrix rate inside a fused attention kernel
  double attention_first = 0;         // time of FlashAttention 1 and of PyTorch's memory-efficient kernel over that of FlashAttention-2
  double attention_synchronous = 0;   // fa_s: what is left of fa_e where kernels for older parts feed an asynchronous matrix unit
  double attention_exponential = 0;   // fa_k: exponentials against what the special function units could do
  double attention_overlapped = 0;    // fa_ov: what shows of the exponentials in kernels that overlap them
  double attention_backward = 0;      // fa_b
  double memory = 0;                  // emem: share of the memory bandwidth
  double elementwise_eager = 0, elementwise_compiled = 0, elementwise_fused = 0;  // phi: traffic against the minimum
  double casts = 0, casts_pytorch = 0;  // traffic of casts to 8 and 4 bits against the least possible; PyTorch: spelled out
  double unpacking = 0;               // the same of 4-bit weights
  double loss_logits_fp32 = 0, loss_fused = 0, loss_chunked = 0;  // bytes moved per logit, forward and backward
  double optimizer = 0;               // traffic of the optimizer step against the minimum
  double host_per_micro_batch_s = 0, host_per_step_s = 0;
  // Launching the kernels of one layer's forward, by code base; backward takes host_backward times as long.
  double host_per_layer_pytorch_s = 0, host_per_layer_megatron_s = 0, host_per_layer_fused_s = 0, host_per_moe_layer_s = 0;
  double host_backward = 0, host_adapters = 0;  // factors: backward; runs with adapters
  double host_norm = 0;               // q: how GPU and launch time combine
  double host_with_graphs = 0;        // share of the launches that is left with CUDA graphs
  double host_link_bytes_per_s = 0;   // offload copies over PCIe
  double host_memory_bytes_per_s = 0; // R of a socket whose class is not listed, see core/step/host_optimizer.hpp
  double host_optimizer_plain = 0;    // ψ: an optimizer on the host of one operation after another, over one that passes once
  std::vector<HostMemory> host_memory;
  double tensor_exposed = 0, tensor_overlapped = 0;      // share of tensor-parallel communication that shows
  double overlap_slowdown = 0;        // γ: what compute loses of the time communication runs beside it
  double straggler = 0;               // per standard deviation over ranks
  double scale = 0;                   // per doubling of nodes
  double band = 0, band_moe = 0;      // relative half widths of the time band
  std::string source;
};

// e: share of the dense peak that long matrix products reach. The fewer watts a part has per TFLOP/s, the lower its clock under load:
//   e = softmin(e_ref · ((W/F) / (W/F)_ref)^pw, ecap) with F the peak of the type it multiplies in,  softmin(x, y) = (x^-8 + y^-8)^(-1/8)
// Source: [published-runs], fitted on parts from V100 to GB300. Kind: estimate. Test: tests/core/step/step_test.cpp.
double matrix_efficiency(const Gpu& gpu, DType type, double power_limit_w, const EfficiencyConstants& k);

// GPU time of a piece of a stage's work on one micro-batch, and what the host needs to launch its kernels. Recomputation belongs to the backward.
// copy: from the host, of the rank's share of offloaded parameters, before each pass.
struct UnitTime { Seconds forward, backward, launch_forward, launch_backward, copy; };

// Seconds and counts of one micro-batch on one stage.
struct ComputeCost {
  Seconds forward, backward;             // backward includes recomputation; layers·layer + first_end + last_end
  Seconds launch;                        // what the host needs to launch the kernels of one micro-batch
  UnitTime layer;                        // the average of the stage's
  UnitTime first_end, last_end;          // embedding; final norm, head and loss
  double layers = 0;                     // that a micro-batch runs through
  Seconds weight_gradient;               // part of the backward that nothing later in it waits for
  Seconds attention_s;                   // forward, of all layers
  Seconds optimizer;                     // once per step
  double updated = 0;                    // parameters it updates on this rank
};

// Work of one sequence through the whole model, counted once for all stages.
struct SequenceWork { ForwardFlops forward; Flops recomputed; };
SequenceWork sequence_work(const Plan& plan);

// One layer without its attention kernel: matrix products forward, for the gradients of inputs and of weights; other passes over memory.
struct LayerTime {
  Seconds products, input_gradients, weight_gradients;
  Seconds elementwise_forward, elementwise_backward;
  Seconds last_product;  // part of the forward that a recomputation does not repeat if it stops where all inputs of the backward are there
};

// What a rank of any stage computes at: matrix products in the type of the linear layers and in 16 bit, memory; the optimizer states of a trained
// parameter; and what a layer of each kind and the head take at that.
struct ComputeRates {
  MatrixUnits matrix, matrix16;
  BytesPerSecond memory;
  double state_bytes = 0;
  LayerTime dense, moe, head;
};
ComputeRates compute_rates(const Plan& plan, const EfficiencyConstants& k);

// What of it are matrix products of a forward, rows×out×in: those of one layer of a kind, without attention and adapters; the head's. Exact.
std::vector<MatrixProduct> layer_products(const Plan& plan, bool is_moe);
MatrixProduct head_product(const Plan& plan);

// Bytes a parameter of a layer is copied in, where parameters live on the host: 2, of a frozen 4-bit weight half a byte and its share of a block's
// scales: 0.5 + 4/64, halved again by nesting. [qlora23] §3
double host_bytes_per_parameter(const Plan& plan);

// Copies of offloaded parameters run ahead of the gathers on a stream of their own, as those do: where parameters are sharded.
// Source: [pytorch-fsdp-notes], FlatParamHandle.pre_unshard and foreach_all_gather of its code; [deepspeed-zero], the fetches of its coordinator.
bool copies_ahead(const Plan& plan);

// `index`: the stage, first 0. `trained`: parameters of the stage that are trained on this rank. Valid after validate(plan) passed; a rate the preset does not
// state counts as no time (the estimate warns).
ComputeCost stage_compute(const Plan& plan, const SequenceWork& work, const ComputeRates& rates, Count index, const StageParameters& stage, double trained, bool is_last,
                          const EfficiencyConstants& k);

}  // namespace wireplan
