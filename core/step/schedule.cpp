#include "core/step/schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>

namespace wireplan {
namespace {

using Ticks = std::int64_t;

// A pass of an order: its kind, and the chunk of its forward or, without one, of its backward.
struct Step {
  PassKind kind;
  unsigned char chunk;
};

constexpr Step kF0{PassKind::forward, 0}, kF1{PassKind::forward, 1};
constexpr Step kBW0{PassKind::backward, 0}, kBW1{PassKind::backward, 1};
constexpr Step kB0{PassKind::input_gradient, 0}, kB1{PassKind::input_gradient, 1};
constexpr Step kW0{PassKind::weight_gradient, 0}, kW1{PassKind::weight_gradient, 1};
constexpr Step kQueued{PassKind::weight_gradient, 2};  // DualPipe: the oldest weight gradient not done yet
constexpr Step kF0BW1{PassKind::forward_and_backward, 0}, kF1BW0{PassKind::forward_and_backward, 1};

struct Segment {  // steps, repeated
  std::array<Step, 6> steps;
  int length = 0, repeats = 0;
};

struct Chunk {                                    // of a rank
  Ticks forward = 0, input = 0, weight = 0, pair = 0;  // durations; pair: of its forward with the other chunk's backward
  Ticks forward_hop = 0, input_hop = 0;           // until what it made is where it is needed
  int forwards = 0, inputs = 0, weights = 0;      // passes done, by kind
  int micro_batches = 0, first_micro_batch = 0;
  Chunk *before = nullptr, *after = nullptr;      // in the model
  Ticks *outputs = nullptr, *gradients = nullptr;  // when they arrive, rings over micro-batches
};

constexpr int kMostSegments = 12;

struct Turn {  // interleaved: which chunk is next, and for how many micro-batches yet
  int chunk = 0, left = 0;
};

struct Rank {
  std::array<Segment, kMostSegments> segments;
  int count = 0;                        // of segments
  int segment = 0, step = 0, left = 0;  // where it is; left: repeats of the segment
  int done = 0, limit = 0;              // steps
  Turn forward_turn, input_turn;
  int queue = 0;                        // DualPipe: weight gradients ahead of those of phase 0 alone; below 0: none
  int turned = 0;                       // DualPipe: 1 where phase 0 is chunk 1
  Ticks free = 0, busy = 0, first = -1;
  Chunk* chunks = nullptr;
};

// Periods that are looked for; a longer one is simulated to the end.
constexpr int kLongestPeriod = 16;

int round_up(int a, int b) { return (a + b - 1) / b * b; }

// Micro-batches of the order: m, or the next number that the schedule can arrange.
int arranged(const Schedule& s, int m) {
  switch (s.kind) {
    case PipelineSchedule::gpipe: return m;
    case PipelineSchedule::one_f_one_b: case PipelineSchedule::zb_h1: return std::max(m, s.stages);
    case PipelineSchedule::interleaved: return chunks_of(s) > 1 ? round_up(m, s.stages) : std::max(m, s.stages);
    case PipelineSchedule::zb_h2: case PipelineSchedule::zb_v: return std::max(m, 2 * s.stages - 1);
    case PipelineSchedule::dualpipe: return round_up(std::max(m, 2 * s.stages), 2);
    case PipelineSchedule::dualpipe_v: return std::max(m, 2 * s.stages);
  }
  return m;
}

class Simulation {
 public:
  Simulation(const Schedule& s, const std::vector<StagePass>& passes, Seconds hop, std::vector<PassEvent>* events)
      : s_(s),
        p_(s.stages),
        v_(chunks_of(s)),
        events_(events),
        ranks_(static_cast<std::size_t>(p_)),
        chunks_(static_cast<std::size_t>(p_) * static_cast<std::size_t>(v_)) {
    if (s_.kind == PipelineSchedule::interleaved && v_ == 1) s_.kind = PipelineSchedule::one_f_one_b;
    turns_ = s_.kind == PipelineSchedule::interleaved;
    arranged_ = arranged(s_, s_.micro_batches);
    connect();
    durations(passes, hop);
    for (int i = 0; i < p_; ++i) order(i);
  }

  PipelineTimes run() {
    // With micro-batches that are not there the rounds differ.
    if (!events_ && arranged_ == s_.micro_batches) {
      steady(steady_);
      if (s_.kind == PipelineSchedule::gpipe) steady(steady_ + 1);
    }
    for (Rank& r : ranks_) r.limit = 1 << 30;
    advance();

    PipelineTimes times;
    times.busy.reserve(ranks_.size());
    times.first_start.reserve(ranks_.size());
    times.last_end.reserve(ranks_.size());
    for (const Rank& r : ranks_) {
      times.busy.push_back(seconds(r.busy));
      times.first_start.push_back(seconds(r.first));
      times.last_end.push_back(seconds(r.free));
      times.end = std::max(times.end, times.last_end.back());
    }
    times.rounds_skipped = skipped_;
    return times;
  }

 private:
  Chunk& chunk(int rank, int c) { return chunks_[static_cast<std::size_t>(rank * v_ + c)]; }
  Rank& rank(int i) { return ranks_[static_cast<std::size_t>(i)]; }
  bool bent() const { return s_.kind == PipelineSchedule::zb_v || s_.kind == PipelineSchedule::dualpipe_v; }
  bool twice() const { return s_.kind == PipelineSchedule::dualpipe; }

  // The neighbours of each chunk in the model, and the rings of what goes between them.
  void connect() {
    // No order but GPipe's keeps more than 2p micro-batches of a chunk in flight, and GPipe's consumer never waits for its producer's
    // next segment; twice that lets a steady state be compared with earlier rounds. A full ring holds back its producer.
    int ring = 4;
    while (ring < 4 * p_) ring *= 2;
    mask_ = ring - 1;
    rings_.reset(new Ticks[2 * chunks_.size() * static_cast<std::size_t>(ring)]);
    Ticks* at = rings_.get();
    for (int i = 0; i < p_; ++i) {
      rank(i).chunks = &chunk(i, 0);
      for (int c = 0; c < v_; ++c) {
        Chunk& x = chunk(i, c);
        x.outputs = at;
        x.gradients = at + ring;
        at += 2 * ring;
        const bool up = (bent() || twice()) && c == 1;
        const int next = up ? i - 1 : i + 1;
        if (next >= 0 && next < p_) {
          x.after = &chunk(next, c);
        } else if (!twice() && c + 1 < v_) {
          x.after = bent() ? &chunk(i, 1) : &chunk(0, c + 1);
        }
        if (x.after) x.after->before = &x;
        x.micro_batches = twice() ? (c == 0 ? s_.micro_batches - s_.micro_batches / 2 : s_.micro_batches / 2) : s_.micro_batches;
        x.first_micro_batch = twice() && c == 1 ? s_.micro_batches - s_.micro_batches / 2 : 0;
      }
    }
  }

  // Seconds to ticks: a tick is the power of two of seconds with which everything one after the other still counts below 2^61.
  void durations(const std::vector<StagePass>& passes, Seconds hop) {
    const bool whole = passes.size() == static_cast<std::size_t>(p_);
    const double share = whole && !twice() ? 1.0 / v_ : 1;
    const auto pass = [&](int i, int c) {
      const int up = c == 1 && (bent() || twice()) ? p_ - 1 - i : i;
      const std::size_t g = static_cast<std::size_t>(whole ? (twice() ? up : i) : c * p_ + up);
      return g < passes.size() ? passes[g] : StagePass{};
    };
    Seconds all;
    for (int i = 0; i < p_; ++i)
      for (int c = 0; c < v_; ++c) {
        const StagePass t = pass(i, c);
        all += (t.forward + t.input_gradient + t.weight_gradient) * (share * std::max(1.0, s_.pair)) + 3 * hop;
      }
    int exponent = 0;
    std::frexp((all * s_.micro_batches).value, &exponent);
    constexpr int kBits = 61, kLargestExponent = 1000;
    scale_ = std::ldexp(1.0, std::min(kBits - exponent, kLargestExponent));

    for (int i = 0; i < p_; ++i)
      for (int c = 0; c < v_; ++c) {
        Chunk& x = chunk(i, c);
        const StagePass t = pass(i, c);
        x.forward = ticks(t.forward * share);
        x.input = ticks(t.input_gradient * share);
        x.weight = ticks(t.weight_gradient * share);
        if (v_ == 2) {
          const StagePass other = pass(i, 1 - c);
          x.pair = ticks((t.forward + other.input_gradient + other.weight_gradient) * (share * s_.pair));
        }
        const auto elsewhere = [&](const Chunk* y) { return y && (y < rank(i).chunks || y >= rank(i).chunks + v_); };
        x.forward_hop = elsewhere(x.after) ? ticks(hop) : 0;
        x.input_hop = elsewhere(x.before) ? ticks(hop) : 0;
      }
  }

  Ticks ticks(Seconds s) const {
    const double t = s.value * scale_;
    return t > 0 ? static_cast<Ticks>(t + 0.5) : 0;
  }
  Seconds seconds(Ticks t) const { return Seconds(static_cast<double>(t) / scale_); }

  void order(int i) {
    Rank& r = rank(i);
    const int n = arranged_, later = p_ - 1 - i;
    int steady = 1;
    const auto add = [&r](int repeats, std::initializer_list<Step> steps) {
      Segment& s = r.segments[static_cast<std::size_t>(r.count++)];
      for (Step step : steps) {
        if (r.turned && step.chunk != kQueued.chunk) step.chunk ^= 1;
        s.steps[static_cast<std::size_t>(s.length++)] = step;
      }
      s.repeats = repeats;
    };
    switch (s_.kind) {
      case PipelineSchedule::gpipe:
        steady = 0;
        add(n, {kF0});
        add(n, {kBW0});
        break;
      case PipelineSchedule::one_f_one_b: case PipelineSchedule::interleaved: {
        const int all = n * v_, warm_up = turns_ ? std::min(all, 2 * later + (v_ - 1) * p_) : later;
        add(warm_up, {kF0});
        add(all - warm_up, {kF0, kBW0});
        add(warm_up, {kBW0});
        r.forward_turn = {0, p_};
        r.input_turn = {v_ - 1, p_};
        break;
      }
      case PipelineSchedule::zb_h1: case PipelineSchedule::zb_h2: {
        const int f = s_.kind == PipelineSchedule::zb_h2 ? 2 : 1;
        steady = 2;
        add(f * later, {kF0});
        add(f * i, {kF0, kB0});
        add(n - f * (p_ - 1), {kF0, kB0, kW0});
        add(f * later, {kB0, kW0});
        add(f * i, {kW0});
        break;
      }
      case PipelineSchedule::zb_v:
        steady = 3;
        add(2 * later + 1, {kF0});
        add(i, {kF1, kF0});
        add(later + 1, {kF1, kB1, kW1});
        add(n - 2 * p_ + i + 1, {kF0, kB0, kW0, kF1, kB1, kW1});
        add(later, {kB0, kW0, kF1, kB1, kW1});
        add(i, {kB0, kB1});
        add(later + 1, {kB0, kW0});
        add(i, {kW1});
        add(i, {kW0});
        break;
      case PipelineSchedule::dualpipe: case PipelineSchedule::dualpipe_v: 
        steady = 4;
        dual_pipe(r, i, add);
        break;
    }
    steady_ = steady;
    r.left = r.segments[0].repeats;
    next_segment(r);
  }

  // The eight steps of dualpipe.py and dualpipev.py. Phase 0 is the direction that enters the pipeline at a rank's nearer end.
  template <class Add>
  void dual_pipe(Rank& r, int i, const Add& add) const {
    const int half = twice() ? (p_ + 1) / 2 : p_, from_end = twice() ? std::min(i, p_ - 1 - i) : i;
    const int n = twice() ? arranged_ / 2 : arranged_, later = half - 1 - from_end, main = n - 2 * half + from_end + 1;
    const int middle = later == 0 ? 1 : 0;  // a middle rank's first two passes of the main step stay apart: less bubble
    const int even = from_end % 2 == 0 ? 1 : 0, delayed = (from_end + 1) / 2;
    r.turned = twice() && i >= half ? 1 : 0;
    r.queue = from_end;
    add(2 * later, {kF0});
    add(from_end + 1, {kF0, kF1});
    add(later, {kB1, kW1, kF1});
    add(middle, {kF0, kBW1, kF1BW0});
    add(main - middle, {kF0BW1, kF1BW0});
    add(later, {kBW1, kF1BW0});
    add(from_end + 1 - delayed - even, {kBW1, kBW0});
    add(even, {kBW1, kB0});
    add(delayed, {kB1, kB0});
    add(later, {kQueued, kB0});
    add(from_end + 1, {kQueued});
  }

  static void next_segment(Rank& r) {
    while (r.left == 0 && ++r.segment < r.count) r.left = r.segments[static_cast<std::size_t>(r.segment)].repeats;
  }

  // Every rank as far as its limit and what has arrived allow. False: some did not reach their limits.
  bool advance() {
    for (bool moved = true; moved;) {
      moved = false;
      bool all = true;
      const auto visit = [&](int i) {
        moved = walk(i) || moved;
        all = all && rank(i).done >= rank(i).limit;
      };
      for (int i = p_ - 1; i >= 0; --i) visit(i);
      if (all) return true;
      for (int i = 1; i < p_; ++i) visit(i);
    }
    return false;
  }

  bool walk(int i) {
    Rank& r = rank(i);
    const int before = r.done;
    while (r.done < r.limit && r.segment < r.count) {
      const Segment& s = r.segments[static_cast<std::size_t>(r.segment)];
      if (!pass(i, r, s.steps[static_cast<std::size_t>(r.step)])) break;
      ++r.done;
      if (++r.step < s.length) continue;
      r.step = 0;
      if (--r.left == 0) next_segment(r);
    }
    return r.done != before;
  }

  // A pass can run when its input is made, and, for the ring's sake, when the oldest entry of what it makes is taken.
  bool forward_ready(const Chunk& x) const {
    return (!x.before || x.before->forwards > x.forwards) && (!x.after || x.forwards - x.after->forwards <= mask_);
  }
  bool backward_ready(const Chunk& x) const {
    return (!x.after || x.after->inputs > x.inputs) && (!x.before || x.inputs - x.before->inputs <= mask_);
  }
  Ticks forward_arrival(const Chunk& x) const { return x.before ? x.before->outputs[x.forwards & mask_] : 0; }
  Ticks backward_arrival(const Chunk& x) const { return x.after ? x.after->gradients[x.inputs & mask_] : 0; }

  // The next step of a rank; false while its input is missing. Micro-batches that are not there take no time and wait for nothing.
  bool pass(int i, Rank& r, Step step) {
    const auto at = [&r](int c) -> Chunk& { return r.chunks[c]; };
    switch (step.kind) {
      case PassKind::forward: {
        Chunk& x = at(turns_ ? r.forward_turn.chunk : step.chunk);
        if (x.forwards < x.micro_batches) {
          if (!forward_ready(x)) return false;
          run(i, r, step.kind, x, x.forwards, forward_arrival(x), x.forward);
          x.outputs[x.forwards & mask_] = r.free + x.forward_hop;
        }
        ++x.forwards;
        if (turns_) turn(r.forward_turn, 1);
        return true;
      }
      case PassKind::backward: case PassKind::input_gradient: {
        const bool whole = step.kind == PassKind::backward;
        Chunk& x = at(turns_ ? r.input_turn.chunk : step.chunk);
        if (x.inputs < x.micro_batches) {
          if (!backward_ready(x)) return false;
          run(i, r, step.kind, x, x.inputs, backward_arrival(x), whole ? x.input + x.weight : x.input);
          x.gradients[x.inputs & mask_] = r.free + x.input_hop;
        }
        ++x.inputs;
        if (whole) ++x.weights;
        if (turns_) turn(r.input_turn, v_ - 1);
        return true;
      }
      case PassKind::weight_gradient: {
        Chunk& x = at(step.chunk == kQueued.chunk ? (r.queue > 0 ? r.queue & 1 : 0) ^ r.turned : step.chunk);
        if (step.chunk == kQueued.chunk) --r.queue;
        if (x.weights < x.micro_batches) run(i, r, step.kind, x, x.weights, 0, x.weight);
        ++x.weights;
        return true;
      }
      case PassKind::forward_and_backward: {
        Chunk &x = at(step.chunk), &y = at(1 - step.chunk);
        if (x.forwards >= x.micro_batches) return pass(i, r, {PassKind::backward, static_cast<unsigned char>(1 - step.chunk)});
        if (y.inputs >= y.micro_batches) return pass(i, r, {PassKind::forward, step.chunk});
        if (!forward_ready(x) || !backward_ready(y)) return false;
        run(i, r, step.kind, x, x.forwards, std::max(forward_arrival(x), backward_arrival(y)), x.pair);
        if (events_) events_->back().backward_micro_batch = y.first_micro_batch + y.inputs;
        x.outputs[x.forwards++ & mask_] = r.free + x.forward_hop;
        y.gradients[y.inputs++ & mask_] = r.free + y.input_hop;
        ++y.weights;
        return true;
      }
    }
    return true;
  }

  void run(int i, Rank& r, PassKind kind, const Chunk& x, int micro_batch, Ticks arrival, Ticks duration) {
    const Ticks start = std::max(r.free, arrival);
    if (r.first < 0) r.first = start;
    r.free = start + duration;
    r.busy += duration;
    if (events_)
      events_->push_back({i, static_cast<int>(&x - r.chunks), x.first_micro_batch + micro_batch, kind, -1, seconds(start), seconds(duration)});
  }

  void turn(Turn& t, int by) const {
    if (--t.left > 0) return;
    t.left = p_;
    t.chunk = (t.chunk + by) % v_;
  }

  // Runs the rounds of a segment until they repeat themselves, and adds those that would.
  void steady(int segment) {
    const std::size_t at = static_cast<std::size_t>(segment), p = ranks_.size();
    const int turns = turns_ ? p_ * v_ : 1;
    int rounds = ranks_[0].segments[at].repeats / turns;
    for (const Rank& r : ranks_) rounds = std::min(rounds, r.segments[at].repeats / turns);
    constexpr std::size_t kRows = kLongestPeriod + 1;
    std::vector<Ticks> free(kRows * p);  // when each rank was free after the latest rounds
    for (int k = 0; k < rounds; ++k) {
      // The cut between two rounds must be one that no pass before it reaches across; when interleaved, rank 0 waits for what rank p-1
      // made p steps before, so each rank goes one pair of passes further than the one before it.
      for (int i = 0; i < p_; ++i) {
        Rank& r = rank(i);
        r.limit = (k * turns + (turns_ ? i : 0)) * r.segments[at].length;
        for (std::size_t s = 0; s < at; ++s) r.limit += r.segments[s].length * r.segments[s].repeats;
      }
      if (!advance()) return;
      const auto row = [&](int of) { return &free[static_cast<std::size_t>(of) % kRows * p]; };
      for (std::size_t i = 0; i < p; ++i) row(k)[i] = ranks_[i].free;
      for (int q = 1; q <= std::min(k, kLongestPeriod); ++q)
        if (repeats(row(k), row(k - q), turns_ ? q * p_ : q)) return skip(at, (rounds - k) / q, q * turns, row(k)[0] - row(k - q)[0]);
    }
  }

  // All that later passes depend on is as far from `then` as rank 0 is, `micro_batches` ago.
  bool repeats(const Ticks* now, const Ticks* then, int micro_batches) const {
    const Ticks c = now[0] - then[0];
    for (std::size_t i = 1; i < ranks_.size(); ++i)
      if (now[i] - then[i] != c) return false;
    const auto same = [&](const Ticks* ring, int taken, int made) {
      if (taken < made && (taken < micro_batches || made - taken + micro_batches > mask_ + 1)) return false;
      for (int j = taken; j < made; ++j)
        if (ring[j & mask_] - ring[(j - micro_batches) & mask_] != c) return false;
      return true;
    };
    for (const Chunk& x : chunks_) {
      if (x.before && !same(x.before->outputs, x.forwards, x.before->forwards)) return false;
      if (x.after && !same(x.after->gradients, x.inputs, x.after->inputs)) return false;
    }
    return true;
  }

  // `times` times `repeats` of the segment, `c` each time. Micro-batches keep their numbers: only how many are still to come counts.
  void skip(std::size_t segment, int times, int repeats, Ticks c) {
    const Ticks shift = times * c;
    for (Chunk& x : chunks_) {
      if (x.before)
        for (int j = x.forwards; j < x.before->forwards; ++j) x.before->outputs[j & mask_] += shift;
      if (x.after)
        for (int j = x.inputs; j < x.after->inputs; ++j) x.after->gradients[j & mask_] += shift;
    }
    for (Rank& r : ranks_) {
      const Segment& s = r.segments[segment];
      Ticks busy = 0;
      if (turns_) {
        for (int c_ = 0; c_ < v_; ++c_) busy += r.chunks[c_].forward + r.chunks[c_].input + r.chunks[c_].weight;
        busy *= repeats / v_;
      } else {
        for (int j = 0; j < s.length; ++j) busy += duration(r, s.steps[static_cast<std::size_t>(j)]);
        busy *= repeats;
      }
      r.busy += times * busy;
      r.free += shift;
      r.done += times * repeats * s.length;
      r.left -= times * repeats;
      if (r.left == 0) next_segment(r);
    }
    skipped_ += static_cast<std::size_t>(times) * static_cast<std::size_t>(turns_ ? repeats / (p_ * v_) : repeats);
  }

  static Ticks duration(const Rank& r, Step step) {
    const Chunk& x = r.chunks[step.chunk];
    switch (step.kind) {
      case PassKind::forward: return x.forward;
      case PassKind::backward: return x.input + x.weight;
      case PassKind::input_gradient: return x.input;
      case PassKind::weight_gradient: return x.weight;
      case PassKind::forward_and_backward: return x.pair;
    }
    return 0;
  }

  Schedule s_;
  int p_, v_;
  bool turns_ = false;  // chunks take turns, p micro-batches each: interleaved
  int arranged_ = 0, steady_ = 0, mask_ = 0;
  double scale_ = 1;
  std::size_t skipped_ = 0;
  std::vector<PassEvent>* events_;
  std::vector<Rank> ranks_;
  std::vector<Chunk> chunks_;
  std::unique_ptr<Ticks[]> rings_;
};

}  // namespace

int chunks_of(const Schedule& s) {
  switch (s.kind) {
    case PipelineSchedule::interleaved: return s.chunks;
    case PipelineSchedule::zb_v: case PipelineSchedule::dualpipe: case PipelineSchedule::dualpipe_v: return 2;
    default: return 1;
  }
}

PipelineTimes pipeline_times(const Schedule& schedule, const std::vector<StagePass>& passes, Seconds hop, std::vector<PassEvent>* events) {
  return Simulation(schedule, passes, hop, events).run();
}

}  // namespace wireplan
