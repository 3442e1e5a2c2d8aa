// A search against all there is: what is found is the best of every candidate, whatever was left out on the way.
#include "core/answer/search.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/answer/memory_estimate.hpp"
#include "core/answer/search_report.hpp"
#include "core/cost/memory.hpp"
#include "core/step/step_bound.hpp"
#include "core/text/plan_edits.hpp"
#include "tests/support/plans.hpp"

namespace wireplan {

using testing::constants, testing::plan_of, testing::presets;

namespace {

struct Case {
  const char* name;
  const char* document;
};

// Each kind of framework and of wiring; small enough to look at everything.
const Case kCases[] = {
    {"one node, PyTorch", R"({"model": "mistral-7b-v0.1", "training": {"global_batch_size": 16, "implementation": "torchtitan", "gradient_dtype": "fp32"}, "parallel": {"data_sharding": "fsdp"}, "cluster": {"nodes": 1, "node": "dgx-a100-80gb", "gpus_per_node": 4}})"},
    {"two nodes, Megatron", R"({"model": "llama-3-8b", "training": {"global_batch_size": 16, "gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1"}, "cluster": {"nodes": 2, "node": "hgx-h100-80gb", "network": "infiniband-8x400"}})"},
    {"experts, Megatron", R"({"model": "mixtral-8x7b", "training": {"global_batch_size": 8, "gradient_dtype": "fp32"}, "parallel": {"framework": "megatron", "data_sharding": "zero1", "expert": 8}, "cluster": {"nodes": 1, "node": "hgx-h100-80gb"}})"},
    {"DeepSpeed over one slow NIC", R"({"model": "llama-2-7b", "training": {"global_batch_size": 16}, "parallel": {"framework": "deepspeed", "data_sharding": "zero2"}, "cluster": {"nodes": 2, "node": "dgx-a100-80gb", "gpus_per_node": 2, "network": "ethernet-1x25"}})"},
    {"adapters on consumer cards", R"({"model": "llama-2-7b", "training": {"global_batch_size": 16, "master_weights_dtype": null, "lora": {"rank": 16, "targets": ["q", "v"]}, "implementation": "torchtune"}, "cluster": {"nodes": 1, "node": "rtx-4090-8x", "gpus_per_node": 4}})"},
};

// Pieces in turn, or from the last to the first on two workers: nothing may depend on it.
void run(Search& search, bool backwards = false) {
  const auto first = search.worker(), second = search.worker();
  while (search.pieces() > 0) {
    const std::size_t pieces = search.pieces();
    for (std::size_t i = 0; i < pieces; ++i) {
      if (backwards) search.work(pieces - 1 - i, i % 3 == 0 ? *second : *first);
      else search.work(i, *first);
    }
    search.finish_block();
  }
}

SearchOptions options_for(Objective objective) {
  SearchOptions o;
  o.objective = objective;
  o.vary = NameSet<Vary>::all();
  o.vary.set(Vary::loss, false);  // three times as many layouts, and no bound depends on it
  o.top = 7;
  return o;
}

void require_same(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].space == b[i].space);
    CHECK(a[i].shape == b[i].shape);
    CHECK(a[i].variant == b[i].variant);
    CHECK(a[i].time == b[i].time);
    CHECK(a[i].need == b[i].need);
  }
}

}  // namespace

TEST_CASE("search: bounds discard no answer") {
  for (const Case& c : kCases)
    for (const Objective objective : {Objective::throughput, Objective::memory, Objective::cost}) {
      if (objective == Objective::cost && &c != kCases) continue;  // of one cluster it is the throughput's order
      DYNAMIC_SECTION(c.name << ", " << name_of(objective)) {
        SearchOptions o = options_for(objective);
        o.small = SIZE_MAX;
        Search all({plan_of(c.document)}, o, constants());
        run(all);
        REQUIRE(all.counts().evaluated == all.counts().candidates);
        REQUIRE(all.counts().candidates > 300);
        REQUIRE_FALSE(all.best().empty());
        CHECK(all.is_front_exact());

        o.small = 0;
        Search bounded({plan_of(c.document)}, o, constants());
        run(bounded);
        require_same(bounded.best(), all.best());
        CHECK(bounded.counts().candidates == all.counts().candidates);
        CHECK(bounded.counts().candidates == bounded.counts().pruned + bounded.counts().evaluated);
        CHECK(bounded.counts().pruned == bounded.counts().pruned_by_memory + bounded.counts().pruned_by_time);
        if (objective == Objective::throughput) CHECK(bounded.counts().pruned > bounded.counts().candidates / 4);

        Search backwards({plan_of(c.document)}, o, constants());
        run(backwards, true);
        require_same(backwards.best(), all.best());
        CHECK(backwards.counts().evaluated == bounded.counts().evaluated);
      }
    }
}

TEST_CASE("search: every candidate is a valid plan, above its bounds, and what its edits make of the document") {
  for (const Case& c : kCases) {
    DYNAMIC_SECTION(c.name) {
      const Plan base = plan_of(c.document);
      const PreparedCluster cluster = prepare(base.cluster, constants().links);
      StepWiring wiring(cluster);
      const LayoutSpace space(base, NameSet<Vary>::all(), {});
      const PresetFilling filling(base, presets());
      std::vector<LayoutVariant> variants;
      std::size_t looked_at = 0;
      for (std::size_t i = 0; i < space.shapes().size(); ++i) {
        space.variants(space.shapes()[i], variants);
        for (std::size_t v = i % 9; v < variants.size(); v += 9) {  // every ninth
          Plan plan = base;
          space.apply(space.shapes()[i], variants[v], plan);
          INFO(layout_label(plan));
          const Errors errors = validate(plan);
          REQUIRE((errors.empty() ? "" : errors.front().text) == "");
          const std::vector<StageParameters> stages = stage_parameters(plan.model, plan.parallel);
          const std::vector<StageParameters> trained = plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : stages;
          const SequenceWork work = sequence_work(plan);
          const StepBound bound(plan, wiring, stages, trained, work, constants().efficiency);
          const double low = bound.by_stages(plan).value, high = bound.by_schedule(plan).value;
          const Estimate e = brief_estimate(plan, wiring, constants());
          REQUIRE(low > 0);
          REQUIRE(low <= high * (1 + 1e-12));
          REQUIRE(high <= e.step.time.value.value * (1 + 1e-12));
          for (std::size_t s = 0; s < stages.size(); ++s) REQUIRE(kept_bytes(plan, stages[s], trained[s]) <= e.memory.need.value);

          if (++looked_at % 80 != 0) continue;
          Json document = parse_json(c.document).value();
          for (const PlanEdit& edit : edits_between(base, plan, filling)) REQUIRE(set_path(document, edit.path, dump_json_compact(edit.value)).empty());
          const Result<Plan> read = read_plan(document, presets());
          REQUIRE((read ? "" : read.errors().front().text) == "");
          Plan stated = read.value();
          stated.assumed = plan.assumed;
          stated.left_open = plan.left_open;  // what the edits state is open no more
          REQUIRE(write_plan(stated) == write_plan(plan));
          REQUIRE(stated == plan);
        }
      }
      CHECK(looked_at > 100);
    }
  }
}

TEST_CASE("search: a brief estimate is the estimate") {
  for (const Case& c : kCases) {
    const Plan plan = plan_of(c.document);
    const PreparedCluster cluster = prepare(plan.cluster, constants().links);
    StepWiring wiring(cluster);
    const Estimate whole = estimate(plan, constants());
    for (int again = 0; again < 2; ++again) {  // the second time all is remembered
      const Estimate brief = brief_estimate(plan, wiring, constants());
      CHECK(brief.step.time == whole.step.time);
      CHECK(brief.step.exposed_communication == whole.step.exposed_communication);
      CHECK(brief.memory.need == whole.memory.need);
      CHECK(brief.memory.device == whole.memory.device);
    }
    const Estimate memory = memory_estimate(plan, constants());
    CHECK(memory.memory.need == whole.memory.need);
    CHECK(memory.memory.fits == whole.memory.fits);
    CHECK(memory.memory.fits_host == whole.memory.fits_host);
  }
}

TEST_CASE("search: the front of memory and time has all that nothing beats in both") {
  SearchOptions o = options_for(Objective::throughput);
  o.small = SIZE_MAX;
  Search search({plan_of(kCases[0].document)}, o, constants());
  run(search);
  const std::vector<Candidate> front = search.front();
  REQUIRE(front.size() > 3);
  CHECK(front.front().time == search.best().front().time);
  for (const Candidate& c : search.evaluated()) {
    if (!c.fits) continue;
    CHECK(std::any_of(front.begin(), front.end(), [&](const Candidate& f) { return f.time <= c.time && f.need <= c.need; }));
  }
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i].time >= front[i - 1].time);
    CHECK(front[i].need < front[i - 1].need);
  }
}

TEST_CASE("search: fewest GPUs are those that one fewer does not do with") {
  std::vector<Plan> plans;
  for (const int gpus : {1, 2, 4, 8}) {
    Plan p = plan_of(kCases[0].document);
    p.cluster.gpus_per_node = gpus;
    plans.push_back(p);
  }
  SearchOptions o = options_for(Objective::gpus);
  o.vary.set(Vary::offload, false);
  o.top = 3;
  Search search(plans, o, constants());
  run(search);
  const std::vector<Candidate> best = search.best();
  REQUIRE(best.size() == 3);
  CHECK(best.front().gpus == 2);  // 116 GB of states on 85 GB cards
  for (const Candidate& c : search.evaluated())
    if (c.gpus < best.front().gpus) CHECK_FALSE(c.fits);
  CHECK(best[0].time <= best[1].time);
}

TEST_CASE("search: what stays is not varied") {
  const Plan base = plan_of(kCases[1].document);
  NameSet<Vary> vary;
  vary.set(Vary::micro_batch_size);
  const LayoutSpace space(base, vary, {});
  REQUIRE(space.shapes().size() == 1);  // one sequence for each rank: no other micro-batch
  std::vector<LayoutVariant> variants;
  space.variants(space.shapes().front(), variants);
  REQUIRE(variants.size() == 1);
  Plan plan = base;
  space.apply(space.shapes().front(), variants.front(), plan);
  CHECK(plan == base);

  const LayoutSpace data(base, NameSet<Vary>::all(), {}, 4);
  REQUIRE_FALSE(data.shapes().empty());
  for (const LayoutShape& s : data.shapes()) CHECK(s.tensor * s.pipeline * s.context == 4);
}

TEST_CASE("search: no layout that the code base does not have") {
  Plan base = plan_of(kCases[0].document);
  Abilities can;
  can.pipeline = can.context = can.offload = false;
  can.recompute = {};
  can.recompute.set(RecomputeKind::full);
  can.data_sharding.set(DataSharding::hsdp, false);
  const LayoutSpace space(base, NameSet<Vary>::all(), can);
  std::vector<LayoutVariant> variants;
  bool has_tensor = false;
  for (const LayoutShape& s : space.shapes()) {
    CHECK((s.pipeline == 1 && s.context == 1 && s.recompute == RecomputeKind::full));
    has_tensor = has_tensor || s.tensor > 1;
    space.variants(s, variants);
    for (const LayoutVariant& v : variants) CHECK((v.data_sharding != DataSharding::hsdp && !v.offload.optimizer));
  }
  CHECK(has_tensor);
}

TEST_CASE("search: nothing to find is an answer") {
  Plan base = plan_of(kCases[0].document);
  base.training.global_batch_size = 7;  // no layout of four GPUs divides it but those without data parallelism
  NameSet<Vary> vary;
  vary.set(Vary::micro_batch_size);
  Search search({base}, [&] { SearchOptions o; o.vary = vary; return o; }(), constants());
  run(search);
  CHECK(search.counts().candidates == 0);
  CHECK(search.best().empty());
  CHECK(search.losers().empty());
  CHECK(search.progress() == 1);
}

}  // namespace wireplan
