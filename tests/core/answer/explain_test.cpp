#include "core/answer/explain.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "core/text/answer_json.hpp"
#include "tests/support/formula.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

// Paths of every number of an estimate document, as explanations name them: ranges by their ends, rows by index.
void collect_numbers(const Json& json, const std::string& path, std::set<std::string>& out) {
  if (json.is_number()) {
    out.insert(path);
  } else if (json.is_object()) {
    const bool is_range = json.contains("low") && json.contains("value") && json.contains("high");
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (path.empty() && (it.key() == "plan" || it.key() == "assumed" || it.key() == "notes")) continue;  // what the user stated
      collect_numbers(it.value(), is_range && it.key() == "value" ? path : path.empty() ? it.key() : path + "." + it.key(), out);
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) collect_numbers(json[i], path + "." + std::to_string(i), out);
  }
}

const Json* at(const Json& json, std::string_view path) {
  const Json* here = &json;
  while (!path.empty()) {
    const std::string key(path.substr(0, path.find('.')));
    path.remove_prefix(std::min(path.size(), key.size() + 1));
    if (here->is_array()) here = &(*here)[std::stoul(key)];
    else if (here->contains(key)) here = &(*here)[key];
    else return nullptr;
  }
  return here;
}

std::vector<std::string> scenario_ids() {
  std::vector<std::string> ids;
  for (std::string_view id : presets().ids("scenarios")) ids.emplace_back(id);
  return ids;
}

}  // namespace

TEST_CASE("every number of every scenario has an explanation whose formula gives it") {
  const Result<Json> references = parse_json(presets().text("references", "references"));
  REQUIRE(references);
  for (const std::string& id : scenario_ids()) {
    DYNAMIC_SECTION(id) {
      const Plan plan = scenario(id);
      const Estimate answer = estimate(plan, constants());
      const Json document = write_estimate(plan, answer);
      std::set<std::string> numbers;
      collect_numbers(document, "", numbers);
      for (const std::string& path : numbers) {
        // Ordinals that name a rank, stage or GPU are labels, not results.
        if (path == "memory.worst_rank" || path.find(".stage") != std::string::npos || path.find(".order.") != std::string::npos) continue;
        INFO(path);
        const Result<Explanation> found = explain(plan, constants(), answer, path);
        REQUIRE(found);
        const Explanation& e = found.value();
        CHECK(e.key == path);
        const Json* shown = at(document, path);
        if (shown && shown->is_object()) shown = &(*shown)["value"];
        REQUIRE(shown);
        CHECK(e.result == shown->get<double>());

        std::map<std::string, double> values;
        for (const ExplainedValue& v : e.values) {
          CHECK_FALSE(v.meaning.empty());
          CHECK(std::isfinite(v.value));
          CHECK(values.emplace(v.symbol, v.value).second);
        }
        Formula formula(e.formula, values);
        const std::optional<double> result = formula.value();
        INFO(e.formula << ": " << formula.fault);
        REQUIRE(result);
        CHECK(std::fabs(*result - e.result) <= 1e-9 * std::max(std::fabs(e.result), 1e-12));
        for (const ExplainedValue& v : e.values) {
          INFO("value " << v.symbol << " stands in the list but not in the formula");
          CHECK(formula.used.count(v.symbol) == 1);
        }
        REQUIRE_FALSE(e.sources.empty());
        for (const std::string& source : e.sources) {
          INFO("source " << source);
          CHECK(references.value().contains(source));
        }
      }
      CHECK(numbers.size() > 60);
    }
  }
}

TEST_CASE("values that name a key can be looked up there and agree") {
  const Plan plan = scenario("story", {{"parallel.data_sharding", "fsdp"}});
  const Estimate answer = estimate(plan, constants());
  int followed = 0;
  for (const std::string& path : explained_paths(plan, constants(), answer)) {
    const Result<Explanation> e = explain(plan, constants(), answer, path);
    REQUIRE(e);
    for (const ExplainedValue& v : e.value().values) {
      if (v.key.empty()) continue;
      INFO(path << " -> " << v.symbol << " -> " << v.key);
      const Result<Explanation> target = explain(plan, constants(), answer, v.key);
      REQUIRE(target);
      CHECK(target.value().result == v.value);
      ++followed;
    }
  }
  CHECK(followed > 30);
}

TEST_CASE("an unknown path is an error that offers near ones") {
  const Plan plan = scenario("story");
  const Result<Explanation> e = explain(plan, constants(), estimate(plan, constants()), "memory.states.paramters");
  REQUIRE_FALSE(e);
  CHECK(e.errors().front().text.find("memory.states.parameters") != std::string::npos);
}

TEST_CASE("a row of communication is found by its name") {
  const Plan plan = scenario("story");
  const Estimate answer = estimate(plan, constants());
  REQUIRE_FALSE(answer.communication.empty());
  const std::string path = "communication." + std::string(answer.communication.front().name) + ".time_s";
  const Result<Explanation> e = explain(plan, constants(), answer, path);
  REQUIRE(e);
  CHECK(e.value().key == "communication.0.time_s");
  CHECK(e.value().result == answer.communication.front().time.value.value);
}
