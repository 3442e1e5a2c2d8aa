// What must hold of any text given to the readers of trainers' scripts and configurations.
#pragma once

#include <string>
#include <string_view>

#include "core/text/plan_json.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan::testing {

// "" where all holds: refused with path, limit and words, or read into fields that stand in the parts and go out as a document.
inline std::string trainer_fault(std::string_view text, Trainer trainer) {
  const Result<ImportedTrainer> read = import_trainer(text, trainer);
  if (!read) {
    if (read.errors().empty()) return "refused without a reason";
    for (const Error& e : read.errors())
      if (e.text.empty() || e.limit.empty() || e.value.size() > 80) return "an error without text or limit, or with a long value";
    return "";
  }
  const ImportedTrainer& parts = read.value();
  for (const ReadField& f : parts.fields)
    if (f.from.empty() || f.path.empty()) return "a field comes from nowhere";
  for (const UnreadKey& u : parts.unread)
    if (u.text.empty() || u.value.size() > 80) return "an unread key without reason, or with a long value";
  static const Presets presets;
  const Json onto{{"model", "gpt2"}, {"cluster", "dgx-a100-80gb"}};
  const Result<Plan> plan = read_plan(completed(parts, onto), presets);
  if (!plan)
    for (const Error& e : plan.errors())
      if (e.text.empty()) return "a plan is refused without words";
  return "";
}

inline std::string megatron_fault(std::string_view text) { return trainer_fault(text, Trainer::megatron); }

}  // namespace wireplan::testing
