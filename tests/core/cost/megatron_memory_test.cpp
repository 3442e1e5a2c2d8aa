// Layers of Megatron, litgpt and compiled blocks against closed forms, and whole peaks against published runs.
//
// tests/data/megatron_runs.jsonl: the first line says what stands there.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <fstream>
#include <string>

#include "core/cost/layer_tape.hpp"
#include "core/cost/memory.hpp"
#include "core/cost/step_memory.hpp"
#include "core/count/parameters.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using wireplan::testing::plan_of;

namespace {

// A model with h = a·d = k·d and f = 4h, as the published formulas assume.
Plan gpt(const std::string& training, const std::string& parallel, int micro = 4) {
  return plan_of(R"({"schema": "wireplan.plan/1", "model": {"hidden_size": 1024, "num_layers": 24, "num_attention_heads": 16,
    "num_key_value_heads": 16, "head_dim": 64, "intermediate_size": 4096, "mlp": "gelu", "vocab_size": 51200, "tie_word_embeddings": false,
    "norm": "layernorm", "qkv_bias": true, "mlp_bias": true, "position": "learned", "max_position_embeddings": 2048},
    "training": {"sequence_length": 2048, "global_batch_size": 256, "gradient_dtype": "fp32", "micro_batch_size": )" +
                 std::to_string(micro) + ", " + training + R"(}, "parallel": {"framework": "megatron", )" + parallel + R"(}, "cluster": {"nodes": 1, "node": "dgx-a100-80gb"}})");
}

// What a layer keeps without the statistics of its norms and of attention.
double kept(const Plan& plan, double statistics) { return layer_tape(plan, {}).kept_bytes() - statistics; }

constexpr double T = 4 * 2048, h = 1024, a = 16, scores = 4.0 * 16 * 2048 * 2048;
constexpr const char* kDropout = R"("hidden_dropout": 0.1, "attention_dropout": 0.1)";

}  // namespace

TEST_CASE("a layer of Megatron keeps 34·T·h + 5·b·a·s² bytes, each divided by t with sequence parallelism") {
  const std::string eager = std::string(R"("attention": "eager", )") + kDropout;
  const Plan one = gpt(eager, R"("data": 8)");
  CHECK(kept(one, 4 * 4 * T) == 34 * T * h + 5 * scores);
  const Plan eight = gpt(eager, R"("data": 1, "tensor": 8, "sequence_parallel": true)");
  CHECK(kept(eight, 4 * 4 * T / 8) == (34 * T * h + 5 * scores) / 8);
  // Without it the residual stream, norms and masks stay whole: (10 + 24/t)·T·h.
  const Plan whole = gpt(eager, R"("data": 1, "tensor": 8)");
  CHECK(kept(whole, 4 * 4 * T) == 10 * T * h + (24 * T * h + 5 * scores) / 8);
}

TEST_CASE("selective recompute drops the scores, full recompute all but the input") {
  const std::string eager = std::string(R"("attention": "eager", )") + kDropout;
  CHECK(kept(gpt(eager + R"(, "recompute": "selective")", R"("data": 8)"), 4 * 4 * T) == 34 * T * h);
  const Plan full = gpt(eager + R"(, "recompute": "full")", R"("data": 8)");
  CHECK(layer_tape(full, {}).forward_without_keeping().end.kept == 2 * T * h);
}

TEST_CASE("flash attention keeps q, k, v, its result and log-sum-exp; FlashAttention-2 a second result") {
  const double statistics = 4 * 4 * T + 4 * a * T;
  CHECK(kept(gpt(R"("attention": "flash")", R"("data": 8)", 1), statistics / 4) == 32 * T / 4 * h);
  CHECK(kept(gpt(R"("attention": "flash")", R"("data": 8)"), statistics) == 34 * T * h);
  CHECK(kept(gpt(R"("attention": "flash", "details": {"attention_kernel": "cudnn"})", R"("data": 8)"), statistics) == 32 * T * h);
}

TEST_CASE("Megatron's states: 18 bytes a parameter, with the distributed optimizer 6 + 12/N") {
  const double idle = 68 * 1048576.0;
  for (const char* sharding : {"ddp", "zero1"}) {
    const Plan plan = gpt(R"("attention": "flash")", std::string(R"("data": 8, "data_sharding": ")") + sharding + "\"");
    const double P = stage_parameters(plan.model, plan.parallel)[0].total(), N = std::string(sharding) == "ddp" ? 1 : 8;
    CHECK_THAT(step_memory(plan, 0).between_steps.total, Catch::Matchers::WithinAbs((6 + 12 / N) * P + idle, 4096));
  }
}

TEST_CASE("in flight: min(m, p - i) micro-batches, interleaved passes in runs of p") {
  const auto passes = [](const Plan& plan, int stage) { return layer_passes_in_flight(plan, stage, stage_layers(plan.model, plan.parallel, stage).total()); };
  const Plan plain = gpt(R"("attention": "flash")", R"("data": 2, "pipeline": 4)");
  for (int i = 0; i < 4; ++i) CHECK(passes(plain, i) == (4 - i) * 6.0);
  // v = 3 chunks of 2 layers: (v-1)·p + 1 passes on the last stage, 2(p-1) more on the first.
  const Plan dealt = gpt(R"("attention": "flash")", R"("data": 2, "pipeline": 4, "pipeline_schedule": "interleaved", "virtual_stages": 3)");
  CHECK(passes(dealt, 3) == 9 * 2.0);
  CHECK(passes(dealt, 0) == 15 * 2.0);
  // Two layers less: the first and the last piece hold one, the others two.
  Plan uneven = dealt;
  uneven.model.num_layers = 22;
  CHECK(passes(uneven, 1) == 13 * 2.0);
  CHECK(passes(uneven, 0) == 4 * 1 + 8 * 2 + 3 * 1);  // 15 passes: a round of all chunks, then chunk 0 again
  CHECK(passes(uneven, 3) == 8 * 2 + 1 + 1);          // and one more when chunk 0 follows while the short chunk leaves
}

TEST_CASE("compiled blocks keep inputs and results of matrix products; litgpt's adapter keeps views and copies") {
  const auto plan = [](const char* implementation, const char* kernels, const char* lora) {
    return plan_of(std::string(R"({"schema": "wireplan.plan/1", "model": "llama-2-7b", "training": {"sequence_length": 1024, "micro_batch_size": 1,
      "global_batch_size": 1, "gradient_dtype": "bf16", "master_weights_dtype": null, "optimizer_state_dtype": "bf16", "implementation": ")") +
                   implementation + R"(", "kernels": ")" + kernels + R"(", "lora": )" + lora +
                   R"(}, "parallel": {"framework": "pytorch"}, "cluster": {"nodes": 1, "node": "dgx-a100-80gb", "gpus_per_node": 1}})");
  };
  const double tokens = 1024, width = 4096, f = 11008, heads = 32;
  CHECK(kept(plan("torchtune", "compiled", "null"), 2 * 4 * tokens + 4 * heads * tokens) == 18 * tokens * width + 6 * tokens * f);
  const double litgpt = kept(plan("litgpt", "eager", R"({"rank": 8, "targets": ["q", "v"], "base_dtype": "bf16"})"), 0);
  CHECK_THAT(litgpt, Catch::Matchers::WithinRel(27 * tokens * width + 6 * tokens * f, 0.003));
}

TEST_CASE("published peaks") {
  std::ifstream file("tests/data/megatron_runs.jsonl");
  REQUIRE(file);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    const Result<Json> read = parse_json(line);
    REQUIRE(read);
    const Json& row = read.value();
    if (row.contains("note")) continue;
    const Plan plan = plan_of(dump_json(row.at("plan")));
    const int first = row.contains("stage") ? row.at("stage").get<int>() : 0;
    const int last = row.contains("stage") ? first : int(plan.parallel.pipeline) - 1;
    double allocated = 0;
    for (int stage = first; stage <= last; ++stage) allocated = std::max(allocated, step_memory(plan, stage).highest().holdings.total);
    INFO(row.at("id").get<std::string>());
    CHECK_THAT(allocated, Catch::Matchers::WithinRel(row.at("allocated_bytes").get<double>(), row.at("within").get<double>()));
    ++rows;
  }
  CHECK(rows == 44);
}
