// Every line of tests/data/nccl_graphs.jsonl, which NCCL 2.28.9's own code made, against the document of the same request.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/text/nccl_request.hpp"
#include "core/text/presets.hpp"
#include "tests/support/files.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

constexpr double kSameRate = 1e-4;  // the lines give six digits, NCCL reckons in floats
constexpr double kSameTime = 5e-4;

// Cases in which NCCL's answer is that of its input alone, and why.
struct Exception { const char *id, *why; };
constexpr Exception kExceptions[] = {
    {"ng-110", "two hosts of a rack were given by one file, so their NICs have the same GUIDs and NCCL took each pair of them for the ports of one card; NICs of real hosts differ"},
};
const char* why_different(const std::string& id) {
  for (const Exception& e : kExceptions)
    if (id == e.id) return e.why;
  return nullptr;
}

std::vector<Json> cases() {
  std::vector<Json> all;
  std::istringstream text(file_text("tests/data/nccl_graphs.jsonl"));
  for (std::string line; std::getline(text, line);) all.push_back(Json::parse(line));
  return all;
}

Json request_of(const Json& line) {
  Json request = {{"xml", file_text("tests/data/nccl/" + line["topology_xml"].get<std::string>())}};
  for (const char* key : {"nccl", "nodes", "gpus", "p2p", "gpudirect", "rack_nodes", "env"})
    if (line.contains(key)) request[key] = line[key];
  return request;
}

// "" where the two are the same: numbers within `tolerance`, the rest exactly; else where they are not. Of an object the keys of `expected` count.
std::string difference(const Json& found, const Json& expected, double tolerance, const std::string& path) {
  if (expected.is_number() && found.is_number()) {
    const double a = found.get<double>(), b = expected.get<double>();
    return std::fabs(a - b) <= tolerance * std::fabs(b) ? "" : path + ": " + found.dump() + ", not " + expected.dump();
  }
  if (expected.is_array() && found.is_array() && expected.size() == found.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (std::string d = difference(found[i], expected[i], tolerance, path + '.' + std::to_string(i)); !d.empty()) return d;
    return "";
  }
  if (expected.is_object() && found.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (!found.contains(key)) return path + " has no " + key;
      const bool is_rate = key.ends_with("bytes_per_s");
      if (std::string d = difference(found[key], value, is_rate ? tolerance : 0, path + '.' + key); !d.empty()) return d;
    }
    return "";
  }
  return found == expected ? "" : path + ": " + found.dump().substr(0, 200) + ", not " + expected.dump().substr(0, 200);
}

// NCCL lists a graph it found no channel for; such a one is no decision.
Json with_channels(const Json& graphs) {
  Json some = Json::array();
  for (const Json& g : graphs)
    if (g["channels"] != 0) some.push_back(g);
  return some;
}

// The GPUs that documents show.
Json first_eight(Json paths) {
  for (auto& [key, rows] : paths.items()) {
    while (rows.size() > 8) rows.erase(8);
    for (Json& row : rows)
      while (row.size() > 8) row.erase(8);
  }
  return paths;
}

// [size, algorithm, protocol, time, channels allowed, threads, channels], of the sizes that the line gives.
std::string choices_difference(const Json& found, const Json& expected) {
  for (std::size_t op = 0; op < expected.size(); ++op) {
    const std::string name = expected[op]["op"];
    if (found[op]["op"] != name) return "choices." + std::to_string(op) + " is not of " + name;
    for (const Json& point : expected[op]["points"]) {
      std::optional<Json> same_size;
      for (const Json& p : found[op]["points"])
        if (p[0] == point[0]) same_size = p;
      const std::string path = name + " of " + point[0].dump() + " bytes";
      if (!same_size) return path + ": no choice";
      for (std::size_t i = 1; i < point.size(); ++i)
        if (std::string d = difference((*same_size)[i], point[i], i == 3 ? kSameTime : 0, path); !d.empty()) return d;
    }
    if (std::string d = difference(found[op]["switches"], expected[op]["switches"], 0, name + ".switches"); !d.empty()) return d;
  }
  return "";
}

}  // namespace

TEST_CASE("NCCL's decisions: as NCCL 2.28.9 made them", "[nccl]") {
  const Presets presets;
  const std::vector<Json> all = cases();
  REQUIRE(all.size() >= 60);
  for (const Json& line : all) {
    const std::string id = line["id"];
    INFO(id << ": " << line["topology_xml"] << ", " << line["nodes"] << " hosts, GPUs " << line["gpus"] << (line.contains("env") ? ", " + line["env"].dump() : ""));
    const Result<NcclAnswer> answer = asked_nccl(request_of(line), presets);
    REQUIRE(answer);
    const Json found = write_nccl(answer.value());
    CHECK(difference(found["nccl_nodes"], line["nccl_nodes"], 0, "nccl_nodes") == "");
    CHECK(difference(found["ranks"], line["ranks"], 0, "ranks") == "");
    CHECK(difference(found["paths"], first_eight(line["paths"]), kSameRate, "paths") == "");
    CHECK(difference(found["channels"], line["channels"], 0, "channels") == "");
    CHECK(difference(found["trees"], line["trees"], 0, "trees") == "");
    const std::string graphs = difference(found["graphs"], with_channels(line["graphs"]), kSameRate, "graphs");
    const std::string rings = difference(found["rings"], line["rings"], 0, "rings");
    const std::string choices = choices_difference(found["choices"], line["choices"]);
    if (const char* why = why_different(id)) {
      INFO(why);
      CHECK(!graphs.empty());  // else it is no exception any more
      continue;
    }
    CHECK(difference(found["max_bytes_per_s"], line["max_bytes_per_s"], kSameRate, "max_bytes_per_s") == "");
    CHECK(difference(found["total_bytes_per_s"], line["total_bytes_per_s"], kSameRate, "total_bytes_per_s") == "");
    CHECK(graphs == "");
    CHECK(rings == "");
    CHECK(choices == "");
  }
}

TEST_CASE("NCCL's decisions: the cases cover what there is", "[nccl]") {
  std::set<std::string> seen;
  for (const Json& line : cases()) {
    if (line.contains("env"))
      for (const auto& [name, value] : line["env"].items()) seen.insert(name);
    seen.insert(line["nodes"] == 1 ? "one host" : line["nodes"] >= 16 ? "many hosts" : "several hosts");
    if (line["nccl_nodes"] > line["nodes"]) seen.insert("a host that falls apart");
    if (line["nccl_nodes"] < line["nodes"]) seen.insert("a rack");
    if (line["p2p"] == "none" || line["p2p"].get<std::string>().find('/') != std::string::npos) seen.insert(line["p2p"] == "none" ? "no P2P" : "P2P of some");
    for (const Json& g : line["graphs"]) {
      if (g["channels"] != 0) seen.insert(g["pattern"].get<std::string>());
      if (g["intra_bytes_per_s"] <= 1e8 && g["channels"] == 1) seen.insert("rank order, found by no search");
    }
    for (const Json& choice : line["choices"])
      for (const Json& point : choice["points"]) seen.insert(point[1].get<std::string>() + '/' + point[2].get<std::string>());
  }
  for (const char* kind : {"one host", "several hosts", "many hosts", "a host that falls apart", "a rack", "no P2P", "P2P of some", "ring", "tree", "balanced-tree", "nvls", "rank order, found by no search",
                           "ring/ll", "ring/ll128", "ring/simple", "tree/ll", "tree/ll128", "tree/simple", "nvls/simple", "nvls-tree/simple", "pat/simple", "NCCL_ALGO", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL",
                           "NCCL_CROSS_NIC", "NCCL_NET_DISABLE_INTRA", "NCCL_NET_GDR_LEVEL", "NCCL_NVB_DISABLE", "NCCL_NVLS_ENABLE", "NCCL_PXN_DISABLE"}) {
    INFO(kind);
    CHECK(seen.contains(kind));
  }
}
