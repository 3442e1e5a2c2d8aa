// What a user can get wrong, one row each: the document, where the error stands and what its limit says.
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "core/text/plan_json.hpp"
#include "tests/core/describe/sound.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

Errors errors_of(std::string_view text) {
  const Result<Plan> plan = read_plan_text(text, presets());
  return plan ? Errors{} : plan.errors();
}

struct Row {
  const char* name;
  std::string document;
  const char* path;
  const char* limit;
};

std::string model(std::string_view json) {
  return R"({"model":)" + std::string(json) + R"(,"cluster":"dgx-a100-80gb"})";
}
std::string training(std::string_view members) {
  return R"({"model":"mistral-7b-v0.1","training":{)" + std::string(members) + R"(},"cluster":"dgx-a100-80gb"})";
}
std::string parallel(std::string_view members) {
  return R"({"model":"mistral-7b-v0.1","parallel":{)" + std::string(members) + R"(},"cluster":"dgx-a100-80gb"})";
}
std::string cluster(std::string_view json) {
  return R"({"model":"mistral-7b-v0.1","cluster":)" + std::string(json) + "}";
}
std::string profile(std::string_view members) {
  return cluster(R"({"node":"dgx-a100-80gb","profile":{)" + std::string(members) + "}}");
}
std::string curve(std::string_view members) { return profile(R"("collectives":[{)" + std::string(members) + "}]"); }
std::string wiring(std::string_view json) {
  return cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":2,"wiring":)" + std::string(json) + "}}");
}

// A sound small model, one member replaced or added.
std::string model_with(std::string_view key, std::string_view value) {
  const char* members[][2] = {{"hidden_size", "1024"},       {"num_layers", "4"},     {"num_attention_heads", "16"},
                              {"num_key_value_heads", "16"}, {"head_dim", "64"},      {"intermediate_size", "4096"},
                              {"mlp", "\"gelu\""},           {"vocab_size", "50257"}, {"tie_word_embeddings", "true"},
                              {"norm", "\"layernorm\""},     {"qkv_bias", "true"},    {"mlp_bias", "true"},
                              {"position", "\"rope\""}};
  std::string text;
  bool replaced = false;
  for (const auto& [name, usual] : members) {
    const bool here = key == name;
    replaced = replaced || here;
    if (here && value.empty()) continue;  // left out
    text += (text.empty() ? "" : ",") + ("\"" + std::string(name) + "\":") + (here ? std::string(value) : usual);
  }
  if (!replaced) text += ",\"" + std::string(key) + "\":" + std::string(value);
  return model("{" + text + "}");
}

std::vector<Row> rows() {
  return {
      // the document
      {"empty text", "", "", "JSON"},
      {"not an object", "[]", "", "an object"},
      {"a number", "7", "", "an object"},
      {"truncated", R"({"model":"gpt2")", "", "JSON"},
      {"truncated UTF-8", "{\"model\":\"gpt\xc3", "", "UTF-8"},
      {"NaN", R"({"model":"gpt2","cluster":{"node":"dgx-a100-80gb","nodes":NaN}})", "", "JSON"},
      {"number beyond a double", training(R"("hidden_dropout":1e999)"), "", "JSON"},
      {"a key twice", R"({"model":"gpt2","model":"gpt2","cluster":"dgx-a100-80gb"})", "", "each key once"},
      {"50 MB", std::string(50'000'000, ' '), "", "at most 4,000,000 bytes"},
      {"deep nesting", std::string(1'000'000, '['), "", "64 levels"},
      {"another schema", R"({"schema":"wireplan.estimate/1","model":"gpt2","cluster":"dgx-a100-80gb"})", "schema",
       "wireplan.plan/1"},
      {"schema of the wrong type", R"({"schema":1,"model":"gpt2","cluster":"dgx-a100-80gb"})", "schema", "text"},
      {"unknown key", R"({"modl":"gpt2","model":"gpt2","cluster":"dgx-a100-80gb"})", "modl", "model"},
      {"no model", R"({"cluster":"dgx-a100-80gb"})", "model", "the id of a model, or an object"},
      {"no cluster", R"({"model":"gpt2"})", "cluster", "a cluster, or the id of a node"},
      {"cluster null", R"({"model":"gpt2","cluster":null})", "cluster", "a cluster, or the id of a node"},
      {"training a list", R"({"model":"gpt2","training":[],"cluster":"dgx-a100-80gb"})", "training", "an object"},
      {"parallel text", R"({"model":"gpt2","parallel":"fsdp","cluster":"dgx-a100-80gb"})", "parallel", "an object"},

      // the model
      {"unknown model", model("\"mistral-7b\""), "model", "model preset"},
      {"model a number", model("7"), "model", "the id of a model, or an object"},
      {"model empty", model("{}"), "model.hidden_size", "a whole number"},
      {"model of another kind", model(R"({"kind":"encoder","parameters":1})"), "model.kind", "opaque"},
      {"opaque without parameters", model(R"({"kind":"opaque"})"), "model.parameters", "a whole number"},
      {"opaque with a decoder's key", model(R"({"kind":"opaque","parameters":1000,"hidden_size":4})"),
       "model.hidden_size", "parameters"},
      {"opaque without a parameter", model(R"({"kind":"opaque","parameters":0})"), "model.parameters", "1 to"},
      {"unknown key of a model", model_with("hiden_size", "4"), "model.hiden_size", "hidden_size"},
      {"hidden size left out", model_with("hidden_size", ""), "model.hidden_size", "a whole number"},
      {"hidden size null", model_with("hidden_size", "null"), "model.hidden_size", "a whole number"},
      {"hidden size as text", model_with("hidden_size", "\"1024\""), "model.hidden_size", "a whole number"},
      {"hidden size with a fraction", model_with("hidden_size", "1024.5"), "model.hidden_size", "a whole number"},
      {"hidden size 0", model_with("hidden_size", "0"), "model.hidden_size", "1 to 1000000"},
      {"hidden size negative", model_with("hidden_size", "-1024"), "model.hidden_size", "1 to 1000000"},
      {"hidden size absurd", model_with("hidden_size", "1e15"), "model.hidden_size", "1 to 1000000"},
      {"hidden size 1e300", model_with("hidden_size", "1e300"), "model.hidden_size", "a whole number below 2^53"},
      {"layers beyond 64 bits", model_with("num_layers", "99999999999999999999999"), "model.num_layers",
       "a whole number below 2^53"},
      {"absurd in all",
       model(
           R"({"hidden_size":1000000,"num_layers":100000,"num_attention_heads":1000,"head_dim":1000,"intermediate_size":1000000,"mlp":"gelu","vocab_size":50257,
        "tie_word_embeddings":true,"norm":"layernorm","qkv_bias":true,"mlp_bias":true,"position":"rope"})"),
       "model", "1e14 parameters"},
      {"KV heads do not divide heads", model_with("num_key_value_heads", "3"), "model.num_key_value_heads",
       "a divisor of num_attention_heads, 16"},
      {"unknown activation", model_with("mlp", "\"swish\""), "model.mlp", "swiglu | geglu | gelu | relu | relu2"},
      {"activation of the wrong type", model_with("mlp", "3"), "model.mlp", "swiglu"},
      {"boolean as number", model_with("tie_word_embeddings", "1"), "model.tie_word_embeddings", "true or false"},
      {"q/k norm true", model_with("qk_norm", "true"), "model.qk_norm", "none | per-head"},
      {"window pattern as text", model_with("sliding_window_pattern", "\"alternating\""),
       "model.sliding_window_pattern", "an object"},
      {"window pattern without a window", model_with("sliding_window_pattern", "{\"global_every\":2}"),
       "model.sliding_window_pattern", "null"},
      {"experts empty", model_with("moe", "{}"), "model.moe.num_experts", "a whole number"},
      {"more experts a token than there are",
       model_with("moe", R"({"num_experts":4,"experts_per_token":5,"intermediate_size":1})"),
       "model.moe.experts_per_token", "at most num_experts"},
      {"router bias of no kind",
       model_with("moe", R"({"num_experts":4,"experts_per_token":1,"intermediate_size":1,"router_bias":"yes"})"),
       "model.moe.router_bias", "none | trained | correction"},
      {"latent attention incomplete", model_with("mla", "{\"kv_lora_rank\":4}"), "model.mla.v_head_dim",
       "a whole number"},

      // the training
      {"unknown key of the training", training(R"("batch_size":4)"), "training.batch_size", "micro_batch_size"},
      {"sequence 0", training(R"("sequence_length":0)"), "training.sequence_length", "1 to 100000000"},
      {"sequence null", training(R"("sequence_length":null)"), "training.sequence_length", "a whole number"},
      {"sequence absurd", training(R"("sequence_length":1e15)"), "training.sequence_length", "1 to 100000000"},
      {"mean beyond the length", training(R"("sequence_length_mean":5000)"), "training.sequence_length_mean",
       "1 to 4096"},
      {"micro-batch with a fraction", training(R"("micro_batch_size":1.5)"), "training.micro_batch_size",
       "a whole number"},
      {"micro-batch negative", training(R"("micro_batch_size":-1)"), "training.micro_batch_size", "1 to"},
      {"batch not divisible", training(R"("global_batch_size":63)"), "training.global_batch_size",
       "a multiple of micro_batch_size × data, 8"},
      {"batch 0", training(R"("global_batch_size":0)"), "training.global_batch_size", "1 to"},
      {"batch 1e300", training(R"("global_batch_size":1e300)"), "training.global_batch_size", "below 2^53"},
      {"unknown dtype", training(R"("parameter_dtype":"bfloat16")"), "training.parameter_dtype",
       "fp32 | bf16 | fp16 | fp8 | mxfp8 | nvfp4"},
      {"dtype that gradients do not have", training(R"("gradient_dtype":"fp8")"), "training.gradient_dtype",
       "fp32 | bf16 | fp16"},
      {"master in bf16", training(R"("master_weights_dtype":"bf16")"), "training.master_weights_dtype", "null | fp32"},
      {"states in fp8", training(R"("optimizer_state_dtype":"fp8")"), "training.optimizer_state_dtype", "int8"},
      {"unknown optimizer", training(R"("optimizer":"adamw8bit")"), "training.optimizer", "adamw-8bit"},
      {"more chunks than tokens", training(R"("sequence_length":64,"details":{"loss_chunks":65})"),
       "training.details.loss_chunks", "at most sequence_length, 64"},
      {"unknown recompute", training(R"("recompute":"block")"), "training.recompute", "full_layers"},
      {"recompute with an unknown key", training(R"("recompute":{"layers":4})"), "training.recompute.layers",
       "full_layers"},
      {"recompute of both kinds", training(R"("recompute":{"every":2,"full_layers":4})"), "training.recompute",
       "every"},
      {"recompute empty", training(R"("recompute":{})"), "training.recompute", "every"},
      {"recompute of more layers than there are", training(R"("recompute":{"full_layers":33})"),
       "training.recompute.full_layers", "at most 32"},
      {"unknown loss", training(R"("loss":"fused-ce")"), "training.loss", "logits-fp32 | fused | chunked"},
      {"unknown implementation", training(R"("implementation":"torchtitn")"), "training.implementation",
       "implementation"},
      {"implementation with a bad date", training(R"("implementation":"torchtitan@march")"), "training.implementation",
       "<YYYY>"},
      {"implementation with a 13th month", training(R"("implementation":"torchtitan@2025-13")"),
       "training.implementation", "<YYYY>"},
      {"implementation of another framework", training(R"("implementation":"megatron-core")"),
       "training.implementation", "framework pytorch"},
      {"unknown detail", training(R"("details":{"autocst":true})"), "training.details.autocst", "autocast"},
      {"detail of the wrong type", training(R"("details":{"autocast":1})"), "training.details.autocast",
       "true or false"},
      {"detail out of range", training(R"("details":{"fsdp_version":3})"), "training.details.fsdp_version", "1 to 2"},
      {"details a list", training(R"("details":[])"), "training.details", "an object"},
      {"dropout above 1", training(R"("hidden_dropout":2)"), "training.hidden_dropout", "0 to 1"},
      {"adapters without targets", training(R"("lora":{"rank":8})"), "training.lora.targets", "a list of q"},
      {"adapters of no rank", training(R"("lora":{"rank":0,"targets":["q"]})"), "training.lora.rank", "1 to"},
      {"unknown target", training(R"("lora":{"rank":8,"targets":["q","x"]})"), "training.lora.targets.1", "q | k | v"},
      {"base in fp32", training(R"("lora":{"rank":8,"targets":["q"],"base_dtype":"fp32"})"), "training.lora.base_dtype",
       "nf4"},
      {"offload true", training(R"("offload":true)"), "training.offload", "an object"},
      {"offload of nothing known", training(R"("offload":{"gradients":true})"), "training.offload.gradients",
       "optimizer"},

      // the layout
      {"unknown key of the layout", parallel(R"("tensors":2)"), "parallel.tensors", "tensor"},
      {"heads not divisible",
       R"({"model":"mistral-7b-v0.1","parallel":{"tensor":3},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":6}})",
       "parallel.tensor", "a divisor of 32 attention heads"},
      {"layout does not match the GPUs", parallel(R"("data":3)"), "parallel.data", "= 8 GPUs"},
      {"layout larger than the cluster", parallel(R"("tensor":16)"), "parallel.data", "= 8 GPUs"},
      {"data 0", parallel(R"("data":0)"), "parallel.data", "1 to"},
      {"tensor with a fraction", parallel(R"("tensor":1.5)"), "parallel.tensor", "a whole number"},
      {"tensor absurd", parallel(R"("tensor":1e15)"), "parallel.tensor", "1 to"},
      {"pipeline that layers do not divide into",
       R"({"model":"mistral-7b-v0.1","parallel":{"pipeline":7},"cluster":{"node":"dgx-a100-80gb","gpus_per_node":7}})",
       "parallel.pipeline", "32 or 34"},
      {"experts without a MoE", parallel(R"("expert":2)"), "parallel.expert", "1 for a model without experts"},
      {"sharding the framework has not", parallel(R"("data_sharding":"zero3")"), "parallel.data_sharding",
       "ddp | zero1 | zero2 | fsdp | hsdp"},
      {"sharding nobody has", parallel(R"("data_sharding":"zero4")"), "parallel.data_sharding", "zero3"},
      {"unknown framework", parallel(R"("framework":"jax")"), "parallel.framework", "pytorch | megatron | deepspeed"},
      {"hsdp without its group", parallel(R"("data_sharding":"hsdp")"), "parallel.shard_group",
       "a divisor of data × context"},
      {"hsdp with a group that does not divide", parallel(R"("data_sharding":"hsdp","shard_group":3)"),
       "parallel.shard_group", "a divisor of data × context, 8"},
      {"group 0", parallel(R"("data_sharding":"hsdp","shard_group":0)"), "parallel.shard_group", "1 and more"},
      {"unit of no kind", parallel(R"("fsdp_unit":"layer")"), "parallel.fsdp_unit", "block"},
      {"unit of no layers", parallel(R"("fsdp_unit":0)"), "parallel.fsdp_unit", "1 to"},
      {"unknown schedule", parallel(R"("pipeline_schedule":"1f1b-interleaved")"), "parallel.pipeline_schedule",
       "interleaved"},
      {"interleaved with one chunk", parallel(R"("pipeline_schedule":"interleaved","pipeline":2)"),
       "parallel.virtual_stages", "2 or more"},
      {"order without pp", parallel(R"("order":"tp-cp-ep-dp")"), "parallel.order", "in any order"},
      {"placement no permutation", parallel(R"("placement":[0,1,2,3,4,5,6,6])"), "parallel.placement.7", "once"},
      {"placement of nobody", parallel(R"("placement":[])"), "parallel.placement", "null, or a list"},
      {"placement too short", parallel(R"("placement":[0,1])"), "parallel.placement", "one GPU for each rank, 8"},
      {"placement of text", parallel(R"("placement":["0"])"), "parallel.placement.0", "a whole number"},
      {"placement beyond an int", parallel(R"("placement":[4294967296])"), "parallel.placement.0", "below 2^31"},
      {"overlap true", parallel(R"("overlap":true)"), "parallel.overlap", "an object"},
      {"overlap of nothing known", parallel(R"("overlap":{"gradients":true})"), "parallel.overlap.gradients",
       "gradient_reduce"},
      {"DeepSpeed configuration under PyTorch", parallel(R"("deepspeed":{"zero_optimization":{}})"),
       "parallel.deepspeed", "framework is deepspeed"},
      {"DeepSpeed configuration as text", parallel(R"("framework":"deepspeed","deepspeed":"ds.json")"),
       "parallel.deepspeed", "a DeepSpeed configuration"},
      {"stage 4", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":4}})"),
       "parallel.deepspeed.zero_optimization.stage", "0 to 3"},
      {"ZeRO as a number", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":7})"),
       "parallel.deepspeed.zero_optimization", "an object"},
      {"bucket below 0", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":2,"reduce_bucket_size":-1}})"),
       "parallel.deepspeed.zero_optimization.reduce_bucket_size", "0 to 1e15"},
      {"bucket beyond all models", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":2,"reduce_bucket_size":1e300}})"),
       "parallel.deepspeed.zero_optimization.reduce_bucket_size", "0 to 1e15"},
      {"bucket as text", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":2,"reduce_bucket_size":"5e8"}})"),
       "parallel.deepspeed.zero_optimization.reduce_bucket_size", "auto"},
      {"overlap as a number", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":2,"overlap_comm":1}})"),
       "parallel.deepspeed.zero_optimization.overlap_comm", "true or false"},
      {"offload as text", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":3,"offload_param":"cpu"}})"),
       "parallel.deepspeed.zero_optimization.offload_param", "an object"},
      {"offload to a device there is not", parallel(R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":3,"offload_optimizer":{"device":"gpu"}}})"),
       "parallel.deepspeed.zero_optimization.offload_optimizer.device", "cpu | nvme | none"},

      // the cluster
      {"unknown node", cluster("\"dgx-a100\""), "cluster", "node preset"},
      {"cluster a number", cluster("4"), "cluster", "an object"},
      {"unknown key of a cluster", cluster(R"({"node":"dgx-a100-80gb","gpus":4})"), "cluster.gpus", "gpus_per_node"},
      {"cluster without a node", cluster("{}"), "cluster.node", "the id of a node"},
      {"unknown node in a cluster", cluster(R"({"node":"dgx-a100"})"), "cluster.node", "node preset"},
      {"cluster of another schema", cluster(R"({"schema":"wireplan.plan/1","node":"dgx-a100-80gb"})"), "cluster.schema",
       "wireplan.cluster/1"},
      {"0 nodes", cluster(R"({"node":"dgx-a100-80gb","nodes":0})"), "cluster.nodes", "1 to 100000"},
      {"-1 nodes", cluster(R"({"node":"dgx-a100-80gb","nodes":-1})"), "cluster.nodes", "1 to 100000"},
      {"a billion nodes", cluster(R"({"node":"dgx-a100-80gb","nodes":1000000000})"), "cluster.nodes", "1 to 100000"},
      {"0 GPUs", cluster(R"({"node":"dgx-a100-80gb","gpus_per_node":0})"), "cluster.gpus_per_node", "1 to 8"},
      {"more GPUs than the node has", cluster(R"({"node":"dgx-a100-80gb","gpus_per_node":16})"),
       "cluster.gpus_per_node", "1 to 8"},
      {"network of no form", cluster(R"({"node":"dgx-a100-80gb","nodes":2,"network":"400G"})"), "cluster.network",
       "<fabric>-<NICs per node>x<Gbit/s>"},
      {"network incomplete",
       cluster(R"({"node":"dgx-a100-80gb","nodes":2,"network":{"fabric":"roce","nics_per_node":8}})"),
       "cluster.network.nic_bytes_per_s", "a number"},
      {"network a number", cluster(R"({"node":"dgx-a100-80gb","nodes":2,"network":400})"), "cluster.network",
       "an object"},
      {"network too fast",
       cluster(
           R"({"node":"dgx-a100-80gb","nodes":2,"network":{"fabric":"roce","nics_per_node":8,"nic_bytes_per_s":1e300}})"),
       "cluster.network.nic_bytes_per_s", "1000000 to"},
      {"rack of no nodes", cluster(R"({"node":"dgx-a100-80gb","rack_nodes":0})"), "cluster.rack_nodes", "1 and more"},
      {"profile as text", cluster(R"({"node":"dgx-a100-80gb","profile":"profile.json"})"), "cluster.profile",
       "a profile document"},
      {"profile of another schema", profile(R"("schema":"wireplan.run/1")"), "cluster.profile.schema", "wireplan.profile/1"},
      {"profile with a mistyped key", profile(R"("colectives":[])"), "cluster.profile.colectives", "collectives"},
      {"curves no list", profile(R"("collectives":{})"), "cluster.profile.collectives", "a list"},
      {"curve of no operation", curve(R"("op":"allreduce","ranks":8,"points":[[1,1]])"), "cluster.profile.collectives.0.op", "all_reduce"},
      {"curve of one rank", curve(R"("op":"all_reduce","ranks":1,"points":[[1,1]])"), "cluster.profile.collectives.0.ranks", "2 to 100000"},
      {"curve on more nodes than ranks", curve(R"("op":"all_reduce","ranks":2,"nodes":4,"points":[[1,1]])"), "cluster.profile.collectives.0.nodes", "at most the ranks"},
      {"curve without points", curve(R"("op":"all_reduce","ranks":2,"points":[])"), "cluster.profile.collectives.0.points", "1 to 10000"},
      {"curve whose points are missing", curve(R"("op":"all_reduce","ranks":2)"), "cluster.profile.collectives.0.points", "a list of"},
      {"point of three numbers", curve(R"("op":"all_reduce","ranks":2,"points":[[1,1],[2,1,3]])"), "cluster.profile.collectives.0.points.1", "1e-9 to 1e6 s"},
      {"point of no time", curve(R"("op":"all_reduce","ranks":2,"points":[[2,1],[1,0]])"), "cluster.profile.collectives.0.points.1", "1e-9 to 1e6 s"},
      {"point of no size", curve(R"("op":"all_reduce","ranks":2,"points":[[0,1e-5],[1,1e-5]])"), "cluster.profile.collectives.0.points.0", "1 to 1e15"},
      {"GPU twice in a curve", curve(R"("op":"all_reduce","ranks":2,"gpus":[1,1],"points":[[1,1]])"), "cluster.profile.collectives.0.gpus", "different indices"},
      {"curve launched somehow", curve(R"("op":"all_reduce","ranks":2,"launch":"mpi","points":[[1,1]])"), "cluster.profile.collectives.0.launch", "process-per-gpu"},
      {"product of no size", profile(R"("gemm":[{"dtype":"bf16","m":0,"n":1,"k":1,"flops_per_s":1e12}])"), "cluster.profile.gemm.0.m", "1 to"},
      {"memory of no rate", profile(R"("hbm_bytes_per_s":0)"), "cluster.profile.hbm_bytes_per_s", "null"},
      {"fit that is too fast", profile(R"("fit":[{"op":"broadcast","latency_s":0,"bytes_per_s":1e300}])"), "cluster.profile.fit.0.bytes_per_s", "1 to"},
      {"node without a GPU", cluster(R"({"node":{"gpus":1}})"), "cluster.node.gpu", "the id of a GPU"},
      {"unknown GPU", cluster(R"({"node":{"gpu":"a100","gpus":1}})"), "cluster.node.gpu", "gpu preset"},
      {"GPU without memory", cluster(R"({"node":{"gpu":{"hbm_bytes_per_s":1e12},"gpus":1}})"),
       "cluster.node.gpu.memory_bytes", "a number"},
      {"GPU of negative memory", cluster(R"({"node":{"gpu":{"hbm_bytes_per_s":1e12,"memory_bytes":-1},"gpus":1}})"),
       "cluster.node.gpu.memory_bytes", "1000000 to"},
      {"unknown key of a GPU",
       cluster(R"({"node":{"gpu":{"hbm_bytes_per_s":1e12,"memory_bytes":1e10,"tflops":312},"gpus":1}})"),
       "cluster.node.gpu.tflops", "bf16_flops_per_s"},
      {"node of no GPUs", cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":0,"wiring":{"kind":"pcie-host"}}})"),
       "cluster.node.gpus", "1 to 1024"},
      {"node of a million GPUs",
       cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":1000000,"wiring":{"kind":"pcie-host"}}})"), "cluster.node.gpus",
       "1 to 1024"},
      {"node without wiring", cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":2}})"), "cluster.node.wiring",
       "an object"},
      {"launch of no kind", cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":1,"launch":"mpi"}})"),
       "cluster.node.launch", "process-per-gpu"},
      {"CPU of no class", cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":1,"cpu":{"nccl_class":"zen4"}}})"),
       "cluster.node.cpu.nccl_class", "bdw | skl"},
      {"P2P a number", cluster(R"({"node":{"gpu":"a100-80gb-sxm","gpus":1,"p2p":1}})"), "cluster.node.p2p",
       "true, false, null"},
      {"P2P matrix of another size", wiring(R"({"kind":"nvswitch"},"p2p":"0")"), "cluster.node.p2p",
       "a row of 0 and 1"},
      {"more GPUs than can be counted", cluster(R"({"nodes":97657,"node":{"gpu":"h100-80gb-sxm","gpus":1024,"wiring":{"kind":"nvswitch"}},"network":"infiniband-8x400"})"),
       "cluster.nodes", "at most 100000000 GPUs"},
      {"power limit of nothing", wiring(R"({"kind":"nvswitch"},"power_limit_w":1e-300)"), "cluster.node.power_limit_w", "10"},
      {"component id that cannot be shown", wiring(R"({"kind":"graph","components":[{"id":"a\nb","kind":"gpu"},{"id":"gpu1","kind":"gpu"}],"links":[{"a":"a\nb","b":"gpu1","kind":"nvlink","bytes_per_s":1e11}]})"),
       "cluster.node.wiring.components.0.id", "printable"},
      {"wiring of no kind", wiring(R"({"kind":"nvlink"})"), "cluster.node.wiring.kind", "nvlink-mesh"},
      {"wiring without a kind", wiring("{}"), "cluster.node.wiring.kind", "nvswitch | nvlink-mesh"},
      {"links of another kind of wiring", wiring(R"({"kind":"nvswitch","links":[[0,1,2]]})"),
       "cluster.node.wiring.links", "groups"},
      {"mesh without links", wiring(R"({"kind":"nvlink-mesh"})"), "cluster.node.wiring.links", "at least one"},
      {"mesh of a GPU there is not", wiring(R"({"kind":"nvlink-mesh","links":[[0,2,1]]})"),
       "cluster.node.wiring.links.0", "0 to 1"},
      {"mesh of pairs", wiring(R"({"kind":"nvlink-mesh","links":[[0,1]]})"), "cluster.node.wiring.links.0",
       "[GPU, GPU, links]"},
      {"group of a GPU twice", wiring(R"({"kind":"pcie-host","groups":[{"gpus":[0,1,1]}]})"),
       "cluster.node.wiring.groups.0.gpus.2", "each GPU in one group"},
      {"group on a socket there is not", wiring(R"({"kind":"pcie-host","groups":[{"socket":1,"gpus":[0,1]}]})"),
       "cluster.node.wiring.groups.0.socket", "0 to 0"},
      {"graph without components", wiring(R"({"kind":"graph","links":[]})"), "cluster.node.wiring.components",
       "a list"},
      {"graph with one GPU too few", wiring(R"({"kind":"graph","components":[{"id":"a","kind":"gpu"}],"links":[]})"),
       "cluster.node.wiring.components", "as many GPUs as the node has, 2"},
      {"graph in two pieces",
       wiring(R"({"kind":"graph","components":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[]})"),
       "cluster.node.wiring.links", "a path between"},
      {"link to nowhere",
       wiring(
           R"({"kind":"graph","components":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[{"a":"a","b":"c","kind":"nvlink","generation":3,"count":4}]})"),
       "cluster.node.wiring.links.0.b", "the id of a component"},
      {"link of no rate",
       wiring(
           R"({"kind":"graph","components":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[{"a":"a","b":"b","kind":"nvlink"}]})"),
       "cluster.node.wiring.links.0.bytes_per_s", "lanes or count"},
      {"NVSwitch for a card without NVLink",
       cluster(R"({"node":{"gpu":"rtx-4090-24gb","gpus":2,"wiring":{"kind":"nvswitch"}}})"), "cluster.node.wiring.kind",
       "pcie-host"},
  };
}

}  // namespace

TEST_CASE("bad input is one error that says where, what and what is allowed", "[text]") {
  for (const Row& row : rows()) {
    const Errors errors = errors_of(row.document);
    INFO(row.name << "\n" << text_of(errors));
    CHECK(has_error(errors, row.path, row.limit));
    for (const Error& e : errors) {
      CHECK_FALSE(e.text.empty());
      CHECK_FALSE(e.limit.empty());
      CHECK(e.value.size() <= 80);
      CHECK(e.text.find("nan") == std::string::npos);
      CHECK((e.path.empty() || e.text.find("Nearest") != std::string::npos ||
             e.text.find("must be") != std::string::npos || e.text.find("missing") != std::string::npos));
    }
  }
}

TEST_CASE("one mistake is one error", "[text]") {
  for (const Row& row : rows()) {
    // An empty object lacks several fields at once.
    const std::string_view name = row.name;
    if (name == "model empty" || name == "experts empty" || name == "latent attention incomplete" ||
        name == "graph without components" || name == "recompute with an unknown key")
      continue;
    const Errors errors = errors_of(row.document);
    INFO(row.name << "\n" << text_of(errors));
    CHECK(errors.size() == 1);
  }
}

TEST_CASE("all mistakes come at once", "[text]") {
  const Errors errors = errors_of(
      R"({"modle":1,"model":"mistral-7b-v0.1","training":{"sequence_length":0,"optimizer":"adamm","micro_batch_sizes":2},
    "parallel":{"data":3,"data_sharding":"zero9"},"cluster":{"node":"dgx-a100-80gb","nodes":1,"gpus_per_node":99}})");
  INFO(text_of(errors));
  for (const char* path : {"modle", "training.sequence_length", "training.optimizer", "training.micro_batch_sizes",
                           "parallel.data_sharding", "cluster.gpus_per_node"})
    CHECK(has_error(errors, path));
  const Errors rules = errors_of(
      R"({"model":"mistral-7b-v0.1","training":{"optimizer":"adamm","global_batch_size":7},"parallel":{"tensor":3,"data":2},"cluster":"dgx-a100-80gb"})");
  INFO(text_of(rules));
  for (const char* path : {"training.optimizer", "training.global_batch_size", "parallel.tensor", "parallel.data"})
    CHECK(has_error(rules, path));
}

TEST_CASE("a mistyped key names the nearest", "[text]") {
  const std::pair<const char*, const char*> typos[] = {{"micro_batchsize", "micro_batch_size"},
                                                       {"globl_batch_size", "global_batch_size"},
                                                       {"recomptue", "recompute"},
                                                       {"optimiser", "optimizer"}};
  for (const auto& [typo, meant] : typos) {
    const Errors errors = errors_of(training("\"" + std::string(typo) + "\":1"));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].text.find("Nearest: " + std::string(meant)) != std::string::npos);
  }
}

TEST_CASE("very many errors are cut to a list that can be read", "[text]") {
  std::string members;
  for (int i = 0; i < 100000; ++i) members += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":0";
  const Errors errors = errors_of(training(members));
  CHECK(errors.size() == 101);
  CHECK(errors.back().text.starts_with("99,900 more errors"));
}

TEST_CASE("a large placement is judged in time", "[text]") {
  std::string list;
  for (int i = 0; i < 500000; ++i) list += (i > 0 ? "," : "") + std::to_string(i);
  CHECK(has_error(errors_of(parallel("\"placement\":[" + list + "]")), "parallel.placement", "8"));
}

TEST_CASE("no mutation of a plan crashes the reader", "[text]") {
  const std::string sound = dump_json_compact(write_plan(
      read_plan_text(
          R"({"model":{"hidden_size":1024,"num_layers":4,"num_attention_heads":16,"intermediate_size":4096,"mlp":"swiglu","vocab_size":50257,"tie_word_embeddings":true,"norm":"rmsnorm","qkv_bias":true,
      "mlp_bias":true,"position":"learned","moe":{"num_experts":8,"experts_per_token":2,"intermediate_size":64}},"training":{"lora":{"rank":8,"targets":["q","gate"]},"details":{"autocast":true}},
      "parallel":{"data_sharding":"hsdp","shard_group":2,"expert":2,"placement":[1,0,3,2]},"cluster":{"nodes":2,"network":"roce-2x100","node":{"gpu":"a100-80gb-sxm","gpus":2,"wiring":
      {"kind":"graph","components":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[{"a":"a","b":"b","kind":"nvlink","generation":3,"count":4}]}}}})",
          presets())
          .value()));
  const char* values[] = {"null", "true",  "0",  "-1", "1.5",  "1e300",     "9007199254740993",
                          "\"\"", "\"x\"", "[]", "{}", "[[]]", "2147483648"};
  std::mt19937 random(7);
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = sound;
    for (unsigned k = 0; k <= random() % 2; ++k) {
      // Replaces the value behind a random colon, or a random byte.
      const std::size_t colon = text.find(':', random() % text.size());
      if (colon != std::string::npos && random() % 4 != 0) {
        const std::size_t end = text.find_first_of(",}]", colon);
        if (end != std::string::npos) text.replace(colon + 1, end - colon - 1, values[random() % std::size(values)]);
      } else {
        text[random() % text.size()] = static_cast<char>(' ' + random() % 95);
      }
    }
    const Result<Plan> plan = read_plan_text(text, presets());
    if (plan) {
      ++read;
      CHECK(validate(plan.value()).empty());
      CHECK(read_plan(write_plan(plan.value()), presets()));
    } else {
      ++refused;
      CHECK_FALSE(plan.errors().empty());
    }
  }
  CHECK(read > 20);
  CHECK(refused > 1000);
}
