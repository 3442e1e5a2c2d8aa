// Elements of all types in memory: written as small whole numbers, read back as numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "native/measure/backend.hpp"

namespace wireplan {

inline float float_of_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
// Rounds to nearest, ties to even; valid for numbers that are not NaN.
inline std::uint16_t bfloat_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// 2^exponent, where it is a normal number. No function of the mathematics library here: nccl_kernels.cu compiles this header for the GPU.
inline float power_of_two(int exponent) { return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23); }

// IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of fraction. Also the two 8-bit formats [ocp-fp8]: e4m3 (bias 7), e5m2 (bias 15).
template <int kExponent, int kFraction>
inline float float_of_bits(unsigned bits) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  const unsigned fraction = bits & ((1u << kFraction) - 1);
  const int exponent = static_cast<int>((bits >> kFraction) & ((1u << kExponent) - 1));
  const float size = exponent == 0 ? static_cast<float>(fraction) * power_of_two(1 - bias - kFraction)
                                   : static_cast<float>(fraction + (1u << kFraction)) * power_of_two(exponent - bias - kFraction);
  return (bits >> (kExponent + kFraction)) & 1 ? -size : size;
}
// Of numbers the format holds, or nearest to even of those between its least normal number and its largest; larger ones become infinity or,
// in e4m3, its largest pattern.
template <int kExponent, int kFraction>
inline unsigned bits_of_float(float value) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  const std::uint32_t pattern = std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
  const unsigned sign = std::bit_cast<std::uint32_t>(value) >> 31 ? 1u << (kExponent + kFraction) : 0;
  const unsigned beyond = sign | (((1u << kExponent) - 1) << kFraction);
  if (pattern == 0) return sign;
  int stored = static_cast<int>(pattern >> 23) - 127 + bias;
  if (stored < 1) stored = 1;
  if (stored >= (1 << kExponent)) return beyond;
  constexpr float whole_numbers = 1u << 23;  // from here on a float has no fraction: adding it rounds to nearest, ties to even
  float scaled = (std::bit_cast<float>(pattern) * power_of_two(kFraction - (stored - bias)) + whole_numbers) - whole_numbers;
  if (scaled >= static_cast<float>(2u << kFraction)) scaled /= 2, ++stored;
  if (stored >= (1 << kExponent)) return beyond;
  const unsigned whole = static_cast<unsigned>(scaled);
  return sign | (whole < (1u << kFraction) ? whole : (static_cast<unsigned>(stored) << kFraction) | (whole - (1u << kFraction)));
}
inline float float_of_half(std::uint16_t bits) { return float_of_bits<5, 10>(bits); }
inline std::uint16_t half_of(float value) { return static_cast<std::uint16_t>(bits_of_float<5, 10>(value)); }

// Element i of `buffer`, which begins where an element may, as a number and back.
template <class Number>
inline void write_element(ElementType type, unsigned char* buffer, std::uint64_t i, Number value) {
  const auto put = [&](auto v) { __builtin_memcpy(__builtin_assume_aligned(buffer + i * sizeof v, sizeof v), &v, sizeof v); };
  switch (type) {
    case ElementType::int8: return put(static_cast<std::int8_t>(value));
    case ElementType::uint8: return put(static_cast<std::uint8_t>(value));
    case ElementType::int32: return put(static_cast<std::int32_t>(value));
    case ElementType::uint32: return put(static_cast<std::uint32_t>(value));
    case ElementType::int64: return put(static_cast<std::int64_t>(value));
    case ElementType::uint64: return put(static_cast<std::uint64_t>(value));
    case ElementType::half: return put(half_of(static_cast<float>(value)));
    case ElementType::float32: return put(static_cast<float>(value));
    case ElementType::float64: return put(static_cast<double>(value));
    case ElementType::bfloat16: return put(bfloat_of(static_cast<float>(value)));
    case ElementType::fp8_e4m3: return put(static_cast<std::uint8_t>(bits_of_float<4, 3>(static_cast<float>(value))));
    case ElementType::fp8_e5m2: return put(static_cast<std::uint8_t>(bits_of_float<5, 2>(static_cast<float>(value))));
  }
}
inline double read_element(ElementType type, const unsigned char* buffer, std::uint64_t i) {
  const auto get = [&](auto v) { __builtin_memcpy(&v, __builtin_assume_aligned(buffer + i * sizeof v, sizeof v), sizeof v); return v; };
  switch (type) {
    case ElementType::int8: return get(std::int8_t{});
    case ElementType::uint8: return get(std::uint8_t{});
    case ElementType::int32: return get(std::int32_t{});
    case ElementType::uint32: return get(std::uint32_t{});
    case ElementType::int64: return static_cast<double>(get(std::int64_t{}));
    case ElementType::uint64: return static_cast<double>(get(std::uint64_t{}));
    case ElementType::half: return static_cast<double>(float_of_half(get(std::uint16_t{})));
    case ElementType::float32: return static_cast<double>(get(float{}));
    case ElementType::float64: return get(double{});
    case ElementType::bfloat16: return static_cast<double>(float_of_bfloat(get(std::uint16_t{})));
    case ElementType::fp8_e4m3: return static_cast<double>(float_of_bits<4, 3>(get(std::uint8_t{})));
    case ElementType::fp8_e5m2: return static_cast<double>(float_of_bits<5, 2>(get(std::uint8_t{})));
  }
  return 0;
}

// Bits of the fraction, for results that are rounded (means).
inline int fraction_bits(ElementType type) {
  switch (type) {
    case ElementType::half: return 10;
    case ElementType::bfloat16: return 7;
    case ElementType::float32: return 23;
    case ElementType::float64: return 52;
    case ElementType::fp8_e4m3: return 3;
    case ElementType::fp8_e5m2: return 2;
    default: return 0;
  }
}

// Exactly `expected`; means within two units in the last place (the library multiplies by 1/n, then adds), whole numbers cut off.
inline bool is_as_expected(const Call& call, const unsigned char* buffer, std::uint64_t i, double expected) {
  const double found = read_element(call.type, buffer, i);
  if (!reduces(call.op) || call.redop != Reduction::avg) return found == expected;
  const int bits = fraction_bits(call.type);
  if (bits == 0) return found == static_cast<double>(static_cast<std::uint64_t>(expected));
  const double off = found < expected ? expected - found : found - expected;
  return off <= expected * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 1 - bits) << 52);
}

}  // namespace wireplan
