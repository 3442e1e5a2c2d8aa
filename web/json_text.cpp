#include "web/json_text.hpp"

#include "core/base/format.hpp"

namespace wireplan {

void JsonText::comma() {
  if (follows_) text_ += ',';
  follows_ = true;
}

void JsonText::quote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') text_ += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      text_ += c;
    } else {
      text_ += "\\u00";
      text_ += kHex[c >> 4 & 15];
      text_ += kHex[c & 15];
    }
  }
  text_ += '"';
}

JsonText& JsonText::open(char bracket) {
  comma();
  text_ += bracket;
  follows_ = false;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  text_ += bracket;
  follows_ = true;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  comma();
  quote(name);
  text_ += ':';
  follows_ = false;
  return *this;
}

JsonText& JsonText::value(std::string_view text) {
  comma();
  quote(text);
  return *this;
}

JsonText& JsonText::value(double number) {
  comma();
  text_ += format_exact(number);
  return *this;
}

JsonText& JsonText::value(bool flag) { return raw(flag ? "true" : "false"); }

JsonText& JsonText::raw(std::string_view json) {
  comma();
  while (!json.empty() && json.back() == '\n') json.remove_suffix(1);
  text_ += json;
  return *this;
}

}  // namespace wireplan
