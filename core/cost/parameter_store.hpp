// Bytes of the parameters of each piece of the model (embedding, a layer, final norm and head) on one rank: as they are stored, as
// they are gathered, and what belongs to them. Counted tensor by tensor, in blocks of the allocator.
#pragma once

#include "core/count/tensors.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

struct PieceBytes {
  double elements = 0, trained = 0;    // on this rank of tensor parallelism, before data sharding
  double stored = 0;                   // parameters as they stay between steps
  double states = 0, counters = 0;     // of the optimizer; step counters of the fused kernel
  double master = 0;                   // fp32 copies beside 16-bit parameters, where the framework keeps both (Megatron)
  double one_state = 0;                // one of the states of the matrices (weight-decayed group)
  double gradients = 0;                // as the optimizer reads them: whole or sharded
  double whole_gradients = 0;          // whole, in the type the kernels write
  double reduce_input = 0;             // whole, padded, in the type of the reduction
  double reduce_output = 0;            // this rank's share of it
  double gathered = 0;                 // whole parameters in the type of the arithmetic, tensor by tensor
  double gather_buffer = 0;            // the same as one buffer with its padding
  double raw_gradients = 0;            // whole, without the blocks' rounding
  double raw_stored = 0, raw_states = 0, raw_kept_gradients = 0, raw_master = 0;  // of stored, states, gradients and master, without it
  double flat_gradient = 0;            // of a flat parameter, whole, in the type of the arithmetic
  double scales = 0;                   // of blocks of a quantised base, which nothing shards; part of `stored`

  PieceBytes& operator+=(const PieceBytes& other);
};

// How states are cut: `ranks` share them; per tensor along the first dimension (FSDP2), or as one flat piece (FSDP1).
struct Sharding {
  double ranks = 1;
  bool per_tensor = true;
  bool shards_parameters = false, shards_gradients = false, shards_optimizer = false;
};
Sharding sharding_of(const Plan& plan);

// Beside the values of an nf4 base: one fp32 scale for 64 of them.
inline constexpr double kNf4ScaleBytes = 4.0 / 64;

// Bytes of a stored parameter of the base (adapters: details.adapter_dtype).
double stored_bytes(const Plan& plan);

PieceBytes piece_bytes(const Plan& plan, const TensorList& tensors, const Sharding& sharding, bool is_trained = true);

// The bytes of a unit of FSDP version 1: its tensors as one flat parameter, padded to the ranks.
PieceBytes one_flat_parameter(const Plan& plan, const PieceBytes& unit);

struct ModelBytes {
  PieceBytes embedding, head, dense_layer, moe_layer;
};
ModelBytes model_bytes(const Plan& plan);

}  // namespace wireplan
