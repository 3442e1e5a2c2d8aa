// "Bus bandwidth against size", documents from outside, the better mapping.
#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core/text/import_nccl_tests.hpp"
#include "core/text/import_topology.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/read_profile.hpp"
#include "tests/frame/page.hpp"
#include "tests/support/files.hpp"
#include "web/adopt.hpp"
#include "web/values.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

std::string topology(const App& page, const char* file) {
  const Result<Cluster> read = import_topology(testing::file_text(file), {}, page.state.presets);
  REQUIRE(read);
  return dump_json_compact(write_cluster(read.value()));
}

// What the page says it took, after it drew itself.
Json adopt_now(const char* kind, const std::string& json) {
  const Json said = parse_json(page_adopt(kind, json.c_str())).value();
  draw_until_still();
  return said;
}

}  // namespace

TEST_CASE("the curve passes the time that the plan counts with, at the size it sends") {
  for (const char* id : {"story", "llama-3-70b-megatron", "deepseek-v3-2048", "llama-2-7b-rtx-4090"}) {
    INFO(id);
    App& page = page_at(1440, 3200);
    REQUIRE(page_open(id) == 1);
    draw_until_still();
    const Answer& a = page.state.answer;
    REQUIRE(a.shown_message >= 0);
    const MessageCost& shown = a.estimate.cost.messages[static_cast<std::size_t>(a.shown_message)];
    CHECK(a.chart.collective == shown.message.collective);
    CHECK(a.chart.ranks == shown.ranks);
    REQUIRE(!a.chart.predicted.empty());
    double last = 0;
    for (const auto& piece : a.chart.predicted) {
      REQUIRE(!piece.empty());
      for (const CollectiveChart::Point& p : piece) {
        CHECK(p.size.value >= last);
        last = p.size.value;
        CHECK((p.low.value > 0 && p.low <= p.bus && p.bus <= p.high));
      }
    }
    // Points are half an octave apart, so the nearest is within a fifth of the size, and rates move slower than sizes.
    const CollectiveChart::Point* near = a.chart.at(shown.message.bytes);
    REQUIRE(near != nullptr);
    const double rate = (bus_factor(shown.message.collective, shown.ranks) * shown.message.bytes / shown.call.time.value).value;
    CHECK(std::fabs(near->bus.value / rate - 1) < 0.2);
    CHECK(std::count_if(a.chart.sent.begin(), a.chart.sent.end(), [](const auto& s) { return s.is_shown; }) == 1);
    CHECK(is_drawn(page, "curve.plot"));
    CHECK(!row_text("collectives.curve").empty());
  }
}

TEST_CASE("NVLS stands beside the ring where the switch can reduce") {
  App& page = page_at(1440, 3200);
  page_edit("cluster", "hgx-h100-80gb");
  page_edit("parallel.data_sharding", "ddp");
  REQUIRE(page.state.errors.empty());
  const CollectiveChart& chart = page.state.answer.chart;
  CHECK(chart.collective == Collective::all_reduce);
  CHECK(std::any_of(chart.others.begin(), chart.others.end(), [](const auto& line) { return line.name == "ring"; }));
  REQUIRE(chart.predicted.size() > 1);  // it switches
  for (std::size_t i = 1; i < chart.predicted.size(); ++i) {
    const CollectiveCall &a = chart.predicted[i - 1].back().call, &b = chart.predicted[i].front().call;
    CHECK((a.algorithm != b.algorithm || a.protocol != b.protocol));
  }
}

TEST_CASE("a row of communication chooses what is drawn, until it goes") {
  App& page = page_at(1440, 3200);
  page_edit("strategy", "fsdp");
  draw_until_still();
  const std::size_t rows = page.state.answer.estimate.communication.size();
  REQUIRE(rows > 1);
  const int before = page.state.answer.shown_message, other = before == 0 ? 1 : 0;
  REQUIRE(press_on("communication." + std::to_string(other) + ".time_s"));
  CHECK(page.state.answer.shown_message == other);
  CHECK(page.state.answer.chart.key == "row." + std::to_string(other));
  const std::string name(page.state.answer.estimate.communication[static_cast<std::size_t>(other)].name);
  page_edit("training.micro_batch_size", "2");
  CHECK(page.state.answer.estimate.communication[static_cast<std::size_t>(page.state.answer.shown_message)].name == name);
  page_edit("strategy", "ddp");
  CHECK(page.state.view.shown.empty());
  page_view("shown", "row.99");
  CHECK(page.state.answer.chart.key == "row." + std::to_string(page.state.answer.shown_message));
}

TEST_CASE("one GPU has no curve, and says so") {
  App& page = page_at(390, 4200);
  page_edit("parallel.data", "1");
  draw_until_still();
  REQUIRE(page.state.errors.empty());
  CHECK(page.state.answer.chart.key.empty());
  CHECK(!is_drawn(page, "curve.plot"));
  CHECK(row_text("collectives.curve").empty());
}

TEST_CASE("a machine from outside becomes the cluster, and the plan follows") {
  App& page = page_at(1440, 2400);
  page_edit("strategy", "fsdp");
  const std::string before = page_export("json");
  const Json said = adopt_now("cluster", topology(page, "tests/data/topologies/topo-01.txt"));
  CHECK(said["errors"].empty());
  CHECK(said["changed"] == true);
  const Plan& plan = page.state.answer.plan;
  CHECK(plan.cluster.node.wiring.kind == WiringKind::nvlink_mesh);
  CHECK(plan.cluster.gpus_per_node == 8);
  CHECK(plan.parallel.data == 8);
  CHECK(page.state.answer.chart.ranks == 8);
  CHECK(std::string(page_export("json")) != before);
  page_undo();
  CHECK(std::string(page_export("json")) == before);
}

TEST_CASE("sizes that do not divide the machine follow it") {
  App& page = page_at(1440, 2400);
  page_edit("cluster.gpus_per_node", "8");
  page_edit("parallel.tensor", "8");
  page_edit("training.global_batch_size", "5");
  REQUIRE(page.state.errors.empty());
  const Json said = adopt_now("cluster", topology(page, "tests/data/topologies/topo-05.txt"));
  CHECK(said["errors"].empty());
  CHECK(page.state.answer.plan.parallel.tensor == 4);
  CHECK(page.state.answer.plan.parallel.data == 1);
  REQUIRE(said["followed"].size() == 1);
  CHECK(said["followed"][0]["path"] == "parallel.tensor");
  CHECK(said["followed"][0]["to"] == "4");
}

TEST_CASE("what cannot be read changes nothing") {
  page_at(1440, 2400);
  const std::string before = page_state();
  for (const auto& [kind, json] : {std::pair{"cluster", "{\"node\":\"no-such-node\"}"},
                                   {"cluster", "[]"},
                                   {"cluster", "{\"node\":"},
                                   {"profile", "{}x"},
                                   {"profile", R"({"collectives":[{"op":"all_reduce","ranks":1,"points":[]}]})"},
                                   {"plan", R"({"model":7})"},
                                   {"plan", "null"},
                                   {"plan", ""}}) {
    INFO(kind << ' ' << json);
    const Json said = adopt_now(kind, json);
    CHECK(!said["errors"].empty());
    CHECK(!said["errors"][0]["text"].get<std::string>().empty());
    CHECK(said["changed"] == false);
    CHECK(std::string(page_state()) == before);
  }
}

TEST_CASE("measurements are drawn and decide") {
  App& page = page_at(1440, 3200);
  page_edit("cluster", "dgx-a100-40gb");
  page_edit("strategy", "ddp");
  REQUIRE(page.state.errors.empty());
  const Result<ImportedMeasurements> log = import_nccl_tests(testing::file_text("tests/data/nccl_tests/all_gather_2.10.txt"));
  REQUIRE(log);
  CHECK(adopt_now("profile", dump_json_compact(write_profile(log.value().profile)))["changed"] == true);
  // The plan sends no all_gather: what was measured is shown by itself.
  const CollectiveChart& chart = page.state.answer.chart;
  CHECK(chart.key == "curve.0");
  CHECK(chart.collective == Collective::all_gather);
  REQUIRE(chart.measured.size() == 5);
  CHECK(chart.worst_error > 0);
  const CollectiveChart::Measured& large = chart.measured.back();
  const CollectiveChart::Point* beside = chart.at(large.size);
  REQUIRE(beside != nullptr);
  CHECK(beside->call.basis == Basis::profile);
  CHECK(std::fabs(beside->bus / large.bus - 1) < 0.05);
  CHECK(row_text("collectives.basis").find("your measurements") != std::string::npos);
  CHECK(!row_text("collectives.points.0").empty());
  // Of a second log other curves stay.
  const Result<ImportedMeasurements> again = import_nccl_tests(testing::file_text("tests/data/nccl_tests/all_reduce_2.13.txt"));
  REQUIRE(again);
  adopt_now("profile", dump_json_compact(write_profile(again.value().profile)));
  CHECK(page.state.answer.plan.cluster.profile->curves.size() == log.value().profile.curves.size() + again.value().profile.curves.size());
  page_undo();
  page_undo();
  CHECK(!page.state.answer.plan.cluster.profile);
  CHECK(page.state.answer.chart.measured.empty());
}

TEST_CASE("a machine of one's own takes the place of one that was measured") {
  App& page = page_at(1440, 3200);
  const std::string machine = topology(page, "tests/data/topologies/topo-01.txt");
  const Result<ImportedMeasurements> log = import_nccl_tests(testing::file_text("tests/data/nccl_tests/all_gather_2.10.txt"));
  REQUIRE(log);
  REQUIRE(page_open("#v=1&m=mistral-7b-v0.1&c=dgx-a100-40gb&ds=fsdp"));  // a document without "training"
  CHECK(adopt_now("profile", dump_json_compact(write_profile(log.value().profile)))["changed"] == true);
  draw_until_still();
  const Json said = adopt_now("cluster", machine);
  CHECK(said["changed"] == true);
  draw_until_still();
  CHECK(page.state.errors.empty());
  CHECK(page.state.answer.plan.cluster.gpus_per_node == 8);
  for (int i = 0; i < 3; ++i) page_undo();
}

TEST_CASE("the paste button asks the frame for its dialog") {
  page_at(1440, 2400);
  said() = {};
  REQUIRE(press_on("in.paste"));
  CHECK(said().asked == "paste");
}

TEST_CASE("other links and the errors are asked of the frame: at the curve of more GPUs, and below an estimate's value") {
  for (const int width : {1440, 390}) {
    App& page = page_at(width, width < 720 ? 5000 : 2400);
    draw_until_still();
    said() = {};
    REQUIRE(press_on("links.ask"));
    CHECK(said().asked == "links");
    if (width < 720) CHECK(rect_of(page, "links.ask").h >= 44);
  }
  App& page = page_at(1440, 2400);
  page_view("explain", "memory.states.parameters");  // a count has no error
  draw_until_still();
  CHECK(!is_drawn(page, "accuracy.ask"));
  page_view("explain", "step.time_s");
  draw_until_still();
  said() = {};
  REQUIRE(press_on("accuracy.ask"));
  CHECK(said().asked == "accuracy");
  page_view("explain", "");
}

TEST_CASE("without peer access host memory is drawn") {
  App& page = page_at(1440, 2400);
  page_edit("strategy", "fsdp");
  draw_until_still();
  CHECK(!is_drawn(page, "wiring.dram.cpu0"));
  REQUIRE(press_on("wiring.no-p2p"));
  draw_until_still();
  CHECK(is_drawn(page, "wiring.dram.cpu0"));
}

TEST_CASE("a better mapping is found when nothing waits, and taken in one edit") {
  App& page = page_at(1440, 2400);
  page_edit("cluster", "a100-80gb-pcie-4x-pairs");
  page_edit("parallel.tensor", "2");
  page_edit("parallel.placement", "[0,2,1,3]");
  REQUIRE(page.state.errors.empty());
  CHECK(!page.state.answer.mapping);
  draw_until_still();
  REQUIRE(page.state.answer.mapping);
  REQUIRE(page.state.answer.mapping->is_better);
  CHECK(!row_text("collectives.mapping").empty());
  const double before = page.state.answer.estimate.step.time.value.value;
  REQUIRE(press_on("mapping.try"));
  CHECK(page.state.errors.empty());
  CHECK(page.state.answer.estimate.step.time.value.value < before);
  draw_until_still();
  CHECK((page.state.answer.mapping && !page.state.answer.mapping->is_better));
  CHECK(!is_drawn(page, "mapping.try"));
  CHECK(draw_until_still() == 0);
  page_undo();
  CHECK(page.state.answer.estimate.step.time.value.value == before);
}
