#include "core/step/pass.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>

using namespace wireplan;

namespace {

bool is_near(double a, double b) { return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(b)); }

PassUnits units(double compute, double gather, double reduction, double count) { return {Seconds(compute), Seconds(gather), Seconds(reduction), count}; }

// A number of [0, 1), from a fixed sequence.
double next(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 11) / 9007199254740992.0;
}

}  // namespace

TEST_CASE("without traffic a pass loses nothing; traffic nothing computes beside shows whole") {
  CHECK(pass_times({units(3, 0, 0, 1), units(2, 0, 0, 10)}, 0.3).lost().value == 0);
  const PassTimes t = pass_times({units(0, 2, 1, 5)}, 0.3);
  CHECK(is_near(t.lost().value, 5 * 3));
}

TEST_CASE("the first gather and the last reduction show, what lies between hides behind longer compute") {
  const PassTimes gathers = pass_times({units(5, 2, 0, 7)}, 0);
  CHECK(is_near(gathers.first.value, 2));
  CHECK(gathers.between.value == 0);
  CHECK(gathers.last.value == 0);
  const PassTimes reductions = pass_times({units(5, 0, 2, 7)}, 0);
  CHECK(is_near(reductions.last.value, 2));
  CHECK(is_near(reductions.lost().value, 2));
}

TEST_CASE("with longer traffic every further unit waits for the difference") {
  // n units: the first gather, then n-1 times g - c.
  CHECK(is_near(pass_times({units(3, 5, 0, 9)}, 0).lost().value, 5 + 8 * 2));
  // Gathers and reductions share the network: g + r against c in the steady state.
  const double more = pass_times({units(3, 5, 4, 101)}, 0).lost().value - pass_times({units(3, 5, 4, 100)}, 0).lost().value;
  CHECK(is_near(more, 5 + 4 - 3));
}

TEST_CASE("compute is slower by a share of what runs beside it") {
  const PassTimes t = pass_times({units(10, 2, 1, 4)}, 0.25);
  // Nothing is reduced beside the first unit, nothing gathered beside the last.
  CHECK(is_near(t.slowed.value, 0.25 * (2 + 3 + 3 + 1)));
  CHECK(is_near(pass_times({units(2, 30, 0, 2)}, 0.25).slowed.value, 0.25 * 2));  // no longer than compute itself
}

TEST_CASE("skipping equal units gives what every unit by itself gives; no stream does two things at once") {
  std::uint64_t state = 1;
  for (int n = 0; n < 400; ++n) {
    std::vector<PassUnits> runs;
    double compute = 0;
    for (int i = 0; i < 3; ++i) {
      const double count = std::floor(1 + next(state) * (i == 1 ? 60 : 3));
      const auto some = [&] { return next(state) < 0.3 ? 0.0 : next(state); };
      runs.push_back(units(some(), some(), some(), count));
      compute += count * runs.back().compute.value;
    }
    const double slowdown = n % 2 ? 0.35 : 0;
    std::vector<UnitEvent> events;
    const PassTimes quick = pass_times(runs, slowdown), plain = pass_times(runs, slowdown, &events);
    CHECK(is_near(quick.first.value, plain.first.value));
    CHECK(is_near(quick.between.value, plain.between.value));
    CHECK(is_near(quick.slowed.value, plain.slowed.value));
    CHECK(is_near(quick.last.value, plain.last.value));
    double streams[2] = {0, 0}, waited = 0;
    for (const UnitEvent& e : events) {
      double& free = streams[e.job != UnitJob::compute];
      CHECK(e.start.value >= free - 1e-12);
      free = (e.start + e.duration).value;
      waited += e.waited.value;
    }
    CHECK(is_near(waited, (plain.first + plain.between).value));
    CHECK(is_near(std::max(streams[0], streams[1]), compute + plain.lost().value));
    double traffic = 0;
    for (const PassUnits& u : runs) traffic += u.count * (u.gather + u.reduction).value;
    CHECK(plain.lost().value <= traffic * (1 + 1e-12));  // at worst all of it shows
  }
}

TEST_CASE("a pass never gets shorter when its traffic grows") {
  std::uint64_t state = 7;
  for (int n = 0; n < 200; ++n) {
    std::vector<PassUnits> runs = {units(next(state), next(state), next(state), 1), units(next(state), next(state), next(state), 20), units(next(state), next(state), next(state), 1)};
    const double before = pass_times(runs, 0.35).lost().value;
    PassUnits& one = runs[static_cast<std::size_t>(3 * next(state))];
    (next(state) < 0.5 ? one.gather : one.reduction) += Seconds(next(state));
    CHECK(pass_times(runs, 0.35).lost().value >= before - 1e-12);
  }
}

TEST_CASE("copies of offloaded parameters come before their gathers and hide as these do, but take nothing from compute") {
  const auto copied = [](double compute, double gather, double reduction, double count, double copy) {
    PassUnits u = units(compute, gather, reduction, count);
    u.copy = Seconds(copy);
    return u;
  };
  CHECK(is_near(pass_times({copied(5, 0, 0, 7, 2)}, 0.5).lost().value, 2));           // the first alone has nothing before it
  CHECK(is_near(pass_times({copied(3, 0, 0, 9, 5)}, 0.5).lost().value, 5 + 8 * 2));   // max(copy, compute), unit by unit
  CHECK(is_near(pass_times({copied(3, 4, 0, 9, 1)}, 0).lost().value, pass_times({units(3, 5, 0, 9)}, 0).lost().value));  // one slot for both
  CHECK(is_near(pass_times({copied(10, 2, 1, 4, 3)}, 0.25).slowed.value, pass_times({units(10, 2, 1, 4)}, 0.25).slowed.value));
  std::vector<UnitEvent> events;
  pass_times({copied(3, 4, 0, 2, 1)}, 0, &events);
  REQUIRE(events.size() == 6);
  CHECK(events[0].job == UnitJob::copy);
  CHECK(events[1].job == UnitJob::gather);
  CHECK(is_near(events[1].start.value, 1));
}
