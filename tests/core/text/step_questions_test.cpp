#include "core/text/step_questions.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text/request.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

TEST_CASE("questions of a request add their answers to the estimate and change nothing else") {
  const Result<Json> plain = answer("estimate", Json{{"plan", "story"}}, presets());
  REQUIRE(plain);
  const Json nothing{{"plan", "story"}, {"tokens", nullptr}, {"scaling", false}, {"crossover", false}};
  CHECK(answer("estimate", nothing, presets()).value() == plain.value());
  const Json all{{"plan", "story"}, {"tokens", 1e12}, {"price", "2.5"}, {"scaling", true}, {"up_to", 2}, {"crossover", "node"}, {"exposed", 10}, {"timeline", true}};
  Json document = answer("estimate", all, presets()).value();
  for (const char* key : {"timeline", "budget", "scaling", "scaling_notes", "crossover"}) {
    CHECK(document.contains(key));
    document.erase(key);
  }
  CHECK(document == plain.value());
  Json rendered = all;
  rendered.erase("timeline");
  const std::string text = answer("render", rendered, presets()).value().at("text").get<std::string>();
  CHECK(text.rfind(answer("render", Json{{"plan", "story"}}, presets()).value().at("text").get<std::string>(), 0) == 0);
  for (const char* heading : {"What would it cost?", "Where do more GPUs stop paying?", "Which links would it take?"}) CHECK(text.find(heading) != std::string::npos);
}

TEST_CASE("every wrong value is an error of its own, all at once") {
  const Json request{{"plan", "story"}, {"tokens", -1}, {"price", "x"}, {"scaling", 3}, {"up_to", Json::array()}, {"crossover", "moon"}, {"exposed", 1e300}};
  const Result<StepQuestions> read = read_step_questions(request);
  REQUIRE_FALSE(read);
  std::vector<std::string> paths;
  for (const Error& e : read.errors()) {
    paths.push_back(e.path);
    CHECK_FALSE(e.limit.empty());
    CHECK(e.text.find(e.value) != std::string::npos);
  }
  CHECK(paths == std::vector<std::string>(kStepQuestions.begin(), kStepQuestions.end()));
  CHECK_FALSE(answer("estimate", request, presets()));
  CHECK_FALSE(answer("estimate", Json{{"plan", "story"}, {"token", 1}}, presets()));
}

TEST_CASE("amounts of tokens as people write them") {
  const auto tokens = [](Json value) { return read_step_questions(Json{{"tokens", std::move(value)}}).value().tokens.value(); };
  CHECK(tokens("15T") == 15e12);
  CHECK(tokens("15t") == 15e12);
  CHECK(tokens("0.3B") == 3e8);
  CHECK(tokens("7M") == 7e6);
  CHECK(tokens("2K") == 2000);
  CHECK(tokens("15e12") == 15e12);
  CHECK(tokens(1) == 1);
}
