// Models written out by hand for the tests of core/count.
#pragma once

#include "core/describe/plan.hpp"

namespace wireplan::shapes {

inline Model llama(Count h, Count layers, Count heads, Count kv, Count f, Count v) {
  Model m;
  m.hidden_size = h;
  m.num_layers = layers;
  m.num_attention_heads = heads;
  m.num_key_value_heads = kv;
  m.head_dim = h / heads;
  m.intermediate_size = f;
  m.vocab_size = v;
  m.max_position_embeddings = 8192;
  return m;
}

inline Model mistral_7b() { return llama(4096, 32, 32, 8, 14336, 32000); }
inline Model llama_31_8b() { return llama(4096, 32, 32, 8, 14336, 128256); }

inline Model gpt2() {
  Model m = llama(768, 12, 12, 12, 3072, 50257);
  m.mlp = Mlp::gelu;
  m.tie_word_embeddings = true;
  m.norm = Norm::layernorm;
  m.qkv_bias = m.o_bias = m.mlp_bias = true;
  m.position = Position::learned;
  m.max_position_embeddings = 1024;
  return m;
}

inline Model mixtral_8x7b() {
  Model m = mistral_7b();
  MixtureOfExperts e;
  e.num_experts = 8;
  e.experts_per_token = 2;
  e.intermediate_size = 14336;
  m.moe = e;
  return m;
}

inline Model deepseek_v3() {
  Model m = llama(7168, 61, 128, 128, 18432, 129280);
  m.head_dim = 192;
  MixtureOfExperts e;
  e.num_experts = 256;
  e.experts_per_token = 8;
  e.intermediate_size = 2048;
  e.num_shared_experts = 1;
  e.shared_intermediate_size = 2048;
  e.first_dense_layers = 3;
  e.router_bias = e.router_bias_is_correction = true;
  m.moe = e;
  m.mla = LatentAttention{1536, 512, 128, 64, 128};
  return m;
}

// A layout on as many nodes as it fills, micro-batch 1, one micro-batch a step.
inline Plan plan(const Model& model, const Parallel& parallel, int gpus_per_node = 8) {
  Plan p;
  p.model = model;
  p.parallel = parallel;
  p.training.global_batch_size = parallel.data;
  const Count world = parallel.data * parallel.tensor * parallel.pipeline * parallel.context;
  p.cluster.gpus_per_node = static_cast<int>(world < gpus_per_node ? world : gpus_per_node);
  p.cluster.nodes = static_cast<int>((world + gpus_per_node - 1) / gpus_per_node);
  return p;
}

}  // namespace wireplan::shapes
