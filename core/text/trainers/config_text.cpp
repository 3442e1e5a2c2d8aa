#include "core/text/trainers/config_text.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/toml.hpp"
#include "core/text/trainers/trainer.hpp"
#include "core/text/yaml.hpp"

namespace wireplan {
namespace {

// The first character that is neither blank nor part of a line of comment.
char first_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
      return text[i];
  }
  return 0;
}

// Levels of objects and lists; parse_json bounds them at 64.
int depth_of(const Json& value) {
  int deepest = 0;
  if (value.is_structured())
    for (const Json& one : value) deepest = std::max(deepest, depth_of(one));
  return deepest + (value.is_structured() ? 1 : 0);
}

}  // namespace

Result<ConfigText> read_config_text(std::string_view text) {
  if (text.size() > kMaxConfigBytes)
    return Error{"", format_exact(static_cast<double>(text.size())) + " bytes", "1 MiB", "the configuration is longer than 1 MiB"};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  ConfigText config{.text = text, .syntax = Syntax::other, .document = nullptr, .errors = {}};
  const char first = first_character(text);
  if (first == 0) return Error{"", "\"\"", "a configuration of a trainer", "the text is empty"};
  const auto take = [&](Syntax syntax, Result<Json> parsed, bool likely) {
    if (parsed && parsed.value().is_object()) {
      config.syntax = syntax;
      config.document = std::move(parsed.value());
      return true;
    }
    if (likely && !parsed) config.errors = parsed.errors();
    return false;
  };
  if (first == '{') {
    if (take(Syntax::json, parse_json(text), true) && depth_of(config.document) > kMaxConfigDepth)
      return Error{"", "{", "32 levels", "the configuration is nested deeper than 32 levels"};
    return config;
  }
  if (take(Syntax::toml, parse_toml(text), first == '[')) return config;
  if (first == '[') return config;
  take(Syntax::yaml, parse_yaml(text), true);
  return config;
}

Errors other_syntax(const ConfigText& config, std::string_view trainer, std::string_view syntax) {
  if (!config.errors.empty()) return config.errors;
  return {{"", value_text(Json(config.text.substr(0, 200))), std::string(syntax), "a configuration of " + std::string(trainer) + " is " + std::string(syntax) + ", which this text is not"}};
}

}  // namespace wireplan
