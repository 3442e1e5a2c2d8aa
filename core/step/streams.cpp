#include "core/step/streams.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/step/exposure.hpp"
#include "core/step/host_optimizer.hpp"
#include "core/step/schedule.hpp"

namespace wireplan {

namespace {

std::string numbered(const char* text, Count n) { return text + std::to_string(n); }

constexpr const char* kFirstCopy = "the first copy from the host of the pass: nothing computes before it";
constexpr const char* kCopied = "between GPU and host";
constexpr double kNoticed = 1e-6;  // seconds a stream stands still before a reader is told why
constexpr const char* kHostOptimizer = "the optimizer on the host";
constexpr const char* kHost = "the host, between micro-batches";

class StepStreams {
 public:
  StepStreams(const Plan& plan, const StepCost& cost, const EfficiencyConstants& k) : p(plan), c(cost), k_(k), m(micro_batches(plan)) {
    stage = static_cast<Count>(c.slowest);
    compute = stream(stage, "compute");
    network = stream(stage, "network");
    inside = stream(stage, "layers");
    copies = stream(stage, "copy");
    on_host = stream(stage, "host");
  }

  std::vector<StepStream> laid_out() {
    if (c.stages.size() == 1) alone();
    else pipeline();
    finish();
    std::vector<StepStream> kept;
    for (StepStream& s : streams)
      if (!s.events.empty()) kept.push_back(std::move(s));
    return kept;
  }

 private:
  const Plan& p;
  const StepCost& c;
  const EfficiencyConstants& k_;
  const Count m;
  std::vector<StepStream> streams;
  std::size_t compute = 0, network = 0, inside = 0, copies = 0, on_host = 0;
  Count stage = 0;
  Seconds now;
  const Seconds between{k_.host_per_micro_batch_s * (p.training.cuda_graphs ? k_.host_with_graphs : 1.0)};  // host, micro-batch and micro-batch
  std::vector<StepWait> pending;  // what the next event of compute waits for

  std::size_t stream(Count of, const char* name) {
    streams.push_back({of, name, {}, {}});
    return streams.size() - 1;
  }

  void put(std::size_t where, StepEvent event) {
    if (event.duration.value <= 0) return;
    StepStream& s = streams[where];
    const Seconds free = s.events.empty() ? Seconds(0) : s.events.back().start + s.events.back().duration;
    event.start = std::max(event.start, free);  // sums of many terms may differ in the last digit
    s.events.push_back(std::move(event));
  }

  static void add(std::vector<StepWait>& waits, StepWait wait) {
    if (wait.total.value <= 1e-12) return;
    const auto known = std::find_if(waits.begin(), waits.end(), [&](const StepWait& w) { return w.reason == wait.reason; });
    if (known == waits.end()) return waits.push_back(std::move(wait));
    known->total += wait.total;
    known->times += wait.times;
  }

  void wait(std::string reason, Seconds how_long) { add(pending, {std::move(reason), how_long, 1}); }

  // An event of compute; it names the longest of what it waited for.
  void work(std::string name, StepEventKind kind, Seconds start, Seconds duration, Count micro_batch) {
    if (duration.value <= 0) return;
    const auto longest = std::max_element(pending.begin(), pending.end(), [](const StepWait& a, const StepWait& b) { return a.total < b.total; });
    Seconds all;
    for (const StepWait& w : pending) all += w.total;
    put(compute, {std::move(name), kind, start, duration, micro_batch, -1, all.value > kNoticed ? longest->reason : std::string()});
    for (StepWait& w : pending) {
      w.times = 1;
      add(streams[compute].waits, std::move(w));
    }
    pending.clear();
  }

  void send(int message, Seconds start, Seconds duration, Count micro_batch) {
    if (message < 0) return;
    put(network, {std::string(c.messages[static_cast<std::size_t>(message)].message.name), StepEventKind::communication, start, duration, micro_batch, message, {}});
  }

  std::string_view name_of_message(int i) const { return i < 0 ? std::string_view() : c.messages[static_cast<std::size_t>(i)].message.name; }

  // The message inside the layers of a direction that shows most.
  int inside_of(bool is_forward) const {
    int found = -1;
    for (std::size_t i = 0; i < c.messages.size(); ++i) {
      const MessageCost& x = c.messages[i];
      if (!is_inside_layers(x.message) || x.message.phase != (is_forward ? Phase::forward : Phase::backward)) continue;
      if (found < 0 || x.exposed > c.messages[static_cast<std::size_t>(found)].exposed) found = static_cast<int>(i);
    }
    return found;
  }

  // One pass without a pipeline; ends `now` later.
  void pass(bool is_forward, Count micro_batch, bool in_detail) {
    const PassTraffic traffic = is_forward ? (micro_batch == 0 ? PassTraffic::first_forward : PassTraffic::forward) : (micro_batch + 1 == m ? PassTraffic::last_backward : PassTraffic::backward);
    const std::vector<PassUnits> units = pass_units(p, c, traffic);
    std::vector<UnitEvent> events;
    const PassTimes lost = pass_times(units, k_.overlap_slowdown, in_detail ? &events : nullptr);
    const StepEventKind kind = is_forward ? StepEventKind::forward : StepEventKind::backward;
    Seconds total = lost.lost();
    for (const PassUnits& u : units) total += u.count * u.compute;
    const char* direction = is_forward ? "forward" : "backward";
    if (!in_detail) {
      Seconds copied;
      for (const PassUnits& u : units) copied += u.count * u.copy;
      put(copies, {kCopied, StepEventKind::copy, now, std::min(copied, total), micro_batch, -1, {}});
      wait(first_gather(message_of(p, c, traffic, is_forward ? 0 : 2, true), traffic), lost.first);
      work(direction, kind, now + lost.first, total - lost.first - lost.last, micro_batch);
      for (const bool gathers : {true, false}) {
        const int message = message_of(p, c, traffic, 1, gathers);
        Seconds sent;
        for (const PassUnits& u : units) sent += u.count * (gathers ? u.gather : u.reduction);
        send(message, now, std::min(sent, total), micro_batch);
      }
    } else {
      detailed(units, events, traffic, is_forward, micro_batch);
    }
    now += total;
    int last = message_of(p, c, traffic, is_forward ? 0 : 2, false);
    if (last < 0) last = message_of(p, c, traffic, 1, false);
    wait("the last " + std::string(name_of_message(last)) + " of the pass: nothing is left to compute beside it", lost.last);
  }

  std::string first_gather(int message, PassTraffic traffic) const {
    if (message < 0) message = message_of(p, c, traffic, 1, true);
    if (message < 0) return kFirstCopy;
    return "the first " + std::string(name_of_message(message)) + " of the pass: nothing computes before it";
  }

  void detailed(const std::vector<PassUnits>& units, const std::vector<UnitEvent>& events, PassTraffic traffic, bool is_forward, Count micro_batch) {
    const ComputeCost& own = c.stages[c.slowest];
    const char* direction = is_forward ? "forward of " : "backward of ";
    bool gathered = false;
    for (const UnitEvent& e : events) {
      if (e.job == UnitJob::copy) {
        put(copies, {kCopied, StepEventKind::copy, now + e.start, e.duration, micro_batch, -1, {}});
        continue;
      }
      if (e.job != UnitJob::compute) {
        send(message_of(p, c, traffic, e.run, e.job == UnitJob::gather), now + e.start, e.duration, micro_batch);
        continue;
      }
      const bool is_layer = e.run == 1;
      const int gather = message_of(p, c, traffic, e.run, true);
      wait(gather < 0 ? (gathered ? "copies from the host: longer than the layer before computes" : kFirstCopy) : gathered ? std::string(name_of_message(gather)) + ": longer than the layer before computes" : first_gather(gather, traffic), e.waited);
      gathered = gathered || gather >= 0 || own.layer.copy.value > 0;
      const Count layers = static_cast<Count>(own.layers), layer = is_forward ? e.unit : layers - 1 - e.unit;
      const std::string name = direction + (is_layer ? numbered("layer ", layer) : std::string((e.run == 0) == is_forward ? "the embedding" : "the head"));
      // A layer computes, then waits for what it sends itself and for the host.
      const Seconds unit = units[static_cast<std::size_t>(e.run)].compute, slowed = e.duration - unit;
      const Seconds busy = is_layer ? std::min(unit, is_forward ? own.layer.forward : own.layer.backward) : unit;
      work(name, is_forward ? StepEventKind::forward : StepEventKind::backward, now + e.start, busy + slowed, micro_batch);
      const Seconds waits = unit - busy;
      if (!is_layer || waits.value <= 1e-12) continue;
      const int sent = inside_of(is_forward);
      Seconds shown;
      if (sent >= 0) {
        for (const MessageCost& x : c.messages)
          if (is_inside_layers(x.message) && x.message.phase == (is_forward ? Phase::forward : Phase::backward)) shown += x.exposed / (static_cast<double>(m) * own.layers);
        shown = std::min(shown, waits);
        put(inside, {std::string(name_of_message(sent)), StepEventKind::communication, now + e.start + busy + slowed, shown, micro_batch, sent, {}});
      }
      wait(std::string(name_of_message(sent)) + " inside the layer before", shown);
      wait("the host: launching a layer's kernels takes longer than they run", waits - shown);
    }
  }

  void alone() {
    const double units = static_cast<double>(m) * 2 * (c.stages.front().layers + 2);
    for (Count i = 0; i < m; ++i) {
      const bool in_detail = units <= kDetailed || i < 2 || i + 1 == m;
      pass(true, i, in_detail);
      pass(false, i, in_detail);
      now += between;
      wait(kHost, between);
    }
  }

  void pipeline() {
    const Seconds before = once(Phase::forward, Seconds(0));
    Seconds hop;
    for (const MessageCost& x : c.messages)
      if (x.message.group == GroupKind::pipeline) hop = std::max(hop, x.call.time.value);
    std::vector<PassEvent> events;
    const PipelineTimes times = pipeline_times(schedule_of(p), stage_passes(c, true), hop, &events);
    const bool all = static_cast<double>(events.size()) <= kPasses;
    std::vector<std::size_t> of(c.stages.size(), compute);
    for (std::size_t i = 0; i < c.stages.size(); ++i)
      if (static_cast<Count>(i) != stage && all) of[i] = stream(static_cast<Count>(i), "compute");
    sort(events, [](const PassEvent& a, const PassEvent& b) { return a.start < b.start; });
    const bool chunked = chunks_of(schedule_of(p)) > 1;
    for (const PassEvent& e : events) {
      if (!all && e.stage != static_cast<int>(stage)) continue;
      const bool is_forward = e.kind == PassKind::forward, is_pair = e.kind == PassKind::forward_and_backward, is_weights = e.kind == PassKind::weight_gradient;
      std::string name = is_pair ? "forward and backward" : is_forward ? "forward" : is_weights ? "weight gradients" : "backward";
      if (chunked) name += numbered(", chunk ", e.chunk);
      const StepEventKind kind = is_pair ? StepEventKind::forward_and_backward : is_forward ? StepEventKind::forward : is_weights ? StepEventKind::weight_gradient : StepEventKind::backward;
      const std::size_t where = of[static_cast<std::size_t>(e.stage)];
      StepStream& s = streams[where];
      const Seconds free = s.events.empty() ? before : s.events.back().start + s.events.back().duration, start = before + e.start;
      std::string reason;
      if (start - free > Seconds(1e-9)) reason = s.events.empty() ? "the first micro-batch, still in the stages before" : is_forward ? "the output of the stage before" : "the gradient of the stage after";
      if (s.events.empty()) {
        if (before > start - free && !pending.empty()) reason = pending.front().reason;
        for (const StepWait& w : pending) add(s.waits, w);
      }
      add(s.waits, {reason, start - free, 1});
      s.events.push_back({std::move(name), kind, std::max(start, free), e.duration, e.micro_batch, -1, std::move(reason)});
      if (where != compute || is_weights) continue;
      if (is_forward || is_pair) per_pass(true, start, is_pair ? 0.5 * e.duration : e.duration, e.micro_batch);
      if (!is_forward) per_pass(false, is_pair ? start + 0.5 * e.duration : start, is_pair ? 0.5 * e.duration : e.duration, e.micro_batch);
    }
    pending.clear();
    now = before + c.schedule;
    const StepEvent& last = streams[compute].events.back();
    wait("the last micro-batch, still in other stages", now - last.start - last.duration);
    now += once(Phase::backward, now);
    const Seconds host = static_cast<double>(m) * between;
    wait(kHost, host);
    now += host;
  }

  bool is_once(const Message& x) const { return may_hide(x) && comes_once(p, x); }

  // Data-parallel traffic of every pass.
  bool is_of_passes(const Message& x) const { return !is_model_parallel(x.group) && is_in_passes(x) && !comes_once(p, x); }

  // Gathers and reductions of a pass in a pipeline, as one.
  void per_pass(bool is_forward, Seconds start, Seconds duration, Count micro_batch) {
    Seconds at = start;
    for (std::size_t i = 0; i < c.messages.size(); ++i) {
      const MessageCost& x = c.messages[i];
      if (!is_of_passes(x.message) || x.message.phase != (is_forward ? Phase::forward : Phase::backward)) continue;
      const Seconds each = std::min(x.total / (static_cast<double>(m) * chunks_of(schedule_of(p))), start + duration - at);
      send(static_cast<int>(i), at, each, micro_batch);
      at += std::max(Seconds(0), each);
    }
  }

  // Traffic of one pass of the step, in a pipeline: gathers from the start on, reductions up to as long after `end` as shows. Returns how long shows.
  Seconds once(Phase phase, Seconds end) {
    Seconds sum, shown;
    for (const MessageCost& x : c.messages) {
      if (!is_once(x.message) || x.message.phase != phase) continue;
      sum += x.total;
      shown += x.exposed;
    }
    Seconds at = phase == Phase::forward ? Seconds(0) : std::max(Seconds(0), end + shown - sum);
    for (std::size_t i = 0; i < c.messages.size(); ++i) {
      const MessageCost& x = c.messages[i];
      if (!is_once(x.message) || x.message.phase != phase) continue;
      send(static_cast<int>(i), at, x.total, -1);
      at += x.total;
      wait(std::string(x.message.name) + ": more than compute beside it hides", x.exposed);
    }
    return shown;
  }

  // What nothing computes beside, the optimizer, and what the whole machine waits for.
  void finish() {
    const auto blocking = [&](bool after_optimizer) {
      for (std::size_t i = 0; i < c.messages.size(); ++i) {
        const MessageCost& x = c.messages[i];
        if (may_hide(x.message) || (is_model_parallel(x.message.group) && is_in_passes(x.message)) || (c.stages.size() > 1 && is_of_passes(x.message))) continue;
        const bool comes_after = x.message.phase == Phase::optimizer && (x.message.collective == Collective::all_gather || x.message.collective == Collective::broadcast);
        if (comes_after != after_optimizer) continue;
        send(static_cast<int>(i), now, x.total, -1);
        now += x.total;
        wait(std::string(x.message.name) + ": the framework runs nothing beside it", x.total);
      }
    };
    blocking(false);
    if (const Seconds alone = c.offload - c.waits_for_copies; alone.value > 0) {
      put(copies, {kCopied, StepEventKind::copy, now, alone, -1, -1, {}});
      now += alone;
      wait("copies between GPU and host", alone);
    }
    if (runs_optimizer_on_host(p)) {
      put(on_host, {kHostOptimizer, StepEventKind::optimizer, now, c.optimizer, -1, -1, {}});
      wait(kHostOptimizer, c.optimizer);
    } else {
      work("optimizer", StepEventKind::optimizer, now, c.optimizer, -1);
    }
    now += c.optimizer;
    blocking(true);
    work("between two steps", StepEventKind::host, now, Seconds(k_.host_per_step_s), -1);
    now += Seconds(k_.host_per_step_s);
    work("waiting for the slowest rank", StepEventKind::straggler, now, c.time.value - now, -1);
  }
};

}  // namespace

std::vector<StepStream> step_streams(const Plan& plan, const StepCost& cost, const EfficiencyConstants& k) { return StepStreams(plan, cost, k).laid_out(); }

std::vector<StepWait> step_waits(const StepCost& cost, const std::vector<StepStream>& streams) {
  std::vector<StepWait> waits;
  for (const StepStream& s : streams)
    if (s.stage == static_cast<Count>(cost.slowest) && s.name == "compute") waits = s.waits;
  sort(waits, [](const StepWait& a, const StepWait& b) { return a.total > b.total; });
  return waits;
}

}  // namespace wireplan
