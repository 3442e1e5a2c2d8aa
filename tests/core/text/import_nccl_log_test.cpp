#include "core/text/import_nccl_log.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "tests/core/describe/sound.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

NcclLog log_of(std::string_view text) {
  Result<NcclLog> log = read_nccl_log(text);
  if (!log) FAIL(text_of(log.errors()));
  return log.value();
}

std::string findings_of(const NcclLog& log) {
  std::string text;
  for (const Note& n : nccl_log_findings(log)) text += (n.severity == Severity::info ? "info: " : "warning: ") + n.text + "\n";
  return text;
}

bool has_finding(const NcclLog& log, std::string_view part) { return findings_of(log).find(part) != std::string::npos; }

// The message of one rank on each line; ranks 2i and 2i+1 are on host i.
std::string line(int rank, const std::string& message) {
  return "host" + std::to_string(rank / 2) + ":" + std::to_string(100 + rank) + ":" + std::to_string(200 + rank) + " [" + std::to_string(rank % 2) + "] NCCL INFO " + message + "\n";
}
std::string init(int rank, int ranks) {
  return line(rank, "ncclCommInitRankConfig comm 0x55" + std::to_string(rank) + " rank " + std::to_string(rank) + " nranks " + std::to_string(ranks) + " cudaDev " + std::to_string(rank % 2) +
                        " nvmlDev " + std::to_string(rank % 2) + " busId " + std::to_string(rank % 2 + 1) + "00000 commId 0x56bea185a98d5193 - Init START");
}

// NCCL 2.26, two GPUs of one host.
const std::string kPair = "host0:100:100 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n" + line(0, "NET/Socket : Using [0]eth0:10.105.0.5<0>") + line(0, "Using network Socket") + init(0, 2) + init(1, 2) +
                          line(0, "NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)") +
                          line(0, "Pattern 4, crossNic 0, nChannels 8, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1") + line(0, " 0 : GPU/0-100000 GPU/0-200000") +
                          line(0, "Pattern 1, crossNic 0, nChannels 8, bw 40.000000/40.000000, type NVL/PIX, sameChannels 1") +
                          line(0, "comm 0x550 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0") + line(0, "Channel 00/16 : 0 1") + line(0, "Channel 01/16 : 0 1") +
                          line(0, "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1") + line(1, "Trees [0] -1/-1/-1->1->0 [1] 0/-1/-1->1->-1") +
                          line(0, "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 8 p2p channels per peer") +
                          line(0, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM") + line(0, "Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM") + line(1, "Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM") +
                          line(0, "Connected all rings, use ring PXN 0 GDR 1") + line(0, "AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}") +
                          line(0, "AllReduce: 268435456 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}") +
                          line(1, "comm 0x551 rank 1 nranks 2 cudaDev 1 busId 200000 - Destroy COMPLETE");

}  // namespace

TEST_CASE("a log of NCCL 2.26: ranks, rings, trees, channels, choices", "[text]") {
  const NcclLog log = log_of(kPair);
  CHECK(log.version == "2.26.2");
  CHECK(log.network == "Socket");
  CHECK(log.ranks == 2);
  CHECK(log.nodes == 1);
  REQUIRE(log.members.size() == 2);
  CHECK(log.members[1].host == "host0");
  CHECK(log.members[1].bus_id == "200000");
  CHECK(log.members[1].nvml_device == 1);
  REQUIRE(log.rings.size() == 1);
  CHECK(log.rings[0].channels == std::vector<int>{0, 1});
  CHECK(log.rings[0].order == std::vector<int>{0, 1});
  REQUIRE(log.trees.size() == 2);
  CHECK(log.trees[0].parent == std::vector<int>{-1, 0});
  CHECK(log.trees[1].parent == std::vector<int>{1, -1});
  CHECK(log.coll == 16);
  CHECK(log.nvls == 0);
  CHECK(log.p2p == 16);
  CHECK(log.p2p_per_peer == 8);
  REQUIRE(log.graphs.size() == 2);
  CHECK(log.graphs[0].pattern == 4);
  CHECK(log.graphs[0].intra == 20);
  CHECK(log.graphs[0].intra_type == "NVL");
  CHECK(log.graphs[0].inter_type == "PIX");
  REQUIRE(log.transports.size() == 2);
  CHECK(log.transports[0].via == "P2P/CUMEM");
  CHECK(log.transports[0].channels == std::vector<int>{0, 1});
  REQUIRE(log.choices.size() == 2);
  CHECK(log.choices[0].size == 4096);
  CHECK(log.choices[0].algorithm == Algorithm::ring);
  CHECK(log.choices[0].protocol == Protocol::ll);
  CHECK(log.choices[0].channels == 2);
  CHECK(log.choices[1].algorithm == Algorithm::nvls);
  // One host needs no network: sockets are no fall back there.
  CHECK(findings_of(log) == "info: NVLS is not available here: it needs an NVSwitch and Hopper or newer, and the fabric manager running\n");

  const Json j = write_nccl_log(log);
  CHECK(j.at("schema") == "wireplan.nccl/1");
  CHECK(dump_json_compact(j.at("graphs")[0]) ==
        R"({"kind":"ring","pattern":"ring","channels":8,"intra_bytes_per_s":20000000000,"inter_bytes_per_s":20000000000,"intra_type":"NVL","inter_type":"PIX","cross_nic":0,"same_channels":1})");
  CHECK(dump_json_compact(j.at("choices")) == R"([{"op":"all_reduce","points":[[4096,"ring","ll",null,null,null,2],[268435456,"nvls","simple",null,null,null,16]]}])");
  CHECK(j.at("channels").at("p2p_per_peer") == 8);
  CHECK(render_nccl_log(log).find("ring of channels 0 1: 0 1") != std::string::npos);
}

TEST_CASE("older forms: NCCL 2.4 to 2.20", "[text]") {
  const std::string head = "host0:100:200 [0] NCCL INFO comm 0x7f rank 0 nranks 4 cudaDev 0 nvmlDev 0 - Init COMPLETE\n";
  const NcclLog ring = log_of(head + line(0, "Channel 00 :    0   1   3   2") + line(0, "Ring 00 : 0[3000] -> 1[44000] via P2P/direct pointer") + line(0, "Ring 01 : 3 -> 0 [receive] via NET/Socket/0"));
  REQUIRE(ring.rings.size() == 1);
  CHECK(ring.rings[0].order == std::vector<int>{0, 1, 3, 2});
  REQUIRE(ring.transports.size() == 2);
  CHECK(ring.transports[0].via == "P2P/direct pointer");
  CHECK(ring.transports[1].via == "NET/Socket/0");
  CHECK(ring.transports[1].channels == std::vector<int>{1});
  const NcclLog tree = log_of(head + line(0, "Trees [0] -1->0->1/2/-1|1/2/-1->0->-1 [1] 3->0->-1/-1/-1|-1/-1/-1->0->3"));
  REQUIRE(tree.trees.size() == 2);
  CHECK(tree.trees[0].parent[0] == -1);
  CHECK(tree.trees[1].parent[0] == 3);
  CHECK(tree.trees[1].parent[1] == -2);
  const NcclLog rate = log_of(head + line(0, "Pattern 4, crossNic 0, nChannels 2, speed 12.000000/12.000000, type PHB/PIX, sameChannels 1") +
                              line(0, "64 Bytes -> Algo 0 proto 0 time 11.500000") + line(0, "37756928 Bytes -> Algo 1 proto 2 time 2860.208008"));
  REQUIRE(rate.graphs.size() == 1);
  CHECK(rate.graphs[0].intra == 12);
  REQUIRE(rate.choices.size() == 2);
  CHECK_FALSE(rate.choices[0].collective);
  CHECK(rate.choices[0].algorithm == Algorithm::tree);
  CHECK(rate.choices[0].time == 11.5e-6);
  CHECK(rate.choices[1].protocol == Protocol::simple);
  // RCCL names the communicator behind the way.
  const NcclLog amd = log_of(head + line(0, "Channel 00 : 0[e3000] -> 1[c3000] via P2P/IPC comm 0x7f53bc000e50 nRanks 04"));
  REQUIRE(amd.transports.size() == 1);
  CHECK(amd.transports[0].via == "P2P/IPC");
  CHECK(log_of(head + line(0, "2 coll channels, 4 p2p channels, 2 p2p channels per peer")).nvls == -1);
}

TEST_CASE("the largest communicator counts, whatever others the job makes", "[text]") {
  std::string text = init(0, 4) + init(1, 4) + init(2, 4) + init(3, 4) + line(0, "Channel 00/02 : 0 1 2 3") + line(0, "Channel 01/02 : 0 1 2 3");
  text += init(0, 2) + line(0, "Channel 00/04 : 0 1") + line(0, "Trees [0] 1/-1/-1->0->-1") + line(0, "4 coll channels, 4 p2p channels, 4 p2p channels per peer") +
          line(0, "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct");
  const NcclLog log = log_of(text);
  CHECK(log.ranks == 4);
  CHECK(log.nodes == 2);
  REQUIRE(log.rings.size() == 1);
  CHECK(log.trees.empty());
  CHECK(log.coll == -1);
  CHECK(log.transports.empty());
  CHECK(findings_of(log) == "info: the log holds 2 communicators, of one job or of several runs: read is one with the most ranks, 4 (commId 0x56bea185a98d5193); the others are left out\n");
}

namespace {

// A run of one host, as a whole log: every rank's lines, `ring` on two channels.
std::string run_of(const std::string& host, int pid, const std::string& id, const std::vector<int>& ring, const std::string& version = "2.28.9", bool is_named_late = false) {
  const int ranks = static_cast<int>(ring.size());
  std::string text, order;
  for (const int r : ring) order += " " + std::to_string(r);
  const auto say = [&](int r, const std::string& message) { text += host + ":" + std::to_string(pid + r) + ":" + std::to_string(pid + r + 1000) + " [" + std::to_string(r) + "] NCCL INFO " + message + "\n"; };
  const auto name = [&](int r, const std::string& what) {
    say(r, "ncclCommInitRankConfig comm 0x55" + std::to_string(r) + " rank " + std::to_string(r) + " nranks " + std::to_string(ranks) + " cudaDev " + std::to_string(r) + " busId " + std::to_string(r + 1) + "000" +
               (id.empty() ? "" : " commId " + id) + " - Init " + what);
  };
  say(0, "NCCL version " + version + "+cuda12.9");
  say(0, "NCCL_ALGO set by environment to " + host);
  for (int r = 0; r < ranks && !is_named_late; ++r) name(r, "START");
  for (int c = 0; c < 2; ++c) say(0, "Channel 0" + std::to_string(c) + "/02 :" + order);
  for (int r = 0; r < ranks; ++r) say(r, "Trees [0] -1/-1/-1->" + std::to_string(r) + "->" + std::to_string(r - 1));
  for (int r = 0; r < ranks; ++r) name(r, "COMPLETE");
  return text;
}

}  // namespace

TEST_CASE("runs pasted one after another are not mixed", "[text]") {
  const std::vector<int> plain{0, 1, 2, 3}, turned{0, 2, 1, 3}, eight{0, 1, 2, 3, 4, 5, 6, 7};
  for (const bool is_named_late : {false, true}) {
    for (const bool has_id : {true, false}) {
      INFO("named late " << is_named_late << ", commId " << has_id);
      const std::string first = run_of("alpha", 100, has_id ? "0x1" : "", plain, "2.27.3", is_named_late), second = run_of("beta", 500, has_id ? "0x2" : "", turned, "2.28.9", is_named_late),
                        large = run_of("gamma", 100, has_id ? "0x3" : "", eight, "2.29.2", is_named_late);
      const NcclLog one = log_of(first + second);
      CHECK(one.version == "2.27.3");
      REQUIRE(one.rings.size() == 1);
      CHECK(one.rings[0].order == plain);
      CHECK_FALSE(one.is_ambiguous);
      CHECK(one.hosts == 1);
      CHECK(one.environment.size() == 1);
      CHECK(has_finding(one, "2 communicators"));
      CHECK(has_finding(one, "read is one with the most ranks, 4"));
      // The first run is cut off in front: the second is whole.
      if (!is_named_late) CHECK(log_of(first.substr(first.find("[3] NCCL INFO ")) + second).rings[0].order == turned);
      for (const std::string& text : {first + large + second, large + first, first + second + large}) {
        const NcclLog log = log_of(text);
        CHECK(log.ranks == 8);
        CHECK(log.version == "2.29.2");
        CHECK(log.variable("NCCL_ALGO") == "gamma");
        REQUIRE(log.members.size() == 8);
        CHECK(log.members[0].host == "gamma");
        REQUIRE(log.trees.size() == 1);
        CHECK(log.trees[0].parent == std::vector<int>{-1, 0, 1, 2, 3, 4, 5, 6});
        CHECK(has_finding(log, "read is one with the most ranks, 8"));
      }
      // One after the other in one process, at the same address.
      const NcclLog again = log_of(first + run_of("alpha", 100, has_id ? "0x4" : "", turned, "2.27.3", is_named_late));
      CHECK(again.communicators == 2);
      CHECK(again.rings[0].order == plain);
      CHECK_FALSE(again.is_ambiguous);
      // The same text twice is one communicator, where it says so.
      CHECK(log_of(first + first).communicators == (has_id ? 1 : 2));
    }
  }
  // Without a word of communicators: only what is surely of the larger one.
  const std::string small = "a:1:1 [0] NCCL INFO Channel 00/02 : 0 1\na:2:2 [1] NCCL INFO Trees [0] -1/-1/-1->1->0\n", wide = "b:3:3 [0] NCCL INFO Channel 00/02 : 0 1 2 3\nb:3:3 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n";
  const NcclLog unnamed = log_of(small + wide);
  CHECK(unnamed.ranks == 4);
  CHECK(has_finding(unnamed, "2 communicators"));
  REQUIRE(unnamed.trees.size() == 1);
  CHECK(unnamed.trees[0].parent == std::vector<int>{-1, -2, -2, -2});
}

TEST_CASE("splits of a communicator are told apart by color and count", "[text]") {
  const auto split = [](int rank, int color, const std::string& what) {
    return line(color * 2 + rank, "ncclCommSplit comm 0x7" + std::to_string(rank) + " rank " + std::to_string(rank) + " nranks 2 cudaDev 0 nvmlDev 0 busId 1000 parent 0x55 splitCount 1 color " + std::to_string(color) + " key 0- Init " + what);
  };
  const NcclLog log = log_of(split(1, 1, "START") + split(0, 0, "START") + split(0, 1, "START") + split(1, 0, "START") + line(0, "Channel 00/02 : 0 1") + line(2, "Channel 00/02 : 1 0") + split(0, 0, "COMPLETE") + split(1, 1, "COMPLETE"));
  CHECK(log.communicators == 2);
  CHECK(log.members.size() == 2);
  CHECK(log.hosts == 1);
  CHECK_FALSE(log.is_ambiguous);
}

TEST_CASE("what launchers write around a line", "[text]") {
  const std::vector<int> ring{0, 1, 2, 3};
  const std::string plain = run_of("node1", 100, "0x1", ring);
  const std::string expected = dump_json(write_nccl_log(log_of(plain)));
  const auto with = [&](const std::string& before, const std::string& behind) {
    std::string text;
    int n = 0;
    for (std::size_t at = 0; at < plain.size(); at = plain.find('\n', at) + 1, ++n) {
      std::string prefix = before;
      if (const std::size_t mark = prefix.find('#'); mark != std::string::npos) prefix[mark] = static_cast<char>('0' + n % 4);
      text += prefix + plain.substr(at, plain.find('\n', at) - at) + behind + "\n";
    }
    return text;
  };
  for (const char* before : {"[1,#]<stdout>:", "[1,#]<stdout>: ", "node1: ", "#: ", "[default#]:", "[2025-03-12 17:21:29] ", "2025-03-12 17:21:29,123 ", "2025-03-12T17:21:29.123Z ", "(RayWorker pid=12, ip=10.0.0.#) ", "worker-#  | ", "\x1b[36m(pid=#)\x1b[0m "}) {
    INFO(before);
    CHECK(dump_json(write_nccl_log(log_of(with(before, "")))) == expected);
    CHECK(dump_json(write_nccl_log(log_of(with(before, "\r")))) == expected);
  }
  // Two processes in one line: neither is whole.
  const NcclLog mixed = log_of(plain + "node1:100:1100 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEMnode1:101:1101 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via SHM/direct\n");
  CHECK(mixed.transports.empty());
  // Cut in the middle of a word.
  const NcclLog cut = log_of(plain + "node1:100:1100 [0] NCCL INFO Trees [1] 1/-1/-1->0->-1 [2] 1/-1/-1->0->1");
  CHECK(cut.trees.back().channels == std::vector<int>{1});
}

TEST_CASE("what is wrong on the machine is named with its remedy", "[text]") {
  const std::string four = init(0, 4) + init(1, 4) + init(2, 4) + init(3, 4);
  const std::string between = line(0, "Channel 00/0 : 0[0] -> 2[0] [send] via NET/");
  const auto with = [&](const std::string& network) { return line(0, "Channel 00/0 : 1[1] -> 2[0] [send] via NET/" + network); };
  struct {
    const char* name;
    std::string text;
    const char* part;
  } rows[] = {
      {"sockets", four + line(0, "NET/IB : No device found.") + line(0, "Using network Socket") + with("Socket/0"), "found no InfiniBand or RoCE device"},
      {"sockets by order", four + line(0, "NCCL_IB_DISABLE set by environment to 1.") + line(0, "Using network Socket") + with("Socket/0"), "NCCL_IB_DISABLE=1 is set. Remedy: unset it"},
      {"host memory", four + line(0, "P2P is disabled between connected GPUs 1 and 0. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.") +
                          line(0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct") + line(1, "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct"),
       "ranks 0-1 exchange through host memory (SHM), since the driver does not let them"},
      {"host memory by order", four + line(0, "NCCL_P2P_DISABLE set by environment to 1") + line(0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"), "NCCL_P2P_DISABLE=1 is set. Remedy: unset it"},
      {"host memory by level", four + line(0, "NCCL_P2P_LEVEL set by environment to PIX") + line(0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"), "NCCL_P2P_LEVEL is PIX"},
      {"broken NVLink", four + "host0:1:2 [0] NCCL WARN P2P is disabled between NVLINK connected GPUs 5 and 4. This should not be the case\n", "a fault of the hardware"},
      {"network within a host", four + line(0, "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0"), "are on one host and exchange over the network"},
      {"no GPUDirect", four + line(0, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'") + line(0, "Using network IB") + with("IB/0"), "GPUDirect RDMA is off between ranks 1-2"},
      {"one NIC of four", four + line(0, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [RO]; OOB eth0:10.0.0.5<0>") + line(0, "Using network IB") + with("IB/2/GDRDMA"),
       "1 of 4 NICs carry the traffic"},
      {"one channel", four + line(0, "1 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer"), "a single channel"},
      {"slow rings", four + line(0, "Pattern 4, crossNic 0, nChannels 2, bw 1.200000/1.200000, type SYS/SYS, sameChannels 0"), "NCCL plans its rings at 1.2 GB/s a channel"},
      {"slow network", four + line(0, "Pattern 4, crossNic 0, nChannels 2, bw 20.000000/1.200000, type NVL/SYS, sameChannels 0"), "NCCL plans its rings at 1.2 GB/s a channel"},
      {"no ring", init(0, 2) + init(1, 2) + line(0, "Pattern 4, crossNic 0, nChannels 1, bw 0.100000/0.100000, type SYS/SYS, sameChannels 1"), "found no ring"},
      {"NVLS by order", four + line(0, "NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 24)") + line(0, "NCCL_NVLS_ENABLE set by environment to 0.") +
                            line(0, "24 coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer"),
       "since NCCL_NVLS_ENABLE=0 is set"},
      {"kernel", four + line(0, "Missing \"iommu=pt\" from kernel command line which can lead to system instablity or hang!"), "iommu=pt"},
      {"warnings", four + "host0:100:200 [0] socket.c:446 NCCL WARN socketFinalizeAccept: wrong type\n", "NCCL warned: \"socketFinalizeAccept: wrong type\""},
      {"variables", four + line(0, "NCCL_ALGO set by environment to Ring"), "info: NCCL_ALGO=Ring is set (fixes the algorithm"},
  };
  for (const auto& row : rows) {
    const NcclLog log = log_of(row.text);
    INFO(row.name << "\n" << findings_of(log));
    CHECK(has_finding(log, row.part));
  }
  const NcclLog sound = log_of(four + line(0, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:1<0>") + line(0, "Using network IB") + with("IB/0/GDRDMA") + line(0, "Pattern 4, crossNic 0, nChannels 1, bw 6.000000/3.000000, type PHB/PHB, sameChannels 0") +
                               line(0, "Channel 01/0 : 1[1] -> 2[0] [send] via NET/IB/1/GDRDMA") + line(0, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"));
  CHECK(findings_of(sound).empty());
}

TEST_CASE("hostile logs of NCCL never crash", "[text]") {
  CHECK_FALSE(read_nccl_log(""));
  CHECK(has_error(read_nccl_log("GPU0 GPU1\n").errors(), "", "NCCL_DEBUG=INFO"));
  std::string pairs = "a:1:1 [0] NCCL INFO comm 0x5 rank 0 nranks 100000 cudaDev 0 busId 1 - Init START\n";
  for (int i = 0; i < 50'000; ++i) pairs += "a:1:1 [0] NCCL INFO Channel " + std::to_string(i % 64) + "/0 : " + std::to_string(i) + "[0] -> " + std::to_string(99'999 - i) + "[1] via NET/IB/0\n";
  for (int i = 0; i < 64; ++i) pairs += "a:1:1 [0] NCCL INFO Trees [" + std::to_string(i) + "] 1/-1/-1->0->-1\n";
  const NcclLog cut = log_of(pairs);
  CHECK(cut.is_cut);
  CHECK(cut.transports.size() <= 10'000);
  write_nccl_log(cut);
  std::string choices;
  for (int i = 0; i < 50'000; ++i) choices += "a:1:1 [0] NCCL INFO " + std::to_string(i) + " Bytes -> Algo 1 proto 0 time 1.0\n";
  CHECK(log_of(choices).choices.size() == 10'000);
  CHECK(log_of("a:1:1 [0] NCCL INFO NCCL_\xff\xfe set by environment to 1\na:1:1 [0] NCCL INFO NCCL_\xfd\xfe set by environment to 2\n").environment.empty());
  std::mt19937 random(6);
  for (int i = 0; i < 3000; ++i) {
    std::string text = kPair;
    for (unsigned k = 0; k <= random() % 12; ++k) text[random() % text.size()] = static_cast<char>(random() % 3 == 0 ? random() : "0123456789 \n[]/->:,"[random() % 19]);
    const Result<NcclLog> log = read_nccl_log(text.substr(0, random() % 4 == 0 ? random() % text.size() : text.size()));
    if (log) dump_json(write_nccl_log(log.value()));
  }
}
