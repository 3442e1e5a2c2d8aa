#include "core/answer/fit_links.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "core/answer/accuracy.hpp"
#include "core/cost/wiring_rates.hpp"
#include "core/text/read_runs.hpp"
#include "tests/core/cost/wiring_nodes.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

// What the constants say, with a factor, as somebody might have measured it.
CollectiveRun made_up(const LinkConstants& truth, Collective op, int n, double factor, const char* source) {
  CollectiveRun run;
  run.source = source;
  run.cluster = machine(WiringKind::nvswitch, 8, a100_sxm());
  run.cluster.node.id = "here";
  run.collective = op;
  run.gpus = n;
  const PreparedCluster p = prepare(run.cluster, truth);
  const RingOnWiring ring = ring_on_wiring(p, group_of(run));
  for (double size = 512; size < 5e9; size *= 4) run.points.push_back({Bytes(size), factor * collective_formula(p, ring, op, n, Bytes(size)).time.value});
  return run;
}

LinkConstants with_physics(double hop_us, double efficiency) {
  LinkConstants k = ideal_links();
  k.expected_fabrics = k.fabrics;
  for (LinkConstants::Class& row : k.classes) {
    row.hop = Seconds(hop_us * 1e-6);
    row.efficiency = efficiency;
    row.copy = BytesPerSecond(700e9);
    row.fill = Seconds(20e-6);
    row.fill_per_step = Seconds(2e-6);
    row.low_latency_share = 0.3;
    row.all_to_all_fill = Seconds(9e-6);
    row.all_to_all_low_latency_share = 0.1;
  }
  return k;
}

std::vector<CollectiveRun> published() {
  std::ifstream file("assets/measurements/collectives.jsonl");
  std::stringstream text;
  text << file.rdbuf();
  const Result<Runs> runs = read_runs(text.str(), presets());
  REQUIRE(runs);
  REQUIRE(runs.value().skipped.empty());
  std::vector<CollectiveRun> sweeps;
  for (const Run& run : runs.value().runs) sweeps.push_back(run.collective.value());
  share_plans(sweeps, constants().links);
  return sweeps;
}

}  // namespace

TEST_CASE("a fit finds the constants that sweeps were made with", "[fit]") {
  const LinkConstants truth = with_physics(0.8, 0.92), start = with_physics(1.2, 1.0);
  std::vector<CollectiveRun> runs;
  for (Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all})
    for (int n : {2, 4, 8}) runs.push_back(made_up(truth, op, n, 1, "a"));
  const LinkConstants fitted = fit_links(start, runs);
  const int row = class_row(fitted, "nvswitch", 3);
  REQUIRE(row >= 0);
  const LinkConstants::Class& c = fitted.classes[static_cast<std::size_t>(row)];
  CHECK(c.generation == 3);
  CHECK(c.points == 9 * 12);
  CHECK_THAT(c.hop.value, WithinRel(0.8e-6, 0.1));
  CHECK_THAT(c.efficiency, WithinRel(0.92, 0.02));
  // Classes nobody measured stay as expected.
  CHECK(fitted.classes[static_cast<std::size_t>(class_row(fitted, "bridge", 3))].generation == LinkConstants::kAny);
  CHECK(fitted.tables.size() == runs.size());
}

TEST_CASE("one wild source does not carry a fit away", "[fit]") {
  const LinkConstants truth = with_physics(0.8, 0.92), start = with_physics(1.0, 1.0);
  std::vector<CollectiveRun> runs;
  for (int n : {2, 4, 8}) {
    runs.push_back(made_up(truth, Collective::all_reduce, n, 1, "a"));
    runs.push_back(made_up(truth, Collective::all_gather, n, 1, "b"));
  }
  runs.push_back(made_up(truth, Collective::all_reduce, 8, 4, "wild"));
  const LinkConstants fitted = fit_links(start, runs);
  CHECK_THAT(fitted.classes[static_cast<std::size_t>(class_row(fitted, "nvswitch", 3))].efficiency, WithinRel(0.92, 0.08));
}

TEST_CASE("the shipped constants and tables are those the shipped sweeps give", "[fit]") {
  // To make them anew: tools/fit/fit.cpp.
  const LinkConstants fitted = fit_links(presets().expected_links().value(), published());
  const LinkConstants& shipped = constants().links;
  REQUIRE(fitted.classes.size() == shipped.classes.size());
  for (std::size_t i = 0; i < fitted.classes.size(); ++i) {
    const LinkConstants::Class &a = fitted.classes[i], &b = shipped.classes[i];
    INFO(a.name << " " << a.generation);
    CHECK(a.name == b.name);
    CHECK(a.generation == b.generation);
    CHECK(a.points == b.points);
    CHECK_THAT(b.launch_cycles, WithinRel(a.launch_cycles, 1e-3));
    CHECK_THAT(b.hop.value, WithinRel(a.hop.value, 1e-3));
    CHECK_THAT(b.efficiency, WithinRel(a.efficiency, 1e-3));
    CHECK_THAT(b.fill.value, WithinRel(a.fill.value, 1e-3));
  }
  REQUIRE(fitted.tables.size() == shipped.tables.size());
  for (std::size_t i = 0; i < fitted.tables.size(); ++i) {
    const MeasuredTable &a = fitted.tables[i], &b = shipped.tables[i];
    INFO(a.source << " " << a.machine);
    CHECK(a.class_row == b.class_row);
    CHECK(a.fabric_row == b.fabric_row);
    CHECK(a.by_tree == b.by_tree);
    CHECK(a.source == b.source);
    REQUIRE(a.points.size() == b.points.size());
    for (std::size_t p = 0; p < a.points.size(); ++p) CHECK(std::fabs(a.points[p].residual - b.points[p].residual) < 0.002);
  }
}

TEST_CASE("published sweeps, each source left out: no worse than was reached", "[fit]") {
  // Bounds are what was reached, with a little room for other compilers: a model that gets worse fails here.
  Runs runs;
  for (const CollectiveRun& sweep : published()) {
    Run run;
    run.source = sweep.source;
    run.collective = sweep;
    runs.runs.push_back(std::move(run));
  }
  const Accuracy a = accuracy(runs, constants(), {published(), GroupBy::source});
  for (const MetricSummary& s : summary_by(a, GroupBy::size)) {
    INFO(s.group);
    CHECK(s.summary.count > 1900);
    CHECK(s.summary.median_abs < (s.group == "from 1 MiB on" ? 0.05 : 0.09));
    CHECK(s.summary.p90_abs < (s.group == "from 1 MiB on" ? 0.35 : 0.42));
  }
}

namespace {

// Errors of `sweep`'s points with an odd index where the machine's profile is `profile`.
struct SizeErrors {
  std::vector<double> from_1_mib, below;
};
void predict_every_other(const CollectiveRun& sweep, const Profile& profile, SizeErrors& out) {
  CollectiveRun run = sweep;
  run.cluster.profile = profile;
  PreparedCluster cluster = prepare(run, constants().links);
  const RingOnWiring ring = ring_on_wiring(cluster, group_of(run));
  for (std::size_t i = 1; i < sweep.points.size(); i += 2) {
    const MeasuredCurve::Point& p = sweep.points[i];
    const auto& measured = profile.curves[0].points;
    if (p.size < measured.front().size || measured.back().size < p.size) continue;
    const CollectiveCall call = collective_call(cluster, ring, sweep.collective, sweep.gpus, p.size);
    CHECK(call.basis == Basis::profile);
    (p.size.value >= 1 << 20 ? out.from_1_mib : out.below).push_back(std::fabs(call.time.value.value / p.time.value - 1));
  }
}
MeasuredCurve curve_of(const CollectiveRun& run, std::size_t step) {
  MeasuredCurve curve;
  curve.collective = run.collective;
  curve.ranks = run.gpus;
  curve.nodes = run.nodes;
  for (std::size_t i = 0; i < run.points.size(); i += step) curve.points.push_back(run.points[i]);
  return curve;
}
double quantile(std::vector<double> v, double share) {
  REQUIRE(!v.empty());
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(share * static_cast<double>(v.size() - 1))];
}

}  // namespace

TEST_CASE("a profile of every other size says the sizes between", "[fit]") {
  SizeErrors errors;
  for (const CollectiveRun& sweep : published()) {
    if (sweep.points.size() < 5) continue;
    INFO(sweep.source << " " << machine_of(sweep));
    Profile own;
    own.curves = {curve_of(sweep, 2)};
    predict_every_other(sweep, own, errors);
  }
  CHECK(quantile(errors.from_1_mib, 0.5) < 0.005);
  CHECK(quantile(errors.from_1_mib, 0.9) < 0.04);
  CHECK(quantile(errors.below, 0.5) < 0.015);
  CHECK(quantile(errors.below, 0.9) < 0.08);
}

TEST_CASE("a profile of another day or version says what a machine does", "[fit]") {
  SizeErrors errors;
  const std::vector<CollectiveRun> sweeps = published();
  for (const CollectiveRun& sweep : sweeps)
    for (const CollectiveRun& other : sweeps) {
      if (&sweep == &other || machine_of(sweep) != machine_of(other) || sweep.collective != other.collective || sweep.gpus != other.gpus) continue;
      if (!(sweep.cluster == other.cluster) || !(sweep.switches == other.switches) || other.points.size() < 2) continue;
      INFO(sweep.source << " " << machine_of(sweep));
      Profile own;
      own.curves = {curve_of(other, 1)};
      predict_every_other(sweep, own, errors);
    }
  CHECK(quantile(errors.from_1_mib, 0.5) < 0.03);
  CHECK(quantile(errors.from_1_mib, 0.9) < 0.12);
  CHECK(quantile(errors.below, 0.5) < 0.045);
  CHECK(quantile(errors.below, 0.9) < 0.22);
}
