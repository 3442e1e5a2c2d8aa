#include "core/text/nccl_log_compare.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>

#include "core/text/import_nccl_log.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/render_nccl.hpp"
#include "core/text/render_nccl_log.hpp"
#include "tests/support/files.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

const std::string kData = "tests/data/nccl/";

NcclLog log_of(std::string_view text) {
  Result<NcclLog> log = read_nccl_log(text);
  if (!log) FAIL(log.errors()[0].text);
  return log.value();
}

NcclBesideLog beside(const std::string& xml, const NcclLog& log, Json request = Json::object()) {
  request["xml"] = file_text(kData + xml);
  Result<NcclBesideLog> both = asked_nccl_beside_log(request, log, presets());
  if (!both) FAIL(both.errors()[0].text);
  return both.value();
}

const NcclLogLine* line_of(const NcclBesideLog& both, std::string_view what) {
  for (const NcclLogLine& l : both.comparison.lines)
    if (l.what.starts_with(what)) return &l;
  return nullptr;
}

bool has_note(const NcclBesideLog& both, std::string_view part) {
  for (const Note& n : both.comparison.notes)
    if (n.text.find(part) != std::string::npos) return true;
  return false;
}

std::string info(int rank, const std::string& message, const std::string& host = "box") {
  return host + ":" + std::to_string(100 + rank) + ":" + std::to_string(200 + rank) + " [0] NCCL INFO " + message + "\n";
}

// Eight ranks of one host, one GPU each; `numbers`: NVML's.
std::string members(const std::vector<int>& numbers, const std::vector<std::string>& buses = {}) {
  std::string text;
  for (std::size_t r = 0; r < numbers.size(); ++r)
    text += info(static_cast<int>(r), "ncclCommInitRank comm 0x5" + std::to_string(r) + " rank " + std::to_string(r) + " nranks " + std::to_string(numbers.size()) + " cudaDev " + std::to_string(r) + " nvmlDev " +
                                          std::to_string(numbers[r]) + " busId " + (buses.empty() ? "1000" : buses[r]) + " commId 0x1 - Init START");
  return text;
}

}  // namespace

TEST_CASE("public logs say what is decided for their machines", "[text][nccl]") {
  struct {
    const char* log;
    const char* xml;
    const char* request;
    std::size_t agree;
    std::set<std::string> differs;  // what, with the reason beside it
  } rows[] = {
      {"nccl-tests-307", "logs/rtx-4090-8x-icx.xml", R"({"p2p":"none"})", 7, {}},
      {"nccl-1358", "logs/pcie-2x-2sock.xml", "{}", 3, {}},
      {"nccl-1357", "logs/h100-8x-4nic.xml", "{}", 8, {}},
      // Releases before 2.28 take NVLS from three GPUs of a node on.
      {"nccl-1189", "logs/h20-2x.xml", "{}", 15, {"nvls channels"}},
      {"nccl-1189", "logs/h20-2x.xml", R"({"nccl":"2.27.3"})", 16, {}},
      // The release alone.
      {"nccl-tests-133", "logs/a800-8x-1nic.xml", "{}", 11, {"NCCL"}},
      {"nccl-tests-128", "logs/a100-8x-1nic.xml", R"({"gpus":[0,1,4,5]})", 6, {}},
      {"nccl-1259", "hgx-h100.xml", "{}", 4, {}},
      {"nccl-tests-100", "logs/hgx-a100-4nic.xml", "{}", 4, {}},
      {"a100-mesh", "logs/dgx-station-a100.xml", "{}", 6, {}},
      {"nccl-1646", "hgx-b200.xml", "{}", 4, {}},
      // An older constant: NVLinks of Volta were planned with 22 GB/s.
      {"nccl-713", "logs/v100-4x-nv2.xml", "{}", 5, {"ring graph"}},
      // The search of 2.7 turned the fourth ring by two.
      {"nccl-601", "logs/eth-4x.xml", "{}", 2, {"ring graph", "ring graph of channel 3"}},
  };
  for (const auto& row : rows) {
    const NcclLog log = log_of(file_text(kData + "logs/" + row.log + ".log"));
    const NcclBesideLog both = beside(row.xml, log, parse_json(row.request).value());
    std::set<std::string> differs;
    for (const NcclLogLine& l : both.comparison.lines) {
      if (!l.agrees) differs.insert(l.what);
      CHECK((l.agrees ? l.cause.empty() : !l.cause.empty() || l.what == "NCCL"));
    }
    INFO(row.log << "\n" << dump_json(write_log_comparison(both.comparison)));
    CHECK(differs == row.differs);
    CHECK(both.comparison.lines.size() - both.comparison.differ() == row.agree);
  }
}

TEST_CASE("the request of a log: GPUs by bus id or number, variables, release", "[text][nccl]") {
  // hgx-h100.xml: GPU 0 at a0:12.0, then every third bus.
  const NcclLog by_bus = log_of(members({0, 1, 2}, {"a0015000", "a0012000", "a0018000"}));
  std::vector<Note> notes;
  Json request = Json::object();
  request["xml"] = file_text(kData + "hgx-h100.xml");
  CHECK(request_of_log(by_bus, request, presets(), notes).at("gpus") == Json::array({0, 1, 2}));  // other buses: by number
  const NcclLog found = log_of(members({0, 1, 2}, {"a015000", "a012000", "a018000"}));
  CHECK(request_of_log(found, request, presets(), notes).at("gpus") == Json::array({1, 0, 2}));
  const NcclLog by_number = log_of(members({6, 4}));
  CHECK(request_of_log(by_number, request, presets(), notes).at("gpus") == Json::array({6, 4}));
  request["gpus"] = Json::array({1, 2});
  CHECK(request_of_log(by_number, request, presets(), notes).at("gpus") == Json::array({1, 2}));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text.find("bus id") != std::string::npos);

  const std::string environment = info(0, "NCCL_ALGO set by environment to Tree,Ring,,NVLS") + info(0, "NCCL_P2P_DISABLE set by environment to 1.") + info(0, "NCCL_IB_GID_INDEX set by environment to 3");
  const NcclBesideLog both = beside("hgx-h100.xml", log_of(info(0, "NCCL version 2.23.4+cuda12.4") + environment + members({0, 1, 2, 3}) + info(0, "Channel 00/02 : 0 1 2 3") + info(0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct")));
  CHECK(has_note(both, "set by the log and taken into the decision: NCCL_P2P_DISABLE=1"));
  CHECK(has_note(both, "NCCL_ALGO=Tree,Ring,,NVLS, as the log says, is left out"));
  CHECK(has_note(both, "compared with 2.27.3"));
  CHECK(both.answer.release.version == "2.27.3");
  CHECK(line_of(both, "0 -> 1")->agrees);
}

TEST_CASE("what differs is named with its usual cause", "[text][nccl]") {
  const std::string eight = members({0, 1, 2, 3, 4, 5, 6, 7});
  const auto note = [&](const std::string& text, std::string_view what, Json request = Json::object()) {
    const NcclBesideLog both = beside("hgx-h100.xml", log_of(eight + text), std::move(request));
    const NcclLogLine* line = line_of(both, what);
    return line == nullptr ? std::string("no such line") : line->agrees ? "agrees: " + line->note : line->note + line->cause;
  };
  const std::string counts = info(0, "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer");
  CHECK(note(info(0, "Channel 00/24 : 3 4 5 6 7 0 1 2"), "ring") == "agrees: the same ring, told from another rank");
  CHECK(note(info(0, "Channel 00/24 : 0 2 1 3 4 5 6 7"), "ring").find("CUDA_VISIBLE_DEVICES") != std::string::npos);
  CHECK(note(info(0, "Channel 30/32 : 0 1 2 3 4 5 6 7"), "ring of channel 30").find("NCCL_MIN_NCHANNELS") != std::string::npos);
  CHECK(note(info(0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"), "0 -> 1").find("ACS") != std::string::npos);
  CHECK(note(info(0, "P2P is disabled between connected GPUs 1 and 0.") + info(0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"), "0 -> 1").find("--p2p none") != std::string::npos);
  CHECK(note(info(0, "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0"), "0 -> 1").find("/dev/shm") != std::string::npos);
  CHECK(note(counts, "nvls channels").find("fabric manager") != std::string::npos);
  CHECK(note(counts + "box:100:200 [0] transport/nvls.cc:169 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory\n", "nvls channels").find("could not be bound, as NCCL warns") != std::string::npos);
  CHECK(note(counts + info(0, "NCCL_NVLS_ENABLE set by environment to 0."), "nvls channels") == "agrees: ");
  CHECK(note(info(0, "NCCL_TOPO_FILE set by environment to /etc/topo.xml") + info(0, "Channel 00/24 : 0 2 1 3 4 5 6 7"), "ring").find("NCCL_TOPO_FILE=/etc/topo.xml") != std::string::npos);
  CHECK(note(info(0, "AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}"), "all_reduce") == "agrees: ");
  CHECK(note(info(0, "TUNER/Plugin: Using tuner plugin nccl_ofi_tuner") + info(0, "AllReduce: 4096 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..1}"), "all_reduce").find("tuner plug-in") != std::string::npos);
  CHECK(note("", "ranks", parse_json(R"({"gpus":[0,1]})").value()).find("another communicator") != std::string::npos);

  // Two hosts on TCP, NICs that cannot reach GPU memory, one NIC of eight.
  std::string two;
  for (int r = 0; r < 16; ++r) two += info(r, "comm 0x5" + std::to_string(r) + " rank " + std::to_string(r) + " nranks 16 cudaDev " + std::to_string(r % 8) + " nvmlDev " + std::to_string(r % 8) + " busId 1 - Init COMPLETE", "host" + std::to_string(r / 8));
  const NcclBesideLog sockets = beside("hgx-h100.xml", log_of(two + info(0, "NET/IB : No device found.") + info(0, "Using network Socket")));
  CHECK(sockets.answer.request.hosts == 2);
  CHECK(line_of(sockets, "network")->cause.find("no InfiniBand or RoCE device") != std::string::npos);
  const NcclBesideLog staged = beside("hgx-h100.xml", log_of(two + info(0, "NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.5<0>") + info(0, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'") + info(0, "Using network IB") +
                                                             info(0, "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0")));
  CHECK(line_of(staged, "GPU Direct RDMA")->cause.find("nvidia_peermem") != std::string::npos);
  CHECK(line_of(staged, "NICs")->log == "1");
  CHECK_FALSE(line_of(staged, "0 -> 8")->agrees);
}

TEST_CASE("the verdict comes first, and a cause is said once", "[text][nccl]") {
  const std::string eight = members({0, 1, 2, 3, 4, 5, 6, 7});
  const NcclBesideLog turned = beside("hgx-h100.xml", log_of(eight + info(0, "Channel 00/24 : 0 2 1 3 4 5 6 7") + info(0, "Channel 01/24 : 0 3 1 2 4 5 6 7") + info(0, "Channel 02/24 : 0 4 1 2 3 5 6 7")));
  CHECK_FALSE(turned.comparison.is_other_machine);
  CHECK(turned.comparison.verdict.starts_with("2 of 5 things that the log says agree, 3 differ; likely cause: another order of GPUs"));
  CHECK(line_of(turned, "ring of channel 0")->cause.starts_with("usual cause: another order"));
  CHECK(line_of(turned, "ring of channel 1")->cause == "cause as for ring of channel 0");
  CHECK(line_of(turned, "ring of channel 2")->cause == "cause as for ring of channel 0");
  const std::string text = render_nccl(turned.answer, RenderFormat::text, &turned.comparison);
  CHECK(text.find("another order of GPUs") == text.rfind("another order of GPUs"));

  // What the log names goes before what is usual, whatever the number of lines.
  const NcclBesideLog named = beside("hgx-h100.xml", log_of(eight + info(0, "TUNER/Plugin: Using tuner plugin nccl_ofi_tuner") + info(0, "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer") +
                                                            info(0, "AllReduce: 4096 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..1}")));
  CHECK(named.comparison.verdict.find("likely cause: the tuner plug-in nccl_ofi_tuner") != std::string::npos);
}

TEST_CASE("a log of another machine gets one verdict and no causes", "[text][nccl]") {
  struct {
    const char* log;
    const char* xml;
    bool is_other;
    const char* part;
  } rows[] = {
      {"nccl-1357", "dgx1-v100.xml", true, "trees differ on 8 of 8 channels"},
      {"nccl-601", "dgx1-v100.xml", true, "ring graph: 4 x 1.2 GB/s by SYS, expected 2 x 12 GB/s by NVL"},
      {"nccl-tests-307", "hgx-h100.xml", true, "ring graph: 1 x 5 GB/s by SYS, expected 12 x 30 GB/s by NVL"},
      {"nccl-713", "logs/v100-4x-nv2.xml", false, "1 differs"},  // one planned rate
      {"nccl-601", "logs/eth-4x.xml", false, "2 differ"},
      {"nccl-tests-133", "logs/a800-8x-1nic.xml", false, "1 differs"},
  };
  for (const auto& row : rows) {
    const NcclBesideLog both = beside(row.xml, log_of(file_text(kData + "logs/" + row.log + ".log")));
    INFO(row.log << " on " << row.xml << ": " << both.comparison.verdict);
    CHECK(both.comparison.is_other_machine == row.is_other);
    CHECK(both.comparison.verdict.starts_with("This log looks to be of another machine") == row.is_other);
    CHECK(both.comparison.verdict.find(row.part) != std::string::npos);
    for (const NcclLogLine& l : both.comparison.lines) CHECK((!row.is_other || l.cause.empty()));
  }
  // The log says itself why it differs: no other machine.
  const std::string forbidden = file_text(kData + "logs/nccl-tests-307.log") + info(0, "P2P is disabled between connected GPUs 1 and 0.");
  CHECK_FALSE(beside("hgx-h100.xml", log_of(forbidden)).comparison.is_other_machine);
  // GPUs at other addresses, and fewer channels.
  const NcclBesideLog buses = beside("hgx-h100.xml", log_of(members({0, 1}, {"11000", "12000"}) + info(0, "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer")));
  CHECK(buses.comparison.verdict.find("no bus id of its GPUs is in the topology file; channels: 2, expected 24") != std::string::npos);
}

TEST_CASE("hosts and GPUs the machine does not have are the log's, not the user's", "[text][nccl]") {
  std::string four;
  for (int r = 0; r < 32; ++r) four += info(r, "comm 0x5" + std::to_string(r) + " rank " + std::to_string(r) + " nranks 32 cudaDev " + std::to_string(r % 8) + " busId 1 - Init COMPLETE", "host" + std::to_string(r / 8));
  const NcclBesideLog small = beside("rtx-4090-2x.xml", log_of(four));
  CHECK(small.comparison.is_other_machine);
  CHECK(small.comparison.verdict.starts_with("This log looks to be of another machine: it says 32 ranks on 4 hosts. What does not fit: "));
  CHECK(small.answer.decision.ranks == 2);
  CHECK(line_of(small, "ranks and hosts")->expected == "2 ranks on 1 host");
  CHECK_FALSE(has_note(small, "--"));
  // What the user states wrongly stays his.
  Json request = parse_json(R"({"gpus":[0,7]})").value();
  request["xml"] = file_text(kData + "rtx-4090-2x.xml");
  CHECK_FALSE(asked_nccl_beside_log(request, log_of(four), presets()));
  // One rank's output: its host count is unknown, not one.
  const NcclBesideLog one = beside("hgx-h100.xml", log_of(info(0, "comm 0x5 rank 0 nranks 32 cudaDev 0 busId 1 - Init COMPLETE")));
  CHECK(one.answer.request.hosts == 4);
  CHECK_FALSE(one.comparison.is_other_machine);
  CHECK(has_note(one, "taken as 32 ranks on 4 hosts"));
  CHECK(has_note(one, "the log says nothing of channels"));
  // Containers of two hosts with one name.
  std::string twins;
  for (int r = 0; r < 16; ++r) twins += info(r, "comm 0x5" + std::to_string(r) + " rank " + std::to_string(r) + " nRanks 16 nNodes 2 localRanks 8 localRank " + std::to_string(r % 8) + " MNNVL 0");
  CHECK(beside("hgx-h100.xml", log_of(twins)).answer.request.hosts == 2);
  const NcclBesideLog none = beside("hgx-h100.xml", log_of(info(0, "Bootstrap : Using eth0:10.0.0.5<0>")));
  CHECK(none.comparison.lines.empty());
  CHECK(none.comparison.verdict.starts_with("The log does not say which ranks there are"));
}

TEST_CASE("nothing is unusual only where nothing differs and nothing is found", "[text][nccl]") {
  const auto text_of_log = [](const std::string& log, const std::string& xml) {
    const NcclLog read = log_of(log);
    const NcclBesideLog both = beside(xml, read);
    return render_nccl_log(read, &both.comparison);
  };
  const std::string slow = text_of_log(file_text(kData + "logs/nccl-601.log"), "dgx1-v100.xml");
  CHECK(slow.find("Nothing unusual") == std::string::npos);
  CHECK(slow.find("NCCL plans its rings at 1.2 GB/s a channel") != std::string::npos);
  CHECK(slow.find("another machine") < slow.find("Findings"));
  const std::string differs = text_of_log(members({0, 1, 2, 3, 4, 5, 6, 7}) + info(0, "Channel 00/24 : 0 2 1 3 4 5 6 7"), "hgx-h100.xml");
  CHECK(differs.find("Nothing unusual") == std::string::npos);
  CHECK(differs.find("Nothing but what differs, see above.") != std::string::npos);
  const std::string agrees = text_of_log(file_text(kData + "logs/nccl-1259.log"), "hgx-h100.xml");
  CHECK(agrees.find("Nothing unusual.") != std::string::npos);
  // Two runs: said once.
  const std::string two = text_of_log(members({0, 1, 2, 3, 4, 5, 6, 7}) + members({0, 1}), "hgx-h100.xml");
  CHECK(two.find("2 communicators") != std::string::npos);
  CHECK(two.find("2 communicators") == two.rfind("2 communicators"));
}

TEST_CASE("where nothing is left to choose, a choice in the log differs", "[text][nccl]") {
  Json request = Json::object();
  request["env"] = parse_json(R"({"NCCL_ALGO":"NVLSTree","NCCL_PROTO":"LL"})").value();
  const NcclBesideLog both = beside("hgx-h100.xml", log_of(members({0, 1, 2, 3, 4, 5, 6, 7}) + info(0, "AllReduce: 4096 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}")), request);
  const NcclLogLine* choice = line_of(both, "all_reduce");
  REQUIRE(choice != nullptr);
  CHECK_FALSE(choice->agrees);
  CHECK(choice->expected == "no choice left by NCCL_ALGO and NCCL_PROTO");
}

TEST_CASE("a comparison as text and JSON", "[text][nccl]") {
  const NcclBesideLog both = beside("hgx-h100.xml", log_of(file_text(kData + "logs/nccl-1259.log")));
  const std::string text = render_nccl(both.answer, RenderFormat::text, &both.comparison);
  CHECK(text.find("4 of 4 things that the log says agree, 0 differ.") != std::string::npos);
  CHECK(text.find("Beside the log") < text.find("Paths between GPUs"));
  const Json j = write_log_comparison(both.comparison);
  CHECK(j.at("agree") == 4);
  CHECK(j.at("differ") == 0);
  CHECK(dump_json_compact(j.at("lines")[1]) == R"({"what":"ring of channel 16","log":"0 1 2 3 4 5 6 7","expected":"0 1 2 3 4 5 6 7","agrees":true,"note":""})");
}

TEST_CASE("what the request says otherwise than the log is no other machine", "[text][nccl]") {
  // hgx-h100.xml: its own GPUs at their buses, one ring on each of four channels.
  std::string text = members({0, 1, 2, 3, 4, 5, 6, 7}, {"a012000", "a015000", "a018000", "a01b000", "a01e000", "a021000", "a024000", "a027000"});
  for (int c = 0; c < 4; ++c) text += info(0, "Channel 0" + std::to_string(c) + "/04 : 0 1 2 3 4 5 6 7");
  text += info(0, "4 coll channels, 4 collnet channels, 0 nvls channels, 4 p2p channels, 4 p2p channels per peer");
  const NcclBesideLog fewer = beside("hgx-h100.xml", log_of(text));
  CHECK_FALSE(fewer.comparison.is_other_machine);
  CHECK(fewer.comparison.verdict.find("likely cause") != std::string::npos);
  const NcclBesideLog own = beside("hgx-h100.xml", log_of(text), parse_json(R"({"env":{"NCCL_MAX_NCHANNELS":"16"}})").value());
  CHECK(has_note(own, "asked for and not in the log, so that differences may come from it: NCCL_MAX_NCHANNELS"));
  const NcclBesideLog spread = beside("hgx-h100.xml", log_of(info(0, "ncclTopoPopulateNics") + text + info(0, "comm 0x5 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0")), parse_json(R"({"nodes":2})").value());
  CHECK(has_note(spread, "the log is of 1 host, asked is for 2 hosts"));
}

TEST_CASE("a log with more than is compared says so", "[text][nccl]") {
  std::string text = members({0, 1});
  for (int i = 0; i < 4000; ++i) text += info(0, "AllReduce: " + std::to_string(1024 * (i + 1)) + " Bytes -> Algo " + (i % 2 == 0 ? "RING" : "TREE") + " proto LL channel{Lo..Hi}={0..1}");
  const NcclBesideLog both = beside("hgx-h100.xml", log_of(text));
  CHECK(both.comparison.lines.size() <= 1001);
  CHECK(has_note(both, "more of connections and choices than is compared"));
}

TEST_CASE("logs that contradict themselves never crash", "[text][nccl]") {
  const std::string good = file_text(kData + "logs/nccl-1189.log") + file_text(kData + "logs/nccl-1357.log");
  std::mt19937 random(9);
  Json request = Json::object();
  request["xml"] = file_text(kData + "logs/h20-2x.xml");
  for (int i = 0; i < 400; ++i) {
    std::string text = good.substr(0, random() % 3 == 0 ? random() % good.size() : good.size());
    for (unsigned k = 0; k <= random() % 12 && !text.empty(); ++k) text[random() % text.size()] = static_cast<char>(random() % 3 == 0 ? random() : "0123456789 \n[]/->:,"[random() % 19]);
    const Result<NcclLog> log = read_nccl_log(text);
    if (!log) continue;
    const Result<NcclBesideLog> both = asked_nccl_beside_log(request, log.value(), presets());
    if (both) dump_json(write_log_comparison(both.value().comparison));
    else CHECK_FALSE(both.errors()[0].text.empty());
  }
}
