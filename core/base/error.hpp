// Errors are data: every function that judges input returns what is wrong as a list, nothing is thrown.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/names.hpp"

namespace wireplan {

// One thing wrong with the input (the `errors` document).
struct Error {
  std::string path;   // JSON path of the field, e.g. "parallel.tensor"; "" for the document as a whole
  std::string value;  // what was given, as JSON text, cut at 80 characters on a character border
  std::string limit;  // what is allowed there, e.g. "a divisor of 32"
  std::string text;   // one sentence for a person, names value, limit and the nearest valid values
  friend bool operator==(const Error&, const Error&) = default;
};
using Errors = std::vector<Error>;

// Either a value or a non-empty list of errors.
template <class T>
class Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Errors errors) : content_(std::move(errors)) {}
  Result(Error error) : content_(Errors{std::move(error)}) {}

  explicit operator bool() const { return content_.index() == 0; }
  T& value() { return *std::get_if<0>(&content_); }
  const T& value() const { return *std::get_if<0>(&content_); }
  const Errors& errors() const { return *std::get_if<1>(&content_); }

 private:
  std::variant<T, Errors> content_;
};

// Something the answer rests on that the user did not state (`assumed` of the estimate and of clusters).
struct Assumption {
  std::string path, value, why;  // value as JSON text
  friend bool operator==(const Assumption&, const Assumption&) = default;
};

enum class Severity : unsigned char { info, warning, error };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Severity> = {"info", "warning", "error"};
struct Note {
  Severity severity = Severity::info;
  std::string path, text;
  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace wireplan
