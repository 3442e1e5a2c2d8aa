#include "core/text/toml.hpp"

#include <cmath>
#include <string>
#include <utility>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
// A level is a table in an array or the other way round; each may open 64 more by a dotted key, and toml++ frees them by recursion.
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include "core/base/format.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {
namespace {

constexpr int kMostPoints = 64;  // in a line

std::string place(const toml::source_position& at) { return "line " + std::to_string(at.line) + ", column " + std::to_string(at.column); }

Error refused(std::string value, std::string limit, std::string text) { return {"", std::move(value), std::move(limit), std::move(text)}; }

// The first line with too many points; 0: none. Neighbouring points count once: no key is empty, so they open no level.
int line_with_many_points(std::string_view text) {
  int line = 1, points = 0;
  char before = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      points = 0;
    } else if (c == '.' && before != '.' && ++points > kMostPoints)
      return line;
    before = c;
  }
  return 0;
}

template <class T>
std::string text_of(const T& value) {  // of a date or time, as TOML writes it
  std::string text;
  const auto two = [&](int n) { (text += static_cast<char>('0' + n / 10)) += static_cast<char>('0' + n % 10); };
  const auto date = [&](const toml::date& d) { text += std::to_string(d.year) + '-'; two(d.month); text += '-'; two(d.day); };
  const auto time = [&](const toml::time& t) { two(t.hour); text += ':'; two(t.minute); text += ':'; two(t.second); };
  if constexpr (std::is_same_v<T, toml::date>) date(value);
  else if constexpr (std::is_same_v<T, toml::time>) time(value);
  else {
    date(value.date);
    text += 'T';
    time(value.time);
  }
  return text;
}

struct Limits {
  Errors errors;
  std::size_t values = 0;
};

// Recursion is bounded by kMaxConfigDepth.
Json json_of(const toml::node& node, int depth, Limits& limits) {
  const std::string where = place(node.source().begin);
  if (!limits.errors.empty()) return nullptr;
  if (depth > kMaxConfigDepth || ++limits.values > kMaxConfigNodes) {
    limits.errors.push_back(depth > kMaxConfigDepth
                                ? refused(where, "32 levels", "the TOML is nested deeper than 32 levels at " + where)
                                : refused(where, "100000 values", "the TOML has more than 100,000 values"));
    return nullptr;
  }
  if (const toml::table* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value, depth + 1, limits);
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& value : *array) list.push_back(json_of(value, depth + 1, limits));
    return list;
  }
  if (const auto* s = node.as_string()) return s->get();
  if (const auto* b = node.as_boolean()) return b->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* f = node.as_floating_point()) {
    if (std::isfinite(f->get())) return number(f->get());
    limits.errors.push_back(refused(where, "a finite number", "a number that is not finite at " + where));
    return nullptr;
  }
  if (const auto* d = node.as_date()) return text_of(d->get());
  if (const auto* t = node.as_time()) return text_of(t->get());
  if (const auto* t = node.as_date_time()) return text_of(t->get());
  return nullptr;
}

}  // namespace

Result<Json> parse_toml(std::string_view text) {
  if (text.size() > kMaxConfigBytes)
    return refused(format_exact(static_cast<double>(text.size())) + " bytes", "1 MiB", "the text is longer than 1 MiB");
  if (const int line = line_with_many_points(text); line > 0)
    return refused("line " + std::to_string(line), "64 points in a line",
                   "line " + std::to_string(line) + " has more than 64 points, each of which may open a level");
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const std::string where = place(parsed.error().source().begin);
    return refused(where, "TOML", "not TOML at " + where + ": " + std::string(parsed.error().description()));
  }
  Limits limits;
  Json json = json_of(parsed.table(), 0, limits);
  if (!limits.errors.empty()) return limits.errors;
  return json;
}

}  // namespace wireplan
