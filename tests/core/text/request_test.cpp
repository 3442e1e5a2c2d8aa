#include "core/text/request.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>

#include "core/capi/wireplan.h"

using namespace wireplan;

namespace {

const Presets presets;

Json request(const char* text) {
  Result<Json> json = parse_json(text);
  REQUIRE(json);
  return json.value();
}

Json done(const char* command, const char* text) {
  Result<Json> document = answer(command, request(text), presets);
  REQUIRE(document);
  return document.value();
}

std::string refused(const char* command, const char* text) {
  Result<Json> document = answer(command, request(text), presets);
  REQUIRE_FALSE(document);
  REQUIRE_FALSE(document.errors().empty());
  for (const Error& e : document.errors()) {
    CHECK_FALSE(e.text.empty());
    CHECK_FALSE(e.limit.empty());
    CHECK(e.value.size() <= 80);
  }
  return document.errors().front().path;
}

}  // namespace

TEST_CASE("a plan may be stated in many ways", "[request]") {
  const Json by_id = done("estimate", R"("story")");
  CHECK(by_id.at("memory").at("states").at("parameters") == 14483464192);
  CHECK(done("estimate", R"({"plan":"story"})") == by_id);
  CHECK(done("estimate", R"({"plan":{"plan":"story","set":[]}})") == by_id);
  Result<Json> by_document = answer("estimate", by_id.at("plan"), presets);
  REQUIRE(by_document);
  CHECK(by_document.value().at("memory") == by_id.at("memory"));
  const Json link = done("format_link", R"("story")").at("link");
  Result<Json> by_link = answer("estimate", link, presets);
  REQUIRE(by_link);
  CHECK(by_link.value().at("plan") == by_id.at("plan"));
}

TEST_CASE("set reads strings as the command line does", "[request]") {
  const char* as_value = R"({"plan":"story","set":[["training.micro_batch_size",2],["parallel.data_sharding","fsdp"]]})";
  const char* as_text = R"({"plan":"story","set":[["training.micro_batch_size","2"],["parallel.data_sharding","\"fsdp\""]]})";
  CHECK(done("estimate", as_value) == done("estimate", as_text));
  CHECK(done("estimate", as_value).at("plan").at("training").at("micro_batch_size") == 2);
}

TEST_CASE("the unit of memory: asked for, or as the link says", "[request]") {
  auto text = [](const char* json) { return done("render", json).at("text").get<std::string>(); };
  CHECK(text(R"({"plan":"story","unit":"GiB"})").find("GiB") != std::string::npos);
  CHECK(text(R"({"plan":"story","unit":"GB"})").find("GiB") == std::string::npos);
  const std::string link = done("format_link", R"("story")").at("link").get<std::string>();
  CHECK(stated_plan(Json(link), presets).value().unit == ByteUnit::GiB);
  CHECK(stated_plan(Json(link + "&u=gb"), presets).value().unit == ByteUnit::GB);
}

TEST_CASE("requests that are refused", "[request]") {
  CHECK(refused("estimate", "7").empty());
  CHECK(refused("estimate", "null").empty());
  CHECK(refused("estimate", R"("stroy")").empty());
  CHECK(refused("estimate", R"({"plan":"story","sets":[]})") == "sets");
  CHECK(refused("estimate", R"({"plan":"story","set":{}})") == "set");
  CHECK(refused("estimate", R"({"plan":"story","set":[["a"]]})") == "set.0");
  CHECK(refused("estimate", R"({"plan":"story","set":[[1,2]]})") == "set.0");
  CHECK(refused("explain", R"({"plan":"story"})") == "path");
  CHECK(refused("explain", R"({"plan":"story","path":7})") == "path");
  CHECK(refused("explain", R"([])").empty());
  CHECK(refused("compare", R"({"plans":"story"})") == "plans");
  CHECK(refused("compare", R"({"plans":[]})") == "plans");
  CHECK(refused("compare", R"({"plans":["story",null]})") == "plans.1");
  CHECK(refused("compare", R"({})") == "plans");
  CHECK(refused("render", R"({"plan":"story","format":"html"})") == "format");
  CHECK(refused("render", R"({"plan":"story","unit":"kB"})") == "unit");
  CHECK(refused("presets", R"({"kind":7})") == "kind");
  CHECK(refused("presets", R"({"kind":"models","id":null})") == "id");
  CHECK(refused("presets", R"({"kinds":"models"})") == "kinds");
  CHECK(refused("parse_link", R"({})") == "link");
  CHECK(refused("search", R"({})") == "plan");
  CHECK(refused("search", R"({"plan":"story","top":0})") == "top");
  CHECK(refused("search", R"({"plan":"story","vary":["tensors"]})") == "vary.0");
  CHECK(refused("estimat", R"({})").empty());
  CHECK(refused("import_config", R"({})") == "text");
  CHECK(refused("import_config", R"({"text":"{}"})") == "model_type");
  CHECK(refused("import_config", R"({"text":"{\"model_type\":\"llama\"}","set":[["model.hidden_size"]]})") == "set");
  CHECK(refused("import_config", R"({"text":"{\"model_type\":\"llama\"}","sets":[]})") == "sets");
}

TEST_CASE("errors of one of many plans say which", "[request]") {
  Result<Json> document = answer("compare", request(R"({"plans":["story",{"plan":"story","set":[["parallel.tensor",3]]}]})"), presets);
  REQUIRE_FALSE(document);
  for (const Error& e : document.errors()) CHECK(e.path.rfind("plans.1.", 0) == 0);
}

TEST_CASE("the C ABI", "[request]") {
  auto call = [](const char* command, const char* json) {
    char* text = wireplan_call(command, json);
    REQUIRE(text != nullptr);
    std::string copy = text;
    wireplan_free(text);
    return copy;
  };
  CHECK(call("estimate", "\"story\"") == dump_json(done("estimate", R"("story")")));
  for (const char* json : {"", "{", "\xff", "nul", "[[[["}) CHECK(call("estimate", json).find("\"errors\"") != std::string::npos);
  CHECK(call("estimate", nullptr).find("\"errors\"") != std::string::npos);
  CHECK(call(nullptr, "{}").find("\"errors\"") != std::string::npos);
  CHECK(std::strcmp(wireplan_version(), kEngineVersion.data()) == 0);
  wireplan_free(nullptr);
}
