// Measurements chosen one after another on a machine that is not known, against a truth that is: what the layout that is chosen after each costs over the
// true best.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/answer/experiments.hpp"
#include "core/answer/search_report.hpp"
#include "core/cost/measured_tables.hpp"

namespace wireplan {

struct Campaign {
  Plan plan;  // without a profile
  SearchOptions options;
  const Constants& belief;
  const Constants& truth;

  // Regret before any measurement and after each: true time of the choice over the true best's, less 1; after the last that was wanted none is left.
  struct Course {
    std::vector<double> regret;
    std::vector<std::string> measured, choices;  // the layout that is chosen: before any, and after each
    double at(std::size_t n) const { return regret[std::min(n, regret.size() - 1)]; }
  };
  // Which of these to run next; none: done.
  using Choice = std::function<std::vector<std::vector<MeasuredCurve>>(const Experiments&, const Profile& known)>;

  static void run(Search& search) {
    const auto worker = search.worker();
    while (search.pieces() > 0) {
      for (std::size_t i = 0; i < search.pieces(); ++i) search.work(i, *worker);
      search.finish_block();
    }
  }

  double true_time(const Plan& of) const {
    Plan bare = of;
    bare.cluster.profile.reset();
    return estimate(bare, truth).step.time.value.value;
  }

  // 0: nothing fits.
  double true_best() const {
    SearchOptions one = options;
    one.top = 1;
    Search search({plan}, one, truth);
    run(search);
    const std::vector<Candidate> best = search.best();
    return best.empty() ? 0 : best.front().time;
  }

  // The sweep as the true machine would show it.
  MeasuredCurve measure(MeasuredCurve sweep) const {
    const PreparedCluster cluster = prepare(plan.cluster, truth.links);
    const int per_node = (sweep.ranks + sweep.nodes - 1) / sweep.nodes;
    const RingOnWiring ring = ring_on_wiring(cluster, single_group(sweep.ranks, sweep.nodes, sweep.gpus.empty() ? used_gpus(plan.cluster, per_node) : sweep.gpus));
    for (MeasuredCurve::Point& p : sweep.points) p.time = usual_call(cluster, ring, sweep.collective, sweep.ranks, p.size).time.value;
    return sweep;
  }

  Course course(double best, std::size_t most, const Choice& choose) const {
    Course c;
    Plan known = plan;
    Profile profile;
    for (;;) {
      Search search({known}, options, belief);
      run(search);
      const std::vector<Candidate> rivals = search.rivals(kMostRivals);
      if (rivals.empty()) return c;
      c.regret.push_back(true_time(search.plan_of(search.best().front())) / best - 1);
      c.choices.push_back(layout_label(search.plan_of(search.best().front())) + ", " + format_seconds(Seconds(search.best().front().time)) + " expected, " + format_seconds(Seconds(c.regret.back() * best + best)) + " true");
      if (c.measured.size() >= most) return c;
      std::vector<Plan> plans;
      for (const Candidate& r : rivals) plans.push_back(search.plan_of(r));
      const Experiments asked = experiments(plans, options.worst, belief);
      const std::vector<std::vector<MeasuredCurve>> next = choose(asked, profile);
      if (next.empty()) return c;
      for (const std::vector<MeasuredCurve>& sweep : next) {
        for (const MeasuredCurve& curve : sweep)
          if (!covers(profile, curve)) profile.curves.push_back(measure(curve));
        const MeasuredCurve& first = sweep.front();
        std::string name = std::to_string(first.ranks) + " ranks";
        if (first.nodes > 1) name += " on " + std::to_string(first.nodes);
        for (std::size_t i = 0; i < first.gpus.size() && first.nodes == 1; ++i) name += (i == 0 ? ": " : " ") + std::to_string(first.gpus[i]);
        c.measured.push_back(std::move(name));
      }
      known.cluster.profile = profile;
    }
  }

  using Sweeps = std::vector<std::vector<MeasuredCurve>>;
  static Sweeps open(const Experiments& asked, const Profile& known) {
    Sweeps open;
    for (const std::vector<MeasuredCurve>& sweep : asked.sweeps)
      if (!std::all_of(sweep.begin(), sweep.end(), [&](const MeasuredCurve& c) { return covers(known, c); })) open.push_back(sweep);
    return open;
  }

  // The first of the list that measures collectives.
  static Sweeps ranked(const Experiments& asked, const Profile&) {
    for (const Experiment& e : asked.list)
      if (e.kind == Uncertain::collectives) return {e.sweep};
    return {};
  }
  // Any of those that rivals call.
  struct AtRandom {
    std::uint64_t state;
    Sweeps operator()(const Experiments& asked, const Profile& known) {
      const Sweeps left = open(asked, known);
      if (left.empty()) return {};
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return {left[(state >> 33U) % left.size()]};
    }
  };
};

}  // namespace wireplan
