#include "core/text/trainers/config_text.hpp"

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
    take(Syntax::json, parse_json(text), true);
    return config;
  }
  if (take(Syntax::toml, parse_toml(text), first == '[')) return config;
  if (first == '[') return config;
  take(Syntax::yaml, parse_yaml(text), true);
  return config;
}

}  // namespace wireplan
