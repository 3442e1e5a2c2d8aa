#include "core/base/math.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace wireplan;

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kTolerance = 1e-14;

// Relative difference, with one unit of the smallest normal number allowed where both have lost digits to underflow.
double relative(double got, double expected) {
  if (got == expected) return 0;
  return std::fabs(got - expected) / std::max(std::fabs(expected), std::numeric_limits<double>::min());
}

}  // namespace

TEST_CASE("exponential agrees with the C library", "[base]") {
  double worst = 0;
  for (int i = -745000; i <= 709700; i += 97)
    worst = std::max(worst, relative(exponential(i / 1000.0), std::exp(i / 1000.0)));
  for (int i = -1000; i <= 1000; ++i) worst = std::max(worst, relative(exponential(i * 1e-9), std::exp(i * 1e-9)));
  CHECK(worst < kTolerance);
}

TEST_CASE("natural_log agrees with the C library", "[base]") {
  std::mt19937_64 random(1);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x =
        std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53, static_cast<int>(random() % 2098) - 1074);
    worst = std::max(worst, relative(natural_log(x), std::log(x)));
  }
  // Near 1 the logarithm vanishes; it must keep its digits.
  for (int i = 1; i < 1000; ++i) {
    worst = std::max(worst, relative(natural_log(1 + i * 1e-12), std::log(1 + i * 1e-12)));
    worst = std::max(worst, relative(natural_log(1 - i * 1e-12), std::log(1 - i * 1e-12)));
  }
  CHECK(worst < kTolerance);
}

TEST_CASE("power agrees with the C library", "[base]") {
  std::mt19937_64 random(2);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
  };
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double base = std::ldexp(uniform(1, 2), static_cast<int>(random() % 600) - 300), exponent = uniform(-3, 3);
    const double expected = std::pow(base, exponent);
    if (expected > 1e-290 && expected < 1e290) worst = std::max(worst, relative(power(base, exponent), expected));
  }
  // Large exponents multiply the error of the logarithm.
  for (int i = 0; i < 1000; ++i) {
    const double base = uniform(0.5, 2), exponent = uniform(-900, 900);
    const double expected = std::pow(base, exponent);
    if (expected > 1e-290 && expected < 1e290) worst = std::max(worst, relative(power(base, exponent), expected));
  }
  CHECK(worst < kTolerance);
}

TEST_CASE("exact identities hold to the bit", "[base]") {
  CHECK(exponential(0) == 1);
  CHECK(natural_log(1) == 0);
  for (int n = -1074; n <= 1023; ++n) CHECK(log2_of(std::ldexp(1.0, n)) == n);
  for (int n = -1022; n <= 1023; ++n) CHECK(power(2, n) == std::ldexp(1.0, n));
  for (const double x : {0.1, 1.0, 2.5, 1e300, 5e-324}) {
    CHECK(power(x, 0) == 1);
    CHECK(power(x, 1) == x);
    CHECK(power(1, x) == 1);
  }
  CHECK(power(3, 4) == 81);
  CHECK(power(10, -2) == 0.01);
}

TEST_CASE("log2_of agrees with the C library", "[base]") {
  double worst = 0;
  for (int i = 1; i < 100000; ++i) worst = std::max(worst, relative(log2_of(i * 0.37), std::log2(i * 0.37)));
  CHECK(worst < kTolerance);
}

TEST_CASE("the ends of the range give finite numbers", "[base]") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(exponential(-746) == 0);
  CHECK(exponential(-infinity) == 0);
  CHECK(exponential(710) == kLargest);
  CHECK(exponential(infinity) == kLargest);
  CHECK(exponential(nan) == 0);
  CHECK(exponential(709.7) < kLargest);
  CHECK(natural_log(0) == -kLargest);
  CHECK(natural_log(-1) == -kLargest);
  CHECK(natural_log(infinity) == -kLargest);
  CHECK(natural_log(nan) == -kLargest);
  CHECK(power(0, 2) == 0);
  CHECK(power(-3, 2) == 0);
  CHECK(power(10, 400) == kLargest);
  CHECK(power(10, -400) == 0);
  CHECK(power(0.5, 1e30) == 0);
  CHECK(power(0.5, -1e30) == kLargest);
  CHECK(std::isfinite(power(nan, 2)));
  CHECK(std::isfinite(power(2, nan)));
  CHECK(std::isfinite(power(infinity, 0.5)));
}

TEST_CASE("exponential never falls and undoes natural_log", "[base]") {
  double before = 0, worst = 0;
  int falls = 0;
  for (int i = -700000; i <= 700000; ++i) {
    const double x = i / 1000.0, e = exponential(x);
    falls += e < before ? 1 : 0;
    before = e;
    if (i % 1000 == 0) worst = std::max(worst, std::fabs(natural_log(e) - x) / std::max(1.0, std::fabs(x)));
  }
  CHECK(falls == 0);
  CHECK(worst < 1e-15);
}
