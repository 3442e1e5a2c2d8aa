// Memory and collectives of real training code against the estimate.
//
// tests/data/traces.jsonl: steps of rank 0 of PyTorch (pt), Hugging Face (hf) and DeepSpeed (ds), run on fake tensors at full size
// ([framework-traces]); every option of the traced plans occurs at least once. The same rows are what `wireplan accuracy` shows.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
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

// What holds, never to be loosened. The aims: states, bytes between steps, collectives and the place of the peak exact, after forward within
// 0.5 %, peaks within 0.5 % (median) and 3 % (worst). States are elements × bytes here and whole blocks in the traces.
struct Bound {
  const char* kind;     // how the ids begin
  Metric metric;
  std::size_t exact;    // at least so many rows without an error
  double median, worst;  // absolute errors, at most
};
constexpr Bound kBounds[] = {
    {"pt", Metric::states_parameters, 50, 0, 3.4e-05},
    {"pt", Metric::states_gradients, 50, 0, 5.9e-06},
    {"pt", Metric::states_master_weights, 52, 0, 0},
    {"pt", Metric::states_optimizer_states, 50, 0, 3.4e-05},
    {"pt", Metric::between_steps, 51, 0, 1.5e-06},
    {"pt", Metric::after_forward, 48, 0, 7.2e-06},
    {"pt", Metric::first_step_allocated, 43, 0, 7.2e-05},
    {"pt", Metric::allocated, 43, 0, 6.7e-05},
    {"pt", Metric::event, 52, 0, 0},
    {"pt", Metric::collectives_calls, 95, 0, 0},
    {"pt", Metric::collectives_bytes, 95, 0, 0},
    {"hf", Metric::states_parameters, 38, 0, 4.5e-05},
    {"hf", Metric::states_gradients, 38, 0, 6.3e-06},
    {"hf", Metric::states_master_weights, 42, 0, 0},
    {"hf", Metric::states_optimizer_states, 37, 0, 4.5e-05},
    {"hf", Metric::between_steps, 41, 0, 4.8e-08},
    {"hf", Metric::after_forward, 35, 0, 0.0011},
    {"hf", Metric::first_step_allocated, 26, 0, 0.0022},
    {"hf", Metric::allocated, 27, 0, 0.0022},
    {"hf", Metric::event, 42, 0, 0},
    {"hf", Metric::collectives_calls, 48, 0, 0},
    {"hf", Metric::collectives_bytes, 48, 0, 0},
    {"ds", Metric::states_parameters, 37, 0, 0.03},
    {"ds", Metric::states_master_weights, 56, 0, 0},
    {"ds", Metric::states_optimizer_states, 56, 0, 0},
    {"ds", Metric::between_steps, 56, 0, 0},
    {"ds", Metric::after_forward, 46, 0, 0.00041},
    {"ds", Metric::after_backward, 56, 0, 0},
    {"ds", Metric::initialize_peak, 56, 0, 0},
    {"ds", Metric::first_step_allocated, 36, 0, 0.0025},
    {"ds", Metric::allocated, 16, 1.2e-05, 0.0014},
    {"ds", Metric::event, 56, 0, 0},
    {"ds", Metric::collectives_calls, 182, 0, 0},
    {"ds", Metric::collectives_bytes, 182, 0, 2.3e-16},
};

}  // namespace

TEST_CASE("accuracy: memory and collectives of traced training code") {
  std::ifstream file("tests/data/traces.jsonl");
  REQUIRE(file);
  const std::string lines((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<Runs> runs = read_runs(lines, presets());
  if (!runs) FAIL(runs.errors().front().path + ": " + runs.errors().front().text);
  for (const SkippedRun& s : runs.value().skipped) FAIL_CHECK(s.id + ": " + s.reason);
  CHECK(runs.value().runs.size() >= 100);
  const Accuracy a = accuracy(std::move(runs.value()), constants());

  std::map<std::pair<std::string, Metric>, std::vector<const ErrorRow*>> groups;
  for (const ErrorRow& row : a.rows) groups[{a.runs.runs[row.run].id.substr(0, 2), row.metric}].push_back(&row);
  for (const Bound& bound : kBounds) {
    const auto& rows = groups[{bound.kind, bound.metric}];
    std::vector<double> errors;
    std::string worst;
    for (const ErrorRow* row : rows) {
      errors.push_back(std::fabs(row->error));
      if (errors.back() >= *std::max_element(errors.begin(), errors.end())) worst = a.runs.runs[row->run].id + ' ' + row->what;
    }
    INFO(bound.kind << ' ' << name_of(bound.metric) << ", " << rows.size() << " rows, worst " << worst);
    REQUIRE_FALSE(errors.empty());
    CHECK(static_cast<std::size_t>(std::count_if(errors.begin(), errors.end(), [](double e) { return e < 1e-9; })) >= bound.exact);
    CHECK(quantile(errors, 0.5) <= bound.median + 1e-9);
    CHECK(*std::max_element(errors.begin(), errors.end()) <= bound.worst + 1e-9);
  }
  CHECK(groups.size() == std::size(kBounds));  // every metric has a bound
}
