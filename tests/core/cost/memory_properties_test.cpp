// Laws of the memory model over a few hundred pseudo-random plans. Where reality breaks a law, the exception stands at the law.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "core/answer/explain.hpp"
#include "core/answer/timeline.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/cost/parameter_store.hpp"
#include "tests/support/formula.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

constexpr int kPlans = 240;
constexpr double kRounding = 64;  // terms are rounded up to whole bytes one by one

std::vector<StageMemory> memory_of(const Plan& plan) {
  const std::vector<StageParameters> stages = stage_parameters(plan.model, plan.parallel);
  return stage_memory(plan, stages, plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : stages);
}

double peak_of(const Plan& plan) {
  double peak = 0;
  for (const StageMemory& m : memory_of(plan)) peak = std::max(peak, m.parts.total().value);
  return peak;
}

struct Case {
  Json document;
  Plan plan;
  std::vector<StageMemory> memory;
  double peak = 0;
  std::string text() const { return dump_json_compact(document); }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    Random random(20260701);
    while (list.size() < kPlans) {
      Json document = random_document(random);
      std::optional<Plan> plan = read_if_valid(document);
      if (!plan) continue;
      std::vector<StageMemory> memory = memory_of(*plan);
      const double peak = peak_of(*plan);
      list.push_back({std::move(document), std::move(*plan), std::move(memory), peak});
    }
    return list;
  }();
  return all;
}

bool is_deepspeed(const Plan& p) { return p.parallel.framework == Framework::deepspeed; }
bool is_small(const Plan& p) { return p.model.id.empty(); }

// The plan on as many data ranks as `data` says, everything else the same.
std::optional<Plan> on_ranks(const Case& c, Count data) {
  const Plan& p = c.plan;
  Json d = c.document;
  const Count others = p.parallel.tensor * p.parallel.pipeline * p.parallel.context, gpus = data * others;
  d["cluster"]["gpus_per_node"] = std::min<Count>(gpus, 8);
  d["cluster"]["nodes"] = std::max<Count>(1, gpus / 8);
  if (gpus > 8) d["cluster"]["network"] = "infiniband-8x400";
  d["training"]["global_batch_size"] = p.training.global_batch_size / p.parallel.data * data;
  return read_if_valid(d);
}

}  // namespace

TEST_CASE("every term of every moment is a number of bytes, and the parts add up") {
  for (const Case& c : cases()) {
    INFO(c.text());
    for (const StageMemory& m : c.memory) {
      double sum = 0;
      for (std::size_t t = 0; t < kTerms; ++t) {
        CHECK((std::isfinite(m.peak.bytes[t]) && m.peak.bytes[t] >= 0));
        CHECK((std::isfinite(m.idle.bytes[t]) && m.idle.bytes[t] >= 0));
        sum += m.peak.bytes[t];
      }
      CHECK(sum == m.parts.total().value);
      for (const Bytes b : {m.states.parameters, m.states.gradients, m.states.master_weights, m.states.optimizer_states, m.load, m.initialize, m.first_step, m.save,
                            m.between_steps, m.after_backward, m.layers_keep})
        CHECK((std::isfinite(b.value) && b.value >= 0));
      CHECK(std::isfinite(m.after_forward.value));  // negative where stale gradients are freed in between
    }
    const MemoryAnswer a = estimate(c.plan, constants()).memory;
    CHECK(a.parts.total() == a.allocated.value);
    CHECK((a.allocated.low <= a.allocated.value && a.allocated.value <= a.allocated.high));
    CHECK((a.need.low <= a.need.value && a.need.value <= a.need.high));
    CHECK(a.need.value <= a.device.value);
    CHECK(a.allocated.value.value == c.peak);
  }
}

TEST_CASE("a step begins and ends with what stays, which holds the states") {
  for (const Case& c : cases()) {
    INFO(c.text());
    const std::vector<MemoryLine> lines = memory_timeline(c.plan, estimate(c.plan, constants()));
    REQUIRE(lines.size() == c.memory.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const StageMemory& m = c.memory[i];
      const std::vector<MemoryPoint>& points = lines[i].points;
      double highest = 0;
      for (const MemoryPoint& p : points) {
        highest = std::max(highest, p.allocated.value);
        CHECK(p.allocated.value > -1);
      }
      CHECK(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.time < b.time; }));
      CHECK(std::fabs(highest - m.parts.total().value) <= kRounding);
      CHECK(std::fabs(points.front().allocated.value - m.between_steps.value) <= kRounding);
      CHECK(std::fabs(points.back().allocated.value - m.between_steps.value) <= kRounding);
      // Gradients are states too, but PyTorch frees them.
      CHECK(m.between_steps.value >= (m.states.parameters + m.states.master_weights + m.states.optimizer_states).value - kRounding);
      // What a step begins with goes at its earliest with the first micro-batch: stale gradients.
      CHECK(m.parts.total().value >= m.between_steps.value - m.idle[Term::gradients] - kRounding);
      CHECK(m.parts.total() >= m.after_backward - Bytes(kRounding));
    }
  }
}

TEST_CASE("more tokens never need less") {
  for (const Case& c : cases()) {
    INFO(c.text());
    Json d = c.document;
    const Count micro = c.plan.training.micro_batch_size;
    d["training"]["micro_batch_size"] = micro + 1;
    d["training"]["global_batch_size"] = c.plan.training.global_batch_size / micro * (micro + 1);
    if (const auto plan = read_if_valid(d)) CHECK(peak_of(*plan) >= c.peak - kRounding);
    if (const auto plan = changed(c.document, "training.sequence_length", std::to_string(2 * c.plan.training.sequence_length))) CHECK(peak_of(*plan) >= c.peak - kRounding);
  }
}

// Not DeepSpeed's stages 2 and 3: the last bucket of a longer model may be less full, and a model beyond the reuse distance gives
// back what a smaller one keeps gathered. Not every nth layer either: which of the last layers run again changes.
// Nor where embedding and head take the place of a layer each, which deals the layers anew.
TEST_CASE("more layers never need less") {
  for (const Case& c : cases()) {
    Plan p = c.plan;
    const bool has_buckets = is_deepspeed(p) && shards_gradients(p.parallel.data_sharding);
    if (p.model.opaque || has_buckets || p.training.recompute.kind == RecomputeKind::every || p.model.num_layers % (p.parallel.pipeline * p.parallel.virtual_stages) != 0) continue;
    p.model.num_layers += 2 * p.parallel.pipeline * p.parallel.virtual_stages * (p.model.moe ? p.model.moe->every : 1);
    if (!validate(p).empty()) continue;
    INFO(c.text());
    CHECK(peak_of(p) >= c.peak - kRounding);
  }
}

// Recomputation brings what it does not save, which shows where layers keep little: the input of every layer is kept beside what
// is in use, the gradient of a layer's result waits while the layer runs again, arguments (positions, masks) are held; ZeRO-3
// holds the weights of the layer that runs again, and gathers in another order. The exceptions stay within that. A stage of one
// layer saves nothing.
TEST_CASE("full recomputation needs no more than selective, that no more than none") {
  for (const Case& c : cases()) {
    const auto full = changed(c.document, "training.recompute", "full"), selective = changed(c.document, "training.recompute", "selective"),
               none = changed(c.document, "training.recompute", "none");
    if (!full || !selective || !none || (is_small(c.plan) && c.plan.model.num_layers < 2 * c.plan.parallel.pipeline)) continue;
    INFO(c.text());
    const Training& t = c.plan.training;
    const double T = tokens_per_micro_batch(c.plan), s = double(t.sequence_length), e = compute_bytes(c.plan);
    const double stream = c.plan.model.opaque ? c.plan.model.opaque->saved_bytes_per_sample / double(c.plan.model.opaque->units) * double(t.micro_batch_size)
                                              : stream_bytes(c.plan) * T * double(c.plan.model.hidden_size);
    double brings = 4 * stream + 8 * s + 4096 + (t.attention == Attention::eager ? 2 * e * s * s : 0);
    if (is_deepspeed(c.plan) && shards_parameters(c.plan.parallel.data_sharding)) {
      const ModelBytes bytes = model_bytes(c.plan);
      brings += 2 * std::max({bytes.dense_layer.gathered, bytes.moe_layer.gathered, bytes.embedding.gathered});
    }
    const double a = peak_of(*full), b = peak_of(*selective), n = peak_of(*none);
    // Of ZeRO-3's gathers only full recomputation has an order of its own; selective is replayed as none.
    // Spelled-out attention keeps a layer's scores while its MLP runs back; selective makes them after that.
    const bool is_comparable = t.attention == Attention::flash && !(is_deepspeed(c.plan) && shards_parameters(c.plan.parallel.data_sharding));
    if (is_comparable) CHECK(a <= b + brings);
    CHECK(b <= n + brings);
    CHECK(a <= n + brings);
  }
}

TEST_CASE("every sharding over one rank keeps what an unsharded run keeps") {
  for (const Case& c : cases()) {
    if (c.plan.parallel.context > 1 || c.plan.parallel.expert * c.plan.parallel.expert_tensor > 1 || !c.plan.parallel.deepspeed.empty()) continue;
    const auto one = on_ranks(c, 1);
    if (!one) continue;
    Json d = write_plan(*one);
    d["parallel"]["shard_group"] = nullptr;
    const auto with = [&](const char* sharding) { return changed(d, "parallel.data_sharding", sharding); };
    const auto ddp = with("ddp"), zero1 = with("zero1"), fsdp = with("fsdp");
    if (!ddp) continue;
    INFO(c.text());
    // The same buffers and the same moments. DeepSpeed's stage 1 is another engine than its stage 0; experts that are whole on
    // tensor ranks are sharded over those.
    if (zero1 && !is_deepspeed(c.plan) && !(c.plan.model.moe && c.plan.parallel.tensor > 1)) CHECK(std::fabs(peak_of(*ddp) - peak_of(*zero1)) <= kRounding);
    // Fully sharded: the states; its gathers copy even on one rank. Flat parameters are a tensor of their own, which LoRA's frozen
    // pieces share; Megatron's DDP keeps 16-bit parameters and separate masters, its FSDP fp32 ones. On tensor ranks DDP keeps the
    // gradient of the whole embedding; a flat gradient covers a frozen embedding too,
    // and has one width for latent attention's fp32 router.
    if (fsdp && c.plan.parallel.tensor == 1 && !fsdp->training.switches.frozen_embedding && !c.plan.model.mla && c.plan.parallel.framework == Framework::pytorch && !c.plan.training.lora && fsdp->training.switches.optimizer_kernel != OptimizerKernel::in_backward &&
        fsdp->training.offload == Offload{}) {
      const double whole = memory_of(*ddp)[0].states.total().value, sharded = memory_of(*fsdp)[0].states.total().value;
      CHECK(std::fabs(whole - sharded) <= 1e-4 * whole + 4096);  // correction biases of routers lie in flat parameters too
    }
  }
}

TEST_CASE("shards add up to the whole, and more ranks never hold more") {
  for (const Case& c : cases()) {
    const Parallel& l = c.plan.parallel;
    const auto one = on_ranks(c, 1), twice = on_ranks(c, 2 * l.data);
    INFO(c.text());
    if (twice) {
      const std::vector<StageMemory> more = memory_of(*twice);
      // Padding to whole rows of every tensor and to whole elements of a partition.
      for (std::size_t i = 0; i < more.size(); ++i) CHECK(more[i].states.total().value <= c.memory[i].states.total().value * (is_small(c.plan) ? 2 : 1.001) + 4096);
    }
    // On the first rank of flat parameters adapters may lie or not; a secondary or an expert group divides by other numbers.
    if (!one || l.data == 1 || l.context > 1 || l.shard_group > 0 || is_small(c.plan) || c.plan.training.lora || c.plan.model.moe) continue;
    const std::vector<StageMemory> whole = memory_of(*one);
    const auto adds_up = [&](Bytes share, Bytes all) {
      const double sum = share.value * double(l.data);
      CHECK(sum >= all.value * (1 - 1e-9));
      CHECK(sum <= all.value * 1.02 + 512 * double(l.data));
    };
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const StateBytes &share = c.memory[i].states, &all = whole[i].states;
      if (shards_optimizer(l.data_sharding)) adds_up(share.optimizer_states, all.optimizer_states);
      if (shards_optimizer(l.data_sharding)) adds_up(share.master_weights, all.master_weights);
      if (shards_gradients(l.data_sharding)) adds_up(share.gradients, all.gradients);
      if (shards_parameters(l.data_sharding) && !is_deepspeed(c.plan)) adds_up(share.parameters, all.parameters);  // small ones stay gathered
    }
  }
}

// DeepSpeed's stages 1 and 2 take another optimizer with a bucket of its own when states are offloaded, so only their states shrink.
TEST_CASE("offloading takes states off the GPU") {
  for (const Case& c : cases()) {
    Json d = c.document;
    const auto with = [&](bool optimizer, bool parameters, bool activations) {
      d["training"]["offload"] = Json{{"optimizer", optimizer}, {"parameters", parameters}, {"activations", activations}};
      return read_if_valid(d);
    };
    const auto none = with(false, false, false);
    if (!none) continue;
    INFO(c.text());
    const std::vector<StageMemory> before = memory_of(*none);
    const double peak = peak_of(*none);
    for (const auto& [optimizer, parameters] : {std::pair{true, false}, {false, true}, {true, true}}) {
      const auto plan = with(optimizer, parameters, false);
      if (!plan) continue;
      const std::vector<StageMemory> after = memory_of(*plan);
      for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i].states.total() <= before[i].states.total() + Bytes(512));
      const bool has_bucket = is_deepspeed(*plan) && !shards_parameters(plan->parallel.data_sharding);
      if (!has_bucket) CHECK(peak_of(*plan) <= peak + kRounding);
    }
    if (const auto plan = with(false, false, true)) CHECK(peak_of(*plan) <= peak + kRounding);
  }
}

TEST_CASE("every shown formula gives its shown result, on random plans") {
  for (int i = 0; i < 60; ++i) {
    const Case& c = cases()[std::size_t(i)];
    INFO(c.text());
    for (const Explanation& e : all_explanations(c.plan, constants(), estimate(c.plan, constants()))) {
      std::map<std::string, double> values;
      for (const ExplainedValue& v : e.values) values.emplace(v.symbol, v.value);
      Formula formula(e.formula, values);
      const std::optional<double> result = formula.value();
      INFO(e.key << " = " << e.formula << ": " << formula.fault);
      REQUIRE(result);
      CHECK(std::fabs(*result - e.result) <= 1e-9 * std::max(std::fabs(e.result), 1e-12));
    }
  }
}

TEST_CASE("a plan written and read again has the same memory") {
  for (const Case& c : cases()) {
    INFO(c.text());
    const std::optional<Plan> again = read_if_valid(write_plan(c.plan));
    REQUIRE(again);
    const std::vector<StageMemory> memory = memory_of(*again);
    REQUIRE(memory.size() == c.memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
      CHECK(memory[i].peak.bytes == c.memory[i].peak.bytes);
      CHECK(memory[i].idle.bytes == c.memory[i].idle.bytes);
      CHECK(memory[i].first_step == c.memory[i].first_step);
      CHECK(memory[i].initialize == c.memory[i].initialize);
    }
  }
}
