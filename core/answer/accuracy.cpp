#include "core/answer/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/answer/fit_links.hpp"
#include "core/base/format.hpp"
#include "core/base/statistics.hpp"

namespace wireplan {
namespace {

bool is_time(Metric m) { return m <= Metric::mfu; }

// The stage whose memory a run is about: -1, the fullest, where it does not say.
int stage_of(const Run& run) {
  const int stages = static_cast<int>(run.plan->parallel.pipeline);
  if (run.stage >= 0) return run.stage < stages ? run.stage : -1;
  if (run.rank < 0 || run.rank >= total_gpus(run.plan->cluster)) return -1;
  const std::vector<int> pipeline = group_ranks(*run.plan, GroupKind::pipeline, run.rank);
  const auto found = std::find(pipeline.begin(), pipeline.end(), run.rank);
  return found == pipeline.end() ? -1 : static_cast<int>(found - pipeline.begin());
}

double predicted_value(Metric metric, const Estimate& e, std::size_t stage) {
  const StageMemory& s = e.stage_memory[stage];
  const RankMemory& r = e.memory.ranks[stage];
  switch (metric) {
    case Metric::step_time: return e.step.time.value.value;
    case Metric::tokens_per_s_per_gpu: return e.step.tokens_per_s_per_gpu;
    case Metric::model_tflops_per_gpu: return e.step.model_tflops_per_gpu;
    case Metric::hardware_tflops_per_gpu: return e.step.hardware_tflops_per_gpu;
    case Metric::mfu: return e.step.mfu;
    case Metric::allocated: return r.allocated.value;
    case Metric::reserved: return r.reserved.value;
    case Metric::device: return r.device.value;
    case Metric::first_step_allocated: return s.first_step.value;
    case Metric::between_steps: return s.between_steps.value;
    case Metric::after_forward: return s.after_forward.value;
    case Metric::after_backward: return s.after_backward.value;
    case Metric::initialize_peak: return s.initialize.value;
    case Metric::states_parameters: return s.states.parameters.value;
    case Metric::states_gradients: return s.states.gradients.value;
    case Metric::states_master_weights: return s.states.master_weights.value;
    case Metric::states_optimizer_states: return s.states.optimizer_states.value;
    case Metric::event:
    case Metric::collectives_calls:
    case Metric::collectives_bytes:
    case Metric::collective_time:
    case Metric::nccl_nodes:
    case Metric::nccl_paths:
    case Metric::nccl_graphs:
    case Metric::nccl_rings:
    case Metric::nccl_trees:
    case Metric::nccl_choice:
    case Metric::nccl_time: break;  // not one number of the estimate
  }
  return 0;
}

std::string sum_text(const CollectiveSum& s) {
  return std::string(name_of(s.collective)) + ' ' + std::string(name_of(s.element)) + ' ' + std::to_string(s.ranks);
}

auto key_of(const CollectiveSum& s) { return std::tuple(s.collective, s.element, s.ranks); }

// Adds rows of one run to an accuracy.
struct Comparer {
  Accuracy& accuracy;
  std::size_t run;

  void add(Metric metric, double measured, double predicted, std::string what = {}, std::optional<Bytes> size = {}) {
    accuracy.rows.push_back({run, metric, std::move(what), size, {}, {}, measured, predicted, relative_error(predicted, measured), {}, {}});
  }

  void add_event(const PeakPlace& seen, const PeakPlace& expected) {
    add(Metric::event, 0, is_same_place(expected, seen) ? 0 : 1);
    accuracy.rows.back().seen_at = seen;
    accuracy.rows.back().expected_at = expected;
  }

  void add_decision(Metric metric, bool is_right, std::string seen, std::string expected, std::string what = {}, std::optional<Bytes> size = {}) {
    add(metric, 0, is_right ? 0 : 1, std::move(what), size);
    if (is_right) return;
    accuracy.rows.back().seen = std::move(seen);
    accuracy.rows.back().expected = std::move(expected);
  }

  void add_nccl(const NcclCase& known) {
    const NcclCaseResult result = compare_nccl(known);
    for (const NcclPartResult& part : result.parts)
      add_decision(static_cast<Metric>(static_cast<int>(Metric::nccl_nodes) + static_cast<int>(part.part)), part.is_right, part.seen, part.expected, part.where);
    for (const NcclPointResult& p : result.points) {
      const std::string op(name_of(p.point->operation));
      const auto text = [](auto algorithm, auto protocol) { return std::string(name_of(algorithm)) + ' ' + std::string(name_of(protocol)); };
      if (p.is_right) {
        add_decision(Metric::nccl_choice, true, {}, {}, op, p.point->size);
        add(Metric::nccl_time, p.point->time.value, p.choice.time_us / 1e6, op, p.point->size);
      } else {
        add_decision(Metric::nccl_choice, false, text(p.point->algorithm, p.point->protocol), p.choice.is_none ? "none" : text(p.choice.algorithm, p.choice.protocol), op, p.point->size);
      }
    }
  }

  void add_collectives(const std::vector<CollectiveSum>& measured, const std::vector<CollectiveSum>& predicted) {
    std::vector<CollectiveSum> all = predicted;  // what only one side has counts as 0 on the other
    all.insert(all.end(), measured.begin(), measured.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
    all.erase(std::unique(all.begin(), all.end(), [](const auto& a, const auto& b) { return key_of(a) == key_of(b); }), all.end());
    const auto sum = [](const std::vector<CollectiveSum>& list, const CollectiveSum& key) {
      CollectiveSum total;
      for (const CollectiveSum& s : list)
        if (key_of(s) == key_of(key)) {
          total.calls += s.calls;
          total.bytes += s.bytes;
        }
      return total;
    };
    for (const CollectiveSum& key : all) {
      const CollectiveSum m = sum(measured, key), p = sum(predicted, key);
      add(Metric::collectives_calls, m.calls, p.calls, sum_text(key));
      add(Metric::collectives_bytes, m.bytes.value, p.bytes.value, sum_text(key));
    }
  }
};

void count_verdict(Verdicts& v, Outcome outcome, Verdict called) {
  if (outcome == Outcome::unknown) return;
  const bool ran = outcome == Outcome::fits;
  switch (called) {
    case Verdict::fits:
    case Verdict::tight: ++(ran ? v.fits_right : v.oom_wrong); break;
    case Verdict::may_not_fit: ++v.undecided; break;
    case Verdict::does_not_fit: ++(ran ? v.fits_wrong : v.oom_right); break;
  }
}

std::optional<TimedRun> timed(std::size_t index, const Run& run, const Estimate& e) {
  const double seconds = e.step.time.value.value;
  for (const Run::Value& v : run.measured) {
    if (!is_time(v.metric) || v.value <= 0) continue;
    if (v.metric == Metric::step_time) return TimedRun{index, seconds, v.value};
    return TimedRun{index, seconds, seconds * predicted_value(v.metric, e, 0) / v.value};
  }
  return std::nullopt;
}

bool is_same_sweep(const Run& a, const Run& b) {
  const Training &s = a.plan->training, &t = b.plan->training;
  return a.source == b.source && s.global_batch_size == t.global_batch_size && s.sequence_length == t.sequence_length &&
         s.parameter_dtype == t.parameter_dtype && a.plan->model == b.plan->model && a.plan->cluster == b.plan->cluster;
}

std::string machine_of(const Cluster& c) { return c.node.id.empty() ? std::to_string(c.node.gpus) + " x " + c.node.gpu.id : c.node.id; }

std::string sweep_text(const Run& run) {
  const Plan& p = *run.plan;
  std::string model = p.model.id;
  if (model.empty()) model = format_parameters(count_parameters(p.model).total) + " model";
  return run.source + ", " + model + ", " + format_count(static_cast<double>(total_gpus(p.cluster))) + " GPUs of " + machine_of(p.cluster) + ", batch " +
         format_count(static_cast<double>(p.training.global_batch_size)) + ", sequence " + format_count(static_cast<double>(p.training.sequence_length)) + ", " +
         std::string(name_of(p.training.parameter_dtype));
}

std::string group_of(const Accuracy& a, const ErrorRow& row, GroupBy by) {
  const Run& run = a.runs.runs[row.run];
  switch (by) {
    case GroupBy::nothing: break;
    case GroupBy::source: return run.source;
    case GroupBy::machine: return run.nccl ? run.nccl->topology : run.plan ? machine_of(run.plan->cluster) : machine_of(*run.collective);
    case GroupBy::wiring: return run.nccl ? "topology files" : run.plan ? "plans" : wiring_of(*run.collective);
    case GroupBy::framework: return run.nccl ? "NCCL " + run.nccl->release.version : run.plan ? std::string(name_of(run.plan->parallel.framework)) : "collectives";
    case GroupBy::size: return row.size->value < 1048576 ? "below 1 MiB" : "from 1 MiB on";
  }
  return {};
}

ErrorSummary summary_of(const std::vector<ErrorRow>& all, const std::vector<std::size_t>& rows) {
  ErrorSummary s;
  std::vector<double> absolute, signed_errors;
  for (std::size_t row : rows) {
    const double error = all[row].error;
    if (absolute.empty() || std::fabs(error) > s.worst_abs) {
      s.worst_abs = std::fabs(error);
      s.worst_row = row;
    }
    absolute.push_back(std::fabs(error));
    signed_errors.push_back(error);
  }
  s.count = rows.size();
  s.median_abs = quantile(absolute, 0.5);
  s.p90_abs = quantile(std::move(absolute), 0.9);
  s.median = quantile(std::move(signed_errors), 0.5);
  return s;
}

// Constants without what a run must not know; one fit for each source, machine or kind of wiring.
struct Refits {
  const LinkConstants& all;
  const Fitted& fitted;
  std::map<std::string, LinkConstants> made;

  std::string key_of(const CollectiveRun& run) const {
    if (fitted.left_out == GroupBy::machine) return machine_of(run);
    return fitted.left_out == GroupBy::wiring ? wiring_of(run) : run.source;
  }

  const LinkConstants& without(const CollectiveRun& run) {
    if (fitted.runs.empty()) return all;
    const std::string key = key_of(run);
    if (const auto known = made.find(key); known != made.end()) return known->second;
    std::vector<CollectiveRun> others;
    for (const CollectiveRun& other : fitted.runs)
      if (key_of(other) != key) others.push_back(other);
    if (others.size() == fitted.runs.size()) return all;
    return made.emplace(key, fit_links(all, others)).first->second;
  }
};

}  // namespace

double relative_error(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? 0 : 1;
  return predicted / measured - 1;
}

PeakPlace predicted_peak(const StageMemory& stage) {
  const Place& at = stage.place;
  const bool is_in_layers = at.phase == StepPhase::forward || at.phase == StepPhase::backward;
  if (!is_in_layers || at.layer == kNoLayer) return {at.phase, std::nullopt};
  return {at.phase, at.layer == kEmbeddingLayer ? -1 : at.layer};
}

bool is_same_place(const PeakPlace& predicted, const PeakPlace& seen) {
  if (predicted.phase != seen.phase) return false;
  if (!predicted.layer || !seen.layer) return true;
  return *predicted.layer - *seen.layer <= 1 && *seen.layer - *predicted.layer <= 1;
}

std::vector<CollectiveSum> collective_sums(const Plan& plan, const std::vector<Message>& messages) {
  std::vector<CollectiveSum> sums;
  for (const Message& m : messages) {
    const CollectiveSum one{m.collective, m.element, static_cast<int>(group_size(plan, m.group)), m.calls, m.calls * m.bytes};
    const auto known = std::find_if(sums.begin(), sums.end(), [&](const CollectiveSum& s) { return key_of(s) == key_of(one); });
    if (known == sums.end()) {
      sums.push_back(one);
    } else {
      known->calls += one.calls;
      known->bytes += one.bytes;
    }
  }
  std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  return sums;
}

std::vector<Seconds> predicted_times(const CollectiveRun& run, const LinkConstants& constants) {
  const PreparedCluster cluster = prepare(run, constants);
  const RingOnWiring ring = ring_on_wiring(cluster, group_of(run));
  std::vector<Seconds> times;
  for (const MeasuredCurve::Point& p : run.points) times.push_back(collective_call(cluster, ring, run.collective, run.gpus, p.size).time.value);
  return times;
}

double regret(const std::vector<double>& predicted, const std::vector<double>& measured) {
  if (predicted.empty() || predicted.size() != measured.size()) return 0;
  const double fastest = *std::min_element(predicted.begin(), predicted.end());
  const double best = *std::min_element(measured.begin(), measured.end());
  double chosen = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (predicted[i] == fastest) chosen = std::max(chosen, measured[i]);
  return best > 0 ? chosen / best - 1 : 0;
}

std::vector<RankingGroup> layout_ranking(const Runs& runs, const std::vector<TimedRun>& timed) {
  std::vector<std::vector<TimedRun>> groups;
  for (const TimedRun& t : timed) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return is_same_sweep(runs.runs[g.front().run], runs.runs[t.run]); });
    if (group == groups.end()) groups.push_back({t});
    else group->push_back(t);
  }
  std::vector<RankingGroup> ranking;
  for (const auto& group : groups) {
    if (group.size() < 2) continue;
    std::vector<double> predicted, measured;
    for (const TimedRun& t : group) {
      predicted.push_back(t.predicted);
      measured.push_back(t.measured);
    }
    ranking.push_back({sweep_text(runs.runs[group.front().run]), group.size(), spearman(predicted, measured), regret(predicted, measured)});
  }
  return ranking;
}

std::vector<MetricSummary> summary_by(const Accuracy& a, GroupBy by) {
  struct Group {
    std::string name;
    std::array<std::vector<std::size_t>, kNames<Metric>.size()> rows;
  };
  std::vector<Group> groups;  // as they come
  std::map<std::string, std::size_t> known;
  for (std::size_t row = 0; row < a.rows.size(); ++row) {
    if (by == GroupBy::size && !a.rows[row].size) continue;
    const std::string name = group_of(a, a.rows[row], by);
    const auto [group, is_new] = known.emplace(name, groups.size());
    if (is_new) groups.push_back({name, {}});
    groups[group->second].rows[static_cast<std::size_t>(a.rows[row].metric)].push_back(row);
  }
  std::vector<MetricSummary> summaries;
  for (const Group& group : groups)
    for (std::size_t m = 0; m < group.rows.size(); ++m)
      if (!group.rows[m].empty()) summaries.push_back({group.name, static_cast<Metric>(m), summary_of(a.rows, group.rows[m])});
  return summaries;
}

Accuracy accuracy(Runs runs, const Constants& constants, const Fitted& fitted) {
  Accuracy a;
  Refits refits{constants.links, fitted, {}};
  a.runs = std::move(runs);
  for (std::size_t i = 0; i < a.runs.runs.size(); ++i) {
    const Run& run = a.runs.runs[i];
    Comparer compare{a, i};
    if (run.collective) {
      const std::vector<Seconds> predicted = predicted_times(*run.collective, refits.without(*run.collective));
      for (std::size_t p = 0; p < predicted.size(); ++p) {
        const MeasuredCurve::Point& point = run.collective->points[p];
        compare.add(Metric::collective_time, point.time.value, predicted[p].value, {}, point.size);
      }
    }
    if (run.nccl) compare.add_nccl(*run.nccl);
    if (!run.plan) continue;

    const Estimate e = estimate(*run.plan, constants);
    const int stated = stage_of(run);
    const auto stage = static_cast<std::size_t>(stated < 0 ? e.memory.worst_stage : stated);
    for (const Run::Value& v : run.measured) compare.add(v.metric, v.value, predicted_value(v.metric, e, stage));
    if (run.event) compare.add_event(*run.event, predicted_peak(e.stage_memory[stage]));
    if (run.collectives)
      compare.add_collectives(*run.collectives, collective_sums(*run.plan, stated < 0 ? step_messages(*run.plan) : stage_messages(*run.plan, stated)));
    count_verdict(a.verdicts, run.outcome, e.memory.verdict);
    if (const auto t = timed(i, run, e)) a.timed.push_back(*t);
  }
  a.summary = summary_by(a, GroupBy::nothing);
  a.ranking = layout_ranking(a.runs, a.timed);
  return a;
}

}  // namespace wireplan
