#include "core/step/host_optimizer.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "core/answer/explain.hpp"
#include "core/step/jobs.hpp"
#include "core/step/streams.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

const EfficiencyConstants& k() { return constants().efficiency; }

Plan offloaded(const char* framework, const char* sharding, const char* node = "dgx2-v100-32gb", const char* optimizer = "true", const char* parameters = "false") {
  return scenario("story", {{"cluster.node", node}, {"cluster.gpus_per_node", "4"}, {"parallel.framework", framework}, {"parallel.data_sharding", sharding}, {"training.master_weights_dtype", "fp32"}, {"training.offload.optimizer", optimizer}, {"training.offload.parameters", parameters}});
}

HostOptimizer on_host(const Plan& p) { return host_optimizer(p, 8, k()); }

bool is_near(double a, double b, double within) { return std::fabs(a / b - 1) < within; }

}  // namespace

TEST_CASE("published: Adam on the CPUs of a DGX-2, vectorised and PyTorch's own") {
  // Ren et al. 2021, table 4: seconds by billions of parameters. One process on the node, nothing to clip.
  constexpr struct { double billions, vectorised, plain; } kRows[] = {{1, 0.22, 1.39}, {2, 0.51, 2.75}, {4, 1.03, 5.71}, {8, 2.41, 11.93}, {10, 2.57, 14.76}};
  HostOptimizer o = on_host(offloaded("deepspeed", "zero2"));
  CHECK(o.sockets == 2);
  CHECK(o.bytes == 30);  // 16 read, 12 written, 2 written for the GPU
  o.ranks = 1;
  o.clipping = 0;
  HostOptimizer plain = o;
  plain.passes = k().host_optimizer_plain;
  for (const auto& row : kRows)
    DYNAMIC_SECTION(row.billions) {
      CHECK(is_near(o.time(row.billions * 1e9).value, row.vectorised, 0.18));
      CHECK(is_near(plain.time(row.billions * 1e9).value, row.plain, 0.05));
    }
}

TEST_CASE("published: what offload adds to a step of DeepSpeed on two A100 and EPYC 7742") {
  // DeepSpeed, blogs/zenflow-corebinding: Qwen2.5-1.5B (1.54 billion parameters, ZeRO-2, bf16) 1365 ms with offload and bound cores, 240 ms without.
  HostOptimizer o = on_host(offloaded("deepspeed", "zero2", "dgx-a100-40gb"));
  o.ranks = 2;
  const double rank = 1.54e9 / 2, copies = rank * (2 + 2) / k().host_link_bytes_per_s;
  CHECK(is_near(o.time(rank).value + copies, 1.365 - 0.240, 0.05));
}

TEST_CASE("bytes of a parameter: weight and states read and written, gradient read, by framework and type") {
  CHECK(on_host(offloaded("megatron", "zero1")).bytes == 28);
  CHECK(on_host(offloaded("megatron", "zero1")).clipping == 0);
  CHECK(on_host(offloaded("deepspeed", "zero3")).clipping == 8);
  Plan p = offloaded("pytorch", "fsdp");
  p.training.master_weights_dtype.reset();
  p.training.parameter_dtype = p.training.gradient_dtype = DType::bf16;
  p.training.switches.gradient_clipping = false;
  HostOptimizer o = host_optimizer(p, 4, k());
  CHECK(o.bytes == 2 * (2 + 4) + 2);
  CHECK(o.clipping == 0);
  p.training.switches.gradient_clipping = true;
  CHECK(host_optimizer(p, 4, k()).clipping == 6);
  for (const OptimizerKernel kernel : {OptimizerKernel::fused, OptimizerKernel::foreach, OptimizerKernel::loop}) {
    p.training.switches.optimizer_kernel = kernel;
    CHECK(host_optimizer(p, 4, k()).passes == (kernel == OptimizerKernel::fused ? 1 : k().host_optimizer_plain));
    p.parallel.framework = Framework::megatron;  // asks for the fused one whatever the model's own code does
    CHECK(host_optimizer(p, 4, k()).passes == 1);
    p.parallel.framework = Framework::pytorch;
  }
}

TEST_CASE("nothing to update takes no time; ranks of a node share its memory; sharded states are updated once") {
  HostOptimizer o = on_host(offloaded("deepspeed", "zero1"));
  CHECK(o.time(0).value == 0);
  const double one = o.time(1e9).value;
  CHECK(is_near(o.time(2e9).value, 2 * one, 1e-12));
  o.ranks *= 2;
  CHECK(is_near(o.time(1e9).value, 2 * one, 1e-12));
  o.sockets *= 2;
  CHECK(is_near(o.time(1e9).value, one, 1e-12));
  // Every replica of plain data parallelism updates all parameters, so a node of four does four times the work.
  const auto cost = [](const char* sharding) { return estimate(offloaded("megatron", sharding), constants()).cost; };
  const StepCost replicated = cost("ddp"), sharded = cost("zero1");
  CHECK(is_near(replicated.optimizer.value, 4 * sharded.optimizer.value, 1e-12));
  CHECK(is_near(replicated.stages[0].updated, 7241732096.0, 1e-12));
}

TEST_CASE("memory of a node by its CPU, and by the generation of what sits beside it") {
  Node node = offloaded("pytorch", "fsdp").cluster.node;
  const auto rate = [&](const char* nccl_class, int generation) {
    node.cpu.nccl_class = nccl_class;
    node.gpu.pcie_generation = generation;
    return host_memory_rate(node, k()).value;
  };
  CHECK(rate("skl", 3) == 58e9);
  CHECK(rate("skl", 4) > rate("skl", 3));   // Ice Lake
  CHECK(rate("amd", 5) > rate("amd", 4));   // EPYC 9004
  CHECK(rate("srp", 3) == rate("srp", 6));
  CHECK(rate("p9", 4) == k().host_memory_bytes_per_s);
  CHECK(rate("", 4) == k().host_memory_bytes_per_s);
  for (const HostMemory& m : k().host_memory) {
    CHECK(m.rate.value > 1e10);
    CHECK(m.rate.value < 1e12);
  }
}

TEST_CASE("where it runs: on the host what is offloaded, and with FSDP what updates shards that lie there") {
  CHECK(runs_optimizer_on_host(offloaded("pytorch", "ddp")));
  CHECK(runs_optimizer_on_host(offloaded("pytorch", "fsdp", "dgx2-v100-32gb", "false", "true")));
  CHECK(!runs_optimizer_on_host(offloaded("pytorch", "fsdp", "dgx2-v100-32gb", "false", "false")));
  CHECK(!runs_optimizer_on_host(offloaded("deepspeed", "zero3", "dgx2-v100-32gb", "false", "true")));
  CHECK(!runs_optimizer_on_host(offloaded("deepspeed", "ddp")));
  const StepCost without = estimate(offloaded("deepspeed", "ddp", "dgx2-v100-32gb", "false"), constants()).cost, ignored = estimate(offloaded("deepspeed", "ddp"), constants()).cost;
  CHECK(ignored.optimizer == without.optimizer);
  CHECK(ignored.offload == without.offload);
  CHECK(ignored.time.value == without.time.value);
}

TEST_CASE("an offloaded optimizer costs the step its time, and the GPU stands still for it") {
  for (const char* framework : {"megatron", "deepspeed"}) {
    DYNAMIC_SECTION(framework) {
      const Plan plan = offloaded(framework, "zero1");
      const StepCost cost = estimate(plan, constants()).cost, without = estimate(offloaded(framework, "zero1", "dgx2-v100-32gb", "false"), constants()).cost;
      CHECK(cost.optimizer > 10 * without.optimizer);
      CHECK(cost.time.value > without.time.value + cost.optimizer - without.optimizer);
      bool is_drawn = false, is_waited_for = false;
      const std::vector<StepStream> streams = step_streams(plan, cost, k());
      for (const StepStream& s : streams)
        for (const StepEvent& e : s.events)
          if (e.kind == StepEventKind::optimizer) {
            is_drawn = true;
            CHECK(s.name == "host");
            CHECK(is_near(e.duration.value, cost.optimizer.value, 1e-12));
          }
      for (const StepWait& w : step_waits(cost, streams))
        if (w.reason == "the optimizer on the host") {
          is_waited_for = true;
          CHECK(is_near(w.total.value, cost.optimizer.value, 1e-12));
        }
      CHECK(is_drawn);
      CHECK(is_waited_for);
      double on_host = 0;
      for (const StepJob& j : step_jobs(plan, cost, k(), JobGroups(plan, cost), 0)) {
        CHECK(j.kind != StepEventKind::optimizer);
        if (j.kind == StepEventKind::host) on_host = std::max(on_host, j.time.value);
      }
      CHECK(is_near(on_host, cost.optimizer.value, 1e-12));
    }
  }
}

TEST_CASE("its explanation states what it is made of") {
  const Plan plan = offloaded("deepspeed", "zero2");
  const Estimate e = estimate(plan, constants());
  const Result<Explanation> x = explain(plan, constants(), e, "step.optimizer_s");
  REQUIRE(x);
  CHECK(x.value().formula == "(a·b + c)·N·g/(s·R)");
  const auto value = [&](const char* symbol) {
    for (const ExplainedValue& v : x.value().values)
      if (v.symbol == symbol) return v.value;
    FAIL("no " << symbol);
    return 0.0;
  };
  CHECK(is_near((value("a") * value("b") + value("c")) * value("N") * value("g") / (value("s") * value("R")), e.step.optimizer.value, 1e-12));
}
