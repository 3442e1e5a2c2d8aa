#include "core/text/json.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace wireplan;

namespace {

Error only_error(std::string_view text) {
  const Result<Json> json = parse_json(text);
  REQUIRE_FALSE(json);
  REQUIRE(json.errors().size() == 1);
  CHECK(json.errors()[0].path.empty());
  CHECK(json.errors()[0].value.size() <= 80);
  return json.errors()[0];
}

std::string round_trip(std::string_view text) {
  const Result<Json> json = parse_json(text);
  REQUIRE(json);
  return dump_json_compact(json.value());
}

}  // namespace

TEST_CASE("documents keep their order and their numbers", "[text]") {
  CHECK(round_trip(R"({"b":1,"a":[true,null,-2.5,"x"],"c":{}})") == R"({"b":1,"a":[true,null,-2.5,"x"],"c":{}})");
  CHECK(round_trip("[1.0,1e3,1e22,0.1,14483464192,-0.0]") == "[1,1000,1e22,0.1,14483464192,0]");
  CHECK(round_trip("18446744073709551615") == "18446744073709551615");
  CHECK(round_trip("\xef\xbb\xbf{}") == "{}");  // a byte order mark
  CHECK(round_trip(R"("\u00e9\ud83d\ude00\n\"\\")") == "\"é😀\\n\\\"\\\\\"");
}

TEST_CASE("indented text has one form", "[text]") {
  const Result<Json> json = parse_json(R"({"a":[1,{"b":[]}],"c":{}})");
  REQUIRE(json);
  CHECK(dump_json(json.value()) == "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}\n");
}

TEST_CASE("what is not JSON is reported with line and column", "[text]") {
  CHECK(only_error("{\n  \"a\": 1,\n  b: 2\n}").text.starts_with("not JSON at line 3, column 3: "));
  CHECK(only_error("").text.starts_with("not JSON at line 1, column 1: "));
  CHECK(only_error("{\"a\": NaN}").limit == "JSON");
  CHECK(only_error("[1,]").limit == "JSON");
  CHECK(only_error("{} {}").limit == "JSON");
  CHECK(only_error("[1] // comment").limit == "JSON");
  CHECK(only_error("\"a\nb\"").limit == "JSON");
  CHECK(only_error("{\"a\":").text.find("unexpected end") != std::string::npos);
  CHECK(only_error("nul").limit == "JSON");
  CHECK(only_error("{\"a\\u12\":1}").limit == "JSON");
  CHECK(only_error(R"("\ud800")").limit == "JSON");
}

TEST_CASE("numbers beyond a double are errors", "[text]") {
  CHECK(only_error("[1e400]").text.find("outside the range of a double") != std::string::npos);
  CHECK(only_error("-1e999").text.find("outside the range of a double") != std::string::npos);
  CHECK(round_trip("1e308") == "1e308");
}

TEST_CASE("a key stands once in an object", "[text]") {
  const Error error = only_error(R"({"a":{"b":1,"c":2,"b":3}})");
  CHECK(error.limit == "each key once in an object");
  CHECK(error.text.find("\"b\"") != std::string::npos);
  CHECK(round_trip(R"([{"a":1},{"a":2}])") == R"([{"a":1},{"a":2}])");
}

TEST_CASE("nesting is bounded", "[text]") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(round_trip(nested(kMaxDocumentDepth)) == nested(kMaxDocumentDepth));
  CHECK(only_error(nested(kMaxDocumentDepth + 1)).limit == "at most 64 levels of nesting");
  CHECK(only_error(std::string(3'000'000, '[')).limit == "at most 64 levels of nesting");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(only_error(objects).limit == "at most 64 levels of nesting");
}

TEST_CASE("size is bounded before anything is read", "[text]") {
  const Error error = only_error(std::string(50'000'000, ' '));
  CHECK(error.limit == "at most 4,000,000 bytes");
  CHECK(error.value == "50,000,000 bytes");
}

TEST_CASE("an object of very many keys is read in time", "[text]") {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  const Result<Json> json = parse_json(text + "}");
  REQUIRE(json);
  CHECK(json.value().size() == 300000);
}

TEST_CASE("bytes that are not UTF-8 are reported with their place", "[text]") {
  CHECK(only_error("{\"a\": \"\xc3\"}").text.starts_with("the bytes at line 1, column 8 are not UTF-8"));
  CHECK(only_error("{\"name\": \"caf\xc3").limit == "text in UTF-8");  // cut in the middle
  CHECK(only_error("\"\xc0\xaf\"").limit == "text in UTF-8");          // overlong
  CHECK(only_error("\"\xed\xa0\x80\"").limit == "text in UTF-8");      // surrogate
  CHECK(only_error("\"\xf4\x90\x80\x80\"").limit == "text in UTF-8");  // beyond U+10FFFF
  CHECK(only_error("\"\xff\xfe\"").limit == "text in UTF-8");
}

TEST_CASE("text that is not UTF-8 is written with replacement characters", "[text]") {
  CHECK(dump_json_compact(Json("a\xff"
                               "b\xc3")) ==
        "\"a\xef\xbf\xbd"
        "b\xef\xbf\xbd\"");
  CHECK(dump_json_compact(Json("\x01\x1f")) == "\"\\u0001\\u001f\"");
}

TEST_CASE("value_text is cut between characters", "[text]") {
  CHECK(value_text(Json("short")) == "\"short\"");
  const std::string cut = value_text(Json(std::string(200, 'x')));
  CHECK(cut.size() == 80);
  CHECK(cut.ends_with("…"));
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "é";
  for (const char* lead : {"", "x"}) {
    const std::string text = value_text(Json(lead + accents));
    CHECK(text.size() <= 80);
    CHECK(parse_json("\"" + text.substr(1) + "\""));  // still UTF-8
  }
  CHECK(value_text(Json::array({1, 2, 3})) == "[1,2,3]");
  Json large = Json::array();
  for (int i = 0; i < 1'000'000; ++i) large.push_back(i);
  CHECK(value_text(large).size() <= 80);
}

TEST_CASE("number is never null", "[text]") {
  CHECK(dump_json_compact(number(std::nan(""))) == "0");
  CHECK(dump_json_compact(number(std::numeric_limits<double>::infinity())) == "0");
  CHECK(number(4.0).is_number_integer());
  CHECK(dump_json_compact(number(-0.0)) == "0");
  CHECK(dump_json_compact(number(1e300)) == "1e300");
}

TEST_CASE("no mutation of a document makes parsing fail badly", "[text]") {
  const std::string sound =
      R"({"schema":"wireplan.plan/1","model":{"hidden_size":4096,"name":"caf\u00e9 é"},"list":[1,-2.5e3,true,null,"x"]})";
  std::mt19937 random(4);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = sound;
    for (unsigned k = 0; k <= random() % 3; ++k) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 5);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), 7));
      }
      if (text.empty()) text = "x";
    }
    const Result<Json> json = parse_json(text);
    if (json) {
      ++read;
      const Result<Json> again = parse_json(dump_json(json.value()));
      REQUIRE(again);
      CHECK(again.value() == json.value());
    } else {
      CHECK(json.errors().size() == 1);
    }
  }
  CHECK(read > 100);
  CHECK(read < 19000);
}
