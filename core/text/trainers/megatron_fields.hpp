// Fields of a plan out of Megatron-Core's settings by name, as Megatron-LM's arguments and Megatron-Bridge's configuration share them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/trainers/config_reader.hpp"

namespace wireplan {

struct MegatronSettings {
  const Json* values = nullptr;               // by name
  std::span<const std::string> unresolved{};  // stated without a value
  bool has_defaults = true;                   // what is left out has Megatron-LM's default; else the recipe below decides, which is not known here
};

// Parts "training", "parallel", and "model" and "cluster" where stated, into `r.out`; keys are those of `settings.values`.
// source: [megatron-lm] megatron/training/arguments.py, defaults and `validate_args`
void read_megatron_fields(ConfigReader& r, const MegatronSettings& settings);

// The model alone; false where its size is not stated.
bool read_megatron_model(ConfigReader& r);

// Keys that decide nothing, or something a plan cannot say.
std::span<const KeyNote> megatron_key_notes();

}  // namespace wireplan
