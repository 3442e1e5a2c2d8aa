#include "core/answer/scaling.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr double kBreak = 0.9;  // a count that keeps less than this of a GPU's speed loses more than 10 %

std::string gpus_text(Count n) { return format_count(static_cast<double>(n)) + (n == 1 ? " GPU" : " GPUs"); }

double share_of(Seconds part, const StepAnswer& s) { return s.time.value.value > 0 ? part / s.time.value : 0; }

// The part of the step that grew most per token, in GPU-seconds, and how it reads.
std::string cause_text(const ScalingPoint& before, const ScalingPoint& after) {
  struct Part { Seconds StepAnswer::* time; const char* name; };
  static constexpr Part kParts[] = {{&StepAnswer::exposed_communication, "communication that nothing hides"}, {&StepAnswer::compute, "compute"}, {&StepAnswer::bubble, "the pipeline bubble"},
                                    {&StepAnswer::optimizer, "the optimizer"}, {&StepAnswer::host, "work of the host"}, {&StepAnswer::offload, "offload"}, {&StepAnswer::straggler, "waiting for stragglers"}};
  const auto per_token = [](const ScalingPoint& p, const Part& part) { return (p.step.*part.time).value * static_cast<double>(p.gpus) / p.tokens; };
  const Part* worst = kParts;
  for (const Part& part : kParts)
    if (per_token(after, part) - per_token(before, part) > per_token(after, *worst) - per_token(before, *worst)) worst = &part;
  std::string text = std::string(worst->name) + " takes " + format_percent(share_of(after.step.*worst->time, after.step)) + " of the step instead of " +
                     format_percent(share_of(before.step.*worst->time, before.step));
  if (worst == kParts && !after.bottleneck.empty()) text += ", most of it at " + after.bottleneck;
  return text;
}

std::string scaling_text(const Scaling& s) {
  if (s.points.empty()) return "None of these counts holds the layout.";
  if (s.points.size() == 1) return "Of these counts only " + gpus_text(s.points[0].gpus) + (s.points[0].gpus == 1 ? " holds" : " hold") + " the layout: there is nothing to compare with.";
  const ScalingPoint& last = s.points.back();
  const std::string end = "each of " + gpus_text(last.gpus) + " does " + format_percent(last.efficiency) + " of what " + (s.points[0].gpus == 1 ? "one does alone." : "each of " + gpus_text(s.points[0].gpus) + " does.");
  if (s.breaks_at < 0) return "No count up to " + gpus_text(last.gpus) + " loses more than 10 % of a GPU's speed against the count before: " + end;
  const ScalingPoint& after = s.points[static_cast<std::size_t>(s.breaks_at)];
  const ScalingPoint& before = s.points[static_cast<std::size_t>(s.breaks_at) - 1];
  return "From " + format_count(static_cast<double>(before.gpus)) + " to " + gpus_text(after.gpus) + " each GPU keeps " + format_percent(after.kept) + " of its speed, the first loss of more than 10 %: " + cause_text(before, after) + ". At the end " + end;
}

// What validate() says, without its proposal: nothing but the data-parallel degree may change here.
std::string reason_of(const Error& e) { return e.text.substr(0, e.text.find(". Nearest")); }

std::string plan_product(const Parallel& p) {
  std::string text;
  for (const auto& [name, n] : {std::pair("tensor", p.tensor), std::pair("pipeline", p.pipeline), std::pair("context", p.context)})
    if (n > 1) text += (text.empty() ? "" : " × ") + std::string(name) + ' ' + format_exact(static_cast<double>(n));
  return text;
}

}  // namespace

std::vector<ScalingCount> scaling_counts(const Cluster& c, int up_to) {
  std::vector<ScalingCount> counts;
  for (int gpus = 1; gpus < c.gpus_per_node; gpus *= 2) counts.push_back({1, gpus});
  const int most = std::max(c.nodes, up_to);
  for (int nodes = 1; nodes < most; nodes *= 2) {
    counts.push_back({nodes, c.gpus_per_node});
    if (nodes < c.nodes && c.nodes < 2 * nodes && c.nodes < most) counts.push_back({c.nodes, c.gpus_per_node});
  }
  counts.push_back({most, c.gpus_per_node});
  return counts;
}

Result<Plan> plan_on(const Plan& plan, const ScalingCount& count, ScalingMode mode, const std::optional<Network>& network) {
  Plan p = plan;
  Cluster& c = p.cluster;
  const Count gpus = static_cast<Count>(count.nodes) * count.gpus_per_node;
  const bool is_same = count.nodes == c.nodes && count.gpus_per_node == c.gpus_per_node;
  c.nodes = count.nodes;
  c.gpus_per_node = count.gpus_per_node;
  if (static_cast<int>(c.gpus.size()) > count.gpus_per_node) c.gpus.resize(static_cast<std::size_t>(count.gpus_per_node));
  if (c.nodes > 1 && !c.network) c.network = network;
  if (!is_same) p.parallel.placement.clear();
  const Count others = p.parallel.tensor * p.parallel.pipeline * p.parallel.context;  // its product with data is the plan's number of GPUs
  if (gpus % others != 0)
    return Error{"parallel.data", format_exact(static_cast<double>(gpus)), "multiples of " + plan_product(p.parallel), plan_product(p.parallel) + " takes " + gpus_text(others) + " or a multiple"};
  p.parallel.data = gpus / others;
  if (mode == ScalingMode::weak) p.training.global_batch_size = micro_batches(plan) * p.training.micro_batch_size * p.parallel.data;
  if (Errors errors = validate(p); !errors.empty()) return errors;
  return p;
}

Scaling scaling(const Plan& plan, const Constants& constants, ScalingMode mode, int up_to, const std::optional<Network>& network) {
  Scaling s;
  s.mode = mode;
  for (const ScalingCount& count : scaling_counts(plan.cluster, up_to)) {
    const Count gpus = static_cast<Count>(count.nodes) * count.gpus_per_node;
    const Result<Plan> changed = plan_on(plan, count, mode, network);
    if (!changed) {
      s.left_out.push_back({count, gpus, reason_of(changed.errors().front())});
      continue;
    }
    const Plan& p = changed.value();
    const Estimate e = estimate(p, constants);
    ScalingPoint point;
    point.count = count;
    point.gpus = gpus;
    point.is_plan = count.nodes == plan.cluster.nodes && count.gpus_per_node == plan.cluster.gpus_per_node;
    point.fits = e.memory.fits && e.memory.fits_host != 0;
    point.tokens = static_cast<double>(p.training.global_batch_size) * static_cast<double>(p.training.sequence_length);
    point.step = e.step;
    if (const CommunicationRow* row = most_exposed(e)) point.bottleneck = row->bottleneck;
    const double speed = e.step.tokens_per_s_per_gpu;
    if (!s.points.empty()) {
      const double first = s.points.front().step.tokens_per_s_per_gpu, before = s.points.back().step.tokens_per_s_per_gpu;
      if (first > 0) point.efficiency = speed / first;
      if (before > 0) point.kept = speed / before;
      if (s.breaks_at < 0 && point.kept < kBreak) s.breaks_at = static_cast<int>(s.points.size());
    }
    s.points.push_back(std::move(point));
  }
  s.text = scaling_text(s);
  return s;
}

}  // namespace wireplan
