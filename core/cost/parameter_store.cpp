#include "core/cost/parameter_store.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/layer_tape.hpp"
#include "core/cost/memory.hpp"
#include "core/cost/tape.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {

PieceBytes& PieceBytes::operator+=(const PieceBytes& o) {
  elements += o.elements;
  trained += o.trained;
  stored += o.stored;
  states += o.states;
  master += o.master;
  counters += o.counters;
  one_state += o.one_state;
  gradients += o.gradients;
  whole_gradients += o.whole_gradients;
  reduce_input += o.reduce_input;
  reduce_output += o.reduce_output;
  gathered += o.gathered;
  gather_buffer += o.gather_buffer;
  raw_gradients += o.raw_gradients;
  raw_stored += o.raw_stored;
  raw_states += o.raw_states;
  raw_master += o.raw_master;
  raw_kept_gradients += o.raw_kept_gradients;
  flat_gradient += o.flat_gradient;
  scales += o.scales;
  return *this;
}

Sharding sharding_of(const Plan& p) {
  Sharding s;
  const DataSharding d = p.parallel.data_sharding;
  const bool is_pytorch = p.parallel.framework == Framework::pytorch;
  s.ranks = double(shard_ranks(p));
  s.per_tensor = !(is_pytorch && p.training.switches.fsdp_version == 1);
  // PyTorch's SHARD_GRAD_OP keeps parameters sharded between steps, and gathered from forward to backward.
  s.shards_parameters = shards_parameters(d) || (is_pytorch && d == DataSharding::zero2);
  s.shards_gradients = shards_gradients(d);
  s.shards_optimizer = shards_optimizer(d);
  return s;
}

double stored_bytes(const Plan& p) {
  if (p.training.parameter_dtype == DType::fp32) return 4;
  return p.parallel.framework == Framework::pytorch && p.training.master_weights_dtype && !p.training.lora ? 4 : 2;
}

namespace {

// Megatron keeps fp32 copies beside what it gathers; in PyTorch they are the stored parameters.
bool has_master_copy(const Plan& p) { return p.parallel.framework == Framework::megatron && p.training.master_weights_dtype && stored_bytes(p) < 4; }

}  // namespace

PieceBytes piece_bytes(const Plan& p, const TensorList& tensors, const Sharding& s, bool is_trained) {
  PieceBytes b;
  const Switches& how = p.training.switches;
  const double e = compute_bytes(p), stored = stored_bytes(p), ranks = s.ranks;
  const double gradient = element_bytes(p.training.gradient_dtype);
  const bool has_master = has_master_copy(p);
  const bool has_counters = how.optimizer_kernel == OptimizerKernel::fused || how.optimizer_kernel == OptimizerKernel::in_backward;
  const bool is_adam = p.training.optimizer == Optimizer::adamw || p.training.optimizer == Optimizer::adam;
  const double state = element_bytes(p.training.optimizer_state_dtype);
  const double per_parameter = optimizer_state_bytes_per_parameter(p), states = is_adam ? 2 : per_parameter > 0 ? per_parameter / state : 0;
  const double reduce = s.shards_parameters ? element_bytes(how.reduce_dtype) : gradient;
  const double base = p.training.lora ? element_bytes(p.training.lora->base_dtype) : 2;
  const auto add = [&](const Tensor& x, bool trains, double stored_width, double state_width, bool is_wide = false) {
    const double rows = x.rows, columns = x.columns, n = rows * columns, copies = x.copies;
    const double share = std::ceil(rows / ranks) * columns, padded = share * ranks;
    const bool is_quantised = base < 2 && !trains && columns > 1 && (x.part == Part::attention_matrix || x.part == Part::mlp_matrix);
    if (is_quantised) stored_width = base;
    const double gathered_width = is_quantised ? base : e, scale = is_quantised && p.training.lora->base_dtype == DType::nf4 ? kNf4ScaleBytes * n : 0;
    b.elements += n * copies;
    b.gathered += copies * whole_blocks(n * gathered_width);
    b.gather_buffer += copies * padded * gathered_width;
    b.scales += copies * scale;
    b.raw_stored += copies * ((s.shards_parameters ? share : n) * stored_width + scale);
    b.stored += copies * (whole_blocks((s.shards_parameters ? share : n) * stored_width) + whole_blocks(scale));
    if (!trains) return;
    b.trained += n * copies;
    const double kept = s.shards_optimizer && s.shards_parameters ? share : s.shards_optimizer ? n / ranks : n;
    b.raw_states += copies * states * kept * state_width;
    if (has_master) {
      b.raw_master += copies * kept * 4;
      b.master += copies * whole_blocks(kept * 4);
    }
    b.raw_kept_gradients += copies * (s.shards_gradients ? share : n) * (is_wide ? 4 : gradient);
    b.states += copies * states * whole_blocks(kept * state_width);
    if (x.columns > 1 || how.modules != ModuleCode::huggingface) b.one_state += copies * whole_blocks(kept * state_width);  // the Trainer: norms and biases apart
    if (has_counters && is_adam) b.counters += copies * 512;
    b.gradients += copies * whole_blocks((s.shards_gradients ? share : n) * gradient);
    b.raw_gradients += copies * n * gradient;
    b.whole_gradients += copies * whole_blocks(n * e);
    b.reduce_input += copies * padded * reduce;
    b.reduce_output += copies * share * reduce;
  };
  const bool is_frozen = p.training.lora.has_value();
  // Latent models of transformers keep the router in fp32.
  const bool wide_router = p.model.mla && how.modules == ModuleCode::huggingface && stored < 4;
  for (const Tensor& x : tensors) {
    const bool is_wide = wide_router && x.part == Part::router;
    add(x, is_trained && !is_frozen && !x.is_buffer, is_wide ? 4 : stored, is_wide ? 4 : state, is_wide);
  }
  if (is_frozen) {
    const double width = how.adapter_dtype == DType::fp32 ? 4 : 2;
    const TensorList adapters = adapter_tensors(tensors, *p.training.lora);
    for (const Tensor& x : adapters) add(x, true, width, state);
    if (!s.per_tensor && s.shards_parameters) {
      // One flat parameter: the first rank's share holds its first tensors, each followed by its adapters.
      const double share = std::ceil(b.elements / ranks);
      double position = 0, held = 0;
      for (const Tensor& x : tensors) {
        position += x.elements();
        TensorList one;
        one.add(x);
        for (const Tensor& adapter : adapter_tensors(one, *p.training.lora)) {
          held += std::clamp(share - position, 0.0, adapter.elements());
          position += adapter.elements();
        }
      }
      b.raw_states = states * held * state;
      b.states = states * whole_blocks(held * state);
      b.one_state = whole_blocks(held * state);
    }
  }
  b.gather_buffer = whole_blocks(b.gather_buffer);
  b.reduce_input = whole_blocks(b.reduce_input);
  b.reduce_output = whole_blocks(b.reduce_output);
  return b;
}

PieceBytes one_flat_parameter(const Plan& p, const PieceBytes& unit) {
  PieceBytes b = unit;
  const Switches& how = p.training.switches;
  const double ranks = double(shard_ranks(p)), share = std::ceil(b.elements / ranks), e = compute_bytes(p);
  const bool is_quantised = b.scales > 0;
  b.flat_gradient = whole_blocks(share * ranks * e);
  b.gather_buffer = b.gathered = is_quantised ? whole_blocks(unit.gathered) : b.flat_gradient;
  b.raw_stored = is_quantised ? unit.gathered / ranks + b.scales : share * stored_bytes(p);
  b.stored = whole_blocks(b.raw_stored);
  b.raw_master = has_master_copy(p) ? 4 * share : 0;
  b.master = whole_blocks(b.raw_master);
  b.raw_kept_gradients = b.trained > 0 ? share * (p.training.lora ? e : element_bytes(p.training.gradient_dtype)) : 0;
  b.gradients = whole_blocks(share * (p.training.lora ? e : element_bytes(p.training.gradient_dtype)));
  b.reduce_input = whole_blocks(share * ranks * element_bytes(how.reduce_dtype));
  b.reduce_output = whole_blocks(share * element_bytes(how.reduce_dtype));
  if (how.separate_adapter_units && p.training.lora && b.trained > 0) {
    const double own = std::ceil(b.trained / ranks), state = element_bytes(p.training.optimizer_state_dtype), states = optimizer_state_bytes_per_parameter(p) / state;
    b.flat_gradient = whole_blocks(own * ranks * e);
    b.raw_kept_gradients = own * e;
    b.gradients = whole_blocks(own * e);
    b.reduce_input = whole_blocks(own * ranks * element_bytes(how.reduce_dtype));
    b.reduce_output = whole_blocks(own * element_bytes(how.reduce_dtype));
    b.one_state = whole_blocks(own * state);
    b.raw_states = states * own * state;
    b.states = states * b.one_state;
    return b;
  }
  if (how.fsdp_use_orig_params || b.trained <= 0) return b;
  const double state = element_bytes(p.training.optimizer_state_dtype), states = optimizer_state_bytes_per_parameter(p) / state;
  b.one_state = whole_blocks(share * state);
  b.raw_states = states * share * state;
  b.states = states * b.one_state;
  b.counters = b.counters > 0 ? 512 : 0;
  return b;
}

ModelBytes model_bytes(const Plan& p) {
  ModelBytes m;
  Storage storage = storage_of(p.model, p.parallel.framework);
  if (p.training.lora) storage.fused_qkv = false;  // adapters sit on the parts
  const Sharding s = sharding_of(p);
  const double V = double(padded_vocabulary(p.model, p.parallel.framework, p.parallel.tensor));
  const auto bytes = [&](const TensorList& list) { return piece_bytes(p, on_rank(list, p.model, p.parallel), s); };
  m.embedding = piece_bytes(p, on_rank(embedding_tensors(p.model, V), p.model, p.parallel), s, !p.training.switches.frozen_embedding);
  m.head = bytes(head_tensors(p.model, V));
  m.dense_layer = bytes(layer_tensors(p.model, false, storage));
  if (p.model.moe) m.moe_layer = bytes(layer_tensors(p.model, true, storage));
  return m;
}

}  // namespace wireplan
