#include "tools/fit/step_constants.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace wireplan {

using E = EfficiencyConstants;

// Priors: for shares of a peak what vendors' and others' benchmarks of long products and of attention reach, for traffic what a count of
// the passes of eager, compiled and fused code says, for launches what profiles of such code show. 25 % where nothing is known but the value.
const std::vector<StepConstant>& step_constants() {
  static const std::vector<StepConstant> constants = {
      {"reference", &E::reference, 0.67, 0.12},
      {"reference_fp8", &E::reference_fp8, 0.65, 0.12},
      {"reference_fp4", &E::reference_fp4, 0.77, 0.20},
      {"reference_w_per_tflops", &E::reference_w_per_tflops, 0, 0},          // of the data sheet
      {"reference_w_per_tflops_fp8", &E::reference_w_per_tflops_fp8, 0, 0},  // of the data sheet
      {"power_exponent", &E::power_exponent, 0.50, 0.25},
      {"product_fill", &E::product_fill, 0, 0.25},
      {"kernel_s", &E::kernel_s, 0, 0.25},
      {"volta", &E::volta, 0.85, 0.10},
      {"ceiling", &E::ceiling, 0, 0},  // no long product measured is above it
      {"attention_matmul", &E::attention_matmul, 0, 0},            // of the published rates of kernels,
      {"attention_first", &E::attention_first, 0, 0.15},           // which say less of version 1
      {"attention_synchronous", &E::attention_synchronous, 0, 0},  // likewise
      {"attention_exponential", &E::attention_exponential, 0, 0},
      {"attention_backward", &E::attention_backward, 0, 0},
      {"attention_overlapped", &E::attention_overlapped, 0, 0.30},
      {"memory", &E::memory, 0, 0.05},  // copies reach 0.80 to 0.92 on every part
      {"elementwise_eager", &E::elementwise_eager, 1.8, 0.30},
      {"elementwise_compiled", &E::elementwise_compiled, 1.2, 0.30},
      {"elementwise_fused", &E::elementwise_fused, 1.2, 0.30},
      {"loss_logits_fp32", &E::loss_logits_fp32, 0, 0.25},
      {"loss_fused", &E::loss_fused, 0, 0.25},
      {"loss_chunked", &E::loss_chunked, 0, 0.25},
      {"casts", &E::casts, 0, 0.25},
      {"casts_pytorch", &E::casts_pytorch, 0, 0.25},
      {"unpacking", &E::unpacking, 0, 0.25},
      {"optimizer", &E::optimizer, 0, 0.25},
      {"host_per_micro_batch_s", &E::host_per_micro_batch_s, 0, 0.25},
      {"host_per_step_s", &E::host_per_step_s, 0, 0.25},
      {"host_per_layer_pytorch_s", &E::host_per_layer_pytorch_s, 0, 0.40},
      {"host_per_layer_megatron_s", &E::host_per_layer_megatron_s, 0.0007, 0.40},
      {"host_per_layer_fused_s", &E::host_per_layer_fused_s, 0.0012, 0.40},
      {"host_per_moe_layer_s", &E::host_per_moe_layer_s, 0.0025, 0.40},
      {"host_backward", &E::host_backward, 0, 0.25},
      {"host_adapters", &E::host_adapters, 0, 0.25},
      {"host_norm", &E::host_norm, 0, 0.25},
      {"host_with_graphs", &E::host_with_graphs, 0, 0.25},
      {"host_link_bytes_per_s", &E::host_link_bytes_per_s, 0, 0.25},
      {"tensor_exposed", &E::tensor_exposed, 1.0, 0.25},
      {"tensor_overlapped", &E::tensor_overlapped, 0.40, 0.30},
      {"overlap_slowdown", &E::overlap_slowdown, 0.15, 0.50},
      {"straggler", &E::straggler, 0.010, 0.50},
      {"scale", &E::scale, 0, 0.25},
      {"band", &E::band, 0, 0},          // not of the time but of its errors
      {"band_moe", &E::band_moe, 0, 0},  // not of the time but of its errors
  };
  return constants;
}

double three_digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return std::strtod(text, nullptr);
}

Json write_step_constants(Json document, const EfficiencyConstants& fitted,
                          const std::vector<const StepConstant*>& changed) {
  for (const StepConstant* c : changed) document[std::string(c->name)] = number(three_digits(fitted.*(c->member)));
  return document;
}

}  // namespace wireplan
