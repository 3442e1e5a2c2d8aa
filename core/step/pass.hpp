// One micro-batch through the units of a stage, forward or backward: which data-parallel traffic hides behind their compute.
//
// Notation: c compute of a unit, g the gathers it waits for, r the reductions it makes possible, γ share of hidden traffic that compute loses,
// o copies of offloaded parameters from the host, before they are gathered.
#pragma once

#include <vector>

#include "core/base/units.hpp"

namespace wireplan {

// `count` equal units in a row, as the layers of a stage are.
struct PassUnits {
  Seconds compute, gather, reduction;
  double count = 1;
  Seconds copy = Seconds(0);
};

// What the compute stream of a pass does besides computing.
struct PassTimes {
  Seconds first;    // waits for the first gather, with its copy
  Seconds between;  // waits for later ones
  Seconds slowed;   // is slower, since traffic beside it takes multiprocessors and memory bandwidth
  Seconds last;     // waits, after its last unit, for the last reduction
  Seconds lost() const { return first + between + slowed + last; }
};

enum class UnitJob : unsigned char { compute, gather, reduction, copy };
struct UnitEvent {
  UnitJob job = UnitJob::compute;
  int run = 0, unit = 0;  // which of the runs, which unit of it
  Seconds start, duration, waited;  // waited: how long the compute stream stood still before
};

// what: two streams. Compute takes the units in order, each after its gather. The network serves gathers and reductions one by one: the
//   gather of the next unit from the start of a unit on (prefetch of one), a unit's reduction after it.  c' = c + γ·min(c, g of the next + r of the one before)
//   A gather's copy from the host comes before it, in turn with the traffic: on cards without other links both take the same slot. A copy engine
//   moves it, so compute loses nothing to it.
//   A pass starts and ends with an idle network: its first gather cannot be fetched before, its last reduction is waited for.
// where: the streams are max-plus linear: once both are as far apart after a unit as after the one before, all further units of the run
//   take as long, and are skipped. With `events` none is, and every job is noted.
// source: [pytorch-fsdp23] §3.3 (prefetch, rate limiter), [pytorch-ddp-notes]; γ: [published-runs].  kind: estimate.
// valid: times >= 0, counts >= 0.  test: tests/core/step/pass_test.cpp.
PassTimes pass_times(const std::vector<PassUnits>& runs, double slowdown, std::vector<UnitEvent>* events = nullptr);

}  // namespace wireplan
