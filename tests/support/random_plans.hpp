// Pseudo-random plan documents for laws that must hold everywhere: models of every kind, all frameworks, layouts and recipes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/describe/defaults.hpp"
#include "core/text/plan_json.hpp"
#include "tests/support/plans.hpp"

namespace wireplan::testing {

class Random {  // splitmix64: the same on every machine
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  bool chance(int percent) { return next() % 100 < static_cast<std::uint64_t>(percent); }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + next() % list.size());
  }
  const char* text(std::initializer_list<const char*> list) { return pick(list); }

 private:
  std::uint64_t state_;
};

inline Json random_model(Random& r) {
  if (r.chance(6)) return Json{{"kind", "opaque"}, {"parameters", r.pick({1'000'000, 123'456'789})}, {"units", r.pick({1, 12})}, {"flops_per_sample", 1e12}, {"saved_bytes_per_sample", r.pick({0.0, 3e8})}};
  if (r.chance(8)) {
    const Count heads = r.pick({1, 2, 8});
    return Json{{"hidden_size", 64 * heads}, {"num_layers", r.pick({1, 2, 5, 9})}, {"num_attention_heads", heads}, {"num_key_value_heads", r.chance(50) ? heads : 1}, {"intermediate_size", r.pick({1, 100, 2048})},
                {"mlp", r.text({"swiglu", "geglu", "gelu", "relu", "relu2"})}, {"vocab_size", r.pick({2, 1000, 50257})}, {"tie_word_embeddings", r.chance(50)}, {"norm", r.text({"rmsnorm", "layernorm", "layernorm-noparam"})},
                {"norms_per_layer", r.pick({0, 1, 2, 4})}, {"final_norm", r.chance(80)}, {"qkv_bias", r.chance(50)}, {"mlp_bias", r.chance(50)}, {"qk_norm", r.text({"none", "per-head", "full", "l2-no-weight"})},
                {"position", r.text({"rope", "learned", "alibi", "none"})}};
  }
  return r.text({"gpt2", "llama-3.2-1b", "mistral-7b-v0.1", "gemma-2-2b", "gemma-2b", "gemma-3-1b", "mixtral-8x7b", "deepseek-v2-lite", "deepseek-v3", "qwen3-30b-a3b", "qwen2.5-0.5b", "opt-125m", "pythia-160m", "olmoe-1b-7b",
                 "falcon-7b", "gpt-oss-20b", "olmo-2-1b", "gpt3-125m", "qwen3-0.6b", "llama-4-scout", "bloom-560m", "phi-2"});
}

inline Json random_training(Random& r, const std::string& framework, Count micro, Count global) {
  Json t{{"sequence_length", r.pick({32, 512, 2048, 4096})}, {"micro_batch_size", micro}, {"global_batch_size", global}};
  t["parameter_dtype"] = r.text({"bf16", "bf16", "bf16", "fp32", "fp16", "fp8", "nvfp4"});
  t["gradient_dtype"] = r.text({"bf16", "fp32", "fp32"});
  if (r.chance(40)) t["master_weights_dtype"] = nullptr;
  t["optimizer"] = r.text({"adamw", "adamw", "adamw", "sgd", "sgd-momentum", "lion", "adamw-8bit", "adamw-8bit-paged", "adafactor", "muon"});
  t["optimizer_state_dtype"] = r.text({"fp32", "fp32", "bf16", "int8"});
  switch (r.next() % 6) {
    case 0: case 1: break;
    case 2: t["recompute"] = "selective"; break;
    case 3: t["recompute"] = Json{{"every", r.pick({1, 2, 3})}}; break;
    case 4: t["recompute"] = Json{{"full_layers", r.pick({1, 2, 4})}}; break;
    default: t["recompute"] = "full";
  }
  t["attention"] = r.text({"flash", "flash", "eager"});
  t["loss"] = r.text({"logits-fp32", "logits-fp32", "fused", "chunked"});
  if (r.chance(20)) t["kernels"] = r.text({"eager", "compiled", "fused"});
  if (r.chance(25)) t["hidden_dropout"] = 0.1;
  if (r.chance(25)) t["attention_dropout"] = 0.1;
  const auto dated = [&](std::string id) { return id + r.text({"", "", "@2023-05", "@2024-06", "@2025", "@2025-11", "@2026-06"}); };
  if (r.chance(60)) {
    if (framework == "megatron") t["implementation"] = dated(r.text({"megatron-core", "megatron-core", "megatron-local", "nanotron", "internevo", "megatron-deepspeed"}));
    if (framework == "deepspeed") t["implementation"] = dated(r.text({"huggingface", "huggingface", "torchtitan", "megatron-deepspeed"}));
    if (framework == "pytorch") t["implementation"] = dated(r.text({"huggingface", "torchtitan", "nanogpt", "torchtune", "litgpt", "llm-foundry", "fms-fsdp", "fsdp-qlora", "automodel"}));
  }
  if (r.chance(20)) {
    t["lora"] = Json{{"rank", r.pick({1, 8, 64})}, {"base_dtype", r.text({"bf16", "nf4", "int8", "fp8"})}};
    t["lora"]["targets"] = r.chance(50) ? Json{"q", "v"} : Json{"q", "k", "v", "o", "up", "down"};
  }
  if (r.chance(20)) t["offload"] = Json{{"optimizer", r.chance(50)}, {"parameters", r.chance(50)}, {"activations", r.chance(50)}};
  if (r.chance(20)) t["load"] = r.text({"rank0", "every-rank"});
  if (r.chance(20)) t["checkpoint"] = "full";
  if (r.chance(50)) {
    Json d = Json::object();
    const auto flag = [&](const char* key) { if (r.chance(15)) d[key] = r.chance(50); };
    for (const char* key : {"gradient_clipping", "repeat_kv", "padding", "logits_kept", "loss_recompute", "loss_parallel", "gradient_as_bucket_view", "reshard_last_unit", "fsdp_backward_prefetch", "fsdp_use_orig_params", "frozen_embedding", "autocast"}) flag(key);
    if (r.chance(20)) d["optimizer_kernel"] = r.text({"fused", "foreach", "loop", "in-backward"});
    if (r.chance(15)) d["norm_kernel"] = r.text({"fused", "eager"});
    if (r.chance(15)) d["attention_kernel"] = r.text({"flash", "memory-efficient", "cudnn", "math"});
    if (r.chance(15)) d["loss_chunks"] = r.pick({1, 2, 8, 1000});
    if (r.chance(15)) d["bucket_bytes"] = r.pick({1, 26214400, 1'000'000'000});
    if (r.chance(25)) d["fsdp_version"] = r.pick({1, 2});
    if (r.chance(25)) d["fsdp_units"] = r.text({"blocks", "embedding-blocks-head"});
    if (r.chance(15)) d["reduce_dtype"] = r.text({"fp32", "bf16"});
    if (r.chance(15)) d["adapter_dtype"] = r.text({"fp32", "bf16"});
    if (r.chance(15)) d["lora_dropout"] = r.pick({0.0, 0.1});
    if (r.chance(15)) d["built"] = r.text({"bf16-host", "fp32-host", "gpu", "zero-init"});
    if (!d.empty()) t["details"] = d;
  }
  return t;
}

inline Json random_deepspeed(Random& r, const std::string& sharding) {
  Json zero{{"stage", sharding == "ddp" ? 0 : sharding == "zero1" ? 1 : sharding == "zero2" ? 2 : 3}};
  const auto size = [&](const char* key) { if (r.chance(25)) zero[key] = r.pick({0.0, 1.0, 1e5, 1e7, 2e9}); };
  for (const char* key : {"reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_max_live_parameters", "stage3_max_reuse_distance", "stage3_param_persistence_threshold", "sub_group_size"}) size(key);
  for (const char* key : {"overlap_comm", "round_robin_gradients", "contiguous_gradients", "reduce_scatter", "memory_efficient_linear"}) if (r.chance(20)) zero[key] = r.chance(50);
  if (r.chance(15)) zero["reduce_bucket_size"] = "auto";
  if (r.chance(15)) zero["zero_hpz_partition_size"] = r.pick({2, 4});
  if (r.chance(15)) zero["offload_optimizer"] = Json{{"device", "cpu"}};
  if (r.chance(15)) zero["offload_param"] = Json{{"device", "cpu"}};
  return Json{{"zero_optimization", zero}};
}

// A document; most are valid.
inline Json random_document(Random& r) {
  const std::string framework = r.text({"pytorch", "pytorch", "megatron", "deepspeed"});
  const std::string sharding = framework == "megatron" ? r.text({"ddp", "zero1", "fsdp"}) : framework == "deepspeed" ? r.text({"ddp", "zero1", "zero2", "zero3"}) : r.text({"ddp", "zero1", "zero2", "fsdp", "fsdp", "hsdp"});
  Json p{{"framework", framework}, {"data_sharding", sharding}};
  const Count nodes = r.pick({1, 1, 2, 4}), each = r.pick({1, 2, 4, 8});
  Count left = nodes * each;
  const auto take = [&](const char* key, int percent, std::initializer_list<Count> list) -> Count {
    const Count n = r.chance(percent) ? r.pick(list) : 1;
    if (left % n != 0) return 1;
    left /= n;
    p[key] = n;
    return n;
  };
  const bool is_model_parallel = framework != "deepspeed" || r.chance(10);
  const Count tensor = take("tensor", is_model_parallel ? 35 : 0, {2, 4});
  const Count pipeline = take("pipeline", is_model_parallel ? 35 : 0, {2, 4});
  const Count context = take("context", is_model_parallel ? 20 : 0, {2});
  if (tensor > 1) p["sequence_parallel"] = r.chance(50);
  if (sharding == "hsdp") p["shard_group"] = r.pick({1, 2, 4});
  if (r.chance(25)) p["fsdp_unit"] = r.chance(30) ? Json("none") : Json(r.pick({1, 2, 3, 5}));
  if (r.chance(20)) p["gradient_sync"] = r.text({"every", "last"});
  if (pipeline > 1 && r.chance(50)) {
    const std::string schedule = r.text({"1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"});
    p["pipeline_schedule"] = schedule;
    if (schedule == "interleaved") p["virtual_stages"] = 2;
  }
  const Json model = random_model(r);
  const bool has_experts = model.is_string() && presets().model(model.get_ref<const std::string&>()).value().moe.has_value();
  if (has_experts && left * context * tensor > 1 && r.chance(50)) p["expert"] = r.pick({2, 4});
  if (has_experts && tensor > 1 && r.chance(30)) p["expert_tensor"] = 2;
  if (r.chance(20)) p["moe_dispatcher"] = r.text({"alltoall", "allgather", "flex"});
  if (framework == "deepspeed" && r.chance(60)) p["deepspeed"] = random_deepspeed(r, sharding);
  const Count micro = r.pick({1, 1, 2, 3});
  Json document{{"schema", "wireplan.plan/1"}, {"model", model}};
  document["training"] = random_training(r, framework, micro, micro * left * r.pick({1, 1, 2, 3, 4, 8}));
  document["parallel"] = p;
  document["cluster"] = Json{{"nodes", nodes}, {"node", r.text({"dgx-a100-80gb", "hgx-h100-80gb", "hgx-b200-180gb"})}, {"gpus_per_node", each}};
  if (nodes > 1) document["cluster"]["network"] = "infiniband-8x400";
  return document;
}

inline std::optional<Plan> read_if_valid(const Json& document) {
  Result<Plan> plan = read_plan(document, presets());
  if (!plan) return std::nullopt;
  return std::move(plan.value());
}

// The document with one field changed, where that is still a valid plan.
inline std::optional<Plan> changed(const Json& document, std::string_view path, std::string_view value) {
  Json copy = document;
  if (!set_path(copy, path, value).empty()) return std::nullopt;
  return read_if_valid(copy);
}

}  // namespace wireplan::testing
