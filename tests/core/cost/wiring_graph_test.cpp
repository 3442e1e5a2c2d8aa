#include "core/cost/wiring.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <numeric>

#include "tests/core/cost/wiring_nodes.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

int count(const WiringGraph& g, ComponentKind kind) {
  return static_cast<int>(std::count_if(g.components.begin(), g.components.end(), [&](const Component& c) { return c.kind == kind; }));
}

const Link& link_between(const WiringGraph& g, const std::string& a, const std::string& b) {
  for (const Link& l : g.links)
    if (g.components[static_cast<std::size_t>(l.a)].id == a && g.components[static_cast<std::size_t>(l.b)].id == b) return l;
  FAIL("no link " << a << "–" << b);
  return g.links.front();
}

int parts(const WiringGraph& g) {
  std::vector<int> parent(g.components.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto root = [&](int c) {
    while (parent[static_cast<std::size_t>(c)] != c) c = parent[static_cast<std::size_t>(c)];
    return c;
  };
  for (const Link& l : g.links) parent[static_cast<std::size_t>(root(l.a))] = root(l.b);
  int roots = 0;
  for (std::size_t c = 0; c < parent.size(); ++c) roots += root(static_cast<int>(c)) == static_cast<int>(c);
  return roots;
}

}  // namespace

TEST_CASE("NVSwitch: every GPU has all its links to one switch, planning beside data-sheet rate") {
  const WiringGraph g = wiring_graph(machine(WiringKind::nvswitch, 8, a100_sxm()).node, ideal_links());
  CHECK(count(g, ComponentKind::gpu) == 8);
  CHECK(count(g, ComponentKind::nvswitch) == 1);
  CHECK(count(g, ComponentKind::cpu) == 2);
  const Link& l = link_between(g, "gpu5", "nvswitch");
  CHECK(l.width == 12);
  CHECK_THAT(l.rate.value, WithinRel(240e9, 1e-12));
  CHECK_THAT(l.nominal.value, WithinRel(300e9, 1e-12));
}

TEST_CASE("PCIe switches: GPUs below, one x16 uplink each, GPUs of a half-width slot at half the rate") {
  Cluster c = machine(WiringKind::pcie_switch, 4, a100_pcie());
  c.node.wiring.pcie_lanes = 8;
  const WiringGraph g = wiring_graph(c.node, ideal_links());
  CHECK(count(g, ComponentKind::pcie_switch) == 2);
  CHECK_THAT(link_between(g, "gpu3", "switch1").rate.value, WithinRel(12e9, 1e-12));
  CHECK_THAT(link_between(g, "gpu3", "switch1").nominal.value, WithinRel(15.75e9, 1e-12));
  CHECK_THAT(link_between(g, "switch1", "cpu1").rate.value, WithinRel(24e9, 1e-12));
  CHECK_THAT(link_between(g, "cpu0", "cpu1").rate.value, WithinRel(16e9, 1e-12));
}

TEST_CASE("groups: switches, sockets, NUMA nodes and NICs as stated; a network's own count of NICs wins") {
  Cluster c = cube_mesh();
  const WiringGraph g = wiring_graph(c.node, ideal_links());
  CHECK(count(g, ComponentKind::nic) == 4);
  CHECK(g.components[7].numa == 1);
  CHECK_THAT(link_between(g, "gpu0", "gpu3").rate.value, WithinRel(40e9, 1e-12));
  CHECK_THAT(link_between(g, "cpu0", "cpu1").rate.value, WithinRel(6e9, 1e-12));
  c.network = Network{Fabric::infiniband, 2, BytesPerSecond(25e9), {}, false, 1, true, ""};
  const LinkConstants k = ideal_links();
  const PreparedCluster p = prepare(c, k);
  CHECK(count(p.graph, ComponentKind::nic) == 2);
  for (const Component& x : p.graph.components)
    if (x.kind == ComponentKind::nic) CHECK(x.nic_rate.value == 25e9);
  link_between(p.graph, "nic0", "switch0");  // evenly apart: one per socket
  link_between(p.graph, "nic1", "switch2");
}

TEST_CASE("GA102 bridges run slower than the A100's NVLink of the same generation") {
  Gpu a6000 = a100_pcie();
  a6000.nvlink_links = 4;
  a6000.nvlink = BytesPerSecond(56.25e9);
  Cluster c = machine(WiringKind::nvlink_pairs, 2, a6000, 1);
  c.node.wiring.pairs = {{0, 1}};
  CHECK_THAT(link_between(wiring_graph(c.node, ideal_links()), "gpu0", "gpu1").rate.value, WithinRel(48e9, 1e-12));
  CHECK_THAT(link_between(wiring_graph(c.node, ideal_links()), "gpu0", "gpu1").nominal.value, WithinRel(56.25e9, 1e-12));
}

TEST_CASE("a drawn graph keeps stated rates, gets the others filled in and its GPUs moved to the front") {
  Cluster c = machine(WiringKind::graph, 2, a100_pcie(), 1);
  WiringGraph& g = c.node.wiring.graph;
  for (auto [id, kind] : {std::pair{"cpu0", ComponentKind::cpu}, {"gpu0", ComponentKind::gpu}, {"gpu1", ComponentKind::gpu}}) {
    Component x;
    x.id = id;
    x.kind = kind;
    g.components.push_back(x);
  }
  Link stated, open;
  stated.a = 0, stated.b = 1, stated.rate = BytesPerSecond(7e9), stated.stated = true;
  open.a = 2, open.b = 0, open.generation = 3, open.width = 4;
  g.links = {stated, open};
  const WiringGraph done = wiring_graph(c.node, ideal_links());
  CHECK(done.components[0].id == "gpu0");
  CHECK(done.components[1].id == "gpu1");
  CHECK(link_between(done, "cpu0", "gpu0").rate.value == 7e9);
  CHECK_THAT(link_between(done, "gpu1", "cpu0").rate.value, WithinRel(3e9, 1e-12));  // PCIe 3 ×4
}

TEST_CASE("routes: the nearest way there is, and host memory where peers may not") {
  const LinkConstants k = ideal_links();
  SECTION("one switch, one socket, two sockets") {
    Cluster c = machine(WiringKind::pcie_switch, 8, a100_pcie());
    for (int g = 0; g < 4; ++g) c.node.wiring.groups.push_back({g / 2, g / 2, {2 * g, 2 * g + 1}, 0, true});
    const PreparedCluster p = prepare(c, k);
    CHECK(p.route(0, 1).kind == PathKind::pcie_switch);
    CHECK(p.route(0, 1).count == 2);
    CHECK(p.route(0, 2).kind == PathKind::host_bridge);
    CHECK(p.route(0, 2).count == 4);
    CHECK(p.route(0, 4).kind == PathKind::sockets);
    CHECK(p.route(0, 4).count == 5);
    CHECK(p.route(0, 4).rate.value == 16e9);
    CHECK(p.route(3, 3).kind == PathKind::self);
  }
  SECTION("no peer access: up to the receiver's CPU and down again, also below one switch") {
    Cluster c = machine(WiringKind::pcie_switch, 2, a100_pcie(), 1);
    c.node.p2p = 0;
    const PreparedCluster p = prepare(c, k);
    CHECK(p.route(0, 1).kind == PathKind::host_memory);
    CHECK(p.route(0, 1).count == 4);
  }
  SECTION("the node's word, then its matrix, beat the card's; NVLink pairs are peers in any case") {
    Gpu geforce = a100_pcie();
    geforce.form = "consumer";
    geforce.p2p_pcie = 0;
    Cluster c = machine(WiringKind::nvlink_pairs, 4, geforce, 1);
    c.node.wiring.pairs = {{0, 1}};
    PreparedCluster p = prepare(c, k);
    CHECK(p.route(0, 1).kind == PathKind::nvlink);
    CHECK(p.route(0, 2).kind == PathKind::host_memory);
    c.node.p2p = 1;
    p = prepare(c, k);
    CHECK(p.route(0, 2).kind == PathKind::host_bridge);
    c.node.p2p_matrix = "0100/1000/0001/0010";
    p = prepare(c, k);
    CHECK(p.route(0, 2).kind == PathKind::host_memory);
    CHECK(p.route(2, 3).kind == PathKind::host_bridge);
  }
}

TEST_CASE("every node preset is one piece and joins every pair of its GPUs") {
  const LinkConstants& k = constants().links;
  for (std::string_view id : presets().ids("nodes")) {
    DYNAMIC_SECTION(std::string(id)) {
      Cluster c;
      c.node = presets().node(id).value();
      c.gpus_per_node = c.node.gpus;
      const PreparedCluster p = prepare(c, k);
      CHECK(p.gpus == c.node.gpus);
      CHECK(parts(p.graph) == 1);
      for (const Link& l : p.graph.links) CHECK(l.rate.value > 0);
      for (int i = 0; i < p.gpus; ++i)
        for (int j = 0; j < p.gpus; ++j)
          if (i != j) {
            CHECK(p.route(i, j).kind != PathKind::none);
            CHECK(p.route(i, j).rate.value > 0);
            // A way leads from its first GPU to its last, link by link.
            int at = i;
            for (std::uint32_t s = 0; s < p.route(i, j).count; ++s) {
              const PreparedCluster::Step step = p.steps[p.route(i, j).first + s];
              const Link& l = p.graph.links[static_cast<std::size_t>(step.link)];
              REQUIRE((step.forward ? l.a : l.b) == at);
              at = step.forward ? l.b : l.a;
            }
            REQUIRE(at == j);
          }
    }
  }
}
