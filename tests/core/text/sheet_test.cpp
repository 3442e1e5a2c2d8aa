#include "core/text/sheet.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace wireplan;

TEST_CASE("parts that add up: the largest takes what rounding leaves over", "[sheet]") {
  // Thirds of 10: 3.333 three times rounds to 3.3, 9.9 in all; one of them has to say 3.4.
  CHECK(parts_that_add_up({10.0 / 3, 10.0 / 3, 10.0 / 3}, 10, 1) == std::vector<std::string>{"3.4", "3.3", "3.3"});
  // 0.4 + 0.4 + 99.2 = 100: 0 + 0 + 99 would be 99.
  CHECK(parts_that_add_up({0.4, 0.4, 99.2}, 100, 0) == std::vector<std::string>{"0", "0", "100"});
  CHECK(parts_that_add_up({14.483464192, 14.483464192, 57.933856768}, 86.900785152, 1) == std::vector<std::string>{"14.5", "14.5", "57.9"});
  CHECK(parts_that_add_up({5}, 5, 2) == std::vector<std::string>{"5.00"});
  CHECK(parts_that_add_up({}, 0, 1).empty());
}

TEST_CASE("lines break at spaces and count characters, not bytes", "[sheet]") {
  CHECK(wrapped("one two three", 7, 2) == "one two\n  three");
  CHECK(wrapped("one two three", 100, 0) == "one two three");
  CHECK(wrapped("wide-word-of-its-own b", 4, 0) == "wide-word-of-its-own\nb");
  CHECK(text_width("4 × 200") == 7);
  CHECK(wrapped("×× ×× ××", 5, 0) == "×× ××\n××");
  CHECK(wrapped("", 10, 2).empty());
}

TEST_CASE("CSV as RFC 4180 has it", "[sheet]") {
  CHECK(csv_line({"a", "b c", ""}) == "a,b c,\r\n");
  CHECK(csv_line({"a,b", "say \"x\"", "two\nlines"}) == "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n");
}

TEST_CASE("one table, two layouts", "[sheet]") {
  const Table table{{{"part", false}, {"GB", true}}, {{"weights", "14.5"}, {"all|parts", "101.4"}}, {1}};
  SECTION("text: columns, a line over the total, no trailing spaces") {
    Sheet sheet(false);
    sheet.heading("Will it fit?");
    sheet.table(table);
    CHECK(sheet.text() ==
          "Will it fit?\n"
          "------------\n"
          "\n"
          "  part          GB\n"
          "  weights     14.5\n"
          "             -----\n"
          "  all|parts  101.4\n");
  }
  SECTION("Markdown: alignment, bold total, no cell broken by a bar") {
    Sheet sheet(true);
    sheet.heading("Will it fit?");
    sheet.table(table);
    CHECK(sheet.text() ==
          "## Will it fit?\n"
          "\n"
          "| part | GB |\n"
          "|---|---:|\n"
          "| weights | 14.5 |\n"
          "| **all\\|parts** | **101.4** |\n");
  }
  SECTION("a row that is short, a table that is empty") {
    Sheet sheet(false);
    sheet.table({{{"a", false}, {"b", true}}, {{"x"}}, {}});
    CHECK(sheet.text() == "  a  b\n  x\n");
    Sheet empty(true);
    empty.table({{{"a", false}}, {}, {}});
    CHECK(empty.text() == "| a |\n|---|\n");
  }
}
