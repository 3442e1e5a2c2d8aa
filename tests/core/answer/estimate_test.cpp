#include "core/answer/estimate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "core/answer/alternatives.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

TEST_CASE("the four verdicts") {
  struct Row { const char* name; double need, need_high, device; Verdict verdict; };
  // Capacity 80. What decides is the need; what the allocator would like to keep only makes it tight.
  for (const Row& r : {Row{"all fits", 60, 70, 79, Verdict::fits}, Row{"allocator wants more", 60, 70, 90, Verdict::tight}, Row{"band passes the capacity", 75, 85, 95, Verdict::may_not_fit},
                       Row{"value passes it", 81, 90, 100, Verdict::does_not_fit}, Row{"exactly full", 80, 80, 80, Verdict::fits}}) {
    DYNAMIC_SECTION(r.name) {
      CHECK(memory_verdict({Bytes(r.need), Bytes(r.need), Bytes(r.need_high)}, Bytes(r.device), Bytes(80)) == r.verdict);
    }
  }
}

TEST_CASE("every sharding of the framework stands beside the plan, which is one of them and unchanged") {
  const Plan plan = scenario("story");
  const Estimate own = estimate(plan, constants());
  int chosen = 0;
  for (const Alternative& a : sharding_alternatives(plan, constants())) {
    CHECK(validate(a.plan).empty());
    if (!a.chosen) continue;
    ++chosen;
    CHECK(a.key == "ddp");
    CHECK(a.estimate.memory.need.value == own.memory.need.value);
  }
  CHECK(chosen == 1);
}

TEST_CASE("wirings change the wires, not the card") {
  const Plan plan = scenario("story", {{"parallel.data_sharding", "fsdp"}});
  double slowest_wires = 0, fastest = 1e300;
  for (const Alternative& a : wiring_alternatives(plan, constants())) {
    CHECK(a.plan.cluster.node.gpu == plan.cluster.node.gpu);
    CHECK(a.estimate.memory.capacity == estimate(plan, constants()).memory.capacity);
    CHECK(a.estimate.step.compute == estimate(plan, constants()).step.compute);
    CHECK(a.estimate.step.time.value == estimate(a.plan, constants()).step.time.value);
    if (a.chosen) CHECK(a.estimate.step.time.value == estimate(plan, constants()).step.time.value);
    slowest_wires = std::max(slowest_wires, a.estimate.step.time.value.value);
    fastest = std::min(fastest, a.estimate.step.time.value.value);
  }
  CHECK(slowest_wires > 1.4 * fastest);  // FSDP with 16 micro-steps on PCIe without peer access
}

TEST_CASE("the recipes' bytes per parameter: 8, 12, 16") {
  std::vector<double> bytes;
  for (const Alternative& a : recipe_alternatives(scenario("story"), constants())) bytes.push_back(a.estimate.memory.states.total() / Bytes(7'241'732'096));
  CHECK(bytes == std::vector<double>{8, 12, 16});
}

TEST_CASE("a recipe beside the plan is what the plan becomes with it") {
  for (const Alternative& a : recipe_alternatives(scenario("story"), constants())) {
    const Training& t = a.plan.training;
    const Plan taken = scenario("story", {{"training.gradient_dtype", name_of(t.gradient_dtype).data()},
                                          {"training.optimizer_state_dtype", name_of(t.optimizer_state_dtype).data()},
                                          {"training.master_weights_dtype", t.master_weights_dtype ? "fp32" : "null"}});
    INFO(a.key);
    CHECK(a.estimate.memory.need.value == estimate(taken, constants()).memory.need.value);
    CHECK(a.estimate.step.time.value == estimate(taken, constants()).step.time.value);
  }
}

TEST_CASE("a node's name changes no time where nothing was measured under it") {
  Plan plan = scenario("story", {{"parallel.data_sharding", "fsdp"}, {"cluster.node", "a100-80gb-pcie-4x-pairs"}});
  const Seconds named = estimate(plan, constants()).step.time.value;
  plan.cluster.node.id.clear();
  CHECK(estimate(plan, constants()).step.time.value == named);
}

TEST_CASE("the answer sentence takes its numbers from the estimate and its words from the verdict") {
  const Plan ddp = scenario("story");
  std::string text;
  for (const SentencePiece& piece : answer_sentence(ddp, estimate(ddp, constants()), ByteUnit::GB)) text += piece.text;
  CHECK(text.rfind("Does not fit: ", 0) == 0);
  CHECK(text.find("86.9") != std::string::npos);
  CHECK(text.find("huggingface") != std::string::npos);
  const Plan fsdp = scenario("story", {{"parallel.data_sharding", "fsdp"}, {"cluster.node", "a100-80gb-pcie-4x-no-p2p"}});
  text.clear();
  for (const SentencePiece& piece : answer_sentence(fsdp, estimate(fsdp, constants()), ByteUnit::GB)) text += piece.text;
  CHECK(text.rfind("Fits: ", 0) == 0);
  CHECK(text.find("The wiring does not keep up") != std::string::npos);
}
