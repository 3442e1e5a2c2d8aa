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

TEST_CASE("bytes kept by Hugging Face layers, as traced on the real modelling code") {
  // Per layer closed forms confirmed to the byte by traces of transformers 5.24 on fake tensors (rows hf-... of the framework traces):
  // Llama type T·(16h + 4ad + 4kd + 8f) + 4aT + 8T. The rows below are (after-forward bytes - ends) / layers of three such traces.
  struct Row { const char* model; double sequence, h, a, k, d, f; };
  const Row rows[] = {{"mistral-7b-v0.1", 4096, 4096, 32, 8, 128, 14336}, {"llama-2-7b", 2048, 4096, 32, 32, 128, 11008}, {"llama-3.2-1b", 4096, 2048, 32, 8, 64, 8192}};
  for (const Row& r : rows) {
    DYNAMIC_SECTION(r.model) {
      const Plan p = plan_of(std::string(R"({"model":")") + r.model + R"(","training":{"sequence_length":)" + std::to_string(static_cast<int>(r.sequence)) +
                             R"(,"master_weights_dtype":null},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":1}})");
      CHECK(kept_per_layer(p, false).value == r.sequence * (16 * r.h + 4 * r.a * r.d + 4 * r.k * r.d + 8 * r.f + 4 * r.a + 8));
    }
  }
}
