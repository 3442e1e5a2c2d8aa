#include "core/step/jobs.hpp"

#include <algorithm>
#include <cmath>

#include "core/step/exposure.hpp"
#include "core/step/host_optimizer.hpp"

namespace wireplan {

namespace {

constexpr double kWhole = 1e-9;  // counts are sums of shares

// Calls 0 … n-1 dealt evenly to `places`: how many belong to place i. At the end: a call comes when the last of what it carries is there; else when the
// first of it is needed.
Count dealt(double calls, double places, double i, bool at_the_end) {
  if (places <= 0) return 0;
  const auto until = [&](double k) { return at_the_end ? std::floor(k * calls / places + kWhole) : std::ceil(k * calls / places - kWhole); };
  return static_cast<Count>(until(i + 1) - until(i));
}

struct UnitCalls { int message = -1; Count calls = 0; };

struct Unit {
  Seconds compute;  // with what it waits for inside
  Seconds copy;
  float layers = 0, heads = 0;
  std::vector<UnitCalls> gathers, reductions, blocking_gathers, blocking_reductions, inside;
};

class RankJobs {
 public:
  RankJobs(const Plan& plan, const StepCost& cost, const EfficiencyConstants& k, const JobGroups& groups, int rank)
      : p(plan), c(cost), k_(k), groups_(groups), rank_(rank), stage_(static_cast<std::size_t>(groups.stage_of(rank))), m(micro_batches(plan)) {}

  std::vector<StepJob> listed() {
    if (c.stages.size() == 1) alone();
    else pipeline();
    finish();
    return std::move(jobs_);
  }

 private:
  using Jobs = std::vector<int>;

  const Plan& p;
  const StepCost& c;
  const EfficiencyConstants& k_;
  const JobGroups& groups_;
  const int rank_;
  const std::size_t stage_;
  const Count m;
  const Seconds between{k_.host_per_micro_batch_s * (p.training.cuda_graphs ? k_.host_with_graphs : 1.0)};
  std::vector<StepJob> jobs_;
  int last_compute_ = -1, last_traffic_ = -1;  // traffic: network and copies, which take turns
  Jobs needs_;                                 // what the next job of compute waits for
  Jobs started_;                               // ends with which the last unit started

  const MessageCost& cost_of(int message) const { return c.messages[static_cast<std::size_t>(message)]; }

  static void add(Jobs& jobs, int job) {
    if (job >= 0 && std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
  }

  int put(StepJob job, const Jobs& after) {
    job.after = after;
    jobs_.push_back(std::move(job));
    return static_cast<int>(jobs_.size()) - 1;
  }

  int compute(StepEventKind kind, Seconds time, Count micro_batch, float layers = 0, float heads = 0, Seconds slowed = Seconds(0)) {
    StepJob job;
    job.kind = kind;
    job.time = time;
    job.slowed = slowed;
    job.micro_batch = micro_batch;
    job.layers = layers;
    job.heads = heads;
    last_compute_ = put(std::move(job), needs_);
    needs_.clear();
    return last_compute_;
  }

  int call(int lane, int message, Count micro_batch, const Jobs& after) {
    const MessageCost& x = cost_of(message);
    const int group = groups_.group_of(x.message.group, rank_);
    if (group < 0) return -1;
    StepJob job;
    job.kind = StepEventKind::communication;
    job.lane = lane;
    job.message = message;
    job.group = group;
    job.time = x.sharing * x.call.time.value;
    job.micro_batch = micro_batch;
    return put(std::move(job), after);
  }

  // Traffic takes turns, whichever of the two lanes it is on.
  int traffic(int message, Count micro_batch, Jobs after) {
    add(after, last_traffic_);
    const int job = call(JobGroups::kNetwork, message, micro_batch, after);
    if (job >= 0) last_traffic_ = job;
    return job;
  }
  int copy(Seconds time, Count micro_batch, Jobs after) {
    add(after, last_traffic_);
    StepJob job;
    job.kind = StepEventKind::copy;
    job.lane = JobGroups::kCopy;
    job.time = time;
    job.micro_batch = micro_batch;
    last_traffic_ = put(std::move(job), after);
    return last_traffic_;
  }

  // --- units -------------------------------------------------------------------------------------------------------

  // One layer of this rank's stage and the ends of it, in the order of the pass.
  std::vector<Unit> bare_units(std::size_t stage, bool is_forward) const {
    const ComputeCost& own = c.stages[stage];
    const auto of = [&](const UnitTime& t) { return is_forward ? t.forward : t.backward; };
    const std::size_t busiest = static_cast<std::size_t>(c.busiest);
    const auto ends = [&](std::size_t s) { return of(c.stages[s].first_end) + of(c.stages[s].last_end); };
    const auto real = [&](std::size_t s) { return is_forward ? c.paces[s].real_forward : c.paces[s].real_backward; };
    Seconds layer = is_forward ? c.layer_forward : c.layer_backward;
    if (stage != busiest && own.layers > 0) {  // the same waits for data-parallel traffic, which belong to no unit, are in both
      const Seconds waits = real(busiest) - c.stages[busiest].layers * layer - ends(busiest);
      layer = std::max(Seconds(0), (1 / own.layers) * (real(stage) - waits - ends(stage)));
    }
    const Count layers = static_cast<Count>(std::ceil(own.layers - kWhole));
    std::vector<Unit> units(static_cast<std::size_t>(layers) + 2);
    for (std::size_t i = 1; i + 1 < units.size(); ++i) units[i].compute = (own.layers / static_cast<double>(layers)) * layer, units[i].copy = own.layer.copy, units[i].layers = 1;
    Unit &first = is_forward ? units.front() : units.back(), &last = is_forward ? units.back() : units.front();
    first.compute = of(own.first_end);
    first.copy = own.first_end.copy;
    last.compute = of(own.last_end);
    last.copy = own.last_end.copy;
    if (last.compute.value > 0) last.heads = 1;
    return units;
  }

  // Deals the calls of the messages to the units. turn: which of the step's passes of the direction it is; is_only: the one that carries what comes once.
  void deal(std::vector<Unit>& units, bool is_forward, double turn, bool is_only) const {
    const double layers = static_cast<double>(units.size()) - 2;
    for (std::size_t i = 0; i < c.messages.size(); ++i) {
      const Message& x = c.messages[i].message;
      if (!is_in_passes(x) || (x.phase == Phase::forward) != is_forward || x.group == GroupKind::pipeline) continue;
      const int message = static_cast<int>(i);
      const auto place = [&](std::size_t unit, std::vector<UnitCalls> Unit::*list, double calls) {
        if (calls > 0.5) (units[unit].*list).push_back({message, static_cast<Count>(calls + 0.5)});
      };
      const auto over_layers = [&](std::vector<UnitCalls> Unit::*list, double calls, bool at_the_end) {
        if (layers < 1) return place(0, list, calls);
        for (std::size_t l = 0; l + 2 < units.size(); ++l) place(l + 1, list, static_cast<double>(dealt(calls, layers, static_cast<double>(l), at_the_end)));
      };
      if (is_inside_layers(x)) {
        over_layers(&Unit::inside, static_cast<double>(dealt(x.calls, static_cast<double>(m), turn, true)), true);
        continue;
      }
      const bool is_once = comes_once(p, x);
      if (is_once && !is_only) continue;
      const double calls = is_once ? std::floor(x.calls + 0.5) : static_cast<double>(dealt(x.calls, passes_of(p, x), turn, true));
      const bool gathers = is_gather(x.collective), hides = may_hide(x);
      const auto list = gathers ? (hides ? &Unit::gathers : &Unit::blocking_gathers) : (hides ? &Unit::reductions : &Unit::blocking_reductions);
      const std::size_t first = is_forward ? 0 : units.size() - 1, last = is_forward ? units.size() - 1 : 0;
      switch (place_of(p, c, i)) {
        case UnitPlace::first_end: place(first, list, calls); break;
        case UnitPlace::last_end: place(last, list, calls); break;
        case UnitPlace::layers: case UnitPlace::layers_all: over_layers(list, calls, !gathers); break;
        case UnitPlace::one_and_layers:
          place(first, list, std::min(calls, 1.0));
          over_layers(list, calls - 1, !gathers);
          break;
      }
    }
  }

  Seconds time_of(const std::vector<UnitCalls>& list) const {
    Seconds sum;
    for (const UnitCalls& u : list) sum += static_cast<double>(u.calls) * (cost_of(u.message).sharing * cost_of(u.message).call.time.value);
    return sum;
  }

  // --- passes ------------------------------------------------------------------------------------------------------

  void send_reductions(const Unit& unit, Count micro_batch, const Jobs& after) {
    for (const UnitCalls& u : unit.reductions)
      for (Count i = 0; i < u.calls; ++i) traffic(u.message, micro_batch, after);
    for (const UnitCalls& u : unit.blocking_reductions)
      for (Count i = 0; i < u.calls; ++i) add(needs_, traffic(u.message, micro_batch, after));
  }

  // Returns when its output is there: the last reductions are sent beside what follows elsewhere.
  Jobs pass(const std::vector<Unit>& units, StepEventKind kind, Count micro_batch, bool reduces) {
    Jobs issue = needs_;  // when the next gather may start: what the unit before started with
    add(issue, last_compute_);
    add(issue, last_traffic_);
    Jobs before = issue;  // the end of the unit before
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Unit& unit = units[i];
      int gathered = -1;
      if (unit.copy.value > 0) gathered = copy(unit.copy, micro_batch, issue);
      for (const UnitCalls& u : unit.gathers)
        for (Count n = 0; n < u.calls; ++n) gathered = std::max(gathered, traffic(u.message, micro_batch, issue));
      for (const UnitCalls& u : unit.blocking_gathers)
        for (Count n = 0; n < u.calls; ++n) add(needs_, traffic(u.message, micro_batch, before));
      if (i > 0 && reduces) send_reductions(units[i - 1], micro_batch, before);
      add(needs_, gathered);
      issue = needs_;
      add(issue, last_compute_);
      const Seconds beside = (i > 0 && reduces ? time_of(units[i - 1].reductions) : Seconds(0)) + (i + 1 < units.size() ? time_of(units[i + 1].gathers) : Seconds(0));
      compute_unit(unit, kind, micro_batch, k_.overlap_slowdown * std::min(unit.compute, beside));
      before = needs_;
      add(before, last_compute_);
    }
    if (reduces && !units.empty()) send_reductions(units.back(), micro_batch, before);
    add(needs_, last_traffic_);
    return before;
  }

  // A unit and what it sends itself: of a call, `share` is waited for.
  void compute_unit(const Unit& unit, StepEventKind kind, Count micro_batch, Seconds slowed) {
    Count calls = 0;
    Seconds hidden, average;
    const double layers = std::max(1.0, c.stages[static_cast<std::size_t>(c.busiest)].layers) * static_cast<double>(m);
    const auto share = [&](const MessageCost& x) { return x.total.value > 0 ? std::min(1.0, x.exposed / x.total) : 1.0; };
    for (const UnitCalls& u : unit.inside) {
      calls += u.calls;
      hidden += static_cast<double>(u.calls) * (1 - share(cost_of(u.message))) * cost_of(u.message).call.time.value;
    }
    if (unit.layers > 0)
      for (const MessageCost& x : c.messages)
        if (is_inside_layers(x.message) && (x.message.phase == Phase::forward) == (kind == StepEventKind::forward)) average += x.exposed / layers;
    const Seconds own = std::max(Seconds(0), unit.compute - average) + slowed;
    if (calls == 0) {
      compute(kind, own, micro_batch, unit.layers, unit.heads, slowed);
      return;
    }
    const double beside = hidden > own ? own / hidden : 1;  // no more can run beside than there is
    const Seconds piece = (1 / static_cast<double>(calls)) * (own - beside * hidden);
    const float work = own.value > 0 ? static_cast<float>(1 / own.value) : 0;
    for (const UnitCalls& u : unit.inside)
      for (Count n = 0; n < u.calls; ++n) {
        const float part = work * static_cast<float>(piece.value);
        compute(kind, piece, micro_batch, unit.layers * part, unit.heads * part, (1 / static_cast<double>(calls)) * slowed);
        const int sent = call(JobGroups::kLayers, u.message, micro_batch, {last_compute_});
        const Seconds on = beside * (1 - share(cost_of(u.message))) * cost_of(u.message).call.time.value;
        const float rest = work * static_cast<float>(on.value);
        if (on.value > 0) compute(kind, on, micro_batch, unit.layers * rest, unit.heads * rest);
        add(needs_, sent);
      }
  }

  void alone() {
    for (Count i = 0; i < m; ++i) {
      for (const bool is_forward : {true, false}) {
        std::vector<Unit> units = bare_units(0, is_forward);
        deal(units, is_forward, static_cast<double>(i), is_forward ? i == 0 : i + 1 == m);
        pass(units, is_forward ? StepEventKind::forward : StepEventKind::backward, i, true);
      }
      if (between.value > 0) compute(StepEventKind::host, between, i);
    }
  }

  // --- pipeline ----------------------------------------------------------------------------------------------------

  int message_of_hop(bool is_forward) const {
    for (std::size_t i = 0; i < c.messages.size(); ++i)
      if (c.messages[i].message.group == GroupKind::pipeline && (c.messages[i].message.phase == Phase::forward) == is_forward) return static_cast<int>(i);
    return -1;
  }

  int hop(PipelineNeighbours::Chunk from, PipelineNeighbours::Chunk to, bool is_forward, bool is_sender, Count micro_batch, const Jobs& after) {
    const JobGroups::Hop h = groups_.hop(rank_, from, to, is_forward);
    const int message = message_of_hop(is_forward);
    if (h.group < 0 || message < 0) return -1;
    StepJob job;
    job.kind = StepEventKind::communication;
    job.lane = h.lane;
    job.message = message;
    job.group = h.group;
    job.is_hop = true;
    job.is_sender = is_sender;
    job.time = cost_of(message).call.time.value;
    job.micro_batch = micro_batch;
    return put(std::move(job), after);
  }

  // The units of a chunk, scaled so that they take `time`.
  std::vector<Unit> units_of_chunk(int chunk, bool is_forward, double turn, bool is_only, double share) const {
    const Schedule s = schedule_of(p);
    const bool is_twice = s.kind == PipelineSchedule::dualpipe;
    const int v = is_twice ? 1 : chunks_of(s);
    const std::size_t stage = is_twice && chunk == 1 ? static_cast<std::size_t>(s.stages) - 1 - stage_ : stage_;
    std::vector<Unit> units = bare_units(stage, is_forward);
    Seconds whole;
    for (const Unit& u : units) whole += u.compute;
    deal(units, is_forward, turn, is_only);
    if (v > 1) {
      const std::size_t layers = units.size() - 2, place = static_cast<std::size_t>(is_forward ? chunk : v - 1 - chunk), parts = static_cast<std::size_t>(v);
      std::vector<Unit> kept;
      if (place == 0) kept.push_back(units.front());
      for (std::size_t l = place * layers / parts; l < (place + 1) * layers / parts; ++l) kept.push_back(units[l + 1]);
      if (place + 1 == parts) kept.push_back(units.back());
      units = std::move(kept);
      whole = (1.0 / v) * whole;
    }
    Seconds own;
    for (const Unit& u : units) own += u.compute;
    if (units.empty()) units.emplace_back(), units.front().compute = share * whole;
    else
      for (Unit& u : units) u.compute = own.value > 0 ? share * (whole / own) * u.compute : (share / static_cast<double>(units.size())) * whole;
    return units;
  }

  void pipeline() {
    const Schedule s = schedule_of(p);
    std::vector<PassEvent> events;
    pipeline_times(s, stage_passes(c, true), Seconds(0), &events);
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events[i].stage == static_cast<int>(stage_)) own.push_back(i);
    const bool is_twice = s.kind == PipelineSchedule::dualpipe;
    const std::size_t chunks = static_cast<std::size_t>(chunks_of(s));
    std::vector<Count> forwards(chunks, 0), backwards(chunks, 0), weights(chunks, 0), all(chunks, 0);
    for (std::size_t i : own)
      if (const PassEvent& e = events[i]; e.kind == PassKind::forward || e.kind == PassKind::forward_and_backward) ++all[static_cast<std::size_t>(e.chunk)];
    Count forwards_done = 0, backwards_done = 0, total = 0;
    for (Count n : all) total += n;
    // The one pass that carries what comes once: of each chunk, or of the rank where both chunks are copies.
    const auto is_first = [&](std::size_t chunk) { return is_twice ? forwards_done == 0 : forwards[chunk] == 0; };
    const auto is_last = [&](std::size_t chunk, const std::vector<Count>& done) { return is_twice ? backwards_done + 1 == total : done[chunk] + 1 == all[chunk]; };
    const auto receive = [&](int chunk, bool is_forward, Count micro_batch) {
      const PipelineNeighbours::Chunk here{static_cast<int>(stage_), chunk}, from = is_forward ? PipelineNeighbours::before(s, here.stage, chunk) : PipelineNeighbours::after(s, here.stage, chunk);
      add(needs_, hop(from, here, is_forward, false, micro_batch, {}));
    };
    const auto send = [&](int chunk, bool is_forward, Count micro_batch, const Jobs& after) {
      const PipelineNeighbours::Chunk here{static_cast<int>(stage_), chunk}, to = is_forward ? PipelineNeighbours::after(s, here.stage, chunk) : PipelineNeighbours::before(s, here.stage, chunk);
      hop(here, to, is_forward, true, micro_batch, after);
    };
    Jobs made;  // when the output of the latest pass is there
    for (std::size_t i : own) {
      const PassEvent& e = events[i];
      const bool is_pair = e.kind == PassKind::forward_and_backward, has_forward = is_pair || e.kind == PassKind::forward;
      const bool has_backward = is_pair || e.kind == PassKind::backward || e.kind == PassKind::input_gradient;
      const int back_chunk = is_pair ? 1 - e.chunk : e.chunk;
      const Count back_micro = is_pair ? e.backward_micro_batch : e.micro_batch;
      if (has_forward) receive(e.chunk, true, e.micro_batch);
      if (has_backward) receive(back_chunk, false, back_micro);
      if (has_forward) {
        const std::size_t chunk = static_cast<std::size_t>(e.chunk);
        made = pass(units_of_chunk(e.chunk, true, static_cast<double>(is_twice ? forwards_done : forwards[chunk]), is_first(chunk), 1), StepEventKind::forward, e.micro_batch, true);
        ++forwards[chunk];
        ++forwards_done;
      }
      if (has_backward) {
        const std::size_t chunk = static_cast<std::size_t>(back_chunk);
        const bool is_split = e.kind == PassKind::input_gradient;
        const double turn = static_cast<double>(is_twice ? backwards_done : backwards[chunk]);
        made = pass(units_of_chunk(back_chunk, false, turn, !is_split && is_last(chunk, backwards), is_split ? 1 - weight_share() : 1), StepEventKind::backward, back_micro, !is_split);
        ++backwards[chunk];
        if (!is_split) ++weights[chunk], ++backwards_done;
      }
      if (e.kind == PassKind::weight_gradient) {
        const std::size_t chunk = static_cast<std::size_t>(e.chunk);
        const std::vector<Unit> units = units_of_chunk(e.chunk, false, static_cast<double>(is_twice ? backwards_done : weights[chunk]), is_last(chunk, weights), 1);
        Seconds time;
        for (const Unit& u : units) time += u.compute;
        compute(StepEventKind::weight_gradient, weight_share() * time, e.micro_batch);
        for (const Unit& u : units) send_reductions(u, e.micro_batch, {last_compute_});
        add(needs_, last_traffic_of(units));
        ++weights[chunk];
        ++backwards_done;
      }
      if (has_forward) send(e.chunk, true, e.micro_batch, made);
      if (has_backward) send(back_chunk, false, back_micro, made);
    }
    if (between.value > 0) compute(StepEventKind::host, static_cast<double>(m) * between, -1);
  }

  int last_traffic_of(const std::vector<Unit>& units) const {
    for (const Unit& u : units)
      if (!u.reductions.empty() || !u.blocking_reductions.empty()) return last_traffic_;
    return -1;
  }

  // Of a backward of this stage, the part that is put off.
  double weight_share() const {
    const PassPace& pace = c.paces[stage_];
    return pace.real_backward.value > 0 ? std::min(1.0, c.stages[stage_].weight_gradient / pace.real_backward) : 0;
  }

  // --- the end of the step -----------------------------------------------------------------------------------------

  void finish() {
    const auto blocking = [&](bool after_optimizer) {
      for (std::size_t i = 0; i < c.messages.size(); ++i) {
        const Message& x = c.messages[i].message;
        if (is_in_passes(x)) continue;
        const bool comes_after = x.phase == Phase::optimizer && is_gather(x.collective);
        if (comes_after != after_optimizer) continue;
        Jobs after = needs_;
        add(after, last_compute_);
        for (double n = 0; n + 0.5 < x.calls; ++n) add(needs_, traffic(static_cast<int>(i), -1, after));
      }
    };
    blocking(false);
    if (const Seconds alone = c.offload - c.waits_for_copies; alone.value > 0) {
      Jobs after = needs_;
      add(after, last_compute_);
      add(needs_, copy(alone, -1, after));
    }
    if (c.optimizer.value > 0) compute(runs_optimizer_on_host(p) ? StepEventKind::host : StepEventKind::optimizer, c.optimizer, -1);
    blocking(true);
    compute(StepEventKind::host, Seconds(k_.host_per_step_s), -1);
    if (c.straggler.value > 0) compute(StepEventKind::straggler, c.straggler, -1);
  }
};

}  // namespace

std::vector<StepJob> step_jobs(const Plan& plan, const StepCost& cost, const EfficiencyConstants& k, const JobGroups& groups, int rank) {
  return RankJobs(plan, cost, k, groups, rank).listed();
}

double step_job_count(const Plan& plan, const StepCost& cost) {
  double calls = 0, layers = 0;
  for (const MessageCost& c : cost.messages) calls += 3 * c.message.calls;
  for (const ComputeCost& s : cost.stages) layers = std::max(layers, s.layers + 2);
  return calls + 2 * static_cast<double>(micro_batches(plan)) * (layers + static_cast<double>(chunks_of(schedule_of(plan)))) + 8;
}

}  // namespace wireplan
