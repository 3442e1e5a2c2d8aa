// Elements of all types in host memory: written as small whole numbers, read back as numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "native/measure/backend.hpp"

namespace wireplan {

inline float float_of_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
// Rounds to nearest, ties to even; valid for numbers that are not NaN.
inline std::uint16_t bfloat_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of fraction. Also the two 8-bit formats [ocp-fp8]: e4m3 (bias 7), e5m2 (bias 15).
template <int kExponent, int kFraction>
inline float float_of_bits(unsigned bits) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  const unsigned fraction = bits & ((1u << kFraction) - 1);
  const int exponent = static_cast<int>((bits >> kFraction) & ((1u << kExponent) - 1));
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - kFraction)
                                   : std::ldexp(static_cast<float>(fraction + (1u << kFraction)), exponent - bias - kFraction);
  return (bits >> (kExponent + kFraction)) & 1 ? -size : size;
}
// Of numbers the format holds, or nearest to even of those between its least normal number and its largest; larger ones become infinity or,
// in e4m3, its largest pattern.
template <int kExponent, int kFraction>
inline unsigned bits_of_float(float value) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  const unsigned sign = std::signbit(value) ? 1u << (kExponent + kFraction) : 0;
  value = std::fabs(value);
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = 0.1… · 2^exponent
  int stored = exponent - 1 + bias;
  if (stored < 1) stored = 1;
  float scaled = std::nearbyint(std::ldexp(value, kFraction - (stored - bias)));
  if (scaled >= static_cast<float>(2u << kFraction)) scaled /= 2, ++stored;
  if (stored >= (1 << kExponent)) return sign | (((1u << kExponent) - 1) << kFraction);
  const unsigned whole = static_cast<unsigned>(scaled);
  return sign | (whole < (1u << kFraction) ? whole : (static_cast<unsigned>(stored) << kFraction) | (whole - (1u << kFraction)));
}
inline float float_of_half(std::uint16_t bits) { return float_of_bits<5, 10>(bits); }
inline std::uint16_t half_of(float value) { return static_cast<std::uint16_t>(bits_of_float<5, 10>(value)); }

// Element i of `buffer`, as a number and back.
inline void write_element(ElementType type, unsigned char* buffer, std::uint64_t i, int value) {
  const auto put = [&](auto v) { std::memcpy(buffer + i * sizeof v, &v, sizeof v); };
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
  const auto get = [&](auto v) { std::memcpy(&v, buffer + i * sizeof v, sizeof v); return v; };
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
  return bits == 0 ? found == std::floor(expected) : std::fabs(found - expected) <= std::ldexp(expected, 1 - bits);
}

}  // namespace wireplan
