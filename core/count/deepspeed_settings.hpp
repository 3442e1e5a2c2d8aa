// The settings of a DeepSpeed run that decide sizes: the user's own configuration, or DeepSpeed's defaults.
#pragma once

#include "core/describe/plan.hpp"

namespace wireplan {

struct DeepSpeedSettings {
  double reduce_bucket = 5e8;          // elements
  double prefetch_bucket = 5e7;        // elements, stage 3
  double max_live = 1e9;               // parameters, stage 3
  double max_reuse = 1e9;              // parameters, stage 3
  double persistence_threshold = 1e5;  // parameters of a tensor, stage 3
  double sub_group = 1e9;              // elements of a shard, stage 3
  bool overlap = false;                // overlap_comm
  bool round_robin = false;            // round_robin_gradients
  bool contiguous = true;              // contiguous_gradients
  bool efficient_linear = true;        // memory_efficient_linear, stage 3
  bool reduce_scatter = true;          // stage 3: false reduces whole buckets
  bool recent = true;  // a release of 2025 or later: overflow is checked in bf16 too, recomputation stops early
  double hpz = 1;  // zero_hpz_partition_size: ranks of a group that keeps a second copy of sharded parameters, stage 3
  bool offload_optimizer = false, offload_parameters = false;
};

// Defaults of [deepspeed-zero] zero/config.py (releases 0.14 to 0.19); "auto" as [huggingface-transformers] fills it in:
// reduce bucket h², prefetch bucket 0.9·h², persistence threshold 10·h. Unreadable keys keep their default.
DeepSpeedSettings deepspeed_settings(const Plan& plan);

// zero_hpz_partition_size alone: 1 where it is not set or has no meaning.
Count secondary_ranks(const Plan& plan);

}  // namespace wireplan
