#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

TEST_CASE("every sharding of a framework is accepted, every other names the nearest", "[describe]") {
  struct Row {
    Framework framework;
    DataSharding sharding;
    const char* nearest;  // "": the framework has it
  };
  // formats of the plan document, `data_sharding` by framework
  const Row rows[] = {
      {Framework::pytorch, DataSharding::ddp, ""},
      {Framework::pytorch, DataSharding::zero1, ""},
      {Framework::pytorch, DataSharding::zero2, ""},
      {Framework::pytorch, DataSharding::zero3, "Nearest: fsdp"},
      {Framework::pytorch, DataSharding::fsdp, ""},
      {Framework::pytorch, DataSharding::hsdp, ""},
      {Framework::megatron, DataSharding::ddp, ""},
      {Framework::megatron, DataSharding::zero1, ""},
      {Framework::megatron, DataSharding::zero2, "Nearest: zero1"},
      {Framework::megatron, DataSharding::zero3, "Nearest: fsdp"},
      {Framework::megatron, DataSharding::fsdp, ""},
      {Framework::megatron, DataSharding::hsdp, "Nearest: fsdp"},
      {Framework::deepspeed, DataSharding::ddp, ""},
      {Framework::deepspeed, DataSharding::zero1, ""},
      {Framework::deepspeed, DataSharding::zero2, ""},
      {Framework::deepspeed, DataSharding::zero3, ""},
      {Framework::deepspeed, DataSharding::fsdp, "Nearest: zero3"},
      {Framework::deepspeed, DataSharding::hsdp, "Nearest: zero3"},
  };
  for (const Row& row : rows) {
    Parallel p;
    p.framework = row.framework;
    p.data_sharding = row.sharding;
    if (row.sharding == DataSharding::hsdp) p.shard_group = 2;
    const Errors errors = validate(p, "parallel");
    INFO(name_of(row.framework) << " " << name_of(row.sharding) << "\n" << text_of(errors));
    const bool has = std::string_view(row.nearest).empty();
    CHECK(errors.size() == (has ? 0 : 1));
    if (!has) CHECK(has_error(errors, "parallel.data_sharding", "", row.nearest));
  }
}

TEST_CASE("each broken field of a layout has an error of its own", "[describe]") {
  struct Row {
    const char* path;
    const char* limit;
    std::function<void(Parallel&)> spoil;
  };
  const Row rows[] = {
      {"parallel.data", "1 to", [](Parallel& p) { p.data = 0; }},
      {"parallel.tensor", "1 to", [](Parallel& p) { p.tensor = -1; }},
      {"parallel.pipeline", "1 to", [](Parallel& p) { p.pipeline = 1'000'000; }},
      {"parallel.context", "1 to", [](Parallel& p) { p.context = 0; }},
      {"parallel.expert", "1 to", [](Parallel& p) { p.expert = 0; }},
      {"parallel.expert_tensor", "1 to", [](Parallel& p) { p.expert_tensor = 0; }},
      {"parallel.shard_group", "a divisor of data", [](Parallel& p) { p.data_sharding = DataSharding::hsdp; }},
      {"parallel.shard_group", "null unless",
       [](Parallel& p) {
         p.data_sharding = DataSharding::fsdp;
         p.shard_group = 2;
       }},
      {"parallel.fsdp_unit", "1 to", [](Parallel& p) { p.fsdp_unit = {FsdpUnit::Kind::layers, 0}; }},
      {"parallel.virtual_stages", "2 or more",
       [](Parallel& p) { p.pipeline_schedule = PipelineSchedule::interleaved; }},
      {"parallel.virtual_stages", "1 with pipeline_schedule 1f1b", [](Parallel& p) { p.virtual_stages = 2; }},
      {"parallel.pipeline", "even",
       [](Parallel& p) {
         p.pipeline_schedule = PipelineSchedule::dualpipe;
         p.pipeline = 3;
       }},
      {"parallel.order", "in any order", [](Parallel& p) { p.order = "tp-cp-ep-dp"; }},
      {"parallel.order", "in any order", [](Parallel& p) { p.order = "tp-tp-ep-dp-pp"; }},
      {"parallel.order", "in any order", [](Parallel& p) { p.order = "tp-cp-ep-dp-pp-"; }},
      {"parallel.order", "in any order", [](Parallel& p) { p.order = ""; }},
      {"parallel.placement.1", "each GPU 0 to 2 once", [](Parallel& p) { p.placement = {0, 0, 2}; }},
      {"parallel.placement.2", "each GPU 0 to 2 once", [](Parallel& p) { p.placement = {0, 1, 3}; }},
      {"parallel.deepspeed", "null unless", [](Parallel& p) { p.deepspeed = "{}"; }},
  };
  for (const Row& row : rows) {
    Parallel p;
    row.spoil(p);
    const Errors errors = validate(p, "parallel");
    INFO(row.path << "\n" << text_of(errors));
    CHECK(errors.size() == 1);
    CHECK(has_error(errors, row.path, row.limit, "Nearest"));
  }
}

TEST_CASE("any order of the five dimensions is accepted", "[describe]") {
  Parallel p;
  for (const char* order : {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-dp-ep-cp-tp"}) {
    p.order = order;
    CHECK(validate(p, "parallel").empty());
  }
}
