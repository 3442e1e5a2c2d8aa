#include "core/step/matrix_product.hpp"

#include <algorithm>

namespace wireplan {
namespace {

// ⌈x⌉ for 0 <= x < 2^53, inline where C libraries call a function.
double whole(double x) {
  const double below = static_cast<double>(static_cast<long long>(x));
  return below < x ? below + 1 : below;
}

struct Tile { double m, n, rate; };

constexpr Tile kTiles[] = {{256, 128, 1}, {128, 256, 1}, {128, 128, 0.92}, {128, 64, 0.78}, {64, 128, 0.78}, {64, 64, 0.58}};
constexpr double kPairedTile = 256, kHalfPairedRate = 0.97;  // over two units: 256×256; 256×128
constexpr double kSplitRate = 0.75, kSplitStart = 2e-6;  // adding the parts of a split k

}  // namespace

bool pairs_multiprocessors(const Gpu& g) { return g.architecture.starts_with("Blackwell") && g.nvlink.value > 0; }

Seconds matrix_product_time(const MatrixProduct& p, const MatrixUnits& g) {
  const double rate = g.rate.value;
  if (!(rate > 0) || p.m * p.n * p.k * p.batch <= 0) return {};
  const double depth = 2 * (p.k + g.fill) / rate;  // seconds per element of the result at full rate
  double seconds = p.m * p.n * p.batch * depth;
  if (g.units > 0) {
    seconds = seconds / kSplitRate + kSplitStart;
    const auto in_waves = [&](double m, double n, double units, double reached) {
      return whole(whole(p.m / m) * whole(p.n / n) * p.batch / units) * units * m * n * depth / reached;
    };
    for (const Tile& t : kTiles) {
      const bool is_paired = g.has_pairs && t.rate == 1;
      seconds = std::min(seconds, in_waves(t.m, t.n, is_paired ? g.units / 2 : g.units, is_paired ? kHalfPairedRate : t.rate));
    }
    if (g.has_pairs) seconds = std::min(seconds, in_waves(kPairedTile, kPairedTile, g.units / 2, 1));
  }
  const double bytes = p.batch * (g.input_bytes * p.k * (p.m + p.n) + 2 * p.m * p.n);
  return Seconds(std::max(seconds, g.memory.value > 0 ? bytes / g.memory.value : 0)) + g.start;
}

}  // namespace wireplan
