// FSDP as Accelerate and transformers configure it: the keys of fsdp_config, with or without "fsdp_" in front.
#pragma once

#include "core/text/trainers/config_reader.hpp"

namespace wireplan {

// What holds where the configuration does not say.
struct FsdpDefaults {
  std::string_view from;  // "default of Accelerate"
  Count version = 1;
  std::string_view wrap = "NO_WRAP";
  bool use_orig_params = true, rank0_loads = true;
};

struct FsdpAround {
  std::string strategy;            // of version 1, stated outside fsdp_config; "": not
  Count copies = 1, shards = 0, context = 1;  // of a parallelism configuration; shards 0: not stated
};

// States sharding, what a unit is, offload, loading, recomputation and the switches of the version.
// source: [accelerate-fsdp]; accelerate 1.15 utils/dataclasses.py FullyShardedDataParallelPlugin, commands/launch.py
void read_fsdp(ConfigReader& r, const FsdpDefaults& defaults, const FsdpAround& around);

// The keys of fsdp_config for a plan that shards with PyTorch; `prefix` is "fsdp_" or "".
Json fsdp_document(const Plan& plan, std::string_view prefix);

// Formats of a run under torch's autocast or FSDP's mixed precision. `type`: "bf16", "fp16", "fp8" or "no"; `loaded`: the type that the
// weights are loaded in, "" where nobody says.
void give_precision(ConfigReader& r, std::string_view type, std::string_view loaded, bool is_fsdp, std::string_view from);

// "bf16", "fp16", "fp8" or "no" of a plan: no where the weights are trained in the type that they are loaded in.
std::string_view mixed_precision(const Training& training);

}  // namespace wireplan
