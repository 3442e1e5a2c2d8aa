#include "core/describe/model.hpp"

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

constexpr double kMaxSize = 1e6, kMaxLayers = 1e5, kMaxVocabulary = 1e8, kMaxParameters = 1e14, kMaxTokens = 1e8;

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }

// No fewer than the parameters of the model, in doubles: only guards the counts that follow against absurd sizes.
// Valid for any non-negative sizes. Kind: bound. Test: tests/core/describe/model_test.cpp.
double parameters_at_most(const Model& m) {
  const double h = static_cast<double>(m.hidden_size), f = static_cast<double>(m.intermediate_size);
  double layer = product_of(m.hidden_size, m.num_attention_heads, m.head_dim) * 2 +
                 product_of(m.hidden_size, m.num_key_value_heads, m.head_dim) * 2 + 3 * h * f + 20 * h + 4 * f;
  if (m.moe) {
    const MixtureOfExperts& e = *m.moe;
    layer += product_of(e.num_experts, e.intermediate_size) * (3 * h + 2) +
             product_of(e.num_experts, m.hidden_size) * 2 + product_of(e.shared_intermediate_size, m.hidden_size) * 3;
  }
  if (m.mla) {
    const LatentAttention& a = *m.mla;
    const double rank = static_cast<double>(a.q_lora_rank + a.kv_lora_rank);
    const double width = static_cast<double>(a.qk_nope_head_dim + a.qk_rope_head_dim + a.v_head_dim);
    layer += (rank + static_cast<double>(a.qk_rope_head_dim)) * h +
             (rank + 2 * h) * width * static_cast<double>(m.num_attention_heads);
  }
  return layer * static_cast<double>(m.num_layers) +
         h * static_cast<double>(2 * m.vocab_size + m.max_position_embeddings + m.extra_position_rows + 4);
}

void check_opaque(Checks& check, const OpaqueModel& m) {
  const bool sized = check.range("parameters", static_cast<double>(m.parameters), 1, kMaxParameters);
  check.range("units", static_cast<double>(m.units), 1, kMaxLayers);
  if (sized && m.units > m.parameters)
    check.fail(
        "units", text_of(m.units), "at most the parameters, " + text_of(m.parameters),
        "units " + text_of(m.units) + " are more than the model has parameters. Nearest: " + text_of(m.parameters));
  check.range("flops_per_sample", m.flops_per_sample, 0, 1e24);
  check.range("saved_bytes_per_sample", m.saved_bytes_per_sample, 0, 1e15);
}

void check_experts(Checks& check, const Model& m) {
  const MixtureOfExperts& e = *m.moe;
  const bool counted = check.range("moe.num_experts", static_cast<double>(e.num_experts), 1, 1e5);
  if (check.range("moe.experts_per_token", static_cast<double>(e.experts_per_token), 1, 1e5) && counted &&
      e.experts_per_token > e.num_experts)
    check.fail("moe.experts_per_token", text_of(e.experts_per_token), "at most num_experts, " + text_of(e.num_experts),
               "a token cannot meet " + text_of(e.experts_per_token) + " of " + text_of(e.num_experts) +
                   " experts. Nearest: " + text_of(e.num_experts));
  check.range("moe.intermediate_size", static_cast<double>(e.intermediate_size), 1, kMaxSize);
  check.range("moe.num_shared_experts", static_cast<double>(e.num_shared_experts), 0, 1e4);
  const bool shared =
      check.range("moe.shared_intermediate_size", static_cast<double>(e.shared_intermediate_size), 0, kMaxSize);
  if (shared && e.shared_gate && e.shared_intermediate_size == 0)
    check.fail("moe.shared_gate", "true", "false without shared experts",
               "a shared gate needs shared experts. Nearest: false");
  check.range("moe.every", static_cast<double>(e.every), 1, kMaxLayers);
  check.range("moe.first_dense_layers", static_cast<double>(e.first_dense_layers), 0, kMaxLayers);
  if (m.num_layers >= 1 && e.every >= 1 && e.every > m.num_layers)
    check.fail("moe.every", text_of(e.every), "1 to num_layers, " + text_of(m.num_layers),
               "with every " + text_of(e.every) + " none of " + text_of(m.num_layers) +
                   " layers has experts. Nearest: " + text_of(m.num_layers));
  if (m.num_layers >= 1 && e.first_dense_layers >= m.num_layers)
    check.fail("moe.first_dense_layers", text_of(e.first_dense_layers), "below num_layers, " + text_of(m.num_layers),
               "first_dense_layers " + text_of(e.first_dense_layers) + " leaves none of " + text_of(m.num_layers) +
                   " layers with experts. Nearest: " + text_of(m.num_layers - 1));
}

void check_latent_attention(Checks& check, const LatentAttention& a) {
  check.range("mla.q_lora_rank", static_cast<double>(a.q_lora_rank), 0, kMaxSize);
  check.range("mla.kv_lora_rank", static_cast<double>(a.kv_lora_rank), 1, kMaxSize);
  check.range("mla.qk_nope_head_dim", static_cast<double>(a.qk_nope_head_dim), 1, 1e5);
  check.range("mla.qk_rope_head_dim", static_cast<double>(a.qk_rope_head_dim), 0, 1e5);
  check.range("mla.v_head_dim", static_cast<double>(a.v_head_dim), 1, 1e5);
}

}  // namespace

Errors validate(const Model& m, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  if (m.opaque) {
    check_opaque(check, *m.opaque);
    return errors;
  }
  check.range("hidden_size", static_cast<double>(m.hidden_size), 1, kMaxSize);
  check.range("num_layers", static_cast<double>(m.num_layers), 1, kMaxLayers);
  const bool heads = check.range("num_attention_heads", static_cast<double>(m.num_attention_heads), 1, 1e5);
  const bool kv_heads = check.range("num_key_value_heads", static_cast<double>(m.num_key_value_heads), 1, 1e5);
  if (heads && kv_heads && m.num_attention_heads % m.num_key_value_heads != 0)
    check.fail("num_key_value_heads", text_of(m.num_key_value_heads),
               "a divisor of num_attention_heads, " + text_of(m.num_attention_heads),
               text_of(m.num_key_value_heads) + " key-value heads do not divide " + text_of(m.num_attention_heads) +
                   " attention heads. Nearest: " +
                   nearest_of(divisors_of(m.num_attention_heads, m.num_attention_heads), m.num_key_value_heads));
  check.range("head_dim", static_cast<double>(m.head_dim), 1, 1e5);
  // Where every layer has experts no dense MLP is left, and its width may be left at 0.
  const bool all_experts = m.moe && m.moe->every == 1 && m.moe->first_dense_layers == 0;
  check.range("intermediate_size", static_cast<double>(m.intermediate_size), all_experts ? 0 : 1, kMaxSize);
  check.range("vocab_size", static_cast<double>(m.vocab_size), 1, kMaxVocabulary);
  check.range("norms_per_layer", static_cast<double>(m.norms_per_layer), 0, 8);
  check.range("max_position_embeddings", static_cast<double>(m.max_position_embeddings), 0, kMaxTokens);
  check.range("extra_position_rows", static_cast<double>(m.extra_position_rows), 0, kMaxSize);
  check.range("sliding_window", static_cast<double>(m.sliding_window), 0, kMaxTokens);
  check.range("sliding_window_pattern.global_every", static_cast<double>(m.sliding_window_global_every), 0, kMaxLayers);
  if (m.sliding_window == 0 && m.sliding_window_global_every > 0)
    check.fail("sliding_window_pattern", "{\"global_every\":" + text_of(m.sliding_window_global_every) + "}",
               "null without sliding_window",
               "sliding_window_pattern has no effect without sliding_window. Nearest: null");
  if (m.moe) check_experts(check, m);
  if (m.mla) check_latent_attention(check, *m.mla);
  if (errors.empty() && parameters_at_most(m) > kMaxParameters)
    check.fail("", format_exact(parameters_at_most(m)), "at most 1e14 parameters",
               "a model of about " + format_parameters(parameters_at_most(m)) +
                   " parameters is beyond what can be planned. Nearest: 1e14 parameters");
  return errors;
}

}  // namespace wireplan
