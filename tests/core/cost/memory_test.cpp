#include "core/cost/memory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

constexpr double kMistral = 7'241'732'096;  // published safetensors total

StateBytes states_of(const Plan& plan) { return estimate(plan, constants()).memory.states; }

}  // namespace

TEST_CASE("the story: 12 bytes a parameter under DDP, a quarter of each under FSDP on four GPUs") {
  const StateBytes ddp = states_of(scenario("story"));
  CHECK(ddp.parameters.value == 14'483'464'192.0);
  CHECK(ddp.gradients.value == 14'483'464'192.0);
  CHECK(ddp.optimizer_states.value == 57'933'856'768.0);
  CHECK(ddp.master_weights.value == 0);
  const StateBytes fsdp = states_of(scenario("story", {{"parallel.data_sharding", "fsdp"}}));
  CHECK(fsdp.parameters.value == 3'620'866'048.0);
  CHECK(fsdp.gradients.value == 3'620'866'048.0);
  CHECK(fsdp.optimizer_states.value == 14'483'464'192.0);
  CHECK_FALSE(estimate(scenario("story"), constants()).memory.fits);
  CHECK(estimate(scenario("story", {{"parallel.data_sharding", "fsdp"}}), constants()).memory.fits);
}

TEST_CASE("bytes per parameter of the recipes people use") {
  struct Row { const char* name; const char* framework; const char* sharding; const char* gradient; const char* master; const char* state; double per_parameter; };
  // Sources: zero20 section 3 (16 B mixed precision; stages), megatron-lm distributed optimizer table (18 B with fp32 gradients, 6 + 12/N).
  const Row rows[] = {
      {"pure bf16 AdamW", "pytorch", "ddp", "bf16", "null", "bf16", 8},
      {"bf16 with fp32 moments", "pytorch", "ddp", "bf16", "null", "fp32", 12},
      {"PyTorch mixed precision", "pytorch", "ddp", "fp32", "fp32", "fp32", 16},
      {"Megatron bf16, DDP", "megatron", "ddp", "fp32", "fp32", "fp32", 18},
      {"Megatron bf16, distributed optimizer", "megatron", "zero1", "fp32", "fp32", "fp32", 6 + 12.0 / 4},
      {"ZeRO paper, stage 1", "deepspeed", "zero1", "bf16", "fp32", "fp32", 4 + 12.0 / 4},
      {"ZeRO paper, stage 2", "deepspeed", "zero2", "bf16", "fp32", "fp32", 2 + 14.0 / 4},
      {"ZeRO paper, stage 3", "deepspeed", "zero3", "bf16", "fp32", "fp32", 16.0 / 4},
      {"FSDP mixed precision", "pytorch", "fsdp", "fp32", "fp32", "fp32", 16.0 / 4},
      {"Megatron-FSDP, fp32 weights beside those it gathers", "megatron", "fsdp", "fp32", "fp32", "fp32", 18.0 / 4},
  };
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.name) {
      // By default DeepSpeed's stage 3 keeps small parameters gathered besides.
      const bool is_zero3 = std::string_view(row.sharding) == "zero3";
      const char* settings = is_zero3 ? R"({"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0}})" : "null";
      const StateBytes s = states_of(scenario("story", {{"parallel.framework", row.framework}, {"parallel.data_sharding", row.sharding}, {"training.gradient_dtype", row.gradient},
                                                        {"training.master_weights_dtype", row.master}, {"training.optimizer_state_dtype", row.state}, {"parallel.deepspeed", settings}}));
      // Megatron pads the vocabulary: 32,000 is already a multiple of 128, so the count is the model's own.
      CHECK(s.total().value == row.per_parameter * kMistral);
    }
  }
}

TEST_CASE("sharding over one rank is no sharding") {
  const char* one = R"({"model":"llama-3.2-1b","cluster":{"node":"dgx-a100-80gb","gpus_per_node":1},"training":{"master_weights_dtype":null},"parallel":{"data_sharding":")";
  const StateBytes ddp = states_of(plan_of(std::string(one) + "ddp\"}}"));
  for (const char* sharding : {"zero1", "zero2", "fsdp"}) CHECK(states_of(plan_of(std::string(one) + sharding + "\"}}")).total() == ddp.total());
}

TEST_CASE("every further ZeRO stage keeps less") {
  double before = 1e300;
  for (const char* stage : {"ddp", "zero1", "zero2", "zero3"}) {
    const double now = states_of(scenario("story", {{"parallel.framework", "deepspeed"}, {"parallel.data_sharding", stage}, {"training.master_weights_dtype", "fp32"}})).total().value;
    CHECK(now < before);
    before = now;
  }
}

TEST_CASE("parts add up to the allocated bytes exactly, at every stage") {
  for (std::string_view id : presets().ids("scenarios")) {
    DYNAMIC_SECTION(std::string(id)) {
      const Estimate e = estimate(scenario(id), constants());
      CHECK(e.memory.parts.total() == e.memory.allocated.value);
      CHECK(e.memory.allocated.low <= e.memory.allocated.value);
      CHECK(e.memory.allocated.value <= e.memory.allocated.high);
      CHECK(e.memory.need.value <= e.memory.device.value);
      for (const RankMemory& r : e.memory.ranks) CHECK(r.allocated <= e.memory.allocated.value);
    }
  }
}

TEST_CASE("more of anything that is kept needs more memory") {
  const auto allocated = [](std::initializer_list<std::pair<const char*, const char*>> edits) { return estimate(scenario("story", edits), constants()).memory.allocated.value; };
  CHECK(allocated({{"training.sequence_length", "8192"}}) > allocated({}));
  CHECK(allocated({{"training.micro_batch_size", "2"}}) > allocated({}));
  CHECK(allocated({{"training.recompute", "full"}}) < allocated({}));
  CHECK(allocated({{"training.recompute", "{\"every\": 2}"}}) < allocated({}));
  CHECK(allocated({{"training.attention", "eager"}}) > allocated({}));
  CHECK(allocated({{"training.loss", "chunked"}}) < allocated({}));
  CHECK(allocated({{"parallel.tensor", "2"}, {"parallel.data", "2"}}) < allocated({}));
  CHECK(allocated({{"parallel.context", "2"}, {"parallel.data", "2"}}) < allocated({}));
}

TEST_CASE("micro-batches in flight: 1F1B min(m, p - i), GPipe all") {
  Plan p = scenario("story", {{"parallel.framework", "megatron"}, {"parallel.pipeline", "4"}, {"parallel.data", "1"}});
  CHECK(layer_passes_in_flight(p, 0, 8) == 4 * 8);
  CHECK(layer_passes_in_flight(p, 3, 8) == 1 * 8);
  p.parallel.pipeline_schedule = PipelineSchedule::gpipe;
  CHECK(layer_passes_in_flight(p, 3, 8) == 64 * 8);
}

TEST_CASE("offloaded states leave the GPU and appear on the host") {
  const Estimate on = estimate(scenario("story", {{"training.offload.optimizer", "true"}}), constants());
  CHECK(on.memory.states.optimizer_states.value == 0);
  CHECK(on.memory.host.value == 4 * 57'933'856'768.0);
}
