// Reads one JSON object field by field: tracks the path, collects every error, and reports the keys nobody asked for.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/names.hpp"
#include "core/base/units.hpp"
#include "core/describe/checks.hpp"
#include "core/describe/dtype.hpp"
#include "core/describe/model.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// What reading one document has found so far.
struct ReadLog {
  Errors errors;
  std::vector<Assumption> assumed;
  bool number_missing = false;  // a number (or a whole part) could not be read: rules that need it would only confuse
  std::size_t left_out = 0;     // errors beyond the hundredth

  void add(Error error);
  // Errors of validate(), but for fields that reading has complained about already: themselves, a part of them, or what they are part of.
  void add_new(const Errors& found);
  void assume(std::string path, const Json& value, std::string why);
  // The list, with a last line for those left out.
  Errors finished();
};

// Up to three of `candidates` that a mistyped `word` may stand for, nearest first.
std::vector<std::string_view> nearest_words(std::string_view word, std::span<const std::string_view> candidates);
// ". Did you mean a, b or c?", or "" when there are none.
std::string did_you_mean(const std::vector<std::string_view>& words);

class Reader {
 public:
  // A value that is not an object is an error, and every field then counts as absent.
  Reader(ReadLog& log, const Json& json, std::string path);

  const std::string& path() const { return path_; }
  std::string path(std::string_view key) const { return joined_path(path_, key); }
  ReadLog& log() { return log_; }

  // The member, or null when it is absent; `key` counts as known from here on.
  const Json* find(std::string_view key);
  // The same, and absent for null: for fields whose null means "not stated".
  const Json* stated(std::string_view key);
  bool has(std::string_view key) { return find(key) != nullptr; }

  // Each reads into `out` and returns true, or leaves it and returns false: absent (no error), null or wrong type (an error).
  bool read(std::string_view key, bool& out) { return read(key, find(key), out); }
  bool read(std::string_view key, Count& out) { return read(key, find(key), out); }
  bool read(std::string_view key, int& out) { return read(key, find(key), out); }
  bool read(std::string_view key, double& out) { return read(key, find(key), out); }
  bool read(std::string_view key, std::string& out) { return read(key, find(key), out); }
  template <class D>
  bool read(std::string_view key, Quantity<D>& out) {
    return read(key, find(key), out.value);
  }
  template <class E>
  bool read_name(std::string_view key, E& out) {
    return name(key, find(key), out);
  }
  bool read_dtype(std::string_view key, DType& out, std::span<const DType> allowed) {
    return dtype(key, find(key), out, allowed);
  }

  // The same, with null as absent.
  template <class T>
  bool read_stated(std::string_view key, T& out) {
    return read(key, stated(key), out);
  }
  template <class E>
  bool name_stated(std::string_view key, E& out) {
    return name(key, stated(key), out);
  }
  bool dtype_stated(std::string_view key, DType& out, std::span<const DType> allowed) {
    return dtype(key, stated(key), out, allowed);
  }

  // An error when the key is absent or null; then number_missing is set.
  void require(std::string_view key, std::string_view what);

  void fail(std::string_view key, const Json& value, std::string limit, std::string text);
  // A field of the wrong type.
  void fail_type(std::string_view key, const Json& value, std::string limit);

  // Reports every member that was never asked for. Call it last.
  void finish();

  // Reads of a value found elsewhere (an element of a list); `key` names it in errors.
  bool read(std::string_view key, const Json* json, bool& out);
  bool read(std::string_view key, const Json* json, Count& out);
  bool read(std::string_view key, const Json* json, int& out);
  bool read(std::string_view key, const Json* json, double& out);
  bool read(std::string_view key, const Json* json, std::string& out);
  template <class D>
  bool read(std::string_view key, const Json* json, Quantity<D>& out) {
    return read(key, json, out.value);
  }
  template <class E>
  bool name(std::string_view key, const Json* json, E& out) {
    return one_of(key, json, kNames<E>, [&](std::size_t i) { out = static_cast<E>(i); });
  }
  bool dtype(std::string_view key, const Json* json, DType& out, std::span<const DType> allowed);

 private:
  template <class Set>
  bool one_of(std::string_view key, const Json* json, std::span<const std::string_view> names, Set set) {
    const std::size_t found = index_of(key, json, names);
    if (found >= names.size()) return false;
    set(found);
    return true;
  }
  // Position of the text among `names`; names.size() and an error when it is none of them (no error when absent).
  std::size_t index_of(std::string_view key, const Json* json, std::span<const std::string_view> names);

  ReadLog& log_;
  const Json* json_;  // null when the value is not an object
  std::string path_;
  std::vector<std::string_view> known_;
};

// Calls read(Reader&) for each object of a list; the list is required and must not be empty.
template <class Read>
void for_each(Reader& r, std::string_view key, Read read) {
  r.require(key, "a list");
  const Json* json = r.stated(key);
  if (json == nullptr) return;
  if (!json->is_array() || json->empty()) return r.fail_type(key, *json, "a list that is not empty");
  for (std::size_t i = 0; i < json->size(); ++i) {
    Reader element(r.log(), (*json)[i], r.path(key) + "." + std::to_string(i));
    read(element);
    element.finish();
  }
}

}  // namespace wireplan
