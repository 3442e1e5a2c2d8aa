#include "core/text/trainers/python_text.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace wireplan;

namespace {

std::string value(std::string_view text, std::string_view target) {
  std::string found = "-";
  for (const PythonStatement& s : read_python(text))
    if (s.target == target) found = dump_json_compact(s.value);
  while (!found.empty() && found.back() == '\n') found.pop_back();
  return found;
}

}  // namespace

TEST_CASE("assignments of Python", "[python]") {
  CHECK(value("cfg.model.x = 8  # eight\n", "cfg.model.x") == "8");
  CHECK(value("a = 'b'\n", "a") == "\"b\"");
  CHECK(value("a = True; b = None\n", "b") == "null");
  CHECK(value("a: int = 16_384\n", "a") == "16384");
  CHECK(value("a = 1e-4\n", "a") == "0.0001");
  CHECK(value("a = -3\n", "a") == "-3");
  CHECK(value("a = [1, \"x\",\n  2]\n", "a") == "[1,\"x\",2]");
  CHECK(value("a = torch.bfloat16\n", "a") == "{\"name\":\"torch.bfloat16\"}");
  CHECK(value("N = 8\na = N\n", "a") == "8");
  CHECK(value("a = 2 * 4 * 2\n", "a") == "16");
  CHECK(value("T = 1\na = T > 1\n", "a") == "false");
  CHECK(value("a = b or c\n", "a") == "{\"code\":\"b or c\"}");
  CHECK(value("a = {'x': 1}\n", "a") == "{\"items\":{\"x\":1}}");
  CHECK(value("if a == 3:\n    b.c = 4\n", "b.c") == "4");
  CHECK(value("\"\"\"doc\na = 3\n\"\"\"\nb = 4\n", "a") == "-");
  CHECK(value("x = f(\n  1,  # one\n  k=Y(z=2),\n)\n", "x") == "{\"call\":\"f\",\"arguments\":[1],\"keywords\":{\"k\":{\"call\":\"Y\",\"arguments\":[],\"keywords\":{\"z\":2}}}}");
}

TEST_CASE("calls, words and functions", "[python]") {
  const std::vector<PythonStatement> s = read_python("def f():\n    trainer = pl.Trainer(devices=8)\n\nTrainer(devices=4)\n");
  REQUIRE(s.size() == 2);
  CHECK(s[0].function == "f");
  CHECK(s[1].function.empty());
  CHECK(s[1].line == 4);
  CHECK(is_python_call(s[0].value, "Trainer"));
  CHECK_FALSE(is_python_call(s[0].value, "rainer"));
  CHECK(python_word(Json{{"name", "a.b.C"}}) == "C");
  CHECK(python_word(Json("x")) == "x");
  CHECK(python_word(Json(3)).empty());
}

TEST_CASE("hostile Python ends", "[python]") {
  for (const char c : {'(', '[', '{', '"', '\'', '\\', '#', '\n', 'a', '=', ',', ')', '.', '*'})
    for (const char* front : {"a = ", "f(", "", "def ", "a."}) read_python(front + std::string(20'000, c));
  CHECK(read_python("").empty());
  for (const char* text : {"a =", "a = (", "a = f(x=", "a = f(,", "a = {1:", "a = 'x", "a = \"\"\"x", "def", "return f(", "a = 1 *", "a = -", "\\", "a = f'x{", "a.b.c"}) read_python(text);
}
