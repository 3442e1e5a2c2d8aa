#include "core/answer/curves.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/core/cost/wiring_nodes.hpp"

using namespace wireplan;
using Catch::Approx;

namespace {

const LinkConstants links = testing::ideal_links();

Cluster switched(int gpus, int nodes) {
  Cluster c;
  c.nodes = nodes;
  c.node.gpu = testing::a100_sxm();
  c.node.gpus = c.gpus_per_node = gpus;
  c.node.sockets = 2;
  c.node.cpu.nccl_class = "amd";
  c.node.wiring.kind = WiringKind::nvswitch;
  if (nodes > 1) {
    c.network.emplace();
    c.network->nics_per_node = 8;
    c.network->nic_rate = BytesPerSecond(25e9);
  }
  return c;
}

std::string refused(const PreparedCluster& p, CurveRequest r) {
  Result<Curve> curve = collective_curve(p, r);
  REQUIRE_FALSE(curve);
  CHECK_FALSE(curve.errors().front().text.empty());
  return curve.errors().front().path;
}

std::string refused(SizeRange r) {
  Result<std::vector<Bytes>> sizes = sizes_of(r);
  REQUIRE_FALSE(sizes);
  CHECK(sizes.errors().front().text.find("Nearest") != std::string::npos);
  return sizes.errors().front().path;
}

}  // namespace

// Counts as nccl-tests prints them for 8 GPUs and floats.
TEST_CASE("sizes and counts are those of nccl-tests", "[curves]") {
  auto check = [](Collective op, double asked, ElementType type, int ranks, double size, double count) {
    const CallSize c = call_size(op, Bytes(asked), type, ranks);
    CHECK(c.size.value == size);
    CHECK(c.count == count);
  };
  check(Collective::all_reduce, 1024, ElementType::float32, 8, 1024, 256);
  check(Collective::all_reduce, 1027, ElementType::float32, 8, 1024, 256);
  check(Collective::broadcast, 9, ElementType::float64, 8, 8, 1);
  check(Collective::send_recv, 7, ElementType::bfloat16, 2, 6, 3);
  check(Collective::all_gather, 1024, ElementType::float32, 8, 1024, 32);
  check(Collective::reduce_scatter, 1000, ElementType::float32, 8, 896, 28);  // 250 / 8 = 31, down to 28: 16 bytes
  check(Collective::all_to_all, 1000, ElementType::int8, 6, 960, 160);        // 166, down to 160
  check(Collective::all_gather, 64, ElementType::float32, 8, 0, 0);           // 2 elements each are below 16 bytes
  check(Collective::scatter, 64, ElementType::float32, 8, 64, 2);
  check(Collective::gather, 1000, ElementType::float32, 7, 980, 35);
}

TEST_CASE("sizes by factor and by step", "[curves]") {
  auto values = [](SizeRange r) {
    std::vector<double> v;
    const Result<std::vector<Bytes>> sizes = sizes_of(r);
    for (Bytes b : sizes.value()) v.push_back(b.value);
    return v;
  };
  CHECK(values({1024, 10000, 2, 0}) == std::vector<double>{1024, 2048, 4096, 8192});
  CHECK(values({8, 8, 2, 0}) == std::vector<double>{8});
  CHECK(values({100, 300, 2, 100}) == std::vector<double>{100, 200, 300});
  CHECK(values({4, 9, 1.5, 0}) == std::vector<double>{4, 6, 9});
  CHECK(values({1, 4, 1.1, 0}) == std::vector<double>{1, 2, 3, 4});  // whole bytes, always on
  CHECK(sizes_of({}).value().size() == 24);

  CHECK(refused({2048, 1024, 2, 0}) == "end");
  CHECK(refused({0, 1024, 2, 0}) == "begin");
  CHECK(refused({1, 2e15, 2, 0}) == "end");
  CHECK(refused({1, 1e6, 1, 0}) == "factor");
  CHECK(refused({1, 1e6, -2, 0}) == "factor");
  CHECK(refused({1, 1e15, 2, 1}) == "step");
  CHECK(refused({1, 1e15, 1.001, 0}) == "factor");
  CHECK(refused({1, 100, 2, -5}) == "step");
  CHECK(refused({0.0 / 0.0, 100, 2, 0}) == "begin");
  const auto said = [](SizeRange r) { return sizes_of(r).errors().front().text; };
  CHECK(said({1, 1e6, 1.0001, 0}) == "sizes grow by a factor of 1.001 to 1e15, not 1.0001. Nearest: 1.001");
  CHECK(said({1, 1e6, 2, 1e300}) == "sizes grow by 1 B to 1 PB, not 1e300 B. Nearest: 1048576");
}

// T = L0 + h·2(g-1) + V/B with the ideal constants: 5 µs + 14 · 1 µs + 7/4 · S / 240 GB/s.
TEST_CASE("a curve of eight GPUs behind a switch", "[curves]") {
  const Cluster cluster = switched(8, 1);
  const PreparedCluster prepared = prepare(cluster, links);
  Result<Curve> curve = collective_curve(prepared, {Collective::all_reduce, {}, 1, {Bytes(0), Bytes(1 << 20), Bytes(1 << 30)}});
  REQUIRE(curve);
  const Curve& c = curve.value();
  CHECK(c.ranks == 8);
  CHECK(c.gpus.size() == 8);
  CHECK(c.ring.bus_bandwidth.value == Approx(240e9));
  REQUIRE(c.points.size() == 3);
  CHECK(c.points[0].algorithm_bandwidth.value == 0);
  CHECK(c.points[0].call.time.value.value > 0);
  for (const Curve::Point& p : c.points) {
    CHECK(p.call.time.low <= p.call.time.value);
    CHECK(p.call.time.value <= p.call.time.high);
    CHECK(p.bus_bandwidth.value == Approx(1.75 * p.algorithm_bandwidth.value));
    CHECK(p.algorithm_bandwidth.value == Approx(p.size.value / p.call.time.value.value));
    CHECK(p.bus_bandwidth <= c.ring.bus_bandwidth);
  }
  CHECK(c.points[1].bus_bandwidth < c.points[2].bus_bandwidth);
}

TEST_CASE("a pair has half the bus factor and its own GPUs", "[curves]") {
  const Cluster cluster = switched(8, 4);
  const PreparedCluster prepared = prepare(cluster, links);
  const Curve pair = collective_curve(prepared, {Collective::all_gather, {5, 2}, 1, {Bytes(1e8)}}).value();
  CHECK(pair.ranks == 2);
  CHECK(pair.points[0].bus_bandwidth.value == Approx(0.5 * pair.points[0].algorithm_bandwidth.value));
  CHECK(pair.ring.order.size() == 2);
  // One GPU of each of four nodes: only the network joins them.
  const Curve across = collective_curve(prepared, {Collective::all_reduce, {3}, 4, {Bytes(1e8)}}).value();
  CHECK(across.ranks == 4);
  CHECK(across.ring.link_class == "network");
}

TEST_CASE("curves that are refused", "[curves]") {
  const Cluster cluster = switched(8, 2);
  const PreparedCluster prepared = prepare(cluster, links);
  const std::vector<Bytes> sizes{Bytes(1024)};
  CHECK(refused(prepared, {Collective::all_reduce, {0, 8}, 1, sizes}) == "gpus");
  CHECK(refused(prepared, {Collective::all_reduce, {-1, 0}, 1, sizes}) == "gpus");
  CHECK(refused(prepared, {Collective::all_reduce, {3, 1, 3}, 1, sizes}) == "gpus");
  CHECK(refused(prepared, {Collective::all_reduce, {3}, 1, sizes}) == "nodes");
  CHECK(refused(prepared, {Collective::all_reduce, {}, 3, sizes}) == "nodes");
  CHECK(refused(prepared, {Collective::all_reduce, {}, 0, sizes}) == "nodes");
  CHECK(refused(prepared, {Collective::all_reduce, {}, 1, {Bytes(2e15)}}) == "sizes");
  CHECK(refused(prepared, {Collective::all_reduce, {}, 1, {Bytes(-1)}}) == "sizes");
  CHECK(refused(prepared, {Collective::all_reduce, {}, 1, std::vector<Bytes>(1001, Bytes(1))}) == "sizes");
  const Cluster large = switched(8, 20'000);
  const PreparedCluster rows = prepare(large, links);
  CHECK(refused(rows, {Collective::all_reduce, {}, 20'000, sizes}) == "nodes");
  CHECK(collective_curve(rows, {Collective::all_reduce, {}, 12'500, sizes}));
}
