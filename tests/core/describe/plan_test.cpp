#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

TEST_CASE("a sound plan has no errors", "[describe]") {
  const Errors errors = validate(sound_plan());
  INFO(text_of(errors));
  CHECK(errors.empty());
}

TEST_CASE("the product rule names the nearest layouts", "[describe]") {
  Plan p = sound_plan();
  p.cluster = sound_cluster(4);
  p.training.global_batch_size = 12;
  p.parallel.data = 3;
  p.parallel.tensor = 2;
  const Errors errors = validate(p);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].path == "parallel.data");
  CHECK(errors[0].value == "3");
  CHECK(errors[0].limit == "data × tensor × pipeline × context = 4 GPUs");
  CHECK(errors[0].text ==
        "data 3 × tensor 2 = 6, the cluster has 4 GPUs. Nearest: data 2 × tensor 2, or leave 1 GPU idle");
}

TEST_CASE("the product rule holds for layouts of any size", "[describe]") {
  Plan p = sound_plan();
  const auto text = [&](Count data, Count tensor, Count pipeline, Count context) {
    p.parallel.data = data;
    p.parallel.tensor = tensor;
    p.parallel.pipeline = pipeline;
    p.parallel.context = context;
    for (const Error& e : validate(p))
      if (e.path == "parallel.data") return e.text;
    return std::string();
  };
  CHECK(text(8, 1, 1, 1).empty());
  CHECK(text(1, 2, 2, 2).empty());
  CHECK(text(4, 1, 1, 1) == "data 4, the cluster has 8 GPUs. Nearest: data 8, or leave 4 GPUs idle");
  CHECK(text(1, 16, 1, 1) == "data 1 × tensor 16 = 16, the cluster has 8 GPUs. Nearest: data 1 × tensor 8");
  CHECK(text(1, 1, 16, 1) ==
        "data 1 × pipeline 16 = 16, the cluster has 8 GPUs. Nearest: data 8 with tensor, pipeline and context 1");
  // Far beyond the range of an integer: still one sentence.
  CHECK(text(100'000'000, 10'000, 10'000, 100'000).find("the cluster has 8 GPUs") != std::string::npos);
}

TEST_CASE("each broken rule between parts has an error of its own", "[describe]") {
  struct Row {
    const char* path;
    const char* limit;
    const char* text;
    std::function<void(Plan&)> spoil;
  };
  const auto experts = [](Plan& p) {
    p.model.moe = MixtureOfExperts{.num_experts = 8, .experts_per_token = 2, .intermediate_size = 14336};
  };
  const Row rows[] = {
      {"parallel.tensor", "a divisor of 32 attention heads", "tensor 3 does not divide 32 heads. Nearest: 2 or 4",
       [](Plan& p) {
         p.cluster = sound_cluster(6);
         p.parallel.tensor = 3;
         p.parallel.data = 2;
       }},
      {"training.global_batch_size", "a multiple of micro_batch_size × data, 24", "Nearest: 48 or 72",
       [](Plan& p) { p.training.micro_batch_size = 3; }},
      {"training.global_batch_size", "a multiple of micro_batch_size × data, 8", "Nearest: 8",
       [](Plan& p) { p.training.global_batch_size = 4; }},
      {"parallel.pipeline", "divides 32 or 34", "Nearest: 4 or 8",
       [](Plan& p) {
         p.cluster = sound_cluster(7);
         p.parallel.pipeline = 7;
         p.parallel.data = 1;
       }},
      {"parallel.pipeline", "divides 32 or 34", "virtual_stages 3",
       [](Plan& p) {
         p.parallel.pipeline = 8;
         p.parallel.data = 1;
         p.parallel.pipeline_schedule = PipelineSchedule::interleaved;
         p.parallel.virtual_stages = 3;
       }},
      {"training.global_batch_size", "multiples of pipeline, 4", "Nearest: global_batch_size 64 or 72",
       [](Plan& p) {
         p.parallel.pipeline = 4;
         p.parallel.data = 2;
         p.parallel.pipeline_schedule = PipelineSchedule::interleaved;
         p.parallel.virtual_stages = 2;
         p.training.global_batch_size = 66;
       }},
      {"parallel.expert", "1 for a model without experts", "Nearest: 1", [](Plan& p) { p.parallel.expert = 2; }},
      {"parallel.expert", "a divisor of 8 experts", "Nearest: 2 or 4",
       [&](Plan& p) {
         experts(p);
         p.cluster = sound_cluster(6);
         p.parallel.data = 6;
         p.training.global_batch_size = 60;
         p.parallel.expert = 3;
       }},
      {"parallel.expert", "divides data × context × tensor, 8", "Nearest: 4",
       [&](Plan& p) {
         experts(p);
         p.parallel.expert = 8;
         p.parallel.expert_tensor = 2;
       }},
      {"parallel.shard_group", "a divisor of data × context, 8", "Nearest: 2 or 4",
       [](Plan& p) {
         p.parallel.data_sharding = DataSharding::hsdp;
         p.parallel.shard_group = 3;
       }},
      {"parallel.context", "a divisor of sequence_length, 4095", "Nearest: 7 or 9",
       [](Plan& p) {
         p.parallel.context = 8;
         p.parallel.data = 1;
         p.training.sequence_length = 4095;
       }},
      {"parallel.placement", "one GPU for each rank, 8", "placement lists 2 ranks",
       [](Plan& p) { p.parallel.placement = {1, 0}; }},
      {"training.lora.targets", "up | down for mlp gelu", "has no gate",
       [](Plan& p) {
         p.model.mlp = Mlp::gelu;
         p.training.lora = Lora{.rank = 8, .targets = {LoraTarget::gate}};
       }},
      {"training.lora.rank", "at most hidden_size, 4096", "Nearest: 4096",
       [](Plan& p) { p.training.lora = Lora{.rank = 5000, .targets = {LoraTarget::q}}; }},
      {"training.recompute.every", "at most 32 layers", "Nearest: 32",
       [](Plan& p) { p.training.recompute = {RecomputeKind::every, 33}; }},
  };
  for (const Row& row : rows) {
    Plan p = sound_plan();
    row.spoil(p);
    const Errors errors = validate(p);
    INFO(row.path << "\n" << text_of(errors));
    CHECK(errors.size() == 1);
    CHECK(has_error(errors, row.path, row.limit, row.text));
  }
}

TEST_CASE("legal by the formats: replicated KV heads, layers + 2, opaque units", "[describe]") {
  Plan p = sound_plan();
  p.parallel.tensor = 8;  // as many as KV heads
  p.parallel.data = 1;
  CHECK(validate(p).empty());
  p.cluster = sound_cluster(16);
  p.parallel.tensor = 16;  // more than KV heads: replicated
  CHECK(validate(p).empty());

  p = sound_plan();
  p.model.num_layers = 126;  // 126 + 2 = 128 = 8 · 16
  p.parallel.pipeline = 8;
  p.parallel.data = 1;
  CHECK(validate(p).empty());

  p = sound_plan();
  p.model.opaque = OpaqueModel{.parameters = 1'000'000, .units = 12};
  p.parallel.pipeline = 4;
  p.parallel.data = 2;
  CHECK(validate(p).empty());
}

TEST_CASE("rules are silent about numbers that are out of range themselves", "[describe]") {
  Plan p = sound_plan();
  p.parallel.data = 0;
  p.training.micro_batch_size = 0;
  p.training.global_batch_size = 9'000'000'000'000'000'000;
  p.parallel.expert = -5;
  p.model.num_layers = -1;
  const Errors errors = validate(p);
  INFO(text_of(errors));
  CHECK(errors.size() == 5);
}
