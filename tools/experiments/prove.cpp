// Whether the measurements that a search asks for lead to the best layout, on machines whose measured tables are held back:
//
//   wireplan_experiments assets/measurements/collectives.jsonl [machine|wiring|made-up]
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "core/answer/fit_links.hpp"
#include "core/base/math.hpp"
#include "core/base/statistics.hpp"
#include "core/describe/defaults.hpp"
#include "core/text/plan_defaults.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_runs.hpp"
#include "tools/experiments/campaign.hpp"

using namespace wireplan;

namespace {

// Of each machine's GPUs two or four sequences a step, as on large clusters, where waiting decides.
struct Trained { const char* name; const char* document; int sequences; bool has_pipeline; };
const Trained kTrainings[] = {
    {"Llama 3 8B, Megatron", R"({"model": "llama-3-8b", "training": {"gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1"}, "cluster": {"node": "hgx-h100-80gb"}})", 4, true},
    {"Llama 3 8B, Megatron, no pipeline", R"({"model": "llama-3-8b", "training": {"gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1"}, "cluster": {"node": "hgx-h100-80gb"}})", 2, false},
    {"Llama 3 8B, torchtitan, no pipeline", R"({"model": "llama-3-8b", "training": {"implementation": "torchtitan", "gradient_dtype": "fp32"}, "parallel": {"data_sharding": "fsdp"}, "cluster": {"node": "hgx-h100-80gb"}})", 2, false},
    {"Llama 2 13B, Megatron, no pipeline", R"({"model": "llama-2-13b", "training": {"gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1"}, "cluster": {"node": "hgx-h100-80gb"}})", 2, false},
    {"Mistral 7B, DeepSpeed", R"({"model": "mistral-7b-v0.1", "parallel": {"framework": "deepspeed", "data_sharding": "zero2"}, "cluster": {"node": "hgx-h100-80gb"}})", 2, false},
    {"Mixtral 8x7B, Megatron, no pipeline", R"({"model": "mixtral-8x7b", "training": {"gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1", "expert": 8}, "cluster": {"node": "hgx-h100-80gb"}})", 2, false},
};
constexpr std::size_t kMost = 3;
constexpr int kSeeds = 4;

struct Sums {
  std::vector<double> ranked[kMost + 1], random[kMost + 1], full;
  double full_count = 0;
  int count = 0, changed = 0;
};

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

double normal(std::uint64_t& state) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    sum += static_cast<double>(state >> 11U) * 0x1p-53;
  }
  return sum;
}

// A machine of the kind whose wires are off by as much as bands allow, each constant by itself.
LinkConstants made_up(const LinkConstants& from, std::uint64_t seed) {
  std::uint64_t state = seed * 7919 + 17;
  LinkConstants k = from;
  k.tables.clear();
  const auto move = [&](double& value, double spread) { value *= exponential(spread * normal(state)); };
  for (LinkConstants::Class& c : k.classes) {
    move(c.efficiency, 0.25);
    move(c.all_to_all_efficiency, 0.25);
    move(c.nvls_efficiency, 0.25);
    move(c.fill.value, 0.4);
    move(c.hop.value, 0.4);
    move(c.copy.value, 0.4);
  }
  for (LinkConstants::FabricRate& f : k.fabrics) {
    move(f.efficiency, 0.3);
    move(f.latency.value, 0.5);
    move(f.fill.value, 0.5);
  }
  return k;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  if (!file) {
    std::fprintf(stderr, "wireplan_experiments: a file of sweeps is wanted, and it must be readable\n");
    return 2;
  }
  const std::string way = argc > 2 ? argv[2] : "machine", only = argc > 3 ? argv[3] : "";
  std::stringstream text;
  text << file.rdbuf();
  const Presets presets;
  const Result<Runs> runs = read_runs(text.str(), presets);
  const Result<LinkConstants> expected = presets.expected_links();
  const Result<Constants> shipped = presets.constants();
  if (!runs || !expected || !shipped) return 2;
  std::vector<CollectiveRun> sweeps;
  for (const Run& run : runs.value().runs)
    if (run.collective) sweeps.push_back(*run.collective);
  share_plans(sweeps, expected.value());
  const auto key_of = [&](const CollectiveRun& r) { return way == "wiring" ? wiring_of(r) : machine_of(r); };
  // The largest part of each machine that was measured.
  std::map<std::string, const CollectiveRun*> machines;
  for (const CollectiveRun& r : sweeps) {
    if (r.gpus < 8 || r.nodes > 8) continue;
    const CollectiveRun*& known = machines[machine_of(r)];
    if (!known || r.gpus > known->gpus) known = &r;
  }
  std::map<std::string, Constants> beliefs;
  Sums all;
  std::printf("| machine | training | regret | after 1 | after 2 | after 3 | at random | all of n | measured |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, run] : machines) {
    if (!only.empty() && name.find(only) == std::string::npos) continue;
    const auto [at, is_new] = beliefs.try_emplace(key_of(*run), shipped.value());
    if (is_new) {
      std::vector<CollectiveRun> others;
      for (const CollectiveRun& r : sweeps)
        if (key_of(r) != key_of(*run)) others.push_back(r);
      at->second.links = fit_links(shipped.value().links, others);
    }
    const int worlds = way == "made-up" ? 2 : 1;
    for (int world = 0; world < worlds; ++world) {
      Constants truth = shipped.value();
      if (way == "made-up") truth.links = made_up(truth.links, static_cast<std::uint64_t>(world) + 1);
      for (const Trained& t : kTrainings) {
        Result<Plan> plan = read_plan_text(t.document, presets);
        if (!plan) {
          std::fprintf(stderr, "%s: %s\n", t.name, plan.errors().front().text.c_str());
          return 2;
        }
        Plan& p = plan.value();
        p.cluster = run->cluster;
        p.cluster.nodes = run->nodes;
        p.parallel.data = total_gpus(p.cluster);
        p.parallel.expert = p.model.moe ? std::min<Count>(p.parallel.expert, total_gpus(p.cluster)) : 1;
        p.training.global_batch_size = t.sequences * total_gpus(p.cluster);
        decide_again(p);
        SearchOptions o;
        const auto implementation = presets.implementation(implementation_id(p.training.implementation));
        if (!implementation) return 2;
        o.can = implementation.value().can;
        o.can.offload = false;
        if (!t.has_pipeline) o.can.pipeline = false;
        const Campaign campaign{p, o, at->second, truth};
        const double best = campaign.true_best();
        if (best <= 0) continue;
        const Campaign::Course ranked = campaign.course(best, kMost, Campaign::ranked), full = campaign.course(best, 1000, Campaign::open);
        if (ranked.regret.empty()) continue;
        ++all.count;
        if (!ranked.measured.empty()) ++all.changed;
        std::vector<double> random[kMost + 1];
        for (int seed = 0; seed < kSeeds; ++seed) {
          const Campaign::Course c = campaign.course(best, kMost, Campaign::AtRandom{static_cast<std::uint64_t>(seed) + 1});
          for (std::size_t n = 0; n <= kMost; ++n) random[n].push_back(c.at(n));
        }
        for (std::size_t n = 0; n <= kMost; ++n) {
          all.ranked[n].push_back(ranked.at(n));
          all.random[n].push_back(mean(random[n]));
        }
        all.full.push_back(full.regret.back());
        all.full_count += static_cast<double>(full.measured.size());
        std::string measured;
        for (const std::string& m : ranked.measured) measured += (measured.empty() ? "" : ", ") + m;
        std::printf("| %s%s | %s | %.2f %% | %.2f %% | %.2f %% | %.2f %% | %.2f %% | %.2f %% of %zu | %s |\n", name.c_str(), worlds > 1 ? (" #" + std::to_string(world + 1)).c_str() : "", t.name, 100 * ranked.at(0), 100 * ranked.at(1),
                    100 * ranked.at(2), 100 * ranked.at(3), 100 * mean(random[3]), 100 * full.regret.back(), full.measured.size(), measured.c_str());
        std::fflush(stdout);
        if (!only.empty())  // one machine is looked at closely
          for (std::size_t n = 0; n < ranked.choices.size(); ++n) std::printf("  %zu: %s\n", n, ranked.choices[n].c_str());
      }
    }
  }
  std::printf("\n%d searches, measurements asked for in %d, a full sweep of %.1f on average\n\n| measurements | 0 | 1 | 2 | 3 |\n|---|---|---|---|---|\n", all.count, all.changed, all.count > 0 ? all.full_count / all.count : 0);
  const auto row = [&](const char* name, const std::vector<double>* of, auto&& figure) {
    std::printf("| %s |", name);
    for (std::size_t n = 0; n <= kMost; ++n) std::printf(" %s |", figure(of[n]).c_str());
    std::printf("\n");
  };
  const auto percent = [](double x) { return format_fixed(100 * x, 2) + " %"; };
  const auto worst = [&](const std::vector<double>& v) { return percent(quantile(v, 1)); };
  const auto within = [&](const std::vector<double>& v) {
    int count = 0;
    for (double x : v) count += x <= 0.01;
    return std::to_string(count) + " of " + std::to_string(v.size());
  };
  row("as ranked, mean regret", all.ranked, [&](const auto& v) { return percent(mean(v)); });
  row("as ranked, worst", all.ranked, worst);
  row("as ranked, within 1 %", all.ranked, within);
  row("at random, mean regret", all.random, [&](const auto& v) { return percent(mean(v)); });
  row("at random, worst mean", all.random, worst);
  row("at random, within 1 % (mean)", all.random, within);
  std::printf("\nfull sweep: mean %s, worst %s, within 1 %%: %s\n", percent(mean(all.full)).c_str(), worst(all.full).c_str(), within(all.full).c_str());
  return 0;
}
