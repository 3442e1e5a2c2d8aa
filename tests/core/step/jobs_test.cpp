#include "core/step/jobs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <string>

#include "core/step/exposure.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

// Jobs of one pipeline's ranks, or of all, and what comes out when they are played as predicted.
struct Stepped {
  Plan plan;
  StepCost cost;
  JobGroups groups;
  std::vector<int> of;
  std::vector<std::vector<StepJob>> jobs;
  PlayedStep step;

  Seconds slowed() const {
    Seconds sum;
    for (const StepJob& j : jobs[cost.slowest]) sum += j.slowed;
    return sum;
  }
  Seconds exposed() const { return step.stood(cost.slowest, jobs[cost.slowest]) + slowed(); }
};

Stepped stepped(const Plan& plan, bool all_ranks = false, const EfficiencyConstants& k = constants().efficiency) {
  Constants with = constants();
  with.efficiency = k;
  const StepCost cost = estimate(plan, with).cost;
  Stepped s{plan, cost, JobGroups(plan, cost), {}, {}, {}};
  s.of = group_ranks(plan, GroupKind::pipeline, 0);
  if (all_ranks) {
    s.of.clear();
    for (int r = 0; r < static_cast<int>(total_gpus(plan.cluster)); ++r) s.of.push_back(r);
  }
  for (int r : s.of) s.jobs.push_back(step_jobs(plan, cost, k, s.groups, r));
  s.step = played(s.jobs, s.of, s.groups);
  return s;
}

bool is_near(Seconds a, Seconds b, double tolerance) { return std::fabs((a - b).value) <= tolerance * std::max(std::fabs(a.value), std::fabs(b.value)) + 1e-12; }

// What holds of every list, and the step that comes out.
void check(const Stepped& s, double tolerance) {
  CHECK(is_near(s.step.end, s.cost.time.value, tolerance));
  for (std::size_t r = 0; r < s.jobs.size(); ++r)
    for (std::size_t j = 0; j < s.jobs[r].size(); ++j) {
      const StepJob& job = s.jobs[r][j];
      CHECK((s.step.ranks[r][j].end.value > 0 || job.time.value == 0));  // else it was never played
      CHECK((job.group >= 0) == (job.message >= 0));
      for (int a : job.after) CHECK((a >= 0 && a < static_cast<int>(j)));
    }
  // Every call of every message, on the rank that has most of them.
  for (std::size_t i = 0; i < s.cost.messages.size(); ++i) {
    double most = 0;
    for (const auto& list : s.jobs) {
      double calls = 0;
      for (const StepJob& j : list) calls += j.message == static_cast<int>(i) && (!j.is_hop || j.is_sender);
      most = std::max(most, calls);
    }
    INFO(s.cost.messages[i].message.name);
    if (s.groups.lanes().size() == 4 || s.cost.messages[i].message.group != GroupKind::pipeline || s.of.size() > 2) CHECK(std::fabs(most - s.cost.messages[i].message.calls) < 0.5);
    else CHECK(most <= s.cost.messages[i].message.calls);  // the list counts both chunks of a stage between two others; of two stages each is an end
  }
}

Plan pipelined(std::string_view schedule, const char* data, const char* stages) {
  return scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", data}, {"parallel.pipeline", stages}, {"parallel.pipeline_schedule", std::string(schedule).c_str()},
                            {"parallel.virtual_stages", schedule == "interleaved" ? "2" : "1"}, {"training.global_batch_size", "16"}});
}

constexpr double kExact = 1e-9;

}  // namespace

TEST_CASE("without a pipeline the jobs take the step's time, and stand still for what is exposed: every sharding") {
  const auto exact = [](const Plan& plan) {
    const Stepped s = stepped(plan);
    check(s, kExact);
    CHECK(is_near(s.exposed(), s.cost.exposed_communication, 1e-6));
  };
  for (const char* sharding : {"ddp", "zero1", "zero2", "fsdp"})
    DYNAMIC_SECTION(sharding) exact(scenario("story", {{"parallel.data_sharding", sharding}, {"training.global_batch_size", "32"}}));
  for (const char* sharding : {"ddp", "zero1", "zero2"})
    DYNAMIC_SECTION("deepspeed " << sharding) exact(scenario("story", {{"parallel.framework", "deepspeed"}, {"parallel.data_sharding", sharding}}));
  for (const char* sharding : {"ddp", "fsdp"})
    for (const char* batch : {"4", "12"})
      DYNAMIC_SECTION("slow wires " << sharding << batch)
        exact(scenario("story", {{"cluster.node", "a100-80gb-pcie-4x-no-p2p"}, {"cluster.gpus_per_node", "4"}, {"parallel.data_sharding", sharding}, {"training.global_batch_size", batch}}));
  for (const char* which : {"parallel.overlap.gradient_reduce", "parallel.overlap.parameter_gather"})
    DYNAMIC_SECTION("nothing beside it " << which) exact(scenario("story", {{which, "false"}, {"parallel.data_sharding", "fsdp"}, {"training.global_batch_size", "12"}}));
}

TEST_CASE("communication inside the layers: what of it is predicted to show is waited for") {
  for (const char* tensor : {"2", "4"})
    for (const char* sequence : {"true", "false"})
      DYNAMIC_SECTION(tensor << sequence) {
        const Stepped s = stepped(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", *tensor == '2' ? "2" : "1"}, {"parallel.tensor", tensor}, {"parallel.sequence_parallel", sequence}, {"training.global_batch_size", "16"}}));
        check(s, kExact);
        CHECK(is_near(s.exposed(), s.cost.exposed_communication, 1e-6));
      }
}

TEST_CASE("copies of parameters on the host come before their gathers") {
  for (const char* batch : {"4", "64"}) {
    const Stepped s = stepped(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.offload.parameters", "true"}, {"training.offload.optimizer", "true"}, {"training.global_batch_size", batch}}));
    check(s, kExact);
    for (std::size_t i = 0; i < s.jobs[0].size(); ++i)  // the first job of all is a copy, and the first gather waits for it
      if (s.jobs[0][i].message >= 0) {
        REQUIRE(i > 0);
        CHECK(s.jobs[0][i].after.back() == static_cast<int>(i) - 1);
        CHECK(s.jobs[0][i - 1].kind == StepEventKind::copy);
        break;
      }
  }
}

TEST_CASE("a pipeline: the passes of every schedule come in time, each after its input has come from the neighbour") {
  for (const std::string_view schedule : kNames<PipelineSchedule>) {
    DYNAMIC_SECTION(std::string(schedule)) check(stepped(pipelined(schedule, "1", "4")), kExact);
    DYNAMIC_SECTION("with replicas " << std::string(schedule)) check(stepped(pipelined(schedule, "2", "2")), kExact);
  }
}

TEST_CASE("where calls do not divide by the units, the jobs are near the sum") {
  // The largest seen: DualPipe with experts, whose reductions and all-to-alls the sum spreads over all layers.
  for (std::string_view id : presets().ids("scenarios")) DYNAMIC_SECTION(std::string(id)) check(stepped(scenario(id)), id == "deepseek-v3-2048" ? 0.03 : 0.01);
  DYNAMIC_SECTION("zero3") check(stepped(scenario("story", {{"parallel.framework", "deepspeed"}, {"parallel.data_sharding", "zero3"}})), 0.01);
}

TEST_CASE("all ranks of a layout: their lists meet in every group, and no rank is left waiting") {
  for (const char* sharding : {"ddp", "zero1"})
    DYNAMIC_SECTION(sharding) {
      const Stepped s = stepped(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data_sharding", sharding}, {"cluster.gpus_per_node", "8"}, {"parallel.tensor", "2"}, {"parallel.pipeline", "2"}, {"parallel.data", "2"}, {"training.global_batch_size", "8"}}), true);
      REQUIRE(s.jobs.size() == 8);
      for (std::size_t r = 0; r < 8; ++r) {
        CHECK(s.step.ranks[r].back().end.value > 0);
        CHECK(s.groups.stage_of(s.of[r]) == static_cast<int>(r / 4));  // pp is outermost
      }
      std::set<std::vector<int>> known(s.groups.groups().begin(), s.groups.groups().end());
      for (const std::vector<int>& g : {std::vector<int>{0, 1}, {6, 7}, {0, 2}, {5, 7}, {0, 4}, {4, 0}, {3, 7}}) CHECK(known.count(g) == 1);
      CHECK(is_near(s.step.end, stepped(s.plan).step.end, kExact));  // replicas do the same at the same time
    }
}

TEST_CASE("jobs hold what is waited for, not when: other speeds of the wires move them as the sum says") {
  EfficiencyConstants k = constants().efficiency;
  k.overlap_slowdown = k.straggler = k.scale = 0;  // both are part of a job's time
  for (const char* sharding : {"ddp", "fsdp", "zero2"})
    for (const double factor : {0.0, 0.2, 5.0, 40.0})
      DYNAMIC_SECTION(sharding << factor) {
        Stepped s = stepped(scenario("story", {{"parallel.data_sharding", sharding}, {"training.global_batch_size", "12"}}), false, k);
        StepCost other = s.cost;
        for (MessageCost& c : other.messages) c.call.time.value = factor * c.call.time.value;
        settle(s.plan, k, other);
        for (StepJob& j : s.jobs[0])
          if (j.message >= 0) j.time = factor * j.time;
        const PlayedStep step = played(s.jobs, s.of, s.groups);
        CHECK(is_near(step.end, other.time.value, kExact));
        CHECK(is_near(step.stood(0, s.jobs[0]), other.exposed_communication, 1e-6));
        if (factor > 1) CHECK(step.end > s.step.end);
      }
}

TEST_CASE("the products of a layer do the work of its weights: 2 FLOP a token and element forward, twice that backward") {
  const Plan plan = scenario("story");
  const StepProducts forward = step_products(plan, true), backward = step_products(plan, false);
  double elements = 0;
  for (const MatrixProduct& x : forward.layer) elements += x.n * x.k;
  // Mistral 7B: 4096² for queries and outputs, 4096·1024 for keys and values each, 3·4096·14336.
  CHECK(elements == 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336);
  const auto flops = [](const std::vector<MatrixProduct>& list) {
    double sum = 0;
    for (const MatrixProduct& x : list) sum += flops_of(x).value;
    return sum;
  };
  CHECK(flops(forward.layer) == 2 * 4096 * elements);
  CHECK(flops(backward.layer) == 2 * flops(forward.layer));
  CHECK(flops(forward.head) == 2.0 * 4096 * 4096 * 32000);
  CHECK(flops(backward.head) == 2 * flops(forward.head));
}

TEST_CASE("two ranks by hand: a call starts when both are there, compute waits for it, a list that waits for itself ends") {
  const Plan plan = scenario("story", {{"cluster.gpus_per_node", "2"}, {"training.global_batch_size", "2"}});
  const StepCost cost = estimate(plan, constants()).cost;
  const JobGroups groups(plan, cost);
  REQUIRE(groups.groups().front() == std::vector<int>{0, 1});
  const auto job = [](int lane, int group, double time, std::vector<int> after) {
    StepJob j;
    j.lane = lane;
    j.group = group;
    j.message = group;
    j.time = Seconds(time);
    j.after = std::move(after);
    return j;
  };
  const auto list = [&](double first) { return std::vector<StepJob>{job(0, -1, first, {}), job(1, 0, 2, {0}), job(0, -1, 1, {}), job(0, -1, 1, {1})}; };
  const PlayedStep step = played({list(1), list(3)}, {0, 1}, groups);
  CHECK(step.ranks[0][1].start == Seconds(3));
  CHECK(step.ranks[0][3].start == Seconds(5));
  CHECK(step.end == Seconds(6));
  CHECK(step.stood(0, list(1)) == Seconds(3));
  CHECK(step.stood(1, list(3)) == Seconds(1));
  const PlayedStep stuck = played({list(1), {job(0, -1, 1, {})}}, {0, 1}, groups);
  CHECK(stuck.ranks[0][1].end == Seconds(0));
}
