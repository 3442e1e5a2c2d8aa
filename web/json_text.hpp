// JSON written as text, piece by piece: what the page says often, without building a document first.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace wireplan {

class JsonText {
 public:
  JsonText& object() { return open('{'); }
  JsonText& array() { return open('['); }
  JsonText& end_object() { return close('}'); }
  JsonText& end_array() { return close(']'); }
  JsonText& key(std::string_view name);

  JsonText& value(std::string_view text);
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(const std::string& text) { return value(std::string_view(text)); }
  JsonText& value(double number);
  JsonText& value(float number) { return value(static_cast<double>(number)); }
  JsonText& value(bool flag);
  JsonText& raw(std::string_view json);  // a document as it is

  template <class T>
  JsonText& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  std::string take() { return std::move(text_); }

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  void comma();
  void quote(std::string_view text);

  std::string text_;
  bool follows_ = false;  // something stands before on this level
};

}  // namespace wireplan
