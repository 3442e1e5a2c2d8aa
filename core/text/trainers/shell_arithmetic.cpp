#include "core/text/trainers/shell_arithmetic.hpp"

namespace wireplan {
namespace {

constexpr long long kMost = 1'000'000'000'000'000;
constexpr int kMostNested = 32;

// Operators by how tightly they bind, loosest first.
constexpr std::string_view kOperators[][4] = {{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
constexpr int kLevels = 6;

class Expression {
 public:
  explicit Expression(std::string_view text) : text_(text) {}

  std::optional<long long> value() {
    const long long result = level(0, 0);
    skip();
    if (bad_ || !text_.empty()) return std::nullopt;
    return result;
  }

 private:
  void skip() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t' || text_.front() == '\n' || text_.front() == '\r')) text_.remove_prefix(1);
  }

  long long checked(long long v) {
    if (v > kMost || v < -kMost) bad_ = true;
    return bad_ ? 0 : v;
  }

  long long level(int l, int depth) {
    if (l == kLevels) return unary(depth);
    long long left = level(l + 1, depth);
    for (bool found = true; found && !bad_;) {
      found = false;
      skip();
      for (const std::string_view op : kOperators[l]) {
        if (op.empty() || !text_.starts_with(op)) continue;
        text_.remove_prefix(op.size());
        left = apply(op, left, level(l + 1, depth));
        found = true;
        break;
      }
    }
    return left;
  }

  long long apply(std::string_view op, long long a, long long b) {
    if (bad_) return 0;
    switch (op[0]) {
      case '|': return a != 0 || b != 0;
      case '&': return a != 0 && b != 0;
      case '=': return a == b;
      case '!': return a != b;
      case '<': return op.size() == 2 ? a <= b : a < b;
      case '>': return op.size() == 2 ? a >= b : a > b;
      case '+': return checked(a + b);
      case '-': return checked(a - b);
      case '*':
        if (a != 0 && (b > kMost / (a < 0 ? -a : a) || b < -(kMost / (a < 0 ? -a : a)))) bad_ = true;
        return bad_ ? 0 : a * b;
      default:
        if (b == 0) bad_ = true;
        return bad_ ? 0 : op[0] == '/' ? a / b : a % b;
    }
  }

  long long unary(int depth) {
    skip();
    if (depth > kMostNested || text_.empty()) bad_ = true;
    if (bad_) return 0;
    const char c = text_.front();
    if (c == '-' || c == '!' || c == '+') {
      text_.remove_prefix(1);
      const long long v = unary(depth + 1);
      return c == '-' ? -v : c == '!' ? v == 0 : v;
    }
    if (c == '(') {
      text_.remove_prefix(1);
      const long long v = level(0, depth + 1);
      skip();
      if (!text_.starts_with(')')) bad_ = true;
      else text_.remove_prefix(1);
      return v;
    }
    long long v = 0;
    bool any = false;
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9' && !bad_) {
      v = checked(v * 10 + (text_.front() - '0'));
      text_.remove_prefix(1);
      any = true;
    }
    if (!any) bad_ = true;
    return v;
  }

  std::string_view text_;
  bool bad_ = false;
};

}  // namespace

std::optional<long long> shell_arithmetic(std::string_view text) { return Expression(text).value(); }

}  // namespace wireplan
