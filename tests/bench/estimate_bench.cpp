// How long one estimate takes: validated plan, prepared cluster, into the struct; no JSON, no explanations. And how many layouts a search goes
// through in a second on one core, those that bounds leave out included. ./dev bench runs it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/answer/search.hpp"
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

// Two of the largest that anyone asks for, and what a page asks for.
constexpr struct { const char* name; const char* plan; } kSearches[] = {
    {"405B on 16,384", R"({"model": "llama-3.1-405b", "training": {"sequence_length": 8192, "global_batch_size": 2048, "gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1", "tensor": 8, "pipeline": 16}, "cluster": {"nodes": 2048, "node": "hgx-h100-80gb", "network": "roce-8x400"}})"},
    {"70B on 1,024", R"({"model": "llama-3-70b", "training": {"sequence_length": 8192, "global_batch_size": 1024, "gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1", "tensor": 8, "pipeline": 4}, "cluster": {"nodes": 128, "node": "hgx-h100-80gb", "network": "infiniband-8x400"}})"},
    {"8B on 8, torchtitan", R"({"model": "llama-3-8b", "training": {"sequence_length": 8192, "global_batch_size": 64, "gradient_dtype": "fp32", "implementation": "torchtitan"}, "parallel": {"data_sharding": "fsdp"}, "cluster": {"nodes": 1, "node": "hgx-h100-80gb"}})"}};

struct SearchTiming { const char* name; double layouts, seconds; };

SearchTiming search_time(const char* name, const Plan& plan, const Presets& presets, const Constants& constants) {
  const auto start = std::chrono::steady_clock::now();
  SearchOptions options;
  if (const Result<Implementation> implementation = presets.implementation(plan.training.implementation)) options.can = implementation.value().can;
  Search search({plan}, options, constants);
  const auto worker = search.worker();
  while (search.pieces() > 0) {
    for (std::size_t i = 0; i < search.pieces(); ++i) search.work(i, *worker);
    search.finish_block();
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return {name, static_cast<double>(search.counts().candidates), spent.count()};
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
  std::vector<SearchTiming> searches;
  for (const auto& [name, document] : kSearches) {
    const Result<Plan> plan = read_plan_text(document, presets);
    if (!plan) return 1;
    searches.push_back(search_time(name, plan.value(), presets, constants.value()));
  }
  if (as_json) {
    std::printf("{\"estimate_us\":{");
    for (std::size_t i = 0; i < timings.size(); ++i) std::printf("%s\"%s\":{\"median\":%.3f,\"minimum\":%.3f}", i ? "," : "", timings[i].name.c_str(), timings[i].median_us, timings[i].minimum_us);
    std::printf("},\"search\":{");
    for (std::size_t i = 0; i < searches.size(); ++i)
      std::printf("%s\"%s\":{\"layouts\":%.0f,\"seconds\":%.3f,\"layouts_per_s\":%.0f}", i ? "," : "", searches[i].name, searches[i].layouts, searches[i].seconds, searches[i].layouts / searches[i].seconds);
    std::printf("}}\n");
  } else {
    std::printf("one estimate, µs        median  minimum\n");
    for (const Timing& t : timings) std::printf("%-22s %7.2f  %7.2f\n", t.name.c_str(), t.median_us, t.minimum_us);
    std::printf("\nsearch on one core       layouts  seconds  layouts/s\n");
    for (const SearchTiming& t : searches) std::printf("%-22s %9.0f  %7.2f  %9.0f\n", t.name, t.layouts, t.seconds, t.layouts / t.seconds);
  }
  return 0;
}
