#include "core/answer/topology.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <utility>

#include "tests/core/cost/wiring_nodes.hpp"

using namespace wireplan;
using Catch::Approx;

namespace {

const LinkConstants links = testing::ideal_links();

// A node drawn by hand: components by id (g: GPU, s: PCIe switch, r: root, c: CPU) with their NUMA nodes, links by index.
struct Drawn {
  Cluster cluster;
  int add(ComponentKind kind, int numa = 0) {
    Component c;
    c.id = std::string(name_of(kind)) + std::to_string(cluster.node.wiring.graph.components.size());
    c.kind = kind;
    c.numa = numa;
    cluster.node.wiring.graph.components.push_back(c);
    return static_cast<int>(cluster.node.wiring.graph.components.size()) - 1;
  }
  void join(int a, int b, LinkKind kind = LinkKind::pcie, int width = 16, int generation = 4) {
    Link l;
    l.a = a;
    l.b = b;
    l.kind = kind;
    l.generation = kind == LinkKind::socket ? 0 : generation;
    l.width = kind == LinkKind::socket ? 0 : width;
    cluster.node.wiring.graph.links.push_back(l);
  }
  Topology topology(std::vector<int> gpus = {}) {
    Node& node = cluster.node;
    node.gpu = testing::a100_pcie();
    node.cpu.nccl_class = "amd";
    node.wiring.kind = WiringKind::graph;
    node.gpus = 0;
    for (const Component& c : node.wiring.graph.components) node.gpus += c.kind == ComponentKind::gpu;
    cluster.gpus_per_node = node.gpus;
    prepared = prepare(cluster, links);
    return wireplan::topology(prepared, std::move(gpus)).value();
  }
  PreparedCluster prepared;
};

std::string between(const Topology& t, int n, int a, int b) { return path_name(t.paths[static_cast<std::size_t>(a * n + b)]); }

}  // namespace

TEST_CASE("every word of nvidia-smi's matrix", "[topology]") {
  Drawn d;
  for (int i = 0; i < 7; ++i) d.add(ComponentKind::gpu, i == 6 ? 1 : 0);
  const int one = d.add(ComponentKind::pcie_switch), two = d.add(ComponentKind::pcie_switch), upper = d.add(ComponentKind::pcie_switch);
  const int root = d.add(ComponentKind::root), other = d.add(ComponentKind::root), cpu0 = d.add(ComponentKind::cpu), cpu1 = d.add(ComponentKind::cpu, 1);
  d.join(0, one);
  d.join(1, one);    // 0–1: one switch
  d.join(2, two);    // 0–2: one, upper, two
  d.join(one, upper);
  d.join(two, upper);
  d.join(upper, root);
  d.join(3, root);   // 0–3: through one host bridge
  d.join(4, other);  // 0–4: two host bridges of one NUMA node
  d.join(5, other);
  d.join(root, cpu0);
  d.join(other, cpu0);
  d.join(6, cpu1);   // 0–6: another socket
  d.join(cpu0, cpu1, LinkKind::socket);
  d.join(0, 5, LinkKind::nvlink, 4, 3);
  const Topology t = d.topology();
  CHECK(between(t, 7, 0, 0) == "X");
  CHECK(between(t, 7, 0, 1) == "PIX");
  CHECK(between(t, 7, 0, 2) == "PXB");
  CHECK(between(t, 7, 0, 3) == "PHB");
  CHECK(between(t, 7, 0, 4) == "NODE");
  CHECK(between(t, 7, 0, 5) == "NV4");
  CHECK(between(t, 7, 0, 6) == "SYS");
  for (int a = 0; a < 7; ++a)
    for (int b = 0; b < 7; ++b) CHECK(between(t, 7, a, b) == between(t, 7, b, a));
}

TEST_CASE("NUMA nodes of one socket are SYS to each other", "[topology]") {
  Drawn d;
  d.add(ComponentKind::gpu, 0);
  d.add(ComponentKind::gpu, 1);
  const int cpu = d.add(ComponentKind::cpu, -1);
  d.join(0, cpu);
  d.join(1, cpu);
  CHECK(between(d.topology(), 2, 0, 1) == "SYS");
}

// Three GPUs under one CPU, two of them bridged (4 NVLinks of 20 GB/s): the PCIe 4 hop of 24 GB/s sets the ring.
TEST_CASE("three GPUs with one bridge", "[topology]") {
  Drawn d;
  for (int i = 0; i < 3; ++i) d.add(ComponentKind::gpu);
  const int cpu = d.add(ComponentKind::cpu);
  for (int i = 0; i < 3; ++i) d.join(i, cpu);
  d.join(0, 1, LinkKind::nvlink, 4, 3);
  const Topology t = d.topology();
  CHECK(between(t, 3, 0, 1) == "NV4");
  CHECK(between(t, 3, 1, 2) == "PHB");
  CHECK(t.node.ring.bus_bandwidth.value == Approx(24e9));
  CHECK(t.node.ring.bottleneck.find("copies through host memory, PCIe") == 0);  // three GPUs past a host bridge
  REQUIRE(t.pairs.size() == 2);
  CHECK(path_name(t.pairs[0].path) == "NV4");
  CHECK(t.pairs[0].count == 1);
  CHECK(t.pairs[0].ring.bus_bandwidth.value == Approx(80e9));
  CHECK(t.pairs[1].count == 2);
  CHECK(t.pairs[1].ring.bus_bandwidth.value == Approx(24e9));
  CHECK(t.all_pairs);
  CHECK(t.cluster.gpus.empty());
  // The pair by itself does not see the third.
  CHECK(d.topology({1, 0}).node.ring.bus_bandwidth.value == Approx(80e9));
}

TEST_CASE("without peer access the words stay and P2P says no", "[topology]") {
  Drawn d;
  d.add(ComponentKind::gpu);
  d.add(ComponentKind::gpu);
  const int one = d.add(ComponentKind::pcie_switch), cpu = d.add(ComponentKind::cpu);
  d.join(0, one);
  d.join(1, one);
  d.join(one, cpu);
  d.cluster.node.p2p = 0;
  const Topology t = d.topology();
  CHECK(between(t, 2, 0, 1) == "PIX");
  CHECK_FALSE(t.paths[1].p2p);
  CHECK(t.node.ring.uses_host_memory);
  CHECK(t.assumed.empty());  // p2p was stated
}

TEST_CASE("what is not stated is assumed and said", "[topology]") {
  Drawn d;
  d.add(ComponentKind::gpu);
  d.add(ComponentKind::gpu, 1);
  const int a = d.add(ComponentKind::cpu), b = d.add(ComponentKind::cpu, 1);
  d.join(0, a);
  d.join(1, b);
  d.join(a, b, LinkKind::socket);
  const Topology t = d.topology();
  REQUIRE(t.assumed.size() == 1);
  CHECK(t.assumed[0].path == "cluster.node.p2p");
  CHECK(t.assumed[0].value == "true");
  d.cluster.node.cpu.nccl_class = "";
  d.prepared = prepare(d.cluster, links);
  const Topology unknown = topology(d.prepared, {}).value();
  REQUIRE(unknown.assumed.size() == 2);
  CHECK(unknown.assumed[1].path == "cluster.node.cpu");
  CHECK(unknown.assumed[1].why.find("6.0 GB/s") != std::string::npos);  // the slowest of the sockets' rates
}

TEST_CASE("GPUs that are not there, or twice", "[topology]") {
  Drawn d;
  d.add(ComponentKind::gpu);
  d.add(ComponentKind::gpu);
  const int cpu = d.add(ComponentKind::cpu);
  d.join(0, cpu);
  d.join(1, cpu);
  d.topology();
  for (const std::vector<int>& gpus : {std::vector<int>{0, 2}, {-1}, {1, 0, 1}}) {
    Result<Topology> t = topology(d.prepared, gpus);
    REQUIRE_FALSE(t);
    CHECK(t.errors().front().path == "gpus");
  }
}

TEST_CASE("a large switched machine keeps to its bounds", "[topology]") {
  Cluster c;
  c.node.gpu = testing::a100_sxm();
  c.node.gpus = c.gpus_per_node = 576;
  c.node.sockets = 2;
  c.node.wiring.kind = WiringKind::nvswitch;
  const PreparedCluster prepared = prepare(c, links);
  const Topology t = topology(prepared, {}).value();
  CHECK(t.paths.empty());
  REQUIRE(t.pairs.size() == 1);
  CHECK(t.pairs[0].count == 576 * 575 / 2);
  CHECK(path_name(t.pairs[0].path) == "NV12");
}
