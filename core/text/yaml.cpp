#include "core/text/yaml.hpp"

#include <yaml.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/names.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {
namespace {

Error refused(std::string value, std::string limit, std::string text) { return {"", std::move(value), std::move(limit), std::move(text)}; }
std::string place(const yaml_mark_t& at) { return "line " + std::to_string(at.line + 1) + ", column " + std::to_string(at.column + 1); }
std::string text_of(const yaml_char_t* text) { return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text)); }

bool any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view w : words)
    if (w == text) return true;
  return false;
}

// A whole number or one with a point or exponent, underscores left out; null otherwise.
Json number_of(std::string_view text) {
  std::string digits;
  bool has_digit = false, is_whole = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_digit = c >= '0' && c <= '9';
    has_digit = has_digit || is_digit;
    if (c == '_' && i > 0) continue;
    if (c == '.' || c == 'e' || c == 'E') is_whole = false;
    const bool is_sign = (c == '-' || c == '+') && (i == 0 || text[i - 1] == 'e' || text[i - 1] == 'E');
    if (!is_digit && !is_sign && (is_whole || (c != '.' && c != 'e' && c != 'E'))) return nullptr;
    if (c != '+' || i > 0) digits += c;
  }
  if (!has_digit) return nullptr;
  if (is_whole) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error == std::errc() && end == digits.data() + digits.size()) return n;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  return end == digits.c_str() + digits.size() && std::isfinite(value) ? number(value) : Json(nullptr);
}

// What a plain scalar stands for (YAML 1.1, as PyYAML's safe loader resolves it).
Json plain(const std::string& text) {
  if (any_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (any_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (any_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return false;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), n, text[1] == 'x' ? 16 : 8);
    if (error == std::errc() && end == text.data() + text.size()) return n;
  }
  Json n = number_of(text);
  return n.is_null() ? Json(text) : n;
}

struct Anchor {
  std::string name;
  Json value;
  std::size_t values = 1;
};

struct Open {  // a mapping or list whose end has not come
  Json value;
  Json merged = nullptr;  // what "<<" brings; its keys stand unless they are given themselves
  std::string key, anchor;
  bool has_key = false;
  std::size_t values_before = 0;
};

class Builder {
 public:
  Errors errors;
  Json root;
  bool has_root = false;

  void open(Json value, const yaml_char_t* anchor, const yaml_mark_t& at) {
    if (open_.size() >= static_cast<std::size_t>(kMaxConfigDepth))
      return fail(at, "32 levels", "the YAML is nested deeper than 32 levels at ");
    if (!open_.empty() && open_.back().value.is_object() && !open_.back().has_key) return fail(at, "a scalar", "a key that is no scalar at ");
    Open opened;
    opened.value = std::move(value);
    opened.anchor = text_of(anchor);
    opened.values_before = values_;
    open_.push_back(std::move(opened));
  }
  void close(const yaml_mark_t& at) {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.merged.is_object()) merge(done.value, done.merged);
    if (!done.anchor.empty()) keep(std::move(done.anchor), done.value, values_ - done.values_before + 1);
    put(std::move(done.value), at);
  }
  void scalar(const yaml_event_t& event) {
    const auto& s = event.data.scalar;
    const std::string text(reinterpret_cast<const char*>(s.value), s.length);
    if (!open_.empty() && open_.back().value.is_object() && !open_.back().has_key) {
      open_.back().key = text;
      open_.back().has_key = true;
      return;
    }
    // A tag of a type (!!str) makes a plain scalar text, as quotes do.
    Json value = s.style == YAML_PLAIN_SCALAR_STYLE && s.tag == nullptr ? plain(text) : Json(text);
    if (s.anchor != nullptr) keep(text_of(s.anchor), value, 1);
    put(std::move(value), event.start_mark);
  }
  void alias(const yaml_event_t& event) {
    const std::string name = text_of(event.data.alias.anchor);
    for (std::size_t i = anchors_.size(); i-- > 0;) {
      if (anchors_[i].name != name) continue;
      if (!open_.empty() && open_.back().value.is_object() && !open_.back().has_key)
        return fail(event.start_mark, "a scalar", "a key that is an alias at ");
      if ((values_ += anchors_[i].values) > kMaxConfigNodes) return too_many(event.start_mark);
      return put(anchors_[i].value, event.start_mark);
    }
    fail(event.start_mark, "an anchor above", "no anchor " + name + " before its alias at ");
  }
  void fail(const yaml_mark_t& at, std::string limit, std::string text) { errors.push_back(refused(place(at), std::move(limit), text + place(at))); }

 private:
  std::vector<Open> open_;
  std::vector<Anchor> anchors_;
  std::size_t values_ = 0, kept_ = 0;

  void too_many(const yaml_mark_t& at) { fail(at, "100000 values", "the YAML has more than 100,000 values, aliases written out, at "); }
  void keep(std::string name, const Json& value, std::size_t values) {
    kept_ += values;  // each anchor is a copy of its own
    if (kept_ > kMaxConfigNodes || anchors_.size() > 1000) errors.push_back(refused("", "1000 anchors", "the YAML has too many anchors"));
    else anchors_.push_back({std::move(name), value, values});
  }
  static void merge(Json& into, const Json& from) {
    for (auto it = from.begin(); it != from.end(); ++it)
      if (!into.contains(it.key())) into[it.key()] = it.value();
  }
  void put(Json value, const yaml_mark_t& at) {
    if (++values_ > kMaxConfigNodes) return too_many(at);
    if (open_.empty()) {
      root = std::move(value);
      has_root = true;
      return;
    }
    Open& top = open_.back();
    if (top.value.is_array()) {
      top.value.push_back(std::move(value));
      return;
    }
    top.has_key = false;
    if (top.key == "<<") {
      if (top.merged.is_null()) top.merged = Json::object();
      if (value.is_object()) return merge(top.merged, value);
      if (value.is_array()) {  // the first that has a key wins
        for (const Json& one : value)
          if (one.is_object()) merge(top.merged, one);
        return;
      }
    }
    if (top.value.contains(top.key)) return fail(at, "each key once", "the key " + value_text(Json(top.key)) + " is given twice, again at ");
    top.value[top.key] = std::move(value);
  }
};

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  if (text.size() > kMaxConfigBytes)
    return refused(format_exact(static_cast<double>(text.size())) + " bytes", "1 MiB", "the text is longer than 1 MiB");
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) return refused("", "memory", "no memory to read YAML");
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  Builder builder;
  for (bool more = true; more && builder.errors.empty();) {
    yaml_event_t event;
    if (yaml_parser_parse(&parser, &event) == 0) {
      builder.fail(parser.problem_mark, "YAML", "not YAML (" + std::string(parser.problem == nullptr ? "?" : parser.problem) + ") at ");
      break;
    }
    switch (event.type) {
      case YAML_STREAM_END_EVENT: more = false; break;
      case YAML_DOCUMENT_START_EVENT:
        if (builder.has_root) builder.fail(event.start_mark, "one document", "a second document begins at ");
        break;
      case YAML_SCALAR_EVENT: builder.scalar(event); break;
      case YAML_ALIAS_EVENT: builder.alias(event); break;
      case YAML_MAPPING_START_EVENT: builder.open(Json::object(), event.data.mapping_start.anchor, event.start_mark); break;
      case YAML_SEQUENCE_START_EVENT: builder.open(Json::array(), event.data.sequence_start.anchor, event.start_mark); break;
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT: builder.close(event.start_mark); break;
      default: break;
    }
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  if (!builder.errors.empty()) return builder.errors;
  return std::move(builder.root);
}

}  // namespace wireplan
