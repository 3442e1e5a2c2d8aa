// Bytes on one GPU: model states exactly, and the highest moment of a step (core/cost/step_memory.hpp).
//
// Notation: P parameters of the stage on one rank before data sharding, X those of its routed experts, N and M the ranks that
// share a sharded state (dense, experts).
#pragma once

#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cost/ledger.hpp"
#include "core/count/parameters.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

// Constants of frameworks and drivers that no plan states (assets/measurements/memory.json).
// The values stand in the file alone; a field it leaves out is an error of its reader.
struct MemoryConstants {
  double unavoidable_fragmentation = 0;  // of allocated: what the allocator cannot give back before it fails
  double band_fragmentation = 0;         // upper end of it
  double slack_segments = 0, slack_rocm = 0, slack_default = 0, slack_megatron = 0;  // reserved over allocated, minus one
  double band_exact = 0, band_moe = 0, band_default = 0;             // relative half widths of the allocated band
  Bytes context;                         // CUDA context and kernels of a part not listed
  struct Context { std::string architecture; Bytes bytes, workspaces; };
  std::vector<Context> contexts;
  Bytes communicator;                    // per process group of two or more ranks that is used
  Bytes workspaces;                      // of matrix products, on a part not listed
  std::string source;
};

struct StateBytes {  // what a GPU keeps of each. Exact: elements × bytes, elements divided over the ranks that share them
  Bytes parameters, gradients, master_weights, optimizer_states;
  Bytes total() const { return parameters + gradients + master_weights + optimizer_states; }
};

// bytes = ceil(per_element·(ceil(dense / dense_ranks) + ceil(experts / expert_ranks)) + frozen)
struct StateTerm {
  double per_element = 0, dense = 0, dense_ranks = 1, experts = 0, expert_ranks = 1;
  Bytes frozen;  // base weights that are not trained (adapters)
  Bytes bytes() const;
};

// Alive at one moment of the step; adds up to the allocated bytes of that moment.
struct MemoryParts {
  Bytes parameters, gradients, master_weights, optimizer_states, activations, logits, unsharded_parameters, communication_buffers, temporary;
  Bytes total() const {
    return parameters + gradients + master_weights + optimizer_states + activations + logits + unsharded_parameters + communication_buffers + temporary;
  }
};

// Of which part a term of the ledger is.
MemoryParts parts_of(const Holdings& holdings);

struct StageMemory {
  StateBytes states;
  StateTerm parameter_term, gradient_term, master_term, optimizer_term;
  Holdings peak;     // what is alive at the highest moment of a steady step, whole bytes
  Place place;       // that moment
  MemoryParts parts;  // the same by part
  Holdings idle;      // what stays between steps
  Bytes host{-1};     // of one rank, where the framework counts its own; negative: what `offload` moves
  Bytes layers_keep;  // the stage's layers of one micro-batch for their backward
  Bytes after_forward, after_backward, between_steps, load, initialize, first_step, save;
};

// what: memory of the fullest rank of every pipeline stage, first to last.
// formula: states as StateTerm, or counted tensor by tensor where the engine does; peak = max over the step of Σ terms alive.
// where: `trained`: what of the stages is trained (adapters only under LoRA, else the same as `stages`).
// source: core/cost/step_memory.hpp and the engines' files.  valid: states count; peak as docs/accuracy.md says.
// test: tests/core/cost/memory_test.cpp, megatron_memory_test.cpp, deepspeed_memory_test.cpp, tests/core/answer/traces_test.cpp.
std::vector<StageMemory> stage_memory(const Plan& plan, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained);

// what: least that stays on a GPU through the step: parameters, master weights, optimizer states of a stage, without offload.
// kind: bound.  test: tests/core/answer/search_test.cpp.
Bytes kept_bytes(const Plan& plan, const StageParameters& stage, const StageParameters& trained);

// What the offload settings move to the host memory of one rank.
Bytes offloaded_bytes(const Plan& plan, const StageMemory& stage);

// Bytes of optimizer state a trained parameter has: adamw 2 states of the state type, lion and sgd-momentum 1, sgd 0,
// adamw-8bit 2 × (1 + 4/256) [one fp32 scale per 256], adafactor a row and a column vector per matrix, muon one state for
// matrices and two for embedding and head. Exact for all but adafactor.
double optimizer_state_bytes_per_parameter(const Plan& plan);

// Layers of micro-batches a stage holds at its deepest point: 1F1B min(m, p-i)·L_i, GPipe m·L_i, zero-bubble and DualPipe as
// published. Source: [zerobubble24], [dualpipe]; interleaved by counting chunk passes. Exact for 1F1B and GPipe.
double layer_passes_in_flight(const Plan& plan, int stage, Count layers);

}  // namespace wireplan
