// TOML in, as the JSON value it stands for: toml++ behind one function.
#pragma once

#include <string_view>

#include "core/base/error.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// Tables become objects in the order of their keys, dates become text. Errors (path "", with line and column): not TOML, a key given
// twice, beyond 1 MiB or 32 levels, more than 64 points in a line (each may open a level), numbers that are not finite.
// source: https://toml.io/en/v1.0.0
Result<Json> parse_toml(std::string_view text);

}  // namespace wireplan
