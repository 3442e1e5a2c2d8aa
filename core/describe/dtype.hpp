// Number formats of weights, gradients and optimizer states.
#pragma once

#include "core/base/names.hpp"

namespace wireplan {

enum class DType : unsigned char { fp32, bf16, fp16, fp8, mxfp8, nvfp4, int8, nf4 };
template <>
inline constexpr std::array<std::string_view, 8> kNames<DType> = {"fp32",  "bf16",  "fp16", "fp8",
                                                                  "mxfp8", "nvfp4", "int8", "nf4"};

// Bytes one element takes where it is *stored*, without block scales: fp8 formats store 1 byte, 4-bit formats half.
constexpr double element_bytes(DType t) {
  switch (t) {
    case DType::fp32:
      return 4;
    case DType::bf16:
    case DType::fp16:
      return 2;
    case DType::fp8:
    case DType::mxfp8:
    case DType::int8:
      return 1;
    case DType::nvfp4:
    case DType::nf4:
      return 0.5;
  }
  return 0;
}

// The low-precision formats quantise the inputs of linear layers only; weights live in 16 bit between uses.
constexpr bool is_low_precision(DType t) { return t == DType::fp8 || t == DType::mxfp8 || t == DType::nvfp4; }

}  // namespace wireplan
