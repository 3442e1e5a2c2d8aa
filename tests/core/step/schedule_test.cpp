// Identities of pipeline schedules. F, B, W as in schedule.hpp; figures of [zerobubble24] Table 2, [megatron21] §2.2, [dualpipe] README.
#include "core/step/schedule.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>

using namespace wireplan;

namespace {

constexpr PipelineSchedule kAll[] = {PipelineSchedule::one_f_one_b, PipelineSchedule::gpipe, PipelineSchedule::interleaved, PipelineSchedule::zb_h1,
                                     PipelineSchedule::zb_h2, PipelineSchedule::zb_v, PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v};

StagePass pass(double f, double b, double w) { return {Seconds(f), Seconds(b), Seconds(w)}; }

std::vector<StagePass> equal(int n, double f, double b, double w) { return std::vector<StagePass>(static_cast<std::size_t>(n), pass(f, b, w)); }

// grain a power of two: sums of such times are exact.
std::vector<StagePass> uneven(std::mt19937& random, int n, double grain = 1e-6) {
  const auto time = [&] { return 0.25 + static_cast<double>(random() % static_cast<unsigned>(1 / grain)) * grain; };
  std::vector<StagePass> passes;
  for (int i = 0; i < n; ++i) {
    const double f = time(), b = time(), w = time();
    passes.push_back(pass(f, b, w));
  }
  return passes;
}

Schedule schedule_of(PipelineSchedule kind, int p, int m, int v = 2) { return {kind, p, kind == PipelineSchedule::interleaved ? v : 1, m}; }

std::string words(const Schedule& s) {
  return std::string(name_of(s.kind)) + " p " + std::to_string(s.stages) + " m " + std::to_string(s.micro_batches) + " v " + std::to_string(s.chunks);
}

bool close(Seconds a, Seconds b) { return std::fabs((a - b).value) <= 1e-12 * std::max(a.value, b.value); }

// A pass of the model: which micro-batch goes through which virtual stage, and where that is.
struct Place { int rank, chunk; };

struct Chain {  // written anew from what the schedules say, not from the code under test
  explicit Chain(const Schedule& s) : schedule(s) {}
  Schedule schedule;
  bool twice() const { return schedule.kind == PipelineSchedule::dualpipe; }
  int stages() const { return twice() ? schedule.stages : schedule.stages * chunks_of(schedule); }
  bool reversed(int micro_batch) const { return twice() && micro_batch >= (schedule.micro_batches + 1) / 2; }
  Place place(int g, int micro_batch) const {
    const int p = schedule.stages;
    if (twice()) return reversed(micro_batch) ? Place{p - 1 - g, 1} : Place{g, 0};
    if (schedule.kind == PipelineSchedule::zb_v || schedule.kind == PipelineSchedule::dualpipe_v) return g < p ? Place{g, 0} : Place{2 * p - 1 - g, 1};
    return {g % p, g / p};
  }
};

using Key = std::tuple<int, int, int>;  // rank, chunk, micro-batch

struct Done { Seconds start, end; };

// Every event taken apart into forwards, backwards for the input and for the weights.
struct Passes {
  std::map<Key, Done> forward, input, weight;
  bool unique = true;
  explicit Passes(const std::vector<PassEvent>& events) {
    for (const PassEvent& e : events) {
      const Done done{e.start, e.start + e.duration};
      const auto put = [&](std::map<Key, Done>& map, int chunk, int micro_batch) { unique = map.emplace(Key{e.stage, chunk, micro_batch}, done).second && unique; };
      switch (e.kind) {
        case PassKind::forward: put(forward, e.chunk, e.micro_batch); break;
        case PassKind::input_gradient: put(input, e.chunk, e.micro_batch); break;
        case PassKind::weight_gradient: put(weight, e.chunk, e.micro_batch); break;
        case PassKind::backward:
          put(input, e.chunk, e.micro_batch);
          put(weight, e.chunk, e.micro_batch);
          break;
        case PassKind::forward_and_backward:
          put(forward, e.chunk, e.micro_batch);
          put(input, 1 - e.chunk, e.backward_micro_batch);
          put(weight, 1 - e.chunk, e.backward_micro_batch);
          break;
      }
    }
  }
};

// Most micro-batches of a rank between the start of their forward and the end of `last`, over chunks.
int most_in_flight(const Passes& passes, const std::map<Key, Done>& last, int rank) {
  std::vector<std::pair<double, int>> changes;
  for (const auto& [key, done] : passes.forward)
    if (std::get<0>(key) == rank) {
      changes.push_back({done.start.value, 1});
      changes.push_back({last.at(key).end.value, -1});
    }
  std::sort(changes.begin(), changes.end());  // an end before a start at the same moment
  int now = 0, most = 0;
  for (const auto& change : changes) most = std::max(most, now += change.second);
  return most;
}

}  // namespace

TEST_CASE("pipeline schedules on equal stages: the published bubbles, exactly") {
  for (int p : {1, 2, 3, 4, 8, 16})
    for (int m : {p, 2 * p, 4 * p, 96})
      for (const StagePass& t : {pass(1, 1, 1), pass(1, 1.25, 0.75), pass(2, 3, 0.5)}) {
        if (m < p) continue;
        const double f = t.forward.value, b = t.input_gradient.value, w = t.weight_gradient.value;
        const auto bubble = [&](PipelineSchedule kind, int v = 2) {
          const PipelineTimes times = pipeline_times(schedule_of(kind, p, m, v), equal(p, f, b, w), Seconds(0));
          for (std::size_t i = 0; i < times.busy.size(); ++i) CHECK(times.busy[i].value == m * (f + b + w));
          return times.end.value - m * (f + b + w);
        };
        INFO("p " << p << " m " << m << " F " << f << " B " << b << " W " << w);
        CHECK(bubble(PipelineSchedule::one_f_one_b) == (p - 1) * (f + b + w));
        CHECK(bubble(PipelineSchedule::gpipe) == (p - 1) * (f + b + w));
        if (m % p == 0) {
          CHECK(bubble(PipelineSchedule::interleaved, 2) == (p - 1) * (f + b + w) / 2);
          CHECK(bubble(PipelineSchedule::interleaved, 4) == (p - 1) * (f + b + w) / 4);
        }
        CHECK(bubble(PipelineSchedule::zb_h1) == (p - 1) * (f + b - w));
      }
}

TEST_CASE("zero-bubble schedules leave no gap in a rank's passes where F = B = W") {
  for (int p : {1, 2, 3, 4, 8, 16})
    for (int m : {2 * p - 1, 2 * p, 5 * p, 100}) {
      if (m < 2 * p - 1) continue;
      for (PipelineSchedule kind : {PipelineSchedule::zb_h2, PipelineSchedule::zb_v}) {
        const PipelineTimes times = pipeline_times(schedule_of(kind, p, m), equal(p, 1, 1, 1), Seconds(0));
        const double chunk = kind == PipelineSchedule::zb_v ? 0.5 : 1;
        INFO(name_of(kind) << " p " << p << " m " << m);
        for (int i = 0; i < p; ++i) {
          const std::size_t r = static_cast<std::size_t>(i);
          CHECK(times.idle(r).value == 0);
          CHECK(times.first_start[r].value == i * chunk);
          CHECK(times.last_end[r].value == 3 * m + i * chunk);
        }
      }
    }
}

TEST_CASE("DualPipe and DualPipeV: (PP/2 - 1)(F&B + B - 3W), PP the stages of the model") {
  for (int half : {1, 2, 3, 4, 8})
    for (int more : {0, 2, 6, 40})
      for (const auto& [f, b, w, pair] : {std::tuple{1.0, 1.0, 1.0, 1.0}, std::tuple{1.0, 1.0, 1.0, 0.75}, std::tuple{2.0, 2.0, 1.0, 1.0}, std::tuple{2.0, 2.0, 1.0, 0.875}}) {
        // Exact where F = B >= W, on the ranks in the middle: those further out run fewer passes in pairs, so they are busy for longer.
        const int pp = 2 * half, m = 2 * pp + more;
        INFO("PP " << pp << " m " << m << " F " << f << " B " << b << " W " << w << " pair " << pair);
        const double both = pair * (f + b + w), expected = (half - 1) * (both + b + w - 3 * w);
        Schedule s{PipelineSchedule::dualpipe, pp, 1, m, pair};
        const PipelineTimes dual = pipeline_times(s, equal(pp, f, b, w), Seconds(0));
        s = {PipelineSchedule::dualpipe_v, half, 1, m / 2, pair};  // one of the two directions, bent back over half the ranks
        const PipelineTimes bent = pipeline_times(s, equal(2 * half, f, b, w), Seconds(0));
        const std::size_t middle = static_cast<std::size_t>(half - 1);
        CHECK(dual.bubble(middle).value == expected);
        CHECK(bent.bubble(middle).value == expected);
        CHECK(dual.end == bent.end);
        for (std::size_t i = 0; i < middle; ++i) CHECK(dual.bubble(i) <= dual.bubble(middle));
      }
}

TEST_CASE("one stage never waits, one micro-batch takes its way") {
  std::mt19937 random(3);
  for (PipelineSchedule kind : kAll) {
    INFO(name_of(kind));
    for (int m : {1, 2, 7, 64}) {
      const std::vector<StagePass> passes = uneven(random, 1);
      const Seconds all = passes[0].forward + passes[0].input_gradient + passes[0].weight_gradient;
      const PipelineTimes times = pipeline_times(schedule_of(kind, 1, m), passes, Seconds(0.5));
      CHECK(close(times.end, m * all));
      CHECK(std::fabs(times.idle(0).value) <= 1e-12 * times.end.value);
    }
    for (int p : {2, 4, 6}) {
      const std::vector<StagePass> passes = uneven(random, p);
      Seconds way, weights;
      for (const StagePass& t : passes) {
        way += t.forward + t.input_gradient;
        weights += t.weight_gradient;
      }
      const bool bent = kind == PipelineSchedule::zb_v || kind == PipelineSchedule::dualpipe_v;
      const int edges = kind == PipelineSchedule::interleaved ? 2 * p - 1 : bent ? 2 * p - 2 : p - 1;
      const Seconds hop(0.25), end = pipeline_times(schedule_of(kind, p, 1, 2), passes, hop).end;
      if (kind == PipelineSchedule::one_f_one_b || kind == PipelineSchedule::gpipe || kind == PipelineSchedule::interleaved)
        CHECK(close(end, way + weights + 2 * edges * hop));
      CHECK(end.value <= (way + weights + 2 * edges * hop).value * (1 + 1e-12));
      CHECK(end.value >= (way + 2 * edges * hop).value * (1 - 1e-12));
    }
  }
}

TEST_CASE("pipeline passes: each once, none beside another, each as soon as its rank and its input allow") {
  std::mt19937 random(11);
  for (int round = 0; round < 240; ++round) {
    const PipelineSchedule kind = kAll[random() % 8];
    int p = 1 + static_cast<int>(random() % 8);
    if (kind == PipelineSchedule::dualpipe) p = 2 * (1 + p / 2);
    Schedule s = schedule_of(kind, p, 1 + static_cast<int>(random() % 24), 2 + static_cast<int>(random() % 3));
    s.pair = random() % 2 ? 1 : 0.75;
    const Chain model(s);
    const bool by_chunk = random() % 2 == 0 && kind != PipelineSchedule::dualpipe;
    const std::vector<StagePass> given = uneven(random, by_chunk ? model.stages() : p);
    const Seconds hop(random() % 2 == 0 ? 0 : 0.125);
    std::vector<PassEvent> events;
    const PipelineTimes times = pipeline_times(s, given, hop, &events);
    INFO(words(s) << " round " << round);
    const Passes passes(events);
    REQUIRE(passes.unique);
    const std::size_t expected = static_cast<std::size_t>(model.stages() * s.micro_batches);
    REQUIRE(passes.forward.size() == expected);
    REQUIRE(passes.input.size() == expected);
    REQUIRE(passes.weight.size() == expected);

    // When the input of each pass is there; 0 for data.
    std::map<Key, Seconds> forward_input, gradient;
    std::map<std::pair<int, int>, StagePass> time_of;  // by rank and chunk
    const double share = by_chunk || model.twice() ? 1 : 1.0 / chunks_of(s);
    for (int j = 0; j < s.micro_batches; ++j)
      for (int g = 0; g < model.stages(); ++g) {
        const Place here = model.place(g, j);
        const Key key{here.rank, here.chunk, j};
        REQUIRE(passes.forward.count(key) == 1);
        if (g > 0) {
          const Place before = model.place(g - 1, j);
          forward_input[key] = passes.forward.at({before.rank, before.chunk, j}).end + (before.rank == here.rank ? Seconds(0) : hop);
        }
        gradient[key] = passes.forward.at(key).end;
        if (g + 1 < model.stages()) {
          const Place after = model.place(g + 1, j);
          gradient[key] = std::max(gradient[key], passes.input.at({after.rank, after.chunk, j}).end + (after.rank == here.rank ? Seconds(0) : hop));
        }
        CHECK(passes.weight.at(key).end >= passes.input.at(key).end);
        time_of[{here.rank, here.chunk}] = given[static_cast<std::size_t>(by_chunk || model.twice() ? g : here.rank)];
      }
    // Events come rank by rank in the order they ran in.
    std::vector<Seconds> free(static_cast<std::size_t>(p)), busy(static_cast<std::size_t>(p));
    for (const PassEvent& e : events) {
      const std::size_t r = static_cast<std::size_t>(e.stage);
      Seconds earliest = free[r];
      const Key key{e.stage, e.chunk, e.micro_batch};
      if (e.kind == PassKind::forward || e.kind == PassKind::forward_and_backward) earliest = std::max(earliest, forward_input[key]);
      if (e.kind == PassKind::backward || e.kind == PassKind::input_gradient) earliest = std::max(earliest, gradient[key]);
      if (e.kind == PassKind::forward_and_backward) earliest = std::max(earliest, gradient[Key{e.stage, 1 - e.chunk, e.backward_micro_batch}]);
      CHECK(std::fabs((e.start - earliest).value) <= 1e-12 * times.end.value);
      const StagePass mine = time_of[{e.stage, e.chunk}], other = time_of[{e.stage, 1 - e.chunk}];
      Seconds duration;
      switch (e.kind) {
        case PassKind::forward: duration = mine.forward; break;
        case PassKind::backward: duration = mine.input_gradient + mine.weight_gradient; break;
        case PassKind::input_gradient: duration = mine.input_gradient; break;
        case PassKind::weight_gradient: duration = mine.weight_gradient; break;
        case PassKind::forward_and_backward: duration = s.pair * (mine.forward + other.input_gradient + other.weight_gradient); break;
      }
      CHECK(std::fabs((e.duration - share * duration).value) <= 1e-12 * times.end.value);
      free[r] = e.start + e.duration;
      busy[r] += e.duration;
    }
    for (std::size_t r = 0; r < free.size(); ++r) {
      CHECK(close(free[r], times.last_end[r]));
      CHECK(close(busy[r], times.busy[r]));
    }
    CHECK(times.end == *std::max_element(times.last_end.begin(), times.last_end.end()));
  }
}

TEST_CASE("pipeline rounds that are added end when simulated ones do") {
  std::mt19937 random(5);
  std::map<PipelineSchedule, std::size_t> skipped, of;
  for (int round = 0; round < 1600; ++round) {
    const PipelineSchedule kind = kAll[round % 8];
    int p = 1 + static_cast<int>(random() % 16);
    if (kind == PipelineSchedule::dualpipe) p += p % 2;
    int m = 1 + static_cast<int>(random() % 200);
    if (kind == PipelineSchedule::interleaved && random() % 4) m = p * (1 + m / p);
    if (kind == PipelineSchedule::dualpipe && random() % 4) m += m % 2;
    Schedule s = schedule_of(kind, p, m, 2 + static_cast<int>(random() % 3));
    s.pair = random() % 2 ? 1 : 0.8;
    std::vector<StagePass> passes = random() % 4 == 0 ? equal(p, 1, 1, 1) : random() % 2 ? equal(p, 1, 1.1, 0.95) : uneven(random, p);
    if (random() % 2) passes.back().forward += Seconds(0.0625), passes.front().input_gradient += Seconds(0.03);
    const Seconds hop(random() % 2 ? 0 : static_cast<double>(random() % 1000) / 4000);
    std::vector<PassEvent> events;
    const PipelineTimes plain = pipeline_times(s, passes, hop, &events), quick = pipeline_times(s, passes, hop);
    INFO(words(s) << " round " << round << " hop " << hop.value << " skipped " << quick.rounds_skipped);
    CHECK(plain.rounds_skipped == 0);
    CHECK(quick.end == plain.end);  // whole ticks: not even the last digit differs
    CHECK(quick.busy == plain.busy);
    CHECK(quick.first_start == plain.first_start);
    CHECK(quick.last_end == plain.last_end);
    skipped[kind] += quick.rounds_skipped;
    of[kind] += static_cast<std::size_t>(m);
  }
  for (PipelineSchedule kind : kAll) {  // it is used at all
    INFO(name_of(kind) << " skipped " << skipped[kind] << " of " << of[kind] << " micro-batches");
    CHECK(skipped[kind] * 100 > of[kind]);
  }
}

TEST_CASE("pipeline rounds are added up to where a pass starts to wait for something else, not further") {
  // Nearly equal stages drift apart slowly: what a pass waits for changes once in a step, after many rounds. m ends near there.
  const auto check = [](const Schedule& s, const std::vector<StagePass>& passes, Seconds hop) {
    std::vector<PassEvent> events;
    const PipelineTimes plain = pipeline_times(s, passes, hop, &events), quick = pipeline_times(s, passes, hop);
    INFO(words(s) << " hop " << hop.value << " skipped " << quick.rounds_skipped);
    CHECK(quick.last_end == plain.last_end);
    CHECK(quick.busy == plain.busy);
  };
  // Few plans in a thousand tell these apart: growth that did not repeat yet though rates do, and the reverse; a wait for input that ends.
  check(schedule_of(PipelineSchedule::one_f_one_b, 4, 23), {pass(78, 79, 66), pass(72, 78, 67), pass(65, 76, 76), pass(67, 79, 69)}, Seconds(53));
  check(schedule_of(PipelineSchedule::one_f_one_b, 4, 38), {pass(64, 66, 66), pass(68, 65, 67), pass(66, 67, 67), pass(66, 64, 65)}, Seconds(22));
  check(schedule_of(PipelineSchedule::one_f_one_b, 5, 18), {pass(74, 74, 67), pass(78, 68, 66), pass(67, 70, 72), pass(74, 64, 69), pass(80, 69, 80)}, Seconds(9));
  check(schedule_of(PipelineSchedule::one_f_one_b, 5, 34), {pass(69, 65, 66), pass(66, 68, 70), pass(65, 67, 65), pass(69, 68, 72), pass(64, 71, 66)}, Seconds(6));
  check(schedule_of(PipelineSchedule::zb_h2, 4, 58), {pass(75, 93, 89), pass(90, 78, 72), pass(75, 83, 72), pass(80, 82, 89)}, Seconds(0));
  check(schedule_of(PipelineSchedule::zb_h2, 4, 57), {pass(68, 78, 74), pass(64, 67, 64), pass(71, 66, 65), pass(74, 76, 65)}, Seconds(34));
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const PipelineSchedule kind = kAll[random() % 8];
    int p = 2 + static_cast<int>(random() % 4), m = 2 * p + static_cast<int>(random() % 80);
    if (kind == PipelineSchedule::dualpipe) p -= p % 2, m -= m % 2;
    if (kind == PipelineSchedule::interleaved) m -= m % p;
    const unsigned most = 1 + (1u << (random() % 6));
    std::vector<StagePass> passes;
    for (int i = 0; i < p; ++i) {
      const auto nearly = [&] { return 64.0 + static_cast<double>(random() % most); };
      const double f = nearly(), b = nearly(), w = nearly();
      passes.push_back(pass(f, b, w));
    }
    check(schedule_of(kind, p, m), passes, Seconds(random() % 2 ? 0 : static_cast<double>(random() % 64)));
  }
}

TEST_CASE("a pipeline is never faster for a slower stage or link") {
  std::mt19937 random(17);
  for (int round = 0; round < 400; ++round) {
    const PipelineSchedule kind = kAll[round % 8];
    int p = 1 + static_cast<int>(random() % 8);
    if (kind == PipelineSchedule::dualpipe) p += p % 2;
    const Schedule s = schedule_of(kind, p, 1 + static_cast<int>(random() % 60), 3);
    std::vector<StagePass> passes = uneven(random, p);
    const Seconds end = pipeline_times(s, passes, Seconds(0.1)).end;
    INFO(words(s) << " round " << round);
    CHECK(pipeline_times(s, passes, Seconds(0.1 + 0.01 * static_cast<double>(random() % 20))).end.value >= end.value * (1 - 1e-12));
    StagePass& slower = passes[random() % passes.size()];
    (random() % 3 == 0 ? slower.forward : random() % 2 ? slower.input_gradient : slower.weight_gradient) += Seconds(0.2);
    CHECK(pipeline_times(s, passes, Seconds(0.1)).end.value >= end.value * (1 - 1e-12));
  }
}

TEST_CASE("micro-batches in flight are those of the schedules' memory") {
  std::mt19937 random(23);
  for (int p : {2, 4, 6, 8})
    for (int m : {1, 3, 2 * p, 5 * p + 2})
      for (PipelineSchedule kind : kAll) {
        std::vector<PassEvent> events;
        const Schedule s = schedule_of(kind, p, m);
        pipeline_times(s, uneven(random, p, 0x1p-10), Seconds(0x1p-6), &events);
        const Passes passes(events);
        INFO(words(s));
        for (int i = 0; i < p; ++i) {
          const int held = most_in_flight(passes, passes.weight, i);
          switch (kind) {
            case PipelineSchedule::one_f_one_b: CHECK(held == std::min(m, p - i)); break;
            case PipelineSchedule::gpipe: CHECK(held == m); break;
            case PipelineSchedule::zb_h1: CHECK(held == std::min(m, p)); break;
            case PipelineSchedule::zb_h2: CHECK(held == std::min(m, 2 * p - 1)); break;
            case PipelineSchedule::zb_v: CHECK(held <= 2 * p); break;           // halves of a stage: p stages' worth, as 1f1b's rank 0
            case PipelineSchedule::dualpipe: CHECK(held <= p + 1); break;        // [dualpipe] README: PP + 1
            case PipelineSchedule::dualpipe_v: CHECK(held <= 2 * p + 1); break;  // of the model's 2p stages
            case PipelineSchedule::interleaved: if (m >= p) CHECK(held == std::min(2 * m, 2 * (p - 1 - i) + p + 1)); break;  // warm-up and one
          }
        }
      }
}

TEST_CASE("pipeline times scale with their unit") {
  std::mt19937 random(29);
  for (PipelineSchedule kind : kAll) {
    const std::vector<StagePass> passes = uneven(random, 4);
    const Schedule s = schedule_of(kind, 4, 32);
    const Seconds end = pipeline_times(s, passes, Seconds(0.3)).end;
    for (double unit : {1e-9, 1e-3, 0.5, 3.0, 1e12}) {
      std::vector<StagePass> scaled;
      for (const StagePass& t : passes) scaled.push_back({t.forward * unit, t.input_gradient * unit, t.weight_gradient * unit});
      CHECK(close(pipeline_times(s, scaled, Seconds(0.3) * unit).end, end * unit));
    }
    CHECK(pipeline_times(s, equal(4, 0, 0, 0), Seconds(0)).end == Seconds(0));
  }
}
