#include "core/describe/profile.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostCurves = 1'000, kMostPoints = 10'000, kMostRows = 10'000;
constexpr double kMaxRate = 1e14;

// "collectives.3", "collectives.3.points.7"
std::string item(const std::string& list, std::size_t i) { return list + '.' + std::to_string(i); }

void check_length(Checks& check, std::string_view key, std::size_t length, std::size_t least, std::size_t most) {
  check.range(key, static_cast<double>(length), static_cast<double>(least), static_cast<double>(most));
}

Errors validate(const MeasuredCurve& curve, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  const bool counted_ranks = check.range("ranks", curve.ranks, 2, 100'000);
  const bool counted_nodes = check.range("nodes", curve.nodes, 1, 100'000);
  if (counted_ranks && counted_nodes)
    check.require(curve.nodes <= curve.ranks, "nodes", format_exact(curve.nodes), "at most the ranks, " + format_exact(curve.ranks),
                  format_exact(curve.ranks) + " ranks cannot be on " + format_exact(curve.nodes) + " nodes. Nearest: nodes " + format_exact(curve.ranks));
  std::vector<int> gpus = curve.gpus;
  std::sort(gpus.begin(), gpus.end());
  if (!gpus.empty())
    check.require(gpus.front() >= 0 && gpus.back() < 1024 && std::adjacent_find(gpus.begin(), gpus.end()) == gpus.end(), "gpus",
                  format_exact(gpus.front() < 0 ? gpus.front() : gpus.back()), "null, or different indices of GPUs, 0 to 1023",
                  "gpus lists an index twice or one that no GPU has. Nearest: null");
  check_length(check, "points", curve.points.size(), 1, kMostPoints);
  for (std::size_t i = 0; i < curve.points.size() && i < kMostPoints; ++i) {
    const MeasuredCurve::Point& p = curve.points[i];
    const std::string key = item("points", i);
    if (!check.range(key, p.size.value, 1, 1e15) || !check.range(key, p.time.value, 1e-9, 1e6)) continue;
    if (i > 0 && !(curve.points[i - 1].size < p.size))
      check.fail(key, format_exact(p.size.value), "more than the size before it, " + format_exact(curve.points[i - 1].size.value),
                 "sizes of a curve rise: " + format_exact(p.size.value) + " stands behind " + format_exact(curve.points[i - 1].size.value) + ". Nearest: sort the points");
  }
  return errors;
}

}  // namespace

Errors validate(const Profile& profile, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  check_length(check, "collectives", profile.curves.size(), 0, kMostCurves);
  for (std::size_t i = 0; i < profile.curves.size() && i < kMostCurves; ++i) {
    const Errors of_curve = validate(profile.curves[i], check.path(item("collectives", i)));
    errors.insert(errors.end(), of_curve.begin(), of_curve.end());
  }
  check_length(check, "gemm", profile.gemms.size(), 0, kMostRows);
  for (std::size_t i = 0; i < profile.gemms.size() && i < kMostRows; ++i) {
    const Profile::Gemm& g = profile.gemms[i];
    const std::string key = item("gemm", i);
    const struct {
      const char* name;
      double value, most;
    } fields[] = {{".m", g.m, 1e12}, {".n", g.n, 1e12}, {".k", g.k, 1e12}, {".flops_per_s", g.rate.value, 1e18}};
    for (const auto& field : fields) check.range(key + field.name, field.value, 1, field.most);
  }
  if (profile.hbm.value != 0) check.range("hbm_bytes_per_s", profile.hbm.value, 1e6, kMaxRate);  // 0 stands for null
  check_length(check, "fit", profile.fits.size(), 0, kMostRows);
  for (std::size_t i = 0; i < profile.fits.size() && i < kMostRows; ++i) {
    const Profile::Fit& f = profile.fits[i];
    const std::string key = item("fit", i);
    check.range(key + ".latency_s", f.latency.value, 0, 1e6);
    check.range(key + ".bytes_per_s", f.rate.value, 1, kMaxRate);
  }
  return errors;
}

}  // namespace wireplan
