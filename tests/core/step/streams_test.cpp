#include "core/step/streams.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

struct Laid {
  Plan plan;
  StepCost cost;
  std::vector<StepStream> streams;
};

Laid laid(const Plan& plan) {
  Laid l{plan, estimate(plan, constants()).cost, {}};
  l.streams = step_streams(l.plan, l.cost, constants().efficiency);
  return l;
}

Seconds end_of(const StepEvent& e) { return e.start + e.duration; }

const StepStream* stream(const Laid& l, const char* name) {
  for (const StepStream& s : l.streams)
    if (s.name == name && s.stage == static_cast<Count>(l.cost.slowest)) return &s;
  return nullptr;
}

// What holds of every time line.
void check(const Laid& l) {
  const double time = l.cost.time.value.value;
  const StepStream* compute = stream(l, "compute");
  REQUIRE(compute);
  double end = 0;
  for (const StepStream& s : l.streams) {
    double free = 0;
    for (const StepEvent& e : s.events) {
      CHECK(e.start.value >= free);
      CHECK(e.duration.value > 0);
      if (e.communication >= 0) CHECK(e.name == l.cost.messages[static_cast<std::size_t>(e.communication)].message.name);
      free = end_of(e).value;
    }
    end = std::max(end, free);
  }
  CHECK(std::fabs(end - time) <= 1e-9 * time);
  // Standing still and working fill the step; every long stand has a reason.
  double working = 0, explained = 0, free = 0;
  for (const StepEvent& e : compute->events) {
    working += e.duration.value;
    if (e.start.value - free > 1e-6) CHECK(!e.waits_for.empty());
    free = end_of(e).value;
  }
  for (const StepWait& w : step_waits(l.cost, l.streams)) explained += w.total.value;
  CHECK(std::fabs(working + explained - time) <= 1e-6 * time);
}

}  // namespace

TEST_CASE("on every scenario the time line ends with the step, and no stream does two things at once") {
  for (std::string_view id : presets().ids("scenarios")) DYNAMIC_SECTION(std::string(id)) check(laid(scenario(id)));
}

TEST_CASE("the same with every sharding and every schedule") {
  for (const char* sharding : {"ddp", "zero1", "zero2", "fsdp"})
    DYNAMIC_SECTION(sharding) check(laid(scenario("story", {{"parallel.data_sharding", sharding}, {"training.global_batch_size", "32"}})));
  for (const char* sharding : {"ddp", "zero1", "zero2", "zero3"})
    DYNAMIC_SECTION("deepspeed " << sharding) check(laid(scenario("story", {{"parallel.framework", "deepspeed"}, {"parallel.data_sharding", sharding}})));
  for (const std::string_view schedule : kNames<PipelineSchedule>)
    DYNAMIC_SECTION(std::string(schedule)) {
      const bool is_interleaved = schedule == "interleaved";
      check(laid(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", "1"}, {"parallel.pipeline", "4"}, {"parallel.pipeline_schedule", std::string(schedule).c_str()}, {"parallel.virtual_stages", is_interleaved ? "2" : "1"}, {"training.global_batch_size", "16"}})));
    }
}

TEST_CASE("the same with parameters on the host, whose copies have a stream of their own") {
  for (const char* batch : {"4", "64", "2000"})
    DYNAMIC_SECTION(batch) {
      const Laid l = laid(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.offload.parameters", "true"}, {"training.offload.optimizer", "true"}, {"training.global_batch_size", batch}}));
      check(l);
      REQUIRE(stream(l, "copy"));
      CHECK(stream(l, "copy")->events.front().micro_batch == 0);
      CHECK(stream(l, "copy")->events.back().micro_batch == -1);  // the optimizer's
    }
}

TEST_CASE("without a pipeline every layer computes once in each direction of each micro-batch, forward before backward") {
  const Laid l = laid(scenario("story", {{"parallel.data_sharding", "fsdp"}, {"training.global_batch_size", "12"}}));
  std::set<std::pair<std::string, Count>> seen;
  for (const StepEvent& e : stream(l, "compute")->events)
    if (e.micro_batch >= 0) CHECK(seen.insert({e.name, e.micro_batch}).second);
  for (Count mb = 0; mb < 3; ++mb)
    for (Count layer = 0; layer < l.plan.model.num_layers; ++layer)
      for (const char* direction : {"forward of layer ", "backward of layer "}) CHECK(seen.count({direction + std::to_string(layer), mb}) == 1);
  // The network carries every call of every message once.
  double sent = 0, total = 0;
  for (const StepEvent& e : stream(l, "network")->events) sent += e.duration.value;
  for (const MessageCost& c : l.cost.messages) total += c.total.value;
  CHECK(std::fabs(sent / total - 1) < 1e-9);
}

TEST_CASE("slow wires: the first gather of a pass has nothing before it, later ones are longer than a layer computes") {
  const Laid l = laid(scenario("story", {{"cluster.node", "a100-80gb-pcie-4x-no-p2p"}, {"cluster.gpus_per_node", "4"}, {"parallel.data_sharding", "fsdp"}, {"training.global_batch_size", "8"}}));
  const std::vector<StepWait> waits = step_waits(l.cost, l.streams);
  REQUIRE(waits.size() >= 2);
  CHECK(waits.front().reason.find("longer than the layer before computes") != std::string::npos);
  bool has_first = false;
  for (const StepWait& w : waits) has_first = has_first || w.reason.starts_with("the first fsdp-all-gather-forward of the pass");
  CHECK(has_first);
}

TEST_CASE("a pipeline: the last stage waits for the first micro-batch to come down") {
  const Laid l = laid(scenario("story", {{"parallel.framework", "megatron"}, {"parallel.data", "1"}, {"parallel.pipeline", "4"}, {"training.global_batch_size", "8"}}));
  for (const StepStream& s : l.streams)
    if (s.name == "compute" && s.stage == 3) {
      CHECK(s.events.front().waits_for == "the first micro-batch, still in the stages before");
      CHECK(s.events.front().start.value > 2.9 * l.cost.paces[0].real_forward.value);
    }
}
