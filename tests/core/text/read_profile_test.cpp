#include "core/text/read_profile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/core/describe/sound.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

Result<Profile> profile_of(std::string_view text) {
  Result<Json> json = parse_json(text);
  REQUIRE(json);
  return read_profile(json.value());
}

}  // namespace

TEST_CASE("points are sorted and repeats become their median", "[text]") {
  const Result<Profile> p = profile_of(R"({"schema":"wireplan.profile/1","collectives":[{"op":"all_reduce","ranks":8,
    "points":[[4096,5e-5],[1024,3e-5],[4096,1e-5],[4096,2e-5],[1024,1e-5]]}]})");
  REQUIRE(p);
  const MeasuredCurve& c = p.value().curves.at(0);
  REQUIRE(c.points.size() == 2);
  CHECK(c.points[0].size.value == 1024);
  CHECK(std::abs(c.points[0].time.value - 2e-5) < 1e-15);
  CHECK(c.points[1].size.value == 4096);
  CHECK(c.points[1].time.value == 2e-5);
  CHECK(c.nodes == 1);
  CHECK(c.gpus.empty());
}

TEST_CASE("a written profile reads back as the same", "[text]") {
  const char* documents[] = {
      "{}",
      R"({"machine":"a","date":"2025-01-01","software":["nccl 2.28",null],"collectives":[{"op":"send_recv","ranks":2,"nodes":2,"dtype":"fp8","launch":"process-per-gpu","points":[[7,1.1e-5]]}],
        "gemm":[{"m":1,"n":2,"k":3,"flops_per_s":4e9}],"hbm_bytes_per_s":1e12,"fit":[{"op":"reduce","link_class":"nvswitch","latency_s":1e-6,"bytes_per_s":2e9}]})"};
  for (const char* text : documents) {
    const Result<Profile> p = profile_of(text);
    REQUIRE(p);
    const Json written = write_profile(p.value());
    const Result<Profile> again = read_profile(written);
    INFO(dump_json(written));
    REQUIRE(again);
    CHECK(again.value() == p.value());
    CHECK(dump_json(write_profile(again.value())) == dump_json(written));
  }
}

TEST_CASE("very many wrong points are a short list of errors", "[text]") {
  std::string points;
  for (int i = 0; i < 10000; ++i) points += (i > 0 ? ",[" : "[") + std::to_string(i) + ",-1]";
  const Result<Profile> p = profile_of(R"({"collectives":[{"op":"all_reduce","ranks":8,"points":[)" + points + "]}]}");
  REQUIRE_FALSE(p);
  CHECK(p.errors().size() == 101);
  const Result<Profile> more = profile_of(R"({"collectives":[{"op":"all_reduce","ranks":8,"points":[[1,1],)" + points + "]}]}");
  REQUIRE_FALSE(more);
  CHECK(more.errors().size() == 1);
  CHECK(has_error(more.errors(), "collectives.0.points", "10,000"));
}

TEST_CASE("a profile made in code is judged as one that was read", "[text]") {
  Profile p;
  p.curves.emplace_back().points = {{Bytes(8), Seconds(1e-5)}, {Bytes(8), Seconds(1e-5)}};
  CHECK(has_error(validate(p, "profile"), "profile.collectives.0.points.1", "more than the size before it"));
  p.curves[0].points = {{Bytes(8), Seconds(0)}};
  CHECK(has_error(validate(p, ""), "collectives.0.points.0", "1e-9 to"));
}
