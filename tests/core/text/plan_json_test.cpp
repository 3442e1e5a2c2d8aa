#include "core/text/plan_json.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/core/describe/sound.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

std::string assumed_of(const Plan& plan, std::string_view path) {
  for (const Assumption& a : plan.assumed)
    if (a.path == path) return a.value;
  return "";
}

// Everything but what was assumed.
bool same(Plan a, Plan b) {
  a.assumed.clear();
  b.assumed.clear();
  a.left_open = b.left_open = {};  // a written plan states all
  return a == b;
}

// A plan as text: "parallel" given, the rest small.
std::string with_parallel(std::string_view parallel, std::string_view training = "{}") {
  return R"({"model":"mixtral-8x7b","training":)" + std::string(training) + R"(,"parallel":)" + std::string(parallel) +
         R"(,"cluster":{"nodes":2,"node":"dgx-a100-80gb"}})";
}

}  // namespace

TEST_CASE("left-out fields get the defaults of the format", "[text]") {
  const Plan p = plan_of(R"({"model":"mistral-7b-v0.1","cluster":"dgx-a100-80gb"})");
  CHECK(p.training.sequence_length == 4096);
  CHECK(p.training.micro_batch_size == 1);
  CHECK(p.training.global_batch_size == 8);
  CHECK(p.training.parameter_dtype == DType::bf16);
  CHECK(p.training.gradient_dtype == DType::bf16);
  CHECK(p.training.master_weights_dtype == DType::fp32);
  CHECK(p.training.optimizer == Optimizer::adamw);
  CHECK(p.training.optimizer_state_dtype == DType::fp32);
  CHECK(p.training.recompute == Recompute{});
  CHECK(p.training.loss == Loss::logits_fp32);
  CHECK(p.training.load == Load::meta);
  CHECK(p.training.implementation == "huggingface");
  CHECK(p.training.kernels == Kernels::eager);
  CHECK(p.parallel.framework == Framework::pytorch);
  CHECK(p.parallel.data_sharding == DataSharding::ddp);
  CHECK(p.parallel.data == 8);
  CHECK(p.parallel.order == "tp-cp-ep-dp-pp");
  CHECK(p.cluster.nodes == 1);
  CHECK(p.cluster.gpus_per_node == 8);
  CHECK_FALSE(p.cluster.network);
  CHECK(assumed_of(p, "parallel.data") == "8");
  CHECK(assumed_of(p, "training.global_batch_size") == "8");
  CHECK(assumed_of(p, "training.implementation") == "\"huggingface\"");
  CHECK(assumed_of(p, "training.kernels") == "\"eager\"");
  CHECK(assumed_of(p, "parallel.gradient_sync") == "\"last\"");
}

TEST_CASE("data and global batch follow the other dimensions", "[text]") {
  const Plan p =
      plan_of(with_parallel(R"({"framework":"megatron","tensor":4,"pipeline":2})", R"({"micro_batch_size":3})"));
  CHECK(p.parallel.data == 2);
  CHECK(p.training.global_batch_size == 6);
  const Plan stated =
      plan_of(with_parallel(R"({"framework":"megatron","tensor":4,"pipeline":2,"data":2})", R"({"global_batch_size":8})"));
  CHECK(assumed_of(stated, "parallel.data").empty());
  CHECK(assumed_of(stated, "training.global_batch_size").empty());
}

TEST_CASE("defaults follow the framework", "[text]") {
  struct Row {
    const char* framework;
    const char* sharding;
    GradientSync sync;
    bool gradient_reduce, parameter_gather;
    const char* implementation;
  };
  const Row rows[] = {
      {"pytorch", "ddp", GradientSync::last, true, true, "huggingface"},
      {"pytorch", "zero1", GradientSync::last, true, true, "huggingface"},
      {"pytorch", "zero2", GradientSync::every, true, true, "huggingface"},
      {"pytorch", "fsdp", GradientSync::every, true, true, "huggingface"},
      {"megatron", "ddp", GradientSync::last, false, false, "megatron-core"},
      {"megatron", "zero1", GradientSync::last, false, false, "megatron-core"},
      {"megatron", "fsdp", GradientSync::last, false, false, "megatron-core"},
      {"deepspeed", "zero1", GradientSync::last, false, false, "huggingface"},
      {"deepspeed", "zero2", GradientSync::every, false, false, "huggingface"},
      {"deepspeed", "zero3", GradientSync::every, true, true, "huggingface"},
  };
  for (const Row& row : rows) {
    const Plan p = plan_of(with_parallel(std::string(R"({"framework":")") + row.framework + R"(","data_sharding":")" +
                                      row.sharding + "\"}"));
    INFO(row.framework << " " << row.sharding);
    CHECK(p.parallel.gradient_sync == row.sync);
    CHECK(p.parallel.overlap.gradient_reduce == row.gradient_reduce);
    CHECK(p.parallel.overlap.parameter_gather == row.parameter_gather);
    CHECK_FALSE(p.parallel.overlap.tensor);
    CHECK(p.training.implementation == row.implementation);
    CHECK(p.training.kernels == presets().implementation(row.implementation).value().kernels);
  }
}

TEST_CASE("what is stated stays as stated", "[text]") {
  const Plan p = plan_of(with_parallel(R"({"overlap":{"gradient_reduce":false,"tensor":true},"gradient_sync":"every"})",
                                    R"({"implementation":"torchtitan@2025-08","kernels":"compiled"})"));
  CHECK_FALSE(p.parallel.overlap.gradient_reduce);
  CHECK(p.parallel.overlap.parameter_gather);
  CHECK(p.parallel.overlap.tensor);
  CHECK(p.parallel.gradient_sync == GradientSync::every);
  CHECK(p.training.kernels == Kernels::compiled);
  CHECK(assumed_of(p, "parallel.overlap") == R"({"parameter_gather":true,"pipeline":false})");
  CHECK(assumed_of(p, "training.kernels").empty());
}

TEST_CASE("several nodes come with their usual network", "[text]") {
  const Plan p = plan_of(with_parallel("{}"));
  REQUIRE(p.cluster.network);
  CHECK(p.cluster.network->shorthand == "infiniband-8x200");
  CHECK(assumed_of(p, "cluster.network") == "\"infiniband-8x200\"");
  const auto none = read_plan_text(R"({"model":"gpt2","cluster":{"nodes":2,"node":"rtx-4090-8x"}})", presets());
  REQUIRE_FALSE(none);
  CHECK(has_error(none.errors(), "cluster.network", "<fabric>", "none is known"));
}

TEST_CASE("a DeepSpeed configuration decides what it names", "[text]") {
  const Plan p = plan_of(with_parallel(
      R"({"framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":2,"overlap_comm":true,"offload_optimizer":{"device":"cpu"}}}})"));
  CHECK(p.parallel.data_sharding == DataSharding::zero2);
  CHECK(p.parallel.overlap.gradient_reduce);
  CHECK(p.training.offload.optimizer);
  CHECK_FALSE(p.training.offload.parameters);
  CHECK(assumed_of(p, "parallel.data_sharding") == "\"zero2\"");
  const auto contradiction = read_plan_text(
      with_parallel(
          R"({"framework":"deepspeed","data_sharding":"zero3","deepspeed":{"zero_optimization":{"stage":2}}})"),
      presets());
  REQUIRE_FALSE(contradiction);
  CHECK(has_error(contradiction.errors(), "parallel.deepspeed.zero_optimization.stage", "zero3"));
}

TEST_CASE("a model as an object has the defaults of the format", "[text]") {
  const Plan p = plan_of(
      R"({"model":{"hidden_size":1024,"num_layers":4,"num_attention_heads":16,"intermediate_size":4096,"mlp":"gelu","vocab_size":50257,
    "tie_word_embeddings":true,"norm":"layernorm","qkv_bias":true,"mlp_bias":true,"position":"learned","qk_norm":false},
    "training":{"sequence_length":2048},"cluster":"dgx-a100-80gb"})");
  CHECK(p.model.id.empty());
  CHECK(p.model.norms_per_layer == 2);
  CHECK(p.model.final_norm);
  CHECK(p.model.o_bias);  // as mlp_bias
  CHECK(p.model.num_key_value_heads == 16);
  CHECK(p.model.head_dim == 64);
  CHECK(p.model.max_position_embeddings == 2048);
  CHECK(p.model.qk_norm == QkNorm::none);
  CHECK(assumed_of(p, "model.head_dim") == "64");
  CHECK(assumed_of(p, "model.max_position_embeddings") == "2048");
}

TEST_CASE("shared experts are as wide as the routed ones unless stated", "[text]") {
  const char* model =
      R"({"model":{"hidden_size":1024,"num_layers":4,"num_attention_heads":16,"mlp":"swiglu","vocab_size":50257,"tie_word_embeddings":true,"norm":"rmsnorm",
    "qkv_bias":false,"mlp_bias":false,"position":"rope","moe":{"num_experts":8,"experts_per_token":2,"intermediate_size":512,"num_shared_experts":2}},"cluster":"dgx-a100-80gb"})";
  CHECK(plan_of(model).model.moe->shared_intermediate_size == 1024);
}

TEST_CASE("a complete document reads back as the same plan", "[text]") {
  const char* documents[] = {
      R"({"model":"mistral-7b-v0.1","cluster":"dgx-a100-80gb"})",
      R"({"model":{"kind":"opaque","parameters":86000000,"units":12,"flops_per_sample":1e11,"saved_bytes_per_sample":2e8},"cluster":"hgx-h100-80gb"})",
      R"({"model":"deepseek-v3","training":{"recompute":{"full_layers":4},"master_weights_dtype":null,"sequence_length_mean":512.5,"lora":{"rank":8,"targets":["q","down"],"base_dtype":"nf4"},
        "details":{"autocast":true,"bucket_bytes":26214400,"lora_dropout":0.1,"built":"zero-init","reduce_dtype":"bf16"},"offload":{"optimizer":true}},
        "parallel":{"data_sharding":"hsdp","shard_group":8,"fsdp_unit":2,"expert":8,"placement":[15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0],"overlap":{"tensor":true}},
        "cluster":{"nodes":2,"node":"dgx1-v100-32gb","network":{"fabric":"roce","nics_per_node":4,"nic_bytes_per_s":12.5e9,"oversubscription":2},"rack_nodes":2,"profile":{"schema":"wireplan.profile/1"},
        "assumed":[{"path":"node","value":null,"why":"a guess"}]}})",
      R"({"model":"gpt2","cluster":{"nodes":1,"node":{"gpu":{"memory_bytes":25769803776,"hbm_bytes_per_s":936e9,"bf16_flops_per_s":71e12,"nvlink":{"links":4,"bytes_per_s_per_direction":56e9}},
        "gpus":2,"wiring":{"kind":"nvlink-pairs","pairs":[[0,1]],"groups":[{"gpus":[0,1],"switch":false}],"pcie":{"generation":3}},"p2p":"01/10","sockets":2,"cpu":{"arch":"x86_64","vendor":null,"nccl_class":"skl"},
        "host_memory_bytes":137438953472,"power_limit_w":280,"launch":"single-process"}}})",
      R"({"model":"gpt2","cluster":{"node":{"gpu":"rtx-3090-24gb","gpus":2,"wiring":{"kind":"graph","components":[{"id":"cpu0","kind":"cpu","numa":0},{"id":"b","kind":"gpu"},{"id":"a","kind":"gpu","numa":0},
        {"id":"n","kind":"nic","bytes_per_s":1e9,"gpudirect":false}],"links":[{"a":"a","b":"cpu0","kind":"pcie","generation":4,"lanes":16},{"a":"cpu0","b":"b","kind":"pcie","bytes_per_s":12.5e9,"latency_s":1e-6},
        {"a":"n","b":"cpu0","kind":"pcie","generation":3,"lanes":8}]}}}})",
  };
  for (const char* text : documents) {
    const Plan plan = plan_of(text);
    const std::string written = dump_json(write_plan(plan));
    INFO(written);
    const Plan again = plan_of(written);
    CHECK(same(plan, again));
    CHECK(dump_json(write_plan(again)) == written);
  }
}

TEST_CASE("GPUs stand first in a graph, in the order given", "[text]") {
  const Plan p = plan_of(
      R"({"model":"gpt2","cluster":{"node":{"gpu":"rtx-3090-24gb","gpus":2,"wiring":{"kind":"graph","components":[{"id":"cpu0","kind":"cpu"},{"id":"b","kind":"gpu"},{"id":"a","kind":"gpu"}],
    "links":[{"a":"a","b":"cpu0","kind":"pcie","generation":4,"lanes":16},{"a":"cpu0","b":"b","kind":"pcie","bytes_per_s":12.5e9}]}}}})");
  const WiringGraph& g = p.cluster.node.wiring.graph;
  REQUIRE(g.components.size() == 3);
  CHECK(g.components[0].id == "b");
  CHECK(g.components[1].id == "a");
  CHECK(g.links[0].a == 1);
  CHECK(g.links[0].b == 2);
  CHECK_FALSE(g.links[0].stated);
  CHECK(g.links[1].stated);
}

TEST_CASE("set_path changes one field", "[text]") {
  Json document = parse_json(R"({"model":"gpt2","training":{"lora":null},"cluster":"dgx-a100-80gb"})").value();
  CHECK(set_path(document, "parallel.data_sharding", "fsdp").empty());
  CHECK(set_path(document, "training.lora.rank", "8").empty());
  CHECK(set_path(document, "training.lora.targets", R"(["q","v"])").empty());
  CHECK(set_path(document, "training.master_weights_dtype", "null").empty());
  CHECK(set_path(document, "cluster.gpus_per_node", "4").empty());
  CHECK(set_path(document, "model", "mistral-7b-v0.1").empty());
  CHECK(
      dump_json_compact(document) ==
      R"({"model":"mistral-7b-v0.1","training":{"lora":{"rank":8,"targets":["q","v"]},"master_weights_dtype":null},"cluster":{"nodes":1,"node":"dgx-a100-80gb","gpus_per_node":4},"parallel":{"data_sharding":"fsdp"}})");
  CHECK(read_plan(document, presets()));
  for (const char* path : {"", ".", "a..b", ".a", "a.", "model.hidden_size", "training.lora.rank.x"}) {
    INFO(path);
    CHECK(set_path(document, path, "1").size() == 1);
  }
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += ".a";
  CHECK(set_path(document, deep, "1").size() == 1);
}

TEST_CASE("the story's document is the plan of the article", "[text]") {
  const Json scenario = parse_json(presets().text("scenarios", "story")).value();
  const Plan p = read_plan(scenario["plan"], presets()).value();
  CHECK(p.model.id == "mistral-7b-v0.1");
  CHECK(p.cluster.node.id == "dgx-a100-80gb");
  CHECK(total_gpus(p.cluster) == 4);
  CHECK(p.parallel.data == 4);
  CHECK(p.parallel.data_sharding == DataSharding::ddp);
  CHECK(p.training.global_batch_size == 64);
  CHECK_FALSE(p.training.master_weights_dtype);
  CHECK(micro_batches(p) == 16);
}
