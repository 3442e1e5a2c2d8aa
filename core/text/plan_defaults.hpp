// Fields of a plan that were left out and whose default depends on other fields.
#pragma once

#include "core/describe/plan.hpp"
#include "core/text/presets.hpp"
#include "core/text/read_parallel.hpp"
#include "core/text/read_training.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

struct PlanStated {
  TrainingStated training;
  ParallelStated parallel;
};

// Fills in what is not stated and records each in log.assumed:
//   data                GPUs / (tensor · pipeline · context), when that divides
//   data_sharding       ddp, or the stage of the DeepSpeed configuration
//   global_batch_size   micro_batch_size · data
//   offload             as the DeepSpeed configuration says
//   gradient_sync, overlap, implementation   by framework
//   kernels             by implementation
//   cuda_graphs, moe_dispatcher              on and flex where the vendor's recipes are followed, else off and alltoall
//   model.max_position_embeddings            sequence_length, for learned positions
void fill_defaults(Plan& plan, const PlanStated& stated, const Presets& presets, ReadLog& log);

// What the plan's implementation does on its GPU, in its release and with its kernels, with the plan's details over it: training.switches.
// For plans that were edited; reading one calls it.
void fill_switches(Plan& plan, const Implementation& implementation);

// The id of an implementation without its date: "torchtitan" of "torchtitan@2025-08".
std::string_view implementation_id(std::string_view implementation);

}  // namespace wireplan
