#include "core/count/flops.hpp"

#include <algorithm>

#include "core/count/parameters.hpp"
#include "core/count/tensors.hpp"

namespace wireplan {
namespace {

// Elements of the matrices one token is multiplied by in a layer; K of E experts.
double active_matrix_elements(const Model& m, bool is_moe) {
  double sum = 0;
  for (const Tensor& x : layer_tensors(m, is_moe, {false, false, true})) {
    const bool down_projection = x.part == Part::attention_vector && x.columns > 1;  // MLA
    if (x.part == Part::attention_matrix || x.part == Part::mlp_matrix || down_projection) sum += x.elements();
    if (x.part == Part::router && x.columns > 1) sum += x.elements();
    if (x.part == Part::expert &&
        (x.cut == Cut::expert_columns || x.columns >= double(m.hidden_size * m.moe->intermediate_size)))
      sum += x.elements() / double(m.moe->num_experts) * double(m.moe->experts_per_token);
  }
  return sum;
}

bool is_windowed(const Model& m, Count layer, Count s) {
  if (m.sliding_window <= 0 || m.sliding_window >= s) return false;
  return m.sliding_window_global_every <= 0 || (layer + 1) % m.sliding_window_global_every != 0;
}

// 4·a·d, or 2·a·(d_qk + d_v): operations per pair of query and key.
double flops_per_pair(const Model& m) {
  const double a = double(m.num_attention_heads);
  if (m.mla) return 2 * a * double(m.mla->qk_nope_head_dim + m.mla->qk_rope_head_dim + m.mla->v_head_dim);
  return 4 * a * double(m.head_dim);
}

// The kinds of layers a model has, counted once: dense or with experts, attention windowed or not.
class LayerFlops {
 public:
  LayerFlops(const Model& m, Count sequence_length) : model_(m), sequence_length_(sequence_length) {
    const double s = double(sequence_length), w = double(m.sliding_window), per_pair = flops_per_pair(m);
    for (const bool moe : {false, true}) {
      if (moe && !m.moe) continue;
      const double matrices = active_matrix_elements(m, moe);
      for (const bool windowed : {false, true}) {
        ForwardFlops& f = kinds_[moe][windowed];
        f.linear = Flops(2 * s * matrices);
        f.attention_full = Flops(per_pair * s * s);
        f.attention = Flops(per_pair * (windowed ? w * s - w * w / 2 : s * s / 2));
      }
    }
  }
  const ForwardFlops& of(Count layer) const {
    return kinds_[is_moe_layer(model_, layer)][is_windowed(model_, layer, sequence_length_)];
  }

 private:
  const Model& model_;
  const Count sequence_length_;
  ForwardFlops kinds_[2][2];
};

}  // namespace

ForwardFlops forward_flops(const Model& m, Count sequence_length) {
  ForwardFlops sum;
  if (m.opaque) {
    sum.linear = Flops(m.opaque->flops_per_sample / 3);
    return sum;
  }
  const LayerFlops layers(m, sequence_length);
  for (Count i = 0; i < m.num_layers; ++i) {
    const ForwardFlops& f = layers.of(i);
    sum.linear += f.linear;
    sum.attention_full += f.attention_full;
    sum.attention += f.attention;
  }
  sum.head = Flops(2 * double(m.hidden_size) * double(m.vocab_size) * double(sequence_length));
  return sum;
}

TrainingFlops training_flops(const Model& m, Count sequence_length) {
  Training training;
  training.sequence_length = sequence_length;
  return training_flops(m, training);
}

TrainingFlops training_flops(const Model& m, const Training& training) {
  return training_flops(m, training, forward_flops(m, training.sequence_length));
}

TrainingFlops training_flops(const Model& m, const Training& training, const ForwardFlops& f) {
  if (!training.lora || m.opaque) return {3 * f.total(), 3 * (f.linear + 2 * f.attention + f.head)};
  const double adapters = stage_adapters(m, *training.lora, Parallel{})[0].dense;
  const Flops rest = 2 * (f.linear + f.head) + Flops(6 * double(training.sequence_length) * adapters);
  return {rest + 3 * f.attention, rest + 6 * f.attention};
}

Flops recompute_flops(const Model& m, const Training& training, const Parallel& parallel) {
  return recompute_flops(m, training, parallel, forward_flops(m, training.sequence_length));
}

Flops recompute_flops(const Model& m, const Training& training, const Parallel& parallel, const ForwardFlops& whole) {
  const Recompute& r = training.recompute;
  if (r.kind == RecomputeKind::none) return Flops(0);
  if (r.kind == RecomputeKind::selective)
    return parallel.framework == Framework::pytorch ? 0.55 * (whole.linear + whole.attention) : whole.attention;
  if (r.kind == RecomputeKind::full) return whole.linear + whole.attention;
  const Count step = r.kind == RecomputeKind::every ? std::max<Count>(r.n, 1) : 1;
  const Count pieces = pieces_of(parallel);
  const LayerFlops layers_of_kind(m, training.sequence_length);
  Flops sum;
  for (Count piece = 0; piece < pieces; ++piece) {
    const LayerRange layers = piece_layers(m, pieces, piece);
    const Count again = recomputed_of(r, layers.size());
    if (m.opaque) {
      sum += double(again) / double(layers_of(m)) * whole.linear;
      continue;
    }
    for (Count i = 0; i < again; ++i) {
      const ForwardFlops& f = layers_of_kind.of(layers.begin + i * step);
      sum += f.linear + f.attention;
    }
  }
  return sum;
}

}  // namespace wireplan
