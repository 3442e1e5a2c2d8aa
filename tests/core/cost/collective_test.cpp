#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "core/cost/collective.hpp"
#include "tests/core/cost/wiring_nodes.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::reduce,
                               Collective::all_to_all, Collective::send_recv, Collective::scatter, Collective::gather};

GroupShape first(int gpus, int nodes = 1) {
  std::vector<int> g;
  for (int i = 0; i < gpus; ++i) g.push_back(i);
  return on_nodes(nodes, {g});
}

double seconds(const PreparedCluster& cluster, const RingOnWiring& ring, Collective op, int ranks, Bytes size) {
  return collective_call(cluster, ring, op, ranks, size).time.value.value;
}

}  // namespace

TEST_CASE("one rank needs no time, no bytes only the start") {
  const LinkConstants k = ideal_links();
  const Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  const PreparedCluster p = prepare(c, k);
  for (Collective op : kAll) {
    CHECK(seconds(p, ring_on_wiring(p, first(1)), op, 1, Bytes(1e9)) == 0);
    const CollectiveParts parts = collective_formula(p, ring_on_wiring(p, first(8)), op, 8, Bytes(0)).parts;
    CHECK(parts.total().value == parts.start.value);
  }
  // L0 + h·2(n-1), by hand.
  CHECK_THAT(seconds(p, ring_on_wiring(p, first(8)), Collective::all_reduce, 8, Bytes(0)), WithinRel(19e-6, 1e-12));
}

TEST_CASE("an all-reduce by hand: 1 GiB on eight GPUs at 240 GB/s") {
  const LinkConstants k = ideal_links();
  const Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  const PreparedCluster p = prepare(c, k);
  const double expected = 5e-6 + 14 * 1e-6 + 2.0 * 7 / 8 * 1073741824.0 / 240e9;
  CHECK_THAT(seconds(p, ring_on_wiring(p, first(8)), Collective::all_reduce, 8, Bytes(1073741824)), WithinRel(expected, 1e-12));
}

TEST_CASE("copy and fill by hand") {
  LinkConstants k = ideal_links();
  k.classes[0].copy = BytesPerSecond(600e9);
  k.classes[0].fill = Seconds(30e-6);
  k.classes[0].fill_per_step = Seconds(1e-6);
  k.classes[0].low_latency_share = 0.25;
  const Cluster c = machine(WiringKind::nvswitch, 2, a100_sxm());
  const PreparedCluster p = prepare(c, k);
  // all_gather on two: F = 31 µs, v0 = F·B/3, V = S/2; own block S/2 copied.
  const double S = 1e8, V = S / 2, v0 = 31e-6 * 240e9 / 3;
  const CollectiveParts parts = collective_formula(p, ring_on_wiring(p, first(2)), Collective::all_gather, 2, Bytes(S)).parts;
  CHECK_THAT(parts.copy.value, WithinRel(V / 600e9, 1e-12));
  CHECK_THAT(parts.fill.value, WithinRel(31e-6 * V / (V + v0), 1e-12));
  // For a few bytes the slope is that of the low-latency protocol: 1 / (rho·B).
  const double t0 = seconds(p, ring_on_wiring(p, first(2)), Collective::send_recv, 2, Bytes(0));
  const double t1 = seconds(p, ring_on_wiring(p, first(2)), Collective::send_recv, 2, Bytes(1));
  CHECK_THAT(t1 - t0, WithinRel(1 / (0.25 * 240e9), 1e-4));
}

TEST_CASE("several nodes by hand") {
  const LinkConstants k = ideal_links();
  Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  c.nodes = 4;
  c.network = Network{Fabric::infiniband, 8, BytesPerSecond(12.5e9), {}, true, 1, true, ""};
  const PreparedCluster p = prepare(c, k);
  const RingOnWiring r = ring_on_wiring(p, first(8, 4));
  const double S = 1e9, V = 2.0 * 31 / 32 * S;
  // L0 + 14 h, 7 µs · (1.6 + 2), V / 100 GB/s, 80 µs · 3/2 · V / (V + 0.5 MB)
  const double expected = 19e-6 + 7e-6 * 3.6 + V / 100e9 + 80e-6 * 1.5 * V / (V + 5e5);
  CHECK_THAT(seconds(p, r, Collective::all_reduce, 32, Bytes(S)), WithinRel(expected, 1e-12));
  // Scatter sends only what leaves the root's node: S · 3/4 over its NICs.
  CHECK_THAT(collective_formula(p, r, Collective::scatter, 32, Bytes(S)).parts.wire.value, WithinRel(0.75 * S / 100e9, 1e-12));
  // All-to-all: 8 ranks of a node send 3/4 of S each over 100 GB/s, then 7/32 of it inside at 240.
  CHECK_THAT(collective_formula(p, r, Collective::all_to_all, 32, Bytes(S)).parts.wire.value, WithinRel(8 * 0.75 * S / 100e9 + 7.0 / 32 * S / 240e9, 1e-12));
}

TEST_CASE("in the switch by hand: from five GPUs on, where it is the quicker way") {
  LinkConstants k = ideal_links();
  k.classes[0].nvls_efficiency = 1.25;
  k.classes[0].nvls_fill = Seconds(70e-6);
  Gpu h100 = a100_sxm();
  h100.nvlink_generation = 4;
  h100.nvlink_links = 18;
  h100.nvlink = BytesPerSecond(450e9);
  Cluster c = machine(WiringKind::nvswitch, 8, h100);
  PreparedCluster p = prepare(c, k);
  const auto call = [&](int n, double size) { return collective_formula(p, ring_on_wiring(p, first(n)), Collective::all_reduce, n, Bytes(size)); };
  // 5 µs + 14 µs + 70 µs + V / (1.25 · 18 · 20.6 GB/s)
  const double S = 1073741824, V = 1.75 * S;
  CHECK(call(8, S).algorithm == Algorithm::nvls);
  CHECK_THAT(call(8, S).time.value.value, WithinRel(89e-6 + V / (1.25 * 370.8e9), 1e-12));
  CHECK(call(4, S).algorithm == Algorithm::ring);
  CHECK(call(8, 65536).algorithm == Algorithm::ring);  // 70 µs are not worth it
  CHECK(call(8, S).time.value < call(8, S).parts.wire * 1.25);
  p.switches.nvls = false;
  CHECK(call(8, S).algorithm == Algorithm::ring);
  p.switches = {};
  p.switches.algorithm = Algorithm::ring;
  CHECK(call(8, S).algorithm == Algorithm::ring);
  // Only all-reduce, and no Ampere.
  p.switches = {};
  CHECK(collective_formula(p, ring_on_wiring(p, first(8)), Collective::all_gather, 8, Bytes(S)).algorithm == Algorithm::ring);
  c.node.gpu = a100_sxm();
  p = prepare(c, k);
  CHECK(call(8, S).algorithm == Algorithm::ring);
}

TEST_CASE("trees between two nodes send a message once, so bus bandwidth passes the sum of the NICs") {
  const LinkConstants k = ideal_links();
  Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  c.nodes = 4;
  c.network = Network{Fabric::infiniband, 4, BytesPerSecond(12.5e9), {}, true, 1, true, ""};  // 50 GB/s a node
  PreparedCluster p = prepare(c, k);
  const auto wire = [&](int nodes) { return collective_formula(p, ring_on_wiring(p, first(8, nodes)), Collective::all_reduce, 8 * nodes, Bytes(1e9)); };
  CHECK(wire(2).algorithm == Algorithm::ring);
  CHECK_THAT(wire(2).parts.wire.value, WithinRel(1.875 * 1e9 / 50e9, 1e-12));
  p.switches.algorithm = Algorithm::tree;
  CHECK(wire(2).algorithm == Algorithm::tree);
  CHECK_THAT(wire(2).parts.wire.value, WithinRel(1e9 / 50e9, 1e-12));  // S, not 2 (n-1)/n · S
  // On more nodes each passes it on to two: the ring is as good or better.
  CHECK(wire(4).algorithm == Algorithm::ring);
  // What the fabric's tuner takes by itself.
  p.switches = {};
  c.network->fabric = Fabric::efa;
  p = prepare(c, k);
  CHECK(wire(2).algorithm == Algorithm::tree);
}

TEST_CASE("one process on many GPUs launches one after the other; one direction alone is faster where the class says so") {
  LinkConstants k = ideal_links();
  k.launch_per_gpu = Seconds(2e-6);
  for (LinkConstants::Class& row : k.classes)
    if (row.name == "host-memory") row.one_way = 1.5;
  Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  const auto start = [&](int n) {
    const PreparedCluster p = prepare(c, k);
    return seconds(p, ring_on_wiring(p, first(n)), Collective::all_reduce, n, Bytes(0));
  };
  const double alone = start(8), pair = start(2);
  c.node.launch = "single-process";
  CHECK_THAT(start(8) - alone, WithinRel(12e-6, 1e-9));
  CHECK(start(2) == pair);

  Cluster box = machine(WiringKind::pcie_host, 4, a100_pcie(), 1);
  box.node.p2p = 0;
  const PreparedCluster p = prepare(box, k);
  const auto wire = [&](Collective op, int n) { return collective_formula(p, ring_on_wiring(p, first(n)), op, n, Bytes(1e9)).parts.wire.value; };
  CHECK_THAT(wire(Collective::broadcast, 2), WithinRel(1e9 / 36e9, 1e-12));
  CHECK_THAT(wire(Collective::broadcast, 4), WithinRel(1e9 / 24e9, 1e-12));
  CHECK_THAT(wire(Collective::all_gather, 2), WithinRel(0.5e9 / 24e9, 1e-12));
}

TEST_CASE("networks by hand: host memory before the NICs, sockets, a narrow group") {
  LinkConstants k = ideal_links();
  k.staged_of_pcie = 0.25;
  LinkConstants::FabricRate tcp = k.fabrics[0];
  tcp.fabric = Fabric::ethernet;
  tcp.most = BytesPerSecond(5e9);
  k.fabrics.push_back(tcp);
  Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  c.nodes = 2;
  c.network = Network{Fabric::infiniband, 8, BytesPerSecond(25e9), {}, true, 1, false, ""};
  const auto rate = [&](int g) {
    const PreparedCluster p = prepare(c, k);
    return gigabytes(ring_on_wiring(p, first(g, 2)).bus_bandwidth);
  };
  CHECK_THAT(rate(1), WithinRel(6, 1e-12));   // a quarter of PCIe 4 ×16
  CHECK_THAT(rate(8), WithinRel(48, 1e-12));  // of eight of them, the NICs carry 200
  c.network->gpudirect = true;
  CHECK_THAT(rate(8), WithinRel(200, 1e-12));
  c.network->fabric = Fabric::ethernet;
  CHECK_THAT(rate(8), WithinRel(5, 1e-12));
}

TEST_CASE("an all-reduce moves what a reduce-scatter and an all-gather move") {
  const LinkConstants& k = constants().links;
  for (const Cluster& c : {machine(WiringKind::nvswitch, 8, a100_sxm()), machine(WiringKind::pcie_host, 8, a100_pcie()), cube_mesh()}) {
    const PreparedCluster p = prepare(c, k);
    for (int n : {2, 3, 8}) {
      const RingOnWiring r = ring_on_wiring(p, first(n));
      const auto wire = [&](Collective op) { return collective_formula(p, r, op, n, Bytes(3e8)).parts.wire.value; };
      CHECK_THAT(wire(Collective::all_reduce), WithinRel(wire(Collective::reduce_scatter) + wire(Collective::all_gather), 1e-12));
    }
  }
}

TEST_CASE("time grows with size and with slower wires, and stays in its band, for the shipped constants") {
  const LinkConstants& k = constants().links;
  Cluster pairs = machine(WiringKind::nvlink_pairs, 8, a100_pcie());
  pairs.node.wiring.pairs = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  Cluster closed = machine(WiringKind::pcie_host, 8, a100_pcie());
  closed.node.p2p = 0;
  for (Cluster c : {machine(WiringKind::nvswitch, 8, a100_sxm()), pairs, machine(WiringKind::pcie_switch, 8, a100_pcie()), closed, cube_mesh()}) {
    c.network = Network{Fabric::roce, 4, BytesPerSecond(12.5e9), {}, true, 1, true, ""};
    for (int nodes : {1, 2, 16}) {
      c.nodes = nodes;
      const PreparedCluster p = prepare(c, k);
      for (int g : {1, 2, 4, 8}) {
        if (g * nodes < 2) continue;
        const RingOnWiring r = ring_on_wiring(p, first(g, nodes));
        RingOnWiring slower = r;
        slower.bus_bandwidth = 0.5 * r.bus_bandwidth;
        slower.pair_bandwidth = 0.5 * r.pair_bandwidth;
        slower.all_to_all_bandwidth = 0.5 * r.all_to_all_bandwidth;
        slower.network_bandwidth = 0.5 * r.network_bandwidth;
        slower.node_bandwidth = 0.5 * r.node_bandwidth;
        for (Collective op : kAll) {
          Seconds last{}, last_by_formula{};
          for (double size = 1; size < 2e10; size *= 4) {
            const Range<Seconds> t = collective_call(p, r, op, g * nodes, Bytes(size)).time;
            INFO(name_of(op) << " " << g << " x " << nodes << " " << size << ": " << t.value.value * 1e6 << " after " << last.value * 1e6 << " on " << r.link_class << " " << p.constants->classes[static_cast<std::size_t>(r.class_row)].generation);
            CHECK(t.value > 0.9 * last);  // tables are measurements: where one begins or ends another takes over
            CHECK(collective_formula(p, r, op, g * nodes, Bytes(size)).time.value > last_by_formula);
            last_by_formula = collective_formula(p, r, op, g * nodes, Bytes(size)).time.value;
            CHECK(t.low < t.value);
            CHECK(t.value < t.high);
            CHECK(std::isfinite(t.high.value));
            CHECK(collective_call(p, slower, op, g * nodes, Bytes(size)).time.value > t.value);
            last = t.value;
          }
        }
      }
    }
  }
}

TEST_CASE("the shipped constants are complete and positive") {
  const LinkConstants& k = constants().links;
  CHECK_FALSE(k.source.empty());
  for (const char* name : {"nvswitch", "mesh", "xgmi", "bridge", "pcie-switch", "pcie-host", "host-memory", "network"}) {
    bool any = false;
    for (const LinkConstants::Class& c : k.classes) any = any || (c.name == name && c.generation == LinkConstants::kAny);
    CHECK(any);
  }
  for (const LinkConstants::Class& c : k.classes) {
    INFO(c.name << " " << c.generation);
    CHECK(c.launch_cycles > 5e3);
    CHECK(c.launch_cycles < 5e4);
    CHECK(c.hop.value > 0);
    CHECK(c.efficiency > 0);
    CHECK(c.efficiency < 1.2);
    CHECK(c.copy.value > 0);
    CHECK(c.low_latency_share > 0);
    CHECK(c.low_latency_share < 1);
    CHECK((c.points > 0) == (c.generation != LinkConstants::kAny));
  }
  for (const char* basis : {"measured", "interpolated", "fitted", "unknown"})
    for (bool several : {false, true}) {
      int rows = 0;
      for (const LinkConstants::Band& b : k.bands) rows += b.basis == basis && b.several_nodes == several;
      CHECK(rows == 3);
    }
  REQUIRE(k.nvlink_per_link.size() == 6);
  REQUIRE(k.nvlink_per_link_nominal.size() == 6);
  REQUIRE(k.pcie_x16.size() == 7);
  REQUIRE(k.pcie_x16_nominal.size() == 7);
  for (std::size_t g = 1; g < k.pcie_x16.size(); ++g) CHECK(k.pcie_x16[g] < k.pcie_x16_nominal[g]);
  for (std::size_t g = 1; g < k.nvlink_per_link.size(); ++g) CHECK(k.nvlink_per_link[g] < k.nvlink_per_link_nominal[g]);
  CHECK(k.nvlink_per_link[3].value * 12 == 240e9);  // nccl-topo: A100
  CHECK(k.pcie_x16[4].value == 24e9);
  for (std::size_t f = 0; f < kNames<Fabric>.size(); ++f) {
    bool any = false;
    for (const LinkConstants::FabricRate& row : k.fabrics) any = any || row.fabric == static_cast<Fabric>(f);
    CHECK((any || static_cast<Fabric>(f) == Fabric::roce));  // goes by InfiniBand's row
  }
  for (const LinkConstants::FabricRate& row : k.fabrics) {
    CHECK(row.efficiency > 0);
    CHECK(row.efficiency < 1.1);
    CHECK(row.latency.value > 0);
    CHECK(row.fill.value > 0);
    CHECK(row.fill_bytes.value > 0);
  }
}

TEST_CASE("peer access never slows a box down") {
  const LinkConstants& k = constants().links;
  for (WiringKind kind : {WiringKind::pcie_host, WiringKind::pcie_switch})
    for (int generation : {3, 4, 5})
      for (int sockets : {1, 2})
        for (int n : {2, 4, 8}) {
          Gpu gpu = a100_pcie();
          gpu.pcie_generation = generation;
          Cluster with = machine(kind, 8, gpu, sockets), without = with;
          with.node.p2p = 1;
          without.node.p2p = 0;
          const PreparedCluster a = prepare(with, k), b = prepare(without, k);
          for (double size : {1e6, 1e9}) {
            INFO(name_of(kind) << " " << generation << " " << sockets << " " << n << " " << size);
            CHECK(collective_formula(a, ring_on_wiring(a, first(n)), Collective::all_reduce, n, Bytes(size)).time.value <= 1.1 *
                  collective_formula(b, ring_on_wiring(b, first(n)), Collective::all_reduce, n, Bytes(size)).time.value);
          }
        }
}

TEST_CASE("published runs: an all-reduce of 1 GiB on 8 A100 and a 4 GiB one on 8 MI300X") {
  // nccl#527, p4d.24xlarge: 8.1426 ms. ml-engineering, rccl on MI300X: bus bandwidth 313 GB/s at 4 GiB. Both rows were among those the
  // constants were fitted on (the xgmi efficiency on the second alone): this holds the fit in place, it is no independent check.
  const LinkConstants& k = constants().links;
  Cluster a100, mi300x;
  a100.node = presets().node("dgx-a100-40gb").value();
  mi300x.node = presets().node("mi300x-8x").value();
  const PreparedCluster a = prepare(a100, k), m = prepare(mi300x, k);
  CHECK_THAT(seconds(a, ring_on_wiring(a, first(8)), Collective::all_reduce, 8, Bytes(1073741824)), WithinRel(8.1426e-3, 0.06));
  CHECK_THAT(seconds(m, ring_on_wiring(m, first(8)), Collective::all_reduce, 8, Bytes(4294967296.0)), WithinRel(1.75 * 4294967296.0 / 313e9, 0.06));
}
