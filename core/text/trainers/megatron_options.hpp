// A plan as options of Megatron-Core, by group: what Megatron-LM's command line and Megatron-Bridge's configuration are written from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/text/trainers/trainer.hpp"

namespace wireplan {

enum class OptionGroup : unsigned char { model, experts, parallel, data_parallel, training, memory };
template <>
inline constexpr std::array<std::string_view, 6> kNames<OptionGroup> = {"MODEL_ARGS", "MOE_ARGS", "PARALLEL_ARGS", "DATA_PARALLEL_ARGS", "TRAINING_ARGS", "MEMORY_ARGS"};

struct MegatronOption {
  OptionGroup group{};
  std::string_view name;  // "tensor-model-parallel-size"
  std::string value;      // "" for a flag
};

struct MegatronOptions {
  std::vector<MegatronOption> options;
  std::vector<Inexpressible> inexpressible;  // of the model; the rest is found by the way out and back
  std::vector<Note> notes;
};

// source: [megatron-lm] megatron/training/arguments.py. valid: a plan of framework megatron with a model that is a transformer
MegatronOptions megatron_options(const Plan& plan);

}  // namespace wireplan
