// The inputs as one table: the canvas draws it, the form of narrow pages and the mirror for screen readers repeat it.
#pragma once

#include <string>
#include <vector>

#include "core/base/names.hpp"
#include "web/state.hpp"

namespace wireplan {

enum class FieldKind : unsigned char { number, choice, preset, toggle };
template <>
inline constexpr std::array<std::string_view, 4> kNames<FieldKind> = {"number", "choice", "preset", "toggle"};

// How the canvas draws a choice.
enum class Look : unsigned char { field, dropdown, segments, grid, tiles };

struct Field {
  std::string section;  // "model", "training", "layout", "cluster", "more"
  std::string path;     // of the plan document, or "recipe", "wiring"
  FieldKind kind = FieldKind::number;
  Look look = Look::field;
  bool joined = false;  // stands on the same line as the field before it
  std::string label, value, text;
  std::vector<Choice> choices;
  double min = 0, max = 0, step = 0;  // of numbers
  std::string less, more;             // the neighbouring legal values, "" at a limit
  std::string error, hint;
};

// The table for the document as it stands: values of the document, choices and neighbours of the last valid plan.
std::vector<Field> form_fields(const AppState& state);

// Errors that belong to none of the fields.
Errors errors_elsewhere(const AppState& state, const std::vector<Field>& fields);

}  // namespace wireplan
