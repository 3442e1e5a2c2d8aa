#include "core/text/plan_paths.hpp"

#include <algorithm>
#include <string>

#include "core/describe/plan.hpp"
#include "core/text/plan_json.hpp"

namespace wireplan {
namespace {

// Written documents are the list of keys, so that a new field cannot be forgotten here.
Details every_detail() {
  Details d;
  d.autocast = d.gradient_clipping = d.repeat_kv = d.padding = d.logits_kept = d.loss_recompute = d.loss_parallel =
      true;
  d.gradient_as_bucket_view = d.reshard_last_unit = d.fsdp_backward_prefetch = d.fsdp_use_orig_params =
      d.frozen_embedding = d.stragglers = true;
  d.optimizer_kernel = OptimizerKernel{};
  d.norm_kernel = NormKernel{};
  d.attention_kernel = AttentionKernel{};
  d.fsdp_units = FsdpUnits{};
  d.built = Built{};
  d.loss_chunks = d.bucket_bytes = d.fsdp_version = 1;
  d.reduce_dtype = d.adapter_dtype = DType{};
  d.lora_dropout = 0;
  return d;
}

Gpu every_gpu_field() {
  Gpu g;
  g.name = g.architecture = g.form = g.source = g.verified = g.note = "text";
  for (BytesPerSecond* rate : {&g.hbm, &g.nvlink}) *rate = BytesPerSecond(1);
  for (FlopsPerSecond* rate : {&g.fp32, &g.tf32, &g.bf16, &g.fp16, &g.fp8, &g.fp4, &g.int8}) *rate = FlopsPerSecond(1);
  g.memory = g.reported = Bytes(1);
  g.boost_clock_hz = g.tdp_w = 1;
  g.sm_count = g.nvlink_generation = g.nvlink_links = 1;
  g.is_xgmi = true;
  g.p2p_pcie = 1;
  return g;
}

}  // namespace

Json plan_outline() {
  Plan plan;
  plan.model.name = "text";
  plan.model.sliding_window_global_every = 1;
  plan.model.moe = MixtureOfExperts{};
  plan.model.mla = LatentAttention{};
  plan.training.details = every_detail();
  plan.training.lora = Lora{};
  plan.cluster.node.name = "text";
  plan.cluster.node.gpu = every_gpu_field();
  plan.cluster.node.cpu.arch = "text";
  plan.cluster.node.wiring.kind = WiringKind::nvlink_pairs;
  plan.cluster.node.wiring.links_per_pair = plan.cluster.node.wiring.pcie_generation =
      plan.cluster.node.wiring.pcie_lanes = 1;
  plan.cluster.node.wiring.groups.emplace_back();
  plan.cluster.network = Network{};
  plan.cluster.assumed.emplace_back();
  Json j = write_plan(plan);

  // What only another kind of the same part has.
  for (const char* key : {"kind", "parameters", "units", "flops_per_sample", "saved_bytes_per_sample"})
    j["model"][key] = true;
  for (const char* key : {"links", "components"}) j["cluster"]["node"]["wiring"][key] = true;
  j["cluster"]["schema"] = true;
  Json recompute = Json::object();
  for (const char* key : {"full_layers", "every"}) recompute[key] = true;
  j["training"]["recompute"] = std::move(recompute);
  for (const char* key : {"max_position_embeddings", "sliding_window"}) j["model"][key] = true;
  for (const char* key : {"sequence_length_mean"}) j["training"][key] = true;
  j["training"]["lora"]["quant_storage"] = true;
  for (const char* key : {"shard_group", "placement"}) j["parallel"][key] = true;
  for (const char* key : {"rack_nodes", "gpus"}) j["cluster"][key] = true;
  for (const char* key : {"p2p", "host_memory_bytes", "power_limit_w"}) j["cluster"]["node"][key] = true;
  for (const char* key : {"vendor", "nccl_class"}) j["cluster"]["node"]["cpu"][key] = true;
  j["model"]["mla"]["q_lora_rank"] = true;
  return j;
}

bool is_plan_path(const Json& outline, std::string_view path) {
  const Json* here = &outline;
  for (std::size_t start = 0; start <= path.size();) {
    if (here->is_null()) return true;
    if (!here->is_object()) return false;
    const std::size_t end = std::min(path.find('.', start), path.size());
    const auto found = here->find(std::string(path.substr(start, end - start)));
    if (found == here->end()) return false;
    here = &*found;
    start = end + 1;
  }
  return true;
}

}  // namespace wireplan
