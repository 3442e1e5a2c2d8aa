// How many parameters a model has, where they stand, and how they divide.
//
// Notation: h a k d f V L E K f_e as in describe/model.hpp; t tensor, p pipeline, v virtual stages, e expert, e_t expert_tensor.
#pragma once

#include <vector>

#include "core/describe/model.hpp"
#include "core/describe/parallel.hpp"
#include "core/describe/training.hpp"

namespace wireplan {

// Parameters of one transformer layer, by what divides them under tensor and expert parallelism.
struct LayerParameters {
  double attention_matrices =
      0;  // q k v o, or the MLA up-projections and o: divided by t (k and v: see kv_heads_on_rank)
  double attention_vectors = 0;  // biases, q/k norms, sinks, MLA down-projections and latent norms
  double mlp_matrices = 0;       // dense MLP, or shared experts of an MoE layer: divided by t
  double mlp_vectors = 0;
  double experts = 0;  // routed experts (all E): divided by e and e_t
  double router = 0;   // router, its bias, shared gate: replicated over t
  double norms = 0;    // replicated over t
  double total() const {
    return attention_matrices + attention_vectors + mlp_matrices + mlp_vectors + experts + router + norms;
  }
};

struct ModelParameters {
  LayerParameters dense_layer, moe_layer;  // moe_layer is zero without MoE
  Count dense_layers = 0, moe_layers = 0;
  double embedding = 0;  // V·h (+ learned positions, + embedding norm)
  double head = 0;       // V·h unless tied, + head bias
  double final_norm = 0;
  double total = 0;   // exact
  double active = 0;  // parameters one token meets: K of E experts; embedding and head counted
};

// Exact count (kind: count). Valid for every model validate() accepts, opaque models included (total only).
// Source: the modelling code of each family; arithmetic as written out in assets/README.md; tests/core/count pins it
// to the exact and published counts of every preset.
ModelParameters count_parameters(const Model& model);

// True when layer i (0-based) is a mixture-of-experts layer.
bool is_moe_layer(const Model& model, Count layer);

// Number of mixture-of-experts layers among begin <= i < end. Closed form.
Count moe_layers_between(const Model& model, Count begin, Count end);

// Layers of the model; units of an opaque one.
Count layers_of(const Model& model);

// V_pad: rows of the embedding a rank's share is cut from. Megatron pads V to a multiple of 128·t ([megatron-lm] arguments,
// make_vocab_size_divisible_by); others to a multiple of t.
Count padded_vocabulary(const Model& model, Framework framework, Count tensor);

// Which layers and ends a pipeline stage holds.
struct StageLayers {
  Count dense = 0, moe = 0;  // layers by kind, all virtual chunks (dualpipe: both copies)
  int embeddings = 0;        // copies of the embedding: first stage; dualpipe: first and last
  int heads = 0;  // copies of final norm and head: last stage; V-shaped schedules: first; dualpipe: first and last
  Count total() const { return dense + moe; }
};

// what: layers of stage i of p with v chunks each.  formula: chunk c of stage i is piece c·p + i of p·v equal pieces; V-shaped
// schedules (zb-v, dualpipe-v) place pieces i and 2p−1−i on stage i, dualpipe stages i and p−1−i of two copies of the model.
// where: L = layers. L divides by p·v, or L + 2 does and embedding and head take the place of a layer each; any other L is
// dealt as evenly as possible, the first pieces one more (validate() rejects such plans).
// source: [megatron-lm] pipeline layer offset, [dualpipe], [zerobubble24] §3.  valid: count.  test: stages hold all layers.
StageLayers stage_layers(const Model& model, const Parallel& parallel, Count stage);

// Layers begin <= i < end of one piece.
struct LayerRange {
  Count begin = 0, end = 0;
  Count size() const { return end - begin; }
};
// The pieces of a stage, in the order its micro-batches run through them (dualpipe: of both copies).
std::vector<LayerRange> stage_pieces(const Model& model, const Parallel& parallel, Count stage);

// Layers of a stage that one micro-batch runs through: all it holds, or one of the two copies of the model with dualpipe, which
// feeds half of the micro-batches from either end.
inline double layers_per_micro_batch(const Parallel& parallel, Count stage_layers) {
  return static_cast<double>(stage_layers) /
         (parallel.pipeline > 1 && parallel.pipeline_schedule == PipelineSchedule::dualpipe ? 2 : 1);
}

// Pieces the layers are cut into: p·v; 2p on V-shaped schedules; p (of each of two copies) under dualpipe; 1 without a pipeline.
Count pieces_of(const Parallel& parallel);

// Layers of piece i of `pieces`.
LayerRange piece_layers(const Model& model, Count pieces, Count piece);

// what: layers of `count` consecutive ones whose whole forward is repeated; they are the first, or every n-th from the first.
// formula: none, selective: 0; full: count; {"full_layers": n}: min(n, count); {"every": n}: ⌈count/n⌉.
// source: [megatron-lm] recompute_method "block" counts recompute_num_layers in each virtual pipeline stage; a model without a
// pipeline is one.  valid: count.  test: parameters_test.cpp.
Count recomputed_of(const Recompute& recompute, Count count);

// The same by kind for all pieces a stage holds: n counts anew in each piece.
StageLayers recomputed_layers(const Model& model, const Parallel& parallel, const Recompute& recompute, Count stage);

// Share of a stage's layers whose activations are recomputed: 0 none, 1 selective and full, else recomputed_layers() of its layers.
double recomputed_share(const Model& model, const Parallel& parallel, const Recompute& recompute, Count stage);

// True when tied embedding and head stand on two different stages, so that two copies exist and their gradients are added.
bool has_tied_copies(const Model& model, const Parallel& parallel);

// What one pipeline stage holds on one rank, before data sharding.
struct StageParameters {
  Count layers = 0;    // layers of the stage (all its virtual chunks)
  double dense = 0;    // parameters whose data-parallel group is data × context
  double experts = 0;  // routed experts: their data group is data·context·tensor / (e·e_t)
  double embedding = 0,
         head = 0;     // parts of `dense`: what this stage holds of both ends; the final norm counts with the head
                       // (tied: a second copy of the table, on the last stage if p > 1)
  double buffers = 0;  // part of `dense` without gradient and optimizer state (correction biases of routers)
  double largest_layer = 0;  // parameters of its largest layer on this rank (the unit that sharded training gathers)
  Count tensors = 0;         // parameter tensors on the rank
  double total() const { return dense + experts; }
};

// Per-stage shares for every stage, first to last. Layers divide evenly; where they do not but layers + 2 does, embedding and
// head take the place of a layer each. Valid after validate(plan) passed.
std::vector<StageParameters> stage_parameters(const Model& model, const Parallel& parallel);

// Trained parameters of a LoRA run per stage, on one rank: adapters only (`head` and `embedding` are 0, `largest_layer` is the
// adapters of one layer). An adapter has r·(in + out) parameters.  [lora21] §4.1.  Exact for linear targets; routed experts get none.
std::vector<StageParameters> stage_adapters(const Model& model, const Lora& lora, const Parallel& parallel);

}  // namespace wireplan
