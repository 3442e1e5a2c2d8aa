#include "core/answer/advice.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "core/answer/advice_moves.hpp"
#include "core/answer/advice_text.hpp"
#include "core/text/advice_json.hpp"
#include "core/text/plan_edits.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

Json scenario_document(std::string_view id) { return parse_json(presets().text("scenarios", id)).value()["plan"]; }

Json edited(Json document, const std::vector<PlanEdit>& edits) {
  for (const PlanEdit& e : edits) REQUIRE(set_path(document, e.path, e.value.is_string() ? e.value.get<std::string>() : dump_json_compact(e.value)).empty());
  return document;
}

Advice advice_for(const Plan& plan) { return advice(plan, estimate(plan, constants()), PresetFilling(plan, presets()), constants()); }

const Change* with_key(const Advice& a, std::string_view key) {
  for (const Change& c : a.changes)
    if (c.key == key) return &c;
  return nullptr;
}

// Faster by more than half a percent, without being nearer to the edge than advice may go.
bool is_better(const Effect& a, const Effect& b, const Effect& now) { return a.fits && (!now.fits || a.verdict <= std::max(now.verdict, Verdict::tight)) && a.time < 0.995 * b.time; }

// Every law of the header, for one document of a plan.
void check_laws(const Json& document) {
  const Plan plan = read_plan(document, presets()).value();
  const PresetFilling filling(plan, presets());
  const Effect now = effect_of(estimate(plan, constants()));
  const PreparedCluster cluster = prepare(plan.cluster, constants().links);
  const Advice a = advice_for(plan);
  CHECK(a.now.time == now.time);
  CHECK_FALSE(a.text.empty());
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    const Change& c = a.changes[i];
    INFO(c.key << ": " << c.label);
    CHECK(validate(c.plan).empty());
    CHECK(c.plan.training.global_batch_size == plan.training.global_batch_size);
    CHECK(c.plan.training.sequence_length == plan.training.sequence_length);
    CHECK(c.plan.model == plan.model);
    const std::vector<PlanEdit> edits = edits_between(plan, c.plan, filling);
    CHECK_FALSE(edits.empty());
    // What a user gets who makes the edits, in his own document and in the one with every default written out.
    for (const Json& before : {document, write_plan(plan)}) {
      const Result<Plan> read = read_plan(edited(before, edits), presets());
      INFO(set_arguments(edits));
      INFO(dump_json(before));
      REQUIRE(read);
      CHECK(read.value().training == c.plan.training);
      CHECK(read.value().parallel == c.plan.parallel);
      const Effect e = effect_of(estimate(read.value(), constants()));
      CHECK(e.need == c.effect.need);
      CHECK(e.time == c.effect.time);
      CHECK(e.tokens_per_s == c.effect.tokens_per_s);
      CHECK(e.fits == c.effect.fits);
    }
    // It helps, and breaks nothing.
    if (c.effect.fits && now.starts) CHECK(c.effect.starts);
    if (now.fits) {
      CHECK(c.effect.fits);
      CHECK(c.effect.verdict <= std::max(now.verdict, Verdict::tight));
      const bool is_gain = c.effect.tokens_per_s > 1.01 * now.tokens_per_s;
      CHECK((is_gain || (c.effect.need < 0.99 * now.need && c.effect.tokens_per_s >= 0.99 * now.tokens_per_s)));
    } else {
      CHECK((c.effect.fits || c.effect.need < 0.99 * now.need));
    }
    // In the order that the header states.
    if (i > 0) {
      const Change& before = a.changes[i - 1];
      CHECK(before.kind <= c.kind);
      if (before.kind == c.kind && !now.fits) {
        CHECK(before.effect.fits == c.effect.fits);
        CHECK((c.effect.fits ? before.effect.time <= c.effect.time : before.effect.need <= c.effect.need));
      } else if (before.kind == c.kind) {
        const bool gains = c.effect.tokens_per_s > 1.01 * now.tokens_per_s, gained = before.effect.tokens_per_s > 1.01 * now.tokens_per_s;
        CHECK(gained >= gains);
        if (gains) CHECK(before.effect.time <= c.effect.time);
        if (!gained) CHECK(before.effect.need <= c.effect.need);
      }
      CHECK(before.key != c.key);
    }
    // No part of a combination can be left out with gain.
    if (c.effect.fits)
      for (std::size_t out = 0; c.moves.size() > 1 && out < c.moves.size(); ++out) {
        Plan fewer = plan;
        bool is_plan = true;
        for (std::size_t k = 0; is_plan && k < c.moves.size(); ++k)
          if (k != out) is_plan = apply(c.moves[k], filling, cluster, fewer);
        if (!is_plan || !settle(plan, filling, fewer)) continue;
        INFO("without " << key_of(c.moves[out], c.plan));
        CHECK_FALSE(is_better(effect_of(estimate(fewer, constants())), c.effect, now));
      }
    CHECK_FALSE(price_text(a, c, ByteUnit::GB).empty());
    CHECK_FALSE(benefit_text(a, c, ByteUnit::GiB).empty());
  }
}

}  // namespace

TEST_CASE("advice holds its laws for every scenario") {
  for (std::string_view id : presets().ids("scenarios")) DYNAMIC_SECTION(id) { check_laws(scenario_document(id)); }
}

TEST_CASE("advice holds its laws for plans of all kinds") {
  Random r(20261130);
  int seen = 0;
  for (int i = 0; seen < 60; ++i) {
    const Json document = random_document(r);
    if (!read_plan(document, presets())) continue;
    ++seen;
    DYNAMIC_SECTION(i) { check_laws(document); }
  }
}

TEST_CASE("a model that DDP cannot hold is sharded first") {
  const Plan plan = scenario("story");
  const Advice a = advice_for(plan);
  REQUIRE_FALSE(a.now.fits);
  REQUIRE_FALSE(a.changes.empty());
  CHECK(a.changes.front().kind == ChangeKind::free);
  CHECK(a.changes.front().effect.fits);
  CHECK(a.changes.front().key.find("sharding=") != std::string::npos);
  const Change* fsdp = with_key(a, "sharding=fsdp");
  REQUIRE(fsdp);
  // The same as asking for it.
  CHECK(fsdp->effect.time == estimate(scenario("story", {{"parallel.data_sharding", "fsdp"}}), constants()).step.time.value);
  CHECK(a.text.find("Does not fit") == 0);
}

TEST_CASE("a change that alone is not enough comes with what it needs") {
  // 8 B parameters at 18 bytes over two cards of 80 GB: sharding alone leaves 72 GB of states, and the logits do not fit beside them.
  const Plan plan = plan_of(R"({"model":"llama-3-8b","training":{"sequence_length":8192,"global_batch_size":16,"gradient_dtype":"fp32"},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":2}})");
  const Advice a = advice_for(plan);
  REQUIRE_FALSE(a.now.fits);
  REQUIRE_FALSE(a.changes.empty());
  CHECK(a.changes.front().effect.fits);
  CHECK(a.changes.front().key.find('+') != std::string::npos);
}

TEST_CASE("FSDP over a slow network becomes HSDP, larger micro-batches or rarer synchronisation") {
  const Plan plan = plan_of(R"({"model":"llama-3.2-1b","training":{"global_batch_size":256},"parallel":{"data_sharding":"fsdp"},"cluster":{"nodes":4,"node":"dgx-a100-80gb","network":"ethernet-1x25"}})");
  const Advice a = advice_for(plan);
  REQUIRE(a.now.fits);
  REQUIRE_FALSE(a.changes.empty());
  const Change *hybrid = with_key(a, "sharding=hsdp"), *copies = with_key(a, "sharding=ddp");
  REQUIRE(hybrid);
  CHECK(hybrid->plan.parallel.shard_group == 8);  // shards stay on a node
  CHECK(hybrid->effect.tokens_per_s > 1.5 * a.now.tokens_per_s);
  REQUIRE(copies);  // a gradient once a step instead of every parameter three times a micro-batch
  CHECK(copies->effect.tokens_per_s > hybrid->effect.tokens_per_s);
  bool has_larger = false, has_network = false;
  for (const Change& c : a.changes) {
    has_larger = has_larger || c.key.find("micro-batch=") == 0;
    has_network = has_network || (c.key.find("nic") == 0 && c.kind == ChangeKind::hardware);
  }
  CHECK(has_larger);
  CHECK(has_network);
}

TEST_CASE("tensor groups of two take the bridged pairs") {
  const Plan plan = plan_of(R"({"model":"llama-2-7b","training":{"global_batch_size":32,"recompute":"full"},"parallel":{"framework":"megatron","data":1,"tensor":4},
    "cluster":{"node":{"gpu":"a100-80gb-pcie","gpus":4,"wiring":{"kind":"nvlink-pairs","pairs":[[0,2],[1,3]]},"p2p":true,"sockets":2,"numa_nodes":2}}})");
  const Advice a = advice_for(plan);
  const auto pairs = std::find_if(a.changes.begin(), a.changes.end(), [](const Change& c) { return c.plan.parallel.tensor == 2; });
  REQUIRE(pairs != a.changes.end());
  CHECK(pairs->plan.parallel.placement == std::vector<int>{0, 2, 1, 3});
  CHECK(pairs->effect.tokens_per_s > a.now.tokens_per_s);
}

TEST_CASE("cards that meet in host memory are told of peer access and bridges") {
  const Plan plan = plan_of(R"({"model":"llama-3.2-1b","training":{"global_batch_size":16},"parallel":{"data_sharding":"fsdp"},
    "cluster":{"node":{"gpu":"rtx-a6000-48gb","gpus":2,"wiring":{"kind":"pcie-host"},"p2p":false,"sockets":1,"numa_nodes":1}}})");
  const Advice a = advice_for(plan);
  const Advice cards = advice_for(plan_of(R"({"model":"llama-3.2-1b","training":{"global_batch_size":16},"parallel":{"data_sharding":"fsdp"},
    "cluster":{"node":{"gpu":"rtx-4090-24gb","gpus":4,"wiring":{"kind":"pcie-switch"},"p2p":false,"sockets":1,"numa_nodes":1}}})"));
  CHECK(with_key(cards, "p2p"));
  CHECK_FALSE(with_key(cards, "wiring=nvlink-pairs"));  // they have no connector for it
  CHECK(with_key(a, "wiring=nvlink-pairs"));
  for (const Change& c : a.changes) CHECK(c.key.find("nvswitch") == std::string::npos);  // no such board for a card in a slot
}

TEST_CASE("a card apart from the others is moved beside them") {
  const Plan plan = plan_of(R"({"model":"llama-3.2-1b","training":{"global_batch_size":16},"parallel":{"data_sharding":"fsdp"},
    "cluster":{"node":{"gpu":"rtx-a5000-24gb","gpus":4,"sockets":2,"numa_nodes":2,"p2p":true,"wiring":{"kind":"graph",
      "components":[{"id":"gpu0","kind":"gpu"},{"id":"gpu1","kind":"gpu"},{"id":"gpu2","kind":"gpu"},{"id":"gpu3","kind":"gpu"},{"id":"s","kind":"pcie-switch","numa":0},{"id":"cpu0","kind":"cpu","numa":0},{"id":"cpu1","kind":"cpu","numa":1}],
      "links":[{"a":"gpu0","b":"s","kind":"pcie","generation":4,"lanes":16},{"a":"gpu1","b":"s","kind":"pcie","generation":4,"lanes":16},{"a":"gpu2","b":"s","kind":"pcie","generation":4,"lanes":16},
        {"a":"gpu3","b":"cpu1","kind":"pcie","generation":4,"lanes":4},{"a":"s","b":"cpu0","kind":"pcie","generation":4,"lanes":16},{"a":"cpu0","b":"cpu1","kind":"socket","bytes_per_s":2e10}]}}}})");
  const Advice a = advice_for(plan);
  const Change* moved = with_key(a, "slot=3");
  REQUIRE(moved);
  CHECK(moved->kind == ChangeKind::hardware);
  CHECK(moved->effect.tokens_per_s > 1.01 * a.now.tokens_per_s);
  CHECK_FALSE(with_key(a, "slot=0"));
}

TEST_CASE("advice changes nothing that another has set") {
  // The stage stands in the user's own DeepSpeed configuration: no advice contradicts it.
  const Plan plan = plan_of(R"({"model":"llama-2-7b","training":{"global_batch_size":64},"parallel":{"framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":1}}},"cluster":"dgx-a100-40gb"})");
  for (const Change& c : advice_for(plan).changes) {
    CHECK(c.plan.parallel.data_sharding == DataSharding::zero1);
    CHECK(c.plan.parallel.deepspeed == plan.parallel.deepspeed);
  }
}

TEST_CASE("where nothing fits what needs least is said, and that it does not fit") {
  const Plan plan = plan_of(R"({"model":"llama-3-70b","training":{"sequence_length":8192},"cluster":{"node":"rtx-4090-2x"}})");
  const Advice a = advice_for(plan);
  REQUIRE_FALSE(a.changes.empty());
  for (const Change& c : a.changes) {
    if (c.effect.fits) continue;
    CHECK(benefit_text(a, c, ByteUnit::GB).find("Still does not fit") == 0);
    CHECK(c.effect.need < 0.99 * a.now.need);
  }
}

TEST_CASE("what the estimate has not all of the time of is a last resort") {
  const auto offloads = [](const Advice& a) { return std::any_of(a.changes.begin(), a.changes.end(), [](const Change& c) { return c.key.find("offload") != std::string::npos; }); };
  for (std::string_view id : presets().ids("scenarios")) CHECK_FALSE(offloads(advice_for(scenario(id))));
  const Plan plan = plan_of(R"({"model":"llama-2-13b","training":{"global_batch_size":2,"recompute":"full","optimizer":"sgd"},"parallel":{"data_sharding":"fsdp"},"cluster":"rtx-4090-2x"})");
  const Advice a = advice_for(plan);
  REQUIRE_FALSE(a.now.fits);
  REQUIRE_FALSE(a.changes.empty());
  CHECK(offloads(a));
  CHECK(a.changes.front().terms.find("last resort") != std::string::npos);
}

TEST_CASE("one GPU with a small model asks for no links") {
  const Plan plan = plan_of(R"({"model":"gpt2","cluster":{"node":"dgx-a100-80gb","gpus_per_node":1}})");
  for (const Change& c : advice_for(plan).changes) {
    CHECK(c.key.find("sharding") == std::string::npos);
    CHECK(c.key.find("nic") == std::string::npos);
    CHECK(c.key.find("wiring") == std::string::npos);
  }
}
