// Seconds per step of published training runs against the estimate.
//
// tests/data/training_runs.jsonl: every published run with a time or a rate that the constants of a step's time were fitted on
// ([published-runs]), each with its page. In sample, so these bounds hold what is reached; errors with each source left out are in
// docs/accuracy.md.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/answer/accuracy.hpp"
#include "core/base/statistics.hpp"
#include "core/text/read_runs.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

// What holds, never to be loosened: absolute errors of seconds, at most.
struct Bound {
  std::string_view source;  // how the ids begin
  std::size_t rows;
  double median, p90;
};
constexpr Bound kBounds[] = {
    {"ao", 7, 0.25, 0.44},
    {"aws", 8, 0.325, 0.415},
    {"bl", 40, 0.06, 0.165},
    {"fms", 2, 0.09, 0.1},
    {"fq", 20, 0.07, 0.23},
    {"ka", 8, 0.035, 0.085},
    {"lf", 80, 0.04, 0.085},
    {"mb", 27, 0.09, 0.395},
    {"ms", 8, 0.075, 0.125},
    {"nd", 33, 0.05, 0.135},
    {"nl", 5, 0.05, 0.07},
    {"sc21", 22, 0.035, 0.12},
    {"sm", 24, 0.02, 0.045},
    {"t3", 23, 0.035, 0.06},
    {"tn", 5, 0.01, 0.02},
    {"tt", 12, 0.08, 0.105},
    {"vts", 70, 0.07, 0.2},
};

}  // namespace

TEST_CASE("accuracy: seconds per step of published runs, and the order of layouts") {
  std::ifstream file("tests/data/training_runs.jsonl");
  REQUIRE(file);
  const std::string lines((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<Runs> runs = read_runs(lines, presets());
  if (!runs) FAIL(runs.errors().front().path + ": " + runs.errors().front().text);
  for (const SkippedRun& s : runs.value().skipped) FAIL_CHECK(s.id + ": " + s.reason);
  const Accuracy a = accuracy(std::move(runs.value()), constants());

  std::vector<double> all;
  for (const TimedRun& t : a.timed) all.push_back(std::fabs(relative_error(t.predicted, t.measured)));
  CHECK(all.size() == 394);
  INFO("median " << quantile(all, 0.5) << ", 90 % " << quantile(all, 0.9));
  CHECK(quantile(all, 0.5) <= 0.06);
  CHECK(quantile(all, 0.9) <= 0.20);

  std::size_t counted = 0;
  for (const Bound& bound : kBounds) {
    std::vector<double> errors;
    for (const TimedRun& t : a.timed) {
      const std::string& id = a.runs.runs[t.run].id;
      if (id.substr(0, id.find('-')) == bound.source) errors.push_back(std::fabs(relative_error(t.predicted, t.measured)));
    }
    INFO(bound.source << ", median " << quantile(errors, 0.5) << ", 90 % " << quantile(errors, 0.9));
    CHECK(errors.size() == bound.rows);
    CHECK(quantile(errors, 0.5) <= bound.median);
    CHECK(quantile(errors, 0.9) <= bound.p90);
    counted += errors.size();
  }
  CHECK(counted == a.timed.size());  // every source has a bound

  double regret = 0;
  std::vector<double> correlations;
  for (const RankingGroup& g : a.ranking) {
    regret += g.regret / static_cast<double>(a.ranking.size());
    if (g.runs >= 3 && g.spearman) correlations.push_back(*g.spearman);
  }
  INFO(a.ranking.size() << " groups, regret " << regret << ", Spearman " << quantile(correlations, 0.5));
  CHECK(a.ranking.size() >= 50);
  CHECK(regret <= 0.025);
  CHECK(quantile(correlations, 0.5) >= 0.95);
}
