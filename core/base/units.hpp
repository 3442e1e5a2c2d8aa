// Distinct types for physical quantities, so that bytes cannot be added to seconds.
//
// Every quantity holds one double. Integers up to 2^53 (9.0e15) are exact in it, and validation keeps every byte
// and FLOP count of one GPU below that, so counts that are stated as exact stay exact. Names of units appear only at
// the borders (JSON keys, command line, C ABI); inside the core the type is the unit.
#pragma once

#include <compare>

namespace wireplan {

template <class Dimension>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value / b); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  constexpr Quantity& operator+=(Quantity b) { value += b.value; return *this; }
  constexpr Quantity& operator-=(Quantity b) { value -= b.value; return *this; }
};

using Bytes = Quantity<struct BytesDimension>;
using Seconds = Quantity<struct SecondsDimension>;
using Flops = Quantity<struct FlopsDimension>;  // floating point operations, not a rate
using BytesPerSecond = Quantity<struct BytesPerSecondDimension>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondDimension>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return Seconds(b.value / r.value); }
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds(f.value / r.value); }
constexpr BytesPerSecond operator/(Bytes b, Seconds s) { return BytesPerSecond(b.value / s.value); }
constexpr FlopsPerSecond operator/(Flops f, Seconds s) { return FlopsPerSecond(f.value / s.value); }
constexpr Bytes operator*(BytesPerSecond r, Seconds s) { return Bytes(r.value * s.value); }

// A value with the band it is known to lie in: low <= value <= high.
template <class Q>
struct Range {
  Q low{}, value{}, high{};
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

}  // namespace wireplan
