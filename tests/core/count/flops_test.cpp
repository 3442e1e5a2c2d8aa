#include "core/count/flops.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/count/parameters.hpp"
#include "tests/core/count/shapes.hpp"

using namespace wireplan;

TEST_CASE("flops: llama 3.1 8b at 8192 by hand", "[count]") {
  const ForwardFlops f = forward_flops(shapes::llama_31_8b(), 8192);
  CHECK(f.linear.value == 2.0 * 8192 * 32 * 218103808);            // matrices of a layer
  CHECK(f.attention_full.value == 32.0 * 4 * 4096 * 8192 * 8192);  // 4·a·d·s²
  CHECK(f.attention.value == f.attention_full.value / 2);
  CHECK(f.head.value == 2.0 * 4096 * 128256 * 8192);
  CHECK(training_flops(shapes::llama_31_8b(), 8192).causal.value == 3 * f.total().value);
}

TEST_CASE("flops: six times the matrix parameters a token, and the PaLM attention term", "[count]") {
  const Model m = shapes::mistral_7b();
  const double s = 4096, matrices = count_parameters(m).total - 131072000 - 4096 -
                                    32 * 8192;  // embedding and norms do not multiply
  const TrainingFlops f = training_flops(m, 4096);
  CHECK(f.full_square.value == 6 * matrices * s + 12.0 * 32 * 4096 * s * s);  // [palm22] App. B
  CHECK(f.full_square.value - f.causal.value == 6.0 * 32 * 4096 * s * s);
}

TEST_CASE("flops: a window counts the pairs it leaves, and changes nothing when it is not reached", "[count]") {
  Model m = shapes::llama(64, 4, 4, 4, 128, 100);
  const Flops causal = forward_flops(m, 1000).attention;
  m.sliding_window = 1000;
  CHECK(forward_flops(m, 1000).attention == causal);
  m.sliding_window = 100;
  const Flops windowed = forward_flops(m, 1000).attention;
  CHECK(windowed.value == 4.0 * 4 * 64 * (100.0 * 1000 - 100.0 * 100 / 2));
  m.sliding_window_global_every = 2;  // layers 1 and 3 see everything
  CHECK(forward_flops(m, 1000).attention == (windowed + causal) / 2);
}

TEST_CASE("flops: experts that are not chosen cost nothing", "[count]") {
  Model moe = shapes::mixtral_8x7b();
  const Flops two = forward_flops(moe, 4096).linear;
  moe.moe->num_experts = 16;
  CHECK(forward_flops(moe, 4096).linear.value - two.value == 2.0 * 4096 * 32 * 8 * 4096);  // 8 more rows of the router
  moe.moe->num_experts = moe.moe->experts_per_token = 1;
  CHECK((forward_flops(moe, 4096).linear - forward_flops(shapes::mistral_7b(), 4096).linear).value ==
        2.0 * 4096 * 32 * 4096);
}

TEST_CASE("flops: latent attention", "[count]") {
  Model m = shapes::deepseek_v3();
  m.num_layers = 1;
  const ForwardFlops f = forward_flops(m, 4096);
  CHECK(f.attention_full.value == 2.0 * 128 * (192 + 128) * 4096 * 4096);
  // a dense layer: attention matrices without the two latent norms, and 3·h·f
  CHECK(f.linear.value == 2.0 * 4096 * (187107328 - 1536 - 512 + 3.0 * 7168 * 18432));
}

TEST_CASE("flops: layers add up to the model", "[count]") {
  const auto of_layers = [](Model m, Count layers) {
    m.num_layers = layers;
    const ForwardFlops f = forward_flops(m, 2048);
    return f.total() - f.head;
  };
  for (const Model& m : {shapes::gpt2(), shapes::mixtral_8x7b()}) CHECK(of_layers(m, 12) == 12 * of_layers(m, 1));
  const Model m = shapes::deepseek_v3();
  CHECK(of_layers(m, 61) == 3 * of_layers(m, 1) + 58 * (of_layers(m, 4) - of_layers(m, 3)));
}

TEST_CASE("flops: recomputation", "[count]") {
  const Model m = shapes::mistral_7b();
  const ForwardFlops f = forward_flops(m, 4096);
  Training t;
  Parallel once;
  once.framework = Framework::megatron;
  CHECK(recompute_flops(m, t, once) == Flops(0));
  t.recompute = {RecomputeKind::selective, 0};
  CHECK(recompute_flops(m, t, once) == f.attention);
  CHECK(recompute_flops(m, t, Parallel{}) == 0.55 * (f.linear + f.attention));  // PyTorch's per-operator policy
  t.recompute = {RecomputeKind::full, 0};
  CHECK(recompute_flops(m, t, once) == f.linear + f.attention);
  t.recompute = {RecomputeKind::every, 1};
  CHECK(recompute_flops(m, t, once) == f.linear + f.attention);
  t.recompute = {RecomputeKind::every, 3};  // layers 0, 3, ... 30: 11 of 32
  CHECK(recompute_flops(m, t, once) == (f.linear + f.attention) * (11.0 / 32));
  t.recompute = {RecomputeKind::full_layers, 8};
  CHECK(recompute_flops(m, t, once) == (f.linear + f.attention) / 4);
  t.recompute = {RecomputeKind::full_layers, 1000};
  CHECK(recompute_flops(m, t, once) == f.linear + f.attention);
}

TEST_CASE("flops: recomputed layers are counted in each piece of a pipeline", "[count]") {
  const Model m = shapes::mistral_7b();
  const ForwardFlops f = forward_flops(m, 4096);
  const Flops layer = (f.linear + f.attention) / 32;
  Training t;
  Parallel p;
  p.framework = Framework::megatron;
  p.pipeline = 4;  // 8 layers a stage
  t.recompute = {RecomputeKind::full_layers, 3};
  CHECK(recompute_flops(m, t, p) == 12 * layer);
  t.recompute = {RecomputeKind::every, 3};  // 0, 3 and 6 of the 8
  CHECK(recompute_flops(m, t, p) == 12 * layer);
  p.pipeline_schedule = PipelineSchedule::interleaved;
  p.virtual_stages = 2;  // two pieces of 4
  t.recompute = {RecomputeKind::full_layers, 3};
  CHECK(recompute_flops(m, t, p) == 24 * layer);
  t.recompute = {RecomputeKind::full_layers, 32};
  CHECK(recompute_flops(m, t, p) == 32 * layer);
  p.pipeline_schedule = PipelineSchedule::dualpipe;  // two copies of the model, of which a sequence meets one
  t.recompute = {RecomputeKind::full_layers, 3};
  CHECK(recompute_flops(m, t, p) == 12 * layer);
}

TEST_CASE("flops: adapters spare the weight gradients of the base", "[count]") {
  const Model m = shapes::llama_31_8b();
  Training t;
  t.sequence_length = 2048;
  CHECK(training_flops(m, t).causal == training_flops(m, 2048).causal);
  Lora lora;
  lora.rank = 16;
  lora.targets = {LoraTarget::q, LoraTarget::v};
  t.lora = lora;
  const ForwardFlops f = forward_flops(m, 2048);
  CHECK(training_flops(m, t).causal.value ==
        2 * (f.linear + f.head).value + 3 * f.attention.value + 6.0 * 2048 * 6815744);
}

TEST_CASE("flops: an opaque model has a third of its stated operations in forward", "[count]") {
  Model m;
  m.opaque = OpaqueModel{1000, 10, 6e9, 1e6};
  CHECK(forward_flops(m, 1).total() == Flops(2e9));
  CHECK(training_flops(m, 1).causal == Flops(6e9));
}
