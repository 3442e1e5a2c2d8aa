// The reader of XML: what it takes, and every way in which a text is no such XML.
#include <catch2/catch_test_macros.hpp>

#include "core/text/json.hpp"
#include "core/text/xml.hpp"

using namespace wireplan;

namespace {

std::string refusal(std::string_view text) {
  const Result<XmlDocument> document = parse_xml(text);
  return document ? "" : document.errors()[0].text;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("xml: elements, attributes, order and parents", "[xml]") {
  const Result<XmlDocument> d = parse_xml("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- a > b -->\n<system version='1'>\n <cpu numaid = \"-1\"><pci busid=\"0000:07:00.0\"/>\n</cpu><cpu/>\n</system>\n<!-- end -->\n");
  REQUIRE(d);
  const auto& e = d.value().elements;
  REQUIRE(e.size() == 4);
  CHECK(e[0].name == "system");
  CHECK(e[0].get("version") == "1");
  CHECK(e[0].children == std::vector<int>{1, 3});
  CHECK(e[1].get("numaid") == "-1");
  CHECK(e[1].line == 4);
  CHECK(e[2].parent == 1);
  CHECK(e[2].get("busid") == "0000:07:00.0");
  CHECK(e[3].line == 5);
  CHECK(e[3].get("none").empty());
}

TEST_CASE("xml: entities of its own", "[xml]") {
  const Result<XmlDocument> d = parse_xml("<a b=\"&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#233;&#x20ac;&#x1F600;\"/>");
  REQUIRE(d);
  CHECK(d.value().elements[0].get("b") == "<>&\"'AB\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST_CASE("xml: what is refused says why, with the line", "[xml]") {
  CHECK(has(refusal(""), "no element"));
  CHECK(has(refusal("text"), "outside the root"));
  CHECK(has(refusal("<a>\n<b>\n</a>"), "line 3"));
  CHECK(has(refusal("<a>\n<b>\n</a>"), "<b> of line 2 is open"));
  CHECK(has(refusal("<a><b/>"), "ends inside <a>"));
  CHECK(has(refusal("<a b"), "no value"));
  CHECK(has(refusal("<a b=\"1"), "not closed"));
  CHECK(has(refusal("<a b=1/>"), "no quotes"));
  CHECK(has(refusal("<a b=\"1\"c=\"2\"/>"), "without a blank"));
  CHECK(has(refusal("<a b=\"1\" b=\"2\"/>"), "b twice"));
  CHECK(has(refusal("<a b=\"<\"/>"), "holds <"));
  CHECK(has(refusal("<a/><b/>"), "second root"));
  CHECK(has(refusal("</a>"), "closes nothing"));
  CHECK(has(refusal("<1/>"), "name was expected"));
  CHECK(has(refusal("<a b=\"&nbsp;\"/>"), "none of the entities"));
  CHECK(has(refusal("<a b=\"&#0;\"/>"), "none of the entities"));
  CHECK(has(refusal("<a b=\"&#xd800;\"/>"), "none of the entities"));
  CHECK(has(refusal("<a b=\"&#x110000;\"/>"), "none of the entities"));
  CHECK(has(refusal("<a b=\"&#99999999999;\"/>"), "&"));
  CHECK(has(refusal("<a b=\"a & b\"/>"), "begins no entity"));
  CHECK(has(refusal("<a><!-- open</a>"), "comment is not closed"));
  CHECK(has(refusal("<a/><?xml version=\"1.0\"?>"), "very start"));
  CHECK(has(refusal("<?php echo 1 ?><a/>"), "very start"));
}

TEST_CASE("xml: nothing grows and nothing is fetched", "[xml]") {
  std::string bomb = "<!DOCTYPE lolz [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c <= 'j'; ++c) bomb += "<!ENTITY " + std::string(1, c) + " \"&" + std::string(1, static_cast<char>(c - 1)) + ";&" + std::string(1, static_cast<char>(c - 1)) + ";\">";
  CHECK(has(refusal(bomb + "]><system x=\"&j;\"/>"), "document types"));
  CHECK(has(refusal("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"), "document types"));
  CHECK(has(refusal("<a><![CDATA[x]]></a>"), "CDATA"));

  std::string deep, wide = "<a>";
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  CHECK(has(refusal(deep), "64 deep"));
  for (int i = 0; i < 100'001; ++i) wide += "<b/>";
  CHECK(has(refusal(wide + "</a>"), "100,000 elements"));
  CHECK(has(refusal("<a>" + std::string(kMaxDocumentBytes, ' ') + "</a>"), "4 MB"));
  std::string attributes = "<a";
  for (int i = 0; i < 65; ++i) attributes += " k" + std::to_string(i) + "=\"\"";
  CHECK(has(refusal(attributes + "/>"), "64 attributes"));
  std::string just = "";
  for (int i = 0; i < 64; ++i) just = "<a>" + just + "</a>";
  CHECK(refusal(just).empty());
}
