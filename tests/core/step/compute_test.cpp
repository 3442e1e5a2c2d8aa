#include "core/step/compute.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

struct Stages { ComputeRates rates; std::vector<ComputeCost> costs; };

Stages stages_of(const Plan& p, const EfficiencyConstants& k) {
  Stages all{compute_rates(p, k), {}};
  const SequenceWork work = sequence_work(p);
  const std::vector<StageParameters> held = stage_parameters(p.model, p.parallel), trained = p.training.lora ? stage_adapters(p.model, *p.training.lora, p.parallel) : held;
  for (std::size_t i = 0; i < held.size(); ++i) all.costs.push_back(stage_compute(p, work, all.rates, static_cast<Count>(i), held[i], trained[i].total(), i + 1 == held.size(), k));
  return all;
}

bool is_close(double a, double b, double tolerance = 1e-12) { return std::fabs(a - b) <= tolerance * std::fabs(b); }

}  // namespace

TEST_CASE("on a GPU without waves, filling or memory limits the layers' products take the model's operations over the rate") {
  EfficiencyConstants k = constants().efficiency;
  k.product_fill = k.kernel_s = 0;
  struct Row { const char* model; const char* tensor; const char* expert; };
  for (const Row& row : {Row{"llama-3-8b", "1", "1"}, Row{"llama-3-8b", "8", "1"}, Row{"mixtral-8x7b", "1", "1"}, Row{"mixtral-8x7b", "2", "4"}, Row{"deepseek-v3", "8", "1"}, Row{"qwen3-30b-a3b", "4", "2"}}) {
    DYNAMIC_SECTION(row.model << ", tensor " << row.tensor << ", expert " << row.expert) {
      const std::string data = std::to_string(8 / std::stoi(row.tensor));
      Plan p = scenario("story", {{"model", (std::string("\"") + row.model + "\"").c_str()}, {"cluster.node", "hgx-h100-80gb"}, {"cluster.gpus_per_node", "8"}, {"parallel.framework", "megatron"}, {"parallel.tensor", row.tensor}, {"parallel.data", data.c_str()}, {"parallel.expert", row.expert}, {"parallel.sequence_parallel", row.tensor[0] == '1' ? "false" : "true"}, {"training.global_batch_size", "8"}});
      p.cluster.node.gpu.sm_count = 0;
      p.cluster.node.gpu.hbm = {};
      const ComputeRates rates = compute_rates(p, k);
      const Count moe = p.model.moe ? moe_layers_between(p.model, 0, p.model.num_layers) : 0, dense = p.model.num_layers - moe;
      const auto layers = [&](Seconds LayerTime::*of) { return (static_cast<double>(dense) * rates.dense.*of + static_cast<double>(moe) * rates.moe.*of).value; };
      const double whole = (forward_flops(p.model, p.training.sequence_length).linear / rates.matrix.rate).value * static_cast<double>(p.training.micro_batch_size) / static_cast<double>(p.parallel.tensor);
      CHECK(is_close(layers(&LayerTime::products), whole, 1e-9));
      CHECK(is_close(layers(&LayerTime::input_gradients), whole, 1e-9));
      CHECK(is_close(layers(&LayerTime::weight_gradients), whole, 1e-9));
    }
  }
}

TEST_CASE("units add up to their stage, stages to the model") {
  const auto with = [](const char* stages, const char* batch) {
    return stages_of(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", "1"}, {"parallel.pipeline", stages}, {"cluster.gpus_per_node", stages}, {"training.global_batch_size", batch}, {"training.recompute", "full"}}), constants().efficiency).costs;
  };
  const ComputeCost whole = with("1", "4").front();
  double forward = 0, backward = 0, weights = 0;
  for (const ComputeCost& c : with("4", "4")) {
    CHECK(is_close(c.forward.value, (c.layers * c.layer.forward + c.first_end.forward + c.last_end.forward).value));
    CHECK(is_close(c.backward.value, (c.layers * c.layer.backward + c.first_end.backward + c.last_end.backward).value));
    CHECK(is_close(c.launch.value, (c.layers * (c.layer.launch_forward + c.layer.launch_backward)).value));
    CHECK(c.weight_gradient < c.backward);
    forward += c.forward.value;
    backward += c.backward.value;
    weights += c.weight_gradient.value;
  }
  CHECK(is_close(forward, whole.forward.value, 1e-9));
  CHECK(is_close(backward, whole.backward.value, 1e-9));
  CHECK(is_close(weights, whole.weight_gradient.value, 1e-9));
  const std::vector<ComputeCost> ends = with("2", "4");
  CHECK(ends[0].first_end.backward.value > 0);
  CHECK(ends[0].last_end.forward.value == 0);
  CHECK(ends[1].first_end.forward.value == 0);
  CHECK(ends[1].last_end.forward.value > 0);
}

TEST_CASE("adapters alone have no weight gradients of the base") {
  const auto backward = [](const char* lora) { return stages_of(scenario("story", {{"training.lora", lora}}), constants().efficiency).costs.front(); };
  const ComputeCost full = backward("null"), adapters = backward(R"({"rank":8,"targets":["q","v"],"base_dtype":"bf16"})");
  CHECK(adapters.weight_gradient.value < 0.01 * full.weight_gradient.value);
  CHECK(adapters.backward < full.backward);
}

TEST_CASE("recomputation repeats what the backward needs: all of a layer, all but its last product, or half of the products") {
  const auto cost = [](const char* implementation, const char* kernels, const char* recompute) {
    const Plan p = scenario("story", {{"training.implementation", implementation}, {"training.kernels", kernels}, {"training.recompute", recompute}});
    return stages_of(p, constants().efficiency);
  };
  const auto again = [&](const char* implementation, const char* kernels, const char* recompute) {
    return (cost(implementation, kernels, recompute).costs.front().layer.backward - cost(implementation, kernels, "none").costs.front().layer.backward).value;
  };
  const Stages eager = cost("torchtitan", "eager", "none"), compiled = cost("torchtitan", "compiled", "none");
  const double forward = eager.costs.front().layer.forward.value, down = eager.rates.dense.last_product.value;
  CHECK(down > 0.2 * eager.rates.dense.products.value);  // 4096·14336 of 218e6 matrix elements
  CHECK(down < 0.3 * eager.rates.dense.products.value);
  CHECK(is_close(again("torchtitan", "eager", "full"), forward - down, 1e-9));
  CHECK(is_close(again("torchtitan", "compiled", "full"), compiled.costs.front().layer.forward.value, 1e-9));
  CHECK(is_close(again("torchtitan", "eager", "selective"), 0.5 * eager.rates.dense.products.value + eager.rates.dense.elementwise_forward.value, 1e-9));
  CHECK(is_close(again("huggingface@2024-05", "eager", "full"), cost("huggingface@2024-05", "eager", "none").costs.front().layer.forward.value, 1e-9));
}

TEST_CASE("sharded parameters: version 2 copies what it gathered, version 1 does not") {
  const EfficiencyConstants& k = constants().efficiency;
  const auto forward = [&](const char* version) { return stages_of(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.details.fsdp_version", version}}), k).costs.front().forward.value; };
  const double memory = presets().gpu("a100-80gb-sxm").value().hbm.value * k.memory, parameters = 7'241'732'096;
  CHECK(is_close((forward("2") - forward("1")) * memory, 4 * parameters, 1e-6));  // 2 bytes read, 2 written
}

TEST_CASE("fused attention reaches the published rates of its kernels") {
  // TFLOP/s, causal, sequence 16,384, head size 128. FlashAttention-2 on A100: [dao23-flash2] Fig. 5; on H100 it and cuDNN: [flash3-24] Fig. 5.
  struct Row { const char* node; const char* framework; double forward; };
  for (const Row& row : {Row{"dgx-a100-80gb", "pytorch", 200}, Row{"hgx-h100-80gb", "pytorch", 335}, Row{"hgx-h100-80gb", "megatron", 539}}) {
    DYNAMIC_SECTION(row.node << ", " << row.framework) {
      const Plan p = scenario("story", {{"model", R"("llama-2-7b")"}, {"cluster.node", row.node}, {"parallel.framework", row.framework}, {"parallel.data_sharding", "zero1"}, {"training.sequence_length", "16384"}});
      const double rate = (sequence_work(p).forward.attention / stages_of(p, constants().efficiency).costs.front().attention_s).value / 1e12;
      CHECK(std::fabs(rate / row.forward - 1) < 0.06);
    }
  }
}

TEST_CASE("older attention kernels take longer: version 1, and synchronous ones on asynchronous units") {
  const EfficiencyConstants& k = constants().efficiency;
  const auto attention = [&](const char* node, const char* kernel) {
    return stages_of(scenario("story", {{"cluster.node", node}, {"parallel.data_sharding", "fsdp"}, {"training.details.attention_kernel", kernel}}), k).costs.front().attention_s.value;
  };
  CHECK(is_close(attention("dgx-a100-80gb", "memory-efficient"), k.attention_first * attention("dgx-a100-80gb", "flash")));
  CHECK(attention("dgx-a100-80gb", "cudnn") == attention("dgx-a100-80gb", "flash"));
  CHECK(attention("hgx-h100-80gb", "cudnn") < attention("hgx-h100-80gb", "flash"));
  const char* llm_foundry[] = {"llm-foundry@2023", "llm-foundry@2024"};
  double seconds[2];
  for (int i = 0; i < 2; ++i) seconds[i] = stages_of(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.implementation", llm_foundry[i]}}), k).costs.front().attention_s.value;
  CHECK(is_close(seconds[0], k.attention_first * seconds[1]));
}

TEST_CASE("stored attention: heads whose size is not a multiple of 8 leave the matrix units") {
  const auto attention = [](const char* heads, const char* size) {
    return stages_of(scenario("story", {{"model", R"({"hidden_size":13824,"num_layers":12,"num_attention_heads":64,"intermediate_size":55296,"vocab_size":50304,"mlp":"gelu","tie_word_embeddings":true,"qkv_bias":true,"mlp_bias":true,"norm":"layernorm","position":"none"})"}, {"model.num_attention_heads", heads}, {"model.num_key_value_heads", heads}, {"model.head_dim", size}, {"training.attention", "eager"}}), constants().efficiency).costs.front().attention_s.value;
  };
  CHECK(attention("128", "108") > 3 * attention("128", "112"));
  CHECK(attention("128", "112") < 1.2 * attention("128", "104"));
}

TEST_CASE("adapters move what their kernels read and write; dropout of their input adds to it") {
  const auto forward = [](const char* implementation, const char* lora) {
    return stages_of(scenario("story", {{"training.implementation", implementation}, {"training.lora", lora}}), constants().efficiency).costs.front().forward.value;
  };
  const char* one = R"({"rank":8,"targets":["q"],"base_dtype":"bf16"})";
  const char* two = R"({"rank":8,"targets":["q","o"],"base_dtype":"bf16"})";
  // 4096 square, 4096 tokens, 32 layers. Beside the two thin products (2 bytes in, 2 out): dropout 5 bytes, scaling and sum 10.
  const double element = 4096.0 * 4096 * 32 / (presets().gpu("a100-80gb-sxm").value().hbm.value * constants().efficiency.memory);
  const double dropping = (forward("fsdp-qlora", two) - forward("fsdp-qlora", one)) / element, keeping = (forward("torchtune", two) - forward("torchtune", one)) / element;
  CHECK(is_close(dropping - keeping, 5, 1e-6));
  CHECK(keeping > 14);
  CHECK(keeping < 20);
}

TEST_CASE("exponentials of the softmax: twice as many a clock on Blackwell Ultra, fewer a pair where heads are large") {
  EfficiencyConstants k = constants().efficiency;
  const auto attention = [&](const char* node, const char* architecture) {
    Plan p = scenario("story", {{"cluster.node", node}, {"cluster.gpus_per_node", "4"}, {"parallel.data_sharding", "fsdp"}});
    p.cluster.node.gpu.architecture = architecture;
    return stages_of(p, k).costs.front().attention_s.value;
  };
  const double plain = attention("hgx-b300-288gb", "Blackwell"), doubled = attention("hgx-b300-288gb", "Blackwell Ultra");
  k.attention_exponential = 1e-9;
  const double products = attention("hgx-b300-288gb", "Blackwell");
  CHECK(is_close(plain - products, 2 * (doubled - products), 1e-6));
}
