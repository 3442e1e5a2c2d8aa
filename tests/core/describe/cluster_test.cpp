#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

namespace {

// Two GPUs below one CPU socket.
WiringGraph small_graph() {
  WiringGraph g;
  g.components = {{"gpu0", ComponentKind::gpu}, {"gpu1", ComponentKind::gpu}, {"cpu0", ComponentKind::cpu}};
  for (int gpu = 0; gpu < 2; ++gpu) {
    Link link;
    link.a = gpu;
    link.b = 2;
    link.generation = 4;
    link.width = 16;
    g.links.push_back(link);
  }
  return g;
}

Cluster graph_cluster() {
  Cluster c = sound_cluster(2);
  c.node.wiring.kind = WiringKind::graph;
  c.node.wiring.graph = small_graph();
  return c;
}

struct Row {
  const char* path;
  const char* limit;
  std::function<void(Cluster&)> spoil;
};

void check_each(const std::vector<Row>& rows, const Cluster& sound) {
  REQUIRE(validate(sound, "cluster").empty());
  for (const Row& row : rows) {
    Cluster c = sound;
    row.spoil(c);
    const Errors errors = validate(c, "cluster");
    INFO(row.path << "\n" << text_of(errors));
    CHECK(errors.size() == 1);
    CHECK(has_error(errors, row.path, row.limit, "Nearest"));
  }
}

}  // namespace

TEST_CASE("each broken field of a cluster has an error of its own", "[describe]") {
  check_each(
      {
          {"cluster.nodes", "1 to 100000", [](Cluster& c) { c.nodes = 0; }},
          {"cluster.nodes", "1 to 100000",
           [](Cluster& c) {
             c.nodes = 1'000'000;
             c.network = Network{.nic_rate = BytesPerSecond(1e9)};
           }},
          {"cluster.gpus_per_node", "1 to 8", [](Cluster& c) { c.gpus_per_node = 9; }},
          {"cluster.gpus_per_node", "1 to 8", [](Cluster& c) { c.gpus_per_node = 0; }},
          {"cluster.network", "<fabric>", [](Cluster& c) { c.nodes = 2; }},
          {"cluster.network.nic_bytes_per_s", "1000000 to 100000000000000", [](Cluster& c) { c.network = Network{}; }},
          {"cluster.network.oversubscription", "1 to",
           [](Cluster& c) { c.network = Network{.nic_rate = BytesPerSecond(1e9), .oversubscription = 0.5}; }},
          {"cluster.node.gpus", "1 to 1024", [](Cluster& c) { c.node.gpus = 0; }},
          {"cluster.node.gpu.memory_bytes", "1000000 to", [](Cluster& c) { c.node.gpu.memory = Bytes(-1); }},
          {"cluster.node.gpu.hbm_bytes_per_s", "1000000 to",
           [](Cluster& c) { c.node.gpu.hbm = BytesPerSecond(1e300); }},
          {"cluster.node.p2p", "a row of 0 and 1", [](Cluster& c) { c.node.p2p_matrix = "01/10"; }},
          {"cluster.node.wiring.kind", "pcie-switch | pcie-host | graph", [](Cluster& c) { c.node.gpu.nvlink = {}; }},
          {"cluster.node.wiring.groups", "every GPU in one group",
           [](Cluster& c) { c.node.wiring.groups = {{.gpus = {0, 1, 2, 3, 4, 5, 6}}}; }},
          {"cluster.node.wiring.groups.0.gpus.8", "a GPU index, 0 to 7",
           [](Cluster& c) { c.node.wiring.groups = {{.gpus = {0, 1, 2, 3, 4, 5, 6, 7, 8}}}; }},
          {"cluster.node.wiring.groups.1.gpus.0", "each GPU in one group",
           [](Cluster& c) { c.node.wiring.groups = {{.gpus = {0, 1, 2, 3, 4, 5, 6, 7}}, {.gpus = {3}}}; }},
          {"cluster.node.wiring.links", "at least one",
           [](Cluster& c) { c.node.wiring.kind = WiringKind::nvlink_mesh; }},
          {"cluster.node.wiring.links", "each pair once",
           [](Cluster& c) {
             c.node.wiring.kind = WiringKind::nvlink_mesh;
             c.node.wiring.mesh = {{0, 1, 1}, {1, 0, 2}};
           }},
          {"cluster.node.wiring.links.0", "two different GPUs",
           [](Cluster& c) {
             c.node.wiring.kind = WiringKind::nvlink_mesh;
             c.node.wiring.mesh = {{1, 1, 1}};
           }},
          {"cluster.node.wiring.pairs", "at least one",
           [](Cluster& c) { c.node.wiring.kind = WiringKind::nvlink_pairs; }},
      },
      sound_cluster());
}

TEST_CASE("a wiring graph must join all GPUs by links whose rate is known", "[describe]") {
  check_each(
      {
          {"cluster.node.wiring.links", "a path between every two GPUs",
           [](Cluster& c) { c.node.wiring.graph.links.pop_back(); }},
          {"cluster.node.wiring.links.0", "two different components",
           [](Cluster& c) {
             c.node.wiring.graph.links.insert(c.node.wiring.graph.links.begin(), {.a = 1, .b = 1, .width = 1});
           }},
          {"cluster.node.wiring.links.2", "two different components",
           [](Cluster& c) { c.node.wiring.graph.links.push_back({.a = 0, .b = 7, .width = 1}); }},
          {"cluster.node.wiring.links.1.bytes_per_s", "generation with lanes",
           [](Cluster& c) { c.node.wiring.graph.links[1].width = 0; }},
          {"cluster.node.wiring.components", "each id once",
           [](Cluster& c) { c.node.wiring.graph.components[2].id = "gpu0"; }},
          {"cluster.node.wiring.components", "as many GPUs as the node has, 2",
           [](Cluster& c) {
             c.node.wiring.graph.components.push_back({"gpu2", ComponentKind::gpu});
             c.node.wiring.graph.links.push_back({.a = 3, .b = 2, .width = 16});
           }},
      },
      graph_cluster());
}

namespace {

// As many GPUs at either end of a chain of components.
Cluster chain_cluster(int gpus, const std::vector<ComponentKind>& chain) {
  Cluster c = sound_cluster(gpus);
  c.node.wiring.kind = WiringKind::graph;
  WiringGraph& g = c.node.wiring.graph;
  const auto join = [&](int a, int b) { g.links.push_back({.a = a, .b = b, .generation = 4, .width = 16}); };
  for (int gpu = 0; gpu < gpus; ++gpu) g.components.push_back({"gpu" + std::to_string(gpu), ComponentKind::gpu});
  for (const ComponentKind kind : chain) {
    const int here = static_cast<int>(g.components.size());
    if (here > gpus) join(here - 1, here);
    g.components.push_back({"c" + std::to_string(here), kind});
  }
  for (int gpu = 0; gpu < gpus; ++gpu) join(gpu, gpu % 2 == 0 ? gpus : static_cast<int>(g.components.size()) - 1);
  return c;
}

}  // namespace

TEST_CASE("how far apart the components of a graph may be depends on how many GPUs there are", "[describe]") {
  const std::vector<ComponentKind> line(32, ComponentKind::cpu), longer(33, ComponentKind::cpu), switches(5'000, ComponentKind::nvswitch);
  CHECK(validate(chain_cluster(1'024, line), "cluster").empty());
  CHECK(has_error(validate(chain_cluster(1'024, longer), "cluster"), "cluster.node.wiring.links", "at most 32 links", "Nearest: 32"));
  CHECK(validate(chain_cluster(64, longer), "cluster").empty());
  CHECK(has_error(validate(chain_cluster(1'024, switches), "cluster"), "cluster.node.wiring.links", "at most 32 links", "Nearest: 32"));
  // A GPU that is joined to the others leads no route, and hides none.
  Cluster joined = chain_cluster(1'024, switches);
  for (int gpu = 1; gpu < 1'024; ++gpu) joined.node.wiring.graph.links.push_back({.a = 0, .b = gpu, .generation = 4, .width = 16});
  CHECK(has_error(validate(joined, "cluster"), "cluster.node.wiring.links", "at most 32 links", "Nearest: 32"));
}

TEST_CASE("a P2P matrix has a row for each GPU", "[describe]") {
  Cluster c = sound_cluster(2);
  c.node.p2p_matrix = "01/10";
  CHECK(validate(c, "cluster").empty());
  for (const char* text : {"01/1", "01110", "0/1", "01/1x", "01/10/"}) {
    c.node.p2p_matrix = text;
    CHECK(has_error(validate(c, "cluster"), "cluster.node.p2p"));
  }
}
