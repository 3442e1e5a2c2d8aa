#include "core/answer/utilization.hpp"

#include "core/count/tensors.hpp"

namespace wireplan {
namespace {

// Layers whose attention looks at the last w < s tokens only: all but every n-th where the model says so.
double windowed_layers(const Model& m, Count sequence_length) {
  if (m.sliding_window <= 0 || m.sliding_window >= sequence_length) return 0;
  const Count every = m.sliding_window_global_every;
  return static_cast<double>(m.num_layers - (every > 0 ? m.num_layers / every : 0));
}

// Elements of the router of a layer that forward_flops() counts.
double router_matrix(const Model& m) {
  double elements = 0;
  if (m.moe)
    for (const Tensor& x : layer_tensors(m, true, {false, false, true}))
      if (x.part == Part::router && x.columns > 1) elements += x.elements();
  return elements;
}

// What is repeated, with attention over the full square: selective recomputation of Megatron and DeepSpeed repeats attention alone, everything
// else a share of the layers.
Flops recomputed_full_square(const Plan& p, const Estimate& e, const ForwardFlops& f) {
  const Flops layers = f.linear + f.attention;
  if (p.training.recompute.kind == RecomputeKind::selective && p.parallel.framework != Framework::pytorch) return f.attention_full;
  return layers.value > 0 ? e.recompute / layers * (f.linear + f.attention_full) : Flops(0);
}

}  // namespace

ConventionTerms convention_terms(const Plan& p, const Estimate& e) {
  ConventionTerms t;
  t.palm = e.flops.full_square;
  t.palm_causal = e.flops.causal;
  if (p.model.opaque) return t;
  const Model& m = p.model;
  const double s = static_cast<double>(p.training.sequence_length), h = static_cast<double>(m.hidden_size);
  const ForwardFlops f = forward_flops(m, p.training.sequence_length);
  const ModelParameters counted = count_parameters(m);
  t.linear = f.linear - Flops(2 * s * static_cast<double>(counted.moe_layers) * router_matrix(m));
  t.attention = f.attention_full;
  t.head = Flops(2 * s * h * static_cast<double>(padded_vocabulary(m, Framework::megatron, p.parallel.tensor)));
  t.recomputed = recomputed_full_square(p, e, f);
  t.active = e.active_parameters;
  t.embedding = counted.embedding - (m.tie_word_embeddings ? h * static_cast<double>(m.vocab_size) : 0);
  // attention_full = 2·a·(d_qk + d_v)·s² in every layer; a token's forward and backward are 3/s of it.
  const double layers = static_cast<double>(m.num_layers), windowed = windowed_layers(m, p.training.sequence_length);
  const double seen = (layers - windowed) + windowed * (static_cast<double>(m.sliding_window) / s);
  t.attention_per_token = 3 * f.attention_full.value / s * (seen / layers);
  return t;
}

Flops sequence_flops(const ConventionTerms& t, FlopConvention convention, double s) {
  switch (convention) {
    case FlopConvention::palm: return t.palm;
    case FlopConvention::palm_causal: return t.palm_causal;
    case FlopConvention::megatron_paper: return 3 * (t.linear + t.attention + t.head);
    case FlopConvention::megatron_hardware: return 3 * (t.linear + t.attention + t.head) + t.recomputed;
    case FlopConvention::megatron_lm: return 3 * (t.linear + t.attention / 2 + t.head);
    case FlopConvention::torchtitan: return Flops(s * (6 * (t.active - t.embedding) + t.attention_per_token));
    case FlopConvention::six_n: return Flops(s * (6 * t.active));
  }
  return {};
}

std::vector<Utilization> utilization(const Plan& p, const Estimate& e) {
  const ConventionTerms terms = convention_terms(p, e);
  const double s = static_cast<double>(p.training.sequence_length), sequences = static_cast<double>(p.training.global_batch_size);
  const double gpu_seconds = e.step.time.value.value * static_cast<double>(total_gpus(p.cluster));
  const double peak = matrix_peak(p.cluster.node.gpu, p.training.parameter_dtype).value / 1e12;
  std::vector<Utilization> all;
  for (std::size_t i = 0; i < (p.model.opaque ? 1 : kNames<FlopConvention>.size()); ++i) {
    Utilization u{static_cast<FlopConvention>(i)};
    const Flops flops = sequence_flops(terms, u.convention, s);
    u.flops_per_token = flops.value / s;
    if (gpu_seconds > 0) u.tflops_per_gpu = flops.value * sequences / gpu_seconds / 1e12;
    if (peak > 0) u.mfu = u.tflops_per_gpu / peak;
    all.push_back(u);
  }
  return all;
}

std::string_view convention_label(FlopConvention convention) {
  constexpr std::array<std::string_view, 7> kLabels = {"PaLM", "PaLM, causal", "Megatron's papers", "Megatron's papers with recomputation", "Megatron-LM", "torchtitan", "6N"};
  return kLabels[static_cast<std::size_t>(convention)];
}

}  // namespace wireplan
