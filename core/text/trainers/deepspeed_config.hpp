// DeepSpeed's configuration as such: a file of its own, or a part of Accelerate's and transformers' ones.
#pragma once

#include "core/text/trainers/config_reader.hpp"

namespace wireplan {

// The configuration of a plan: the user's own one (parallel.deepspeed), with what the plan states over it.
// source: [deepspeed-config]; runtime/config.py, runtime/zero/config.py and runtime/precision_config.py of release 0.19
Json deepspeed_document(const Plan& plan);

// Reads the configuration at `at` ("" or "deepspeed.": how keys are named). States framework, sharding, formats, batch, offload and the
// sizes that parallel.deepspeed carries.
void read_deepspeed(ConfigReader& r, const std::string& at, const Json& config);

// What wireplan reads of a configuration and no other field of the plan says, without what is DeepSpeed's default; null: nothing.
Json deepspeed_rest(const Json& config, const Plan& plan);

// The notes on keys that give no field, each with `at` in front.
std::span<const KeyNote> deepspeed_notes();

}  // namespace wireplan
