#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

TEST_CASE("a sound model has no errors", "[describe]") {
  CHECK(validate(sound_model(), "model").empty());
  Model opaque;
  opaque.opaque = OpaqueModel{.parameters = 1000, .units = 10, .flops_per_sample = 1e9, .saved_bytes_per_sample = 1e6};
  CHECK(validate(opaque, "model").empty());
  Model experts = sound_model();
  experts.moe = MixtureOfExperts{.num_experts = 8, .experts_per_token = 2, .intermediate_size = 14336};
  experts.intermediate_size = 0;  // no dense layer is left
  CHECK(validate(experts, "model").empty());
}

TEST_CASE("each broken field of a model has an error of its own", "[describe]") {
  struct Row {
    const char* path;
    const char* limit;
    std::function<void(Model&)> spoil;
  };
  const Row rows[] = {
      {"model.hidden_size", "1 to 1000000", [](Model& m) { m.hidden_size = 0; }},
      {"model.hidden_size", "1 to 1000000", [](Model& m) { m.hidden_size = -4096; }},
      {"model.num_layers", "1 to 100000", [](Model& m) { m.num_layers = 1'000'000'000'000'000; }},
      {"model.num_attention_heads", "1 to 100000", [](Model& m) { m.num_attention_heads = 0; }},
      {"model.num_key_value_heads", "a divisor of num_attention_heads, 32",
       [](Model& m) { m.num_key_value_heads = 5; }},
      {"model.num_key_value_heads", "a divisor of num_attention_heads, 32",
       [](Model& m) { m.num_key_value_heads = 64; }},
      {"model.head_dim", "1 to", [](Model& m) { m.head_dim = 0; }},
      {"model.intermediate_size", "1 to", [](Model& m) { m.intermediate_size = 0; }},
      {"model.vocab_size", "1 to 100000000", [](Model& m) { m.vocab_size = 0; }},
      {"model.norms_per_layer", "0 to 8", [](Model& m) { m.norms_per_layer = 9; }},
      {"model.sliding_window_pattern", "null", [](Model& m) { m.sliding_window_global_every = 2; }},
      {"model", "1e14 parameters",
       [](Model& m) {
         m.hidden_size = m.intermediate_size = 1'000'000;
         m.num_layers = 100'000;
       }},
      {"model.moe.experts_per_token", "at most num_experts, 8",
       [](Model& m) { m.moe = MixtureOfExperts{.num_experts = 8, .experts_per_token = 9, .intermediate_size = 1}; }},
      {"model.moe.first_dense_layers", "below num_layers, 32",
       [](Model& m) {
         m.moe = MixtureOfExperts{
             .num_experts = 8, .experts_per_token = 2, .intermediate_size = 1, .first_dense_layers = 32};
       }},
      {"model.moe.every", "num_layers, 32",
       [](Model& m) {
         m.moe = MixtureOfExperts{.num_experts = 8, .experts_per_token = 2, .intermediate_size = 1, .every = 33};
       }},
      {"model.moe.shared_gate", "false",
       [](Model& m) {
         m.moe =
             MixtureOfExperts{.num_experts = 8, .experts_per_token = 2, .intermediate_size = 1, .shared_gate = true};
       }},
      {"model.mla.kv_lora_rank", "1 to",
       [](Model& m) { m.mla = LatentAttention{.qk_nope_head_dim = 1, .v_head_dim = 1}; }},
      {"model.parameters", "1 to 1", [](Model& m) { m.opaque = OpaqueModel{}; }},
      {"model.units", "at most the parameters", [](Model& m) { m.opaque = OpaqueModel{.parameters = 2, .units = 3}; }},
  };
  for (const Row& row : rows) {
    Model m = sound_model();
    row.spoil(m);
    const Errors errors = validate(m, "model");
    INFO(row.path << "\n" << text_of(errors));
    CHECK(errors.size() == 1);
    CHECK(has_error(errors, row.path, row.limit, "Nearest"));
  }
}

TEST_CASE("errors of a model come all at once", "[describe]") {
  Model m = sound_model();
  m.hidden_size = 0;
  m.vocab_size = -1;
  m.num_key_value_heads = 3;
  CHECK(validate(m, "model").size() == 3);
}
