#include "core/text/trainers/trainer.hpp"

#include "core/describe/defaults.hpp"
#include "core/text/launch/launch.hpp"
#include "core/text/plan_defaults.hpp"
#include "core/text/trainers/difference.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

// By Trainer; null: not there yet.
constexpr const TrainerCode* kCode[kNames<Trainer>.size()] = {&kTorchtitan, &kDeepSpeed, &kAccelerate, &kMegatron, &kTrainingArguments, &kMegatronBridge, &kLightning};

constexpr std::string_view kLabels[kNames<Trainer>.size()] = {"torchtitan", "DeepSpeed", "Accelerate", "Megatron-LM", "Hugging Face TrainingArguments", "NeMo Megatron-Bridge", "Lightning"};

Error unbuilt(Trainer trainer) {
  const std::string name(name_of(trainer));
  return {"to", value_text(Json(name)), names_listed<Trainer>(), "the trainer " + name + " is not built yet"};
}

std::string known_files() {
  return "torchtitan TOML, DeepSpeed JSON, Accelerate YAML, TrainingArguments as YAML or JSON, Megatron-LM arguments, Megatron-Bridge or Lightning code";
}

std::optional<Trainer> likeliest(const ConfigText& config) {
  std::optional<Trainer> trainer;
  int most = 0;
  for (std::size_t i = 0; i < kNames<Trainer>.size(); ++i) {
    const int found = kCode[i] == nullptr ? 0 : kCode[i]->likeness(config);
    if (found <= most) continue;
    most = found;
    trainer = static_cast<Trainer>(i);
  }
  return trainer;
}

}  // namespace

const TrainerCode* trainer_code(Trainer trainer) { return kCode[static_cast<std::size_t>(trainer)]; }

std::string_view trainer_label(Trainer trainer) { return kLabels[static_cast<std::size_t>(trainer)]; }

Result<Export> export_plan(const Plan& plan, Trainer trainer) {
  const TrainerCode* code = trainer_code(trainer);
  if (code == nullptr) return unbuilt(trainer);
  Result<Export> exported = code->write(plan);
  if (exported) {
    add_inexpressible(plan, trainer, code->reasons, exported.value());
    exported.value().files.push_back(trainer_launch(plan, trainer, exported.value().files.front().name));
  }
  return exported;
}

std::optional<Trainer> detected_trainer(std::string_view text) {
  const Result<ConfigText> config = read_config_text(text);
  return config ? likeliest(config.value()) : std::nullopt;
}

Result<ImportedTrainer> import_trainer(std::string_view text, std::optional<Trainer> trainer) {
  Result<ConfigText> config = read_config_text(text);
  if (!config) return config.errors();
  if (!trainer) {
    trainer = likeliest(config.value());
    if (!trainer) {
      if (!config.value().errors.empty()) return config.value().errors;
      return Error{"", value_text(Json(text.substr(0, 200))), known_files(), "no key of a trainer is in this text; it may be " + known_files()};
    }
  }
  const TrainerCode* code = trainer_code(*trainer);
  if (code == nullptr) return unbuilt(*trainer);
  return code->read(config.value());
}

Trainer usual_trainer(const Plan& plan) {
  const std::string_view code = implementation_id(plan.training.implementation);
  if (plan.parallel.framework == Framework::megatron) return Trainer::megatron;
  if (plan.parallel.framework == Framework::deepspeed) return Trainer::deepspeed;
  if (code == "torchtitan") return Trainer::torchtitan;
  if (code == "litgpt") return Trainer::lightning;
  return Trainer::accelerate;
}

}  // namespace wireplan
