// The trainers there are: what each file of this folder offers to trainer.cpp, by Trainer.
#pragma once

#include <span>

#include "core/text/trainers/config_reader.hpp"
#include "core/text/trainers/config_text.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {

struct TrainerCode {
  // The plan in the trainer's words.
  Result<Export> (*write)(const Plan& plan);
  // The trainer's words as parts of a plan.
  Result<ImportedTrainer> (*read)(const ConfigText& config);
  // How many things of the text are this trainer's own; 0: none, it is not its text. The highest wins.
  int (*likeness)(const ConfigText& config);
  // Why the trainer cannot say fields of the plan; the fields themselves are found by the way out and back.
  std::span<const Reason> reasons = {};
};

// Null: not there yet.
const TrainerCode* trainer_code(Trainer trainer);

// Each is defined in the file of its name.
extern const TrainerCode kTorchtitan, kDeepSpeed, kAccelerate, kTrainingArguments;
extern const TrainerCode kMegatron, kMegatronBridge, kLightning;

}  // namespace wireplan
