#include "core/step/step.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "core/answer/alternatives.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

TEST_CASE("exclusive parts of the step add up to its time, on every scenario") {
  for (std::string_view id : presets().ids("scenarios")) {
    DYNAMIC_SECTION(std::string(id)) {
      const StepAnswer s = estimate(scenario(id), constants()).step;
      const double sum = (s.compute + s.exposed_communication + s.bubble + s.optimizer + s.host + s.offload + s.straggler).value;
      CHECK(std::fabs(sum - s.time.value.value) <= 1e-12 * sum);
      CHECK(s.time.low <= s.time.value);
      CHECK(s.time.value <= s.time.high);
      CHECK(s.on_ideal_wiring <= s.time.value);
      CHECK(s.mfu > 0);
      CHECK(s.mfu < 1);
      CHECK(s.hfu >= s.mfu);
      for (const MessageCost& m : estimate(scenario(id), constants()).cost.messages) {
        CHECK(m.exposed <= m.total);
        CHECK(m.exposed.value >= 0);
      }
    }
  }
}

TEST_CASE("one GPU sends nothing and waits for nothing") {
  const Estimate e = estimate(plan_of(R"({"model":"llama-3.2-1b","cluster":{"node":"dgx-a100-80gb","gpus_per_node":1}})"), constants());
  CHECK(e.communication.empty());
  CHECK(e.step.exposed_communication.value == 0);
  CHECK(e.step.on_ideal_wiring == e.step.time.value);
}

TEST_CASE("stragglers are an assumption that a plan may take back") {
  const auto step = [](const char* stated) { return estimate(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.details", stated}}), constants()).step; };
  const StepAnswer with = step("null"), said = step(R"({"stragglers":true})"), without = step(R"({"stragglers":false})");
  CHECK(with.straggler.value > 0);
  CHECK(said.time == with.time);
  CHECK(without.straggler.value == 0);
  CHECK(without.compute == with.compute);
  CHECK(std::fabs((without.time.value + with.straggler - with.time.value).value) <= 1e-12 * with.time.value.value);
}

TEST_CASE("slower wires make a slower step, the card being the same") {
  const auto time = [](const char* node) { return estimate(scenario("story", {{"cluster.node", node}, {"cluster.gpus_per_node", "4"}, {"parallel.data_sharding", "fsdp"}}), constants()).step.time.value.value; };
  const double pairs = time("a100-80gb-pcie-4x-pairs"), host = time("a100-80gb-pcie-4x-host"), none = time("a100-80gb-pcie-4x-no-p2p");
  CHECK(pairs <= host);
  CHECK(host <= none);  // NCCL does not use peer access past a host bridge by itself, so there is none to lose
}

TEST_CASE("accumulation multiplies what FSDP sends, not what DDP sends") {
  const auto sent = [](const char* sharding, const char* batch) {
    double bytes = 0;
    for (const CommunicationRow& row : estimate(scenario("story", {{"parallel.data_sharding", sharding}, {"training.global_batch_size", batch}}), constants()).communication)
      bytes += bus_factor(row.collective, row.ranks) * row.bytes.value * row.calls;
    return bytes;
  };
  CHECK(sent("ddp", "64") == sent("ddp", "4"));
  CHECK(sent("fsdp", "64") > 14 * sent("fsdp", "4"));
}

TEST_CASE("clock under load: the fewer watts per TFLOP/s, the lower the reached share; parts known from published runs") {
  // Long matrix-product rates of published runs, TFLOP/s in 16 bit: A100 265, H100 SXM 630, B200 1117 (published-runs).
  const EfficiencyConstants& k = constants().efficiency;
  struct Row { const char* gpu; double tflops; };
  for (const Row& row : {Row{"a100-80gb-sxm", 265}, Row{"h100-80gb-sxm", 630}, Row{"b200-180gb-sxm", 1117}}) {
    DYNAMIC_SECTION(row.gpu) {
      const Result<Gpu> gpu = presets().gpu(row.gpu);
      REQUIRE(gpu);
      const FlopsPerSecond peak = matrix_peak(gpu.value(), DType::bf16);
      const double reached = peak.value / 1e12 * matrix_efficiency(gpu.value(), DType::bf16, 0, k);
      CHECK(std::fabs(reached / row.tflops - 1) < 0.06);
    }
  }
}

TEST_CASE("clock under load: Volta reaches less, a power limit counts, and an H100 of 500 W has a time") {
  const EfficiencyConstants& k = constants().efficiency;
  const auto efficiency = [&](const char* gpu, double watts) { return matrix_efficiency(presets().gpu(gpu).value(), DType::fp16, watts, k); };
  CHECK(std::fabs(efficiency("v100-32gb-sxm", 0) * 125 / 92 - 1) < 0.03);  // TFLOP/s of published runs
  CHECK(std::fabs(efficiency("h100-96gb-hbm2e-sxm", 0) / efficiency("h100-80gb-sxm", 500) - 1) < 1e-9);
  CHECK(estimate(scenario("story", {{"cluster.node", "hgx-h100-96gb"}, {"cluster.gpus_per_node", "4"}}), constants()).step.mfu > 0.2);
}

TEST_CASE("what weights move beside the products: gradients added, 4-bit weights unpacked, casts kept over a step") {
  const EfficiencyConstants& k = constants().efficiency;
  const auto cost = [](std::initializer_list<std::pair<const char*, const char*>> edits) { return estimate(scenario("story", edits), constants()).cost; };
  const double memory = presets().gpu("a100-80gb-sxm").value().hbm.value * k.memory, parameters = 7'241'732'096;
  const auto backward = [&](const char* framework, const char* gradients) { return cost({{"parallel.framework", framework}, {"parallel.data_sharding", "ddp"}, {"training.gradient_dtype", gradients}}).backward.value; };
  // Read and written for each micro-batch, 2 bytes more each way; PyTorch leaves one of them to the product.
  CHECK(std::fabs((backward("megatron", "fp32") - backward("megatron", "bf16")) * memory / (4 * parameters) - 1) < 0.01);
  CHECK(std::fabs((backward("pytorch", "fp32") - backward("pytorch", "bf16")) * memory / (2 * parameters) - 1) < 0.01);

  const auto forward = [&](const char* base) { return cost({{"training.lora", base}}).forward.value; };
  const double unpacked = (forward(R"({"rank":8,"targets":["q","v"],"base_dtype":"nf4"})") - forward(R"({"rank":8,"targets":["q","v"],"base_dtype":"bf16"})")) * memory;
  CHECK(unpacked > 4.5 * k.unpacking * 6.9e9);  // all matrices, head included, of 7.24e9 with the embedding
  CHECK(unpacked < 4.5 * k.unpacking * parameters);
}

TEST_CASE("Megatron in 8 bits with 16-bit gradients is taken to overlap, as the vendor's recipes do") {
  const auto overlaps = [](const char* parameters, const char* gradients) {
    const Overlap o = scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data_sharding", "zero1"}, {"cluster.node", "hgx-h100-80gb"}, {"training.parameter_dtype", parameters}, {"training.gradient_dtype", gradients}}).parallel.overlap;
    return o.gradient_reduce && o.parameter_gather && o.pipeline;
  };
  CHECK(overlaps("fp8", "bf16"));
  CHECK_FALSE(overlaps("fp8", "fp32"));
  CHECK_FALSE(overlaps("bf16", "bf16"));
  // What the plan compares itself with is set up the same way.
  const Plan plan = scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data_sharding", "zero1"}, {"cluster.node", "hgx-h100-80gb"}, {"training.parameter_dtype", "fp8"}});
  for (const Alternative& a : sharding_alternatives(plan, constants())) CHECK(a.plan.parallel.overlap == plan.parallel.overlap);
}

TEST_CASE("pipeline: more micro-batches, smaller share of bubble; interleaving divides it") {
  const auto bubble = [](const char* batch, const char* schedule, const char* chunks) {
    const StepAnswer s = estimate(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", "1"}, {"parallel.pipeline", "4"}, {"training.global_batch_size", batch}, {"parallel.pipeline_schedule", schedule}, {"parallel.virtual_stages", chunks}}), constants()).step;
    return s.bubble / s.compute;
  };
  CHECK(bubble("64", "1f1b", "1") < bubble("8", "1f1b", "1"));
  CHECK(std::fabs(bubble("8", "interleaved", "2") - bubble("8", "1f1b", "1") / 2) < 1e-12);
  // (p - 1)/m for equal stages [megatron21]; the head makes the last stage slower, so less of the pace is lost.
  CHECK(bubble("64", "1f1b", "1") <= 3.0 / 64);
}

TEST_CASE("dualpipe holds two copies of every layer but runs each micro-batch through one") {
  const auto with = [](const char* schedule) {
    return estimate(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", "1"}, {"parallel.pipeline", "4"}, {"parallel.pipeline_schedule", schedule}}), constants());
  };
  const Estimate once = with("1f1b"), twice = with("dualpipe");
  // Both ends hold embedding and head there, so the slowest stage is as slow as 1F1B's last; layers are not run twice.
  CHECK(std::fabs(twice.step.compute / once.step.compute - 1) < 0.01);
  CHECK(twice.memory.states.total() > 1.8 * once.memory.states.total());
}

TEST_CASE("only the first gather and the last reduction of a synchronisation cannot hide") {
  // 4 GPUs on one switch and a long backward: everything else finds compute to run beside.
  const double slowdown = constants().efficiency.overlap_slowdown;
  for (const char* sharding : {"ddp", "fsdp"}) {
    DYNAMIC_SECTION(sharding) {
      const Estimate e = estimate(scenario("story", {{"parallel.data_sharding", sharding}}), constants());
      int bounds = 0;
      for (const MessageCost& m : e.cost.messages) {
        if (!m.message.overlappable) continue;  // the norm of the gradients, in the optimizer
        if (m.unavoidable.value > 0) ++bounds;
        // Beside compute it takes some of what compute runs on; besides, the layer nearest to the end has nothing after it.
        CHECK(m.exposed <= m.unavoidable + (slowdown + 1.0 / 32) * (m.total - m.unavoidable));
      }
      CHECK(bounds == (std::string_view(sharding) == "ddp" ? 1 : 2));  // all-reduce; gather forward, scatter: the backward's first gather comes while the head is busy
    }
  }
}

TEST_CASE("without overlap every byte shows") {
  const Estimate e = estimate(scenario("story", {{"parallel.overlap", R"({"gradient_reduce":false,"parameter_gather":false,"tensor":false,"pipeline":false})"}, {"parallel.data_sharding", "fsdp"}}), constants());
  for (const MessageCost& m : e.cost.messages) CHECK(m.exposed == m.total);
}

TEST_CASE("full recompute adds about one forward of the layers, a third of the model's work") {
  const auto compute = [](const char* recompute) { return estimate(scenario("story", {{"training.recompute", recompute}}), constants()).step.compute.value; };
  CHECK(compute("full") / compute("none") > 1.2);
  CHECK(compute("full") / compute("none") < 1.4);
  const StepAnswer full = estimate(scenario("story", {{"training.recompute", "full"}}), constants()).step;
  CHECK(full.hfu > 1.25 * full.mfu);
}

TEST_CASE("fp8 reaches about twice the 16-bit rate on the reference part") {
  const Gpu gpu = presets().gpu("h100-80gb-sxm").value();
  const double fp8 = matrix_peak(gpu, DType::fp8).value / 1e12 * matrix_efficiency(gpu, DType::fp8, 0, constants().efficiency);
  CHECK(std::fabs(fp8 / 1390 - 1) < 0.06);  // published-runs: 1,390 TFLOP/s
}

TEST_CASE("small layers wait for the host, large ones do not; CUDA graphs help the former") {
  const auto host_share = [](const char* model, const char* graphs) {
    const StepAnswer s = estimate(scenario("story", {{"model", model}, {"training.cuda_graphs", graphs}, {"training.sequence_length", "1024"}, {"parallel.data_sharding", "fsdp"}}), constants()).step;
    return s.host / s.time.value;
  };
  CHECK(host_share("gpt2", "false") > 0.3);
  CHECK(host_share("gpt2", "true") < host_share("gpt2", "false"));
  CHECK(host_share("llama-2-70b", "false") < 0.05);
}

TEST_CASE("MFU counts a sliding window's work as the kernel's, so it stays below one at any length") {
  for (const char* length : {"4096", "65536", "1048576"}) {
    const StepAnswer s = estimate(scenario("story", {{"training.sequence_length", length}}), constants()).step;
    CHECK(s.mfu > 0.2);
    CHECK(s.mfu < 1);
  }
}

TEST_CASE("offloaded parameters that are sharded are copied beside compute, the optimizer's gradients and weights are not") {
  const auto cost = [](const char* parameters, const char* optimizer, const char* sequence) {
    return estimate(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.offload.parameters", parameters}, {"training.offload.optimizer", optimizer}, {"training.sequence_length", sequence}}), constants()).cost;
  };
  const double rate = constants().efficiency.host_link_bytes_per_s;
  const StepCost none = cost("false", "false", "4096"), copied = cost("true", "false", "4096"), serial = cost("false", "true", "4096");
  CHECK(none.offload.value == 0);
  CHECK(copied.offload_bytes.value == 0);
  CHECK(copied.offload == copied.waits_for_copies);
  // 2 bytes of each parameter, a quarter of them on each of 4 GPUs, up for forward and for backward.
  const double all = 2 * 2 * 7241732096.0 / 4 / rate * static_cast<double>(micro_batches(scenario("story")));
  CHECK(copied.offload.value > 0);
  CHECK(copied.offload.value < 0.5 * all);
  CHECK(copied.exposed_communication == none.exposed_communication);
  CHECK(serial.waits_for_copies.value == 0);
  CHECK(std::fabs(serial.offload.value * rate / serial.offload_bytes.value - 1) < 1e-12);
  // With next to nothing to compute beside them copies show whole.
  const Seconds bare = cost("true", "false", "1").waits_for_copies;
  CHECK(bare.value > 0.7 * all);
  CHECK(bare.value <= all * (1 + 1e-9));
}

TEST_CASE("traffic beside compute waits for what the layers send over the same links, and for nothing else") {
  const auto sharing = [](std::initializer_list<std::pair<const char*, const char*>> edits) {
    const StepCost cost = estimate(scenario("story", edits), constants()).cost;
    double most = 0;
    for (const MessageCost& c : cost.messages) {
      CHECK(std::fabs((c.total / (c.message.calls * c.sharing * c.call.time.value)) - 1) < 1e-12);
      if (c.message.group == GroupKind::tensor) CHECK(c.sharing == 1);
      else if (c.message.overlappable) most = std::max(most, c.sharing);
    }
    return most;
  };
  // On a switch both kinds leave a GPU by the same NVLinks. Between the sockets of a machine without bridges only the data groups cross, on two nodes
  // they bind at the NICs, tensor groups stay inside.
  const double on_switch = sharing({{"parallel.data_sharding", "fsdp"}, {"parallel.tensor", "2"}, {"parallel.data", "2"}});
  CHECK(on_switch > 1.005);
  CHECK(on_switch < 1.5);
  CHECK(sharing({{"parallel.data_sharding", "fsdp"}}) == 1);
  CHECK(sharing({{"parallel.data_sharding", "fsdp"}, {"parallel.tensor", "2"}, {"parallel.data", "2"}, {"cluster.node", "a100-80gb-pcie-4x-host"}, {"cluster.gpus_per_node", "4"}}) == 1);
  CHECK(sharing({{"parallel.data_sharding", "fsdp"}, {"parallel.tensor", "8"}, {"parallel.data", "2"}, {"cluster.nodes", "2"}, {"cluster.gpus_per_node", "8"}, {"cluster.network", "infiniband-1x100"}}) == 1);
}

TEST_CASE("overlap never makes a step slower than none, in a pipeline of one micro-batch either") {
  for (const char* sharding : {"ddp", "zero2", "fsdp"})
    for (const char* batch : {"2", "8"}) {
      DYNAMIC_SECTION(sharding << " " << batch) {
        const auto time = [&](const char* overlap) {
          return estimate(plan_of(std::string(R"({"model":"llama-3-8b","training":{"global_batch_size":)") + batch + R"(},"parallel":{"data_sharding":")" + sharding + R"(","data":2,"pipeline":4,"overlap":{"gradient_reduce":)" + overlap + R"(,"parameter_gather":)" + overlap + R"(}},"cluster":{"nodes":8,"node":"dgx-a100-80gb","gpus_per_node":1,"network":"ethernet-1x10"}})"), constants()).step.time.value.value;
        };
        CHECK(time("true") <= time("false") * 1.001);
      }
    }
}

TEST_CASE("gradients of a stage that holds the embedding alone show, too") {
  const Plan plan = plan_of(R"({"model":{"hidden_size":8192,"num_layers":6,"num_attention_heads":16,"num_key_value_heads":16,"head_dim":16,"intermediate_size":128,"mlp":"swiglu","vocab_size":50257,"tie_word_embeddings":false,"norm":"rmsnorm","qkv_bias":false,"mlp_bias":false,"position":"rope"},
    "training":{"global_batch_size":16,"sequence_length":1},"parallel":{"data":16,"pipeline":8},"cluster":{"nodes":16,"node":"hgx-h100-80gb","network":"ethernet-1x1"}})");
  const StepAnswer s = estimate(plan, constants()).step;
  double sent = 0;
  for (const MessageCost& c : estimate(plan, constants()).cost.messages)
    if (c.message.group == GroupKind::data) sent += c.total.value;
  CHECK(sent > 1);
  CHECK(s.time.value.value > sent);
}

TEST_CASE("a schedule is no shorter than its link takes to send all hops of one direction") {
  const Estimate e = estimate(plan_of(R"({"model":"gpt2","training":{"global_batch_size":64},"parallel":{"pipeline":4,"overlap":{"pipeline":true},"pipeline_schedule":"gpipe"},"cluster":{"nodes":4,"node":"hgx-h100-80gb","gpus_per_node":1,"network":"ethernet-1x1"}})"), constants());
  for (const CommunicationRow& row : e.communication)
    if (row.dimension == GroupKind::pipeline) CHECK(e.step.time.value >= row.time.value);
}
