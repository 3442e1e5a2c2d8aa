#include "core/text/capture.hpp"

namespace wireplan {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b'; }

// Length of the escape sequence at the start of `text`, which begins with ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return text.size() < 2 ? 1 : 2;
  std::size_t i = 2;
  while (i < text.size() && i < 32 && static_cast<unsigned char>(text[i]) >= 0x20 && static_cast<unsigned char>(text[i]) < 0x40) ++i;
  return i < text.size() && static_cast<unsigned char>(text[i]) >= 0x40 ? i + 1 : i;
}

}  // namespace

std::string plain_capture(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\x1b') {
      i += escape_length(text.substr(i));
    } else if (text.substr(i, 2) == "\xc2\xa0") {
      plain += ' ';
      i += 2;
    } else if (text.substr(i, 3) == "\xef\xbb\xbf") {
      i += 3;
    } else {
      if (c == '\r') {
        if (i + 1 >= text.size() || text[i + 1] != '\n') plain += '\n';
      } else {
        plain += c == '\n' || static_cast<unsigned char>(c) >= 0x20 ? c : ' ';
      }
      ++i;
    }
  }
  return plain;
}

bool is_binary(std::string_view text) {
  std::size_t controls = 0;
  for (char c : text) {
    if (c == '\0') return true;
    controls += is_control(c);
  }
  return controls * 10 > text.size();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string_view> split_cells(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < line.size();) {
    const auto is_blank = [&](std::size_t k) { return line[k] == ' ' || line[k] == '\t' || line[k] == '|'; };
    if (is_blank(i)) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < line.size() && !is_blank(i)) ++i;
    words.push_back(line.substr(start, i - start));
  }
  return words;
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool has_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  for (std::size_t i = text.find(word); i != std::string_view::npos; i = text.find(word, i + 1)) {
    const bool starts = i == 0 || !is_letter(text[i - 1]);
    const bool ends = i + word.size() >= text.size() || !is_letter(text[i + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

std::optional<int> small_number(std::string_view text) {
  const bool hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  if (hex) text.remove_prefix(2);
  if (text.empty() || text.size() > (hex ? 7u : 9u)) return std::nullopt;
  int value = 0;
  for (char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * (hex ? 16 : 10) + digit;
  }
  return value;
}

std::string shown_name(std::string_view text, std::size_t most) {
  std::string shown;
  for (char c : text.substr(0, most)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return shown;
}

}  // namespace wireplan
