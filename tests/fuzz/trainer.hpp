// What must hold of any text given to the readers of trainers' configurations.
#pragma once

#include <string>
#include <string_view>

#include "core/text/toml.hpp"
#include "core/text/trainers/trainer.hpp"
#include "core/text/yaml.hpp"

namespace wireplan::testing {

inline std::string refusal_fault(const Errors& errors) {
  if (errors.empty()) return "refused without saying why";
  for (const Error& e : errors)
    if (e.text.empty() || e.limit.empty() || e.value.size() > 80) return "refused without text or limit, or with a long value: " + e.text.substr(0, 100);
  return "";
}

// Parsed values can be written and read again as they are.
inline std::string parsed_fault(const Result<Json>& parsed) {
  if (!parsed) return refusal_fault(parsed.errors());
  const Result<Json> again = parse_json(dump_json(parsed.value()));
  return again || again.errors()[0].text.find("UTF-8") != std::string::npos ? "" : "is no JSON when it is written: " + again.errors()[0].text;
}
inline std::string toml_fault(std::string_view text) { return parsed_fault(parse_toml(text)); }
inline std::string yaml_fault(std::string_view text) { return parsed_fault(parse_yaml(text)); }

// Read as every trainer: refused with reasons, or fields that each have an origin and stand in the plan.
inline std::string trainer_fault(std::string_view text) {
  for (std::size_t i = 0; i <= kNames<Trainer>.size(); ++i) {
    const auto trainer = i < kNames<Trainer>.size() ? std::optional(static_cast<Trainer>(i)) : std::nullopt;
    const Result<ImportedTrainer> read = import_trainer(text, trainer);
    if (!read) {
      if (std::string fault = refusal_fault(read.errors()); !fault.empty()) return fault;
      continue;
    }
    for (const ReadField& f : read.value().fields)
      if (f.path.empty() || f.from.empty()) return "a field without path or origin";
    for (const UnreadKey& u : read.value().unread)
      if (u.key.empty() || u.text.empty() || u.value.size() > 80) return "an unread key without name or reason";
    dump_json(write_imported(read.value()));
    dump_json(completed(read.value(), Json::object()));
  }
  return "";
}

}  // namespace wireplan::testing
