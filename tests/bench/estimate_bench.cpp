// How long one estimate takes: validated plan, prepared cluster, into the struct; no JSON, no explanations. ./dev bench runs it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/presets.hpp"

using namespace wireplan;

namespace {

struct Timing { std::string name; double median_us, minimum_us; };

// Median and minimum of `rounds` means over `calls` calls.
Timing time_of(const std::string& name, const Plan& plan, const PreparedCluster& cluster, const Constants& constants) {
  constexpr int kRounds = 21, kCalls = 50;
  std::vector<double> rounds;
  double kept = 0;  // keeps the compiler from dropping the work
  for (int r = 0; r < kRounds; ++r) {
    const auto start = std::chrono::steady_clock::now();
    for (int c = 0; c < kCalls; ++c) kept += estimate(plan, cluster, constants).step.time.value.value;
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    rounds.push_back(spent.count() / kCalls);
  }
  std::sort(rounds.begin(), rounds.end());
  if (kept < 0) std::puts("");
  return {name, rounds[kRounds / 2], rounds.front()};
}

}  // namespace

int main(int argc, char** argv) {
  const bool as_json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const Presets presets;
  const Result<Constants> constants = presets.constants();
  if (!constants) return 1;
  std::vector<Timing> timings;
  for (std::string_view id : presets.ids("scenarios")) {
    const Result<Json> scenario = parse_json(presets.text("scenarios", id));
    if (!scenario) return 1;
    const Result<Plan> plan = read_plan(scenario.value()["plan"], presets);
    if (!plan) return 1;
    const PreparedCluster cluster = prepare(plan.value().cluster, constants.value().links);
    timings.push_back(time_of(std::string(id), plan.value(), cluster, constants.value()));
  }
  if (as_json) {
    std::printf("{\"estimate_us\":{");
    for (std::size_t i = 0; i < timings.size(); ++i) std::printf("%s\"%s\":{\"median\":%.3f,\"minimum\":%.3f}", i ? "," : "", timings[i].name.c_str(), timings[i].median_us, timings[i].minimum_us);
    std::printf("}}\n");
  } else {
    std::printf("one estimate, µs        median  minimum\n");
    for (const Timing& t : timings) std::printf("%-22s %7.2f  %7.2f\n", t.name.c_str(), t.median_us, t.minimum_us);
  }
  return 0;
}
