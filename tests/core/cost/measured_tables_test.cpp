#include "core/cost/measured_tables.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "core/count/groups.hpp"
#include "tests/core/cost/wiring_nodes.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

constexpr double kMiB = 1048576;

struct Bench {
  LinkConstants k = ideal_links();
  Cluster cluster = machine(WiringKind::nvswitch, 8, a100_sxm());

  Bench() { cluster.node.id = "here"; }

  CollectiveCall call(Collective op, int n, double size, const std::optional<Profile>& profile = {}) const {
    Cluster c = cluster;
    c.profile = profile;
    const PreparedCluster p = prepare(c, k);
    return collective_call(p, ring_on_wiring(p, single_group(n, 1)), op, n, Bytes(size));
  }
  double formula(Collective op, int n, double size) const {
    const PreparedCluster p = prepare(cluster, k);
    return collective_formula(p, ring_on_wiring(p, single_group(n, 1)), op, n, Bytes(size)).time.value.value;
  }
  // A sweep of `factor` times the formula, eight sizes from 1 MiB on.
  CollectiveRun sweep(Collective op, int n, double factor, const char* node = "here") const {
    CollectiveRun run;
    run.source = "a page";
    run.cluster = cluster;
    run.cluster.node.id = node;
    run.collective = op;
    run.gpus = n;
    for (double size = kMiB; size < 200 * kMiB; size *= 2) run.points.push_back({Bytes(size), Seconds(factor * formula(op, n, size))});
    return run;
  }
  void ship(std::vector<CollectiveRun> runs) { k.tables = measured_tables(runs, k); }
};

}  // namespace

TEST_CASE("inside a table of the same operation, ranks and machine the time is the measured one", "[tables]") {
  Bench b;
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3)});
  for (double size : {kMiB, 3 * kMiB, 64 * kMiB}) {
    const CollectiveCall c = b.call(Collective::all_reduce, 8, size);
    CHECK(c.basis == Basis::measured);
    CHECK_THAT(c.time.value.value, WithinRel(1.3 * b.formula(Collective::all_reduce, 8, size), 1e-9));
    CHECK_THAT(c.correction, WithinRel(1.3, 1e-9));
  }
}

TEST_CASE("beyond a table's end what grows with the size keeps its factor and the rest its seconds, below its beginning it fades", "[tables]") {
  Bench b;
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3)});
  const double end = 128 * kMiB, far = 1024 * kMiB;
  const CollectiveCall above = b.call(Collective::all_reduce, 8, far), below = b.call(Collective::all_reduce, 8, 1024);
  CHECK(above.basis == Basis::extrapolated);
  // The size is eight times that of the table's end.
  const double at_end = b.formula(Collective::all_reduce, 8, end), share = std::log2(b.formula(Collective::all_reduce, 8, 2 * end) / at_end);
  CHECK((share > 0.9 && share < 1));
  CHECK_THAT(above.time.value.value, WithinRel(b.formula(Collective::all_reduce, 8, far) + 0.3 * at_end * (1 - share + 8 * share), 1e-9));
  CHECK(below.basis == Basis::extrapolated);
  CHECK_THAT(std::log(below.correction), WithinRel(std::log(1.3) * std::exp(-10.0 / 6), 1e-9));
}

TEST_CASE("what is not quite the same counts less, and changes a time by 42 % at most", "[tables]") {
  Bench b;
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3)});
  const auto share = [&](Collective op, int n) {
    const CollectiveCall c = b.call(op, n, 16 * kMiB);
    CHECK(c.basis == Basis::interpolated);
    return std::log(c.correction) / std::log(1.3);
  };
  CHECK_THAT(share(Collective::all_reduce, 4), WithinRel(std::exp(-0.35 * 1), 1e-9));     // half the ranks
  CHECK_THAT(share(Collective::all_gather, 8), WithinRel(std::exp(-0.35 * 1.0), 1e-9));
  CHECK_THAT(share(Collective::all_to_all, 8), WithinRel(std::exp(-0.35 * 2.5), 1e-9));
  b.cluster.node.id = "elsewhere";
  CHECK_THAT(share(Collective::all_reduce, 8), WithinRel(std::exp(-0.35 * 0.3), 1e-9));   // another machine of the class
  Bench odd;
  odd.ship({odd.sweep(Collective::all_reduce, 8, 5)});
  CHECK_THAT(std::log(odd.call(Collective::all_reduce, 4, 16 * kMiB).correction), WithinRel(0.35 * std::exp(-0.35), 1e-9));
  CHECK_THAT(odd.call(Collective::all_reduce, 8, 16 * kMiB).correction, WithinRel(5, 1e-9));
}

TEST_CASE("of several tables the nearest decides, two as near share", "[tables]") {
  Bench b;
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3), b.sweep(Collective::all_gather, 8, 0.5), b.sweep(Collective::all_reduce, 2, 0.5)});
  CHECK_THAT(b.call(Collective::all_reduce, 8, 16 * kMiB).correction, WithinRel(1.3, 0.01));
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3), b.sweep(Collective::all_reduce, 8, 0.9)});
  CHECK_THAT(b.call(Collective::all_reduce, 8, 16 * kMiB).correction, WithinRel(std::sqrt(1.3 * 0.9), 1e-9));
}

TEST_CASE("machines of another class lend nothing", "[tables]") {
  Bench b;
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3)});
  b.cluster = machine(WiringKind::pcie_host, 8, a100_pcie(), 1);
  const CollectiveCall c = b.call(Collective::all_reduce, 8, 16 * kMiB);
  CHECK(c.basis == Basis::formula);
  CHECK(c.correction == 1);
}

TEST_CASE("a measured sweep that gets faster with size is smoothed", "[tables]") {
  Bench b;
  CollectiveRun run = b.sweep(Collective::all_reduce, 8, 1);
  run.points = {{Bytes(1024), Seconds(22e-6)}, {Bytes(2048), Seconds(20e-6)}, {Bytes(4096), Seconds(24e-6)}};
  b.ship({run});
  const double mean = std::sqrt(22e-6 * 20e-6);
  CHECK_THAT(b.call(Collective::all_reduce, 8, 1024).time.value.value, WithinRel(mean, 1e-9));
  CHECK_THAT(b.call(Collective::all_reduce, 8, 2048).time.value.value, WithinRel(mean, 1e-9));
  CHECK_THAT(b.call(Collective::all_reduce, 8, 4096).time.value.value, WithinRel(24e-6, 1e-9));
}

TEST_CASE("a profile takes the place of all that was shipped, and moves what is near to it", "[tables]") {
  Bench b;
  b.k.bands = constants().links.bands;
  b.ship({b.sweep(Collective::all_reduce, 8, 1.3)});
  Profile own;
  MeasuredCurve curve;
  curve.collective = Collective::all_reduce;
  curve.ranks = 8;
  for (double size = kMiB; size < 200 * kMiB; size *= 2) curve.points.push_back({Bytes(size), Seconds(2 * b.formula(Collective::all_reduce, 8, size))});
  own.curves = {curve};
  const CollectiveCall same = b.call(Collective::all_reduce, 8, 16 * kMiB, own);
  CHECK(same.basis == Basis::profile);
  CHECK_THAT(same.time.value.value, WithinRel(2 * b.formula(Collective::all_reduce, 8, 16 * kMiB), 1e-9));
  CHECK_THAT(same.correction, WithinRel(2, 1e-9));

  // Past the last size that was measured: as far off as a guess between measurements.
  const CollectiveCall past = b.call(Collective::all_reduce, 8, 4096 * kMiB, own);
  CHECK(past.basis == Basis::extrapolated);
  CHECK(past.time.high / past.time.value > same.time.high / same.time.value);

  // Four ranks: the shipped table carried over, then what the machine showed beside it, clipped and less sure.
  const CollectiveCall four = b.call(Collective::all_reduce, 4, 16 * kMiB, own);
  CHECK(four.basis == Basis::interpolated);
  CHECK_THAT(std::log(four.correction), WithinRel(std::log(1.3) * std::exp(-0.35) + 0.35 * std::exp(-0.35), 1e-9));

  // Curves of GPUs the cluster does not use, or of more nodes than have a network, say nothing.
  own.curves[0].gpus = {0, 1, 2, 3, 4, 5, 6, 9};
  CHECK(b.call(Collective::all_reduce, 8, 16 * kMiB, own).basis == Basis::measured);
  own.curves[0].gpus = {};
  own.curves[0].nodes = 2;
  CHECK(b.call(Collective::all_reduce, 8, 16 * kMiB, own).basis == Basis::measured);
}

TEST_CASE("a hiccup in a profile lifts nothing near it", "[tables]") {
  Bench b;
  MeasuredCurve curve;
  curve.collective = Collective::all_reduce;
  curve.ranks = 8;
  curve.points = {{Bytes(32), Seconds(68e-6)}, {Bytes(64), Seconds(16e-6)}, {Bytes(128), Seconds(16e-6)}, {Bytes(256), Seconds(17e-6)}};
  Profile own;
  own.curves = {curve};
  CHECK_THAT(b.call(Collective::all_reduce, 8, 128, own).time.value.value, WithinRel(16e-6, 1e-9));
  CHECK_THAT(b.call(Collective::all_reduce, 8, 32, own).time.value.value, WithinRel(16e-6, 1e-9));
}

TEST_CASE("a curve of certain GPUs decides for those", "[tables]") {
  Bench b;
  b.cluster = machine(WiringKind::nvlink_pairs, 4, a100_pcie());
  b.cluster.node.wiring.pairs = {{0, 1}, {2, 3}};
  Profile own;
  MeasuredCurve curve;
  curve.ranks = 2;
  curve.gpus = {2, 3};
  curve.points = {{Bytes(kMiB), Seconds(1e-3)}, {Bytes(4 * kMiB), Seconds(3e-3)}};
  own.curves = {curve};
  b.cluster.profile = own;
  const PreparedCluster p = prepare(b.cluster, b.k);
  const auto call = [&](std::vector<int> gpus) { return collective_call(p, ring_on_wiring(p, on_one_node({std::move(gpus)})), Collective::all_reduce, 2, Bytes(kMiB)); };
  CHECK(call({2, 3}).basis == Basis::profile);
  CHECK_THAT(call({3, 2}).time.value.value, WithinRel(1e-3, 1e-9));
  CHECK(call({0, 1}).basis != Basis::profile);  // another bridge
  CHECK(call({0, 2}).correction == 1);          // no bridge: another class
}
