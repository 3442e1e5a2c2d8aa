#include "core/cost/wiring.hpp"
#include "core/text/presets.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "tests/core/cost/wiring_nodes.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

const LinkConstants kLinks = ideal_links();

RingOnWiring ring_of(const Cluster& c, const GroupShape& s) {
  const PreparedCluster p = prepare(c, kLinks);
  return ring_on_wiring(p, s);
}

Cluster bridged_pairs() {  // (0,1) on socket 0, (2,3) on socket 1
  Cluster c = machine(WiringKind::nvlink_pairs, 4, a100_pcie());
  c.node.wiring.pairs = {{0, 1}, {2, 3}};
  return c;
}

Cluster switch_box() {  // two GPUs under each of two switches of each of two sockets
  Cluster c = machine(WiringKind::pcie_switch, 8, a100_pcie());
  for (int g = 0; g < 4; ++g) c.node.wiring.groups.push_back({g / 2, g / 2, {2 * g, 2 * g + 1}, 1, true});
  return c;
}

Network infiniband(int nics, double gbit) { return {Fabric::infiniband, nics, BytesPerSecond(gbit * 1e9 / 8), {}, true, 1, true, ""}; }

}  // namespace

TEST_CASE("a group of one sends nothing") {
  const RingOnWiring r = ring_of(machine(WiringKind::nvswitch, 8, a100_sxm()), on_one_node({{0}}));
  CHECK(r.bus_bandwidth.value == 0);
  CHECK(r.loads.empty());
}

TEST_CASE("NVSwitch: any subset is as good as any other, each link carries the ring once") {
  const Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  for (const std::vector<int>& gpus : {std::vector<int>{0, 1}, {3, 6}, {0, 2, 4, 6}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
    const RingOnWiring r = ring_of(c, on_one_node({gpus}));
    CHECK_THAT(gigabytes(r.bus_bandwidth), WithinRel(240, 1e-12));
    CHECK(r.link_class == "nvswitch");
    CHECK(r.bottleneck == "NVLink gpu" + std::to_string(gpus.front()) + "–nvswitch");
    CHECK(r.bottleneck_nominal.value == 300e9);
    CHECK(r.loads.size() == 2 * gpus.size());
    for (const LinkLoad& l : r.loads) CHECK(l.flows == 1);
  }
  CHECK_THAT(gigabytes(ring_of(c, on_one_node({{0, 1}, {2, 3}, {4, 5}, {6, 7}})).bus_bandwidth), WithinRel(240, 1e-12));
}

TEST_CASE("bridged pairs on two sockets: the socket link sets the ring of four, not the bridge") {
  const RingOnWiring r = ring_of(bridged_pairs(), on_one_node({{0, 1, 2, 3}}));
  CHECK_THAT(gigabytes(r.bus_bandwidth), WithinRel(16, 1e-12));
  CHECK(r.bottleneck == "copies through host memory, xGMI cpu0–cpu1");
  CHECK(r.bottleneck_rate.value == 16e9);
  CHECK(r.link_class == "host-memory");
  CHECK(r.uses_host_memory);
  // Two neighbours of the ring are a bridge each, the rings cross the sockets once there and once back.
  CHECK(r.order == std::vector<int>{0, 1, 2, 3});
  const LinkLoad& socket = *std::find_if(r.loads.begin(), r.loads.end(), [&](const LinkLoad& l) { return l.link == r.bottleneck_link; });
  CHECK(socket.flows == 1);
  // A pair alone stays on its bridge, two pairs beside each other as well.
  CHECK_THAT(gigabytes(ring_of(bridged_pairs(), on_one_node({{0, 1}})).bus_bandwidth), WithinRel(240, 1e-12));
  CHECK_THAT(gigabytes(ring_of(bridged_pairs(), on_one_node({{0, 1}, {2, 3}})).bus_bandwidth), WithinRel(240, 1e-12));
}

TEST_CASE("the ring finds bridges that lie across the order of ranks") {
  Cluster c = bridged_pairs();
  c.node.wiring.pairs = {{0, 2}, {1, 3}};
  const RingOnWiring r = ring_of(c, on_one_node({{0, 1, 2, 3}}));
  // 0=2 over the bridge, 2-3 on socket 1, 3=1 over the bridge, 1-0 on socket 0: each PCIe link half a flow each way, 24 / 0.5.
  CHECK_THAT(gigabytes(r.bus_bandwidth), WithinRel(48, 1e-12));
  CHECK(r.order == std::vector<int>{0, 1, 3, 2});
}

TEST_CASE("two groups at once share what they have in common") {
  const Cluster c = bridged_pairs();
  const double one = gigabytes(ring_of(c, on_one_node({{0, 2}})).bus_bandwidth);
  const double both = gigabytes(ring_of(c, on_one_node({{0, 2}, {1, 3}})).bus_bandwidth);
  CHECK_THAT(one, WithinRel(16, 1e-12));   // the socket link alone
  CHECK_THAT(both, WithinRel(8, 1e-12));   // two flows each way
}

TEST_CASE("PCIe: one GPU's link, an uplink all share, a narrow slot") {
  CHECK_THAT(gigabytes(ring_of(machine(WiringKind::pcie_host, 4, a100_pcie(), 1), on_one_node({{0, 1, 2, 3}})).bus_bandwidth), WithinRel(24, 1e-12));
  const RingOnWiring box = ring_of(switch_box(), on_one_node({{0, 1, 2, 3, 4, 5, 6, 7}}));
  CHECK_THAT(gigabytes(box.bus_bandwidth), WithinRel(16, 1e-12));
  CHECK(box.link_class == "host-memory");
  const RingOnWiring half = ring_of(switch_box(), on_one_node({{0, 1, 2, 3}}));
  CHECK_THAT(gigabytes(half.bus_bandwidth), WithinRel(24, 1e-12));
  CHECK(half.bottleneck == "copies through host memory, PCIe 4 ×16 switch0–cpu0");
  // Ranks dealt in turn over the switches: the search still visits switch by switch.
  const RingOnWiring dealt = ring_of(switch_box(), on_one_node({{0, 2, 1, 3}}));
  CHECK_THAT(gigabytes(dealt.bus_bandwidth), WithinRel(24, 1e-12));
  // Four groups of one GPU from each switch: every uplink carries two of them.
  CHECK_THAT(gigabytes(ring_of(switch_box(), on_one_node({{0, 2}, {1, 3}})).bus_bandwidth), WithinRel(12, 1e-12));
}

TEST_CASE("without peer access every hop takes the way through the host, and costs") {
  for (WiringKind kind : {WiringKind::pcie_host, WiringKind::pcie_switch}) {
    Cluster c = machine(kind, 4, a100_pcie(), 1);
    const double with = gigabytes(ring_of(c, on_one_node({{0, 1, 2, 3}})).bus_bandwidth);
    c.node.p2p = 0;
    LinkConstants k = kLinks;
    for (LinkConstants::Class& row : k.classes)
      if (row.name == "host-memory") row.efficiency = 0.5;
    const PreparedCluster p = prepare(c, k);
    const RingOnWiring r = ring_on_wiring(p, on_one_node({{0, 1, 2, 3}}));
    CHECK(r.uses_host_memory);
    CHECK(r.link_class == "host-memory");
    CHECK(gigabytes(r.bus_bandwidth) < with);
    // Below one switch all four cross its uplink: a quarter of 24, half of that reached.
    CHECK_THAT(gigabytes(r.bus_bandwidth), WithinRel(kind == WiringKind::pcie_switch ? 3 : 12, 1e-12));
  }
}

TEST_CASE("past a host bridge NCCL copies through host memory, but for a pair on an AMD host") {
  LinkConstants k = kLinks;
  for (LinkConstants::Class& row : k.classes)
    if (row.name == "host-memory") row.efficiency = 0.75;
  Cluster c = machine(WiringKind::pcie_host, 4, a100_pcie(), 1);
  const auto ring = [&](std::vector<int> gpus, bool everywhere = false) {
    PreparedCluster p = prepare(c, k);
    p.switches.peers_past_host = everywhere;
    return ring_on_wiring(p, on_one_node({std::move(gpus)}));
  };
  CHECK(ring({0, 1}).link_class == "pcie-host");
  CHECK_THAT(gigabytes(ring({0, 1}).bus_bandwidth), WithinRel(24, 1e-12));
  CHECK(ring({0, 1, 2, 3}).link_class == "host-memory");
  CHECK(ring({0, 1, 2, 3}).uses_host_memory);
  CHECK_THAT(gigabytes(ring({0, 1, 2, 3}).bus_bandwidth), WithinRel(0.75 * 24, 1e-12));
  // NCCL_P2P_LEVEL=SYS
  CHECK(ring({0, 1, 2, 3}, true).link_class == "pcie-host");
  CHECK_THAT(gigabytes(ring({0, 1, 2, 3}, true).bus_bandwidth), WithinRel(24, 1e-12));
  c.node.cpu = {"x86_64", "intel", "srp"};
  CHECK(ring({0, 1}).link_class == "host-memory");
  // Below one switch peers reach each other on any host.
  c.node.wiring.kind = WiringKind::pcie_switch;
  CHECK(ring({0, 1, 2, 3}).link_class == "pcie-switch");
}

TEST_CASE("few channels through host memory where NCCL plans a slow way, none at all where it finds none") {
  LinkConstants k = kLinks;
  for (LinkConstants::Class& row : k.classes)
    if (row.name == "host-memory") row.channel = BytesPerSecond(10e9);
  k.sockets = {{"amd", BytesPerSecond(16e9), BytesPerSecond(55e9), 5}, {"srp", BytesPerSecond(22e9)}};
  k.nccl = std::make_shared<const nccl::Release>(Presets().nccl_release(nccl::kDefaultRelease).value());
  Gpu card = a100_pcie();
  card.architecture = "Ampere";
  card.pcie_generation = 5;
  Cluster c = machine(WiringKind::pcie_host, 8, card);
  const auto ring = [&](std::vector<int> gpus) {
    const PreparedCluster p = prepare(c, k);
    return ring_on_wiring(p, on_one_node({std::move(gpus)}));
  };
  // On one socket NCCL plans 48 GB/s: four channels; across two 16: two, though the link itself carries 55.
  CHECK(ring({0, 1, 2, 3}).plan->channels == 4);
  CHECK_THAT(gigabytes(ring({0, 1, 2, 3}).bus_bandwidth), WithinRel(40, 1e-12));
  const RingOnWiring all = ring({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(all.plan->channels == 2);
  CHECK_FALSE(all.is_plain_order);
  CHECK_THAT(gigabytes(all.bus_bandwidth), WithinRel(20, 1e-12));
  CHECK(all.bottleneck == "2 channels, all that NCCL plans past xGMI cpu0–cpu1");
  CHECK(all.bottleneck_nominal.value == 0);
  // Blackwell's search begins at 18 GB/s: no ring over 16.
  c.node.gpu.architecture = "Blackwell";
  CHECK(ring({0, 1, 2, 3, 4, 5, 6, 7}).is_plain_order);
  CHECK_FALSE(ring({0, 1, 2, 3}).is_plain_order);
  c.node.cpu = {"x86_64", "intel", "srp"};
  CHECK_FALSE(ring({0, 1, 2, 3, 4, 5, 6, 7}).is_plain_order);
  // A ring that a slow network limits to 0.12 GB/s is a ring all the same.
  c.nodes = 2;
  c.network = infiniband(1, 1);
  const PreparedCluster slow = prepare(c, k);
  const RingOnWiring over_network = ring_on_wiring(slow, on_nodes(2, {{0, 1, 2, 3}}));
  REQUIRE(over_network.plan);
  CHECK_THAT(static_cast<double>(over_network.plan->ring.intra), WithinRel(0.12, 1e-6));
  CHECK_FALSE(over_network.is_plain_order);
}

TEST_CASE("cube mesh of the DGX-1: several rings at once, as many as NCCL itself finds") {
  // Channels × 20 GB/s of NCCL 2.28.9's search on this machine.
  struct Row { std::vector<int> gpus; double rate; };
  const Cluster c = cube_mesh();
  for (const Row& row : {Row{{0, 1, 2, 3, 4, 5, 6, 7}, 120}, {{0, 1, 2, 3}, 80}, {{4, 5, 6, 7}, 80}, {{0, 1, 2, 3, 4, 5}, 40}, {{0, 1, 2}, 40}, {{0, 3}, 40}, {{0, 1}, 20}}) {
    const RingOnWiring r = ring_of(c, on_one_node({row.gpus}));
    CHECK_THAT(gigabytes(r.bus_bandwidth), WithinRel(row.rate, 1e-12));
    CHECK(r.link_class == "mesh");
  }
  const RingOnWiring all = ring_of(c, on_one_node({{0, 1, 2, 3, 4, 5, 6, 7}}));
  CHECK(all.order == std::vector<int>{0, 3, 2, 1, 5, 6, 7, 4});
  CHECK(all.bottleneck == "NVLink links of gpu0");
  CHECK(all.bottleneck_link == -1);
  CHECK(all.bottleneck_component == 0);
  CHECK(ring_of(c, on_one_node({{0, 3}})).bottleneck == "NVLink gpu0–gpu3");
  double out = 0;
  const PreparedCluster p = prepare(c, kLinks);
  for (const LinkLoad& l : all.loads) {
    const Link& link = p.graph.links[static_cast<std::size_t>(l.link)];
    if ((l.forward ? link.a : link.b) == 0) out += l.flows;
  }
  CHECK_THAT(out, WithinRel(1, 1e-12));  // what leaves a GPU adds up to what it passes on
  // No NVLink between 0 and 5: over PCIe and the sockets.
  const RingOnWiring apart = ring_of(c, on_one_node({{0, 5}}));
  CHECK(apart.bottleneck == "copies through host memory, QPI/UPI cpu0–cpu1");
  CHECK_THAT(gigabytes(apart.bus_bandwidth), WithinRel(6, 1e-12));
}

TEST_CASE("all-connected xGMI: all links of a GPU in a ring of all, fewer for fewer") {
  Gpu mi300x = a100_sxm();
  mi300x.form = "OAM";
  mi300x.is_xgmi = true;
  mi300x.nvlink_generation = 0;
  mi300x.nvlink_links = 7;
  mi300x.nvlink = BytesPerSecond(448e9);
  Cluster c = machine(WiringKind::nvlink_mesh, 8, mi300x);
  for (int a = 0; a < 8; ++a)
    for (int b = a + 1; b < 8; ++b) c.node.wiring.mesh.push_back({a, b, 1});
  const RingOnWiring all = ring_of(c, on_one_node({{0, 1, 2, 3, 4, 5, 6, 7}}));
  CHECK_THAT(gigabytes(all.bus_bandwidth), WithinRel(7 * 48, 1e-12));
  CHECK_THAT(all.bottleneck_nominal.value, WithinRel(448e9, 1e-12));
  CHECK(all.link_class == "xgmi");
  CHECK_THAT(gigabytes(ring_of(c, on_one_node({{0, 1, 2, 3}})).bus_bandwidth), WithinRel(3 * 48, 1e-12));
  CHECK_THAT(gigabytes(ring_of(c, on_one_node({{2, 6}})).bus_bandwidth), WithinRel(48, 1e-12));
  // Point to point sees the one link of a pair, all-to-all every link at once.
  CHECK_THAT(gigabytes(all.pair_bandwidth), WithinRel(48, 1e-12));
  CHECK_THAT(gigabytes(all.all_to_all_bandwidth), WithinRel(7 * 48, 1e-12));
}

TEST_CASE("several nodes: the NICs set the ring, each group takes its share") {
  Cluster c = machine(WiringKind::nvswitch, 8, a100_sxm());
  c.nodes = 4;
  c.network = infiniband(8, 200);  // 25 GB/s each
  const RingOnWiring all = ring_of(c, on_nodes(4, {{0, 1, 2, 3, 4, 5, 6, 7}}));
  CHECK_THAT(gigabytes(all.bus_bandwidth), WithinRel(200, 1e-12));
  CHECK(all.link_class == "network");
  CHECK(all.bottleneck == "8 × 200 Gbit/s InfiniBand");
  CHECK(all.bottleneck_link == -1);
  // Half of the GPUs reach half of the NICs; one GPU one of them; eight groups of one each share them all.
  CHECK_THAT(gigabytes(ring_of(c, on_nodes(4, {{0, 1, 2, 3}})).bus_bandwidth), WithinRel(100, 1e-12));
  CHECK_THAT(gigabytes(ring_of(c, on_nodes(4, {{0}})).bus_bandwidth), WithinRel(25, 1e-12));
  CHECK_THAT(gigabytes(ring_of(c, on_nodes(4, {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}})).bus_bandwidth), WithinRel(25, 1e-12));
  // NICs faster than what carries the traffic inside.
  c.network = infiniband(8, 400);
  CHECK_THAT(gigabytes(ring_of(c, on_nodes(4, {{0, 1, 2, 3, 4, 5, 6, 7}})).bus_bandwidth), WithinRel(240, 1e-12));
  // An oversubscribed network passes its share.
  c.network = infiniband(8, 200);
  c.network->oversubscription = 2;
  CHECK_THAT(gigabytes(ring_of(c, on_nodes(4, {{0, 1, 2, 3, 4, 5, 6, 7}})).bus_bandwidth), WithinRel(100, 1e-12));
}

TEST_CASE("hosts of one NVLink domain need no network among themselves") {
  Cluster c = machine(WiringKind::nvswitch, 4, a100_sxm());
  c.nodes = 4;
  c.rack_nodes = 2;
  c.network = infiniband(4, 200);
  const RingOnWiring rack = ring_of(c, on_nodes(2, {{0, 1, 2, 3}}));
  CHECK_THAT(gigabytes(rack.bus_bandwidth), WithinRel(240, 1e-12));
  CHECK(rack.nodes == 1);
  CHECK(rack.per_node == 8);
  const RingOnWiring two = ring_of(c, on_nodes(4, {{0, 1, 2, 3}}));
  CHECK(two.nodes == 2);
  CHECK_THAT(gigabytes(two.bus_bandwidth), WithinRel(200, 1e-12));  // the NICs of both hosts of a domain
}

TEST_CASE("bandwidth is positive for every subset of every size, the order a permutation") {
  for (const Cluster& c : {bridged_pairs(), switch_box(), cube_mesh(), machine(WiringKind::nvswitch, 8, a100_sxm()), machine(WiringKind::pcie_host, 16, a100_pcie())}) {
    const PreparedCluster p = prepare(c, kLinks);
    const int n = std::min(p.gpus, 8);
    for (unsigned subset = 1; subset < (1u << n); ++subset) {
      std::vector<int> gpus;
      for (int g = 0; g < n; ++g)
        if (subset >> g & 1) gpus.push_back(g);
      if (gpus.size() < 2) continue;
      const RingOnWiring r = ring_on_wiring(p, on_one_node({gpus}));
      CHECK(r.bus_bandwidth.value > 0);
      CHECK(r.pair_bandwidth.value > 0);
      CHECK(r.all_to_all_bandwidth.value > 0);
      CHECK_FALSE(r.bottleneck.empty());
      std::vector<int> order = r.order;
      std::sort(order.begin(), order.end());
      CHECK(order == gpus);
      // No link is loaded beyond its rate.
      for (const LinkLoad& l : r.loads) CHECK(l.flows * r.bus_bandwidth.value <= p.graph.links[static_cast<std::size_t>(l.link)].rate.value * (1 + 1e-12));
    }
  }
}

TEST_CASE("the widest ring of a mesh is found whatever the GPUs are called") {
  std::uint32_t seed = 7;
  const auto below = [&](int n) {
    seed = seed * 1664525 + 1013904223;
    return static_cast<int>((seed >> 16) % static_cast<std::uint32_t>(n));
  };
  for (int example = 0; example < 200; ++example) {
    Cluster c = machine(WiringKind::nvlink_mesh, 8, a100_sxm());
    c.node.wiring.mesh.clear();
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < i; ++j)
        if (below(10) < 5) c.node.wiring.mesh.push_back({i, j, 1 << below(3)});
    std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7}, names = all;
    const RingOnWiring ring = ring_of(c, on_one_node({all}));
    for (int i = 7; i > 0; --i) std::swap(names[static_cast<std::size_t>(i)], names[static_cast<std::size_t>(below(i + 1))]);
    Cluster renamed = c;
    for (auto& link : renamed.node.wiring.mesh) link = {names[static_cast<std::size_t>(link[0])], names[static_cast<std::size_t>(link[1])], link[2]};
    for (const std::array<int, 2>& half : {std::array{0, 4}, std::array{4, 8}}) {  // on the same sockets
      PcieGroup group;
      group.socket = half[0] / 4;
      group.has_switch = false;
      for (int i = half[0]; i < half[1]; ++i) group.gpus.push_back(names[static_cast<std::size_t>(i)]);
      renamed.node.wiring.groups.push_back(group);
    }
    INFO("example " << example);
    const RingOnWiring other = ring_of(renamed, on_one_node({all}));
    CHECK_THAT(gigabytes(other.bus_bandwidth), WithinRel(gigabytes(ring.bus_bandwidth), 1e-9));
    CHECK(other.link_class == ring.link_class);
  }
}

TEST_CASE("more than eight GPUs go by socket and switch") {
  Cluster c = machine(WiringKind::pcie_switch, 16, a100_pcie());
  for (int g = 0; g < 4; ++g) c.node.wiring.groups.push_back({g % 2, g % 2, {4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3}, 0, true});
  std::vector<int> all;
  for (int i = 0; i < 16; ++i) all.push_back(i);
  const RingOnWiring r = ring_of(c, on_one_node({all}));
  CHECK(r.order == std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15});
  CHECK_THAT(gigabytes(r.bus_bandwidth), WithinRel(16, 1e-12));
}

TEST_CASE("a ring over eight GPUs is found in well under a millisecond") {
  for (const Cluster& c : {switch_box(), cube_mesh(), machine(WiringKind::pcie_host, 8, a100_pcie())}) {
    const PreparedCluster p = prepare(c, kLinks);
    const GroupShape s = on_one_node({{0, 1, 2, 3, 4, 5, 6, 7}});
    const auto start = std::chrono::steady_clock::now();
    double sum = 0;
    for (int i = 0; i < 100; ++i) sum += ring_on_wiring(p, s).bus_bandwidth.value;
    const double us = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 100 * 1e6;
    std::printf("ring of 8, %s: %.1f us\n", std::string(name_of(c.node.wiring.kind)).c_str(), us);
    CHECK(sum > 0);
    CHECK(us < 2000);  // a search that lost its pruning takes longer, also in a debug build
  }
}
