// What NCCL reads of a cluster document, against topology dumps and data sheets of the same machines.
#include "core/cost/nccl/machine_of_cluster.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "core/text/import_topology.hpp"
#include "core/text/nccl_machine.hpp"
#include "core/text/read_cluster.hpp"
#include "tests/support/files.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using nccl::ClusterMachine;
using nccl::CpuClass;
using nccl::Machine;
using nccl::PartKind;

namespace {

Cluster cluster_of(const std::string& json) {
  const Result<Json> document = parse_json(json);
  REQUIRE(document);
  const Result<Cluster> cluster = read_cluster(document.value(), presets(), "cluster");
  if (!cluster) FAIL(cluster.errors()[0].path + ": " + cluster.errors()[0].text);
  return cluster.value();
}

Result<ClusterMachine> result_of(const Cluster& cluster) {
  std::optional<Network> usual;
  if (const Result<Network> network = parse_network(cluster.node.usual_network, presets(), "network"); network) usual = network.value();
  return nccl::machine_of(cluster, usual, constants().links);
}
ClusterMachine made(const Cluster& cluster) {
  const Result<ClusterMachine> machine = result_of(cluster);
  if (!machine) FAIL(machine.errors()[0].path + ": " + machine.errors()[0].text);
  return machine.value();
}
ClusterMachine made(const std::string& json) { return made(cluster_of(json)); }
Error refused(const std::string& json) {
  const Result<ClusterMachine> machine = result_of(cluster_of(json));
  REQUIRE_FALSE(machine);
  return machine.errors().front();
}

const Machine::Part& gpu(const Machine& m, int dev) { return m.parts[static_cast<std::size_t>(m.gpus[static_cast<std::size_t>(dev)])]; }
const Machine::Part& part(const Machine& m, int index) { return m.parts[static_cast<std::size_t>(index)]; }
int count(const Machine& m, PartKind kind) {
  return static_cast<int>(std::count_if(m.parts.begin(), m.parts.end(), [&](const Machine::Part& p) { return p.kind == kind; }));
}
int numa_of(const Machine& m, const Machine::Part& p) { return m.cpus[static_cast<std::size_t>(p.cpu)].numa; }

// A graph of one CPU with `more` components and links beside two GPUs on ports of their own.
std::string two_gpus(const std::string& gpu, const std::string& components = "", const std::string& links = "", const std::string& rest = "") {
  return R"({"schema": "wireplan.cluster/1", "nodes": 1, "node": {"gpu": ")" + gpu + R"(", "gpus": 2, "wiring": {"kind": "graph", "components": [
    {"id": "cpu0", "kind": "cpu", "numa": 0}, {"id": "gpu0", "kind": "gpu"}, {"id": "gpu1", "kind": "gpu"})" + components + R"(], "links": [
    {"a": "gpu0", "b": "cpu0", "kind": "pcie", "generation": 3, "lanes": 16}, {"a": "gpu1", "b": "cpu0", "kind": "pcie", "generation": 3, "lanes": 4})" +
         links + R"(]}, "cpu": {"arch": "x86_64", "vendor": "intel", "nccl_class": "bdw"})" + rest + "}}";
}

}  // namespace

TEST_CASE("NCCL's machine of a DGX H100: switches with a GPU and a NIC each, NVLinks to the NVSwitch", "[nccl]") {
  const ClusterMachine c = made(R"({"nodes": 2, "node": "hgx-h100-80gb", "network": "infiniband-8x400"})");
  const Machine& m = c.machine;
  REQUIRE(m.cpus.size() == 2);
  CHECK(m.cpus[1].type == CpuClass::srp);
  CHECK(count(m, PartKind::pcie_switch) == 8);
  REQUIRE(m.gpus.size() == 8);
  REQUIRE(m.nets.size() == 8);
  for (int i = 0; i < 8; ++i) {
    const Machine::Part& g = gpu(m, i);
    CHECK(g.compute_capability == 90);
    CHECK(g.rate == 48);
    CHECK(numa_of(m, g) == i / 4);
    REQUIRE(g.nvlinks.size() == 1);
    CHECK(g.nvlinks[0].to == Machine::NvLink::To::nvswitch);
    CHECK(g.nvlinks[0].count == 18);
    const Machine::Net& net = m.nets[static_cast<std::size_t>(i)];
    CHECK(net.dev == i);
    CHECK(net.rate == 50);
    CHECK(net.gpudirect);
    CHECK(part(m, net.nic).above == g.above);
    CHECK(part(m, g.above).rate == 48);
  }
  CHECK(c.request.gpus == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(c.request.hosts == 2);
  CHECK(c.request.gpudirect);
  CHECK(c.request.p2p.empty());
  CHECK(c.assumed.empty());
}

TEST_CASE("NCCL's machine without a network has the NICs such nodes come with", "[nccl]") {
  const ClusterMachine c = made(R"("dgx1-v100-32gb")");
  REQUIRE(c.machine.nets.size() == 4);
  for (const Machine::Net& net : c.machine.nets) CHECK(net.rate == 12.5F);
  // The mesh, as nvidia-smi prints it: one link to GPUs 1 and 2, two to GPUs 3 and 4.
  const Machine::Part& g = gpu(c.machine, 0);
  CHECK(g.rate == 12);
  std::vector<std::pair<int, int>> links;
  for (const Machine::NvLink& link : g.nvlinks) links.emplace_back(part(c.machine, link.gpu).dev, link.count);
  CHECK(links == std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {3, 2}, {4, 2}});
}

TEST_CASE("NCCL's CPUs are NUMA nodes, not sockets", "[nccl]") {
  // Two EPYC sockets, four NUMA nodes each; the GPUs hang on four of the eight.
  const ClusterMachine dgx = made(R"("dgx-a100-80gb")");
  std::vector<int> numbers;
  for (const Machine::Cpu& cpu : dgx.machine.cpus) {
    CHECK(cpu.type == CpuClass::amd);
    numbers.push_back(cpu.numa);
  }
  CHECK(numbers == std::vector<int>{3, 1, 7, 5});
  CHECK(numa_of(dgx.machine, gpu(dgx.machine, 0)) == 3);
  // Azure's file goes by NUMA node and numbers GPUs and NICs by bus: the first part NCCL meets is GPU 2.
  const ClusterMachine azure = made(R"("azure-nd96asr-v4")");
  CHECK(azure.machine.cpus.front().numa == 0);
  CHECK(part(azure.machine, 1).dev == 2);
  REQUIRE(azure.machine.nets.size() == 8);
  std::vector<int> devs;
  for (const Machine::Net& net : azure.machine.nets) devs.push_back(net.dev);
  CHECK(devs == std::vector<int>{2, 3, 0, 1, 6, 7, 4, 5});
}

TEST_CASE("A document made of a topology file gives NCCL the file's machine", "[nccl]") {
  const auto name = GENERATE("azure-ndv4.xml", "dgx1-v100.xml", "gb200-tray.xml", "oci-h100.xml", "rtx-4090-8x-genoa-nps4.xml", "rtxpro6000-cascade.xml");
  const std::string text = file_text(std::string("tests/data/topologies/") + name);
  const Result<Cluster> cluster = import_topology(text, {}, presets());
  REQUIRE(cluster);
  const Result<XmlDocument> xml = parse_xml(text);
  REQUIRE(xml);
  const Result<NcclMachine> file = nccl_machine_of(xml.value());
  REQUIRE(file);
  INFO(name);
  const Machine is = made(cluster.value()).machine, should = file.value().machine;
  REQUIRE(is.gpus.size() == should.gpus.size());
  REQUIRE(is.cpus.size() == should.cpus.size());
  for (std::size_t i = 0; i < is.cpus.size(); ++i) {
    CHECK(is.cpus[i].numa == should.cpus[i].numa);
    CHECK(is.cpus[i].type == should.cpus[i].type);
  }
  for (int dev = 0; dev < static_cast<int>(is.gpus.size()); ++dev) {
    const Machine::Part &a = gpu(is, dev), &b = gpu(should, dev);
    CHECK(a.cpu == b.cpu);
    CHECK(a.rate == b.rate);
    CHECK(a.compute_capability == b.compute_capability);
    CHECK(a.c2c == b.c2c);
    int links = 0, stated = 0;
    for (const Machine::NvLink& link : a.nvlinks) links += link.count;
    for (const Machine::NvLink& link : b.nvlinks) stated += link.count;
    CHECK(links == stated);
  }
  CHECK(is.nets.size() == should.nets.size());
}

TEST_CASE("Grace's GPUs have C2C beside PCIe, and a rack is its trays", "[nccl]") {
  const ClusterMachine tray = made(R"("gb200-tray")");
  REQUIRE(tray.machine.gpus.size() == 4);
  CHECK(gpu(tray.machine, 0).c2c == 223.56F);
  CHECK(gpu(tray.machine, 0).rate == 48);
  CHECK(gpu(tray.machine, 0).compute_capability == 100);
  CHECK(tray.machine.cpus[0].type == CpuClass::arm);

  const ClusterMachine rack = made(R"({"nodes": 2, "node": "gb200-nvl72", "network": "infiniband-72x400"})");
  CHECK(rack.machine.gpus.size() == 4);
  CHECK(rack.machine.nets.size() == 4);
  CHECK(rack.request.gpus == std::vector<int>{0, 1, 2, 3});
  CHECK(rack.request.hosts == 36);
  CHECK(rack.request.rack_hosts == 18);
  const ClusterMachine part_of_rack = made(R"({"node": "gb200-nvl72", "gpus": [6, 7, 10, 11]})");
  CHECK(part_of_rack.request.gpus == std::vector<int>{2, 3});
  CHECK(part_of_rack.request.hosts == 2);
  CHECK(part_of_rack.request.rack_hosts == 2);
  CHECK(refused(R"({"node": "gb200-nvl72", "gpus_per_node": 6})").path == "cluster.gpus_per_node");
}

TEST_CASE("NCCL is worked out for NVIDIA's GPUs alone", "[nccl]") {
  const Error amd = refused(R"("mi300x-8x")");
  CHECK(amd.path == "cluster.node.gpu.architecture");
  CHECK(amd.value == R"("CDNA3")");
  CHECK(amd.text.find("NVIDIA") != std::string::npos);
  CHECK(refused(R"({"node": {"gpu": {"memory_bytes": 8e10, "hbm_bytes_per_s": 2e12}, "gpus": 1}})").path == "cluster.node.gpu.architecture");
}

TEST_CASE("Every shipped node of NVIDIA GPUs is a machine to NCCL, every other one an error", "[nccl]") {
  for (const std::string_view id : presets().ids("nodes")) {
    INFO(id);
    const Cluster cluster = cluster_of('"' + std::string(id) + '"');
    const Result<ClusterMachine> result = result_of(cluster);
    const bool is_amd = cluster.node.gpu.name.find("MI") != std::string::npos;
    REQUIRE(static_cast<bool>(result) == !is_amd);
    if (is_amd) continue;
    const ClusterMachine& c = result.value();
    CHECK(c.request.gpus.size() * static_cast<std::size_t>(c.request.hosts) == static_cast<std::size_t>(cluster.node.gpus));
    for (const Machine::Part& p : c.machine.parts) {
      CHECK(p.rate > 0);
      CHECK(p.cpu < static_cast<int>(c.machine.cpus.size()));
    }
    for (const Machine::Net& net : c.machine.nets) CHECK(net.rate > 0);
  }
}

TEST_CASE("Compute capabilities of parts that share an architecture", "[nccl]") {
  const auto of = [](const char* id) { return nccl::compute_capability(presets().gpu(id).value()); };
  CHECK(of("p100-16gb-pcie") == 60);
  CHECK(of("p40-24gb") == 61);
  CHECK(of("a30-24gb") == 80);
  CHECK(of("a800-80gb-pcie") == 80);
  CHECK(of("a10g-24gb") == 86);
  CHECK(of("rtx-3090-24gb") == 86);
  CHECK(of("a40-48gb") == 86);
  CHECK(of("b200-180gb-sxm") == 100);
  CHECK(of("gb300-288gb") == 103);
  CHECK(of("rtx-5090-32gb") == 120);
  CHECK(of("rtx-pro-6000-server-96gb") == 120);
}

TEST_CASE("Peer access: consumer cards have none but over NVLink, and a matrix is the driver's word", "[nccl]") {
  using Matrix = std::vector<std::vector<bool>>;
  const Matrix none = {{true, false}, {false, true}};
  CHECK(made(two_gpus("rtx-4090-24gb")).request.p2p == none);
  CHECK(made(two_gpus("rtx-4090-24gb", "", "", R"(, "p2p": true)")).request.p2p.empty());
  const std::string bridge = R"(, {"a": "gpu0", "b": "gpu1", "kind": "nvlink", "count": 4})";
  CHECK(made(two_gpus("rtx-3090-24gb", "", bridge)).request.p2p.empty());
  CHECK(made(two_gpus("rtx-a6000-48gb")).request.p2p.empty());
  CHECK(made(two_gpus("rtx-a6000-48gb", "", bridge, R"(, "p2p": "10/01")")).request.p2p == none);
}

TEST_CASE("A drawn graph: lanes, roots, switches in a row, NICs with rates of their own", "[nccl]") {
  const ClusterMachine c = made(two_gpus("v100-32gb-pcie",
      R"(, {"id": "root0", "kind": "root"}, {"id": "top", "kind": "pcie-switch"}, {"id": "low", "kind": "pcie-switch"}, {"id": "fast", "kind": "nic", "bytes_per_s": 25e9},
         {"id": "slow", "kind": "nic", "gpudirect": false}, {"id": "disk", "kind": "nvme"})",
      R"(, {"a": "root0", "b": "cpu0", "kind": "pcie", "lanes": 16}, {"a": "top", "b": "root0", "kind": "pcie", "generation": 4, "lanes": 16}, {"a": "low", "b": "top", "kind": "pcie", "generation": 4, "lanes": 8},
         {"a": "fast", "b": "low", "kind": "pcie", "generation": 4, "lanes": 16}, {"a": "slow", "b": "cpu0", "kind": "pcie", "generation": 3, "lanes": 8}, {"a": "disk", "b": "low", "kind": "pcie", "lanes": 4})"));
  const Machine& m = c.machine;
  CHECK(m.cpus.size() == 1);
  CHECK(gpu(m, 0).rate == 12);
  CHECK(gpu(m, 1).rate == 3);
  CHECK(gpu(m, 0).above == -1);
  REQUIRE(m.nets.size() == 2);
  const auto net = [&](int dev) { return *std::find_if(m.nets.begin(), m.nets.end(), [&](const Machine::Net& n) { return n.dev == dev; }); };
  const Machine::Part& low = part(m, part(m, net(0).nic).above);
  CHECK(net(0).rate == 25);
  CHECK(net(0).gpudirect);
  CHECK(low.rate == 12);
  CHECK(part(m, low.above).rate == 24);
  CHECK(part(m, low.above).above == -1);  // the root is the CPU's
  CHECK_FALSE(net(1).gpudirect);
  CHECK(net(1).rate == 6.25F);  // a slot of 6 GB/s takes a card of 50 Gbit/s
  CHECK(c.assumed.size() == 1);
  CHECK(count(m, PartKind::nic) == 2);
}

TEST_CASE("A drawn graph without NICs has those of the cluster's network, and no host has hundreds", "[nccl]") {
  Cluster c = cluster_of(two_gpus("a40-48gb"));
  c.nodes = 2;
  c.network = parse_network("ethernet-2x25", presets(), "network").value();
  const ClusterMachine m = made(c);
  REQUIRE(m.machine.nets.size() == 2);
  CHECK(m.machine.nets[1].rate == 3.125F);
  CHECK_FALSE(m.machine.nets[0].gpudirect);
  CHECK_FALSE(m.request.gpudirect);
  CHECK(m.assumed.size() == 1);
  c.network->nics_per_node = nccl::kMostNics;
  CHECK(made(c).machine.nets.size() == 128);
  c.network->nics_per_node = nccl::kMostNics + 1;  // a file says the same
  REQUIRE_FALSE(result_of(c));
  CHECK(result_of(c).errors()[0].path == "cluster.network.nics_per_node");
  CHECK(result_of(c).errors()[0].limit == "at most 128 NICs");
}

TEST_CASE("A graph of NVLinks alone, and one with a ring of switches, still make a machine that NCCL can decide on", "[nccl]") {
  Cluster c = cluster_of(R"({"node": {"gpu": "a100-80gb-sxm", "gpus": 2, "wiring": {"kind": "graph",
    "components": [{"id": "gpu0", "kind": "gpu"}, {"id": "gpu1", "kind": "gpu"}, {"id": "nvs", "kind": "nvswitch"}, {"id": "nic0", "kind": "nic"}],
    "links": [{"a": "gpu0", "b": "nvs", "kind": "nvlink", "count": 12}, {"a": "gpu1", "b": "nvs", "kind": "nvlink", "count": 12},
              {"a": "gpu0", "b": "nic0", "kind": "ib", "bytes_per_s": 25e9}]}}})");
  c.nodes = 2;
  c.network = parse_network("infiniband-1x200", presets(), "network").value();
  const ClusterMachine bare = made(c);
  CHECK(bare.machine.cpus.size() == 1);
  CHECK(bare.machine.nets.size() == 1);
  const nccl::Release release = presets().nccl_release("2.28.9").value();
  CHECK(nccl::decide(bare.machine, bare.request, release).nccl_nodes() == 2);

  const ClusterMachine ring = made(two_gpus("v100-32gb-pcie", R"(, {"id": "a", "kind": "pcie-switch"}, {"id": "b", "kind": "pcie-switch"}, {"id": "c", "kind": "pcie-switch"})",
      R"(, {"a": "a", "b": "cpu0", "kind": "pcie", "lanes": 16}, {"a": "b", "b": "a", "kind": "pcie", "lanes": 16}, {"a": "c", "b": "b", "kind": "pcie", "lanes": 16},
         {"a": "a", "b": "c", "kind": "pcie", "lanes": 16})"));
  CHECK(count(ring.machine, PartKind::pcie_switch) == 3);
  CHECK(nccl::decide(ring.machine, ring.request, release).nccl_nodes() == 1);
}
