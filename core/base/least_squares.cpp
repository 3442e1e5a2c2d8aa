#include "core/base/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/math.hpp"

namespace wireplan {
namespace {

constexpr int kMostRounds = 60;
constexpr double kDifference = 1e-4;
constexpr double kLongestStep = 0.7;   // of one unknown: a factor of two where it is a logarithm
constexpr double kEnough = 1e-5;       // share of the loss that is not worth another round
constexpr double kWorthSlopes = 1e-3;  // share of the loss that old slopes must still gain

std::vector<std::vector<double>> slopes_at(Residuals& model, const std::vector<double>& x,
                                           const std::vector<double>& residuals) {
  std::vector<std::vector<double>> slopes;
  slopes.reserve(x.size());
  for (std::size_t c = 0; c < x.size(); ++c) {
    std::vector<double> moved = x;
    moved[c] += kDifference;
    std::vector<double> slope = model.at(moved);
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = (slope[i] - residuals[i]) / kDifference;
    slopes.push_back(std::move(slope));
  }
  return slopes;
}

// JᵀWJ + P and -JᵀW·r - P·(x - prior).
struct Normal {
  std::vector<double> matrix, right;
};

Normal normal_equations(const LeastSquares& problem, const LeastSquaresFit& at) {
  const std::size_t n = at.x.size();
  Normal e{std::vector<double>(n * n, 0), std::vector<double>(n, 0)};
  for (std::size_t i = 0; i < at.residuals.size(); ++i) {
    const double r = at.residuals[i], w = problem.weights[i] / (problem.scale * problem.scale + r * r);
    if (w <= 0) continue;
    for (std::size_t a = 0; a < n; ++a) {
      const double weighted = w * at.slopes[a][i];
      if (weighted == 0) continue;
      for (std::size_t b = 0; b < n; ++b) e.matrix[a * n + b] += weighted * at.slopes[b][i];
      e.right[a] -= weighted * r;
    }
  }
  for (std::size_t a = 0; a < n; ++a) {
    const double p = 1 / (problem.spread[a] * problem.spread[a]);
    e.matrix[a * n + a] += p;
    e.right[a] -= p * (at.x[a] - problem.prior[a]);
  }
  return e;
}

}  // namespace

std::vector<double> solve_definite(std::vector<double> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double share = a[i * n + k] / a[k * n + k];
      if (share == 0) continue;
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= share * a[k * n + j];
      b[i] -= share * b[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
  return b;
}

std::vector<double> inverse_diagonal(const std::vector<double>& a) {
  std::size_t n = 0;
  while (n * n < a.size()) ++n;
  std::vector<double> diagonal;
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double> unit(n, 0);
    unit[k] = 1;
    diagonal.push_back(solve_definite(a, std::move(unit))[k]);
  }
  return diagonal;
}

double least_squares_loss(const LeastSquares& problem, const std::vector<double>& x,
                          const std::vector<double>& residuals) {
  double loss = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double far = residuals[i] / problem.scale;
    loss += 0.5 * problem.weights[i] * natural_log(1 + far * far);
  }
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double far = (x[c] - problem.prior[c]) / problem.spread[c];
    loss += 0.5 * far * far;
  }
  return loss;
}

LeastSquaresFit least_squares(const LeastSquares& problem, Residuals& model, const std::vector<double>& start) {
  LeastSquaresFit from;
  from.x = start;
  from.residuals = model.at(start);
  from.slopes = slopes_at(model, start, from.residuals);
  return least_squares(problem, model, std::move(from));
}

LeastSquaresFit least_squares(const LeastSquares& problem, Residuals& model, LeastSquaresFit fit) {
  const std::size_t n = fit.x.size();
  fit.loss = least_squares_loss(problem, fit.x, fit.residuals);
  double damping = 1e-2;
  bool is_fresh = true;  // slopes are those at x; they cost n evaluations, so old ones serve as long as they help
  for (fit.rounds = 0; fit.rounds < kMostRounds; ++fit.rounds) {
    const Normal normal = normal_equations(problem, fit);
    double gain = 0;
    // Where models have kinks a full step may climb: ever shorter ones, nearer to the steepest way, are tried.
    for (int attempt = 0; attempt < (is_fresh ? 12 : 2) && gain <= 0; ++attempt, damping *= 4) {
      std::vector<double> damped = normal.matrix;
      for (std::size_t c = 0; c < n; ++c) damped[c * n + c] *= 1 + damping;
      const std::vector<double> move = solve_definite(std::move(damped), normal.right);
      std::vector<double> x = fit.x;
      for (std::size_t c = 0; c < n; ++c) x[c] += std::clamp(move[c], -kLongestStep, kLongestStep);
      std::vector<double> residuals = model.at(x);
      const double loss = least_squares_loss(problem, x, residuals);
      if (!(loss < fit.loss)) continue;
      gain = fit.loss - loss;
      fit.x = std::move(x);
      fit.residuals = std::move(residuals);
      fit.loss = loss;
      damping = std::max(damping / 64, 1e-9);
    }
    if (is_fresh && gain <= kEnough * fit.loss) break;
    is_fresh = gain <= kWorthSlopes * fit.loss;
    if (is_fresh) fit.slopes = slopes_at(model, fit.x, fit.residuals);
  }
  fit.deviation = inverse_diagonal(normal_equations(problem, fit).matrix);
  for (double& d : fit.deviation) d = std::sqrt(d);
  return fit;
}

}  // namespace wireplan
