#include "core/base/least_squares.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

using namespace wireplan;
using Catch::Approx;

namespace {

// r = a + b·i - y(i)
struct Line final : Residuals {
  explicit Line(std::vector<double> measured) : y(std::move(measured)) {}
  std::vector<double> at(const std::vector<double>& x) override {
    std::vector<double> r;
    for (std::size_t i = 0; i < y.size(); ++i) r.push_back(x[0] + x[1] * static_cast<double>(i) - y[i]);
    return r;
  }
  std::vector<double> y;
};

// Rosenbrock's valley: least, 0, at (1, 1).
struct Valley final : Residuals {
  std::vector<double> at(const std::vector<double>& x) override { return {10 * (x[1] - x[0] * x[0]), 1 - x[0]}; }
};

struct Same final : Residuals {
  std::vector<double> at(const std::vector<double>& x) override { return {x[0] - 1, x[0] - 1, x[0] - 4}; }
};

LeastSquares nearly_free(std::size_t residuals, std::size_t unknowns, double scale) {
  return {std::vector<double>(residuals, 1), scale, std::vector<double>(unknowns, 0),
          std::vector<double>(unknowns, 1e6)};
}

}  // namespace

TEST_CASE("a definite system by hand") {
  // 4x + 2y = 10, 2x + 3y = 9: x = 1.5, y = 2; the inverse is (3 -2; -2 4)/8
  const std::vector<double> a = {4, 2, 2, 3};
  const std::vector<double> x = solve_definite(a, {10, 9});
  CHECK(x[0] == Approx(1.5));
  CHECK(x[1] == Approx(2));
  const std::vector<double> d = inverse_diagonal(a);
  CHECK(d[0] == Approx(3.0 / 8));
  CHECK(d[1] == Approx(4.0 / 8));
}

TEST_CASE("what lies on a line is met exactly") {
  Line line({2, 5, 8, 11});
  const LeastSquaresFit fit = least_squares(nearly_free(4, 2, 10), line, {0, 0});
  CHECK(fit.x[0] == Approx(2).margin(1e-4));
  CHECK(fit.x[1] == Approx(3).margin(1e-4));
  CHECK(fit.loss < 1e-6);
  CHECK(fit.slopes[1][3] == Approx(3));
}

TEST_CASE("a curved valley is followed to its end") {
  Valley valley;
  const LeastSquaresFit fit = least_squares(nearly_free(2, 2, 1e3), valley, {-1.2, 1});
  CHECK(fit.x[0] == Approx(1).margin(0.01));
  CHECK(fit.x[1] == Approx(1).margin(0.02));
}

TEST_CASE("a far residual hardly pulls where the scale is small, and as any other where it is large") {
  Same values;
  CHECK(least_squares(nearly_free(3, 1, 0.1), values, {1.2}).x[0] == Approx(1).margin(0.01));
  CHECK(least_squares(nearly_free(3, 1, 1e4), values, {1.2}).x[0] == Approx(2).margin(0.01));  // the mean of 1, 1, 4
}

TEST_CASE("a weight of zero leaves a residual out") {
  Same values;
  LeastSquares problem = nearly_free(3, 1, 1e4);
  problem.weights = {1, 0, 1};
  CHECK(least_squares(problem, values, {0}).x[0] == Approx(2.5).margin(0.01));
  problem.weights = {0, 0, 1};
  CHECK(least_squares(problem, values, {0}).x[0] == Approx(4).margin(0.01));
}

TEST_CASE("a prior counts as one more measurement of its spread") {
  Same values;
  LeastSquares problem = nearly_free(3, 1, 1);
  problem.scale = 100;              // residuals far below it: w·r²/(2·100²)
  problem.weights = {1e4, 1e4, 0};  // so each is ½·r²
  problem.spread = {0.5};           // ½·(x/0.5)² counts as four
  problem.prior = {7};
  const LeastSquaresFit fit = least_squares(problem, values, {7});
  CHECK(fit.x[0] == Approx((1 + 1 + 4 * 7) / 6.0).margin(0.01));
  CHECK(fit.deviation[0] == Approx(1 / std::sqrt(6.0)).epsilon(0.01));

  problem.weights = {0, 0, 0};  // nothing was measured: the prior stays, with its spread
  const LeastSquaresFit alone = least_squares(problem, values, {6});
  CHECK(alone.x[0] == Approx(7).margin(1e-3));
  CHECK(alone.deviation[0] == Approx(0.5));
}
