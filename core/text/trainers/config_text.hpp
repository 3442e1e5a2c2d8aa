// A configuration's text, taken apart once for all trainers.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/json.hpp"

namespace wireplan {

enum class Syntax : unsigned char { json, toml, yaml, other };  // other: shell, Python, a log: its reader takes `text`
template <>
inline constexpr std::array<std::string_view, 4> kNames<Syntax> = {"json", "toml", "yaml", "other"};

struct ConfigText {
  std::string_view text;
  Syntax syntax = Syntax::other;
  Json document;  // an object; null with Syntax::other
  Errors errors;  // what its likeliest syntax says is wrong, with Syntax::other
};

// JSON where the text opens with '{', else TOML, else YAML that is a mapping, else `other`. An error only beyond the limits of trainer.hpp.
Result<ConfigText> read_config_text(std::string_view text);

// What is wrong with a text that is not in the syntax of its trainer: what the reader of its likeliest syntax says, or that.
Errors other_syntax(const ConfigText& config, std::string_view trainer, std::string_view syntax);

}  // namespace wireplan
