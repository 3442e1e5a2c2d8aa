// A small calculator for the formulas that explanations show: so that a test can put the shown values into the shown formula and
// see whether the shown result comes out.
//
//   expression = term { (+|-) term };  term = power { (·|*|/) power };  power = atom [ ^ power ]
//   atom = number | symbol | function ( expression {, expression} ) | ( expression ) | - atom
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wireplan::testing {

class Formula {
 public:
  Formula(std::string_view text, std::map<std::string, double> values) : text_(text), values_(std::move(values)) {}

  // The value, or nothing with `fault` saying why.
  std::optional<double> value() {
    const double result = expression();
    skip();
    if (at_ != text_.size() && fault.empty()) fault = "left over: " + std::string(text_.substr(at_));
    return fault.empty() ? std::optional(result) : std::nullopt;
  }
  std::string fault;
  std::map<std::string, int> used;

 private:
  void skip() { while (at_ < text_.size() && text_[at_] == ' ') ++at_; }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  double expression() {
    double left = term();
    for (;;) {
      if (take("+")) left += term();
      else if (take("-")) left -= term();
      else return left;
    }
  }
  double term() {
    double left = power();
    for (;;) {
      if (take("·") || take("*")) left *= power();
      else if (take("/")) left /= power();
      else return left;
    }
  }
  double power() {
    const double base = atom();
    return take("^") ? std::pow(base, power()) : base;
  }
  double atom() {
    if (take("-")) return -atom();
    if (take("(")) {
      const double inner = expression();
      if (!take(")")) fault = "missing )";
      return inner;
    }
    skip();
    const std::size_t start = at_;
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)) {
      char* end = nullptr;
      const std::string rest(text_.substr(at_));
      const double number = std::strtod(rest.c_str(), &end);
      at_ += static_cast<std::size_t>(end - rest.c_str());
      return number;
    }
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || (static_cast<unsigned char>(text_[at_]) >= 0x80 && text_.substr(at_, 2) != "·"))) ++at_;
    const std::string name(text_.substr(start, at_ - start));
    if (name.empty()) { if (fault.empty()) fault = "expected a value at: " + std::string(text_.substr(start)); at_ = text_.size(); return 0; }
    if (take("(")) {
      std::vector<double> arguments{expression()};
      while (take(",")) arguments.push_back(expression());
      if (!take(")")) fault = "missing ) of " + name;
      if (name == "max") return *std::max_element(arguments.begin(), arguments.end());
      if (name == "min") return *std::min_element(arguments.begin(), arguments.end());
      if (name == "ceil") return std::ceil(arguments[0]);
      if (name == "floor") return std::floor(arguments[0]);
      if (name == "sqrt") return std::sqrt(arguments[0]);
      if (name == "ln") return std::log(arguments[0]);
      if (name == "log2") return std::log2(arguments[0]);
      fault = "unknown function " + name;
      return 0;
    }
    const auto found = values_.find(name);
    if (found == values_.end()) { fault = "no value for " + name; return 0; }
    ++used[name];
    return found->second;
  }

  std::string_view text_;
  std::map<std::string, double> values_;
  std::size_t at_ = 0;
};

}  // namespace wireplan::testing
