#include "core/step/schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

namespace wireplan {
namespace {

using Ticks = std::int64_t;

// An order, row by row: passes, a letter each, repeated Σ factor · quantity times. Capitals are passes of chunk 0, small letters of
// chunk 1: F forward, B backward for the input, W for the weights, D both, P a forward with the other chunk's D, Q (DualPipe) the
// oldest W that was put off.
struct Row {
  PipelineSchedule kind;
  bool steady;        // rounds to look for repetition in
  signed char n;      // micro-batches of a chunk, all those of the rank when interleaved
  signed char p, i;   // ranks, this one; DualPipe: of half the ranks, counted from the nearer end
  signed char later;  // ranks after this one, of those
  signed char one;
  signed char extra[3];  // 1f1b, interleaved: [0] forwards before the first backward. DualPipe: [0] whether in the middle, [1] i even, [2] (i+1)/2
  const char* passes;
};

using enum PipelineSchedule;
constexpr Row kOrders[] = {
    // kind, steady, n, p, i, later, 1
    {gpipe, true, 1, 0, 0, 0, 0, {}, "F"},
    {gpipe, true, 1, 0, 0, 0, 0, {}, "D"},
    {one_f_one_b, false, 0, 0, 0, 0, 0, {1}, "F"},
    {one_f_one_b, true, 1, 0, 0, 0, 0, {-1}, "FD"},
    {one_f_one_b, false, 0, 0, 0, 0, 0, {1}, "D"},
    {zb_h1, false, 0, 0, 0, 1, 0, {}, "F"},
    {zb_h1, false, 0, 0, 1, 0, 0, {}, "FB"},
    {zb_h1, true, 1, -1, 0, 0, 1, {}, "FBW"},
    {zb_h1, false, 0, 0, 0, 1, 0, {}, "BW"},
    {zb_h1, false, 0, 0, 1, 0, 0, {}, "W"},
    {zb_h2, false, 0, 0, 0, 2, 0, {}, "F"},
    {zb_h2, false, 0, 0, 2, 0, 0, {}, "FB"},
    {zb_h2, true, 1, -2, 0, 0, 2, {}, "FBW"},
    {zb_h2, false, 0, 0, 0, 2, 0, {}, "BW"},
    {zb_h2, false, 0, 0, 2, 0, 0, {}, "W"},
    {zb_v, false, 0, 0, 0, 2, 1, {}, "F"},
    {zb_v, false, 0, 0, 1, 0, 0, {}, "fF"},
    {zb_v, false, 0, 0, 0, 1, 1, {}, "fbw"},
    {zb_v, true, 1, -2, 1, 0, 1, {}, "FBWfbw"},
    {zb_v, false, 0, 0, 0, 1, 0, {}, "BWfbw"},
    {zb_v, false, 0, 0, 1, 0, 0, {}, "Bb"},
    {zb_v, false, 0, 0, 0, 1, 1, {}, "BW"},
    {zb_v, false, 0, 0, 1, 0, 0, {}, "w"},
    {zb_v, false, 0, 0, 1, 0, 0, {}, "W"},
    // The eight steps of dualpipe.py; capitals are its phase 0.
    {dualpipe, false, 0, 0, 0, 2, 0, {}, "F"},
    {dualpipe, false, 0, 0, 1, 0, 1, {}, "Ff"},
    {dualpipe, false, 0, 0, 0, 1, 0, {}, "bwf"},
    {dualpipe, false, 0, 0, 0, 0, 0, {1}, "Fdp"},  // in the middle the first two passes of the main step stay apart: less bubble
    {dualpipe, true, 1, -2, 1, 0, 1, {-1}, "Pp"},
    {dualpipe, false, 0, 0, 0, 1, 0, {}, "dp"},
    {dualpipe, false, 0, 0, 1, 0, 1, {0, -1, -1}, "dD"},
    {dualpipe, false, 0, 0, 0, 0, 0, {0, 1}, "dB"},  // from the middle of this step on W is put off
    {dualpipe, false, 0, 0, 0, 0, 0, {0, 0, 1}, "bB"},
    {dualpipe, false, 0, 0, 0, 1, 0, {}, "QB"},
    {dualpipe, false, 0, 0, 1, 0, 1, {}, "Q"},
};

constexpr std::string_view kLetters = "FBDPWQ";
enum Letter : unsigned char { kF, kB, kD, kP, kW, kQ };

struct Segment {  // a row of one rank
  std::array<unsigned char, 6> passes;  // 2 · letter + chunk
  bool steady;
  int length, repeats;
};
using Segments = std::array<Segment, 11>;  // dualpipe has most

struct Chunk {  // of a rank
  Ticks forward = 0, input = 0, weight = 0, pair = 0;  // durations; pair: of its forward with the other chunk's backward
  Ticks forward_hop = 0, input_hop = 0;                // until what it made is where it is needed
  int forwards = 0, inputs = 0, weights = 0;           // passes done, by kind
  int micro_batches = 0, first_micro_batch = 0;
  Chunk *before = nullptr, *after = nullptr;       // in the model
  Ticks *outputs = nullptr, *gradients = nullptr;  // when they arrive, rings over micro-batches
};

struct Turn {  // interleaved: which chunk is next, and for how many micro-batches yet
  int chunk = 0, left = 0;
};

struct Rank {
  Segments segments;
  std::size_t count = 0;                // of segments
  std::size_t segment = 0;              // where it is
  int step = 0, left = 0;               // pass of the row, repeats of it
  int done = 0, limit = 0;              // steps
  Turn forward_turn, input_turn;
  int queue = 0;                        // DualPipe: weight gradients ahead of those of phase 0 alone; below 0: none
  Ticks free = 0, busy = 0, first = -1;
  Ticks rate = 0, rate_before = 0;      // what `free` grows by in the rounds that are looked at, and did in those before
  int steps = 0;                        // of all segments
  Chunk* chunks = nullptr;
};

// Of periods that are looked for, in rounds; a longer one is simulated to the end. Circuits through n ranks repeat after up to n.
constexpr int kLongestPeriod = 64;

int round_up(int a, int b) { return (a + b - 1) / b * b; }

// Micro-batches of the order: m, or the next number that the schedule can arrange.
int arranged(const Schedule& s, int m) {
  switch (s.kind) {
    case gpipe: return m;
    case one_f_one_b: case zb_h1: return std::max(m, s.stages);
    case interleaved: return chunks_of(s) > 1 ? round_up(m, s.stages) : std::max(m, s.stages);
    case zb_h2: case zb_v: return std::max(m, 2 * s.stages - 1);
    case dualpipe: return round_up(std::max(m, 2 * s.stages), 2);
    case dualpipe_v: return std::max(m, 2 * s.stages);
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
    if (s_.kind == interleaved && v_ == 1) s_.kind = one_f_one_b;
    turns_ = s_.kind == interleaved;
    arranged_ = arranged(s_, s_.micro_batches);
    connect();
    durations(passes, hop);
    read_rows();
    for (int i = 0; i < p_; ++i) order(i);
  }

  PipelineTimes run() {
    // With micro-batches that are not there the rounds differ.
    if (!events_ && arranged_ == s_.micro_batches) {
      for (std::size_t s = 0; s < ranks_[0].count; ++s)
        if (ranks_[0].segments[s].steady) steady(s);
    }
    for (Rank& r : ranks_) r.limit = r.steps;
    advance();

    PipelineTimes times;
    for (std::vector<Seconds>* list : {&times.busy, &times.first_start, &times.last_end}) list->resize(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Rank& r = ranks_[i];
      times.busy[i] = seconds(r.busy);
      times.first_start[i] = seconds(r.first);
      times.last_end[i] = seconds(r.free);
      times.end = std::max(times.end, times.last_end[i]);
    }
    times.rounds_skipped = skipped_;
    return times;
  }

 private:
  Chunk& chunk(int rank, int c) { return chunks_[static_cast<std::size_t>(rank * v_ + c)]; }
  Rank& rank(int i) { return ranks_[static_cast<std::size_t>(i)]; }
  bool bent() const { return s_.kind == zb_v || s_.kind == dualpipe_v; }
  bool twice() const { return s_.kind == dualpipe; }
  bool dual() const { return twice() || s_.kind == dualpipe_v; }

  // The neighbours of each chunk in the model, and the rings of what goes between them.
  void connect() {
    // A full ring holds back its producer, in this program and not in time. That blocks no order: GPipe's consumers are always ready for
    // the next, and the others keep at most 2p micro-batches of a chunk in flight. Twice that leaves earlier rounds to compare with.
    int ring = 4;
    while (ring < 4 * p_ && ring < s_.micro_batches) ring *= 2;
    mask_ = ring - 1;
    rate_offset_ = 2 * chunks_.size() * static_cast<std::size_t>(ring);
    rings_.reset(new Ticks[2 * rate_offset_]);
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

  // The rows of the schedule, decoded.
  void read_rows() {
    const PipelineSchedule kind = dual() ? dualpipe : turns_ ? one_f_one_b : s_.kind;
    for (const Row& row : kOrders) {
      if (row.kind != kind) continue;
      if (rows_ == 0) first_row_ = &row;
      Segment& s = template_[rows_++];
      s.steady = row.steady;
      for (const char* c = row.passes; *c; ++c) {
        const bool small = *c >= 'a';
        const std::size_t letter = kLetters.find(static_cast<char>(small ? *c - 'a' + 'A' : *c));
        s.passes[static_cast<std::size_t>(s.length++)] = static_cast<unsigned char>(2 * letter + (small ? 1 : 0));
      }
    }
  }

  void order(int i) {
    Rank& r = rank(i);
    const int p = twice() ? (p_ + 1) / 2 : p_, at = twice() ? std::min(i, p_ - 1 - i) : i, later = p - 1 - at;
    const int n = turns_ ? arranged_ * v_ : twice() ? arranged_ / 2 : arranged_;
    const bool turned = i >= p;  // DualPipe: phase 0 is chunk 1
    int extra[3] = {turns_ ? std::min(n, 2 * later + (v_ - 1) * p) : later, 0, 0};
    if (dual()) {
      extra[0] = later == 0 ? 1 : 0;
      extra[1] = at % 2 == 0 ? 1 : 0;
      extra[2] = (at + 1) / 2;
      r.queue = at;
    }
    r.forward_turn = {0, p_};
    r.input_turn = {v_ - 1, p_};
    r.segments = template_;
    r.count = rows_;
    for (std::size_t k = 0; k < rows_; ++k) {
      const Row& row = first_row_[k];
      Segment& s = r.segments[k];
      s.repeats = row.n * n + row.p * p + row.i * at + row.later * later + row.one;
      for (int e = 0; e < 3; ++e) s.repeats += row.extra[e] * extra[e];
      for (int j = 0; turned && j < s.length; ++j) s.passes[static_cast<std::size_t>(j)] ^= 1;
      r.steps += s.length * s.repeats;
    }
    r.left = r.segments[0].repeats;
    next_segment(r);
  }

  static void next_segment(Rank& r) {
    while (r.left == 0 && r.segment + 1 < r.count) r.left = r.segments[++r.segment].repeats;
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

  // The steps of a rank up to the first whose input is missing; whether there were any.
  bool walk(int i) {
    Rank& r = rank(i);
    const int before = r.done, limit = r.limit;
    int done = before, at = r.step;  // here and `free`: the compiler cannot know that no ring holds them
    Ticks free = r.free;
    const Segment* s = &r.segments[r.segment];
    while (done < limit && pass(r, s->passes[static_cast<std::size_t>(at)], free)) {
      ++done;
      if (++at < s->length) continue;
      at = 0;
      if (--r.left > 0) continue;
      next_segment(r);
      s = &r.segments[r.segment];
    }
    r.done = done;
    r.step = at;
    r.free = free;
    return done != before;
  }

  // The next step of a rank that is free from `free` on; false while its input is missing. Micro-batches that are not there take no
  // time and wait for nothing. In line: two thirds of the simulation's time are spent here.
  [[gnu::always_inline]] bool pass(Rank& r, unsigned char code, Ticks& free) {
    const int c = code % 2, letter = code / 2;
    switch (letter) {
      case kF: {
        Chunk& x = r.chunks[turns_ ? r.forward_turn.chunk : c];
        if (x.forwards < x.micro_batches) {
          if (!forward_ready(x)) return false;
          run(r, free, PassKind::forward, x, x.forwards, forward_arrival(x), nullptr, x.forward);
          give(r, free, x.outputs + (x.forwards & mask_), x.forward_hop);
        }
        ++x.forwards;
        if (turns_) turn(r.forward_turn, 1);
        return true;
      }
      case kB: case kD: {
        const bool whole = letter == kD;
        Chunk& x = r.chunks[turns_ ? r.input_turn.chunk : c];
        if (x.inputs < x.micro_batches) {
          if (!backward_ready(x)) return false;
          run(r, free, whole ? PassKind::backward : PassKind::input_gradient, x, x.inputs, backward_arrival(x), nullptr,
              x.input + (whole ? x.weight : 0));
          give(r, free, x.gradients + (x.inputs & mask_), x.input_hop);
        }
        ++x.inputs;
        if (whole) ++x.weights;
        if (turns_) turn(r.input_turn, v_ - 1);
        return true;
      }
      case kP: {
        Chunk &x = r.chunks[c], &y = r.chunks[1 - c];
        const bool forward = x.forwards < x.micro_batches, backward = y.inputs < y.micro_batches, both = forward && backward;
        if ((forward && !forward_ready(x)) || (backward && !backward_ready(y))) return false;
        if (forward || backward)
          run(r, free, both ? PassKind::forward_and_backward : forward ? PassKind::forward : PassKind::backward, forward ? x : y,
              forward ? x.forwards : y.inputs, forward ? forward_arrival(x) : nullptr, backward ? backward_arrival(y) : nullptr,
              both ? x.pair : forward ? x.forward : y.input + y.weight);
        if (events_ && both) events_->back().backward_micro_batch = y.first_micro_batch + y.inputs;
        if (forward) give(r, free, x.outputs + (x.forwards & mask_), x.forward_hop);
        if (backward) give(r, free, y.gradients + (y.inputs & mask_), y.input_hop);
        ++x.forwards;
        ++y.inputs;
        ++y.weights;
        return true;
      }
      default: {
        // The queue is first in, first out: of what was put off, chunks in turn ending with that of phase 0, then more of that.
        const bool queued = letter == kQ;
        Chunk& x = r.chunks[queued && r.queue > 0 ? c ^ (r.queue & 1) : c];
        if (queued) --r.queue;
        if (x.weights < x.micro_batches) run(r, free, PassKind::weight_gradient, x, x.weights, nullptr, nullptr, x.weight);
        ++x.weights;
        return true;
      }
    }
  }

  // A pass can run when its input is made, and, for the ring's sake, when the oldest entry of what it makes is taken.
  bool forward_ready(const Chunk& x) const {
    return (!x.before || x.before->forwards > x.forwards) && (!x.after || x.forwards - x.after->forwards <= mask_);
  }
  bool backward_ready(const Chunk& x) const {
    return (!x.after || x.after->inputs > x.inputs) && (!x.before || x.inputs - x.before->inputs <= mask_);
  }
  const Ticks* forward_arrival(const Chunk& x) const { return x.before ? x.before->outputs + (x.forwards & mask_) : nullptr; }
  const Ticks* backward_arrival(const Chunk& x) const { return x.after ? x.after->gradients + (x.inputs & mask_) : nullptr; }

  [[gnu::always_inline]] void run(Rank& r, Ticks& free, PassKind kind, const Chunk& x, int micro_batch, const Ticks* arrival,
                                  const Ticks* second, Ticks duration) {
    if (rating_) {
      if (arrival) rate(r, free, arrival);
      if (second) rate(r, free, second);
    }
    if (arrival) free = std::max(free, *arrival);
    if (second) free = std::max(free, *second);
    if (r.first < 0) r.first = free;
    if (events_) tell(r, kind, x, micro_batch, free, duration);
    free += duration;
    r.busy += duration;
  }

  void give(const Rank& r, Ticks free, Ticks* to, Ticks hop) const {
    *to = free + hop;
    if (rating_) to[rate_offset_] = r.rate;
  }

  void tell(const Rank& r, PassKind kind, const Chunk& x, int micro_batch, Ticks start, Ticks duration) const {
    events_->push_back({static_cast<int>(&r - ranks_.data()), static_cast<int>(&x - r.chunks), x.first_micro_batch + micro_batch, kind, -1,
                        seconds(start), seconds(duration)});
  }

  void turn(Turn& t, int by) const {
    if (--t.left > 0) return;
    t.left = p_;
    t.chunk = (t.chunk + by) % v_;
  }

  // Which of two times a start waits for, while both go on at their rates: the later one, and for how many turns it stays the later.
  void rate(Rank& r, Ticks& free, const Ticks* arrival) {
    const Ticks late = *arrival - free, faster = arrival[rate_offset_] - r.rate;
    if (late > 0 || (late == 0 && faster > 0)) {
      if (faster < 0) turns_left_ = std::min(turns_left_, late / -faster);
      free = *arrival;
      r.rate += faster;
    } else if (faster > 0) {
      turns_left_ = std::min(turns_left_, -late / faster);
    }
  }

  // What to do with all that is made and not yet taken; `amount` is c or how often.
  enum class InFlight : unsigned char { went_on_by, start_rate, rate_holds, go_on };
  bool in_flight(InFlight what, int micro_batches, Ticks amount = 0) {
    const auto all = [&](Ticks* ring, int taken, int made) {
      for (int j = taken; j < made; ++j) {
        Ticks *stamp = ring + (j & mask_), *before = ring + ((j - micro_batches) & mask_);
        if (what == InFlight::go_on) {
          *stamp += amount * stamp[rate_offset_];
          continue;
        }
        if (j < micro_batches || made - j + micro_batches > mask_ + 1) return false;  // no longer in the ring
        if (what == InFlight::start_rate) stamp[rate_offset_] = *stamp - *before;
        if (what == InFlight::went_on_by && *stamp - *before != amount) return false;
        if (what == InFlight::rate_holds && (stamp[rate_offset_] != before[rate_offset_] || *stamp - *before != stamp[rate_offset_])) return false;
      }
      return true;
    };
    // What is late on its way past a chunk is so whatever it is compared with: the chunk that said no comes first the next time.
    for (std::size_t n = chunks_.size(); n > 0; --n) {
      const Chunk& x = chunks_[doubtful_];
      if (x.before && !all(x.before->outputs, x.forwards, x.before->forwards)) return false;
      if (x.after && !all(x.after->gradients, x.inputs, x.after->inputs)) return false;
      if (++doubtful_ == chunks_.size()) doubtful_ = 0;
    }
    return true;
  }

  // Runs the rounds of a segment, `turns` repeats each, and adds those that only repeat what the ones before them did.
  void steady(std::size_t segment) {
    const std::size_t p = ranks_.size();
    const int turns = turns_ ? p_ * v_ : 1, micro_batches = turns_ ? p_ : 1;
    int rounds = ranks_[0].segments[segment].repeats / turns;
    for (const Rank& r : ranks_) rounds = std::min(rounds, r.segments[segment].repeats / turns);
    // The cut between two rounds must be one that no pass before it reaches across; when interleaved, rank 0 waits for what rank p-1
    // made p steps before, so each rank goes one pair of passes further than the one before it.
    std::vector<int> at(p);
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t s = 0; s < segment; ++s) at[i] += ranks_[i].segments[s].length * ranks_[i].segments[s].repeats;
      if (turns_) at[i] += static_cast<int>(i) * ranks_[i].segments[segment].length;
    }
    const auto run_to = [&](int k) {
      for (std::size_t i = 0; i < p; ++i) ranks_[i].limit = at[i] + k * turns * ranks_[i].segments[segment].length;
      return advance();
    };
    const int longest = std::min(p_, kLongestPeriod), history = 2 * longest + 1;
    std::vector<Ticks> rows(static_cast<std::size_t>(history) * p);  // when each rank was free after each of the latest rounds
    const auto row = [&](int k) { return &rows[static_cast<std::size_t>(k % history) * p]; };
    int since = 0, watched = -1, period = 0;  // the first round of that history; the last before rates are looked at, for how many
    int patience = 1, patient_until = 0;  // looking costs time: after each time in vain not again for twice as long
    for (int k = 0; k < rounds; ++k) {
      if (!run_to(k)) break;
      const Ticks* now = row(k);
      for (std::size_t i = 0; i < p; ++i) row(k)[i] = ranks_[i].free;
      int found = 0;  // period of what repeats
      if (rating_ && k == watched + period) {
        rating_ = false;
        if (rates_hold(now, row(watched))) {
          found = period;
        } else {
          patience *= 2;
          patient_until = k + patience;
        }
      }
      for (int q = 1; q <= std::min(longest, k - since) && !found; ++q)
        if (alike(now, row(k - q), q * micro_batches) && start_rates(now, row(k - q), q * micro_batches)) found = q;
      if (found) {
        const Ticks times = std::min<Ticks>((rounds - k) / found, turns_left_);
        rating_ = false;
        skip(segment, static_cast<int>(times), found * turns);
        skipped_ += static_cast<std::size_t>(times) * static_cast<std::size_t>(found);
        k += static_cast<int>(times) * found;
        since = k;
        for (std::size_t i = 0; i < p; ++i) row(k)[i] = ranks_[i].free;
      }
      for (int q = 1; q <= std::min({longest, (k - since) / 2, rounds - 1 - k}) && !rating_ && k >= patient_until; ++q)
        if (as_before(now, row(k - q), row(k - 2 * q)) && start_rates(now, row(k - q), q * micro_batches)) {
          rating_ = true;
          watched = k;
          period = q;
        }
    }
    rating_ = false;
  }

  // All that later passes depend on went on by the same.
  bool alike(const Ticks* now, const Ticks* then, int micro_batches) {
    const Ticks c = now[0] - then[0];
    for (std::size_t i = 1; i < ranks_.size(); ++i)
      if (now[i] - then[i] != c) return false;
    return in_flight(InFlight::went_on_by, micro_batches, c);
  }

  // Worth looking at rates: each rank went on as in the rounds before.
  bool as_before(const Ticks* now, const Ticks* then, const Ticks* earlier) const {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (now[i] - then[i] != then[i] - earlier[i]) return false;
    return true;
  }

  // Gives all that later passes depend on the rate it went on at. False: one is too old to be known.
  bool start_rates(const Ticks* now, const Ticks* then, int micro_batches) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].rate = ranks_[i].rate_before = now[i] - then[i];
    rated_for_ = micro_batches;
    turns_left_ = std::numeric_limits<Ticks>::max();
    return in_flight(InFlight::start_rate, micro_batches);
  }

  // Whether all went on in those rounds as in the ones before, and comes out of them with the rates that it went in with.
  bool rates_hold(const Ticks* now, const Ticks* then) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Rank& r = ranks_[i];
      if (r.rate != r.rate_before || now[i] - then[i] != r.rate) return false;
    }
    return in_flight(InFlight::rate_holds, rated_for_);
  }

  // `times` times `repeats` of the segment at those rates. Micro-batches keep their numbers: only how many are to come counts.
  void skip(std::size_t segment, int times, int repeats) {
    in_flight(InFlight::go_on, 0, times);
    for (Rank& r : ranks_) {
      const Segment& s = r.segments[segment];
      Ticks busy = 0;  // of a repeat; when interleaved of v, a micro-batch
      if (turns_) {
        for (int c = 0; c < v_; ++c) busy += r.chunks[c].forward + r.chunks[c].input + r.chunks[c].weight;
        busy *= repeats / v_;
      } else {
        for (int j = 0; j < s.length; ++j) busy += duration(r, s.passes[static_cast<std::size_t>(j)]);
        busy *= repeats;
      }
      r.busy += times * busy;
      r.free += times * r.rate;
      r.done += times * repeats * s.length;
      r.left -= times * repeats;
      if (r.left == 0) next_segment(r);
    }
  }

  static Ticks duration(const Rank& r, unsigned char code) {
    const Chunk& x = r.chunks[code % 2];
    switch (code / 2) {
      case kF: return x.forward;
      case kB: return x.input;
      case kD: return x.input + x.weight;
      case kP: return x.pair;
      default: return x.weight;
    }
  }

  Schedule s_;
  int p_, v_;
  bool turns_ = false;  // chunks take turns, p micro-batches each: interleaved
  int arranged_ = 0, mask_ = 0;
  const Row* first_row_ = kOrders;
  std::size_t rows_ = 0, doubtful_ = 0;
  Segments template_{};
  double scale_ = 1;
  std::size_t skipped_ = 0;
  std::vector<PassEvent>* events_;
  std::vector<Rank> ranks_;
  std::vector<Chunk> chunks_;
  std::unique_ptr<Ticks[]> rings_;  // and behind them as many rates
  std::size_t rate_offset_ = 0;
  bool rating_ = false;
  int rated_for_ = 0;  // micro-batches
  Ticks turns_left_ = 0;  // rounds until a start waits for something else
};

}  // namespace

int chunks_of(const Schedule& s) {
  switch (s.kind) {
    case interleaved: return s.chunks;
    case zb_v: case dualpipe: case dualpipe_v: return 2;
    default: return 1;
  }
}

PipelineTimes pipeline_times(const Schedule& schedule, const std::vector<StagePass>& passes, Seconds hop, std::vector<PassEvent>* events) {
  return Simulation(schedule, passes, hop, events).run();
}

}  // namespace wireplan
