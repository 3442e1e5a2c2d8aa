#include "core/cost/layer_tape.hpp"

#include <algorithm>
#include <cmath>

#include "core/count/parameters.hpp"
#include "core/count/tensors.hpp"
#include "core/cost/compiled_layer.hpp"
#include "core/cost/layer_writer.hpp"
#include "core/cost/megatron_layer.hpp"
#include "core/cost/parameter_store.hpp"

namespace wireplan {

double tokens_per_micro_batch(const Plan& plan) {
  return double(plan.training.micro_batch_size) * double(plan.training.sequence_length) / double(plan.parallel.context);
}

double tokens_of_stream(const Plan& plan) {
  const double T = tokens_per_micro_batch(plan);
  return plan.parallel.sequence_parallel ? T / double(plan.parallel.tensor) : T;
}

double compute_bytes(const Plan& plan) { return plan.training.parameter_dtype == DType::fp32 ? 4 : 2; }

bool has_soft_caps(const Model& m) { return m.norms_per_layer >= 4 && m.mlp == Mlp::geglu && m.qk_norm == QkNorm::none; }

bool casts_weights(const Plan& plan) {
  const Training& t = plan.training;
  const bool is_sharded = plan.parallel.framework == Framework::pytorch && (shards_parameters(plan.parallel.data_sharding) || plan.parallel.data_sharding == DataSharding::zero2);
  return plan.parallel.framework == Framework::pytorch && t.switches.autocast && t.master_weights_dtype.has_value() && !is_sharded && !t.lora;
}

bool masks_attention(const Plan& plan) {
  const Count window = plan.model.sliding_window;
  return plan.training.switches.padding || (window > 0 && window <= plan.training.sequence_length);
}

double stream_bytes(const Plan& plan) { return casts_weights(plan) ? 4 : compute_bytes(plan); }

namespace {

constexpr signed char of(LoraTarget target) { return static_cast<signed char>(target); }

Ref multi_head_attention(LayerWriter& w, Ref x) {
  const Model& m = w.model;
  const double h = double(m.hidden_size), d = double(m.head_dim), a = std::ceil(double(m.num_attention_heads) / w.t), k = double(kv_heads_on_rank(m, Count(w.t)));
  const double T = w.T;
  x = w.gather_tokens(x, h);
  if (storage_of(m, w.plan.parallel.framework).fused_qkv) {
    // q, k and v are views of one storage; their gradients are joined in backward.
    const Ref qkv = w.linear("q, k and v", x, T, h, (a + 2 * k) * d, m.qkv_bias, kNoTarget, true);
    const Ref joined = w.add({.name = "split", .inputs = {Input{qkv}}}, "q, k and v", 0, w.element(qkv));
    const Ref context = w.attend(joined, joined, joined, a, k, d, d);
    Ref y = w.linear("output projection", context, T, a * d, h, m.o_bias, of(LoraTarget::o), true);
    return w.dropout(y, T * h, w.plan.training.hidden_dropout);
  }
  Ref q = w.linear("queries", x, T, h, a * d, m.qkv_bias, of(LoraTarget::q), true);
  const bool norms_heads = m.qk_norm == QkNorm::per_head || m.qk_norm == QkNorm::l2_no_weight;
  if (norms_heads) q = w.norm("queries", q, T * a, d);
  Ref key = w.linear("keys", x, T, h, k * d, m.qkv_bias, of(LoraTarget::k), true);
  if (norms_heads) key = w.norm("keys", key, T * k, d);
  const Ref v = w.linear("values", x, T, h, k * d, m.qkv_bias, of(LoraTarget::v), true);
  if (m.qk_norm == QkNorm::full) {
    q = w.norm("queries", q, T, a * d);
    key = w.norm("keys", key, T, k * d);
  }
  q = w.rotate(q, T * a * d);
  key = w.rotate(key, T * k * d);
  // Tables made by every layer for itself, kept for the rotations' backward.
  const double tables = w.how.tables_per_layer && w.model.position == Position::rope ? 2 * whole_blocks(w.e * double(w.plan.training.sequence_length) * d) : 0;
  const Ref context = w.attend(q, key, v, a, k, d, d, tables);
  const Ref y = w.linear("output projection", context, T, a * d, h, m.o_bias, of(LoraTarget::o), true);
  return w.dropout(w.scatter_tokens(y, h), w.stream_tokens * h, w.plan.training.hidden_dropout);
}

// GELU spelled out: 0.5·x·(1 + tanh(c·(x + 0.044715·x³))); under autocast the power and all after it run in fp32.
Ref spelled_gelu(LayerWriter& w, Ref x, double n) {
  const Ref half = w.elementwise("scale", "half of it", x, n);
  const Ref wide = w.casts || w.casts_inputs ? w.cast(x, n, 4) : x;
  const Ref cube = w.add({.name = "power", .inputs = {Input{wide, Flow::fresh, true}}, .backward_scratch = w.element(wide) * n}, "cube", n, w.element(wide));
  const Ref scaled = w.elementwise("scale", "scaled cube", cube, n);
  const Ref inner = w.add({.name = "add", .inputs = {Input{x, w.element(x) == w.element(scaled) ? Flow::through : Flow::fresh, false}, Input{scaled, Flow::through, false}}},
                          "sum", n, w.element(scaled));
  const Ref argument = w.elementwise("scale", "argument", inner, n);
  const Ref tanh = w.add({.name = "tanh", .inputs = {Input{argument}}, .keeps_result = true}, "tanh", n, w.element(argument));
  const Ref one = w.add({.name = "add", .inputs = {Input{tanh, Flow::through, false}}}, "1 + tanh", n, w.element(tanh));
  return w.product("product", "product", half, one, n);
}

Ref activation(LayerWriter& w, Ref x, double n) {
  const Mlp mlp = w.model.mlp;
  const bool is_gpt = w.how.modules == ModuleCode::huggingface && mlp == Mlp::gelu && w.model.position == Position::learned;
  if (is_gpt) return spelled_gelu(w, x, n);
  if (mlp == Mlp::relu || mlp == Mlp::relu2) {
    const Ref y = w.add({.name = "relu", .inputs = {Input{x}}, .keeps_result = true}, "relu", n, w.element(x));
    return mlp == Mlp::relu2 ? w.elementwise("square", "square", y, n, true) : y;
  }
  return w.elementwise("activation", is_gated(mlp) ? "activated gate" : "activated", x, n, true);
}

// tokens: rows the MLP sees; width of one branch on this rank.
Ref dense_mlp(LayerWriter& w, Ref x, double tokens, double f) {
  const Model& m = w.model;
  const double h = double(m.hidden_size), n = tokens * f;
  Ref y;
  if (is_gated(m.mlp)) {
    const Ref gate = w.linear("gate", x, tokens, h, f, m.mlp_bias, of(LoraTarget::gate), true);
    const Ref active = activation(w, gate, n);
    const Ref up = w.linear("up", x, tokens, h, f, m.mlp_bias, of(LoraTarget::up), true);
    y = w.product("mul", "product", active, up, n);
  } else {
    y = activation(w, w.linear("up", x, tokens, h, f, m.mlp_bias, of(LoraTarget::up), true), n);
  }
  return w.linear("down", y, tokens, f, h, m.mlp_bias, of(LoraTarget::down), true);
}

Ref attention_of(LayerWriter& w, Ref x);
Ref experts_of(LayerWriter& w, Ref x);

}  // namespace

Tape layer_tape(const Plan& plan, const LayerKind& kind) {
  if (plan.training.switches.modules == ModuleCode::megatron && !plan.model.opaque) return megatron_layer_tape(plan, kind);
  if (plan.training.switches.modules == ModuleCode::litgpt && !plan.model.opaque && !plan.model.mla && !kind.is_moe) return litgpt_layer_tape(plan, kind);
  if (is_compiled_block(plan, kind)) return compiled_layer_tape(plan, kind);
  Tape tape;
  LayerWriter w(plan, tape);
  const Model& m = plan.model;
  if (m.opaque) {
    const Ref x = w.enter(1, plan.model.opaque->saved_bytes_per_sample * double(plan.training.micro_batch_size) / double(plan.model.opaque->units), 1, true);
    const double n = double(m.opaque->parameters) / double(m.opaque->units) / w.t;
    const Ref y = w.add({.name = "unit", .inputs = {Input{x, Flow::fresh, true}}, .weight = {n, 1, w.e * n, w.casts ? 4 * n : 0, w.casts ? 2 * n : 0}}, "unit", tape.bytes(x), 1);
    tape.leave(y);
    return tape;
  }
  tape.sums_out_of_place = w.gathers;
  const double h = double(m.hidden_size), n = w.stream_tokens * h;
  const Ref x = w.enter(w.stream_tokens, h, stream_bytes(plan), kind.entered_needs_gradient);
  const bool four_norms = m.norms_per_layer >= 4;
  const Ref normed = m.norms_per_layer >= 1 ? w.norm("norm output", x, w.stream_tokens, h) : x;
  Ref y = attention_of(w, normed);
  tape.hold(normed);
  if (four_norms) y = w.norm("norm output", y, w.stream_tokens, h);
  const Ref middle = w.sum(x, y, n);
  const Ref normed2 = m.norms_per_layer >= 2 ? w.norm("norm output", middle, w.stream_tokens, h) : middle;
  if (kind.is_moe) {
    y = experts_of(w, normed2);
  } else {
    y = dense_mlp(w, w.gather_tokens(normed2, h), w.T, std::ceil(double(m.intermediate_size) / w.t));
    y = w.scatter_tokens(y, h);
  }
  tape.hold(normed2);
  y = w.dropout(y, n, plan.training.hidden_dropout);
  if (four_norms) y = w.norm("norm output", y, w.stream_tokens, h);
  tape.leave(w.sum(middle, y, n));
  return tape;
}

namespace {

// Latent attention as transformers writes it: low-rank projections, a norm on the latent, q and k joined from their parts.
Ref latent_attention(LayerWriter& w, Ref x) {
  const Model& m = w.model;
  const LatentAttention& l = *m.mla;
  const double h = double(m.hidden_size), a = std::ceil(double(m.num_attention_heads) / w.t), T = w.T;
  const double nope = double(l.qk_nope_head_dim), rope = double(l.qk_rope_head_dim), dv = double(l.v_head_dim), r = double(l.kv_lora_rank), qr = double(l.q_lora_rank);
  x = w.gather_tokens(x, h);
  Ref q;
  if (qr > 0) {
    q = w.linear("query latent", x, T, h, qr, m.qkv_bias, kNoTarget, true);
    q = w.norm("query latent", q, T, qr);
    q = w.linear("queries", q, T, qr, a * (nope + rope), false, of(LoraTarget::q), true);
  } else {
    q = w.linear("queries", x, T, h, a * (nope + rope), m.qkv_bias, of(LoraTarget::q), true);
  }
  const Ref latent = w.linear("latent", x, T, h, r + rope, m.qkv_bias, of(LoraTarget::k), true);
  const Ref part = w.add({.name = "split", .inputs = {Input{latent, Flow::fresh, false}}}, "latent", 0, w.element(latent));
  Ref kv = w.norm("latent", part, T, r);
  kv = w.linear("keys and values", kv, T, r, a * (nope + dv), false, of(LoraTarget::v), true);
  const Ref values = w.add({.name = "split", .inputs = {Input{kv, Flow::fresh, false}}}, "values", 0, w.element(kv));
  const double joined = T * a * (nope + rope);
  q = w.add({.name = "join", .inputs = {Input{q}}}, "queries, joined", joined, w.element(q));
  const Ref keys = w.add({.name = "join", .inputs = {Input{values, Flow::part, false, T * a * nope * w.element(kv)}}}, "keys, joined", joined, w.element(kv));
  const Ref context = w.attend(q, keys, values, a, a, nope + rope, dv);
  const Ref y = w.linear("output projection", context, T, a * dv, h, m.o_bias, of(LoraTarget::o), true);
  return w.dropout(w.scatter_tokens(y, h), w.stream_tokens * h, w.plan.training.hidden_dropout);
}

Ref attention_of(LayerWriter& w, Ref x) { return w.model.mla ? latent_attention(w, x) : multi_head_attention(w, x); }

// Routed experts as grouped matrix products over the tokens sorted by expert; every token stays on its card, so routing cannot
// unbalance it. n = T·K rows.
Ref experts_of(LayerWriter& w, Ref x) {
  const Model& m = w.model;
  const MixtureOfExperts& moe = *m.moe;
  const double h = double(m.hidden_size), E = double(moe.num_experts), K = double(moe.experts_per_token), T = w.T;
  const double f = double(moe.intermediate_size) / double(w.plan.parallel.expert_tensor), n = T * K, local = E / double(w.plan.parallel.expert);
  const double branches = is_gated(m.mlp) ? 2 : 1;
  const bool is_latent = m.mla.has_value(), trained = !w.is_frozen;
  const Ref tokens = w.gather_tokens(x, h);
  // The router: scores in fp32 for all experts, weights and indices of the chosen ones.
  const Ref wide = is_latent ? w.cast(tokens, T * h, 4) : tokens;
  Operation router{.name = "router", .inputs = {Input{wide, Flow::fresh, trained}}};
  if (trained) router.weight = {E * h, 1, w.element(wide) * E * h, 0, 0};
  // Weights of the chosen, in the type of the model, and their sum; latent models keep neither.
  const double kept_weights = is_latent ? 0 : 4 * T + (m.qk_norm == QkNorm::per_head ? 2 : 4) * n;
  const bool gathers_router = is_latent && sharding_of(w.plan).shards_parameters && w.e < 4;  // an fp32 copy of its weight
  if (gathers_router) router.keeps = 4 * E * h;
  const Ref logits = w.add(router, "router logits", T * E, w.element(wide));
  const Ref scores = w.add({.name = "softmax", .inputs = {Input{logits}}, .keeps = 32 * n + whole_blocks(4 * E) + kept_weights, .keeps_result = true},
                           "router scores", T * E, 4);
  const Ref chosen = w.elementwise("top k", "expert weights", scores, n);
  const Ref rows = w.add({.name = "gather by expert", .inputs = {Input{tokens}}}, "tokens by expert", n * h, w.element(tokens));
  const auto grouped = [&](std::string_view name, Ref in, double from, double to) {
    const double size = local * from * to;
    Operation o{.name = "grouped product", .inputs = {Input{in, Flow::fresh, trained}}};
    if (trained) o.weight = {size, 1, w.e * size, w.casts ? 4 * size : 0, w.casts ? 2 * size : 0};
    return w.add(o, name, n * to, w.e);
  };
  const Ref both = grouped("gate and up of experts", rows, h, branches * f);
  Ref y = both;
  if (branches > 1) {
    const Ref branch = w.add({.name = "chunk", .inputs = {Input{both}}}, "gate and up of experts", 0, w.e);
    const double half = n * f * w.e;
    const Ref active = w.add({.name = "activation", .inputs = {Input{branch, Flow::part, true, half}}}, "activated gate of experts", n * f, w.e);
    y = w.add({.name = "mul", .inputs = {Input{active, Flow::fresh, true}, Input{branch, Flow::part, true, half}}}, "product of experts", n * f, w.e);
  } else {
    y = activation(w, both, n * f);
  }
  y = grouped("expert output", y, f, h);
  y = w.add({.name = "weigh", .inputs = {Input{y, Flow::fresh, true}, Input{chosen, Flow::fresh, true}}, .backward_scratch = w.e * n * h}, "weighted output", n * h, w.e);
  y = w.add({.name = "sum by token", .inputs = {Input{y}}}, "expert output by token", T * h, w.e);
  if (moe.shared_intermediate_size > 0) y = w.sum(y, dense_mlp(w, tokens, T, double(moe.shared_intermediate_size) / w.t), T * h);
  return w.scatter_tokens(y, h);
}

}  // namespace

Tape head_tape(const Plan& plan) {
  if (plan.training.switches.modules == ModuleCode::megatron) return megatron_head_tape(plan);
  Tape tape;
  LayerWriter w(plan, tape);
  const Model& m = plan.model;
  const double h = double(m.hidden_size);
  const bool embedding_trained = !plan.training.switches.frozen_embedding && !plan.training.lora;
  Ref x = w.enter(w.stream_tokens, h, stream_bytes(plan), true);
  if (m.final_norm) x = w.norm("final norm output", x, w.stream_tokens, h);
  x = w.gather_tokens(x, h);
  const double V = double(padded_vocabulary(m, plan.parallel.framework, plan.parallel.tensor));
  const bool trained = !(m.tie_word_embeddings && !embedding_trained);
  const Ref logits = w.linear("logits", x, w.T, h, V / w.t, m.head_bias, kNoTarget, trained);
  tape.leave(logits);
  return tape;
}

Tape final_norm_tape(const Plan& plan) {
  Tape tape;
  LayerWriter w(plan, tape);
  const double h = double(plan.model.hidden_size);
  Ref x = w.enter(w.stream_tokens, h, stream_bytes(plan), true);
  if (plan.model.final_norm) x = w.norm("final norm output", x, w.stream_tokens, h);
  tape.leave(w.gather_tokens(x, h));
  return tape;
}

}  // namespace wireplan
