#include "core/text/json.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kShownBytes = 80;

// Length of the UTF-8 sequence that starts at `i`, 0 when there is none (RFC 3629: no overlong forms, no surrogates).
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(k) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return text.size();
}

// At most 80 bytes, cut between characters.
std::string cut(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  std::size_t end = kShownBytes - 3;  // room for the dots
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else
      out += text.substr(i, length);
    i += length;
  }
  out += '"';
}

std::string number_text(const Json& json) {
  if (json.is_number_unsigned()) return std::to_string(json.get<std::uint64_t>());
  if (json.is_number_integer()) return std::to_string(json.get<std::int64_t>());
  return format_exact(json.get<double>());
}

// Documents are at most kMaxDocumentDepth deep, our own far less, so that recursion is bounded. `indent` < 0: one line.
// Stops soon after `most` bytes.
void append_json(std::string& out, const Json& json, int indent, std::size_t most) {
  const auto new_line = [&](int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(level) * 2, ' ');
  };
  const bool is_object = json.is_object();
  if (is_object || json.is_array()) {
    out += is_object ? '{' : '[';
    bool first = true;
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (out.size() > most) return;
      if (!first) out += ',';
      first = false;
      new_line(indent + 1);
      if (is_object) {
        append_string(out, it.key());
        out += indent < 0 ? ":" : ": ";
      }
      append_json(out, *it, indent < 0 ? indent : indent + 1, most);
    }
    if (!first) new_line(indent);
    out += is_object ? '}' : ']';
  } else if (json.is_string())
    append_string(out, json.get_ref<const std::string&>());
  else if (json.is_boolean())
    out += json.get<bool>() ? "true" : "false";
  else if (json.is_number())
    out += number_text(json);
  else
    out += "null";
}

// The place of a byte for people.
std::string place(std::string_view text, std::size_t at) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < at && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80)
      ++column;
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string around(std::string_view text, std::size_t at) {
  std::size_t start = at > 20 ? at - 20 : 0;
  while (start < at && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) ++start;
  std::string shown;
  append_string(shown, text.substr(start, 40));
  return cut(shown);
}

// Receives what the library's parser finds, builds the document and stops it at the first fault. The parser itself keeps
// its place in a list, not on the stack.
class Builder {
 public:
  using Integer = Json::number_integer_t;
  using Unsigned = Json::number_unsigned_t;
  using Float = Json::number_float_t;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Integer value) { return add(value); }
  bool number_unsigned(Unsigned value) { return add(value); }
  bool number_float(Float value, const std::string&) {
    return std::isfinite(value) ? add(value) : fail("a number outside the range of a double");
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return fail("binary data"); }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second) {
      duplicate = true;
      return fail("the key \"" + cut(name) + "\" stands twice in one object");
    }
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    at = position;
    // The library's text ends in what it expected; its own prefix and codes say nothing to a user.
    const std::string_view text = error.what();
    const std::size_t dash = text.find(" - ");
    const bool range = text.find("out_of_range") != std::string_view::npos;
    return fail(range ? "a number outside the range of a double"
                      : std::string(dash == std::string_view::npos ? "syntax error" : text.substr(dash + 3)));
  }

  Json root;
  std::string fault;  // "" while all is well
  bool too_deep = false, duplicate = false;
  std::size_t at = std::string_view::npos;  // where, when the parser says so

 private:
  struct Level {
    Json* json;
    std::string key;
    std::set<std::string> keys;
  };

  bool fail(std::string text) {
    if (fault.empty()) fault = std::move(text);
    return false;
  }

  // Objects are lists of pairs: appending a key known to be new avoids the search that would make big objects quadratic.
  Json* placed(Json&& value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    Level& level = open_.back();
    if (level.json->is_array()) {
      auto& list = level.json->get_ref<Json::array_t&>();
      list.push_back(std::move(value));
      return &list.back();
    }
    auto& members = level.json->get_ref<Json::object_t&>();
    static_cast<Json::object_t::Container&>(members).emplace_back(std::move(level.key), std::move(value));
    return &members.back().second;
  }

  bool add(Json&& value) {
    placed(std::move(value));
    return true;
  }
  bool open(Json&& value) {
    if (open_.size() >= static_cast<std::size_t>(kMaxDocumentDepth)) {
      too_deep = true;
      return fail("nested too deep");
    }
    Json* json = placed(std::move(value));
    open_.push_back({json, {}, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Level> open_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.size() > kMaxDocumentBytes) {
    const std::string size = format_count(static_cast<double>(text.size())),
                      most = format_count(static_cast<double>(kMaxDocumentBytes));
    return Error{"", size + " bytes", "at most " + most + " bytes",
                 "the document has " + size + " bytes, more than " + most + ". Nearest: a shorter document"};
  }
  const std::size_t broken = first_not_utf8(text);
  if (broken < text.size())
    return Error{"", around(text, broken), "text in UTF-8",
                 "the bytes at " + place(text, broken) + " are not UTF-8. Nearest: save the document as UTF-8"};

  // The parser takes it for the end.
  if (const std::size_t nul = text.find('\0'); nul < text.size())
    return Error{"", around(text, nul), "text without NUL", "there is a NUL at " + place(text, nul) + ", which no JSON holds. Nearest: save the document as text"};

  Builder builder;
  Json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.fault.empty()) return std::move(builder.root);
  if (builder.too_deep) {
    const std::string most = std::to_string(kMaxDocumentDepth);
    return Error{"", cut(text), "at most " + most + " levels of nesting",
                 "the document is nested deeper than " + most + " levels. Nearest: a flatter document"};
  }
  if (builder.duplicate)
    return Error{"", cut(text), "each key once in an object", builder.fault + ". Nearest: leave one of them out"};
  const std::size_t at = builder.at == std::string_view::npos ? 0 : builder.at > 0 ? builder.at - 1 : 0;
  std::string fault;
  append_string(fault, builder.fault);  // makes control characters visible
  fault = fault.substr(1, fault.size() - 2);
  return Error{"", around(text, at), "JSON", "not JSON at " + place(text, at) + ": " + fault};
}

std::string dump_json(const Json& json) {
  std::string out;
  append_json(out, json, 0, std::string::npos);
  return out += '\n';
}

std::string dump_json_compact(const Json& json) {
  std::string out;
  append_json(out, json, -1, std::string::npos);
  return out;
}

Json number(double value) {
  if (!std::isfinite(value)) return 0;
  // -0.0 and 0.0 print alike.
  if (std::fabs(value) < 9007199254740992.0 && value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

void put(Json& object, const char* key, Json value) { object[key] = std::move(value); }
void put(Json& object, const char* key, std::nullptr_t) { put(object, key, Json(nullptr)); }
void put(Json& object, const char* key, double value) { put(object, key, number(value)); }
void put(Json& object, const char* key, std::int64_t value) { put(object, key, Json(value)); }
void put(Json& object, const char* key, int value) { put(object, key, Json(value)); }
void put(Json& object, const char* key, bool value) { put(object, key, Json(value)); }
void put(Json& object, const char* key, std::string_view text) { put(object, key, Json(text)); }
void put(Json& object, const char* key, const std::string& text) { put(object, key, Json(text)); }
void put(Json& object, const char* key, const char* text) { put(object, key, Json(text)); }
void put_or_null(Json& object, const char* key, double value) {
  put(object, key, value > 0 ? number(value) : Json(nullptr));
}

std::string value_text(const Json& json) {
  std::string out;
  append_json(out, json, -1, kShownBytes);
  return cut(out);
}

}  // namespace wireplan
