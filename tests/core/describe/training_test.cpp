#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

TEST_CASE("the default recipe has no errors", "[describe]") { CHECK(validate(Training{}, "training").empty()); }

TEST_CASE("each broken field of a recipe has an error of its own", "[describe]") {
  struct Row {
    const char* path;
    const char* limit;
    std::function<void(Training&)> spoil;
  };
  const Row rows[] = {
      {"training.sequence_length", "1 to 100000000", [](Training& t) { t.sequence_length = 0; }},
      {"training.sequence_length_mean", "1 to 4096", [](Training& t) { t.sequence_length_mean = 5000; }},
      {"training.sequence_length_mean", "1 to 4096", [](Training& t) { t.sequence_length_mean = std::nan(""); }},
      {"training.micro_batch_size", "1 to 1000000", [](Training& t) { t.micro_batch_size = -1; }},
      {"training.micro_batch_size", "1e9 tokens", [](Training& t) { t.micro_batch_size = 1'000'000; }},
      {"training.global_batch_size", "1 to 1000000000", [](Training& t) { t.global_batch_size = 0; }},
      {"training.parameter_dtype", "fp32 | bf16 | fp16 | fp8 | mxfp8 | nvfp4",
       [](Training& t) { t.parameter_dtype = DType::nf4; }},
      {"training.gradient_dtype", "fp32 | bf16 | fp16", [](Training& t) { t.gradient_dtype = DType::fp8; }},
      {"training.master_weights_dtype", "null | fp32", [](Training& t) { t.master_weights_dtype = DType::bf16; }},
      {"training.optimizer_state_dtype", "fp32 | bf16 | fp16 | int8",
       [](Training& t) { t.optimizer_state_dtype = DType::nf4; }},
      {"training.recompute.every", "1 to", [](Training& t) { t.recompute = {RecomputeKind::every, 0}; }},
      {"training.recompute.full_layers", "1 to", [](Training& t) { t.recompute = {RecomputeKind::full_layers, -3}; }},
      {"training.hidden_dropout", "0 to 1", [](Training& t) { t.hidden_dropout = 1.5; }},
      {"training.attention_dropout", "0 to 1", [](Training& t) { t.attention_dropout = std::nan(""); }},
      {"training.lora.rank", "1 to", [](Training& t) { t.lora = Lora{.rank = 0, .targets = {LoraTarget::q}}; }},
      {"training.lora.targets", "at least one", [](Training& t) { t.lora = Lora{.rank = 8, .targets = {}}; }},
      {"training.lora.targets", "each target once",
       [](Training& t) { t.lora = Lora{.rank = 8, .targets = {LoraTarget::q, LoraTarget::q}}; }},
      {"training.lora.base_dtype", "bf16 | fp8 | mxfp8 | int8 | nf4",
       [](Training& t) { t.lora = Lora{.rank = 8, .targets = {LoraTarget::q}, .base_dtype = DType::fp32}; }},
      {"training.details.fsdp_version", "1 to 2", [](Training& t) { t.details.emplace().fsdp_version = 3; }},
      {"training.details.lora_dropout", "0 to 1", [](Training& t) { t.details.emplace().lora_dropout = -0.1; }},
      {"training.details.reduce_dtype", "fp32 | bf16 | fp16",
       [](Training& t) { t.details.emplace().reduce_dtype = DType::fp8; }},
      {"training.details.adapter_dtype", "fp32 | bf16",
       [](Training& t) { t.details.emplace().adapter_dtype = DType::fp16; }},
  };
  for (const Row& row : rows) {
    Training t;
    row.spoil(t);
    const Errors errors = validate(t, "training");
    INFO(row.path << "\n" << text_of(errors));
    CHECK(errors.size() == 1);
    CHECK(has_error(errors, row.path, row.limit, "Nearest"));
  }
}
