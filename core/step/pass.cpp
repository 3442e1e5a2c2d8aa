#include "core/step/pass.hpp"

#include <algorithm>
#include <cmath>

namespace wireplan {

PassTimes pass_times(const std::vector<PassUnits>& runs, double slowdown, std::vector<UnitEvent>* events) {
  PassTimes times;
  double now = 0, network = 0, issued = 0;  // compute is free, the network is free, the next gather may start
  double owed = 0;                          // reduction of the unit before, ready at `now`
  bool gathered = false;
  const auto note = [&](UnitJob job, int run, int unit, double start, double duration, double waited) {
    if (events && (duration > 0 || waited > 0)) events->push_back({job, run, unit, Seconds(start), Seconds(duration), Seconds(waited)});
  };
  int owner_run = 0, owner_unit = 0;
  const auto reduce = [&] {
    if (owed <= 0) return;
    network = std::max(network, now);
    note(UnitJob::reduction, owner_run, owner_unit, network, owed, 0);
    network += owed;
    owed = 0;
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double c = runs[i].compute.value, g = runs[i].gather.value, r = runs[i].reduction.value, o = runs[i].copy.value;
    double apart = -1, following = 0;  // the gather of the unit after the run
    for (std::size_t j = i + 1; j < runs.size(); ++j)
      if (runs[j].count > 0) {
        following = runs[j].gather.value;
        break;
      }
    for (double k = 0; k < runs[i].count; ++k) {
      const int run = static_cast<int>(i), unit = static_cast<int>(k);
      double start = now;
      const double lead = std::max(network, issued) - now;  // all of the network's past that matters from here on
      if (g + o > 0) {
        network = std::max(network, issued);
        note(UnitJob::copy, run, unit, network, o, 0);
        network += o;
        note(UnitJob::gather, run, unit, network, g, 0);
        network += g;
        start = std::max(now, network);
      }
      const double beside = owed + (k + 1 < runs[i].count ? g : following), slowed = slowdown * std::min(c, beside);
      reduce();
      const double waited = start - now;
      (g + o > 0 && !gathered ? times.first : times.between) += Seconds(waited);
      gathered = gathered || g + o > 0;
      times.slowed += Seconds(slowed);
      note(UnitJob::compute, run, unit, start, c + slowed, waited);
      issued = start;
      now = start + c + slowed;
      owed = r;
      owner_run = run;
      owner_unit = unit;
      // From the second unit of a run on, the one before is its like; so is the one after, but for the last.
      const double left = std::ceil(runs[i].count) - 2 - k;
      if (!events && k >= 2 && left > 0 && std::fabs(lead - apart) <= 1e-13 * now) {
        const double each = waited + c + slowed;
        times.between += Seconds(left * waited);
        times.slowed += Seconds(left * slowed);
        now += left * each;
        network += left * each;
        issued += left * each;
        k += left;
      }
      apart = lead;
    }
  }
  reduce();
  times.last = Seconds(std::max(0.0, network - now));
  return times;
}

}  // namespace wireplan
