// Robust least squares with priors: how constants are fitted to what was measured.
//
// Notation: x unknowns, r residuals, w the weight of a residual, s the scale, J the slopes dr/dx.
#pragma once

#include <vector>

namespace wireplan {

// What is fitted: residuals at x, as many at every x and in one order.
class Residuals {
 public:
  virtual ~Residuals() = default;
  virtual std::vector<double> at(const std::vector<double>& x) = 0;
};

// How residuals and unknowns count: loss = Σ w·½·ln(1 + (r/s)²) + Σ ½·((x - prior)/spread)².
// The first term is that of Cauchy's distribution: ½·(r/s)² for a residual far below s, while one far above hardly pulls any more.
struct LeastSquares {
  std::vector<double> weights;        // w, one for each residual; 0 leaves it out
  double scale = 1;                   // s > 0
  std::vector<double> prior, spread;  // of each unknown; spread > 0
};

double least_squares_loss(const LeastSquares& problem, const std::vector<double>& x,
                          const std::vector<double>& residuals);

struct LeastSquaresFit {
  std::vector<double> x, residuals;
  std::vector<std::vector<double>> slopes;  // J at x, a list of all residuals for each unknown
  std::vector<double> deviation;  // what x is known to: root of the diagonal of (Σ w·JᵀJ/(s² + r²) + 1/spread²)⁻¹
  double loss = 0;
  int rounds = 0;
};

// x of the least loss, from `start` on, by Gauss-Newton steps with Levenberg's damping on the residuals reweighted at each round:
//   (JᵀWJ + P)·(1 + damping on the diagonal)·dx = -JᵀW·r - P·(x - prior),  W = w/(s² + r²), P = 1/spread²
// Slopes are differences over 1e-4, so unknowns should be of the order of 1: logarithms of constants are.
// Source: Nocedal & Wright, Numerical Optimization, ch. 10. Valid: a start where residuals are finite; finds a minimum near it, not the
// least of several. Kind: exact to 1e-5 of the loss. Test: tests/core/base/least_squares_test.cpp.
LeastSquaresFit least_squares(const LeastSquares& problem, Residuals& residuals, const std::vector<double>& start);

// The same from where another fit ended, with its residuals and slopes.
LeastSquaresFit least_squares(const LeastSquares& problem, Residuals& residuals, LeastSquaresFit from);

// A symmetric, positive definite matrix, row after row of n·n numbers.
// x of A·x = b and the diagonal of A⁻¹, by elimination without pivots, which such a matrix does not need. Kind: exact.
std::vector<double> solve_definite(std::vector<double> a, std::vector<double> b);
std::vector<double> inverse_diagonal(const std::vector<double>& a);

}  // namespace wireplan
