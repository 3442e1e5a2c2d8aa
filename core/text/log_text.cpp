#include "core/text/log_text.hpp"

#include <algorithm>

namespace wireplan {
namespace {

constexpr std::size_t kMaxLine = 4096, kMaxWords = 512;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 10^n for 0 <= n <= 22 is exact in a double; beyond, the error is far below what logs print.
double power_of_ten(int n) {
  double p = 1;
  for (int i = 0; i < n; ++i) p *= 10;
  return p;
}

}  // namespace

std::optional<std::string> next_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view raw = text.substr(0, std::min(end, kMaxLine));
  text.remove_prefix(std::min(end + 1, text.size()));
  std::string line;
  line.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(raw[i]);
    if (c == 0x1b && i + 1 < raw.size() && raw[i + 1] == '[') {  // ESC [ … letter
      for (i += 2; i < raw.size() && !(raw[i] >= '@' && raw[i] <= '~'); ++i) {}
      continue;
    }
    line += c < 0x20 || c == 0x7f ? ' ' : raw[i];
  }
  return line;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (words.size() < kMaxWords) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<double> decimal(std::string_view text, int shift) {
  if (text.empty() || text.size() > 40) return std::nullopt;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  double digits = 0;
  int exponent = shift, count = 0;
  bool has_point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (!is_digit(text[i])) break;
    digits = digits * 10 + (text[i] - '0');
    ++count;
    if (has_point) --exponent;
  }
  if (count == 0) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    std::string_view rest = text.substr(i + 1);
    const bool is_small = !rest.empty() && rest.front() == '-';
    if (is_small || (!rest.empty() && rest.front() == '+')) rest.remove_prefix(1);
    if (rest.empty() || rest.size() > 2 || !std::all_of(rest.begin(), rest.end(), is_digit)) return std::nullopt;
    int stated = 0;
    for (const char c : rest) stated = stated * 10 + (c - '0');
    exponent += is_small ? -stated : stated;
  }
  const double value = exponent < 0 ? digits / power_of_ten(-exponent) : digits * power_of_ten(exponent);
  return negative ? -value : value;
}

std::optional<long long> whole_number(std::string_view text) {
  if (text.empty() || text.size() > 15 || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  long long n = 0;
  for (const char c : text) n = n * 10 + (c - '0');
  return n;
}

std::optional<long long> number_at(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return at < end ? whole_number(text.substr(at, end - at)) : std::nullopt;
}

std::optional<long long> number_behind(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  return found == std::string_view::npos ? std::nullopt : number_at(text, found + key.size());
}

std::size_t message_start(std::string_view line) {
  const std::size_t npos = std::string_view::npos;
  std::size_t start = npos;
  for (const std::string_view mark : {"NCCL INFO", "NCCL WARN", "NCCL TRACE", "NCCL ERROR"}) start = std::min(start, line.find(mark));
  if (start == npos) return npos;
  // In front of it "[0]", in front of that host, process and thread; a warning has "socket.c:446" between.
  std::string_view before = line.substr(0, start);
  const auto drop_blanks = [&] { while (before.ends_with(' ')) before.remove_suffix(1); };
  const auto drop_word = [&] {
    drop_blanks();
    const std::size_t blank = before.rfind(' ');
    const std::string_view word = before.substr(blank == npos ? 0 : blank + 1);
    if (contains(word, ":")) before = before.substr(0, before.size() - word.size());
  };
  drop_blanks();
  if (!before.ends_with(']')) drop_word();
  drop_blanks();
  if (before.ends_with(']')) {
    const std::size_t open = before.rfind('[');
    if (open == npos) return before.size();
    before = before.substr(0, open);
    drop_word();
  }
  return before.size();
}

}  // namespace wireplan
