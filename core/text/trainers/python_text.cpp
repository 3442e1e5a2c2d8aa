#include "core/text/trainers/python_text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text/capture.hpp"
#include "core/text/log_text.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Json single(const char* key, std::string_view text) {
  Json j = Json::object();
  j[key] = std::string(text.substr(0, 400));
  return j;
}

class Python {
 public:
  explicit Python(std::string_view text) : text_(text) {}

  std::vector<PythonStatement> read() {
    while (at_ < text_.size() && values_ < kMaxConfigNodes) statement();
    return std::move(out_);
  }

 private:
  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void step() {
    if (here() == '\n') ++line_;
    ++at_;
  }

  // Blanks; inside brackets also line ends and comments.
  void skip(bool inside) {
    for (;;) {
      const char c = here();
      if (c == ' ' || c == '\t' || c == '\r') ++at_;
      else if (c == '\\' && (here(1) == '\n' || (here(1) == '\r' && here(2) == '\n'))) {
        ++at_;
        while (here() != '\n') ++at_;
        step();
      } else if (c == '#') {
        while (at_ < text_.size() && here() != '\n') ++at_;
      } else if (inside && c == '\n') step();
      else return;
    }
  }

  std::string_view name() {
    const std::size_t from = at_;
    if (!is_letter(here())) return {};
    while (is_letter(here()) || is_digit(here())) ++at_;
    return text_.substr(from, at_ - from);
  }
  // a.b.c
  std::string_view dotted() {
    const std::size_t from = at_;
    if (name().empty()) return {};
    while (here() == '.' && is_letter(here(1))) {
      ++at_;
      name();
    }
    return text_.substr(from, at_ - from);
  }

  void statement() {
    const std::size_t line_start = at_;
    std::size_t indent = 0;
    while (here() == ' ' || here() == '\t') {
      ++at_;
      ++indent;
    }
    if (here() == '#' || here() == '\n' || here() == '\r') return finish_line();
    const int line = line_;
    // A docstring.
    if (here() == '"' || here() == '\'') {
      expression(0, false);
      return finish_line();
    }
    if (!function_.empty() && indent <= function_indent_) function_.clear();
    std::string_view target = dotted();
    if (target == "def" || target == "class") {
      skip(false);
      const std::string_view own = name();
      if (target == "def") {
        function_ = own.substr(0, 200);
        function_indent_ = indent;
      }
      return finish_line();
    }
    if (target == "return" || target == "with" || target == "yield" || target == "await") {
      skip(false);
      if (target != "with") target = {};
      if (is_letter(here())) add("", expression(0, false), line);
      return finish_line();
    }
    if (target.empty() || target == "if" || target == "elif" || target == "else" || target == "for" || target == "while" || target == "import" || target == "from" || target == "try" || target == "except") return finish_line();
    skip(false);
    if (here() == ':' && here(1) != '=') {  // an annotation
      while (at_ < text_.size() && here() != '=' && here() != '\n') ++at_;
    }
    if (here() == '=' && here(1) != '=') {
      ++at_;
      skip(false);
      add(std::string(target), expression(0, false), line);
      return finish_line();
    }
    if (here() == '(') {
      at_ = line_start + indent;
      add("", expression(0, false), line);
    }
    finish_line();
  }

  void add(std::string target, Json value, int line) {
    if (target.size() > 400) return;
    if (!target.empty() && target.find('.') == std::string::npos) {
      const auto known = std::find_if(names_.begin(), names_.end(), [&](const auto& n) { return n.first == target; });
      if (known != names_.end()) known->second = value;
      else if (names_.size() < 4096) names_.emplace_back(target, value);
    }
    if (!target.empty() || value.is_object()) out_.push_back({std::move(target), std::move(value), line, function_});
  }

  // To the end of the line; brackets and strings may go over several.
  void finish_line() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = here();
      if (c == '#') {
        while (at_ < text_.size() && here() != '\n') ++at_;
        continue;
      }
      if (c == '"' || c == '\'') {
        string();
        continue;
      }
      if (c == '\\' && here(1) == '\n') ++at_;
      else if (c == '(' || c == '[' || c == '{') ++depth;
      else if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
      else if ((c == '\n' || c == ';') && depth == 0) {
        step();
        return;
      }
      step();
    }
  }

  std::string string() {
    const char quote = here();
    const bool triple = here(1) == quote && here(2) == quote;
    at_ += triple ? 3 : 1;
    std::string text;
    while (at_ < text_.size()) {
      if (here() == '\\') {
        if (text.size() < 4096 && at_ + 1 < text_.size()) text += here(1);
        step();
        if (at_ < text_.size()) step();
        continue;
      }
      if (here() == quote && (!triple || (here(1) == quote && here(2) == quote))) {
        at_ += triple ? 3 : 1;
        break;
      }
      if (here() == '\n' && !triple) break;
      if (text.size() < 4096) text += here();
      step();
    }
    at_ = std::min(at_, text_.size());
    return text;
  }

  // One value; what follows it as part of a longer expression makes it {"code": …}.
  Json expression(int depth, bool inside) {
    skip(inside);
    const std::size_t from = at_;
    Json value = operand(depth, inside);
    skip(inside);
    const char c = here();
    const bool ends = c == '\0' || c == ',' || c == ')' || c == ']' || c == '}' || c == '\n' || c == ';' || c == ':' || (c == '=' && here(1) != '=');
    if (ends) return value;
    if (const std::optional<Json> result = arithmetic(value, depth, inside)) return *result;
    // Something else: to the end of the value.
    int nested = 0;
    while (at_ < text_.size()) {
      const char d = here();
      if (d == '"' || d == '\'') {
        string();
        continue;
      }
      if (nested == 0 && (d == ',' || d == ')' || d == ']' || d == '}' || (d == '\n' && !inside) || d == ';')) break;
      if (d == '(' || d == '[' || d == '{') ++nested;
      else if (d == ')' || d == ']' || d == '}') --nested;
      if (d == '#') {
        while (at_ < text_.size() && here() != '\n') ++at_;
        continue;
      }
      step();
    }
    return single("code", trimmed(text_.substr(from, at_ - from)));
  }

  // 8 * 4, 1024 ** 1: products and sums of two whole numbers, and comparisons with one.
  std::optional<Json> arithmetic(const Json& left, int depth, bool inside) {
    if (!left.is_number_integer() || depth > kMaxConfigDepth) return std::nullopt;
    const char op = here();
    if ((op != '*' && op != '+' && op != '-' && op != '>') || here(1) == '*' || here(1) == '=') return std::nullopt;
    const std::size_t from = at_;
    ++at_;
    const Json right = expression(depth + 1, inside);
    if (right.is_number_integer()) {
      const double a = left.get<double>(), b = right.get<double>();
      const double r = op == '*' ? a * b : op == '+' ? a + b : a - b;
      if (op == '>') return Json(a > b);
      if (r < 1e15 && r > -1e15) return number(r);
    }
    at_ = from;
    return std::nullopt;
  }

  Json operand(int depth, bool inside) {
    if (++values_ > kMaxConfigNodes || depth > kMaxConfigDepth) return single("code", "");
    const char c = here();
    if (c == '"' || c == '\'') {
      std::string text = string();
      for (;;) {  // strings side by side
        skip(inside);
        if (here() != '"' && here() != '\'') break;
        text += string();
      }
      return text;
    }
    if (is_digit(c) || ((c == '-' || c == '+') && (is_digit(here(1)) || here(1) == '.')) || (c == '.' && is_digit(here(1)))) return numeral();
    if (c == '[' || c == '(') return list(depth);
    if (c == '{') return dictionary(depth);
    if ((c == 'f' || c == 'r' || c == 'b') && (here(1) == '"' || here(1) == '\'')) {
      ++at_;
      std::string text = string();
      return c == 'f' ? single("code", text) : Json(std::move(text));
    }
    const std::string_view word = dotted();
    if (word.empty()) {
      if (at_ < text_.size() && c != ',' && c != ')' && c != ']' && c != '}' && c != '\n') step();
      return single("code", std::string_view(&c, c == '\0' ? 0 : 1));
    }
    if (word == "True") return true;
    if (word == "False") return false;
    if (word == "None") return nullptr;
    skip(inside);
    if (here() == '(') return call(word, depth);
    for (const auto& [known, value] : names_)
      if (known == word && dump_json_compact(value).size() < 4096) return value;
    return single("name", word);
  }

  Json numeral() {
    std::string digits;
    if (here() == '-' || here() == '+') {
      if (here() == '-') digits = "-";
      ++at_;
    }
    while (is_digit(here()) || here() == '.' || here() == '_' || here() == 'e' || here() == 'E' || ((here() == '-' || here() == '+') && (digits.ends_with('e') || digits.ends_with('E')))) {
      if (here() != '_') digits += here();
      ++at_;
    }
    const bool negative = digits.starts_with('-');
    if (const std::optional<long long> n = whole_number(std::string_view(digits).substr(negative ? 1 : 0))) return negative ? -*n : *n;
    if (const std::optional<double> d = decimal(digits)) return number(*d);
    return single("code", digits);
  }

  Json list(int depth) {
    const bool is_tuple = here() == '(';
    ++at_;
    Json all = Json::array();
    bool has_comma = false;
    for (skip(true); at_ < text_.size() && here() != ']' && here() != ')' && values_ < kMaxConfigNodes; skip(true)) {
      all.push_back(expression(depth + 1, true));
      skip(true);
      if (here() == ',') {
        has_comma = true;
        ++at_;
      } else if (here() != ']' && here() != ')') step();
    }
    if (at_ < text_.size()) ++at_;
    return is_tuple && !has_comma && all.size() == 1 ? all[0] : all;
  }

  Json dictionary(int depth) {
    ++at_;
    Json items = Json::object(), set = Json::array();
    for (skip(true); at_ < text_.size() && here() != '}' && values_ < kMaxConfigNodes; skip(true)) {
      Json key = expression(depth + 1, true);
      skip(true);
      if (here() == ':') {
        ++at_;
        Json value = expression(depth + 1, true);
        if (key.is_string()) items[key.get<std::string>()] = std::move(value);
      } else set.push_back(std::move(key));
      skip(true);
      if (here() == ',') ++at_;
      else if (here() != '}') step();
    }
    if (at_ < text_.size()) ++at_;
    if (!set.empty()) return set;
    Json j = Json::object();
    j["items"] = std::move(items);
    return j;
  }

  Json call(std::string_view callee, int depth) {
    ++at_;
    Json arguments = Json::array(), keywords = Json::object();
    for (skip(true); at_ < text_.size() && here() != ')' && values_ < kMaxConfigNodes; skip(true)) {
      const std::size_t from = at_;
      const std::string_view key = name();
      skip(true);
      if (!key.empty() && here() == '=' && here(1) != '=') {
        ++at_;
        keywords[std::string(key.substr(0, 200))] = expression(depth + 1, true);
      } else {
        at_ = from;
        arguments.push_back(expression(depth + 1, true));
      }
      skip(true);
      if (here() == ',') ++at_;
      else if (here() != ')') step();
    }
    if (at_ < text_.size()) ++at_;
    Json j = Json::object();
    j["call"] = std::string(callee.substr(0, 400));
    j["arguments"] = std::move(arguments);
    j["keywords"] = std::move(keywords);
    return j;
  }

  std::string_view text_;
  std::size_t at_ = 0, values_ = 0, function_indent_ = 0;
  int line_ = 1;
  std::string function_;
  std::vector<std::pair<std::string, Json>> names_;
  std::vector<PythonStatement> out_;
};

}  // namespace

std::vector<PythonStatement> read_python(std::string_view text) { return Python(text).read(); }

std::string python_word(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.contains("name")) return "";
  const std::string& name = value.at("name").get_ref<const std::string&>();
  return name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
}

bool is_python_call(const Json& value, std::string_view name) {
  if (!value.is_object() || !value.contains("call") || !value.at("call").is_string()) return false;
  const std::string_view callee = value.at("call").get_ref<const std::string&>();
  return callee.ends_with(name) && (callee.size() == name.size() || callee[callee.size() - name.size() - 1] == '.');
}

}  // namespace wireplan
