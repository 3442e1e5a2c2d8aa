#include "core/text/launch/launch.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "core/text/launch/hosts.hpp"
#include "core/text/launch/variables.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string script(const Plan& plan, Launcher launcher) { return launch_script(launch(plan, launcher), "test"); }

Plan plan_on(const std::string& cluster, const std::string& parallel = "{}", const std::string& model = "\"llama-3-8b\"") {
  return plan_of(R"({"schema":"wireplan.plan/1","model":)" + model + R"(,"training":{"gradient_dtype":"fp32"},"parallel":)" + parallel + R"(,"cluster":)" + cluster + "}");
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> all;
  for (const LaunchLine& v : launch_variables(plan)) all.push_back(v.text);
  return all;
}

}  // namespace

TEST_CASE("one host: nothing that is not needed is written", "[launch]") {
  const Plan plan = plan_on(R"({"nodes":1,"node":"hgx-h100-80gb","gpus_per_node":4})");  // GPUs 0 to 3 hang on one NUMA node
  const Launch l = launch(plan, Launcher::torchrun);
  CHECK(l.variables.empty());
  CHECK(l.before.size() == 1);
  const std::string text = script(plan, Launcher::torchrun);
  CHECK(has(text, "--standalone\n"));
  CHECK(has(text, "--nproc-per-node=4\n"));
  CHECK_FALSE(has(text, "CUDA_"));
  CHECK_FALSE(has(text, "NCCL_"));
}

TEST_CASE("each launcher numbers processes host by host", "[launch]") {
  const Plan plan = plan_on(R"({"nodes":4,"node":"hgx-h100-80gb","network":"infiniband-8x400"})");
  CHECK(has(script(plan, Launcher::torchrun), "--nnodes=4\n"));
  CHECK(has(script(plan, Launcher::torchrun), "--node-rank=\"$NODE_RANK\"\n"));
  CHECK(has(script(plan, Launcher::srun), "--ntasks-per-node=8\n"));
  CHECK(has(script(plan, Launcher::srun), "--distribution=block\n"));
  CHECK(has(script(plan, Launcher::mpirun), "-np 32\n"));
  CHECK(has(script(plan, Launcher::mpirun), "--map-by ppr:8:node\n"));
  CHECK(has(script(plan, Launcher::deepspeed), "--num_nodes=4\n"));
  CHECK(has(script(plan, Launcher::accelerate), "--num_processes=32\n"));
}

TEST_CASE("processes are bound to the NUMA node of their GPU", "[launch]") {
  const Plan plan = plan_on(R"({"nodes":2,"node":"hgx-h100-80gb","network":"infiniband-8x400"})");
  CHECK(hosts_of(plan).numa == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(has(script(plan, Launcher::srun), "--cpu-bind=map_ldom:0,0,0,0,1,1,1,1\n"));
  CHECK(has(script(plan, Launcher::torchrun), "numa=(0 0 0 0 1 1 1 1); n=${numa[$LOCAL_RANK]}; exec numactl --cpunodebind=$n --preferred=$n python"));
  CHECK(has(script(plan, Launcher::mpirun), "n=${numa[$OMPI_COMM_WORLD_LOCAL_RANK]}"));
  SECTION("the order of GPUs moves them") {
    const Plan moved = plan_on(R"({"nodes":2,"node":"hgx-h100-80gb","network":"infiniband-8x400","gpus":[0,4,1,5],"gpus_per_node":4})");
    CHECK(has(script(moved, Launcher::srun), "--cpu-bind=map_ldom:0,1,0,1\n"));
    CHECK(has(script(moved, Launcher::srun), "--gpus-per-node=8\n"));
    CHECK(has(script(moved, Launcher::torchrun), "export CUDA_VISIBLE_DEVICES=0,4,1,5\n"));
    CHECK(has(script(moved, Launcher::torchrun), "export CUDA_DEVICE_ORDER=PCI_BUS_ID\n"));
  }
}

TEST_CASE("a layout that was only assumed binds nothing, and that is said", "[launch]") {
  const Plan plan = plan_on(R"({"nodes":1,"node":"rtx-4090-8x"})");
  const Launch l = launch(plan, Launcher::torchrun);
  CHECK_FALSE(has(script(plan, Launcher::torchrun), "numactl"));
  REQUIRE(l.notes.size() == 1);
  CHECK(l.notes[0].path == "cluster.node.wiring");
  CHECK(has(l.notes[0].text, "assumed"));
}

TEST_CASE("placement becomes the order of visible GPUs", "[launch]") {
  const std::string cluster = R"({"nodes":1,"node":"dgx1-v100-16gb","gpus_per_node":4})";
  CHECK_FALSE(has(script(plan_on(cluster, R"({"placement":[0,1,2,3]})"), Launcher::torchrun), "VISIBLE"));
  CHECK(has(script(plan_on(cluster, R"({"placement":[0,2,1,3]})"), Launcher::torchrun), "export CUDA_VISIBLE_DEVICES=0,2,1,3\n"));
  CHECK(has(script(plan_on(cluster, R"({"placement":[0,2,1,3]})"), Launcher::srun), "export CUDA_VISIBLE_DEVICES=0,2,1,3; "));
  const std::string two = R"({"nodes":2,"node":"dgx1-v100-16gb","gpus_per_node":2,"network":"infiniband-4x100"})";
  CHECK(has(script(plan_on(two, R"({"placement":[0,1,3,2]})"), Launcher::torchrun), "gpus=(0,1 1,0); export CUDA_VISIBLE_DEVICES=${gpus[$NODE_RANK]}"));
  CHECK(has(script(plan_on(two, R"({"placement":[0,1,3,2]})"), Launcher::mpirun), "${gpus[$(( ${OMPI_COMM_WORLD_RANK:-$RANK} / 2 ))]}"));
  const Launch crossed = launch(plan_on(two, R"({"placement":[0,2,1,3]})"), Launcher::torchrun);
  REQUIRE(crossed.inexpressible.size() == 1);
  CHECK(crossed.inexpressible[0].path == "parallel.placement");
  CHECK(has(crossed.inexpressible[0].text, "rank 1 "));
  CHECK(crossed.variables.empty());
}

TEST_CASE("AMD's GPUs are chosen by HIP's variable", "[launch]") {
  const std::string text = script(plan_on(R"({"nodes":1,"node":"mi300x-8x","gpus":[4,5],"gpus_per_node":2})"), Launcher::torchrun);
  CHECK(has(text, "export HIP_VISIBLE_DEVICES=4,5\n"));
  CHECK_FALSE(has(text, "CUDA_"));
}

TEST_CASE("hosts of one NVLink domain are asked for in pieces that divide the job", "[launch]") {
  CHECK(segment_of(18, 18) == 18);
  CHECK(segment_of(36, 18) == 18);
  CHECK(segment_of(32, 18) == 16);
  CHECK(segment_of(17, 18) == 17);
  CHECK(segment_of(19, 18) == 1);
  CHECK(segment_of(8, 1) == 1);
  const Plan trays = plan_on(R"({"nodes":32,"node":"gb200-tray","network":"infiniband-4x400","rack_nodes":18})");
  CHECK(has(script(trays, Launcher::srun), "--segment=16\n"));
  CHECK_FALSE(has(script(trays, Launcher::torchrun), "segment"));
  SECTION("a rack drawn as one node is 18 hosts") {
    const Plan racks = plan_on(R"({"nodes":2,"node":"gb200-nvl72","network":"infiniband-72x400"})");
    const Hosts hosts = hosts_of(racks);
    CHECK(hosts.count == 36);
    CHECK(hosts.used == 4);
    CHECK(hosts.numa == std::vector<int>{0, 0, 1, 1});
    CHECK(has(script(racks, Launcher::srun), "--segment=18\n"));
  }
  SECTION("and no part of a tray") {
    const Launch l = launch(plan_on(R"({"nodes":1,"node":"gb200-nvl72","gpus_per_node":6})"), Launcher::srun);
    REQUIRE(l.inexpressible.size() == 1);
    CHECK(l.inexpressible[0].path == "cluster.gpus_per_node");
  }
}

TEST_CASE("variables appear where their reason holds and nowhere else", "[launch]") {
  using Names = std::vector<std::string>;
  const std::string two = R"({"nodes":2,"node":"hgx-h100-80gb","network":"infiniband-8x400"})";
  SECTION("peer access") {
    CHECK(names(plan_on(R"({"nodes":1,"node":"rtx-4090-8x"})")) == Names{"NCCL_P2P_DISABLE=1"});
    CHECK(names(plan_on(R"({"nodes":1,"node":"rtx-4090-8x","gpus_per_node":1})")).empty());
    CHECK(names(plan_on(R"({"nodes":1,"node":"rtx-4090-8x-p2p"})")).empty());
    CHECK(names(plan_on(R"({"nodes":1,"node":"hgx-h100-80gb"})")).empty());
    const Plan pairs = plan_on(R"({"nodes":1,"node":{"gpu":"rtx-3090-24gb","gpus":4,"wiring":{"kind":"nvlink-pairs","pairs":[[0,1],[2,3]]},"p2p":false,"sockets":1,"numa_nodes":1}})");
    CHECK(names(pairs) == Names{"NCCL_P2P_LEVEL=NVL"});
  }
  SECTION("Megatron's queue before Blackwell") {
    const std::string megatron = R"({"framework":"megatron","tensor":8})";
    CHECK(names(plan_on(two, megatron)) == Names{"CUDA_DEVICE_MAX_CONNECTIONS=1"});
    CHECK(names(plan_on(two, R"({"framework":"megatron","context":2})")) == Names{"CUDA_DEVICE_MAX_CONNECTIONS=1"});
    CHECK(names(plan_on(two, R"({"framework":"megatron","pipeline":2})")).empty());
    CHECK(names(plan_on(two, R"({"framework":"megatron","tensor":8,"data_sharding":"fsdp"})")).empty());
    CHECK(names(plan_on(two, R"({"tensor":8})")).empty());
    CHECK(names(plan_on(R"({"nodes":1,"node":"hgx-b200-180gb"})", megatron)).empty());
    CHECK(names(plan_on(R"({"nodes":1,"node":"hgx-b300-288gb"})", megatron)).empty());
  }
  SECTION("rails") {
    const auto rails = [](const char* oversubscription, const char* optimized) {
      return plan_on(std::string(R"({"nodes":2,"node":"hgx-h100-80gb","network":{"fabric":"infiniband","nics_per_node":8,"nic_bytes_per_s":5e10,"rail_optimized":)") + optimized + R"(,"oversubscription":)" + oversubscription + "}}");
    };
    CHECK(names(rails("2", "true")) == Names{"NCCL_CROSS_NIC=0"});
    CHECK(names(rails("1", "true")).empty());
    CHECK(names(rails("2", "false")).empty());
  }
  SECTION("some of the NICs, by name") {
    const auto nics = [](const char* rate) {
      return plan_on(std::string(R"({"nodes":2,"node":{"gpu":"a100-80gb-pcie","gpus":2,"sockets":1,"numa_nodes":1,"wiring":{"kind":"graph","components":[{"id":"gpu0","kind":"gpu"},{"id":"gpu1","kind":"gpu"},{"id":"cpu0","kind":"cpu"},
        {"id":"nic0","kind":"nic","model":"mlx5_0","bytes_per_s":2.5e10},{"id":"nic1","kind":"nic","model":"mlx5_2","bytes_per_s":)") + rate + R"(}],"links":[{"a":"gpu0","b":"cpu0","kind":"pcie","generation":4,"lanes":16},
        {"a":"gpu1","b":"cpu0","kind":"pcie","generation":4,"lanes":16},{"a":"nic0","b":"cpu0","kind":"pcie","generation":4,"lanes":16},{"a":"nic1","b":"cpu0","kind":"pcie","generation":4,"lanes":16}]}},
        "network":{"fabric":"infiniband","nics_per_node":1,"nic_bytes_per_s":2.5e10}})");
    };
    CHECK(names(nics("1.25e9")) == Names{"NCCL_IB_HCA==mlx5_0"});
    CHECK(names(nics("2.5e10")).empty());  // which of the two is not said
  }
}

TEST_CASE("every line of every launcher has its words; scripts of many plans are sound", "[launch]") {
  Random r(7);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(r));
    if (!plan) continue;
    ++seen;
    for (std::size_t launcher = 0; launcher < kNames<Launcher>.size(); ++launcher) {
      const Launch l = launch(*plan, static_cast<Launcher>(launcher));
      CHECK(l.hosts * l.processes_per_host == total_gpus(plan->cluster));
      for (const LaunchLine& v : l.variables) {
        CHECK_FALSE(v.why.empty());
        CHECK_FALSE(v.source.empty());
      }
      const std::string text = launch_script(l, "test");
      int quotes = 0;
      for (const char c : text) quotes += c == '"';
      CHECK(quotes % 2 == 0);
      const Json document = write_launch(l, text);
      CHECK(document.at("files")[0].at("text") == text);
      CHECK(document.at("launcher") == name_of(l.launcher));
    }
  }
  CHECK(seen > 100);
}
