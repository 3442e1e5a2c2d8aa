// Bytes that DeepSpeed's ZeRO holds on one GPU outside the layers' own activations: between steps, while it starts, during the
// optimizer step, and, micro-batch by micro-batch, the buckets and gradients of a backward pass. What stage 3 gathers meanwhile
// is core/count/zero3_replay.hpp.
//
// Notation: P trained parameters, N data ranks, E bytes of a parameter (2, or 4 for fp32), G of an accumulated gradient;
// p = ⌈P/2N⌉·2 the partition of a rank (stages 1, 2), S = Σ⌈n/N⌉ its shards (stage 3), B reduce_bucket_size in elements,
// m elements of all parameters that touch the partition (m ≥ p: one that a border cuts counts whole).
// Every tensor is counted in whole blocks of 512 bytes. Without: input ids, constants of the model (rotary tables), logits the
// caller keeps, workspaces of kernels and of NCCL.
//
// Source: [deepspeed-zero] engine.py, zero/stage_1_and_2.py, zero/stage3.py, bf16_optimizer.py, fp16/fused_optimizer.py,
// releases 0.14.2 and 0.19.8. Kind: count, for the first rank; on the last rank only the moment differs at which its own
// gradients are allocated. Not covered: NVMe, pipelines, expert groups of their own, quantised gathers.
// Test: tests/core/cost/deepspeed_memory_test.cpp, against [framework-traces].
#pragma once

#include <vector>

#include "core/base/blocks.hpp"
#include "core/count/deepspeed_settings.hpp"
#include "core/count/stage_traffic.hpp"
#include "core/count/zero_parameters.hpp"

namespace wireplan {

inline double tensor(double elements, double bytes) { return whole_blocks(elements * bytes); }

enum class ZeroKind : unsigned char {
  stage0,          // 16 bit: one flat copy, unsharded master (FP16_Optimizer); fp32: no wrapper
  partitioned,     // stages 1 and 2
  bf16_optimizer,  // stage 1 with fp32 gradients
  sharded          // stage 3
};

// Device bytes that stay between steps, by kind.
struct ZeroBytes {
  double parameters = 0;  // flat copy, or shards
  double frozen = 0;      // parameters that are not trained
  double gradients = 0;
  double master_weights = 0;
  double optimizer_states = 0;
  double bucket = 0;      // stage 3's for ever
  double persistent = 0;  // parameters that stage 3 keeps gathered
  double staging = 0;     // gradient on its way to the host
  double scalars = 0;     // norms, flags: a block each
  double total() const {
    return parameters + frozen + gradients + master_weights + optimizer_states + bucket + persistent + staging +
           scalars;
  }
};

// What all parts of this file need: read once from the plan.
struct ZeroPlan {
  ZeroPlan(const StageTraffic& traffic, const DeepSpeedSettings& settings);

  DeepSpeedSettings settings;
  ZeroParameters parameters;
  ZeroKind kind = ZeroKind::partitioned;
  bool stage1 = false;
  double E = 2, G = 2;  // bytes of a parameter, of an accumulated gradient
  double micro_batches = 1;
  Built built = Built::bf16_host;
  double frozen_bytes = 0, frozen_elements = 0;

  bool is_16_bit() const { return E < 4; }
  // Stage 2 with fp32 gradients: one flat buffer for the rank's own, filled at each flush.
  bool has_compact_gradients() const {
    return kind == ZeroKind::partitioned && !stage1 && is_16_bit() && G == 4 && settings.recent;
  }
  double own_elements() const { return own_elements_; }  // m
  // What the end of the last backward leaves beyond zero_between_steps: the rank's own gradients, norms on their way to the
  // host, and in 2024 the scaled loss.
  double after_backward() const;
  double own_gradients() const;                              // of these, the gradients (offload_optimizer: none)
  double all_gradients() const { return all_gradients_; }    // Σ E·n
  double shard_elements() const { return shard_elements_; }  // S
  // Elements of shards that stage 3 updates at once: sub_group_size counts shards, not parameters.
  const std::vector<double>& sub_groups() const { return sub_groups_; }

  double bytes_of_each(double bytes) const;              // of all parameters, each a tensor of its own
  double secondary_shard(const ZeroParameter& p) const;  // bytes of it (zero_hpz_partition_size), 0 without

 private:
  void add_frozen(const StageTraffic& traffic);
  double own_elements_ = 0, own_tensors_ = 0, all_gradients_ = 0, shard_elements_ = 0;
  std::vector<double> sub_groups_;
};

ZeroBytes zero_between_steps(const ZeroPlan& plan);
// The same before the first optimizer step: no moments of Adam (stage 0 with 16 bit has them at once), no persistent parameter
// gathered, secondary shards (zero_hpz_partition_size) of every parameter added to `parameters`.
ZeroBytes zero_before_first_step(const ZeroPlan& plan);

// Host bytes of a rank between steps (offload).
double zero_host_bytes(const ZeroPlan& plan);

// Highest bytes from building the model to the end of initialize().
double zero_initialize_peak(const ZeroPlan& plan);

// What stage 3's last backward leaves gathered (Zero3Replay, beyond persistent parameters), and its secondary shards.
struct Zero3Remains {
  double gathered = 0, secondary = 0;
};

// Highest bytes of the optimizer step, everything above included. `is_first`: Adam's moments appear in it.
double zero_optimizer_peak(const ZeroPlan& plan, bool is_first, const Zero3Remains& remains);

}  // namespace wireplan
