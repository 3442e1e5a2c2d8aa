// Plans for tests, read by the product's own reader from the embedded presets.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "core/answer/estimate.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/presets.hpp"

namespace wireplan::testing {

inline const Presets& presets() {
  static const Presets shipped;
  return shipped;
}

inline const Constants& constants() {
  static const Constants shipped = presets().constants().value();
  return shipped;
}

// Reads a plan document; the test fails with the reader's errors when it is not one.
inline Plan plan_of(std::string_view json) {
  Result<Plan> plan = read_plan_text(json, presets());
  if (!plan) {
    std::string all;
    for (const Error& e : plan.errors()) all += e.path + ": " + e.text + "\n";
    FAIL(all);
  }
  return plan.value();
}

// A scenario with single fields changed: {{"parallel.data_sharding", "fsdp"}, ...}.
inline Plan scenario(std::string_view id, std::initializer_list<std::pair<const char*, const char*>> edits = {}) {
  Result<Json> document = parse_json(presets().text("scenarios", id));
  REQUIRE(document);
  Json plan = document.value()["plan"];
  for (const auto& [path, value] : edits) REQUIRE(set_path(plan, path, value).empty());
  return plan_of(dump_json(plan));
}

}  // namespace wireplan::testing
