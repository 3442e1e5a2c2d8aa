#include "core/text/toml.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text/trainers/trainer.hpp"

using namespace wireplan;

namespace {
std::string json(std::string_view text) {
  const Result<Json> parsed = parse_toml(text);
  return parsed ? dump_json_compact(parsed.value()) : "error: " + parsed.errors().front().text;
}
}  // namespace

TEST_CASE("TOML becomes the JSON that it stands for") {
  CHECK(json("") == "{}");
  CHECK(json("a = 1\nb = -2.5\nc = true\nd = 'x'\ne = [1, 2]\n") == R"({"a":1,"b":-2.5,"c":true,"d":"x","e":[1,2]})");
  CHECK(json("[t]\na.b = 10_000\n[t.u]\nc = 3e-4") == R"({"t":{"a":{"b":10000},"u":{"c":0.0003}}})");
  CHECK(json("d = 1979-05-27\nt = 07:32:00\nb = 1979-05-27T07:32:00Z") == R"({"b":"1979-05-27T07:32:00","d":"1979-05-27","t":"07:32:00"})");
  CHECK(json("[[a]]\nx = 1\n[[a]]\nx = 2") == R"({"a":[{"x":1},{"x":2}]})");
}

TEST_CASE("what is no TOML says where") {
  CHECK(json("a = 1\nb = ").find("line 2") != std::string::npos);
  CHECK(json("a = 1\na = 2").find("line 2") != std::string::npos);
  CHECK(json("a = inf").find("not finite") != std::string::npos);
  CHECK(json("\xff = 1").starts_with("error"));
}

TEST_CASE("TOML that the library's own assumptions miss is refused") {
  CHECK(json("[.b]\n").starts_with("error"));
  CHECK(json("[# a\n").starts_with("error"));
  CHECK(json("as.b\xd2\x92 = 1\n").starts_with("error"));  // U+0492 in a bare key
  CHECK(json("a = '\xd2\x92'") == "{\"a\":\"\xd2\x92\"}");
}

TEST_CASE("TOML is bounded in size, depth and keys of a line") {
  CHECK(json(std::string(kMaxConfigBytes + 1, '#')).find("1 MiB") != std::string::npos);
  std::string nested = "a = ";
  for (int i = 0; i < 40; ++i) nested += '[';
  CHECK(json(nested + std::string(40, ']')).starts_with("error"));
  std::string dotted = "a";
  for (int i = 0; i < 1000; ++i) dotted += ".\"=\"";
  CHECK(json(dotted + " = 1").find("64 points") != std::string::npos);
  std::string deep = "a";
  for (int i = 0; i < 40; ++i) deep += ".a";
  CHECK(json(deep + " = 1").find("32 levels") != std::string::npos);
  CHECK(json("# ......................................................................................................\na = 1") == R"({"a":1})");
}
