#include "core/text/plain_text.hpp"

namespace wireplan {
namespace {

// Length of the character that begins at `at`, and its number; 0 where no sound UTF-8 begins.
std::size_t character(std::string_view text, std::size_t at, unsigned long& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  code = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code >= least[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) ? length : 0;
}

bool is_printable(unsigned long code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if ((code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)) return false;
  return code != 0xFEFF && (code & 0xFFFE) != 0xFFFE;
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t written = 0;
  for (std::size_t at = 0; at < text.size(); ++written) {
    unsigned long code = 0;
    const std::size_t length = character(text, at, code), next = at + (length == 0 ? 1 : length);
    if (written + 1 >= most && next < text.size()) return out + "…";
    if (length == 0 || !is_printable(code)) out += '?';
    else if (code == '`') out += '\'';
    else out.append(text.substr(at, length));
    at = next;
  }
  return out;
}

std::string xml_text(std::string_view text, std::size_t most) {
  std::string out;
  for (char c : plain_text(text, most)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string markdown_text(std::string_view text, std::size_t most) {
  std::string out;
  for (char c : plain_text(text, most)) {
    for (char mark : std::string_view("\\*_<>[]|&")) if (c == mark) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace wireplan
