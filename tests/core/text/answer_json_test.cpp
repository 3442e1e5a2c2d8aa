#include "tests/support/plans.hpp"
#include "core/text/answer_json.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text/request.hpp"

using namespace wireplan;

namespace {

const Presets presets;

StatedPlan story(const char* sharding) {
  const Json request{{"plan", "story"}, {"set", Json::array({Json::array({"parallel.data_sharding", sharding})})}};
  Result<StatedPlan> stated = stated_plan(request, presets);
  REQUIRE(stated);
  return stated.value();
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> list;
  for (auto it = json.begin(); it != json.end(); ++it) list.push_back(it.key());
  return list;
}

}  // namespace

TEST_CASE("the estimate document holds the struct's numbers under their names", "[answer_json]") {
  const StatedPlan stated = story("ddp");
  Estimate e;
  e.parameters = 7;
  e.memory.capacity = Bytes(80);
  e.memory.verdict = Verdict::may_not_fit;
  e.memory.states.optimizer_states = Bytes(12);
  e.memory.need = {Bytes(1), Bytes(2.5), Bytes(3)};
  e.memory.ranks = {{2, Bytes(4), Bytes(5), Bytes(6)}};
  e.memory.first_step = Bytes(9);
  e.communication.resize(1);
  e.communication[0].name = "bucket";
  e.communication[0].collective = Collective::reduce_scatter;
  e.communication[0].dimension = GroupKind::expert_data;
  e.communication[0].time = {Seconds(0.1), Seconds(0.2), Seconds(0.3)};
  e.step.on_ideal_wiring = Seconds(1.5);
  e.notes = {{Severity::warning, "training", "provisional"}};
  Json json = write_estimate(stated.plan, e);

  CHECK(json["model"]["parameters"] == 7);
  CHECK(json["memory"]["capacity_bytes"] == 80);
  CHECK(json["memory"]["verdict"] == "may-not-fit");
  CHECK(json["memory"]["states"]["optimizer_states"] == 12);
  CHECK(dump_json_compact(json["memory"]["need_bytes"]) == R"({"low":1,"value":2.5,"high":3})");
  CHECK(dump_json_compact(json["memory"]["ranks"]) == R"([{"stage":2,"allocated_bytes":4,"reserved_bytes":5,"device_bytes":6}])");
  CHECK(json["memory"]["phases"]["first_step"] == 9);
  CHECK(json["communication"][0]["name"] == "bucket");
  CHECK(json["communication"][0]["collective"] == "reduce_scatter");
  CHECK(json["communication"][0]["dimension"] == "expert-data");
  CHECK(dump_json_compact(json["communication"][0]["time_s"]) == R"({"low":0.1,"value":0.2,"high":0.3})");
  CHECK(json["step"]["on_ideal_wiring_s"] == 1.5);
  CHECK(dump_json_compact(json["notes"]) == R"([{"severity":"warning","path":"training","text":"provisional"}])");
  CHECK(json["engine"] == std::string(kEngineVersion));
  CHECK(keys(json) == std::vector<std::string>{"schema", "engine", "plan", "assumed", "model", "memory", "communication", "wiring", "step", "notes"});

  SECTION("whether the host's memory suffices: yes, no, or not known") {
    CHECK(json["memory"]["fits_host"].is_null());
    for (int known : {0, 1}) {
      e.memory.fits_host = known;
      CHECK(write_estimate(stated.plan, e)["memory"]["fits_host"] == Json(known == 1));
    }
  }
}

TEST_CASE("assumptions have their whole paths and values as JSON, those of a preset stand there once", "[answer_json]") {
  StatedPlan stated = story("ddp");
  stated.plan.assumed = {{"training.kernels", "\"eager\"", "by implementation"}, {"parallel.overlap", "{\"tensor\":false}", "by framework"}, {"x", "not json", ""}};
  CHECK(dump_json_compact(write_estimate(stated.plan, Estimate())["assumed"]) ==
        R"([{"path":"training.kernels","value":"eager","why":"by implementation"},)"
        R"({"path":"parallel.overlap","value":{"tensor":false},"why":"by framework"},)"
        R"({"path":"x","value":"not json","why":""}])");
  const Json read = write_estimate(wireplan::testing::plan_of(R"({"model":"gpt2","cluster":{"node":"l40s-8x"}})"), Estimate())["assumed"];
  int count = 0;
  for (const Json& a : read) count += a["path"] == "cluster.node.cpu.nccl_class";
  CHECK(count == 1);
}

TEST_CASE("differences are leaves at which the documents differ", "[answer_json]") {
  Comparison comparison;
  for (const char* sharding : {"ddp", "fsdp", "ddp"}) {
    comparison.plans.push_back(story(sharding).plan);
    comparison.estimates.emplace_back();
  }
  Estimate &a = comparison.estimates[0], &b = comparison.estimates[1], &c = comparison.estimates[2];
  a.memory.states.gradients = c.memory.states.gradients = Bytes(4);
  b.memory.states.gradients = Bytes(1);
  // Rows are paired by name, not by place; a row that one plan lacks stands against null.
  a.communication.resize(1);
  a.communication[0].name = "bucket";
  a.communication[0].calls = 2;
  c.communication = a.communication;
  b.communication.resize(2);
  b.communication[0].name = "gather";
  b.communication[0].calls = 3;
  b.communication[1] = a.communication[0];
  b.communication[1].calls = 5;
  a.notes = {{Severity::info, "", "only here"}};

  const Json json = write_comparison(comparison);
  auto values = [&](const std::string& path) {
    for (const Json& d : json.at("differences"))
      if (d.at("path") == path) return dump_json_compact(d.at("values"));
    return std::string("none");
  };
  CHECK(values("plan.parallel.data_sharding") == R"(["ddp","fsdp","ddp"])");
  CHECK(values("memory.states.gradients") == "[4,1,4]");
  CHECK(values("memory.states.parameters") == "none");
  CHECK(values("communication.bucket.calls") == "[2,5,2]");
  CHECK(values("communication.bucket.name") == "none");
  CHECK(values("communication.gather.calls") == "[null,3,null]");
  CHECK(values("communication.gather.time_s.high") == "[null,0,null]");
  for (const Json& d : json.at("differences")) CHECK(d.at("path").get<std::string>().rfind("notes", 0) != 0);
  CHECK(json.at("estimates").size() == 3);

  comparison.plans.resize(1);
  comparison.estimates.resize(1);
  CHECK(write_comparison(comparison).at("differences").empty());
}

TEST_CASE("explanations and errors", "[answer_json]") {
  Explanation e;
  e.key = "memory.states.parameters";
  e.symbol = "M_p";
  e.formula = "P · b_p";
  e.values = {{"P", 7241732096, "", Claim::count, "parameters", "model.parameters"}};
  e.result = 14483464192;
  e.unit = "bytes";
  e.kind = Claim::count;
  e.sources = {"zero20"};
  CHECK(dump_json_compact(write_explanation(e)) ==
        R"({"key":"memory.states.parameters","symbol":"M_p","formula":"P · b_p",)"
        R"("values":[{"symbol":"P","value":7241732096,"unit":"","kind":"count","meaning":"parameters","key":"model.parameters"}],)"
        R"("result":14483464192,"unit":"bytes","kind":"count","band":null,"sources":["zero20"]})");
  e.has_band = true;
  e.band = {Bytes(1), Bytes(2), Bytes(3)};
  CHECK(dump_json_compact(write_explanation(e).at("band")) == R"({"low":1,"value":2,"high":3})");
  CHECK(dump_json_compact(write_errors({{"a.b", "3", "even", "3 is odd."}})) == R"({"errors":[{"path":"a.b","value":"3","limit":"even","text":"3 is odd."}]})");
}
