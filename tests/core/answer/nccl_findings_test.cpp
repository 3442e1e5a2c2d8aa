// Every rule with a machine that must and one that must not raise it. Topologies: tests/data/nccl; what NCCL 2.28.9 plans on them was
// found by running its own decision code, so the rates expected here are NCCL's.
#include "core/answer/nccl_findings.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "core/answer/nccl_links.hpp"
#include "core/text/nccl_request.hpp"
#include "tests/support/files.hpp"

using namespace wireplan;

namespace {

NcclAnswer answer_of(Json request) {
  static const Presets presets;
  Result<NcclAnswer> answer = asked_nccl(request, presets);
  REQUIRE(answer);
  return std::move(answer.value());
}

std::vector<NcclFinding> found(const std::string& topology, Json request = Json::object()) {
  request["xml"] = testing::file_text("tests/data/nccl/" + topology + ".xml");
  return answer_of(std::move(request)).findings;
}

const NcclFinding* find(const std::vector<NcclFinding>& list, std::string_view rule) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const NcclFinding& f) { return f.rule == rule; });
  return at == list.end() ? nullptr : &*at;
}

bool raises(const std::string& topology, std::string_view rule, Json request = Json::object()) { return find(found(topology, std::move(request)), rule) != nullptr; }

NcclFinding raised(const std::vector<NcclFinding>& list, std::string_view rule) {
  const NcclFinding* finding = find(list, rule);
  INFO(rule);
  REQUIRE(finding != nullptr);
  return *finding;
}

bool says(const std::string& text, std::string_view part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

// Two sockets with two PCIe 5 cards each, on the CPUs themselves.
Json two_sockets(const std::string& cpu, int sm) {
  std::string xml = "<system version=\"1\">";
  for (int g = 0; g < 4; ++g) {
    if (g % 2 == 0) xml += "<cpu numaid=\"" + std::to_string(g / 2) + "\" arch=\"x86_64\" " + cpu + ">";
    xml += "<pci busid=\"0000:" + std::to_string(g + 1) + "1:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + std::to_string(g) + "\" sm=\"" + std::to_string(sm) + "\"/></pci>";
    if (g % 2 == 1) xml += "</cpu>";
  }
  return {{"xml", xml + "</system>"}};
}
const std::string kAmd = "vendor=\"AuthenticAMD\" familyid=\"25\" modelid=\"17\"", kEmeraldRapids = "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"207\"";

}  // namespace

TEST_CASE("no graph: Blackwell across AMD sockets plans 0.1 GB/s") {
  const NcclFinding f = raised(answer_of(two_sockets(kAmd, 120)).findings, "no-graph");
  CHECK(f.severity == Severity::warning);
  CHECK(says(f.text, "18 GB/s"));
  CHECK(says(f.text, "the link between NUMA nodes 0 and 1 has 16 GB/s"));
  CHECK(says(f.text, "Simple, made for large messages, from 2 KiB"));
  CHECK(says(f.remedy, "GPUs 0 and 1 alone, for which it plans 2 x 24 GB/s"));
  CHECK(says(f.remedy, "NCCL_MIN_NCHANNELS=8"));
  CHECK(says(f.remedy, "NCCL_GRAPH_FILE"));

  CHECK(find(answer_of(two_sockets(kAmd, 89)).findings, "no-graph") == nullptr);            // their list goes down to 3
  CHECK(find(answer_of(two_sockets(kEmeraldRapids, 120)).findings, "no-graph") == nullptr);  // 40 between sockets
}

TEST_CASE("no graph: a slot too narrow is named, and no other channels are promised where they are set") {
  const NcclFinding f = raised(found("mining-8x-x1"), "no-graph");
  CHECK(says(f.text, "the PCIe link of GPU 0 has 0.75 GB/s"));
  CHECK(says(f.remedy, "slots with more lanes"));
  CHECK_FALSE(says(f.remedy, "alone"));  // every GPU is as slow
  CHECK_FALSE(says(raised(found("mining-8x-x1", {{"env", {{"NCCL_MIN_NCHANNELS", "8"}}}}), "no-graph").remedy, "NCCL_MIN_NCHANNELS"));
}

TEST_CASE("several nodes: NICs beat the link between sockets") {
  const NcclFinding f = raised(found("h100-nvl-8x"), "several-nodes");
  CHECK(says(f.text, "2 nodes, GPUs 0 to 3 and GPUs 4 to 7"));
  CHECK(says(f.text, "48 GB/s against 22 GB/s"));
  // NCCL plans less with them together, so the variable is no remedy.
  CHECK(says(f.remedy, "none by the plan"));
  CHECK(says(f.remedy, "2 x 11 GB/s where it now plans 4 x 20 GB/s"));
  CHECK(says(raised(found("l40s-8x-icx-sw4-nic", {{"nodes", 2}}), "several-nodes").remedy, "NCCL_NET_DISABLE_INTRA=1 keeps them together: it plans 2 x 10 GB/s where it now plans 12 GB/s"));
  CHECK(says(raised(found("l40s-8x-icx-sw4-nic", {{"nodes", 2}, {"gpudirect", false}}), "several-nodes").text, "12.5 GB/s against 10 GB/s"));

  CHECK_FALSE(raises("h100-nvl-8x", "several-nodes", {{"env", {{"NCCL_NET_DISABLE_INTRA", "1"}}}}));
  CHECK_FALSE(raises("h100-nvl-8x", "several-nodes", {{"gpus", {0, 1, 2, 3}}}));
  CHECK_FALSE(raises("hgx-h100", "several-nodes", {{"nodes", 2}}));
}

TEST_CASE("P2P of pairs: on AMD a group of four goes through host memory") {
  const NcclFinding f = raised(found("rtx-a6000-4x-amd"), "p2p-of-pairs");
  CHECK(says(f.text, "a group of 4"));
  CHECK(says(f.text, "6 pairs"));
  CHECK(says(f.remedy, "the plan stays at 2 x 12 GB/s"));
  CHECK(says(f.remedy, "ACS off"));

  CHECK_FALSE(raises("rtx-a6000-4x-amd", "p2p-of-pairs", {{"gpus", {0, 1}}}));
  CHECK_FALSE(raises("rtx-a6000-4x-amd", "p2p-of-pairs", {{"p2p", "none"}}));
  CHECK_FALSE(raises("rtx-a6000-4x-amd", "p2p-of-pairs", {{"env", {{"NCCL_P2P_LEVEL", "SYS"}}}}));
  CHECK_FALSE(raises("rtx-a6000-4x-intel", "p2p-of-pairs"));
}

// A topology file with all of one text replaced by another, or the first alone.
std::vector<NcclFinding> found_with(const std::string& topology, std::string_view from, std::string_view to, bool all, Json request = Json::object()) {
  std::string xml = testing::file_text("tests/data/nccl/" + topology + ".xml");
  std::size_t at = xml.find(from);
  REQUIRE(at != std::string::npos);
  for (; at != std::string::npos; at = all ? xml.find(from, at + to.size()) : std::string::npos) xml.replace(at, from.size(), to);
  request["xml"] = xml;
  return answer_of(std::move(request)).findings;
}

TEST_CASE("a GPU with fewer NVLinks slows all") {
  const NcclFinding f = raised(found_with("hgx-h100", "count=\"18\"", "count=\"9\"", false), "missing-nvlinks");
  CHECK(says(f.text, "GPU 0 has 9 NVLinks to the switch where others have 18"));
  CHECK(says(f.text, "plans 6 x 30 GB/s and not 12 x 30 GB/s"));
  CHECK(find(found_with("hgx-h100", "count=\"18\"", "count=\"9\"", true), "missing-nvlinks") == nullptr);  // all alike
  CHECK_FALSE(raises("hgx-h100", "missing-nvlinks"));
}

TEST_CASE("NICs on a narrow link, or on one that does not say its speed") {
  const std::string wide = "class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"";
  const auto narrow = found_with("hgx-h100", wide, "class=\"0x020700\" link_speed=\"8.0 GT/s PCIe\" link_width=\"8\"", true, {{"nodes", 2}});
  CHECK(says(raised(narrow, "narrow-nic").text, "NICs 0 to 7 sit on a PCIe link of 6 GB/s, less than the 50 GB/s of a port: NCCL plans 8 x 6 GB/s where the ports would allow 8 x 48 GB/s"));
  const auto unknown = found_with("hgx-h100", wide, "class=\"0x020700\" link_speed=\"\" link_width=\"16\"", true, {{"nodes", 2}});
  CHECK(says(raised(unknown, "unknown-speed").text, "The PCIe speed at NICs 0 to 7 is not known"));
  CHECK(find(found_with("hgx-h100", wide, "class=\"0x020700\" link_speed=\"\" link_width=\"16\"", true), "unknown-speed") == nullptr);  // one node: NICs play no part
  CHECK_FALSE(raises("hgx-h100", "narrow-nic", {{"nodes", 2}}));
}

TEST_CASE("NVLink that P2P would open") {
  const NcclFinding f = raised(found("hgx-h100", {{"p2p", "none"}}), "no-p2p");
  CHECK(f.severity == Severity::warning);
  CHECK(says(f.text, "plans 2 x 20 GB/s instead of 12 x 30 GB/s"));
  CHECK(says(raised(found("dgx1-v100", {{"env", {{"NCCL_P2P_DISABLE", "1"}}}}), "no-p2p").remedy, "unset NCCL_P2P_DISABLE"));
  CHECK_FALSE(raises("hgx-h100", "no-p2p"));
  CHECK_FALSE(raises("l40s-8x-spr", "no-p2p", {{"p2p", "none"}}));  // no NVLink
}

TEST_CASE("host memory: no common switch, or no P2P at all") {
  const NcclFinding f = raised(found("l40s-8x-spr"), "host-memory");
  CHECK(says(f.text, "all 28 pairs of GPUs (such as 0 and 1) go through host memory"));
  CHECK(says(f.remedy, "the plan stays at 20 GB/s"));
  CHECK(says(raised(found("l40s-8x-spr", {{"p2p", "none"}}), "host-memory").text, "The driver lets no pair of GPUs reach each other's memory"));
  CHECK(says(raised(found("rtx-a6000-4x-amd", {{"p2p", "none"}}), "host-memory").text, "plans 2 x 12 GB/s"));

  // 0-3 and 1-2 are refused.
  const std::string some = raised(found("rtx-a6000-4x-amd", {{"p2p", "1110/1101/1011/0111"}}), "p2p-of-pairs").text;
  CHECK(says(some, "4 of 6 pairs"));
  CHECK(says(some, "besides 2 that the driver refuses"));
  CHECK_FALSE(raises("l40s-8x-spr-sw2", "host-memory", {{"gpus", {0, 1}}}));                   // below one switch
  CHECK_FALSE(raises("l40s-8x-spr-sw2", "host-memory", {{"p2p", "none"}}));                    // uplink-twice says it
  CHECK_FALSE(raises("l40s-8x-spr", "host-memory", {{"env", {{"NCCL_P2P_LEVEL", "SYS"}}}}));
  CHECK_FALSE(raises("hgx-h100", "host-memory"));
}

TEST_CASE("nothing left: NCCL_ALGO and NCCL_PROTO may rule out all there is") {
  const auto pat = found("hgx-h100", {{"env", {{"NCCL_ALGO", "PAT"}}}});
  REQUIRE_FALSE(pat.empty());
  CHECK(pat.front().rule == "nothing-left");
  CHECK(pat.front().severity == Severity::error);
  CHECK(says(pat.front().text, "NCCL_ALGO leaves no algorithm for any operation"));
  CHECK(says(raised(found("hgx-h100", {{"env", {{"NCCL_ALGO", "Tree"}}}}), "nothing-left").text, "for broadcast, reduce, all_gather, reduce_scatter:"));
  CHECK(says(raised(found("hgx-h100", {{"env", {{"NCCL_ALGO", "allreduce:NVLS"}, {"NCCL_PROTO", "LL"}}}}), "nothing-left").text, "NCCL_ALGO and NCCL_PROTO leave no algorithm for all_reduce:"));
  // Ring is allowed; it has no protocol left.
  CHECK(says(raised(found("hgx-h100", {{"env", {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "^LL,LL128,Simple"}}}}), "nothing-left").remedy, "add Simple to NCCL_PROTO"));
  for (const NcclFinding& f : found("mining-8x-x1", {{"env", {{"NCCL_ALGO", "PAT"}}}})) CHECK_FALSE(says(f.text, "Simple"));

  CHECK_FALSE(raises("hgx-h100", "nothing-left", {{"env", {{"NCCL_ALGO", "Ring"}}}}));
  CHECK_FALSE(raises("hgx-h100", "nothing-left", {{"env", {{"NCCL_ALGO", "allgather:PAT"}}}, {"nodes", 2}, {"gpus", {0}}}));
}

TEST_CASE("a limit on channels that does not hold") {
  const NcclFinding f = raised(found("hgx-h100", {{"env", {{"NCCL_MAX_NCHANNELS", "3"}, {"NCCL_MIN_NCHANNELS", "12"}}}}), "no-limit");
  CHECK(says(f.text, "NCCL_MAX_NCHANNELS=3 does not hold: NCCL_MIN_NCHANNELS=12 is applied after it, so 12 channels run"));
  CHECK(says(raised(found("hgx-h100", {{"nccl", "2.27.3"}, {"env", {{"NCCL_MAX_NCHANNELS", "4"}}}}), "no-limit").text, "NVLS has more, and NCCL 2.27.3 gives rings as many, so 16 channels run"));
  CHECK(says(raised(found("hgx-h100", {{"nccl", "2.27.3"}, {"env", {{"NCCL_MAX_NCHANNELS", "4"}, {"NCCL_MIN_NCHANNELS", "8"}}}}), "no-limit").text, "NVLS has more"));
  CHECK_FALSE(raises("hgx-h100", "no-limit", {{"env", {{"NCCL_MAX_NCHANNELS", "4"}}}}));
}

TEST_CASE("uplink used twice: no P2P below a switch") {
  const NcclFinding f = raised(found("l40s-8x-spr-sw2", {{"p2p", "none"}}), "uplink-twice");
  CHECK(says(f.text, "plans 10 GB/s instead of 20 GB/s"));
  CHECK(says(f.remedy, "nvidia-smi topo -p2p r"));
  const auto by_variable = found("l40s-8x-spr-sw2", {{"env", {{"NCCL_P2P_DISABLE", "1"}}}});
  CHECK(says(raised(by_variable, "uplink-twice").remedy, "unset NCCL_P2P_DISABLE"));
  CHECK(find(by_variable, "variable-costs") == nullptr);  // said once

  CHECK_FALSE(raises("l40s-8x-spr-sw2", "uplink-twice"));
  CHECK_FALSE(raises("l40s-8x-spr", "uplink-twice", {{"p2p", "none"}}));      // no switch
  CHECK_FALSE(raises("l40s-8x-icx-sw2", "uplink-twice", {{"p2p", "none"}}));  // the sockets allow no more either way
}

TEST_CASE("NVLS: a tie, or possible and not taken") {
  CHECK(says(raised(found("hgx-b200"), "nvls-tie").text, "NVLS is taken for its latency alone"));
  CHECK(says(raised(found("hgx-h100", {{"gpus", {0, 1, 2, 3, 4, 5}}}), "nvls-tie").text, "216 GB/s"));
  const auto five = found("hgx-h100", {{"gpus", {0, 1, 2, 3, 4}}});
  CHECK(find(five, "nvls-tie") == nullptr);
  CHECK(says(raised(five, "nvls-not-taken").text, "188 GB/s with, 225 GB/s without"));

  const auto eight = found("hgx-h100");  // NVLS wins clearly
  CHECK(find(eight, "nvls-tie") == nullptr);
  CHECK(find(eight, "nvls-not-taken") == nullptr);
  CHECK_FALSE(raises("hgx-h100", "nvls-not-taken", {{"gpus", {0, 1}}, {"env", {{"NCCL_NVLS_ENABLE", "0"}}}}));
}

TEST_CASE("LL kept long: where Simple follows at once and late") {
  const NcclFinding f = raised(found("hgx-b200", {{"gpus", {0, 1}}}), "long-ll");
  CHECK(says(f.text, "up to 3.31 MiB"));
  CHECK(says(f.remedy, "of 4 MiB and more"));
  CHECK(says(f.remedy, "NCCL_PROTO=^LL"));
  CHECK_FALSE(raises("hgx-h100", "long-ll"));    // NVLS follows
  CHECK_FALSE(raises("dgx1-v100", "long-ll"));   // LL128 lies between
  CHECK_FALSE(raises("mining-8x-x1", "long-ll"));  // LL ends early
}

TEST_CASE("crossed rails, and what PXN would carry") {
  const NcclFinding f = raised(found("hgx-h100", {{"nodes", 2}}), "crossed-rails");
  CHECK(says(f.text, "(0 and 1)"));
  CHECK(says(f.remedy, "plans 8 x 45 GB/s where it now plans 8 x 48 GB/s"));
  CHECK_FALSE(raises("hgx-h100", "crossed-rails", {{"nodes", 2}, {"env", {{"NCCL_CROSS_NIC", "0"}}}}));
  CHECK_FALSE(raises("hgx-b200", "crossed-rails", {{"nodes", 2}}));  // PXN reaches the same
  CHECK_FALSE(raises("hgx-h100", "crossed-rails"));

  const Json straight = {{"nodes", 2}, {"env", {{"NCCL_CROSS_NIC", "0"}, {"NCCL_PXN_DISABLE", "1"}}}};
  CHECK(says(raised(found("hgx-h100", straight), "variable-costs").text, "NCCL_PXN_DISABLE=1 costs speed by NCCL's own numbers: NCCL plans 8 x 40 GB/s with it, 8 x 45 GB/s without"));
}

TEST_CASE("no GPUDirect: how far, and what changes it") {
  const NcclFinding f = raised(found("v100-4x", {{"nodes", 2}}), "no-gpudirect");
  CHECK(says(f.text, "their distance is PHB (through the CPU)"));
  CHECK(says(f.remedy, "does not raise the plan"));
  const NcclFinding off = raised(found("l40s-8x-icx-sw4-nic", {{"nodes", 2}, {"gpudirect", false}}), "no-gpudirect");
  CHECK(says(off.remedy, "NCCL plans 12 GB/s with it, 10 GB/s without"));
  CHECK(says(raised(found("eth-4090-4x", {{"nodes", 2}, {"p2p", "none"}}), "no-gpudirect").text, "the network does not offer it"));
  CHECK(says(raised(found("l40s-8x-spr-sw2-nic"), "no-gpudirect").remedy, "NCCL_NET_GDR_LEVEL=SYS allows it at any distance, but does not raise the plan (20 GB/s)"));
  CHECK_FALSE(raises("hgx-h100", "no-gpudirect", {{"nodes", 2}}));
  CHECK_FALSE(raises("v100-4x", "no-gpudirect"));
}

TEST_CASE("NICs: shared by many, idle, slow") {
  CHECK(says(raised(found("hgx-h100-1nic", {{"nodes", 2}}), "shared-nic").text, "8 GPUs of a host share one NIC of 50 GB/s"));
  CHECK_FALSE(raises("hgx-h100", "shared-nic", {{"nodes", 2}}));
  CHECK_FALSE(raises("hgx-h100-1nic", "shared-nic"));

  const NcclFinding idle = raised(found("hgx-h100", {{"nodes", 2}, {"gpus", {0, 1, 2, 3}}}), "idle-nic");
  CHECK(says(idle.text, "NICs 4 to 7 of 8 carry no ring"));
  CHECK(says(idle.remedy, "with all 8 GPUs NCCL plans 8 x 48 GB/s where it now plans 8 x 24 GB/s"));
  CHECK_FALSE(raises("hgx-h100", "idle-nic", {{"nodes", 2}}));

  CHECK(says(raised(found("eth-4090-4x", {{"nodes", 2}, {"p2p", "none"}}), "slow-network").text, "1.25 GB/s (10 Gbit/s"));
  CHECK_FALSE(raises("eth-4090-4x", "slow-network", {{"p2p", "none"}}));
  CHECK_FALSE(raises("hgx-h100-1nic", "slow-network", {{"nodes", 2}}));
}

TEST_CASE("a narrow slot sets the rate of all") {
  const NcclFinding f = raised(found("rtx-3090-2x-x16x4", {{"p2p", "none"}}), "narrow-slot");
  CHECK(says(f.text, "GPU 1 has a PCIe link of 3 GB/s where others have 12 GB/s"));
  CHECK(says(f.remedy, "NCCL plans 10 GB/s"));
  CHECK_FALSE(raises("rtx-4090-2x", "narrow-slot"));
  CHECK_FALSE(raises("mining-8x-x1", "narrow-slot"));  // no-graph says it
  const auto all = found_with("rtx-4090-2x", "link_width=\"16\"", "link_width=\"2\"", true);
  CHECK(says(raised(all, "narrow-slot").text, "less than eight lanes of PCIe 3 carry"));  // all alike
}

TEST_CASE("a PCIe speed that is not stated counts as PCIe 3") {
  const NcclFinding f = raised(found("azure-ncv4-nolink"), "unknown-speed");
  CHECK(says(f.text, "GPUs 0 to 3"));
  CHECK(says(f.remedy, "NCCL would plan 15 GB/s"));
  CHECK_FALSE(raises("a100-pcie-4x-nobridge", "unknown-speed"));
}

TEST_CASE("NVLink islands: the ring leaves them") {
  const NcclFinding f = raised(found("a100-pcie-8x-nv12"), "nvlink-islands");
  CHECK(says(f.text, "GPUs 0 and 1, GPUs 2 and 3, GPUs 4 and 5, GPUs 6 and 7"));
  CHECK(says(f.remedy, "for GPUs 0 and 1 alone NCCL plans 12 x 20 GB/s"));
  CHECK_FALSE(raises("a100-pcie-8x-nv12", "nvlink-islands", {{"gpus", {0, 1}}}));
  CHECK_FALSE(raises("hgx-h100", "nvlink-islands"));
  CHECK_FALSE(raises("dgx1-v100", "nvlink-islands", {{"gpus", {0, 3, 4, 7}}}));  // round by way of other GPUs
  CHECK_FALSE(raises("l40s-8x-spr", "nvlink-islands"));
}

TEST_CASE("rings between CPUs are planned at a constant") {
  const NcclFinding f = raised(found("l40s-8x-icx-sw2"), "between-cpus");
  CHECK(says(f.text, "the link between NUMA nodes 0 and 1, for which NCCL plans 10 GB/s, NCCL's constant for Intel Skylake to Ice Lake"));
  CHECK(says(f.remedy, "for GPUs 0 to 3 alone NCCL plans 20 GB/s"));
  CHECK_FALSE(raises("l40s-8x-icx-sw2", "between-cpus", {{"gpus", {0, 1, 2, 3}}}));
  CHECK_FALSE(raises("l40s-8x-spr", "between-cpus"));        // 22 between them: no less than within
  CHECK_FALSE(raises("a100-pcie-8x-nv12", "between-cpus"));  // its islands say more
}

TEST_CASE("variables: channels, and what costs speed") {
  const auto env = [](const char* name, const char* value) { return Json{{"env", {{name, value}}}}; };
  CHECK(says(raised(found("dgx1-v100", env("NCCL_MAX_NCHANNELS", "4")), "fewer-channels").text, "4 channels instead of 12"));
  CHECK(says(raised(found("dgx1-v100", env("NCCL_MIN_NCHANNELS", "32")), "copied-channels").text, "32 channels instead of 12"));
  CHECK_FALSE(raises("dgx1-v100", "fewer-channels", env("NCCL_MAX_NCHANNELS", "12")));
  CHECK_FALSE(raises("dgx1-v100", "copied-channels", env("NCCL_MIN_NCHANNELS", "8")));

  CHECK(says(raised(found("hgx-h100", env("NCCL_ALGO", "Ring")), "variable-costs").text, "NCCL_ALGO"));
  CHECK(says(raised(found("hgx-h100", env("NCCL_NVLS_ENABLE", "0")), "variable-costs").text, "256 MiB"));
  CHECK(says(raised(found("h100-nvl-8x", env("NCCL_NET_DISABLE_INTRA", "1")), "variable-costs").text, "2 x 11 GB/s with it, 4 x 20 GB/s without"));
  CHECK_FALSE(raises("dgx1-v100", "variable-costs", env("NCCL_NVB_DISABLE", "1")));
  CHECK_FALSE(raises("dgx1-v100", "variable-costs"));
}

TEST_CASE("an ordinary machine has nothing to be said of") {
  CHECK(found("dgx1-v100").empty());
  CHECK(found("hgx-h100").empty());
}

TEST_CASE("the most serious come first, and every finding has text and remedy") {
  for (const char* topology : {"h100-nvl-8x", "a100-pcie-8x-nv12", "azure-ncv4-nolink", "l40s-8x-spr-sw2-nic", "mining-8x-x1"}) {
    DYNAMIC_SECTION(topology) {
      const auto list = found(topology, {{"nodes", std::string_view(topology) == "l40s-8x-spr-sw2-nic" ? 4 : 1}, {"env", {{"NCCL_ALGO", "Tree"}}}});
      CHECK(list.front().severity == Severity::error);
      CHECK(list.back().severity < Severity::error);
      REQUIRE_FALSE(list.empty());
      CHECK(std::is_sorted(list.begin(), list.end(), [](const NcclFinding& a, const NcclFinding& b) { return a.severity > b.severity; }));
      for (const NcclFinding& f : list) {
        CHECK_FALSE(f.text.empty());
        CHECK_FALSE(f.remedy.empty());
        CHECK(f.text.back() != '.');  // who shows it ends the sentence
        CHECK(f.remedy.back() != '.');
      }
    }
  }
}

TEST_CASE("numbers in words") {
  CHECK(gpus_text({3}) == "GPU 3");
  CHECK(gpus_text({1, 0}) == "GPUs 0 and 1");
  CHECK(gpus_text({2, 0, 1}) == "GPUs 0 to 2");
  CHECK(gpus_text({0, 2, 5}) == "GPUs 0, 2 and 5");
  CHECK(numbers_text({0, 2, 4, 6, 8, 10, 12, 14, 16, 18}) == "0, 2, 4, 6, 8, 10, 12, 14 and 2 more");
}
