// Decisions that are known beside ours: what counts as the same, and how it is read and shown.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <sstream>
#include <string>

#include "core/answer/accuracy.hpp"
#include "core/text/presets.hpp"
#include "core/text/read_runs.hpp"
#include "core/text/render_accuracy.hpp"
#include "tests/support/files.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

const Presets& presets() {
  static const Presets all;
  return all;
}

Result<std::string> topology(const std::string& name) {
  std::string text = file_text("tests/data/nccl/" + name);
  if (text.empty()) return Error{"", name, "a file that can be read", "there is no file " + name};
  return text;
}

Json line_of(const std::string& id) {
  std::istringstream text(file_text("tests/data/nccl_graphs.jsonl"));
  for (std::string line; std::getline(text, line);)
    if (Json json = Json::parse(line); json["id"] == id) return json;
  FAIL("no line " << id);
  return {};
}

Runs runs_of(const Json& line, const TopologyText& files = topology) {
  Result<Runs> runs = read_runs(line.dump(), presets(), files);
  REQUIRE(runs);
  return std::move(runs.value());
}

std::string reason(const Json& line, const TopologyText& files = topology) {
  const Runs runs = runs_of(line, files);
  REQUIRE(runs.runs.empty());
  REQUIRE(runs.skipped.size() == 1);
  return runs.skipped.front().reason;
}

Accuracy accuracy_of(const Json& line) { return accuracy(runs_of(line), presets().constants().value()); }

// Metrics in which a row is wrong.
std::vector<std::string> wrong(const Accuracy& a) {
  std::vector<std::string> metrics;
  for (const ErrorRow& row : a.rows)
    if (row.error != 0 && row.metric != Metric::nccl_time) metrics.push_back(std::string(name_of(row.metric)));
  return metrics;
}

}  // namespace

TEST_CASE("known decisions: a case that is met is right in each part, and in time") {
  const Accuracy a = accuracy_of(line_of("ng-055"));  // 8 hosts, one GPU each: PAT, trees, rings
  CHECK(wrong(a).empty());
  std::size_t times = 0;
  for (const ErrorRow& row : a.rows)
    if (row.metric == Metric::nccl_time) {
      ++times;
      CHECK(std::fabs(row.error) < 5e-4);
      CHECK(row.size);
    }
  CHECK(times == 30);  // five operations, six sizes
  const Json document = write_accuracy(a, GroupBy::nothing);
  for (const char* metric : {"nccl.nodes", "nccl.paths", "nccl.graphs", "nccl.rings", "nccl.trees"}) CHECK(document["summary"][metric]["count"] == 1);
  CHECK(document["summary"]["nccl.choice"]["count"] == 30);
  CHECK(document["rows"].size() == 65);
}

TEST_CASE("known decisions: each part that is changed is wrong, and it alone") {
  const Json line = line_of("ng-055");
  const auto changed = [&](const auto& change) {
    Json other = line;
    change(other);
    return wrong(accuracy_of(other));
  };
  using Metrics = std::vector<std::string>;
  CHECK(changed([](Json& j) { j["nccl_nodes"] = 7; }) == Metrics{"nccl.nodes"});
  CHECK(changed([](Json& j) { j["paths"]["types"][0][0] = "NVL"; }) == Metrics{"nccl.paths"});
  CHECK(changed([](Json& j) { j["paths"]["bytes_per_s"][0][0] = 5000000000000 * 1.0002; }) == Metrics{"nccl.paths"});
  CHECK(changed([](Json& j) { j["paths"]["bytes_per_s"][0][0] = 5000000000000 * 1.00005; }).empty());
  CHECK(changed([](Json& j) { j["paths"]["transport"][0][0] = "NET"; }) == Metrics{"nccl.paths"});
  for (const char* key : {"channels", "cross_nic", "intra_bytes_per_s", "inter_bytes_per_s"})
    CHECK(changed([&](Json& j) { j["graphs"][0][key] = j["graphs"][0][key].get<double>() + 1000000000; }) == Metrics{"nccl.graphs"});
  for (const char* key : {"intra_type", "inter_type"}) CHECK(changed([&](Json& j) { j["graphs"][0][key] = "SYS"; }) == Metrics{"nccl.graphs"});
  CHECK(changed([](Json& j) { j["graphs"][0]["same_channels"] = 1 - j["graphs"][0]["same_channels"].get<int>(); }) == Metrics{"nccl.graphs"});
  CHECK(changed([](Json& j) { j["graphs"].erase(0); }) == Metrics{"nccl.graphs"});
  // A graph without channels is none.
  CHECK(changed([](Json& j) { j["graphs"].push_back({{"pattern", "nvls"}, {"channels", 0}}); }).empty());
  CHECK(changed([](Json& j) { std::swap(j["rings"][0]["order"][1], j["rings"][0]["order"][2]); }) == Metrics{"nccl.rings"});
  CHECK(changed([](Json& j) { j["rings"][0]["channels"].erase(0); }) == Metrics{"nccl.rings"});
  CHECK(changed([](Json& j) { j["trees"][0]["parent"][1] = 5; }) == Metrics{"nccl.trees"});
  CHECK(changed([](Json& j) { std::reverse(j["trees"].begin(), j["trees"].end()); }).empty());
  CHECK(changed([](Json& j) { j["choices"][0]["points"][0][2] = "ll128"; }) == Metrics{"nccl.choice"});
}

TEST_CASE("known decisions: a wrong choice has no time; what differs is shown first") {
  Json line = line_of("ng-055");
  line["choices"][0]["points"][0][1] = "nvls";
  line["choices"][0]["points"][1][3] = line["choices"][0]["points"][1][3].get<double>() * 2;
  line["rings"][0]["order"][1] = 99;
  const Accuracy a = accuracy_of(line);
  CHECK(std::count_if(a.rows.begin(), a.rows.end(), [](const ErrorRow& r) { return r.metric == Metric::nccl_time; }) == 29);
  const std::string text = render_accuracy(a, GroupBy::nothing, RenderFormat::text);
  CHECK(text.find("nvls ll") != std::string::npos);
  CHECK(text.find("nccl.rings") < text.find("cases right in all"));
  CHECK(text.find("nccl.rings") < text.find("right      of"));
  const std::string last = text.substr(text.find("cases right in all"));
  CHECK(last.substr(0, last.find(" %")).find_first_of("123456789") == last.find(" 1 ") + 1);  // none of one
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);) CHECK(row.size() <= 110);  // bytes; … and µ have more than one
}

TEST_CASE("known decisions: the known difference and all others of the committed cases") {
  Result<Runs> runs = read_runs(file_text("tests/data/nccl_graphs.jsonl"), presets(), topology);
  REQUIRE(runs);
  CHECK(runs.value().skipped.empty());
  const Accuracy a = accuracy(std::move(runs.value()), presets().constants().value());
  for (const ErrorRow& row : a.rows)
    if (row.error != 0 && row.metric != Metric::nccl_time) CHECK(a.runs.runs[row.run].id == "ng-110");
  const std::string text = render_accuracy(a, GroupBy::nothing, RenderFormat::text);
  CHECK(text.size() < 6000);
}

TEST_CASE("known decisions: what cannot be compared is named") {
  const Json line = line_of("ng-055");
  const auto changed = [&](const char* key, const Json& value) {
    Json other = line;
    other[key] = value;
    return reason(other);
  };
  CHECK(reason(line, {}).find("--xml-dir") != std::string::npos);
  CHECK(changed("topology_xml", "nowhere.xml") == "topology_xml \"nowhere.xml\": there is no file nowhere.xml");
  bool was_asked = false;
  const TopologyText never = [&](const std::string&) -> Result<std::string> {
    was_asked = true;
    return std::string();
  };
  for (const char* name : {"../nccl/hgx-h100.xml", "/etc/hostname", "..", ".", "", "a/b.xml", "a\\b.xml", "c:x.xml", ".hidden"}) {
    Json other = line;
    other["topology_xml"] = name;
    CHECK(reason(other, never).find("without a path") != std::string::npos);
  }
  CHECK(!was_asked);
  CHECK(changed("topology_xml", std::string("a.xml\0b", 7)).find("without a path") != std::string::npos);
  CHECK(changed("topology_xml", 5).find("topology_xml") != std::string::npos);
  CHECK(changed("topology_xml", nullptr).find("topology_xml") != std::string::npos);
  CHECK(changed("nccl", "9.9").find("9.9") != std::string::npos);
  CHECK(changed("gpus", {0, 0}).find("twice") != std::string::npos);
  CHECK(changed("nodes", 0).find("nodes") != std::string::npos);
  CHECK(changed("env", {{"NCCL_ALGO", "Foo"}}).find("NCCL_ALGO") != std::string::npos);
  CHECK(changed("paths", {{"types", {{"LOC"}}}}).find("paths.") != std::string::npos);
  CHECK(changed("paths", {{"types", {{"FAR"}}}, {"bytes_per_s", {{1}}}, {"transport", {{"-"}}}}).find("FAR") != std::string::npos);
  CHECK(changed("graphs", 5).find("graphs") != std::string::npos);
  CHECK(changed("graphs", {{{"channels", 1}}}).find("graphs.0") != std::string::npos);
  CHECK(changed("rings", {{{"order", {"a"}}}}).find("rings.0") != std::string::npos);
  CHECK(changed("trees", {7}).find("trees.0") != std::string::npos);
  CHECK(changed("choices", {{{"op", "all_sum"}}}).find("all_sum") != std::string::npos);
  CHECK(changed("choices", {{{"op", "reduce"}, {"points", {{1024, "ring", "ll", 0}}}}}).find("points.0") != std::string::npos);
  CHECK(changed("choices", {{{"op", "reduce"}, {"points", {{1024, "ring"}}}}}).find("points.0") != std::string::npos);
  Json nothing = {{"id", "n"}, {"topology_xml", "hgx-h100.xml"}};
  CHECK(reason(nothing).find("nothing NCCL decided") != std::string::npos);
}
