#include "core/text/read_run.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <string>

namespace wireplan {
namespace {

Json run_of(const std::string& hosts, const std::string& rows) {
  Result<Json> json = parse_json(R"({"schema":"wireplan.run/1","environment":{"date":"2026-05-04T10:00:00Z","backend":"mpi","hosts":)" + hosts + R"(,"gpus":[],"mpi":"Open MPI v4"},"rows":)" + rows + "}");
  REQUIRE(json);
  return json.value();
}

std::string row(const char* ranks, const char* size, const char* median, const char* more = "") {
  return std::string(R"({"op":"all_reduce","ranks":)") + ranks + R"(,"size_bytes":)" + size + R"(,"dtype":"float","in_place":false,"time_s":{"min":1e-6,"median":)" + median + R"(,"p95":1},"wrong":0,"status":"ok")" + more + "}";
}

}  // namespace

TEST_CASE("a run's rows are curves by operation and place", "[run]") {
  const std::string hosts = R"(["a","a","b","b"])";
  const auto curves = read_run_curves(run_of(hosts, "[" + row("[0,1,2,3]", "1024", "1e-5") + "," + row("[0,1,2,3]", "2048", "2e-5") + "," + row("[0,1]", "1024", "3e-5") + "," + row("[1,3]", "1024", "4e-5") + "," +
                                                          row("[2,0]", "1024", "5e-5") + "]"));
  REQUIRE(curves);
  REQUIRE(curves.value().size() == 4);
  const MeasuredCurve& all = curves.value()[0];
  CHECK(all.ranks == 4);
  CHECK(all.nodes == 2);
  CHECK(all.gpus.empty());  // every rank of each host
  CHECK(all.dtype == "float");
  CHECK(all.points == std::vector<MeasuredCurve::Point>{{Bytes(1024), Seconds(1e-5)}, {Bytes(2048), Seconds(2e-5)}});
  CHECK(curves.value()[1].nodes == 1);
  CHECK(curves.value()[1].gpus.empty());
  CHECK(curves.value()[2].nodes == 2);
  CHECK(curves.value()[2].gpus == std::vector<int>{1});  // the second of each
  CHECK(curves.value()[3].gpus == std::vector<int>{0});
}

TEST_CASE("groups of a host are kept apart", "[run]") {
  const auto curves = read_run_curves(run_of(R"(["a","a","a","a"])", "[" + row("[0,1]", "1024", "1e-5") + "," + row("[2,3]", "1024", "9e-5") + "," + row("[0,1]", "1024", "3e-5") + "]"));
  REQUIRE(curves);
  REQUIRE(curves.value().size() == 2);
  CHECK(curves.value()[0].gpus == std::vector<int>{0, 1});
  CHECK(std::abs(curves.value()[0].points.front().time.value - 2e-5) < 1e-12);  // the median of repeats
  CHECK(curves.value()[1].gpus == std::vector<int>{2, 3});
}

TEST_CASE("without hosts the GPUs of a node tell how many nodes there are", "[run]") {
  const auto nodes = [](int per_node) {
    const auto curves = read_run_curves(run_of("null", "[" + row("[0,1,2,3]", "1024", "1e-5") + "]"), per_node);
    REQUIRE(curves);
    return curves.value().at(0).nodes;
  };
  CHECK(nodes(0) == 1);
  CHECK(nodes(2) == 2);
  CHECK(nodes(3) == 2);
  CHECK(nodes(8) == 1);
}

TEST_CASE("rows that are no measurement are left out, and what went wrong is said", "[run]") {
  const std::string failed = R"({"op":"reduce","ranks":[0,1],"size_bytes":4096,"time_s":null,"status":"failed","message":"rank 1 has gone"})";
  std::string wrong = row("[0,1]", "8192", "1e-5");
  wrong.replace(wrong.find("\"wrong\":0"), 9, "\"wrong\":7");
  std::string in_place = row("[0,1]", "1024", "1e-5");
  in_place.replace(in_place.find("false"), 5, "true");
  const auto found = import_run(run_of(R"(["a","b"])", "[" + failed + "," + wrong + "," + in_place + "," + row("[0,1]", "2048", "1e-5") + "]"));
  REQUIRE(found);
  REQUIRE(found.value().profile.curves.size() == 1);
  CHECK(found.value().profile.curves[0].points.size() == 1);
  REQUIRE(found.value().notes.size() == 2);
  CHECK(found.value().notes[0].text == "reduce of 4 KiB failed: rank 1 has gone");
  CHECK(found.value().notes[1].text == "all_reduce of 8 KiB: 7 elements were wrong");
  CHECK(found.value().notes[1].severity == Severity::error);
  CHECK(found.value().profile.machine == "a");
  CHECK(found.value().profile.date == "2026-05-04");
  CHECK(found.value().profile.software == R"({"backend":"mpi","mpi":"Open MPI v4"})");
}

TEST_CASE("a rank by itself tries an installation, and is no curve", "[run]") {
  const auto curves = read_run_curves(run_of(R"(["a","a"])", "[" + row("[0]", "1024", "1e-5") + "," + row("[0,1]", "1024", "2e-5") + "]"));
  REQUIRE(curves);
  REQUIRE(curves.value().size() == 1);
  CHECK(curves.value()[0].ranks == 2);
}

TEST_CASE("a row that is not whole names its place", "[run]") {
  for (const char* bad : {R"({"op":"all_reduce","ranks":[],"size_bytes":1,"time_s":1})", R"({"op":"all_redcue","ranks":[0,1],"size_bytes":1,"time_s":1})", R"({"op":"all_reduce","ranks":[0,1],"time_s":1})",
                          R"({"op":"all_reduce","ranks":"all","size_bytes":1,"time_s":1})"}) {
    const auto curves = read_run_curves(run_of("null", "[" + row("[0,1]", "1024", "1e-5") + "," + bad + "]"));
    REQUIRE_FALSE(curves);
    CHECK(curves.errors()[0].path == "rows.1");
  }
  CHECK_FALSE(read_run_curves(parse_json(R"({"rows":{}})").value()));
  CHECK_FALSE(read_run_curves(parse_json("[]").value()));
}

TEST_CASE("what validate prints is read as well, and anything else as nccl-tests' text", "[run]") {
  const std::string report = R"({"rows":[{"op":"all_gather","ranks":16,"nodes":2,"size_bytes":1024,"time_s":1e-5,"predicted_s":1,"error":0,"within":true}],"fit":[],"findings":[],"tolerance":null,"within":true})";
  const auto found = import_measurements(report);
  REQUIRE(found);
  REQUIRE(found.value().profile.curves.size() == 1);
  CHECK(found.value().profile.curves[0].ranks == 16);
  CHECK(found.value().profile.curves[0].nodes == 2);
  CHECK_FALSE(is_run(parse_json(R"({"schema":"wireplan.profile/1","rows":[]})").value()));
  CHECK_FALSE(import_measurements("{\"rows\":[]}"));
  CHECK_FALSE(import_measurements("not a log"));
}

}  // namespace wireplan
