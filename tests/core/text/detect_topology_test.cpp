// A machine's facts as a cluster: what is said stays, what is not said is assumed in words. tests/program/test_detect.py has whole machines.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "core/text/detect_topology.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/topology_xml.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

PciFacts pci(std::string address, std::string above, std::string kind, int generation = 4, int width = 16, int numa = 0) {
  constexpr const char* kSpeeds[] = {"Unknown", "2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"};
  PciFacts p;
  p.address = std::move(address);
  p.above = std::move(above);
  p.kind = std::move(kind);
  p.vendor = "0x10de";
  p.max_speed = kSpeeds[generation];
  p.max_width = p.width = width;
  p.numa = numa;
  return p;
}

DriverGpuFacts gpu(int index, std::string address, std::string name = "NVIDIA A100-SXM4-80GB") {
  DriverGpuFacts g;
  g.index = index;
  g.address = std::move(address);
  g.name = std::move(name);
  g.memory_bytes = 80.0 * 1024 * 1024 * 1024;
  g.says_nvlinks = true;
  return g;
}

void join(DriverGpuFacts& g, int links, NvlinkFacts::End end, const std::string& remote = "") {
  for (int i = 0; i < links; ++i) g.nvlinks.push_back({i, true, true, 3, end, remote});
}

// Two GPUs of a switch, one on a root port of its own.
MachineFacts three() {
  MachineFacts f;
  f.numa = {{0, "0-7", 0}};
  f.pci = {pci("0000:00:01.0", "", "0x060400"),
           pci("0000:01:00.0", "0000:00:01.0", "0x060400"),
           pci("0000:02:00.0", "0000:01:00.0", "0x060400"),
           pci("0000:03:00.0", "0000:02:00.0", "0x030200"),
           pci("0000:02:01.0", "0000:01:00.0", "0x060400", 3, 8),
           pci("0000:04:00.0", "0000:02:01.0", "0x030200"),
           pci("0000:00:02.0", "", "0x060400"),
           pci("0000:05:00.0", "0000:00:02.0", "0x030200")};
  f.gpus = {gpu(0, "00000000:03:00.0"), gpu(1, "00000000:04:00.0"), gpu(2, "00000000:05:00.0")};
  return f;
}

TopologyDraft drawn(const MachineFacts& facts) {
  std::vector<Assumption> notes;
  const Result<TopologyDraft> draft = draft_of(nccl_document(facts, notes));
  REQUIRE(draft);
  return draft.value();
}

Cluster detected(const MachineFacts& facts, const TopologyHints& hints = {}) {
  Result<Cluster> cluster = detected_cluster(facts, nullptr, hints, presets());
  if (!cluster) FAIL(cluster.errors()[0].text);
  REQUIRE(validate(cluster.value(), "cluster").empty());
  const Result<Cluster> again = read_cluster(write_cluster(cluster.value()), presets(), "cluster");
  REQUIRE(again);
  CHECK(again.value() == cluster.value());
  return std::move(cluster.value());
}

bool says(const Cluster& c, std::string_view words) {
  for (const Assumption& a : c.assumed)
    if (a.why.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a machine without GPUs says what is missing", "[detect]") {
  MachineFacts f;
  f.library_fault = "libnvidia-ml.so.1: no such file";
  CHECK(why_no_gpus(f) == "no NVIDIA driver here (libnvidia-ml.so.1: no such file), and /sys/bus/pci/devices lists no GPU of NVIDIA or AMD");
  f.pci = {pci("0000:05:00.0", "", "0x030000")};
  CHECK(why_no_gpus(f).empty());
  f.pci[0].vendor = "0x1002";  // graphics of AMD's CPUs
  CHECK_FALSE(why_no_gpus(f).empty());
  f.pci[0].kind = "0x038000";
  CHECK(why_no_gpus(f).empty());
  CHECK(why_no_gpus(three()).empty());
}

TEST_CASE("bridges count two by two, and a link is what both its ends can", "[detect]") {
  const TopologyDraft d = drawn(three());
  REQUIRE(d.gpus.size() == 3);
  REQUIRE(d.switches.size() == 1);  // the upstream port; root ports and the switch's own ports are none
  CHECK(d.gpus[0].above == 0);
  CHECK(d.gpus[1].above == 0);
  CHECK(d.gpus[2].above == -1);
  CHECK(d.gpus[0].slot == TopologyDraft::Slot{4, 16});
  CHECK(d.gpus[1].slot == TopologyDraft::Slot{3, 8});
  CHECK(d.gpus[1].bus == 0x4000);

  MachineFacts narrow = three();
  narrow.pci[7].width = 4;
  CHECK(drawn(narrow).gpus[2].slot == TopologyDraft::Slot{4, 4});
  narrow.pci[7].width = 255;  // unknown, as sysfs writes it
  CHECK(drawn(narrow).gpus[2].slot == TopologyDraft::Slot{4, 16});

  // The order in which devices were read decides nothing.
  MachineFacts turned = three();
  std::reverse(turned.pci.begin(), turned.pci.end());
  std::swap(turned.pci[2], turned.pci[5]);
  const TopologyDraft t = drawn(turned);
  for (std::size_t i = 0; i < 3; ++i) CHECK((t.gpus[i].bus == d.gpus[i].bus && t.gpus[i].above == d.gpus[i].above && t.gpus[i].slot == d.gpus[i].slot));
}

TEST_CASE("a bridge that hangs below itself ends at the CPU", "[detect]") {
  MachineFacts f = three();
  f.pci[0].above = "0000:01:00.0";
  CHECK(drawn(f).gpus.size() == 3);
  f.pci[0].above = "0000:00:01.0";
  CHECK(drawn(f).gpus.size() == 3);
  f.pci[7].above = "0000:05:00.0";
  CHECK(drawn(f).gpus.size() == 3);
}

TEST_CASE("NVLinks go where the driver says, and count as the end with fewer says", "[detect]") {
  MachineFacts f = three();
  join(f.gpus[0], 4, NvlinkFacts::End::gpu, "00000000:04:00.0");
  join(f.gpus[1], 3, NvlinkFacts::End::unknown, "00000000:03:00.0");
  join(f.gpus[2], 2, NvlinkFacts::End::cpu);
  CHECK(drawn(f).nvlinks == std::vector<std::array<int, 3>>{{0, 1, 3}});
  CHECK(says(detected(f), "GPU0 has 4 NVLinks to GPU1, which has 3 back: 3 count"));
  f.gpus[1].nvlinks.clear();
  CHECK(drawn(f).nvlinks.empty());
  f.gpus[1].says_nvlinks = false;  // it did not answer: the other end is enough
  CHECK(drawn(f).nvlinks == std::vector<std::array<int, 3>>{{0, 1, 4}});

  MachineFacts s = three();
  for (DriverGpuFacts& g : s.gpus) join(g, 12, NvlinkFacts::End::nvswitch);
  const Cluster c = detected(s);
  CHECK(c.node.wiring.kind == WiringKind::graph);  // the slots differ, so that all is drawn out
  CHECK(drawn(s).gpus[2].switch_links == 12);
  s.gpus[0].nvlinks[0].carries_peers = false;  // as NCCL, which asks for that
  CHECK(drawn(s).gpus[0].switch_links == 11);
}

TEST_CASE("what the driver says of peers, limits and names is no assumption", "[detect]") {
  MachineFacts f = three();
  f.pci[4] = pci("0000:02:01.0", "0000:01:00.0", "0x060400");
  f.cpu_arch = "x86_64";
  f.cpu_vendor = "GenuineIntel";
  f.cpu_family = "6";
  f.cpu_model = "143";
  f.memory_bytes = 1e12;
  for (DriverGpuFacts& g : f.gpus) {
    g.power_limit_w = 400;
    join(g, 12, NvlinkFacts::End::nvswitch);
  }
  f.peers.assign(9, PeerAnswer::yes);
  const Cluster c = detected(f);
  CHECK(c.assumed.empty());
  CHECK(c.node.gpu.id == "a100-80gb-sxm");
  CHECK(c.node.wiring.kind == WiringKind::nvswitch);
  CHECK(c.node.p2p == 1);
  CHECK(c.node.sockets == 1);
  CHECK(c.node.cpu.nccl_class == "srp");
  CHECK(c.node.host_memory == Bytes(1e12));
  CHECK(c.node.power_limit_w == 0);  // the GPU's own
  f.gpus[1].power_limit_w = 300;
  CHECK(detected(f).node.power_limit_w == 300);
  CHECK(says(detected(f), "300 W to 400 W"));
  f.peers[1] = f.peers[3] = PeerAnswer::no;
  CHECK(detected(f).node.p2p_matrix == "001/001/110");
  f.peers[1] = PeerAnswer::unknown;
  CHECK(detected(f).node.p2p == -1);
  CHECK(says(detected(f), "does not say of 1 of 6 ways"));
}

TEST_CASE("a lost GPU is left out and named", "[detect]") {
  MachineFacts f = three();
  f.gpus[1].fault = "GPU is lost";
  const Cluster c = detected(f);
  CHECK(c.node.gpus == 2);
  CHECK(says(c, "the driver's GPU1 (0000:04:00.0) is left out, for it cannot be used (GPU is lost)"));
  CHECK_FALSE(says(c, "that the driver does not show"));
}

TEST_CASE("NUMA nodes of one socket stay on it", "[detect]") {
  MachineFacts f = three();
  f.numa = {{0, "0-7", 5}, {1, "8-15", 5}, {2, "16-23", 9}};
  f.pci[6].numa = f.pci[7].numa = 1;
  CHECK(detected(f).node.sockets == 1);
  f.pci[6].numa = f.pci[7].numa = 2;
  CHECK(detected(f).node.sockets == 2);
  CHECK_FALSE(says(detected(f), "taken as two sockets"));
  f.numa[0].package = -1;  // not said: assumed, and listed
  CHECK(says(detected(f), "taken as two sockets"));
}
