#include "core/cost/activations.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

TEST_CASE("GPT with equal heads, fused kernels: 34 s·b·h without the score matrix and dropout masks") {
  // [korthikanti22] Eq. 1: s·b·h·34 of which 3·s·b·h are dropout masks (the third, on attention scores, is of the score matrix);
  // here without masks: norms 2·2 + input 2·2 = 8h, q k v 6h, attention output 2h, MLP 4h·2 + 4h·2 = 16h.
  const Plan p = plan_of(R"({"model":{"hidden_size":4096,"num_layers":4,"num_attention_heads":32,"num_key_value_heads":32,"head_dim":128,"intermediate_size":16384,
    "mlp":"gelu","vocab_size":32000,"tie_word_embeddings":false,"norm":"layernorm","qkv_bias":true,"mlp_bias":true,"position":"learned"},
    "training":{"sequence_length":2048,"kernels":"fused"},"parallel":{"framework":"megatron"},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":1}})");
  const double tokens = 2048, h = 4096, a = 32;
  const double kept = kept_per_layer(p, false).value;
  CHECK(kept == 32 * tokens * h + 4 * a * tokens + 8 * tokens);
}

TEST_CASE("full recompute keeps the layer's input only") {
  const Plan p = scenario("story", {{"training.recompute", "full"}});
  CHECK(kept_per_layer_recomputed(p, false).value == 2.0 * 4096 * 4096);
  CHECK(kept_per_layer_recomputed(scenario("story"), false) == kept_per_layer(scenario("story"), false));
}

TEST_CASE("sequence parallel divides everything by tensor, without it norms stay whole") {
  const auto kept = [](const char* sp) {
    return kept_per_layer(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.tensor", "4"}, {"parallel.data", "1"}, {"parallel.sequence_parallel", sp}}), false).value;
  };
  const double whole = kept_per_layer(scenario("story", {{"parallel.framework", "megatron"}}), false).value;
  CHECK(kept("true") == whole / 4);
  CHECK(kept("false") > whole / 4);
  CHECK(kept("false") < whole);
}

TEST_CASE("recompute of n layers is counted in each piece of a pipeline") {
  const auto share = [](const char* recompute, const char* pipeline, Count stage) {
    return recomputed_share(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", "1"}, {"parallel.pipeline", pipeline}, {"cluster.gpus_per_node", pipeline}, {"training.recompute", recompute}}), stage);
  };
  CHECK(share("none", "1", 0) == 0);
  CHECK(share("full", "4", 3) == 1);
  CHECK(share("selective", "4", 3) == 1);
  CHECK(share(R"({"full_layers":4})", "1", 0) == 4.0 / 32);
  CHECK(share(R"({"full_layers":4})", "4", 2) == 4.0 / 8);  // of the 8 layers of a stage
  CHECK(share(R"({"full_layers":20})", "4", 2) == 1);
  CHECK(share(R"({"every":3})", "4", 2) == 3.0 / 8);  // 0, 3 and 6
}

TEST_CASE("bytes that a forward pass of transformers leaves, as traced") {
  // [framework-traces]: torch 2.15, transformers 5.24; weights, gradients and states bf16, AdamW, one GPU, no padding, no recompute.
  // Bytes alive before backward less those alive before forward. Rows differ in what they pin: Llama type with all heads and
  // with shared ones, projection biases, norms of each head, GPT-2's layer norm and GELU, stored scores, MLA with experts.
  struct Row { const char *id, *model; int sequence, micro_batch; const char* attention; double bytes; };
  const Row rows[] = {
      {"hf-001", "gpt2", 1024, 8, "flash", 5906289664},
      {"hf-006", "gpt2-medium", 1024, 4, "eager", 9700205568},
      {"hf-009", "llama-3.2-1b", 2048, 1, "flash", 4646020608},
      {"hf-010", "llama-3.2-1b", 2048, 4, "flash", 18582455296},
      {"hf-016", "llama-3.2-1b", 4096, 2, "eager", 122450707456},
      {"hf-017", "llama-3.2-1b", 512, 1, "flash", 1161518592},
      {"hf-022", "llama-3-8b", 4096, 1, "flash", 28562245120},
      {"hf-028", "qwen2.5-7b", 4096, 1, "flash", 28461708800},
      {"hf-030", "qwen3-8b", 4096, 1, "flash", 34378307072},
      {"hf-035", "deepseek-v2-lite", 2048, 2, "flash", 24660976640},
      {"hf-083", "llama-3.2-3b", 4096, 2, "flash", 34494870528},
      {"hf-085", "llama-2-7b", 4096, 1, "flash", 25106138624},
  };
  for (const Row& r : rows) {
    DYNAMIC_SECTION(r.id << " " << r.model) {
      const Plan p = plan_of(std::string(R"({"model":")") + r.model + R"(","training":{"sequence_length":)" + std::to_string(r.sequence) +
                             R"(,"micro_batch_size":)" + std::to_string(r.micro_batch) + R"(,"global_batch_size":)" + std::to_string(r.micro_batch) +
                             R"(,"attention":")" + r.attention + R"(","parameter_dtype":"bf16","gradient_dtype":"bf16","master_weights_dtype":null,
                             "optimizer_state_dtype":"bf16","kernels":"eager","implementation":"huggingface"},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":1}})");
      const Result<PreparedCluster> cluster = prepare(p.cluster, constants().links);
      REQUIRE(cluster);
      const double off = estimate(p, cluster.value(), constants()).memory.after_forward.value / r.bytes - 1;
      INFO("off by " << 100 * off << " %");
      CHECK(std::fabs(off) < 0.005);
    }
  }
}
