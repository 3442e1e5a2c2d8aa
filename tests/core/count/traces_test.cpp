// Collectives of real training code against the message list.
//
// tests/data/count_traces.jsonl: one step of rank 0 of PyTorch (DDP, FSDP1, FSDP2, HSDP, DTensor tensor parallelism), Hugging
// Face and DeepSpeed, run on fake tensors at full size ([framework-traces]); calls and bytes per collective, element type and
// number of ranks. Every row must agree in calls and bytes, and have nothing the list has not.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core/count/messages.hpp"
#include "core/text/plan_json.hpp"

using namespace wireplan;

namespace {

struct Sum {
  double calls = 0, bytes = 0;
};
using Collected = std::map<std::string, Sum>;  // "all_reduce bf16 8"

Collected predicted(const Plan& plan) {
  Collected all;
  for (const Message& m : step_messages(plan)) {
    Sum& s = all[std::string(name_of(m.collective)) + " " + std::string(name_of(m.element)) + " " +
                 std::to_string(group_size(plan, m.group))];
    s.calls += m.calls;
    s.bytes += m.calls * m.bytes.value;
  }
  return all;
}

std::string difference(const Collected& have, const Collected& want) {
  std::string text;
  for (const auto& [key, w] : want) {
    const auto found = have.find(key);
    const Sum h = found == have.end() ? Sum{} : found->second;
    if (h.calls != w.calls || std::fabs(h.bytes - w.bytes) > 1e-12 * w.bytes)
      text += key + ": " + std::to_string(h.calls) + " calls, " + std::to_string(h.bytes) + " bytes instead of " +
              std::to_string(w.calls) + ", " + std::to_string(w.bytes) + "\n";
  }
  for (const auto& [key, h] : have)
    if (!want.contains(key)) text += key + ": " + std::to_string(h.calls) + " calls too many\n";
  return text;
}

}  // namespace

TEST_CASE("messages: collectives of traced training code", "[count]") {
  const Presets presets;
  std::ifstream file("tests/data/count_traces.jsonl");
  REQUIRE(file);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    const Result<Json> row = parse_json(line);
    REQUIRE(row);
    const std::string id = row.value().at("id").get<std::string>();
    INFO(id);
    const Result<Plan> plan = read_plan(row.value().at("plan"), presets);
    if (!plan) FAIL(plan.errors().front().path + ": " + plan.errors().front().text);
    Collected want;
    for (const Json& c : row.value().at("collectives"))
      want[c[0].get<std::string>() + " " + c[1].get<std::string>() + " " + std::to_string(c[2].get<int>())] = {
          c[3].get<double>(), c[4].get<double>()};
    const std::string text = difference(predicted(plan.value()), want);
    CHECK(text == "");
    ++rows;
  }
  CHECK(rows > 100);
}
