#include "native/measure/replay_result.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/format.hpp"
#include "core/base/statistics.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

constexpr double kUneven = 0.02;  // of the step, between what it is predicted to take and what its jobs take as predicted: more is worth a word
constexpr double kSpread = 0.1;  // of the step between the quickest and the slowest repeat: more is worth a word

Spread spread_of(const std::vector<double>& values) { return {quantile(values, 0), quantile(values, 0.5), quantile(values, 1)}; }

std::string signed_percent(double share) { return (share >= 0 ? "+" : "") + format_fixed(share * 100, 1) + " %"; }
std::string seconds(double s) { return format_seconds(Seconds(s)); }

// Mean time of a message's calls in one repeat, by message: each from when the last of its group has come to it until it has ended on all.
std::vector<double> means_of_calls(const Schedules& s, const PlayedTimes& times) {
  struct One { double start = 0, end = 0; };
  std::map<std::pair<int, int>, std::vector<One>> calls;  // by lane and group, in their order
  std::map<std::pair<int, int>, std::vector<int>> messages;
  for (std::size_t gpu = 0; gpu < s.jobs.size(); ++gpu) {
    std::map<std::pair<int, int>, std::size_t> next;
    for (std::size_t j = 0; j < s.jobs[gpu].size(); ++j) {
      const StepJob& job = s.jobs[gpu][j];
      if (job.message < 0) continue;
      const std::pair<int, int> key(job.lane, job.group);
      std::vector<One>& list = calls[key];
      const std::size_t i = next[key]++;
      if (i >= list.size()) {
        list.resize(i + 1);
        messages[key].push_back(job.message);
      }
      list[i].start = std::max(list[i].start, times[gpu][j].start.value);
      list[i].end = std::max(list[i].end, times[gpu][j].end.value);
    }
  }
  std::vector<double> sums(s.cost.messages.size(), 0), counts(s.cost.messages.size(), 0);
  for (const auto& [key, list] : calls)
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::size_t message = static_cast<std::size_t>(messages[key][i]);
      sums[message] += list[i].end - list[i].start;
      ++counts[message];
    }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = counts[i] > 0 ? sums[i] / counts[i] : 0;
  return sums;
}

double calls_of(const Schedules& s, int message) {
  double most = 0;
  for (const std::vector<StepJob>& jobs : s.jobs)
    most = std::max(most, static_cast<double>(std::count_if(jobs.begin(), jobs.end(), [&](const StepJob& j) { return j.message == message && (!j.is_hop || j.is_sender); })));
  return most;
}

void find(Replay& r) {
  r.findings.clear();
  if (!r.failure.empty()) r.findings.push_back({"failed", r.failure, ""});
  if (r.repeats == 0) return;
  if (!r.is_within()) {
    const ReplayRow* worst = nullptr;  // whose calls take most time more, or less, than predicted
    const auto off = [](const ReplayRow& row) { return std::fabs(row.calls * (row.measured.median - row.predicted)); };
    for (const ReplayRow& row : r.rows)
      if (!worst || off(row) > off(*worst)) worst = &row;
    if (worst) {
      const Message& m = r.estimate.cost.messages[static_cast<std::size_t>(worst->message)].message;
      r.findings.push_back({"off", "most of it is " + std::string(m.name) + ": a call of " + format_message_size(m.bytes) + " took " + seconds(worst->measured.median) + ", predicted " + seconds(worst->predicted),
                            "wireplan measure --op " + std::string(name_of(m.collective)) + " -b " + format_fixed(m.bytes.value, 0) + " -e " + format_fixed(m.bytes.value, 0)});
    }
  }
  std::string others;
  int count = 0;
  for (const ReplayRow& row : r.rows) {
    const MessageCost& c = r.estimate.cost.messages[static_cast<std::size_t>(row.message)];
    if (c.call.basis == Basis::profile) continue;
    ++count;
    if (others.find(c.message.name) == std::string::npos) others += (others.empty() ? "" : ", ") + std::string(c.message.name);
  }
  if (count > 0)
    r.findings.push_back({"no-profile", std::to_string(count) + " of " + std::to_string(r.rows.size()) + " messages are predicted without a curve of this machine at their size: " + others,
                          "wireplan measure, then wireplan validate --out, then replay --profile"});
  if (std::fabs(r.played / r.predicted - 1) > kUneven)
    r.findings.push_back({"uneven", "played at the predicted times the jobs take " + seconds(r.played) + ", " + signed_percent(r.played / r.predicted - 1) + " of the prediction: that spreads calls evenly over the layers, and hides a share of tensor parallelism whatever computes beside it", ""});
  if (r.repeats > 1 && r.step.most - r.step.least > kSpread * r.step.median)
    r.findings.push_back({"unsteady", "the repeats differ by " + format_percent((r.step.most - r.step.least) / r.step.median) + " of a step", "what else runs on these machines; more --repeats"});
}

Json write_spread(const Spread& s) {
  Json j = Json::object();
  put(j, "min", s.least);
  put(j, "median", s.median);
  put(j, "max", s.most);
  return j;
}

}  // namespace

std::string Replay::verdict() const {
  if (!is_complete) return "The replay stopped" + (failure.empty() ? std::string() : ": " + failure) + ".";
  const std::string by = signed_percent(error());
  return is_within() ? "As predicted: the step took " + seconds(step.median) + ", predicted " + seconds(predicted) + " (" + by + ", within " + format_percent(tolerance) + ")."
                     : "Not as predicted: the step took " + seconds(step.median) + ", predicted " + seconds(predicted) + " (" + by + ", outside " + format_percent(tolerance) + ").";
}

void judge(Replay& r, const Schedules& s, const std::vector<PlayedTimes>& repeats, bool plays_products) {
  const std::size_t gpus = s.jobs.size();
  r.predicted = s.cost.time.value.value;
  r.repeats = static_cast<int>(repeats.size());
  std::vector<double> ends, stood;
  std::vector<int> last(gpus, 0);
  std::vector<std::vector<double>> means(s.cost.messages.size());
  for (const PlayedTimes& times : repeats) {
    std::size_t slowest = 0;
    double end = 0;
    for (std::size_t g = 0; g < gpus; ++g)
      for (const PlayedJob& job : times[g])
        if (job.end.value > end) end = job.end.value, slowest = g;
    ends.push_back(end);
    ++last[slowest];
    const std::vector<double> mean = means_of_calls(s, times);
    for (std::size_t i = 0; i < mean.size(); ++i) means[i].push_back(mean[i]);
  }
  r.slowest = static_cast<int>(std::max_element(last.begin(), last.end()) - last.begin());
  const std::vector<StepJob>& jobs = s.jobs[static_cast<std::size_t>(r.slowest)];
  for (const PlayedTimes& times : repeats) stood.push_back(time_stood(jobs, times[static_cast<std::size_t>(r.slowest)]).value);
  r.step = spread_of(ends);
  r.exposed = spread_of(stood);

  r.timed = r.slowed = 0;
  for (const StepJob& job : jobs) {
    if (job.lane != JobGroups::kCompute) continue;
    const bool is_work = plays_products && (job.layers > 0 || job.heads > 0);
    if (!is_work) r.timed += job.time.value, r.slowed += job.slowed.value;
  }
  const std::vector<int> pipeline = group_ranks(s.plan, GroupKind::pipeline, s.rank_on[static_cast<std::size_t>(r.slowest)]);
  std::vector<std::vector<StepJob>> lists;
  std::size_t own = 0;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const int gpu = s.gpu_of[static_cast<std::size_t>(pipeline[i])];
    if (gpu == r.slowest) own = i;
    lists.push_back(s.jobs[static_cast<std::size_t>(gpu)]);
  }
  const PlayedStep step = wireplan::played(lists, pipeline, s.groups);
  r.played = step.end.value;
  r.predicted_exposed = step.stood(own, lists[own]).value;

  r.rows.clear();
  for (std::size_t i = 0; i < s.cost.messages.size(); ++i) {
    const MessageCost& c = s.cost.messages[i];
    const double calls = calls_of(s, static_cast<int>(i));
    if (calls > 0) r.rows.push_back({static_cast<int>(i), calls, c.sharing * c.call.time.value.value, spread_of(means[i])});
  }
  find(r);
}

Json write_replay(const Replay& r) {
  Json j = Json::object(), step = Json::object(), exposed = Json::object(), rows = Json::array(), findings = Json::array();
  put(step, "predicted_s", r.predicted);
  put(step, "played_s", r.played);
  put(step, "timed_s", r.timed);
  put(step, "measured_s", write_spread(r.step));
  put(step, "error", r.repeats > 0 ? number(r.error()) : Json(nullptr));
  put(exposed, "predicted_s", r.predicted_exposed);
  put(exposed, "measured_s", write_spread(r.exposed));
  put(exposed, "error_of_step", r.step.median > 0 ? (r.predicted_exposed - r.exposed.median) / r.step.median : 0);
  put(exposed, "slowed_s", r.slowed);
  put(exposed, "estimate_s", r.estimate.cost.exposed_communication.value);
  for (const ReplayRow& row : r.rows) {
    const MessageCost& c = r.estimate.cost.messages[static_cast<std::size_t>(row.message)];
    Json one = Json::object();
    put(one, "name", c.message.name);
    put(one, "collective", name_of(c.message.collective));
    put(one, "dimension", name_of(c.message.group));
    put(one, "ranks", c.ranks);
    put(one, "bytes", c.message.bytes);
    put(one, "calls", row.calls);
    put(one, "basis", name_of(c.call.basis));
    put(one, "predicted_s", row.predicted);
    put(one, "measured_s", write_spread(row.measured));
    put(one, "error", r.repeats > 0 ? number(row.error()) : Json(nullptr));
    rows.push_back(std::move(one));
  }
  for (const ReplayFinding& f : r.findings) {
    Json one = Json::object();
    put(one, "rule", f.rule);
    put(one, "text", plain_text(f.text, 400));
    put(one, "check", f.check);
    findings.push_back(std::move(one));
  }
  put(j, "schema", "wireplan.replay/1");
  put(j, "engine", kEngineVersion);
  put(j, "complete", r.is_complete);
  put(j, "environment", write_environment(r));
  put(j, "plan", write_plan(r.plan));
  put(j, "repeats", r.repeats);
  put(j, "step", std::move(step));
  put(j, "exposed", std::move(exposed));
  put(j, "slowest_rank", r.slowest);
  put(j, "collectives", std::move(rows));
  put(j, "findings", std::move(findings));
  put(j, "tolerance", r.tolerance);
  put(j, "within", r.is_within());
  put(j, "verdict", r.verdict());
  return j;
}

std::string render_replay(const Replay& r, RenderFormat format) {
  const auto exact = [](double v) { return format_exact(v); };
  if (format == RenderFormat::csv) {
    std::string text = csv_line({"what", "collective", "dimension", "ranks", "bytes", "calls", "predicted_s", "measured_min_s", "measured_median_s", "measured_max_s", "error"});
    text += csv_line({"step", "", "", "", "", "", exact(r.predicted), exact(r.step.least), exact(r.step.median), exact(r.step.most), exact(r.error())});
    text += csv_line({"exposed", "", "", "", "", "", exact(r.predicted_exposed), exact(r.exposed.least), exact(r.exposed.median), exact(r.exposed.most), r.exposed.median > 0 ? exact(r.predicted_exposed / r.exposed.median - 1) : ""});
    for (const ReplayRow& row : r.rows) {
      const MessageCost& c = r.estimate.cost.messages[static_cast<std::size_t>(row.message)];
      text += csv_line({std::string(c.message.name), std::string(name_of(c.message.collective)), std::string(name_of(c.message.group)), std::to_string(c.ranks), exact(c.message.bytes.value), exact(row.calls), exact(row.predicted),
                        exact(row.measured.least), exact(row.measured.median), exact(row.measured.most), exact(row.error())});
    }
    return text;
  }
  Sheet sheet(format == RenderFormat::markdown);
  sheet.strong(r.verdict());
  if (r.repeats > 0) {
    const auto range = [](const Spread& s) { return seconds(s.least) + " to " + seconds(s.most); };
    Table total{{{""}, {"predicted", true}, {"measured", true}, {"least to most", true}, {"error", true}}, {}, {}};
    total.rows.push_back({"step", seconds(r.predicted), seconds(r.step.median), range(r.step), signed_percent(r.error())});
    total.rows.push_back({"compute waits for communication", seconds(r.predicted_exposed), seconds(r.exposed.median), range(r.exposed), r.exposed.median > 0 ? signed_percent(r.predicted_exposed / r.exposed.median - 1) : ""});
    sheet.table(total);
    sheet.paragraph("Median of " + std::to_string(r.repeats) + " repeats; error = predicted / measured - 1. Of the step, " + seconds(r.timed) + " are waits for a time, in place of compute; the rest was sent for real. Rank " + std::to_string(r.slowest) + " was the slowest.");
    Table table{{{"collective"}, {"ranks", true}, {"size", true}, {"calls", true}, {"predicted", true}, {"measured", true}, {"least to most", true}, {"error", true}}, {}, {}};
    for (const ReplayRow& row : r.rows) {
      const MessageCost& c = r.estimate.cost.messages[static_cast<std::size_t>(row.message)];
      table.rows.push_back({std::string(c.message.name), std::to_string(c.ranks), format_message_size(c.message.bytes), format_count(row.calls), seconds(row.predicted), seconds(row.measured.median), range(row.measured), signed_percent(row.error())});
    }
    if (!r.rows.empty()) sheet.table(table);
  }
  std::vector<std::string> items;
  for (const ReplayFinding& f : r.findings) items.push_back(f.text + (f.check.empty() ? "" : ". Check: " + f.check));
  if (!items.empty()) sheet.list(items);
  return sheet.text();
}

}  // namespace wireplan
