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

ForwardFlops layer_flops(const Model& m, Count layer, double s, double matrix_elements) {
  const double w = double(m.sliding_window);
  const double pairs = is_windowed(m, layer, Count(s)) ? w * s - w * w / 2 : s * s / 2;
  ForwardFlops f;
  f.linear = Flops(2 * s * matrix_elements);
  f.attention_full = Flops(flops_per_pair(m) * s * s);
  f.attention = Flops(flops_per_pair(m) * pairs);
  return f;
}

}  // namespace

ForwardFlops layer_forward_flops(const Model& m, Count layer, Count sequence_length) {
  if (m.opaque) {
    ForwardFlops f;
    f.linear = Flops(m.opaque->flops_per_sample / 3 / double(layers_of(m)));
    return f;
  }
  return layer_flops(m, layer, double(sequence_length), active_matrix_elements(m, is_moe_layer(m, layer)));
}

ForwardFlops forward_flops(const Model& m, Count sequence_length) {
  ForwardFlops sum;
  if (m.opaque) {
    sum.linear = Flops(m.opaque->flops_per_sample / 3);
    return sum;
  }
  const double s = double(sequence_length);
  const double dense = active_matrix_elements(m, false), moe = m.moe ? active_matrix_elements(m, true) : 0;
  for (Count i = 0; i < m.num_layers; ++i) {
    const ForwardFlops f = layer_flops(m, i, s, is_moe_layer(m, i) ? moe : dense);
    sum.linear += f.linear;
    sum.attention_full += f.attention_full;
    sum.attention += f.attention;
  }
  sum.head = Flops(2 * double(m.hidden_size) * double(m.vocab_size) * s);
  return sum;
}

TrainingFlops training_flops(const Model& m, Count sequence_length) {
  const ForwardFlops f = forward_flops(m, sequence_length);
  return {3 * f.total(), 3 * (f.linear + f.attention_full + f.head)};
}

TrainingFlops training_flops(const Model& m, const Training& training) {
  const Count s = training.sequence_length;
  if (!training.lora || m.opaque) return training_flops(m, s);
  const ForwardFlops f = forward_flops(m, s);
  const double adapters = stage_adapters(m, *training.lora, Parallel{})[0].dense;
  const Flops rest = 2 * (f.linear + f.head) + Flops(6 * double(s) * adapters);
  return {rest + 3 * f.attention, rest + 3 * f.attention_full};
}

Flops recompute_flops(const Model& m, const Training& training) {
  const Count s = training.sequence_length, layers = layers_of(m), n = std::max<Count>(training.recompute.n, 1);
  switch (training.recompute.kind) {
    case RecomputeKind::none:
      return Flops(0);
    case RecomputeKind::selective:
      return forward_flops(m, s).attention;
    case RecomputeKind::full: {
      const ForwardFlops f = forward_flops(m, s);
      return f.linear + f.attention;
    }
    case RecomputeKind::full_layers:
    case RecomputeKind::every:
      break;
  }
  if (m.opaque) {
    const Count repeated =
        training.recompute.kind == RecomputeKind::every ? (layers + n - 1) / n : std::min(training.recompute.n, layers);
    return double(repeated) * layer_forward_flops(m, 0, s).linear;
  }
  const double dense = active_matrix_elements(m, false), moe = m.moe ? active_matrix_elements(m, true) : 0;
  const bool every = training.recompute.kind == RecomputeKind::every;
  Flops sum;
  for (Count i = 0; i < (every ? layers : std::min(training.recompute.n, layers)); i += every ? n : 1) {
    const ForwardFlops f = layer_flops(m, i, double(s), is_moe_layer(m, i) ? moe : dense);
    sum += f.linear + f.attention;
  }
  return sum;
}

}  // namespace wireplan
