#include "core/answer/fit_links.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/math.hpp"
#include "core/cost/measured_tables.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

constexpr double kSpread = 0.1;         // of ln(predicted/measured), what a sound sweep shows
constexpr double kEnough = 2 * kSpread;  // from here on a residual counts linearly
constexpr int kRounds = 25;

// A constant on trial, as ln(value / start), and how far it may stray.
struct Constant {
  double* value;
  double start, spread;
};

struct Sweep {
  const CollectiveRun* run;
  PreparedCluster cluster;
  GroupShape shape;
  double weight;
};

class Fit {
 public:
  Fit(std::vector<Constant> constants, std::vector<const Sweep*> sweeps) : constants_(std::move(constants)), sweeps_(std::move(sweeps)) {
    for (const Sweep* s : sweeps_) points_ += s->run->points.size();
  }

  void run() {
    std::vector<double> at(constants_.size(), 0), residuals = residuals_at(at);
    double loss = loss_of(at, residuals), damping = 1e-2;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::vector<double>> slopes;
      for (std::size_t c = 0; c < at.size(); ++c) {
        std::vector<double> moved = at;
        moved[c] += 1e-4;
        std::vector<double> slope = residuals_at(moved);
        for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = (slope[i] - residuals[i]) / 1e-4;
        slopes.push_back(std::move(slope));
      }
      bool better = false;
      for (int attempt = 0; attempt < 8 && !better; ++attempt, damping *= 4) {
        std::vector<double> next = step(at, residuals, slopes, damping);
        std::vector<double> there = residuals_at(next);
        const double lower = loss_of(next, there);
        if (lower >= loss) continue;
        const double gain = loss - lower;
        better = true;
        at = std::move(next);
        residuals = std::move(there);
        loss = lower;
        damping /= 16;
        if (gain < 1e-6 * loss) round = kRounds;
      }
      if (!better) break;
    }
    put(at);
  }

 private:
  void put(const std::vector<double>& at) {
    for (std::size_t c = 0; c < at.size(); ++c) *constants_[c].value = constants_[c].start * exponential(at[c]);
  }

  std::vector<double> residuals_at(const std::vector<double>& at) {
    put(at);
    std::vector<double> residuals;
    residuals.reserve(points_);
    for (const Sweep* s : sweeps_) {
      const RingOnWiring ring = ring_on_wiring(s->cluster, s->shape);
      for (const MeasuredCurve::Point& p : s->run->points) {
        const double predicted = collective_formula(s->cluster, ring, s->run->collective, s->run->gpus, p.size).time.value.value;
        residuals.push_back(predicted > 0 && p.time.value > 0 ? natural_log(predicted / p.time.value) : 0);
      }
    }
    return residuals;
  }

  // Of each point: how much it counts, its share of the source times what the robust loss leaves of a far one.
  double weight_of(const Sweep& s, double residual) const {
    const double far = std::fabs(residual);
    return s.weight / (kSpread * kSpread) * (far > kEnough ? kEnough / far : 1);
  }

  double loss_of(const std::vector<double>& at, const std::vector<double>& residuals) const {
    double loss = 0;
    for (std::size_t c = 0; c < at.size(); ++c) loss += 0.5 * at[c] * at[c] / (constants_[c].spread * constants_[c].spread);
    std::size_t i = 0;
    for (const Sweep* s : sweeps_)
      for (std::size_t p = 0; p < s->run->points.size(); ++p, ++i) {
        const double far = std::fabs(residuals[i]);
        loss += s->weight / (kSpread * kSpread) * (far > kEnough ? kEnough * (far - 0.5 * kEnough) : 0.5 * far * far);
      }
    return loss;
  }

  std::vector<double> step(const std::vector<double>& at, const std::vector<double>& residuals, const std::vector<std::vector<double>>& slopes, double damping) const {
    const std::size_t n = at.size();
    std::vector<std::vector<double>> m(n, std::vector<double>(n + 1, 0));
    std::size_t i = 0;
    for (const Sweep* s : sweeps_)
      for (std::size_t p = 0; p < s->run->points.size(); ++p, ++i) {
        const double w = weight_of(*s, residuals[i]);
        for (std::size_t a = 0; a < n; ++a) {
          for (std::size_t b = 0; b < n; ++b) m[a][b] += w * slopes[a][i] * slopes[b][i];
          m[a][n] -= w * slopes[a][i] * residuals[i];
        }
      }
    for (std::size_t a = 0; a < n; ++a) {
      const double prior = 1 / (constants_[a].spread * constants_[a].spread);
      m[a][a] += prior;
      m[a][n] -= prior * at[a];
      m[a][a] *= 1 + damping;
    }
    // Symmetric and positive definite: no pivots are needed.
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b) {
        const double share = m[b][a] / m[a][a];
        for (std::size_t c = a; c <= n; ++c) m[b][c] -= share * m[a][c];
      }
    std::vector<double> next = at;
    std::vector<double> move(n, 0);
    for (std::size_t a = n; a-- > 0;) {
      double sum = m[a][n];
      for (std::size_t b = a + 1; b < n; ++b) sum -= m[a][b] * move[b];
      move[a] = std::clamp(sum / m[a][a], -0.7, 0.7);
      next[a] += move[a];
    }
    return next;
  }

  std::vector<Constant> constants_;
  std::vector<const Sweep*> sweeps_;
  std::size_t points_ = 0;
};

std::vector<Constant> constants_of(LinkConstants::Class& c) {
  std::vector<Constant> list;
  const auto add = [&](double& value, double spread) {
    if (value > 0) list.push_back({&value, value, spread});
  };
  add(c.launch_cycles, 0.3);
  add(c.hop.value, 0.4);
  add(c.efficiency, 0.2);
  add(c.copy.value, 0.3);
  add(c.fill.value, 0.5);
  add(c.fill_per_step.value, 0.5);
  add(c.low_latency_share, 0.3);
  add(c.low_latency_channel.value, 0.5);
  add(c.all_to_all_efficiency, 0.2);
  add(c.all_to_all_fill.value, 0.7);
  add(c.all_to_all_low_latency_share, 0.7);
  if (c.one_way > 1) add(c.one_way, 0.3);
  add(c.nvls_efficiency, 0.2);
  add(c.nvls_fill.value, 0.5);
  return list;
}

std::vector<Constant> constants_of(LinkConstants::FabricRate& f) {
  return {{&f.latency.value, f.latency.value, 0.7}, {&f.efficiency, f.efficiency, 0.25}, {&f.fill.value, f.fill.value, 0.7}, {&f.fill_bytes.value, f.fill_bytes.value, 1.0}};
}

}  // namespace

LinkConstants fit_links(const LinkConstants& start, const std::vector<CollectiveRun>& runs) {
  LinkConstants fitted = start;
  fitted.tables.clear();
  std::erase_if(fitted.classes, [](const LinkConstants::Class& c) { return c.generation != LinkConstants::kAny; });
  fitted.fabrics = fitted.expected_fabrics;
  std::map<std::string, double> points;  // of a source
  for (const CollectiveRun& run : runs) points[run.source] += static_cast<double>(run.points.size());

  // Rows for what was measured, first as expected.
  for (const CollectiveRun& run : runs) {
    const RingOnWiring ring = ring_on_wiring(prepare(run, fitted), group_of(run));
    if (ring.nodes > 1 || ring.class_row < 0) continue;
    LinkConstants::Class row = fitted.classes[static_cast<std::size_t>(ring.class_row)];
    if (row.generation != LinkConstants::kAny) continue;
    row.generation = generation_of(row.name, run.cluster.node);
    fitted.classes.push_back(row);
  }

  std::vector<Sweep> sweeps;
  sweeps.reserve(runs.size());
  std::vector<int> class_rows, fabric_rows;
  for (const CollectiveRun& run : runs) {
    sweeps.push_back({&run, prepare(run, fitted), group_of(run), 1 / std::sqrt(points[run.source])});
    const RingOnWiring ring = ring_on_wiring(sweeps.back().cluster, sweeps.back().shape);
    class_rows.push_back(ring.nodes > 1 ? -1 : ring.class_row);
    fabric_rows.push_back(ring.nodes > 1 ? ring.fabric_row : -1);
  }
  const auto fit_rows = [&](const std::vector<int>& rows, auto& table) {
    for (std::size_t row = 0; row < table.size(); ++row) {
      std::vector<const Sweep*> of_row;
      for (std::size_t i = 0; i < sweeps.size(); ++i)
        if (rows[i] == static_cast<int>(row)) of_row.push_back(&sweeps[i]);
      for (const Sweep* s : of_row) table[row].points += static_cast<int>(s->run->points.size());
      if (!of_row.empty()) Fit(constants_of(table[row]), std::move(of_row)).run();
    }
  };
  fit_rows(class_rows, fitted.classes);
  fit_rows(fabric_rows, fitted.fabrics);
  fitted.tables = measured_tables(runs, fitted);
  return fitted;
}

}  // namespace wireplan
