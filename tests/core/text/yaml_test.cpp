#include "core/text/yaml.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text/trainers/trainer.hpp"

using namespace wireplan;

namespace {
std::string json(std::string_view text) {
  const Result<Json> parsed = parse_yaml(text);
  return parsed ? dump_json_compact(parsed.value()) : "error: " + parsed.errors().front().text;
}
}  // namespace

TEST_CASE("YAML becomes the JSON that PyYAML makes of it") {
  CHECK(json("a: 1\nb: -2.5\nc: yes\nd: 'no'\ne: NO\nf: ~\ng:\nh: text with: colon") .starts_with("error"));
  CHECK(json("a: 1\nb: -2.5\nc: yes\nd: 'no'\ne: NO\nf: ~\ng:\nh: bf16") == R"({"a":1,"b":-2.5,"c":true,"d":"no","e":false,"f":null,"g":null,"h":"bf16"})");
  CHECK(json("l:\n- 1\n- {x: 2, y: [3, 4]}\n") == R"({"l":[1,{"x":2,"y":[3,4]}]})");
  CHECK(json("a: 0x10\nb: 1_000\nc: 2.0e-05\nd: 1e-5\ne: 1.5.2\nf: '1'\ng: !!str 1\nh: +3") == R"({"a":16,"b":1000,"c":2e-5,"d":1e-5,"e":"1.5.2","f":"1","g":"1","h":3})");
  CHECK(json("base: &b {x: 1, y: 2}\nother:\n  <<: *b\n  y: 3\nlast: *b") == R"({"base":{"x":1,"y":2},"other":{"y":3,"x":1},"last":{"x":1,"y":2}})");
  CHECK(json("3") == "3");
}

TEST_CASE("what is no YAML says where") {
  CHECK(json("a: [1, 2\nb: 3").find("line 2") != std::string::npos);
  CHECK(json("a: 1\na: 2").find("given twice") != std::string::npos);
  CHECK(json("a: *nowhere").find("no anchor nowhere") != std::string::npos);
  CHECK(json("? [1, 2]\n: 3").find("no scalar") != std::string::npos);
  CHECK(json("a: 1\n---\nb: 2").find("second document") != std::string::npos);
  CHECK(json("a: \xff").starts_with("error"));
}

TEST_CASE("YAML is bounded in size, depth and what aliases make of it") {
  CHECK(json(std::string(kMaxConfigBytes + 1, '#')).find("1 MiB") != std::string::npos);
  CHECK(json(std::string(40, '[') + std::string(40, ']')).find("32 levels") != std::string::npos);
  // Ten times ten times ... : a billion values of a kilobyte.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string to = "a" + std::to_string(i), from = "*a" + std::to_string(i - 1);
    bomb += to + ": &" + to + " [" + from;
    for (int k = 1; k < 10; ++k) bomb += ", " + from;
    bomb += "]\n";
  }
  CHECK(json(bomb).starts_with("error"));
  std::string anchors;
  for (int i = 0; i < 2000; ++i) anchors += "k" + std::to_string(i) + ": &a" + std::to_string(i) + " 1\n";
  CHECK(json(anchors).find("too many anchors") != std::string::npos);
}
