#include "core/count/tensors.hpp"

#include <cmath>

namespace wireplan {
namespace {

constexpr signed char target(LoraTarget t) { return static_cast<signed char>(t); }

// Weight and bias of one linear layer, out × in.
void add_linear(TensorList& list, Part matrix, Part vector, Cut cut, double out, double in, bool bias,
                signed char lora = -1) {
  list.add({matrix, cut, Module::own, out, in, 1, lora});
  if (bias) list.add({vector, cut == Cut::columns ? Cut::whole : cut, Module::with_previous, out, 1, 1, -1});
}

void add_norm(TensorList& list, Part part, Norm norm, double width) {
  if (norm == Norm::layernorm_noparam) return;
  list.add({part, Cut::whole, Module::own, width, 1, 1, -1});
  if (norm == Norm::layernorm || norm == Norm::layernorm1p)
    list.add({part, Cut::whole, Module::with_previous, width, 1, 1, -1});
}

void add_latent_attention(TensorList& list, const Model& m, const LatentAttention& mla) {
  const double h = double(m.hidden_size), a = double(m.num_attention_heads);
  const double qk = double(mla.qk_nope_head_dim + mla.qk_rope_head_dim), kv = double(mla.kv_lora_rank);
  const Part matrix = Part::attention_matrix, vector = Part::attention_vector;
  if (mla.q_lora_rank > 0) {
    add_linear(list, vector, vector, Cut::whole, double(mla.q_lora_rank), h, m.qkv_bias);
    add_norm(list, vector, Norm::rmsnorm, double(mla.q_lora_rank));
    add_linear(list, matrix, vector, Cut::rows, a * qk, double(mla.q_lora_rank), false, target(LoraTarget::q));
  } else {
    add_linear(list, matrix, vector, Cut::rows, a * qk, h, m.qkv_bias, target(LoraTarget::q));
  }
  add_linear(list, vector, vector, Cut::whole, kv + double(mla.qk_rope_head_dim), h, m.qkv_bias, target(LoraTarget::k));
  add_norm(list, vector, Norm::rmsnorm, kv);
  add_linear(list, matrix, vector, Cut::rows, a * double(mla.qk_nope_head_dim + mla.v_head_dim), kv, false,
             target(LoraTarget::v));
  add_linear(list, matrix, vector, Cut::columns, h, a * double(mla.v_head_dim), m.o_bias, target(LoraTarget::o));
}

void add_attention(TensorList& list, const Model& m, bool fused_qkv) {
  const double h = double(m.hidden_size), q = double(m.num_attention_heads * m.head_dim),
               kv = double(m.num_key_value_heads * m.head_dim);
  const Part matrix = Part::attention_matrix, vector = Part::attention_vector;
  if (fused_qkv) {
    add_linear(list, matrix, vector, Cut::qkv_rows, q + 2 * kv, h, m.qkv_bias);
  } else {
    add_linear(list, matrix, vector, Cut::rows, q, h, m.qkv_bias, target(LoraTarget::q));
    add_linear(list, matrix, vector, Cut::kv_rows, kv, h, m.qkv_bias, target(LoraTarget::k));
    add_linear(list, matrix, vector, Cut::kv_rows, kv, h, m.qkv_bias, target(LoraTarget::v));
  }
  if (m.qk_norm == QkNorm::per_head || m.qk_norm == QkNorm::full) {
    const bool full = m.qk_norm == QkNorm::full;
    list.add({vector, Cut::whole, Module::own, full ? q : double(m.head_dim), 1, 1, -1});
    list.add({vector, Cut::whole, Module::own, full ? kv : double(m.head_dim), 1, 1, -1});
  }
  if (m.attention_sinks) list.add({vector, Cut::rows, Module::own, double(m.num_attention_heads), 1, 1, -1});
  add_linear(list, matrix, vector, Cut::columns, h, q, m.o_bias, target(LoraTarget::o));
}

void add_mlp(TensorList& list, const Model& m, double f, bool bias, bool fused_gate_up) {
  const double h = double(m.hidden_size);
  const Part matrix = Part::mlp_matrix, vector = Part::mlp_vector;
  const bool gated = is_gated(m.mlp);
  if (gated && !fused_gate_up) add_linear(list, matrix, vector, Cut::rows, f, h, bias, target(LoraTarget::gate));
  add_linear(list, matrix, vector, Cut::rows, gated && fused_gate_up ? 2 * f : f, h, bias, target(LoraTarget::up));
  add_linear(list, matrix, vector, Cut::columns, h, f, bias, target(LoraTarget::down));
}

void add_experts(TensorList& list, const Model& m, const MixtureOfExperts& moe, const Storage& storage) {
  const double h = double(m.hidden_size), f = double(moe.intermediate_size), experts = double(moe.num_experts);
  const double branches = is_gated(m.mlp) ? 2 : 1;
  list.add({Part::router, Cut::whole, Module::own, experts, h, 1, -1});
  if (moe.router_bias)
    list.add({Part::router, Cut::whole, Module::with_previous, experts, 1, 1, -1, moe.router_bias_is_correction});
  const bool stacked = storage.stacked_experts;
  const double rows = stacked ? experts : 1, copies = stacked ? 1 : experts;
  list.add({Part::expert, Cut::expert_rows, Module::own, rows, branches * f * h, copies, target(LoraTarget::up)});
  if (moe.expert_bias)
    list.add({Part::expert, Cut::expert_rows, Module::with_previous, rows, branches * f, copies, -1});
  list.add({Part::expert, Cut::expert_columns, Module::with_previous, rows, h * f, copies, target(LoraTarget::down)});
  if (moe.expert_bias) list.add({Part::expert, Cut::expert, Module::with_previous, rows, h, copies, -1});
  if (moe.shared_intermediate_size > 0)
    add_mlp(list, m, double(moe.shared_intermediate_size), false, storage.fused_gate_up);
  if (moe.shared_gate) list.add({Part::router, Cut::whole, Module::own, 1, h, 1, -1});
}

double divided(double size, double parts) { return std::ceil(size / parts); }

}  // namespace

Storage storage_of(const Model& model, Framework framework) {
  if (framework == Framework::megatron) return {true, true, false};
  const bool gpt = model.mlp == Mlp::gelu && model.qkv_bias && model.num_key_value_heads == model.num_attention_heads &&
                   !model.head_bias;
  return {gpt, false, true};
}

TensorList layer_tensors(const Model& m, bool is_moe, const Storage& storage) {
  TensorList list;
  if (m.opaque) {
    const double units = double(m.opaque->units > 0 ? m.opaque->units : 1);
    list.add({Part::mlp_matrix, Cut::rows, Module::own, double(m.opaque->parameters) / units, 1, 1, -1});
    return list;
  }
  const double h = double(m.hidden_size);
  const Count norms = m.norms_per_layer;
  if (norms >= 1) add_norm(list, Part::norm, m.norm, h);
  if (m.mla)
    add_latent_attention(list, m, *m.mla);
  else
    add_attention(list, m, storage.fused_qkv);
  if (norms >= 4) add_norm(list, Part::norm, m.norm, h);
  if (norms >= 2) add_norm(list, Part::norm, m.norm, h);
  if (is_moe && m.moe)
    add_experts(list, m, *m.moe, storage);
  else
    add_mlp(list, m, double(m.intermediate_size), m.mlp_bias, storage.fused_gate_up);
  if (norms >= 3) add_norm(list, Part::norm, m.norm, h);
  for (Count extra = 4; extra < norms; ++extra) add_norm(list, Part::norm, m.norm, h);
  return list;
}

TensorList embedding_tensors(const Model& m, double vocabulary_rows) {
  TensorList list;
  if (m.opaque) return list;
  const double h = double(m.hidden_size);
  list.add({Part::embedding, Cut::rows, Module::own, vocabulary_rows, h, 1, -1});
  if (m.position == Position::learned)
    list.add({Part::embedding, Cut::whole, Module::own, double(m.max_position_embeddings + m.extra_position_rows), h, 1,
              -1});
  if (m.embedding_norm) add_norm(list, Part::embedding, m.norm, h);
  return list;
}

TensorList head_tensors(const Model& m, double vocabulary_rows) {
  TensorList list;
  if (m.opaque) return list;
  if (m.final_norm) add_norm(list, Part::norm, m.norm, double(m.hidden_size));
  if (!m.tie_word_embeddings)
    list.add({Part::head, Cut::rows, Module::own, vocabulary_rows, double(m.hidden_size), 1, -1});
  if (m.head_bias) list.add({Part::head, Cut::rows, Module::with_previous, vocabulary_rows, 1, 1, -1});
  return list;
}

Count kv_heads_on_rank(const Model& m, Count t) {
  const Count k = m.num_key_value_heads;
  if (t <= 0 || k % t == 0) return t > 0 ? k / t : k;
  return t % k == 0 ? 1 : k;
}

TensorList on_rank(const TensorList& whole, const Model& m, const Parallel& parallel) {
  const double t = double(parallel.tensor), e = double(parallel.expert), e_t = double(parallel.expert_tensor);
  const double kv = m.opaque ? 1 : double(kv_heads_on_rank(m, parallel.tensor)), d = double(m.head_dim);
  TensorList list;
  for (Tensor x : whole) {
    switch (x.cut) {
      case Cut::whole:
        break;
      case Cut::rows:
        x.rows = m.opaque ? x.rows / t : divided(x.rows, t);
        break;
      case Cut::columns:
        x.columns = divided(x.columns, t);
        break;
      case Cut::kv_rows:
        x.rows = kv * d;
        break;
      case Cut::qkv_rows:
        x.rows = divided(double(m.num_attention_heads), t) * d + 2 * kv * d;
        break;
      case Cut::expert:
      case Cut::expert_rows:
      case Cut::expert_columns:
        (x.copies > 1 ? x.copies : x.rows) = divided(x.copies > 1 ? x.copies : x.rows, e);
        if (x.cut != Cut::expert) x.columns = divided(x.columns, e_t);
        break;
    }
    list.add(x);
  }
  return list;
}

TensorList adapter_tensors(const TensorList& base, const Lora& lora) {
  const double r = double(lora.rank);
  TensorList list;
  for (const Tensor& x : base) {
    bool adapted = false;
    for (LoraTarget t : lora.targets) adapted = adapted || x.target == target(t);
    if (!adapted || x.part == Part::expert) continue;
    list.add({x.part, x.cut == Cut::columns ? x.cut : Cut::whole, Module::own, r, x.columns, x.copies, -1});
    list.add({x.part, x.cut == Cut::columns ? Cut::whole : x.cut, Module::own, x.rows, r, x.copies, -1});
  }
  return list;
}

double elements_of(const TensorList& list) {
  double sum = 0;
  for (const Tensor& x : list) sum += x.elements();
  return sum;
}

double tensors_of(const TensorList& list) {
  double sum = 0;
  for (const Tensor& x : list) sum += x.copies;
  return sum;
}

}  // namespace wireplan
