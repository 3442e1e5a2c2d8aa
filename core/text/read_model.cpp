#include "core/text/read_model.hpp"

namespace wireplan {
namespace {

enum class RouterBias : unsigned char { none, trained, correction };

}  // namespace
template <>
inline constexpr std::array<std::string_view, 3> kNames<RouterBias> = {"none", "trained", "correction"};

namespace {

void read_provenance(Reader& r) {
  std::string text;
  double count = 0;
  r.require("name", "the model's name");
  r.require("source", "where the shape was read");
  for (const std::string_view key : {"source", "family", "sliding_window_note", "exact_parameters_basis",
                                     "published_how", "count_check", "upstream", "verified", "note"})
    r.read(key, text);
  for (const std::string_view key :
       {"exact_parameters", "published_parameters", "active_parameters_published", "active_parameters_computed"})
    if (r.read(key, count) && !(count >= 1 && count <= 1e14))
      r.fail(key, *r.find(key), "1 to 1e14", r.path(key) + " is out of range. Nearest: the count of the source");
}

OpaqueModel read_opaque(Reader& r) {
  OpaqueModel m;
  std::string kind;
  r.read("kind", kind);
  r.require("parameters", "a whole number");
  r.read("parameters", m.parameters);
  r.read("units", m.units);
  r.read("flops_per_sample", m.flops_per_sample);
  r.read("saved_bytes_per_sample", m.saved_bytes_per_sample);
  return m;
}

MixtureOfExperts read_experts(ReadLog& log, const Json& json, std::string path) {
  MixtureOfExperts e;
  Reader r(log, json, std::move(path));
  for (const std::string_view key : {"num_experts", "experts_per_token", "intermediate_size"})
    r.require(key, "a whole number");
  r.read("num_experts", e.num_experts);
  r.read("experts_per_token", e.experts_per_token);
  r.read("intermediate_size", e.intermediate_size);
  r.read_stated("num_shared_experts", e.num_shared_experts);
  if (!r.read_stated("shared_intermediate_size", e.shared_intermediate_size) && e.num_shared_experts > 0 &&
      e.num_shared_experts < 1'000'000 && e.intermediate_size < 1'000'000'000)
    e.shared_intermediate_size = e.num_shared_experts * e.intermediate_size;
  r.read("shared_gate", e.shared_gate);
  r.read_stated("first_dense_layers", e.first_dense_layers);
  r.read_stated("every", e.every);
  r.read("expert_bias", e.expert_bias);
  if (const Json* bias = r.stated("router_bias")) {
    RouterBias kind = RouterBias::none;
    if (bias->is_boolean())
      e.router_bias = bias->get<bool>();
    else if (r.name("router_bias", bias, kind))
      e.router_bias = kind != RouterBias::none;
    e.router_bias_is_correction = kind == RouterBias::correction;
  }
  r.finish();
  return e;
}

LatentAttention read_latent_attention(ReadLog& log, const Json& json, std::string path) {
  LatentAttention a;
  Reader r(log, json, std::move(path));
  for (const std::string_view key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
    r.require(key, "a whole number");
  r.read_stated("q_lora_rank", a.q_lora_rank);
  r.read("kv_lora_rank", a.kv_lora_rank);
  r.read("qk_nope_head_dim", a.qk_nope_head_dim);
  r.read("qk_rope_head_dim", a.qk_rope_head_dim);
  r.read("v_head_dim", a.v_head_dim);
  r.finish();
  return a;
}

// Heads and their size follow from the rest in most models; the answer says when they were taken so. Where even that cannot
// be, the field that is missing has an error of its own, and 1 keeps the rest from adding others.
void read_heads(Reader& r, Model& m) {
  r.require("num_attention_heads", "a whole number");
  const bool counted = r.read("num_attention_heads", m.num_attention_heads);
  if (!r.read_stated("num_key_value_heads", m.num_key_value_heads)) {
    const bool assumed = counted && r.stated("num_key_value_heads") == nullptr;
    m.num_key_value_heads = assumed ? m.num_attention_heads : 1;
    if (assumed) r.log().assume(r.path("num_key_value_heads"), m.num_key_value_heads, "as many as num_attention_heads");
  }
  if (r.read_stated("head_dim", m.head_dim)) return;
  m.head_dim = 1;
  if (r.stated("head_dim") != nullptr || m.num_attention_heads < 1 || m.hidden_size < 1) return;
  if (m.hidden_size % m.num_attention_heads != 0) {
    r.require("head_dim", "a whole number, since num_attention_heads does not divide hidden_size");
    return;
  }
  m.head_dim = m.hidden_size / m.num_attention_heads;
  r.log().assume(r.path("head_dim"), m.head_dim, "hidden_size / num_attention_heads");
}

void read_window(Reader& r, Model& m) {
  r.read_stated("sliding_window", m.sliding_window);
  if (const Json* pattern = r.stated("sliding_window_pattern")) {
    Reader p(r.log(), *pattern, r.path("sliding_window_pattern"));
    p.require("global_every", "a whole number");
    p.read("global_every", m.sliding_window_global_every);
    p.finish();
  }
}

}  // namespace

Model read_model(Reader& r, bool is_preset) {
  Model m;
  r.read("name", m.name);
  if (const Json* kind = r.find("kind")) {
    if (!kind->is_string() || kind->get_ref<const std::string&>() != "opaque")
      r.fail_type("kind", *kind, "\"opaque\", or left out");
    m.opaque = read_opaque(r);
    if (is_preset) read_provenance(r);
    return m;
  }
  for (const std::string_view key : {"hidden_size", "num_layers", "vocab_size"}) r.require(key, "a whole number");
  r.read("hidden_size", m.hidden_size);
  r.read("num_layers", m.num_layers);
  read_heads(r, m);
  if (const Json* moe = r.stated("moe")) m.moe = read_experts(r.log(), *moe, r.path("moe"));
  if (!m.moe) r.require("intermediate_size", "a whole number");
  r.read_stated("intermediate_size", m.intermediate_size);
  r.require("mlp", names_listed<Mlp>());
  r.read_name("mlp", m.mlp);
  r.read("vocab_size", m.vocab_size);
  for (const std::string_view key : {"tie_word_embeddings", "qkv_bias", "mlp_bias"}) r.require(key, "true or false");
  r.read("tie_word_embeddings", m.tie_word_embeddings);
  r.require("norm", names_listed<Norm>());
  r.read_name("norm", m.norm);
  r.read("norms_per_layer", m.norms_per_layer);
  r.read("final_norm", m.final_norm);
  r.read("embedding_norm", m.embedding_norm);
  r.read("qkv_bias", m.qkv_bias);
  r.read("mlp_bias", m.mlp_bias);
  m.o_bias = m.mlp_bias;
  r.read("o_bias", m.o_bias);
  r.read("head_bias", m.head_bias);
  const Json* qk_norm = r.find("qk_norm");
  // false is what is left out means; true would not say which.
  if (qk_norm != nullptr && !(qk_norm->is_boolean() && !qk_norm->get<bool>())) r.name("qk_norm", qk_norm, m.qk_norm);
  r.read("attention_sinks", m.attention_sinks);
  r.require("position", names_listed<Position>());
  r.read_name("position", m.position);
  r.read_stated("max_position_embeddings", m.max_position_embeddings);
  r.read_stated("extra_position_rows", m.extra_position_rows);
  read_window(r, m);
  if (const Json* mla = r.stated("mla")) m.mla = read_latent_attention(r.log(), *mla, r.path("mla"));
  if (is_preset) read_provenance(r);
  return m;
}

Json write_model(const Model& m) {
  Json j = Json::object();
  if (!m.name.empty()) put(j, "name", m.name);
  if (m.opaque) {
    put(j, "kind", "opaque");
    put(j, "parameters", m.opaque->parameters);
    put(j, "units", m.opaque->units);
    put(j, "flops_per_sample", m.opaque->flops_per_sample);
    put(j, "saved_bytes_per_sample", m.opaque->saved_bytes_per_sample);
    return j;
  }
  put(j, "hidden_size", m.hidden_size);
  put(j, "num_layers", m.num_layers);
  put(j, "num_attention_heads", m.num_attention_heads);
  put(j, "num_key_value_heads", m.num_key_value_heads);
  put(j, "head_dim", m.head_dim);
  put(j, "intermediate_size", m.intermediate_size);
  put(j, "mlp", name_of(m.mlp));
  put(j, "vocab_size", m.vocab_size);
  put(j, "tie_word_embeddings", m.tie_word_embeddings);
  put(j, "norm", name_of(m.norm));
  put(j, "norms_per_layer", m.norms_per_layer);
  put(j, "final_norm", m.final_norm);
  put(j, "embedding_norm", m.embedding_norm);
  put(j, "qkv_bias", m.qkv_bias);
  put(j, "o_bias", m.o_bias);
  put(j, "mlp_bias", m.mlp_bias);
  put(j, "head_bias", m.head_bias);
  put(j, "qk_norm", name_of(m.qk_norm));
  put(j, "attention_sinks", m.attention_sinks);
  put(j, "position", name_of(m.position));
  put_or_null(j, "max_position_embeddings", m.max_position_embeddings);
  put(j, "extra_position_rows", m.extra_position_rows);
  put_or_null(j, "sliding_window", m.sliding_window);
  put(j, "sliding_window_pattern", nullptr);
  if (m.sliding_window_global_every > 0) {
    Json pattern = Json::object();
    put(pattern, "global_every", m.sliding_window_global_every);
    put(j, "sliding_window_pattern", std::move(pattern));
  }
  put(j, "moe", nullptr);
  if (m.moe) {
    Json e = Json::object();
    put(e, "num_experts", m.moe->num_experts);
    put(e, "experts_per_token", m.moe->experts_per_token);
    put(e, "intermediate_size", m.moe->intermediate_size);
    put(e, "num_shared_experts", m.moe->num_shared_experts);
    put(e, "shared_intermediate_size", m.moe->shared_intermediate_size);
    put(e, "shared_gate", m.moe->shared_gate);
    put(e, "first_dense_layers", m.moe->first_dense_layers);
    put(e, "every", m.moe->every);
    e["router_bias"] = name_of(!m.moe->router_bias                ? RouterBias::none
                               : m.moe->router_bias_is_correction ? RouterBias::correction
                                                                  : RouterBias::trained);
    put(e, "expert_bias", m.moe->expert_bias);
    put(j, "moe", std::move(e));
  }
  put(j, "mla", nullptr);
  if (m.mla) {
    Json a = Json::object();
    put_or_null(a, "q_lora_rank", m.mla->q_lora_rank);
    put(a, "kv_lora_rank", m.mla->kv_lora_rank);
    put(a, "qk_nope_head_dim", m.mla->qk_nope_head_dim);
    put(a, "qk_rope_head_dim", m.mla->qk_rope_head_dim);
    put(a, "v_head_dim", m.mla->v_head_dim);
    put(j, "mla", std::move(a));
  }
  return j;
}

}  // namespace wireplan
