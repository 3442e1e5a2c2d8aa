// Captures of real machines and every way in which they come changed. Expectations are read off the captures by hand.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "core/cost/wiring.hpp"
#include "core/text/import_topology.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/render_topology.hpp"
#include "core/text/request.hpp"
#include "tests/support/files.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

std::string sample(const std::string& name) {
  std::string text = file_text("tests/data/topologies/" + name);
  REQUIRE_FALSE(text.empty());
  return text;
}

Cluster imported(const std::string& text, const TopologyHints& hints = {}) {
  Result<Cluster> cluster = import_topology(text, hints, presets());
  if (!cluster) FAIL(cluster.errors()[0].text);
  REQUIRE(validate(cluster.value(), "cluster").empty());
  // The document reads back as the same cluster.
  const Result<Cluster> again = read_cluster(write_cluster(cluster.value()), presets(), "cluster");
  if (!again) FAIL(again.errors()[0].path + ": " + again.errors()[0].text);
  CHECK(again.value() == cluster.value());
  return std::move(cluster.value());
}

Error refused(const std::string& text, const TopologyHints& hints = {}) {
  const Result<Cluster> cluster = import_topology(text, hints, presets());
  REQUIRE_FALSE(cluster);
  for (const Error& e : cluster.errors()) {
    CHECK_FALSE(e.text.empty());
    CHECK(e.value.size() <= 80);
  }
  return cluster.errors()[0];
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string assumption(const Cluster& c, std::string_view path) {
  for (const Assumption& a : c.assumed)
    if (a.path == path) return a.value + " " + a.why;
  return "";
}

LinkConstants links() { return presets().constants().value().links; }
WiringGraph graph_of_node(const Node& node) { return wiring_graph(node, links()); }

// Graphs may differ in what the NICs are called and how fast the network beyond them is.
WiringGraph without_nic_names(WiringGraph graph) {
  for (Component& c : graph.components) {
    c.model.clear();
    c.nic_rate = {};
  }
  return graph;
}

Node preset(const char* id) { return presets().node(id).value(); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

using Groups = std::vector<PcieGroup>;

}  // namespace

// --- the captures as they are -------------------------------------------------------------------------------------------------------

TEST_CASE("topo-01: eight V100 in a hybrid cube mesh with one NIC", "[topology]") {
  const Cluster c = imported(sample("topo-01.txt"));
  CHECK(c.nodes == 1);
  CHECK(c.node.gpus == 8);
  CHECK(c.gpus_per_node == 8);
  CHECK(c.node.gpu.id == "v100-32gb-sxm");  // guessed: six links each, two at most between two GPUs
  CHECK(c.node.wiring.kind == WiringKind::nvlink_mesh);
  CHECK(c.node.wiring.mesh == preset("dgx1-v100-32gb").wiring.mesh);
  // The NIC is PIX to GPU 2 and 3: one switch. How the others hang, NVLink hides.
  CHECK(c.node.wiring.groups == Groups{{0, 0, {0, 1}, 0, false}, {0, 0, {2, 3}, 1, true}, {1, 1, {4, 5, 6, 7}, 0, false}});
  CHECK(c.node.sockets == 2);
  CHECK_FALSE(c.network);
  CHECK(has(assumption(c, "node.gpu"), "does not name the GPU"));
  CHECK(has(assumption(c, "node.wiring.groups"), "NV#"));
  CHECK(has(assumption(c, "node.wiring.pcie"), "pcie.link.gen.max"));
  CHECK(has(assumption(c, "node.cpu"), "skl"));
  CHECK(has(assumption(c, "network"), "--network"));
}

TEST_CASE("topo-02: eight GPUs in pairs behind switches; escape codes, tabs, empty cells", "[topology]") {
  const Cluster c = imported(sample("topo-02.txt"));
  CHECK(c.node.wiring.kind == WiringKind::pcie_switch);
  CHECK(c.node.wiring.groups == Groups{{0, 0, {0, 1}, 0, true}, {0, 0, {2, 3}, 0, true}, {1, 1, {4, 5}, 0, true}, {1, 1, {6, 7}, 0, true}});
  CHECK(c.node.sockets == 2);
  CHECK(c.node.numa_nodes == 2);
  CHECK(c.node.cpu.nccl_class == "amd");  // 64 cores a socket
  CHECK(has(assumption(c, "node.gpu"), "nothing in it tells"));
  CHECK(has(assumption(c, "node.p2p"), "topo -p2p r"));
}

TEST_CASE("topo-04: two bridges of one link, on two sockets, by affinity alone", "[topology]") {
  const Cluster c = imported(sample("topo-04.txt"));
  CHECK(c.node.wiring.kind == WiringKind::nvlink_pairs);
  CHECK(c.node.wiring.pairs == std::vector<std::array<int, 2>>{{0, 1}, {2, 3}});
  CHECK(c.node.wiring.links_per_pair == 1);
  CHECK(c.node.wiring.groups == Groups{{0, 0, {0, 1}, 0, false}, {1, 1, {2, 3}, 0, false}});
}

TEST_CASE("topo-05 and 08: root ports of one CPU", "[topology]") {
  const Cluster four = imported(sample("topo-05.txt")), two = imported(sample("topo-08.txt"));
  CHECK(four.node.wiring.kind == WiringKind::pcie_host);
  CHECK(four.node.wiring.groups == Groups{{0, 0, {0, 1, 2, 3}, 0, false}});
  CHECK(four.node.sockets == 1);
  CHECK(two.node.wiring.groups == Groups{{0, 0, {0, 1}, 0, false}});
}

TEST_CASE("topo-06: a bridged pair", "[topology]") {
  const Cluster c = imported(sample("topo-06.txt"));
  CHECK(c.node.wiring.kind == WiringKind::nvlink_pairs);
  CHECK(c.node.wiring.links_per_pair == 1);
  CHECK(assumption(c, "node.p2p").empty());  // the only pair has NVLink
}

TEST_CASE("topo-10: eight H100 on NVSwitches, indented, a NIC far from all", "[topology]") {
  const Cluster c = imported(sample("topo-10.txt"));
  CHECK(c.node.wiring.kind == WiringKind::nvswitch);
  CHECK(c.node.gpu.id == "h100-80gb-sxm");
  CHECK(c.node.wiring.groups == Groups{{0, 0, {0, 1, 2, 3}, 1, false}, {1, 1, {4, 5, 6, 7}, 0, false}});
  CHECK(has(assumption(c, "node.wiring"), "NIC0"));
  CHECK(c.node.cpu.nccl_class == "srp");
}

TEST_CASE("topo-13: switches above one another become a graph", "[topology]") {
  const Cluster c = imported(sample("topo-13.txt"));
  REQUIRE(c.node.wiring.kind == WiringKind::graph);
  const auto count = [&](ComponentKind kind) {
    const auto& all = c.node.wiring.graph.components;
    return std::count_if(all.begin(), all.end(), [&](const Component& x) { return x.kind == kind; });
  };
  CHECK(count(ComponentKind::pcie_switch) == 6);
  CHECK(count(ComponentKind::cpu) == 1);  // NODE: one NUMA node
  CHECK(c.node.wiring.graph.links.size() == 8 + 6);
}

TEST_CASE("topo-14: -p2p alone says nothing about wiring", "[topology]") {
  CHECK(has(refused(sample("topo-14.txt")).text, "topo -p2p"));
  CHECK(has(refused(sample("topo-14.txt")).text, "nvidia-smi topo -m"));
}

TEST_CASE("topo-17: four V100, each joined to each by two links", "[topology]") {
  const Cluster c = imported(sample("topo-17.txt"));
  CHECK(c.node.wiring.kind == WiringKind::nvlink_mesh);
  CHECK(c.node.wiring.mesh.size() == 6);
  CHECK(c.node.gpu.id == "v100-32gb-sxm");
  CHECK(c.node.wiring.groups == Groups{{0, 0, {0, 1, 2, 3}, 1, false}});  // the NIC is NODE to all
}

TEST_CASE("topo-18: eight A100 in bridged pairs", "[topology]") {
  const Cluster c = imported(sample("topo-18.txt"));
  CHECK(c.node.wiring.kind == WiringKind::nvlink_pairs);
  CHECK(c.node.gpu.id == "a100-80gb-pcie");
  CHECK(c.node.wiring.pairs == std::vector<std::array<int, 2>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(c.node.wiring.links_per_pair == 12);
  CHECK(c.node.wiring.groups == Groups{{0, 0, {0, 1, 2, 3}, 0, false}, {1, 1, {4, 5, 6, 7}, 0, false}});
}

TEST_CASE("topo-21: a cut capture whose last pair stands nowhere", "[topology]") {
  const Error e = refused(sample("topo-21.txt"));
  CHECK(has(e.text, "GPU6 and GPU7"));
  CHECK(has(e.text, "cut off"));
}

// --- the same machine in several descriptions ---------------------------------------------------------------------------------------

namespace {

// A capture of a DGX A100 with all rows, NICs 8 and 9 left out: they hang on NUMA nodes of their own.
std::string dgx_a100_matrix(int rows) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tNIC2\tNIC3\tNIC4\tNIC5\tNIC6\tNIC7\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  const char* affinity[] = {"48-63,176-191\t3", "16-31,144-159\t1", "112-127,240-255\t7", "80-95,208-223\t5"};
  for (int i = 0; i < rows; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < 8; ++j) text += i == j ? "\t X " : "\tNV12";
    for (int n = 0; n < 8; ++n) text += n / 2 == i / 2 ? "\tPXB" : "\tSYS";
    text += std::string("\t") + affinity[i / 2] + "\t\tN/A\n";
  }
  return text;
}

}  // namespace

TEST_CASE("preset, matrix, XML and drawn graph of one machine give one graph", "[topology]") {
  SECTION("DGX A100, NPS4: a NUMA node is no socket") {
    const Cluster c = imported(dgx_a100_matrix(8));
    CHECK(c.node.gpu.id == "a100-80gb-sxm");
    CHECK(c.node.sockets == 2);
    CHECK(c.node.numa_nodes == 8);
    CHECK(graph_of_node(c.node) == graph_of_node(preset("dgx-a100-80gb")));
    CHECK(has(assumption(c, "node.sockets"), "which share a socket"));
  }
  SECTION("the same without the last row") {
    const Cluster c = imported(dgx_a100_matrix(7));
    // GPU7's affinity and NICs are lost with its row: it stands beside GPU6, on no switch.
    Groups expected = preset("dgx-a100-80gb").wiring.groups;
    expected.back().gpus = {6};
    expected.push_back({1, 5, {7}, 0, false});
    CHECK(c.node.wiring.groups == expected);
    CHECK(has(assumption(c, "node.wiring"), "GPU7"));
  }
  SECTION("RTX PRO 6000 behind four switches") {
    const Cluster c = imported(sample("topo-02.txt"), {"rtx-pro-6000-server-96gb", ""});
    CHECK(graph_of_node(c.node) == graph_of_node(preset("asus-esc8000a-e13p")));
    CHECK(assumption(c, "node.gpu").empty());
  }
  SECTION("A100 in bridged pairs: matrix and XML") {
    const Cluster matrix = imported(sample("topo-18.txt")), xml = imported(sample("a100-pcie-8x-nv12.xml"));
    CHECK(graph_of_node(matrix.node) == graph_of_node(xml.node));
  }
  SECTION("cascaded switches: matrix and XML") {
    const Cluster xml = imported(sample("rtxpro6000-cascade.xml"));
    Cluster matrix = imported(sample("topo-13.txt"), {"rtx-pro-6000-server-96gb", ""});
    CHECK(graph_of_node(matrix.node) == graph_of_node(xml.node));
  }
  SECTION("DGX-1: XML and preset, and the matrix that a NIC for each switch completes") {
    const Cluster xml = imported(sample("dgx1-v100.xml"));
    CHECK(without_nic_names(graph_of_node(xml.node)) == graph_of_node(preset("dgx1-v100-32gb")));
    std::string text = "GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 mlx5_0 mlx5_1 mlx5_2 mlx5_3 CPU Affinity\n";
    const char* rows[] = {"X NV1 NV1 NV2 NV2 SYS SYS SYS PIX PHB SYS SYS 0-19,40-59",   "NV1 X NV2 NV1 SYS NV2 SYS SYS PIX PHB SYS SYS 0-19,40-59",
                          "NV1 NV2 X NV2 SYS SYS NV1 SYS PHB PIX SYS SYS 0-19,40-59",   "NV2 NV1 NV2 X SYS SYS SYS NV1 PHB PIX SYS SYS 0-19,40-59",
                          "NV2 SYS SYS SYS X NV1 NV1 NV2 SYS SYS PIX PHB 20-39,60-79",  "SYS NV2 SYS SYS NV1 X NV2 NV1 SYS SYS PIX PHB 20-39,60-79",
                          "SYS SYS NV1 SYS NV1 NV2 X NV2 SYS SYS PHB PIX 20-39,60-79",  "SYS SYS SYS NV1 NV2 NV1 NV2 X SYS SYS PHB PIX 20-39,60-79"};
    for (int i = 0; i < 8; ++i) text += "GPU" + std::to_string(i) + " " + rows[i] + "\n";
    Cluster matrix = imported(text);
    matrix.node.cpu = xml.node.cpu;  // which the matrix cannot say
    CHECK(graph_of_node(matrix.node) == graph_of_node(preset("dgx1-v100-32gb")));
  }
  SECTION("HGX H100 with a NIC beside each GPU") {
    std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tNIC2\tNIC3\tNIC4\tNIC5\tNIC6\tNIC7\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
    for (int i = 0; i < 8; ++i) {
      text += "GPU" + std::to_string(i);
      for (int j = 0; j < 8; ++j) text += i == j ? "\t X " : "\tNV18";
      for (int j = 0; j < 8; ++j) text += i == j ? "\tPIX" : i / 4 == j / 4 ? "\tNODE" : "\tSYS";
      text += i < 4 ? "\t0-55,112-167\t0\t\tN/A\n" : "\t56-111,168-223\t1\t\tN/A\n";
    }
    CHECK(graph_of_node(imported(text).node) == graph_of_node(preset("hgx-h100-80gb")));
  }
  SECTION("Azure ND A100 v4 and a Grace tray: XML and preset") {
    CHECK(without_nic_names(graph_of_node(imported(sample("azure-ndv4.xml"), {"a100-40gb-sxm", ""}).node)) == graph_of_node(preset("azure-nd96asr-v4")));
    CHECK(without_nic_names(graph_of_node(imported(sample("gb200-tray.xml")).node)) == graph_of_node(preset("gb200-tray")));
  }
  SECTION("a short-hand drawn out") {
    Cluster c = imported(sample("topo-02.txt"));
    Node drawn = c.node;
    drawn.wiring = {};
    drawn.wiring.kind = WiringKind::graph;
    drawn.wiring.graph = graph_of_node(c.node);
    CHECK(graph_of_node(drawn) == graph_of_node(c.node));
  }
}

// --- the matrix in all its forms ----------------------------------------------------------------------------------------------------

namespace {

const std::string kPair = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\t0-31\t0\t\tN/A\nGPU1\tPHB\t X \t0-31\t0\t\tN/A\n";

}  // namespace

TEST_CASE("a matrix reads the same with what stands around it", "[topology]") {
  const Wiring plain = imported(kPair).node.wiring;
  const std::string legend = "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
                             "  NODE = Connection traversing PCIe\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_0\n";
  CHECK(imported("user@host:~$ nvidia-smi topo -m\n" + kPair + legend).node.wiring == plain);
  CHECK(imported("Here is `topo -m`:\n\n```\n" + kPair + "```\nGPU0 and GPU1 are slow.").node.wiring == plain);
  CHECK(imported(replaced(kPair, "\n", "\r\n")).node.wiring == plain);
  CHECK(imported(replaced("    " + kPair, "\n", "\n    ")).node.wiring == plain);
  CHECK(imported(replaced("> " + kPair, "\n", "\n> ")).node.wiring == plain);
  CHECK(imported(replaced("# " + kPair, "\n", "\n# ")).node.wiring == plain);
  CHECK(imported(replaced(kPair, "\t", "\xc2\xa0\xc2\xa0")).node.wiring == plain);
  CHECK(imported("\x1b[1m\x1b[4m" + kPair + "\x1b[0m").node.wiring == plain);
  CHECK(imported("| | GPU0 | GPU1 |\n|---|---|---|\n| GPU0 | X | PHB |\n| GPU1 | PHB | X |\n").node.wiring == plain);
  CHECK(imported(kPair + kPair).node.wiring == plain);
  CHECK(imported("topology: |\n  " + replaced(kPair, "\n", "\n  ")).node.wiring == plain);
}

TEST_CASE("headers and rows that lost something", "[topology]") {
  const Wiring pairs = imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU1 PIX X SYS SYS\nGPU2 SYS SYS X PIX\nGPU3 SYS SYS PIX X\n").node.wiring;
  CHECK(pairs.groups == Groups{{0, 0, {0, 1}, 0, true}, {1, 1, {2, 3}, 0, true}});
  // No header: each row's X says which column is its own.
  CHECK(imported("GPU0 X PIX SYS SYS\nGPU1 PIX X SYS SYS\nGPU2 SYS SYS X PIX\nGPU3 SYS SYS PIX X\n").node.wiring == pairs);
  // The upper half, or the lower one.
  CHECK(imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU1 X SYS SYS\nGPU2 X PIX\nGPU3 X\n").node.wiring == pairs);
  CHECK(imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X\nGPU1 PIX X\nGPU2 SYS SYS X\nGPU3 SYS SYS PIX X\n").node.wiring == pairs);
  CHECK(imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU1 - X SYS SYS\nGPU2 - - X PIX\nGPU3 - - - X\n").node.wiring == pairs);
  // A missing row, and one cut within a word.
  CHECK(imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU1 PIX X SYS SYS\nGPU2 SYS SYS X PIX\n").node.wiring == pairs);
  CHECK(imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU2 SYS SYS X PIX\nGPU3 SYS SYS PIX X\nGPU1 PIX X SYS SY").node.wiring == pairs);
  // Lines broken by a narrow terminal.
  CHECK(imported("GPU0 GPU1 GPU2\nGPU3\nGPU0 X PIX SYS\nSYS\nGPU1 PIX X SYS\nSYS\nGPU2 SYS SYS X\nPIX\nGPU3 SYS SYS PIX\nX\n").node.wiring == pairs);
  // The old name of SYS.
  CHECK(imported("GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SOC SOC\nGPU1 PIX X SOC SOC\nGPU2 SOC SOC X PIX\nGPU3 SOC SOC PIX X\n").node.wiring == pairs);
  // NV1 that is the beginning of NV12.
  const Cluster cut = imported("GPU0 GPU1 CPU Affinity\nGPU1 NV12 X 0-7\nGPU0 X NV12 0-7\n");
  CHECK(cut.node.wiring.links_per_pair == 12);
  CHECK(imported("GPU0 GPU1 GPU2\nGPU1 NV12 X NV12\nGPU2 NV12 NV12 X\nGPU0 X NV1").node.wiring.kind == WiringKind::nvswitch);
}

TEST_CASE("a matrix that cannot be read names the place", "[topology]") {
  CHECK(has(refused("GPU0 GPU1\nGPU0 X PIX\nGPU1 SYS X\n").text, "GPU0 and GPU1: PIX in one place, SYS in another"));
  CHECK(has(refused("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV2 X\n").text, "NV4 in one place, NV2 in another"));
  CHECK(has(refused("GPU0 GPU1 GPU2\nGPU0 X PIX PIX\n").text, "GPU1 and GPU2"));
  CHECK(has(refused("GPU0 GPU1\nGPU0 PIX X\nGPU1 PIX X\n").text, "X in the column of GPU1"));
  CHECK(has(refused("GPU0 GPU1 GPU0\nGPU0 X PIX X\n").text, "GPU0 heads two columns"));
  CHECK(has(refused("GPU0 GPU2\nGPU0 X PIX\nGPU2 PIX X\n").text, "no GPU1"));
  CHECK(has(refused("GPU0 GPU1\nGPU0 X FOO\nGPU1 FOO X\n").text, "FOO"));
  CHECK(has(refused("GPU0 GPU1\nGPU0 X FOO\nGPU1 FOO X\n").text, "column of GPU1"));
  CHECK(has(refused(kPair + replaced(kPair, "PHB", "SYS")).text, "PHB in one place, SYS in another"));
  CHECK(has(refused("GPU0 GPU1\nGPU0 X PIX\nGPU0 X SYS\nGPU1 PIX X\n").text, "GPU0 stands twice"));
}

TEST_CASE("what stands beside the matrix is used", "[topology]") {
  SECTION("names and PCIe by --query-gpu") {
    const Cluster c = imported(kPair + "index, name, pcie.link.gen.max, pcie.link.width.max, memory.total [MiB]\n0, NVIDIA A100-PCIE-40GB, 3, 8, 40960 MiB\n1, NVIDIA A100-PCIE-40GB, 3, 8, 40960 MiB\n");
    CHECK(c.node.gpu.id == "a100-40gb-pcie");
    CHECK(c.node.wiring.pcie_generation == 3);
    CHECK(c.node.wiring.pcie_lanes == 8);
    CHECK(assumption(c, "node.gpu").empty());
    CHECK(assumption(c, "node.wiring.pcie").empty());
  }
  SECTION("before it, without a header, by the command that made it") {
    const Cluster c = imported("$ nvidia-smi --query-gpu=name,pcie.link.gen.max,pcie.link.width.max --format=csv,noheader\nNVIDIA L4, 4, 16\nNVIDIA L4, 4, 16\n$ nvidia-smi topo -m\n" + kPair);
    CHECK(c.node.gpu.id == "l4-24gb");
    CHECK(assumption(c, "node.wiring.pcie").empty());
  }
  SECTION("slots that differ make a graph") {
    const Cluster c = imported(kPair + "name, pcie.link.gen.max, pcie.link.width.max\nNVIDIA GeForce RTX 3090, 3, 16\nNVIDIA GeForce RTX 3090, 3, 4\n");
    REQUIRE(c.node.wiring.kind == WiringKind::graph);
    CHECK(c.node.gpu.id == "rtx-3090-24gb");
    Node xml = imported(sample("rtx-3090-2x-x16x4.xml"), {"rtx-3090-24gb", ""}).node;
    Node matrix = c.node;
    matrix.cpu = xml.cpu;
    CHECK(graph_of_node(matrix) == graph_of_node(xml));
  }
  SECTION("a link that runs on fewer lanes than it could") {
    const Cluster c = imported(kPair + "name, pcie.link.gen.max, pcie.link.gen.current, pcie.link.width.max, pcie.link.width.current\nNVIDIA L4, 4, 1, 16, 8\nNVIDIA L4, 4, 1, 16, 8\n");
    CHECK(c.node.wiring.pcie_lanes == 8);
    CHECK(c.node.wiring.pcie_generation == 0);  // gen.current 1 is an idle GPU
    CHECK(has(assumption(c, "node.wiring.pcie"), "8 PCIe lanes now"));
  }
  SECTION("-L and the usual table") {
    CHECK(imported("GPU 0: NVIDIA H100 PCIe (UUID: GPU-1234)\nGPU 1: NVIDIA H100 PCIe (UUID: GPU-5678)\n" + kPair).node.gpu.id == "h100-80gb-pcie");
    const std::string table = "| NVIDIA-SMI 535.54.03   Driver Version: 535.54.03   CUDA Version: 12.2 |\n|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |\n| N/A   26C    P0    60W / 400W |      0MiB / 40536MiB |      0%      Default |\n"
                              "|   1  NVIDIA A100-SXM...  On   | 00000000:0F:00.0 Off |                    0 |\n| N/A   26C    P0    60W / 400W |      0MiB / 40536MiB |      0%      Default |\n";
    CHECK(imported(replaced(kPair, "PHB", "NV12") + table).node.gpu.id == "a100-40gb-sxm");
    CHECK(imported(replaced(kPair, "PHB", "NV12") + table).node.wiring.kind == WiringKind::nvswitch);
    CHECK(imported(kPair + replaced(table, "A100-SXM...", "A100-PCI...")).node.gpu.id == "a100-40gb-pcie");
  }
  SECTION("a GPU no preset knows, and GPUs of two kinds") {
    CHECK(has(assumption(imported("GPU 0: NVIDIA Quux 9000\nGPU 1: NVIDIA Quux 9000\n" + kPair), "node.gpu"), "no preset for \"NVIDIA Quux 9000\""));
    const Cluster mixed = imported("GPU 0: NVIDIA A100 80GB PCIe\nGPU 1: NVIDIA A30\n" + kPair);
    CHECK(mixed.node.gpu.id == "a30-24gb");
    CHECK(has(assumption(mixed, "node.gpu"), "different kinds"));
  }
}

TEST_CASE("names of the driver find their presets", "[topology]") {
  const auto gpu = [](const std::string& name) { return imported("GPU 0: " + name + " (UUID: GPU-1)\nGPU 1: " + name + " (UUID: GPU-2)\n" + kPair).node.gpu.id; };
  CHECK(gpu("NVIDIA A100-SXM4-80GB") == "a100-80gb-sxm");
  CHECK(gpu("A100-SXM4-40GB") == "a100-40gb-sxm");
  CHECK(gpu("NVIDIA A100 80GB PCIe") == "a100-80gb-pcie");
  CHECK(gpu("Tesla V100-SXM2-16GB") == "v100-16gb-sxm");
  CHECK(gpu("Tesla V100-SXM3-32GB") == "v100-32gb-sxm3");
  CHECK(gpu("Tesla V100-PCIE-32GB") == "v100-32gb-pcie");
  CHECK(gpu("Tesla P100-SXM2-16GB") == "p100-16gb-sxm");
  CHECK(gpu("Tesla T4") == "t4-16gb");
  CHECK(gpu("NVIDIA H100 80GB HBM3") == "h100-80gb-sxm");
  CHECK(gpu("NVIDIA H100 NVL") == "h100-94gb-nvl");
  CHECK(gpu("NVIDIA H200") == "h200-141gb-sxm");
  CHECK(gpu("NVIDIA H200 NVL") == "h200-141gb-nvl");
  CHECK(gpu("NVIDIA B200") == "b200-180gb-sxm");
  CHECK(gpu("NVIDIA GB200") == "gb200-186gb");
  CHECK(gpu("NVIDIA GH200 480GB") == "gh200-96gb");
  CHECK(gpu("NVIDIA L40") == "l40-48gb");
  CHECK(gpu("NVIDIA L40S") == "l40s-48gb");
  CHECK(gpu("NVIDIA A10G") == "a10g-24gb");
  CHECK(gpu("NVIDIA GeForce RTX 4090") == "rtx-4090-24gb");
  CHECK(gpu("NVIDIA GeForce RTX 4090 D") == "rtx-4090d-24gb");
  CHECK(gpu("GeForce RTX 2080 Ti") == "rtx-2080ti-11gb");
  CHECK(gpu("NVIDIA RTX A6000") == "rtx-a6000-48gb");
  CHECK(gpu("Quadro RTX 6000") == "quadro-rtx-6000-24gb");
  CHECK(gpu("NVIDIA RTX 6000 Ada Generation") == "rtx-6000-ada-48gb");
  CHECK(gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "rtx-pro-6000-server-96gb");
  CHECK(gpu("NVIDIA RTX PRO 6000 Blackwell Workstation Edition") == "rtx-pro-6000-ws-96gb");
  CHECK(gpu("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition") == "rtx-pro-6000-maxq-96gb");
}

TEST_CASE("peer access as topo -p2p says", "[topology]") {
  const auto p2p = [](const char* letter, const char* a, const char* b) {
    return std::string("$ nvidia-smi topo -p2p ") + letter + "\n \tGPU0\tGPU1\t\n GPU0\tX\t" + a + "\t\n GPU1\t" + b + "\tX\t\n\nLegend:\n  OK = Status Ok\n  CNS = Chipset not supported\n";
  };
  CHECK(imported(kPair + p2p("r", "OK", "OK")).node.p2p == 1);
  CHECK(assumption(imported(kPair + p2p("r", "OK", "OK")), "node.p2p").empty());
  for (const char* no : {"CNS", "GNS", "TNS", "NS", "DR", "U"}) CHECK(imported(p2p("w", no, no) + kPair).node.p2p == 0);
  CHECK(imported(kPair + p2p("r", "OK", "OK") + p2p("w", "CNS", "CNS")).node.p2p == 0);
  // n is about NVLink: it says nothing of a pair on PCIe.
  CHECK(imported(kPair + p2p("n", "NS", "NS")).node.p2p == -1);
  CHECK(imported(kPair + p2p("n", "NS", "NS") + p2p("r", "OK", "OK")).node.p2p == 1);
  const std::string three = "GPU0 GPU1 GPU2\nGPU0 X PHB PHB\nGPU1 PHB X PHB\nGPU2 PHB PHB X\n";
  CHECK(imported(three + "topo -p2p r\nGPU0 GPU1 GPU2\nGPU0 X OK CNS\nGPU1 OK X CNS\nGPU2 CNS CNS X\n").node.p2p_matrix == "010/100/000");
}

TEST_CASE("NVSwitch, bridge or board: counted by links", "[topology]") {
  const auto all_to_all = [](int gpus, const std::string& word) {
    std::string text;
    for (int i = 0; i < gpus; ++i) text += "GPU" + std::to_string(i) + " ";
    for (int i = 0; i < gpus; ++i) {
      text += "\nGPU" + std::to_string(i);
      for (int j = 0; j < gpus; ++j) text += i == j ? " X" : " " + word;
    }
    return text + "\n";
  };
  CHECK(imported(all_to_all(8, "NV12")).node.gpu.id == "a100-80gb-sxm");
  CHECK(imported(all_to_all(8, "NV12")).node.sockets == 2);  // and says so
  CHECK(has(assumption(imported(all_to_all(8, "NV12")), "node.sockets"), "no CPU affinity"));
  CHECK(imported(all_to_all(16, "NV6")).node.gpu.id == "v100-32gb-sxm3");
  CHECK(imported(all_to_all(16, "NV6")).node.wiring.kind == WiringKind::nvswitch);
  CHECK(imported(all_to_all(8, "NV8")).node.gpu.id == "a800-80gb-sxm");
  CHECK(imported(all_to_all(8, "NV8"), {"h800-80gb-sxm", ""}).node.wiring.kind == WiringKind::nvswitch);
  CHECK(imported(all_to_all(4, "NV4"), {"a100-80gb-sxm", ""}).node.wiring.kind == WiringKind::nvlink_mesh);
  CHECK(imported(all_to_all(4, "NV6"), {"h100-80gb-sxm", ""}).node.wiring.kind == WiringKind::nvlink_mesh);
  CHECK(imported(all_to_all(4, "NV12")).node.wiring.kind == WiringKind::nvswitch);
  CHECK(imported(all_to_all(2, "NV18")).node.wiring.kind == WiringKind::nvswitch);
  CHECK(imported(all_to_all(2, "NV4")).node.wiring.kind == WiringKind::nvlink_pairs);
  CHECK(imported(all_to_all(2, "NV12"), {"a100-80gb-sxm", ""}).node.wiring.kind == WiringKind::nvswitch);
  CHECK(imported(all_to_all(2, "NV12"), {"h100-80gb-pcie", ""}).node.wiring.kind == WiringKind::nvlink_pairs);
  // A switch that gives fewer links than the GPU has: drawn out, with the count.
  const Cluster fewer = imported(all_to_all(8, "NV16"), {"h100-80gb-sxm", ""});
  REQUIRE(fewer.node.wiring.kind == WiringKind::graph);
  CHECK(fewer.node.wiring.graph.links.back().width == 16);
  CHECK(imported("GPU0 CPU Affinity\nGPU0 X 0-7\n").node.gpus == 1);
}

TEST_CASE("hints are judged", "[topology]") {
  CHECK(has(refused(kPair, {"a100-80gb-sxn", ""}).text, "a100-80gb-sxm"));
  CHECK(refused(kPair, {"a100-80gb-sxn", ""}).path == "gpu");
  CHECK(refused(kPair, {"", "infiniband"}).path == "network");
  CHECK(has(refused(sample("topo-18.txt"), {"l40s-48gb", ""}).text, "L40S has none"));
  const Cluster c = imported(sample("topo-10.txt"), {"h200-141gb-sxm", "infiniband-8x400"});
  CHECK(c.node.gpu.id == "h200-141gb-sxm");
  REQUIRE(c.network);
  CHECK(c.network->shorthand == "infiniband-8x400");
  CHECK(has(assumption(c, "network.nics_per_node"), "shows one NIC"));
  CHECK(assumption(c, "network").empty());
}

// --- XML ------------------------------------------------------------------------------------------------------------------------------

TEST_CASE("XML: NUMA nodes, NICs and switches as NCCL draws them", "[topology]") {
  SECTION("four GPUs, each on a NUMA node, no speeds: PCIe 3") {
    const Cluster c = imported(sample("azure-ncv4-nolink.xml"), {"a100-80gb-pcie", ""});
    REQUIRE(c.node.wiring.kind == WiringKind::graph);
    PreparedCluster p;
    const LinkConstants k = links();
    p = prepare(c, k);
    CHECK(p.route(0, 1).kind == PathKind::sockets);
    CHECK(p.route(0, 1).rate == BytesPerSecond(12e9));
    CHECK(has(assumption(c, "node.wiring.pcie"), "PCIe 3"));
    REQUIRE(c.network);
    CHECK(c.network->fabric == Fabric::ethernet);
    CHECK(c.network->nic_rate == BytesPerSecond(12.5e9));
    CHECK_FALSE(c.network->gpudirect);
  }
  SECTION("NPS4: AMD's 16 GB/s between any two NUMA nodes") {
    const Cluster c = imported(sample("rtx-4090-8x-genoa-nps4.xml"), {"rtx-4090-24gb", ""});
    REQUIRE(c.node.wiring.kind == WiringKind::graph);
    Cluster peers = c;
    peers.node.p2p = 1;
    const LinkConstants k = links();
    const PreparedCluster p = prepare(peers, k);
    CHECK(p.route(0, 7).kind == PathKind::sockets);
    CHECK(p.route(0, 1).rate == BytesPerSecond(16e9));
  }
  SECTION("Broadcom switches of two levels are one; the slow uplink of the file stays") {
    const Cluster c = imported(sample("oci-h100.xml"));
    REQUIRE(c.node.wiring.kind == WiringKind::graph);
    const auto& parts = c.node.wiring.graph.components;
    CHECK(std::count_if(parts.begin(), parts.end(), [](const Component& x) { return x.kind == ComponentKind::pcie_switch; }) == 8);
    CHECK(std::count_if(parts.begin(), parts.end(), [](const Component& x) { return x.kind == ComponentKind::nic; }) == 16);
    CHECK(c.node.wiring.graph.links.front().generation == 2);
    CHECK(c.node.cpu.nccl_class == "srp");
  }
}

namespace {

std::string system_of(const std::string& inside) { return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\">" + inside + "</cpu></system>"; }
std::string gpu_of(const std::string& bus, const std::string& inside = "") { return "<pci busid=\"" + bus + "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" + inside + "</pci>"; }

}  // namespace

TEST_CASE("XML: a vendor's file leaves out what the driver knows", "[topology]") {
  std::string eight;
  for (int i = 7; i >= 0; --i) eight += gpu_of("000" + std::to_string(i) + ":00:00.0");
  const Cluster c = imported("# from a page\n" + system_of(eight) + "\nthe end");
  CHECK(c.node.gpu.id == "a100-80gb-sxm");
  CHECK(c.node.wiring.kind == WiringKind::nvswitch);
  CHECK(has(assumption(c, "node.gpu"), "nothing in it tells"));
  CHECK(has(assumption(c, "node.gpus"), "bus ids"));
  CHECK(has(assumption(c, "node.wiring.kind"), "leaves NVLinks to the driver"));
  CHECK(imported(system_of(eight), {"l40s-48gb", ""}).node.wiring.kind == WiringKind::pcie_host);
  CHECK(imported(system_of(eight), {"v100-32gb-sxm", ""}).node.wiring.kind == WiringKind::pcie_host);
  CHECK(has(assumption(imported(system_of(eight), {"v100-32gb-sxm", ""}), "node.wiring.kind"), "none is drawn"));
}

TEST_CASE("XML: names and peer access may stand beside it", "[topology]") {
  const std::string p2p = "\nnvidia-smi topo -p2p r\n GPU0 GPU1\nGPU0 X CNS\nGPU1 CNS X\n";
  const Cluster c = imported("GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\n" + sample("rtx-3090-2x-x16x4.xml") + p2p);
  CHECK(c.node.gpu.id == "rtx-3090-24gb");
  CHECK(c.node.p2p == 0);
  CHECK(assumption(c, "node.gpu").empty());
}

TEST_CASE("XML: what it says of links is checked", "[topology]") {
  const auto linked = [](int there, int back) {
    return system_of(gpu_of("0000:01:00.0", "<gpu dev=\"0\" sm=\"80\"><nvlink target=\"0000:02:00.0\" count=\"" + std::to_string(there) + "\" tclass=\"0x030200\"/></gpu>") +
                     gpu_of("0000:02:00.0", "<gpu dev=\"1\" sm=\"80\"><nvlink target=\"0000:01:00.0\" count=\"" + std::to_string(back) + "\" tclass=\"0x030200\"/></gpu>"));
  };
  CHECK(imported(linked(12, 12)).node.wiring.links_per_pair == 12);
  CHECK(has(refused(linked(12, 4)).text, "GPU 0 and GPU 1: 12 NVLinks at one end, 4 at the other"));
  CHECK(has(refused(system_of(gpu_of("0000:01:00.0") + gpu_of("0000:01:00.0"))).text, "bus id 0000:01:00.0"));
  CHECK(has(refused(system_of("")).text, "no GPU"));
  CHECK(has(refused(system_of(gpu_of("x"))).text, "no bus id"));
  CHECK(has(refused(system_of(gpu_of("0000:01:00.0", "<gpu dev=\"0\" gcn=\"gfx942\"/>"))).text, "AMD"));
  CHECK(has(refused("<system><cpu host_hash=\"0x1\">" + gpu_of("0000:01:00.0") + "</cpu><cpu host_hash=\"0x2\">" + gpu_of("0000:02:00.0") + "</cpu></system>").text, "several hosts"));
  CHECK(has(refused("<graphs version=\"1\"><graph id=\"0\"/></graphs>").text, "graph file"));
  CHECK(has(refused(system_of(gpu_of("0000:01:00.0")).substr(0, 200)).text, "line 1"));
}

TEST_CASE("XML: switches joined to each other, and NICs of different speeds", "[topology]") {
  const std::string nic = "<pci busid=\"0000:0a:00.0\" class=\"0x020000\" link_speed=\"16.0 GT/s PCIe\" link_width=\"8\"><nic><net name=\"mlx5_0\" speed=\"100000\" gdr=\"1\"/><net name=\"mlx5_1\" speed=\"25000\" gdr=\"1\"/></nic></pci>";
  const Cluster c = imported(system_of("<pci busid=\"0000:10:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><pcilink target=\"0000:20:00.0\"/>" + gpu_of("0000:11:00.0", "<gpu dev=\"0\" sm=\"89\"/>") + nic +
                                       "</pci><pci busid=\"0000:20:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" + gpu_of("0000:21:00.0", "<gpu dev=\"1\" sm=\"89\"/>") + "</pci><pci busid=\"0000:30:00.0\" class=\"0x060400\"><pci busid=\"0000:31:00.0\" class=\"0x010802\"/></pci>"));
  REQUIRE(c.node.wiring.kind == WiringKind::graph);
  const LinkConstants k = links();
  CHECK(prepare(c, k).route(0, 1).kind == PathKind::pcie_switch);
  const auto& parts = c.node.wiring.graph.components;
  CHECK(std::count_if(parts.begin(), parts.end(), [](const Component& x) { return x.kind == ComponentKind::pcie_switch; }) == 2);  // none for the disk
  CHECK(c.network->nic_rate == BytesPerSecond(12.5e9));
  CHECK(has(assumption(c, "network.nic_bytes_per_s"), "differ"));
}

// --- what is something else ---------------------------------------------------------------------------------------------------------

TEST_CASE("texts that are something else are named", "[topology]") {
  CHECK(has(refused("").text, "empty"));
  CHECK(has(refused(" \n\t\n").text, "empty"));
  CHECK(has(refused("hello").text, "no topology"));
  CHECK(has(refused("{\"schema\":\"wireplan.cluster/1\"}").text, "JSON"));
  CHECK(has(refused("<html><body>hi</body></html>").text, "<system>"));
  CHECK(has(refused("============================ ROCm System Management Interface ============================\n================================ Link Type between two GPUs ===============================\n       GPU0         GPU1\nGPU0   0            XGMI\nGPU1   XGMI         0\n").text, "AMD"));
  CHECK(has(refused("mthreads-gmi topo -m\n      GPU0  GPU1\nGPU0  X  SPB\nGPU1  SPB  X\n").text, "Moore Threads"));
  CHECK(has(refused("       NPU0  NPU1\nNPU0   X   HCCS\nNPU1   HCCS X\n").text, "Ascend"));
  CHECK(has(refused("host:1:1 [0] NCCL INFO Channel 00/02 : 0 1\nhost:1:1 [0] NCCL INFO Ring 00\n").text, "wireplan import"));
  CHECK(has(refused("# nThread 1 nGpus 8 minBytes 8 maxBytes 1073741824\n#  size count type redop time algbw busbw #wrong\n").text, "nccl-tests"));
  CHECK(has(refused("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\nGPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)\n").text, "names GPUs (2)"));
  CHECK(has(refused("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 1g.5gb      Device  0: (UUID: MIG-c6d4f1ef)\n" + kPair).text, "MIG"));
  CHECK(has(refused(kPair + "\nname\nNVIDIA A100-SXM4-40GB MIG 3g.20gb\n").text, "MIG"));
}

TEST_CASE("hostile texts end in an error, soon", "[topology]") {
  CHECK(has(refused(std::string("GPU0\0GPU1", 9)).text, "binary"));
  CHECK(has(refused(std::string(5'000'000, 'a')).text, "4 MB"));
  CHECK_FALSE(refused(std::string(1'000'000, '\x1b')).text.empty());
  CHECK_FALSE(refused("\xff\xfe\xfd GPU0 \x80").text.empty());

  std::string head, body;
  for (int i = 0; i < 1000; ++i) head += "\tGPU" + std::to_string(i);
  for (int i = 0; i < 1000; ++i) {
    body += "\nGPU" + std::to_string(i);
    for (int j = 0; j < 600; ++j) body += i == j ? " X" : " SYS";
  }
  CHECK(has(refused(head + body).text, "128 GPUs"));
  CHECK(has(refused(body).text, "128 GPUs"));
  std::string many = system_of("");
  std::string gpus;
  for (int i = 0; i < 1000; ++i) gpus += gpu_of("0000:" + std::to_string(1000 + i) + ":00.0");
  CHECK(has(refused(system_of(gpus)).text, "128 GPUs"));
  CHECK_FALSE(refused("GPU0 GPU99999999\nGPU0 X PIX\nGPU99999999 PIX X\n").text.empty());

  // 128 GPUs and 256 NICs are read.
  std::string most;
  for (int i = 0; i < 128; ++i) most += " GPU" + std::to_string(i);
  for (int i = 0; i < 256; ++i) most += " NIC" + std::to_string(i);
  for (int i = 0; i < 128; ++i) {
    most += "\nGPU" + std::to_string(i);
    for (int j = 0; j < 128; ++j) most += i == j ? " X" : j / 4 == i / 4 ? " PIX" : " SYS";
    for (int j = 0; j < 256; ++j) most += j / 8 == i / 4 ? " PXB" : " SYS";
  }
  CHECK(imported(most).node.gpus == 128);
}

// --- requests, text -------------------------------------------------------------------------------------------------------------------

TEST_CASE("the request import_topology", "[topology][request]") {
  const Result<Json> document = answer("import_topology", Json{{"text", sample("topo-02.txt")}, {"gpu", "rtx-pro-6000-server-96gb"}, {"network", nullptr}}, presets());
  REQUIRE(document);
  CHECK(document.value().begin().key() == "schema");
  CHECK(document.value().at("schema") == "wireplan.cluster/1");
  CHECK(document.value().at("assumed").is_array());
  CHECK(document.value().at("node").at("gpu") == "rtx-pro-6000-server-96gb");
  const auto path = [](const Json& request) { return answer("import_topology", request, presets()).errors()[0].path; };
  CHECK(path(Json::object()) == "text");
  CHECK(path(Json{{"text", 7}}) == "text");
  CHECK(path(Json{{"text", "x"}, {"gpus", 7}}) == "gpus");
  CHECK(path(Json{{"text", kPair}, {"gpu", 7}}) == "gpu");
}

TEST_CASE("an imported machine as text", "[topology]") {
  const std::string text = render_imported(imported(sample("topo-18.txt"), {"", "roce-2x100"}), links(), RenderFormat::text);
  CHECK(has(text, "8 × A100 PCIe 80 GB, wiring nvlink-pairs, 2 × 100 Gbit/s RoCE"));
  CHECK(has(text, "NVLink ×12  gpu–gpu"));
  CHECK(has(text, "Assumed"));
  const std::string csv = render_imported(imported(sample("topo-13.txt")), links(), RenderFormat::csv);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 15);
}
