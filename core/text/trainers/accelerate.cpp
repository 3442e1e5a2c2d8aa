// Accelerate's YAML, as `accelerate config` writes it: how many processes, FSDP (both versions), DeepSpeed, plain data parallelism.
// source: [accelerate-config]; accelerate 1.15 commands/config/config_args.py
#include "core/text/trainers/config_writer.hpp"
#include "core/text/trainers/fsdp_config.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

constexpr std::string_view kStages[] = {"ddp", "zero1", "zero2", "zero3"};
constexpr Word kPrecisions[] = {{"bf16", "bf16"}, {"fp16", "fp16"}, {"fp8", "fp8"}, {"no", "no"}, {"false", "no"}};

constexpr KeyNote kNotes[] = {
    {"compute_environment", KeyEffect::none, "where the launcher runs"},
    {"debug", KeyEffect::none, "checks of the launcher"},
    {"downcast_bf16", KeyEffect::none, "for TPUs"},
    {"enable_cpu_affinity", KeyEffect::none, "binds processes to NUMA nodes; see the launch lines"},
    {"gpu_ids", KeyEffect::none, "which GPUs of the machine: state parallel.placement"},
    {"machine_rank", KeyEffect::none, "how machines find each other"},
    {"main_process_ip", KeyEffect::none, "how machines find each other"},
    {"main_process_port", KeyEffect::none, "how machines find each other"},
    {"main_training_function", KeyEffect::none, "a name in the training code"},
    {"rdzv_backend", KeyEffect::none, "how machines find each other"},
    {"same_network", KeyEffect::none, "how machines find each other"},
    {"tpu", KeyEffect::none, "for TPUs"},
    {"tpu_env", KeyEffect::none, "for TPUs"},
    {"tpu_use_cluster", KeyEffect::none, "for TPUs"},
    {"tpu_use_sudo", KeyEffect::none, "for TPUs"},
    {"use_cpu", KeyEffect::none, "GPUs are what wireplan plans for"},
    {"fp8_config", KeyEffect::changes, "the recipe of fp8"},
    {"dynamo_config", KeyEffect::changes, "a mode of the compiler"},
    {"fsdp_config", KeyEffect::changes, "a key of FSDP that wireplan does not model"},
    {"fsdp_config.fsdp_sync_module_states", KeyEffect::none, "a broadcast when the run begins"},
    {"fsdp_config.fsdp_transformer_layer_cls_to_wrap", KeyEffect::none, "the name of a block"},
    {"fsdp_config.fsdp_forward_prefetch", KeyEffect::none, "no prefetch in forward"},
    {"fsdp_config.fsdp_min_num_params", KeyEffect::changes, "units by size are not modelled"},
    {"deepspeed_config", KeyEffect::changes, "a key of DeepSpeed's plugin that wireplan does not model"},
    {"deepspeed_config.deepspeed_config_file", KeyEffect::changes, "DeepSpeed's own configuration decides: import that file"},
    {"deepspeed_config.zero3_init_flag", KeyEffect::changes, "how stage 3 builds the model: state training.load"},
    {"deepspeed_config.zero3_save_16bit_model", KeyEffect::none, "what saving gathers"},
    {"deepspeed_config.deepspeed_multinode_launcher", KeyEffect::none, "how machines are reached"},
    {"deepspeed_config.deepspeed_hostfile", KeyEffect::none, "how machines are reached"},
    {"parallelism_config", KeyEffect::changes, "a key of the parallelism that wireplan does not model"},
    {"parallelism_config.parallelism_config_cp_comm_strategy", KeyEffect::changes, "wireplan counts one way to exchange keys and values"},
    {"mpirun_config", KeyEffect::none, "for CPUs"},
};

constexpr Reason kReasons[] = {
    {"training.sequence_length", "the data decides it, in the training code"},
    {"training.sequence_length_mean", "the data decides it, in the training code"},
    {"training.micro_batch_size", "the data loader of the training code decides it"},
    {"training.global_batch_size", "the data loader and gradient_accumulation_steps of the training code decide it"},
    {"training.parameter_dtype", "mixed_precision is bf16, fp16, fp8 or no; with no the model trains in the type that it is loaded in (dtype=...)"},
    {"training.gradient_dtype", "follows from mixed_precision and the type that the model is loaded in"},
    {"training.master_weights_dtype", "follows from mixed_precision and the type that the model is loaded in"},
    {"training.optimizer_state_dtype", "follows from mixed_precision and the type that the model is loaded in"},
    {"training.optimizer", "the training code makes the optimizer"},
    {"training.recompute", "fsdp_activation_checkpointing recomputes all layers; elsewhere model.gradient_checkpointing_enable() does"},
    {"training.attention", "attn_implementation of the model"},
    {"training.loss", "the model's code decides it"},
    {"training.kernels", "dynamo_config compiles, or the training code"},
    {"training.implementation", "Accelerate runs Hugging Face's code"},
    {"training.details", "the training code decides it"},
    {"training.lora", "the training code adds adapters (peft)"},
    {"training.offload", "fsdp_offload_params moves parameters and optimizer together"},
    {"training.load", "fsdp_cpu_ram_efficient_loading: rank 0 loads, or every rank does"},
    {"parallel.framework", "Accelerate trains with PyTorch or DeepSpeed"},
    {"parallel.data_sharding", "Accelerate has DDP, FSDP and DeepSpeed's stages"},
    {"parallel.shard_group", "version 1 shards over a node, version 2 by parallelism_config"},
    {"parallel.fsdp_unit", "FSDP wraps by block, by size or not at all"},
    {"parallel.pipeline", "Accelerate has no pipeline for training"},
    {"parallel.sequence_parallel", "the model's tensor-parallel plan decides it"},
    {"parallel.gradient_sync", "Accelerate reduces once a step; GradientAccumulationPlugin(sync_each_batch=True) in the training code reduces in every micro-batch"},
    {"parallel.deepspeed", "sizes of buckets need DeepSpeed's own file: deepspeed_config_file, and wireplan export --to deepspeed"},
    {"parallel.placement", "the launch decides which GPU a rank gets (gpu_ids)"},
};

Result<Export> write(const Plan& plan) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  if (p.framework == Framework::megatron)
    return Error{"to", "\"accelerate\"", "a plan with parallel.framework pytorch or deepspeed", "the plan trains with megatron. Nearest: --to megatron"};
  const bool is_deepspeed = p.framework == Framework::deepspeed;
  const bool is_fsdp = !is_deepspeed && (shards_parameters(p.data_sharding) || p.data_sharding == DataSharding::zero2);
  const Count gpus = total_gpus(plan.cluster);
  Json j = Json::object();
  put(j, "compute_environment", "LOCAL_MACHINE");
  put(j, "distributed_type", is_deepspeed ? "DEEPSPEED" : is_fsdp ? "FSDP" : gpus > 1 ? "MULTI_GPU" : "NO");
  put(j, "num_machines", static_cast<std::int64_t>(plan.cluster.nodes));
  put(j, "num_processes", static_cast<std::int64_t>(gpus));
  put(j, "mixed_precision", is_deepspeed && t.parameter_dtype != DType::fp32 ? name_of(t.parameter_dtype) : mixed_precision(t));
  if (is_deepspeed) {
    Json d = Json::object();
    put(d, "zero_stage", p.data_sharding == DataSharding::zero3 ? 3 : p.data_sharding == DataSharding::zero2 ? 2 : p.data_sharding == DataSharding::zero1 ? 1 : 0);
    put(d, "gradient_accumulation_steps", micro_batches(plan));
    put(d, "gradient_clipping", t.switches.gradient_clipping ? 1.0 : 0.0);
    put(d, "offload_optimizer_device", t.offload.optimizer ? "cpu" : "none");
    put(d, "offload_param_device", t.offload.parameters ? "cpu" : "none");
    j["deepspeed_config"] = std::move(d);
  }
  if (is_fsdp) j["fsdp_config"] = fsdp_document(plan, "fsdp_");
  const bool has_group = p.data_sharding == DataSharding::hsdp && p.shard_group > 0 && t.switches.fsdp_version == 2;
  if (has_group || p.tensor > 1 || p.context > 1) {
    const Count copies = has_group ? p.data * p.context / p.shard_group : p.data_sharding == DataSharding::ddp ? p.data : 1;
    Json split = Json::object();
    put(split, "parallelism_config_dp_replicate_size", copies);
    put(split, "parallelism_config_dp_shard_size", p.data / copies > 0 ? p.data / copies : 1);
    put(split, "parallelism_config_tp_size", p.tensor);
    put(split, "parallelism_config_cp_size", p.context);
    j["parallelism_config"] = std::move(split);
  }
  if (t.kernels == Kernels::compiled) j["dynamo_config"] = Json{{"dynamo_backend", "INDUCTOR"}};
  Export out;
  out.files.push_back({"accelerate.yaml", dump_yaml(j, "accelerate launch --config_file accelerate.yaml train.py\nWritten by wireplan; with several machines add machine_rank and main_process_ip.")});
  if (!is_deepspeed && p.data_sharding == DataSharding::ddp && p.data > 1 && p.tensor > 1)
    out.notes.push_back({Severity::warning, "parallel.data_sharding", "Accelerate does not run DDP with tensor parallelism. Nearest: fsdp"});
  out.notes.push_back({Severity::info, "model", "model, data, batch and optimizer stay in the training code"});
  return out;
}

void read_deepspeed_plugin(ConfigReader& r, std::string_view precision) {
  const std::string d = "deepspeed_config.";
  r.give("parallel.framework", "deepspeed", "distributed_type");
  if (r.has(d + "deepspeed_config_file")) {
    r.leave(d + "deepspeed_config_file", KeyEffect::changes, "DeepSpeed's own configuration decides stage, batch and formats: import that file");
    r.out.missing.push_back("parallel.data_sharding");
    return;
  }
  const Count stage = r.count(d + "zero_stage", 2, 0);
  if (stage > 3) return r.fail(d + "zero_stage", "0 to 3", "the stage must be 0, 1, 2 or 3. Nearest: 3");
  r.give("parallel.data_sharding", Json(kStages[stage]), r.has(d + "zero_stage") ? d + "zero_stage" : "default of Accelerate");
  const std::string type = precision == "no" ? "fp32" : std::string(precision);
  r.give("training.parameter_dtype", type, "mixed_precision");
  r.give("training.gradient_dtype", type == "fp8" ? "bf16" : type, "mixed_precision");
  r.give("training.master_weights_dtype", type == "fp32" ? Json(nullptr) : Json("fp32"), "mixed_precision");
  r.give("training.optimizer_state_dtype", "fp32", "DeepSpeed");
  const std::string steps = r.text(d + "gradient_accumulation_steps", "1");
  if (steps == "auto") r.leave(d + "gradient_accumulation_steps", KeyEffect::changes, "the training code decides it");
  else r.out.open.accumulation = r.count(d + "gradient_accumulation_steps", 1);
  for (const auto& [key, path] : {std::pair<const char*, const char*>{"offload_optimizer_device", "training.offload.optimizer"}, {"offload_param_device", "training.offload.parameters"}}) {
    const std::string device = r.text(d + key, "none");
    if (device != "cpu" && device != "nvme" && device != "none") r.fail(d + key, "cpu | nvme | none", "the device must be cpu, nvme or none. Nearest: cpu");
    if (device != "none") r.give(path, true, d + key);
    if (device == "nvme") r.note(Severity::warning, path, "NVMe is read as host memory; its speed is not modelled");
  }
  if (const Json* clip = r.find(d + "gradient_clipping"); clip != nullptr && clip->is_number())
    r.give("training.details.gradient_clipping", clip->get<double>() > 0, d + "gradient_clipping");
}

// Machines and processes as a part of the cluster; null: one process, or not stated.
void read_processes(ConfigReader& r) {
  r.out.missing.push_back("cluster.node");
  if (!r.has("num_processes")) return;
  const Count nodes = r.count("num_machines", 1), processes = r.count("num_processes", 1, -1);
  if (processes < 1) return r.leave("num_processes", KeyEffect::changes, "the launcher decides it");
  if (processes % nodes != 0)
    return r.fail("num_processes", "a multiple of num_machines " + std::to_string(nodes), std::to_string(processes) + " processes do not spread over " + std::to_string(nodes) + " machines");
  r.give("cluster.nodes", nodes, "num_machines");
  r.give("cluster.gpus_per_node", processes / nodes, "num_processes / num_machines");
}

Result<ImportedTrainer> read(const ConfigText& config) {
  if (!config.document.is_object()) return other_syntax(config, "Accelerate", "YAML");
  ConfigReader r(Trainer::accelerate, config.document);
  const Json* kind = r.find("distributed_type");
  // YAML 1.1 reads NO without quotes as false.
  const std::string type = kind != nullptr && *kind == false ? "NO" : r.text("distributed_type", "NO");
  constexpr Word kTypes[] = {{"NO", "one"}, {"MULTI_GPU", "ddp"}, {"FSDP", "fsdp"}, {"DEEPSPEED", "deepspeed"}};
  const std::string_view ours = our_word(kTypes, type);
  if (ours.empty())
    return Error{"distributed_type", value_text(Json(type)), "NO | MULTI_GPU | FSDP | DEEPSPEED",
                 "wireplan does not read distributed_type " + value_text(Json(type)) + (type == "MEGATRON_LM" ? ". Nearest: import Megatron-LM's own arguments" : ". Nearest: FSDP")};
  const std::string given = r.text("mixed_precision", "no");
  std::string_view precision = our_word(kPrecisions, given);
  if (precision.empty()) {
    r.fail("mixed_precision", "no | fp16 | bf16 | fp8", "there is no mixed_precision " + value_text(Json(given)) + ". Nearest: bf16");
    precision = "no";
  }
  const auto size = [&](const char* name) {
    const std::string with = std::string("parallelism_config.parallelism_config_") + name;
    return r.count(r.has(with) ? with : std::string("parallelism_config.") + name, 1);
  };
  FsdpAround around;
  const bool is_split = r.has("parallelism_config");
  const Count tensor = size("tp_size"), ulysses = size("sp_size");
  around.copies = size("dp_replicate_size");
  around.shards = is_split ? size("dp_shard_size") : 0;
  around.context = size("cp_size");
  if (is_split) {
    r.give("parallel.tensor", tensor, "parallelism_config.parallelism_config_tp_size");
    r.give("parallel.context", around.context, "parallelism_config.parallelism_config_cp_size");
    r.give("parallel.data", around.copies * around.shards, "parallelism_config.parallelism_config_dp_replicate_size, parallelism_config.parallelism_config_dp_shard_size");
    if (ulysses > 1) r.leave("parallelism_config.parallelism_config_sp_size", KeyEffect::changes, "Ulysses sequence parallelism is not modelled");
  }
  if (ours == "deepspeed") {
    read_deepspeed_plugin(r, precision);
  } else {
    r.give("parallel.framework", "pytorch", "distributed_type");
    r.give("training.implementation", "huggingface", "Accelerate");
    give_precision(r, precision, "", ours == "fsdp", "mixed_precision");
    if (ours == "fsdp") read_fsdp(r, {.from = "default of Accelerate"}, around);
    else r.give("parallel.data_sharding", "ddp", "distributed_type");
  }
  const std::string backend = r.text(r.has("dynamo_backend") ? "dynamo_backend" : "dynamo_config.dynamo_backend", "no");
  r.give("training.kernels", backend == "no" || backend == "NO" || backend == "false" ? "eager" : "compiled", "dynamo_config.dynamo_backend");
  read_processes(r);
  for (const char* path : {"model", "training.sequence_length", "training.micro_batch_size"}) r.out.missing.emplace_back(path);
  return r.finish(kNotes);
}

int likeness(const ConfigText& config) {
  int found = 0;
  for (const char* key : {"distributed_type", "compute_environment", "num_processes", "num_machines", "fsdp_config", "deepspeed_config", "mixed_precision", "main_training_function", "parallelism_config"})
    found += config.document.is_object() && member_at(config.document, key) != nullptr ? 1 : 0;
  return found;
}

}  // namespace

constexpr TrainerCode kAccelerate = {write, read, likeness, kReasons};

}  // namespace wireplan
