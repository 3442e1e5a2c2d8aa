#include "core/answer/utilization.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "core/answer/explain.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

Utilization by(FlopConvention convention, const Plan& plan, const Estimate& e) { return utilization(plan, e).at(static_cast<std::size_t>(convention)); }
double flops_of_token(FlopConvention convention, const Plan& plan) { return by(convention, plan, estimate(plan, constants())).flops_per_token; }
bool near(double a, double b, double share) { return std::fabs(a - b) <= share * std::fabs(b); }

}  // namespace

TEST_CASE("the first convention is that of step.mfu, to the last bit, and all follow from their FLOPs") {
  Random random(11);
  int seen = 0;
  for (int i = 0; i < 200; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(random));
    if (!plan) continue;
    const Estimate e = estimate(*plan, constants());
    const std::vector<Utilization> all = utilization(*plan, e);
    REQUIRE(all.size() == (plan->model.opaque ? 1 : 7));
    CHECK(all[0].flops_per_token == e.flops_per_token);
    CHECK(all[0].tflops_per_gpu == e.step.model_tflops_per_gpu);
    CHECK(all[0].mfu == e.step.mfu);
    for (const Utilization& u : all) {
      CHECK(u.flops_per_token > 0);
      CHECK(near(u.tflops_per_gpu, u.flops_per_token * e.step.tokens_per_s_per_gpu / 1e12, 1e-12));
      CHECK(std::isfinite(u.mfu));
    }
    ++seen;
    if (plan->model.opaque) continue;
    const auto flops = [&](FlopConvention c) { return all[static_cast<std::size_t>(c)].flops_per_token; };
    CHECK(flops(FlopConvention::palm_causal) <= flops(FlopConvention::palm));
    CHECK(flops(FlopConvention::megatron_lm) < flops(FlopConvention::megatron_paper));
    CHECK(flops(FlopConvention::megatron_hardware) >= flops(FlopConvention::megatron_paper));
    CHECK((flops(FlopConvention::megatron_hardware) == flops(FlopConvention::megatron_paper)) == (plan->training.recompute.kind == RecomputeKind::none));
    CHECK(flops(FlopConvention::six_n) == 6 * e.active_parameters);
  }
  CHECK(seen > 100);
}

TEST_CASE("a GPT: the closed forms of the papers") {
  // Korthikanti et al. 2022, model FLOPs: 72·s·L·h²·(1 + s/6h + V/12hL); Narayanan et al. 2021, eq. 3, every layer recomputed:
  // 96·s·l·h²·(1 + s/6h + V/16lh). Both of one sequence.
  const double h = 12288, L = 96, s = 2048, V = 51200;
  const char* const recompute[] = {"none", "full"};
  for (const char* how : recompute) {
    const Plan plan = plan_of(std::string(R"({"model":"megatron-gpt-175b","training":{"sequence_length":2048,"global_batch_size":64,"recompute":")") + how +
                              R"("},"parallel":{"framework":"megatron","tensor":8,"pipeline":8},"cluster":{"node":"dgx-a100-80gb","nodes":8,"network":"infiniband-8x200"}})");
    CHECK(near(flops_of_token(FlopConvention::megatron_paper, plan), 72 * L * h * h * (1 + s / (6 * h) + V / (12 * h * L)), 1e-12));
    const double hardware = flops_of_token(FlopConvention::megatron_hardware, plan);
    if (how == recompute[1]) CHECK(near(hardware, 96 * L * h * h * (1 + s / (6 * h) + V / (16 * L * h)), 1e-12));
    else CHECK(hardware == flops_of_token(FlopConvention::megatron_paper, plan));
    // Half of the attention term is all that the program counts less.
    CHECK(near(flops_of_token(FlopConvention::megatron_lm, plan), 72 * L * h * h * (1 + s / (12 * h) + V / (12 * h * L)), 1e-12));
  }
}

TEST_CASE("Narayanan et al. 2021, section 5.1: a trillion parameters on 450 billion tokens, 3072 GPUs at 163 TFLOP/s, take 84 days") {
  const Plan plan = plan_of(R"({"model":"megatron-gpt-1008b","training":{"sequence_length":2048,"global_batch_size":3072,"recompute":"full"},
    "parallel":{"framework":"megatron","tensor":8,"pipeline":64},"cluster":{"node":"dgx-a100-80gb","nodes":384,"network":"infiniband-8x200"}})");
  const double days = flops_of_token(FlopConvention::megatron_hardware, plan) * 450e9 / (3072 * 163e12) / 86400;
  CHECK(near(days, 84, 0.03));
}

TEST_CASE("torchtitan's own report: Llama 3.1 8B on H100, 5,762 and 6,667 tokens/s a GPU are 33 % and 39 %") {
  // benchmarks/llama3_h100_202412_torchtitan.md, Table 1; MFU of the same runs in the text above it, against 989 TFLOP/s.
  const Plan plan = plan_of(R"({"model":"llama-3.1-8b","training":{"sequence_length":8192,"micro_batch_size":2,"global_batch_size":16},"parallel":{"data_sharding":"fsdp"},"cluster":"hgx-h100-80gb"})");
  const double flops = flops_of_token(FlopConvention::torchtitan, plan);
  CHECK(std::floor(100 * flops * 5762 / 989e12) == 33);
  CHECK(std::floor(100 * flops * 6667 / 989e12) == 39);
}

TEST_CASE("tied tables count once, windows shorten what torchtitan counts, experts count as far as a token meets them") {
  const Plan tied = plan_of(R"({"model":"llama-3.2-1b","training":{"sequence_length":2048},"cluster":"dgx-a100-80gb"})");
  CHECK(near(flops_of_token(FlopConvention::torchtitan, tied), 6 * 1235814400.0 + 12.0 * 16 * 2048 * 2048, 1e-12));  // all parameters of the preset
  const char* const mistral = R"({"model":"mistral-7b-v0.1","training":{"sequence_length":%},"cluster":"dgx-a100-80gb"})";
  const auto at = [&](const char* s) { std::string text = mistral; return flops_of_token(FlopConvention::torchtitan, plan_of(text.replace(text.find('%'), 1, s))); };
  CHECK(at("8192") == at("4096"));  // a window of 4,096 tokens
  CHECK(at("4096") > at("2048"));
  const Plan routed = plan_of(R"({"model":"mixtral-8x7b","training":{"sequence_length":4096},"cluster":"dgx-a100-80gb"})");
  // 32 layers · 4096 × 8 elements of routers, 3 · 2 FLOPs each; the vocabulary of 32,000 is padded to none.
  CHECK(flops_of_token(FlopConvention::palm, routed) - flops_of_token(FlopConvention::megatron_paper, routed) == 6.0 * 32 * 4096 * 8);
  const Plan experts = plan_of(R"({"model":"mixtral-8x7b","training":{"sequence_length":4096},"cluster":"dgx-a100-80gb"})");
  CHECK(flops_of_token(FlopConvention::six_n, experts) < 6 * 13e9);
  CHECK(flops_of_token(FlopConvention::six_n, experts) > 6 * 12e9);
}

TEST_CASE("a convention is explained by its name as by its place") {
  const Plan plan = scenario("story");
  const Estimate e = estimate(plan, constants());
  const Result<Explanation> named = explain(plan, constants(), e, "step.conventions.torchtitan.mfu");
  REQUIRE(named);
  CHECK(named.value().key == "step.conventions.5.mfu");
  CHECK(named.value().result == by(FlopConvention::torchtitan, plan, e).mfu);
}
