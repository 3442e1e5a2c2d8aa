#include "core/describe/gpu.hpp"

namespace wireplan {
namespace {

FlopsPerSecond first_known(std::initializer_list<FlopsPerSecond> rates) {
  for (const FlopsPerSecond rate : rates)
    if (rate.value > 0) return rate;
  return FlopsPerSecond(0);
}

// The faster of the two 16-bit types: what is left for a narrower one that the part has no units for.
FlopsPerSecond sixteen_bit_peak(const Gpu& g) {
  const FlopsPerSecond bf16 = matrix_peak(g, DType::bf16), fp16 = matrix_peak(g, DType::fp16);
  return bf16 > fp16 ? bf16 : fp16;
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
      return first_known({g.fp8, sixteen_bit_peak(g)});
    case DType::nvfp4:
      return first_known({g.fp4, g.fp8, sixteen_bit_peak(g)});
    case DType::int8:
      return first_known({g.int8, sixteen_bit_peak(g)});
    // A storage format: values are widened to 16 bit before they are multiplied.
    case DType::nf4:
      return sixteen_bit_peak(g);
  }
  return FlopsPerSecond(0);
}

}  // namespace wireplan
