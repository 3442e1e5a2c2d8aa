#include "core/text/read_runs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "core/text/render_accuracy.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

const std::string kPlan = R"({"model":"gpt2","cluster":{"nodes":1,"node":"dgx-a100-80gb"}})";

std::string row(const std::string& rest) { return R"({"id":"a","source":"s","plan":)" + kPlan + ',' + rest + '}'; }

Runs runs_of(const std::string& lines) {
  Result<Runs> runs = read_runs(lines, presets());
  if (!runs) FAIL(runs.errors().front().path + ": " + runs.errors().front().text);
  return runs.value();
}

Errors errors_of(const std::string& lines) {
  Result<Runs> runs = read_runs(lines, presets());
  REQUIRE_FALSE(runs);
  return runs.errors();
}

// The reason for which a row, or a part of it, is left out.
std::string reason_of(const std::string& line) {
  const Runs runs = runs_of(line);
  REQUIRE(runs.skipped.size() == 1);
  return runs.skipped[0].reason;
}

}  // namespace

TEST_CASE("runs: every kind of row") {
  const Runs runs = runs_of(row(R"("measured":{"step_time_s":2,"mfu":null,"states":{"parameters":8}},"rank":0,"note":"x")") + "\n\n" +
                            row(R"("measured":{"allocated_bytes":5},"stage":0)") + "\r\n" + row(R"("outcome":"oom")") + '\n' +
                            R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_gather","gpus":4,"nodes":1,"dtype":"fp16","measured":[[1024,1e-5],[2048,2e-5]]})");
  REQUIRE(runs.runs.size() == 4);
  CHECK(runs.skipped.empty());
  REQUIRE(runs.runs[0].measured.size() == 2);
  CHECK(runs.runs[0].measured[0].metric == Metric::step_time);
  CHECK(runs.runs[0].measured[0].value == 2);
  CHECK(runs.runs[0].measured[1].metric == Metric::states_parameters);
  CHECK(runs.runs[0].rank == 0);
  CHECK(runs.runs[0].outcome == Outcome::unknown);  // states are read from code, not from a GPU
  CHECK(runs.runs[1].outcome == Outcome::fits);     // it was measured, so it ran
  CHECK(runs.runs[1].stage == 0);
  CHECK(runs.runs[2].outcome == Outcome::oom);
  REQUIRE(runs.runs[3].collective);
  CHECK(runs.runs[3].collective->gpus == 4);
  CHECK(runs.runs[3].collective->points.at(1).size == Bytes(2048));
}

TEST_CASE("runs: the place of the peak and the collectives") {
  const Runs runs = runs_of(row(R"("measured":{"collectives":[{"collective":"all_reduce","dtype":"fp32","ranks":8,"calls":13,"bytes":497759232}]},"event":{"phase":"backward","layer":"embedding"})") + '\n' +
                            row(R"("measured":{"collectives":[]},"event":{"phase":"forward","layer":3})") + '\n' + row(R"("measured":{"mfu":0.5},"event":{"phase":"loss","layer":null})"));
  REQUIRE(runs.runs.size() == 3);
  CHECK(runs.runs[0].collectives->at(0).calls == 13);
  CHECK(runs.runs[0].collectives->at(0).element == Element::fp32);
  CHECK(runs.runs[0].event->layer == -1);
  CHECK(runs.runs[1].collectives->empty());
  CHECK(runs.runs[1].event->phase == StepPhase::forward);
  CHECK(runs.runs[1].event->layer == 3);
  CHECK_FALSE(runs.runs[2].event->layer);
}

TEST_CASE("runs: lines that are no rows are errors with their line") {
  CHECK(errors_of("").at(0).text == "there is no row");
  CHECK(errors_of(" \n\r\n").at(0).text == "there is no row");
  const Errors errors = errors_of(row(R"("outcome":"oom")") + "\n\n{\"id\": oops}\n[1]\n");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].path == "line 3");
  CHECK(errors[0].text.find("line 1") == std::string::npos);
  CHECK(errors[0].text.find("column 8") != std::string::npos);
  CHECK(errors[1].path == "line 4");
  CHECK(errors[1].text == "a row is a JSON object, not [1]");
  CHECK(errors_of(std::string(100, '\n') + "{").at(0).path == "line 101");
  std::string many;
  for (int i = 0; i < 50; ++i) many += "?\n";
  CHECK(errors_of(many).size() == 10);
}

TEST_CASE("runs: a place that the plan does not have, and values that nothing can measure, are named") {
  CHECK(reason_of(row(R"("measured":{"allocated_bytes":5},"rank":8)")) == "rank 8 is not one of 8");
  CHECK(reason_of(row(R"("measured":{"allocated_bytes":5},"stage":-1)")) == "stage -1 is not one of 1");
  CHECK(reason_of(row(R"("measured":{"allocated_bytes":5},"rank":"first")")).find("rank must be a whole number") == 0);
  CHECK(reason_of(row(R"("measured":{"allocated_bytes":5},"event":{"phase":"forward","layer":12})")).find("event.layer 12 is not one of 12 layers") == 0);
  CHECK(reason_of(row(R"("measured":{"allocated_bytes":5},"event":{"phase":"forward","layer":[]})")).find("event.layer must be a whole number") == 0);
  CHECK(reason_of(row(R"("measured":{"allocated_bytes":-5})")).find("measured.allocated_bytes is out of range") == 0);
  CHECK(runs_of(row(R"("measured":{"after_forward_bytes":-5})")).skipped.empty());  // a difference
}

TEST_CASE("runs: what cannot be used is named, the rest is read") {
  CHECK(reason_of(R"({"id":"a","plan":{"model":"gpt3","cluster":"dgx-a100-80gb"},"outcome":"oom"})").find("gpt3") != std::string::npos);
  CHECK(reason_of(R"({"id":"a"})") == "it has neither a plan nor a cluster with a collective");
  CHECK(reason_of(row(R"("measured":{})")) == "nothing was measured that can be compared");
  CHECK(reason_of(row(R"("outcome":"maybe")")).find("maybe") != std::string::npos);
  CHECK(reason_of(row(R"("measured":5)")).find("measured") != std::string::npos);
  CHECK(reason_of(row(R"("measured":{"step_time_s":"2"})")).find("measured.step_time_s") != std::string::npos);
  CHECK(reason_of(row(R"("measured":{"mfu":0.5},"event":{"phase":"night"})")).find("event.phase") != std::string::npos);
  CHECK(reason_of(row(R"("measured":{"collectives":[{"collective":"all_reduce","dtype":"fp12","ranks":8,"calls":1,"bytes":1}]})")).find("fp12") != std::string::npos);
  CHECK(reason_of(R"({"id":"n","nccl":"2.28.9","topology_xml":"a.xml","graphs":[]})").find("--xml-dir") != std::string::npos);
  CHECK(reason_of(R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_sum","measured":[[1,1]]})").find("all_sum") != std::string::npos);
  CHECK(reason_of(R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_reduce","gpus":9,"measured":[[1,1]]})").find("9 GPUs") != std::string::npos);
  CHECK(reason_of(R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_reduce","measured":[[1,1],[2]]})").find("measured.1") != std::string::npos);
  CHECK(reason_of(R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_reduce","measured":{}})").find("measured") != std::string::npos);

  for (const char* value : {"1e-300", "-1e300", "1e19"})
    CHECK(reason_of(row(std::string(R"("measured":{"step_time_s":)") + value + "}")).find("out of range") != std::string::npos);
  CHECK(reason_of(R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_reduce","gpus":2147483647,"measured":[[1,1]]})").find("GPUs") != std::string::npos);
  CHECK(reason_of(R"({"id":"c","cluster":"dgx-a100-80gb","collective":"all_reduce","measured":[[-1,1]]})").find("measured.0") != std::string::npos);

  // A metric that is not known leaves the others.
  const Runs runs = runs_of(row(R"("measured":{"watts":300,"mfu":0.5})"));
  REQUIRE(runs.runs.size() == 1);
  CHECK(runs.runs[0].measured.size() == 1);
  REQUIRE(runs.skipped.size() == 1);
  CHECK(runs.skipped[0].id == "a");
  CHECK(runs.skipped[0].reason.find("watts") != std::string::npos);
  // A row without an id goes by its line.
  CHECK(runs_of("\n{}").skipped.at(0).id == "line 2");
}

TEST_CASE("accuracy as a document and as text") {
  const Accuracy a = accuracy(runs_of(row(R"("measured":{"step_time_s":2,"allocated_bytes":5e9},"event":{"phase":"loss"})") + '\n' + row(R"("measured":{"watts":3},"outcome":"fits")")), constants());
  const Json j = write_accuracy(a, GroupBy::nothing);
  std::vector<std::string> keys;
  for (const auto& [key, value] : j.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"rows", "skipped", "summary", "ranking", "verdicts"});
  CHECK(j.at("rows").size() == 3);
  CHECK(j.at("summary").at("step_time_s").at("count") == 1);
  CHECK(j.at("verdicts").at("fits_right") == 1);
  CHECK(j.at("skipped").at(0).at("id") == "a");
  CHECK(write_accuracy(a, GroupBy::machine).at("leave_out").at("groups").contains("dgx-a100-80gb"));

  const std::string text = render_accuracy(a, GroupBy::source, RenderFormat::text);
  for (const char* part : {"step_time_s", "loss", "Left out", "watts", "by source", "by framework", "No constant is refitted", "called fits or tight: 1"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(render_accuracy(a, GroupBy::nothing, RenderFormat::csv).starts_with("id,source,metric,what,size_bytes,measured,predicted,error\r\n"));
}

TEST_CASE("runs: a file of too many rows or points is refused") {
  std::string rows, points, sweep;
  for (int i = 0; i < 20'001; ++i) rows += "{}\n";
  const Errors too_many = errors_of(rows);
  REQUIRE(too_many.size() == 1);
  CHECK(too_many[0].path == "line 20001");
  CHECK(too_many[0].limit == "20,000 rows with 500,000 measured points in all");
  CHECK(runs_of(rows.substr(3)).skipped.size() == 20'000);

  for (int i = 0; i < 10'000; ++i) sweep += (i > 0 ? "," : "") + std::string("[") + std::to_string(1024 + i) + ",1e-5]";
  const std::string row_of_points = R"({"cluster":"dgx-a100-80gb","collective":"all_reduce","gpus":8,"measured":[)" + sweep + "]}\n";
  for (int i = 0; i < 52; ++i) points += row_of_points;
  const Errors too_long = errors_of(points);
  REQUIRE(too_long.size() == 1);
  CHECK(too_long[0].path == "line 52");
  CHECK(too_long[0].value == "510,000 points");
}
