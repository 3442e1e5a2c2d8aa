#include "core/cost/activations.hpp"
#include "core/cost/layer_tape.hpp"

#include <algorithm>

#include "core/count/parameters.hpp"

namespace wireplan {

namespace {

// GPT-2 as transformers writes it: layer norms with bias, a tanh GELU in Python, softmax in 16 bit.
bool is_gpt2_in_transformers(const Plan& p) {
  const std::string& id = p.training.implementation;
  return activation_inventory(p) == ActivationInventory::eager && (id.empty() || id.compare(0, 11, "huggingface") == 0) &&
         p.model.mlp == Mlp::gelu && p.model.position == Position::learned;
}

// Bytes of the stored score matrix of eager attention, b·a·(s/c)·s elements, with the copies that softmax and dropout leave.
double score_bytes(const Plan& p) {
  if (p.training.attention != Attention::eager) return 0;
  const double b = static_cast<double>(p.training.micro_batch_size), s = static_cast<double>(p.training.sequence_length);
  const double a = static_cast<double>(p.model.num_attention_heads);
  const double scores = b * a * (s / static_cast<double>(p.parallel.context)) * s / static_cast<double>(p.parallel.tensor);
  const bool is_fused = activation_inventory(p) == ActivationInventory::fused;
  // 16-bit probabilities; eager, but for GPT-2: fp32 softmax and its 16-bit copy
  const double per_score = is_fused || is_gpt2_in_transformers(p) ? 2.0 : 6.0;
  const double dropped = p.training.attention_dropout > 0 ? 3.0 : 0.0;  // mask and dropped probabilities
  return (per_score + dropped) * scores;
}

// Widths of what attention keeps: query, key and value columns together, and of its output.
struct AttentionWidths { double query, key_value, output; };
AttentionWidths attention_widths(const Plan& p) {
  const Model& m = p.model;
  const bool is_eager = activation_inventory(p) == ActivationInventory::eager;
  const double a = static_cast<double>(m.num_attention_heads);
  if (m.mla) {
    const double qk = static_cast<double>(m.mla->qk_nope_head_dim + m.mla->qk_rope_head_dim), v = static_cast<double>(m.mla->v_head_dim);
    // Eager: values are a view of the whole up-projection, keys without rotation included.
    const double beside = is_eager ? static_cast<double>(m.mla->qk_nope_head_dim) : 0;
    return {a * qk, a * (qk + beside + v), a * v};
  }
  const double d = static_cast<double>(m.head_dim), k = static_cast<double>(m.num_key_value_heads);
  // Stored scores in eager code: keys and values are repeated for every query head.
  const bool repeats = is_eager && p.training.attention == Attention::eager;
  return {a * d, 2 * (repeats ? a : k) * d, a * d};
}

// Bytes that norms inside eager attention keep: of each head's query and key, or of the latents of MLA.
double inner_norm_bytes(const Plan& p, double T) {
  const Model& m = p.model;
  if (activation_inventory(p) != ActivationInventory::eager || p.training.lora) return 0;
  if (m.mla) return 8 * T * static_cast<double>(m.mla->q_lora_rank + m.mla->kv_lora_rank);
  if (m.qk_norm != QkNorm::per_head) return 0;
  const double heads = static_cast<double>(m.num_attention_heads + m.num_key_value_heads);
  return T * heads * (6 * static_cast<double>(m.head_dim) + 4) / static_cast<double>(p.parallel.tensor);
}

// MLP part: 8f / 6f / 2(g+1)f of a dense layer, or routed and shared experts plus the router.
double mlp_bytes(const Plan& p, bool is_moe, double T, double t) {
  const Model& m = p.model;
  const double g = is_gated(m.mlp) ? 2 : 1;
  const ActivationInventory inventory = activation_inventory(p);
  const bool is_frozen = p.training.lora.has_value();
  // Tensors of width f that one MLP keeps, 2 bytes each: eager keeps gate, act(gate), up and product; the frozen base of an
  // adapter needs no product; compiled and fused kernels recompute the element-wise ones.
  // GPT-2's GELU in transformers leaves its input, half of it, tanh, 1 + tanh and the product.
  double kept = inventory == ActivationInventory::eager && !is_frozen ? 2 * g : g + 1;
  if (is_gpt2_in_transformers(p)) kept = 5;
  if (!is_moe) return 2 * kept * T * static_cast<double>(m.intermediate_size) / t;
  const MixtureOfExperts& moe = *m.moe;
  const double rows = T * static_cast<double>(moe.experts_per_token);  // balanced routing
  const double expert = 2 * kept * rows * static_cast<double>(moe.intermediate_size) / static_cast<double>(p.parallel.expert_tensor);
  const double gathered = (inventory == ActivationInventory::fused ? 2.0 : 4.0) * rows * static_cast<double>(m.hidden_size);
  const double shared = 2 * kept * T * static_cast<double>(moe.shared_intermediate_size) / t;
  double router = 4.0 * T * static_cast<double>(moe.num_experts) * (inventory == ActivationInventory::fused ? 4.0 : 1.0);
  if (inventory == ActivationInventory::eager && m.mla) router += 4 * T * static_cast<double>(m.hidden_size);  // fp32 copy of its input
  return expert + gathered + shared + router;
}

}  // namespace

ActivationInventory activation_inventory(const Plan& plan) {
  switch (plan.training.kernels) {
    case Kernels::eager: return ActivationInventory::eager;
    case Kernels::compiled: return ActivationInventory::compiled;
    case Kernels::fused: return ActivationInventory::fused;
  }
  return ActivationInventory::eager;
}

double tokens_outside_tensor_parallel(const Plan& plan) {
  const double T = tokens_per_micro_batch(plan);
  return plan.parallel.sequence_parallel ? T / static_cast<double>(plan.parallel.tensor) : T;
}

Bytes kept_per_layer(const Plan& plan, bool is_moe) {
  const Model& m = plan.model;
  const double T = tokens_per_micro_batch(plan), Tp = tokens_outside_tensor_parallel(plan), t = static_cast<double>(plan.parallel.tensor);
  if (m.opaque)
    return Bytes(m.opaque->saved_bytes_per_sample * static_cast<double>(plan.training.micro_batch_size) / static_cast<double>(m.opaque->units));
  const double h = static_cast<double>(m.hidden_size), a = static_cast<double>(m.num_attention_heads);
  const AttentionWidths w = attention_widths(plan);
  const bool is_eager = activation_inventory(plan) == ActivationInventory::eager;
  const double log_sums = is_eager && plan.training.attention == Attention::eager ? 0 : 4 * a * T / t;  // kept instead of the scores
  const double attention = T * (2 * w.query + 2 * w.key_value + 2 * w.output) / t + log_sums + inner_norm_bytes(plan, T);
  const bool is_frozen = plan.training.lora.has_value();

  double stream = 0;  // residual stream and norms: whole on every tensor rank unless sequence parallel
  switch (activation_inventory(plan)) {
    case ActivationInventory::eager:
      // RMSNorm in eager code keeps an fp32 copy of its input, the normalised value, its output and a scale; LayerNorm input,
      // output, mean and scale. A frozen norm (adapters) needs the input alone.
      if (is_frozen) stream = 8 * Tp * h;
      else stream = (m.norm == Norm::rmsnorm ? 8 * h + 4 : 4 * h + 8) * static_cast<double>(std::max<Count>(m.norms_per_layer, 1)) * Tp;
      break;
    case ActivationInventory::compiled: stream = 12 * Tp * h; break;
    case ActivationInventory::fused: stream = 8 * Tp * h + 8 * Tp; break;
  }
  const double dropout = plan.training.hidden_dropout > 0 ? 2 * Tp * h : 0;
  double adapters = 0;
  if (plan.training.lora) {
    // Each adapted matrix keeps a 16-bit copy of its input (3 bytes with dropout) and the r columns between its two factors.
    const double per_input = plan.training.details && plan.training.details->lora_dropout.value_or(0) > 0 ? 3 : 2;
    for (LoraTarget target : plan.training.lora->targets) {
      const double in = target == LoraTarget::down ? static_cast<double>(m.intermediate_size) : target == LoraTarget::o ? w.output : h;
      adapters += T * (per_input * in + 2 * static_cast<double>(plan.training.lora->rank)) / t;
    }
  }
  return Bytes(stream + attention + mlp_bytes(plan, is_moe, T, t) + score_bytes(plan) + dropout + adapters);
}

Bytes kept_per_layer_recomputed(const Plan& plan, bool is_moe) {
  const Model& m = plan.model;
  const double T = tokens_per_micro_batch(plan), Tp = tokens_outside_tensor_parallel(plan), t = static_cast<double>(plan.parallel.tensor);
  const Bytes whole = kept_per_layer(plan, is_moe);
  if (m.opaque) return plan.training.recompute.kind == RecomputeKind::none ? whole : Bytes(0);
  const double h = static_cast<double>(m.hidden_size);
  if (plan.training.recompute.kind == RecomputeKind::none) return whole;
  if (plan.training.recompute.kind == RecomputeKind::selective) {
    if (plan.parallel.framework != Framework::pytorch) return whole - Bytes(score_bytes(plan));
    // Per-operator checkpointing keeps the residual, attention's output and every second matrix product (q, v, gate, down).
    const AttentionWidths w = attention_widths(plan);
    const double f = is_moe ? static_cast<double>(m.moe->intermediate_size * m.moe->experts_per_token + m.moe->shared_intermediate_size)
                            : static_cast<double>(m.intermediate_size);
    return Bytes(2 * Tp * h + T * (2 * w.query + w.key_value + 2 * f + 2 * w.output + 2 * h) / t + 4 * T * static_cast<double>(m.num_attention_heads) / t);
  }
  return Bytes(2 * Tp * h);
}

double recomputed_share(const Plan& plan, Count stage) {
  if (plan.training.recompute.kind == RecomputeKind::selective) return 1;
  const Count layers = stage_layers(plan.model, plan.parallel, stage).total();
  const Count again = recomputed_layers(plan.model, plan.parallel, plan.training.recompute, stage).total();
  return layers > 0 ? static_cast<double>(again) / static_cast<double>(layers) : 0;
}

double loss_bytes_per_logit(const Plan& plan) {
  const bool is_megatron = plan.parallel.framework == Framework::megatron;
  switch (plan.training.loss) {
    case Loss::logits_fp32: return is_megatron ? 6 : plan.training.kernels == Kernels::compiled ? 10 : 12;
    case Loss::fused: return is_megatron ? 2 : 4;
    case Loss::chunked: return 2.25;
  }
  return 12;
}

}  // namespace wireplan
