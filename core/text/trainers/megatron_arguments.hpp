// Megatron-LM's arguments, wherever they stand: a launch script, a list of arguments, what the program prints of them, or YAML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/text/trainers/config_text.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {

struct MegatronArguments {
  Json values = Json::object();         // by the name the program itself has for them: {"tensor_model_parallel_size": 8, "swiglu": true}
  std::vector<std::string> unresolved;  // stated, with a value that comes from outside the text
  bool is_printed = false;              // all of them, as the program prints them: defaults are among them
  std::vector<Note> notes;
};

// valid: text within the limits of trainer.hpp; an error where a script expands beyond bounds
// source: [megatron-lm] megatron/training/arguments.py: names, and `_print_args` for what is printed
// test: tests/core/text/trainers/megatron_test.cpp
Result<MegatronArguments> megatron_arguments(const ConfigText& config);

// Whether an argument of that name decides a field of the plan.
bool is_megatron_argument(std::string_view name);

// [0]*3+[1]*58 and the like, as --moe-layer-freq takes it; empty: not such an expression, or longer than 100,000 layers.
std::vector<int> layer_pattern(std::string_view text);

}  // namespace wireplan
