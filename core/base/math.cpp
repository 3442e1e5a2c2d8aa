#include "core/base/math.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace wireplan {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// ln 2 in two parts. The first has 20 trailing zero bits, so its product with any exponent of a double is exact.
constexpr double kLn2High = 0x1.62e42fefp-1;
constexpr double kLn2Low = 0x1.473de6af278edp-34;
constexpr double kLog2E = 0x1.71547652b82fep+0;

// An unevaluated sum high + low with |low| <= half an ulp of high: 106 bits.
struct Pair {
  double high, low;
};

// Error-free sum and product (Dekker 1971): high + low equals the exact result.
constexpr Pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double other = sum - a;
  return {sum, (a - (sum - other)) + (b - other)};
}
constexpr Pair halves(double a) {
  const double scaled = 134217729.0 * a;  // 2^27 + 1
  const double high = scaled - (scaled - a);
  return {high, a - high};
}
constexpr Pair exact_product(double a, double b) {
  const double product = a * b;
  const Pair x = halves(a), y = halves(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

// 2^n for a normal result.
double two_to(int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); }

// x · 2^n for |n| <= 2200, in two steps so that results near both ends of the range stay right.
double scaled(double x, int n) {
  const int half = n / 2;
  if (half < -1022 || half > 1023) return n < 0 ? 0 : kLargest;
  const double first = x * two_to(half);
  const int rest = n - half;
  return rest > 1023 ? kLargest : first * two_to(rest);
}

// e^(x + low) for |low| far below an ulp of x.
double exponential_of(double x, double low) {
  if (!(x > -745.2)) return 0;
  if (x > 709.782712893384) return kLargest;
  const double n = static_cast<double>(static_cast<int>(x * kLog2E + (x < 0 ? -0.5 : 0.5)));
  const double r = ((x - n * kLn2High) - n * kLn2Low) + low;
  // Taylor series for |r| <= 0.35: the first term left out is below 5e-18.
  double sum = 1.0 / 6227020800.0;
  constexpr double kInverse[] = {1.0 / 479001600.0,
                                 1.0 / 39916800.0,
                                 1.0 / 3628800.0,
                                 1.0 / 362880.0,
                                 1.0 / 40320.0,
                                 1.0 / 5040.0,
                                 1.0 / 720.0,
                                 1.0 / 120.0,
                                 1.0 / 24.0,
                                 1.0 / 6.0,
                                 0.5};
  for (const double c : kInverse) sum = sum * r + c;
  const double result = scaled(1.0 + (r + r * r * sum), static_cast<int>(n));
  return result < kLargest ? result : kLargest;
}

struct Split {
  double mantissa;  // in [sqrt(1/2), sqrt(2))
  int exponent;
};
Split split(double x) {
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL;
  double mantissa = std::bit_cast<double>(bits);
  if (mantissa >= 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  return {mantissa, exponent};
}

// ln m of a mantissa to about 100 bits: ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
Pair log_of_mantissa(double m) {
  const double numerator = m - 1;  // exact
  const Pair denominator = exact_sum(m, 1);
  const double s = numerator / denominator.high;
  const Pair back = exact_product(s, denominator.high);
  const double rest = ((numerator - back.high) - back.low - s * denominator.low) / denominator.high;
  // artanh s = s + s^3/3 + s^5/5 + ...; the first term left out is below 1e-19 of s.
  const double z = s * s;
  double sum = 1.0 / 25.0;
  for (int k = 23; k >= 3; k -= 2) sum = sum * z + 1.0 / k;
  const Pair leading = exact_sum(2 * s, 2 * s * z * sum);
  return {leading.high, leading.low + 2 * rest};
}

Pair log_in_two_parts(double x) {
  const Split parts = split(x);
  const Pair mantissa = log_of_mantissa(parts.mantissa);
  const double e = parts.exponent;
  const Pair high = exact_sum(e * kLn2High, mantissa.high);
  return exact_sum(high.high, high.low + (mantissa.low + e * kLn2Low));
}

bool is_finite_positive(double x) { return x > 0 && x <= kLargest; }

}  // namespace

double exponential(double x) { return exponential_of(x, 0); }

double natural_log(double x) { return is_finite_positive(x) ? log_in_two_parts(x).high : -kLargest; }

double power(double base, double exponent) {
  if (!is_finite_positive(base)) return base > 0 ? (exponent > 0 ? kLargest : exponent < 0 ? 0 : 1) : 0;
  if (exponent == 0 || base == 1) return 1;
  if (exponent == 1) return base;
  // Beyond these the result has left the range of a double for every base other than 1.
  if (!(exponent > -1e19)) return base > 1 ? 0 : kLargest;
  if (exponent > 1e19) return base > 1 ? kLargest : 0;
  const Pair log = log_in_two_parts(base);
  const double estimate = exponent * log.high;
  if (estimate > 710) return kLargest;
  if (estimate < -746) return 0;
  const Pair product = exact_product(exponent, log.high);
  return exponential_of(product.high, product.low + exponent * log.low);
}

double log2_of(double x) {
  if (!is_finite_positive(x)) return -kLargest;
  const Split parts = split(x);
  // log2 m = ln m · log2 e; log2 e in two parts keeps the last place.
  const Pair log = log_of_mantissa(parts.mantissa);
  const Pair product = exact_product(log.high, kLog2E);
  const Pair high = exact_sum(parts.exponent, product.high);
  return high.high + (high.low + (product.low + (log.low * kLog2E + log.high * 0x1.777d0ffda0d24p-56)));
}

}  // namespace wireplan
