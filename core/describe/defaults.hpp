// What a framework does when the plan does not say: the defaults that depend on framework, data sharding and number formats.
#pragma once

#include <vector>

#include "core/describe/parallel.hpp"
#include "core/describe/plan.hpp"
#include "core/describe/training.hpp"

namespace wireplan {

// When gradients are synchronised: DDP, ZeRO-1 and everything of Megatron once per step; ZeRO-2/3, FSDP and HSDP in every micro-batch
// (PyTorch and DeepSpeed reduce as soon as a shard's owner can take it, unless told otherwise). A pipeline of PyTorch reduces once a step: its stages turn
// the reduction off until the last backward. (backward_maybe_with_nosync of torch.distributed.pipelining)
GradientSync default_gradient_sync(Framework framework, DataSharding sharding, Count pipeline);

// What runs beside compute: PyTorch overlaps gradient reduction and FSDP's gathers; Megatron overlaps nothing until its flags are
// set, as the vendor's recipes do; DeepSpeed overlaps by default at stage 3 only.
Overlap default_overlap(const Parallel& parallel, const Training& training);

// Parameters in fp32 that nothing gathers in 16 bit are cast where they are used.
bool default_autocast(const Plan& plan);

// Decides again what the user left open, for a plan that was read and then changed in data_sharding, sequence_parallel, loss or number formats: as if the
// changed document had been read. `assumed` still says what it did.
void decide_again(Plan& plan);

// Who trains with Megatron in 8 or 4 bits and 16-bit gradients starts from the vendor's recipes.
bool follows_vendor_recipes(Framework framework, const Training& training);

// The data shardings a framework has, in order of how much they divide.
std::vector<DataSharding> shardings_of(Framework framework);

}  // namespace wireplan
