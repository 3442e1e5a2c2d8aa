#include "core/text/deflate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>

using namespace wireplan;

namespace {

std::string unpacked(std::string_view base64) {
  const Result<std::string> data = base64url_decoded(base64);
  REQUIRE(data);
  const Result<std::string> text = inflated(data.value(), 1'000'000);
  if (!text) FAIL(text.errors()[0].text);
  return text.value();
}

}  // namespace

TEST_CASE("blocks of every kind made by zlib are read", "[text]") {
  CHECK(unpacked("AwA").empty());
  CHECK(unpacked("AQsA9P9zdG9yZWQgdGV4dA") == "stored text");
  CHECK(unpacked("y0jNyclXyECQAA") == "hello hello hello");
  std::string lines;  // with codes of its own
  for (int i = 0; i < 60; ++i)
    lines += "line " + std::to_string(i) + ": all_reduce of " + std::to_string(i * i) + " MiB; ";
  CHECK(unpacked("bZVNSgYxEESvMkdI_ySZ6M69ZxDRT_hgUBC8v7gQuubNuibp7pfqmuP-edvaw_Z6HC_ft_eft9v29bG17fn-"
                 "9Lgdf6KdRSuin8UsYpzFVcTEtaOo_ax6L-"
                 "o4q1HPTvRU6-5nddSW11nd67QGUNYEFVm5nAcuy1rdglBq70Zoq05uxCbcbBCrnAc636U-4IVL_4sPI24BvxR-Dn6Zcp5222t9B7_"
                 "utX8Hvz7r_A5-Q_g5-"
                 "A09D35T64Pf1P5pP5k_wG8JvwC_JfyD_"
                 "mvygEEDNnFA0IEmForOFRCGMfiBmDgA0UK2IPaLLZIpgNG67GFyj4eATC7ykCRIkpwSJEmSu-RQXuyyxFhymZuQTG6zS"
                 "Ygm19mb9ACSHk2mAEnPVjn0xkQRkh0kfegNIOlTeujBUJIpOkj60p8JSIaS7PyhmLxFnxfBJz0wGUP80BmN-e-oXw") == lines);
}

TEST_CASE("what is packed is unpacked again", "[text]") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const std::size_t length = random() % 3000, letters = 1 + random() % 200;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(random() % letters);
    const Result<std::string> back = inflated(deflated(text), 3000);
    REQUIRE(back);
    CHECK(back.value() == text);
  }
  const std::string repeated(200000, 'a');  // longest matches, window passed
  const Result<std::string> back = inflated(deflated(repeated), repeated.size());
  REQUIRE(back);
  CHECK(back.value() == repeated);
  CHECK(deflated(repeated).size() < 2000);
}

TEST_CASE("too much, too little and nonsense are errors", "[text]") {
  const std::string packed = deflated(std::string(1000, 'a') + "and the rest of it");
  CHECK_FALSE(inflated(packed, 1017));
  CHECK(inflated(packed, 1018));
  for (std::size_t n = 0; n < packed.size(); ++n) {
    const Result<std::string> text = inflated(std::string_view(packed).substr(0, n), 10000);
    REQUIRE_FALSE(text);
    CHECK(text.errors().size() == 1);
  }
  CHECK_FALSE(inflated("\x07", 100));                                  // no such kind of block
  CHECK_FALSE(inflated(std::string("\x01\x05\x00\x00\x00", 5), 100));  // stored, length and check differ
  std::mt19937 random(6);
  int read = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string data;
    for (unsigned k = 0; k < random() % 40; ++k) data += static_cast<char>(random());
    read += inflated(data, 100000) ? 1 : 0;
  }
  for (int i = 0; i < 20000; ++i) {  // bits flipped in sound data
    std::string data = packed;
    data[random() % data.size()] ^= static_cast<char>(1 << random() % 8);
    read += inflated(data, 100000) ? 1 : 0;
  }
  CHECK(read < 70000);
}

TEST_CASE("base64url has the alphabet of RFC 4648 and no padding", "[text]") {
  // RFC 4648 section 10, without '='
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "-_8"}};
  for (const auto& [text, code] : rows) {
    CHECK(base64url(text) == code);
    REQUIRE(base64url_decoded(code));
    CHECK(base64url_decoded(code).value() == text);
  }
  CHECK(base64url_decoded("Zg==").value() == "f");
  CHECK_FALSE(base64url_decoded("Z g"));
  CHECK_FALSE(base64url_decoded("Zg+/"));
}
