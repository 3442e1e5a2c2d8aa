#include "core/describe/gpu.hpp"

namespace wireplan {
namespace {

FlopsPerSecond first_known(std::initializer_list<FlopsPerSecond> rates) {
  for (const FlopsPerSecond rate : rates)
    if (rate.value > 0) return rate;
  return FlopsPerSecond(0);
}

}  // namespace

FlopsPerSecond matrix_peak(const Gpu& g, DType t) {
  switch (t) {
    case DType::fp32:
      return first_known({g.fp32, g.tf32, g.bf16, g.fp16});
    // Parts before Ampere have no bf16 units; their libraries multiply in fp32.
    case DType::bf16:
      return first_known({g.bf16, g.tf32, g.fp32, g.fp16});
    case DType::fp16:
      return first_known({g.fp16, g.bf16, g.tf32, g.fp32});
    case DType::fp8:
    case DType::mxfp8:
      return first_known({g.fp8, g.bf16, g.fp16, g.fp32});
    case DType::nvfp4:
      return first_known({g.fp4, g.fp8, g.bf16, g.fp16, g.fp32});
    case DType::int8:
      return first_known({g.int8, g.bf16, g.fp16, g.fp32});
    // A storage format: values are widened to 16 bit before they are multiplied.
    case DType::nf4:
      return first_known({g.bf16, g.fp16, g.fp32});
  }
  return FlopsPerSecond(0);
}

}  // namespace wireplan
