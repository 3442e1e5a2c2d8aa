// A model: a decoder transformer given by its shape, or an opaque model given by its totals (plan document, `model`).
//
// Notation used by everything that counts on it:
//   h hidden_size   L num_layers   a num_attention_heads   k num_key_value_heads   d head_dim
//   f intermediate_size   V vocab_size   E num_experts   K experts_per_token   f_e expert intermediate_size
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/names.hpp"

namespace wireplan {

using Count = std::int64_t;

enum class Mlp : unsigned char { swiglu, geglu, gelu, relu, relu2 };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Mlp> = {"swiglu", "geglu", "gelu", "relu", "relu2"};
constexpr bool is_gated(Mlp m) { return m == Mlp::swiglu || m == Mlp::geglu; }

enum class Norm : unsigned char { rmsnorm, layernorm, layernorm1p, layernorm_nobias, layernorm_noparam };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Norm> = {"rmsnorm", "layernorm", "layernorm1p",
                                                                 "layernorm-nobias", "layernorm-noparam"};

enum class QkNorm : unsigned char { none, per_head, full, l2_no_weight };
template <>
inline constexpr std::array<std::string_view, 4> kNames<QkNorm> = {"none", "per-head", "full", "l2-no-weight"};

enum class Position : unsigned char { rope, learned, alibi, none };
template <>
inline constexpr std::array<std::string_view, 4> kNames<Position> = {"rope", "learned", "alibi", "none"};

struct MixtureOfExperts {
  Count num_experts = 0, experts_per_token = 0, intermediate_size = 0;
  Count num_shared_experts = 0, shared_intermediate_size = 0;  // the latter is the sum over shared experts
  bool shared_gate = false;
  Count first_dense_layers = 0;  // layers 0 .. n-1 keep the dense MLP
  Count every = 1;               // 2: the layers 1, 3, 5, ... (0-based) are MoE
  bool router_bias = false, expert_bias = false;
  bool router_bias_is_correction = false;  // moved by a rule of its own: no gradient, no optimizer state (DeepSeek-V3)
  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

struct LatentAttention {  // multi-head latent attention (MLA); q_lora_rank 0: queries are projected directly
  Count q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

struct
    OpaqueModel {  // anything that is not a decoder transformer: states, traffic and wiring hold, activations are as stated
  Count parameters = 0, units = 1;  // units: equal pieces that sharding gathers one at a time
  double flops_per_sample = 0;      // forward and backward together
  double saved_bytes_per_sample = 0;
  friend bool operator==(const OpaqueModel&, const OpaqueModel&) = default;
};

struct Model {
  std::string id;                     // preset id, "" for a model given as an object
  std::string name;                   // for people
  std::optional<OpaqueModel> opaque;  // when set, nothing below is used

  Count hidden_size = 0, num_layers = 0, num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  Count intermediate_size = 0;
  Mlp mlp = Mlp::swiglu;
  Count vocab_size = 0;
  bool tie_word_embeddings = false;
  Norm norm = Norm::rmsnorm;
  Count norms_per_layer = 2;
  bool final_norm = true, embedding_norm = false;
  bool qkv_bias = false, o_bias = false, mlp_bias = false, head_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool attention_sinks = false;
  Position position = Position::rope;
  Count max_position_embeddings = 0;  // 0: not stated
  Count extra_position_rows = 0;
  Count sliding_window = 0;               // 0: none
  Count sliding_window_global_every = 0;  // n: every n-th layer attends globally; 0: the window holds in all layers
  std::optional<MixtureOfExperts> moe;
  std::optional<LatentAttention> mla;

  friend bool operator==(const Model&, const Model&) = default;
};

// Everything wrong with the model itself; paths start with `prefix` ("model"). Empty when it is sound.
// Limits: sizes are positive and at most 1e6 (vocabulary 1e8), layers at most 1e5, parameters in all at most 1e14.
Errors validate(const Model& model, const std::string& prefix);

}  // namespace wireplan
