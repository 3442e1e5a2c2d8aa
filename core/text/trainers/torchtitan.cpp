// torchtitan's TOML: the job configuration of release 0.2 (torchtitan/config/job_config.py); older names are read too.
// source: [torchtitan-config]
#include "core/base/format.hpp"
#include "core/text/read_training.hpp"
#include "core/text/trainers/config_writer.hpp"
#include "core/text/trainers/torchtitan_models.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

constexpr Word kSchedules[] = {{"1F1B", "1f1b"}, {"GPipe", "gpipe"}, {"Interleaved1F1B", "interleaved"}, {"ZBVZeroBubble", "zb-v"}, {"DualPipeV", "dualpipe-v"}};
constexpr Word kOptimizers[] = {{"AdamW", "adamw"}, {"Adam", "adam"}};
constexpr Word kKernels[] = {{"fused", "fused"}, {"foreach", "foreach"}, {"for-loop", "loop"}};
constexpr Word kDispatchers[] = {{"standard", "alltoall"}, {"deepep", "flex"}, {"hybridep", "flex"}};
constexpr Word kConverters[] = {{"quantize.linear.float8", "fp8"}, {"quantize.linear.mx", "mxfp8"}, {"quantize.dense.float8", "fp8"}, {"float8", "fp8"}, {"mx", "mxfp8"}};

constexpr std::string_view kNoBytes = "decides no byte and no time of a step";
constexpr KeyNote kNotes[] = {
    {"job", KeyEffect::none, "names of the run"},
    {"profiling", KeyEffect::none, "profiling, which wireplan does not count"},
    {"metrics", KeyEffect::none, "what is logged"},
    {"model.tokenizer_path", KeyEffect::none, "a file of the tokenizer"},
    {"model.hf_assets_path", KeyEffect::none, "files of the tokenizer and the weights"},
    {"model.print_after_conversion", KeyEffect::none, kNoBytes},
    {"optimizer", KeyEffect::none, "a number of the optimizer"},
    {"lr_scheduler", KeyEffect::none, kNoBytes},
    {"training.max_norm", KeyEffect::none, "gradients are clipped by any norm alike"},
    {"training.steps", KeyEffect::none, "the length of the run"},
    {"training.dataset", KeyEffect::none, kNoBytes},
    {"training.dataset_path", KeyEffect::none, kNoBytes},
    {"training.gc_freq", KeyEffect::none, "a pause of the host once in many steps"},
    {"training.gc_debug", KeyEffect::none, kNoBytes},
    {"training.seed", KeyEffect::none, kNoBytes},
    {"training.deterministic", KeyEffect::changes, "deterministic kernels are slower"},
    {"parallelism.enable_compiled_autograd", KeyEffect::changes, "compiled autograd is not modelled"},
    {"parallelism.context_parallel_rotate_method", KeyEffect::changes, "wireplan counts the ring of all-gathered keys and values either way"},
    {"parallelism.pipeline_parallel_split_points", KeyEffect::changes, "wireplan splits stages evenly"},
    {"parallelism.module_fqns_per_model_part", KeyEffect::changes, "wireplan splits stages evenly"},
    {"parallelism.pipeline_parallel_first_stage_less_layers", KeyEffect::changes, "wireplan splits stages evenly"},
    {"parallelism.pipeline_parallel_last_stage_less_layers", KeyEffect::changes, "wireplan splits stages evenly"},
    {"parallelism.pipeline_parallel_schedule_csv", KeyEffect::changes, "a schedule of the user's own is not modelled"},
    {"checkpoint", KeyEffect::none, "when and where checkpoints are written; always sharded"},
    {"activation_checkpoint", KeyEffect::changes, "a finer choice of what is kept"},
    {"memory_estimation", KeyEffect::none, kNoBytes},
    {"comm", KeyEffect::none, "timeouts and traces"},
    {"float8", KeyEffect::changes, "the recipe of float8; wireplan takes products in fp8 with scaling by tensor"},
    {"mx", KeyEffect::changes, "the recipe of mxfp8"},
    {"quantize", KeyEffect::changes, "the recipe of float8 or mxfp8"},
    {"fault_tolerance", KeyEffect::changes, "fault tolerance is not modelled"},
    {"experimental", KeyEffect::changes, "code that wireplan does not know"},
    {"validation", KeyEffect::none, "validation is not part of a training step"},
    {"debug", KeyEffect::none, kNoBytes},
};

constexpr Reason kReasons[] = {
    {"training.sequence_length_mean", "torchtitan packs sequences to full length"},
    {"training.gradient_dtype", "gradients are fp32 with training.dtype float32 and bf16 with bfloat16"},
    {"training.optimizer", "torchtitan has AdamW and Adam"},
    {"training.optimizer_state_dtype", "states have the type of the parameters they belong to"},
    {"training.parameter_dtype", "without FSDP, tensor and pipeline parallelism run in training.dtype; else bfloat16, float32, float8 and mxfp8 alone"},
    {"training.recompute", "torchtitan recomputes none, selected operations, every n-th layer or all"},
    {"training.attention", "torchtitan runs fused attention"},
    {"training.loss", "torchtitan computes the loss over all logits at once"},
    {"training.hidden_dropout", "torchtitan's models have no dropout"},
    {"training.attention_dropout", "torchtitan's models have no dropout"},
    {"training.lora", "torchtitan 0.2 trains whole models"},
    {"training.offload", "enable_cpu_offload moves parameters and optimizer together; activations stay"},
    {"training.load", "torchtitan builds the model on the meta device"},
    {"training.checkpoint", "torchtitan writes sharded checkpoints"},
    {"training.details", "torchtitan has no key for it"},
    {"parallel.framework", "torchtitan trains with PyTorch alone"},
    {"parallel.data_sharding", "torchtitan has DDP, FSDP with and without resharding, and HSDP; context parallelism always shards"},
    {"parallel.shard_group", "the shard group is data_parallel_shard_degree × context_parallel_degree"},
    {"parallel.fsdp_unit", "torchtitan shards by transformer block"},
    {"parallel.order", "torchtitan's mesh is pp, dp_replicate, dp_shard, cp, tp from the outermost"},
    {"parallel.placement", "the launch decides which GPU a rank gets (CUDA_VISIBLE_DEVICES)"},
    {"parallel.sequence_parallel", "torchtitan runs tensor and sequence parallelism together"},
    {"parallel.gradient_sync", "torchtitan reduces in every micro-batch, and once a step in a pipeline"},
    {"parallel.overlap", "torchtitan overlaps data parallelism always, and tensor parallelism where it is asynchronous and compiled"},
    {"parallel.pipeline_schedule", "torchtitan has 1F1B, GPipe, Interleaved1F1B, ZBVZeroBubble and DualPipeV"},
    {"parallel.virtual_stages", "stages come from the layers of each; these do not divide into so many"},
    {"parallel.moe_dispatcher", "torchtitan dispatches by all-to-all or DeepEP"},
};

const TorchtitanModel* model_of(std::string_view preset) {
  for (const TorchtitanModel& m : kTorchtitanModels)
    if (m.preset == preset) return &m;
  return nullptr;
}

// Layers and the two ends, which count as a layer each (pipeline_parallel_first_stage_less_layers and _last_).
Count stages_of(Count layers, Count layers_per_stage) { return (layers + 2 + layers_per_stage - 1) / layers_per_stage; }

void write_parallelism(const Plan& plan, Json& j) {
  const Parallel& p = plan.parallel;
  const bool has_group = p.data_sharding == DataSharding::hsdp && p.shard_group > 0;
  const bool is_ddp = p.data_sharding == DataSharding::ddp;
  const Count copies = has_group ? p.data * p.context / p.shard_group : is_ddp ? p.data : 1;
  put_at(j, "parallelism.data_parallel_replicate_degree", copies);
  put_at(j, "parallelism.data_parallel_shard_degree", p.data / copies > 0 ? p.data / copies : 1);
  const bool keeps = p.data_sharding == DataSharding::zero1 || p.data_sharding == DataSharding::zero2;
  if (!is_ddp) put_at(j, "parallelism.fsdp_reshard_after_forward", keeps ? "never" : p.pipeline > 1 ? "always" : "default");
  put_at(j, "parallelism.tensor_parallel_degree", p.tensor);
  if (p.tensor > 1 && plan.training.details && plan.training.details->loss_parallel)
    put_at(j, "parallelism.disable_loss_parallel", !*plan.training.details->loss_parallel);
  if (p.overlap.tensor) put_at(j, "parallelism.enable_async_tensor_parallel", true);
  put_at(j, "parallelism.pipeline_parallel_degree", p.pipeline);
  if (p.pipeline > 1) {
    const std::string_view schedule = their_word(kSchedules, name_of(p.pipeline_schedule));
    put_at(j, "parallelism.pipeline_parallel_schedule", schedule.empty() ? "1F1B" : std::string(schedule));
    put_at(j, "parallelism.pipeline_parallel_microbatch_size", plan.training.micro_batch_size);
    if (p.virtual_stages > 2 && plan.model.num_layers > 0) {
      const Count stages = p.pipeline * p.virtual_stages, per_stage = (plan.model.num_layers + 2 + stages - 1) / stages;
      // Where these do not divide into so many, torchtitan's own two a rank stay.
      if (stages_of(plan.model.num_layers, per_stage) == stages) put_at(j, "parallelism.pipeline_parallel_layers_per_stage", per_stage);
    }
  }
  put_at(j, "parallelism.context_parallel_degree", p.context);
  if (plan.model.moe) {
    put_at(j, "parallelism.expert_parallel_degree", p.expert);
    put_at(j, "parallelism.expert_tensor_parallel_degree", p.expert_tensor);
    if (p.moe_dispatcher != MoeDispatcher::alltoall)
      put_at(j, "parallelism.expert_parallel_comm_backend", std::string(their_word(kDispatchers, name_of(p.moe_dispatcher))));
  }
}

void write_recompute(const Recompute& r, Json& j) {
  const bool selects = r.kind == RecomputeKind::selective, every = r.kind == RecomputeKind::every;
  put_at(j, "activation_checkpoint.mode", r.kind == RecomputeKind::none ? "none" : selects || every ? "selective" : "full");
  if (selects || every) put_at(j, "activation_checkpoint.selective_ac_option", selects ? std::string("op") : std::to_string(r.n));
}

Result<Export> write(const Plan& plan) {
  const Training& t = plan.training;
  const bool is_compiled = t.kernels == Kernels::compiled;
  Json j = Json::object();
  put_at(j, "job.description", "a plan of wireplan");
  if (const TorchtitanModel* model = model_of(plan.model.id)) {
    put_at(j, "model.name", std::string(model->name));
    put_at(j, "model.flavor", std::string(model->flavor));
  }
  if (const std::string_view converter = their_word(kConverters, name_of(t.parameter_dtype)); !converter.empty())
    put_at(j, "model.converters", Json::array({std::string(converter)}));
  const std::string_view optimizer = their_word(kOptimizers, name_of(t.optimizer));
  put_at(j, "optimizer.name", optimizer.empty() ? "AdamW" : std::string(optimizer));
  if (t.details && t.details->optimizer_kernel) {
    if (*t.details->optimizer_kernel == OptimizerKernel::in_backward)
      put_at(j, "optimizer.early_step_in_backward", true);
    else
      put_at(j, "optimizer.implementation", std::string(their_word(kKernels, name_of(*t.details->optimizer_kernel))));
  }
  // In a pipeline the micro-batches of a step are pieces of the local batch; elsewhere the local batch is one.
  const bool is_piped = plan.parallel.pipeline > 1;
  put_at(j, "training.local_batch_size", is_piped ? t.global_batch_size / plan.parallel.data : t.micro_batch_size);
  put_at(j, "training.global_batch_size", t.global_batch_size);
  put_at(j, "training.seq_len", t.sequence_length);
  const bool is_fp32 = t.parameter_dtype == DType::fp32;
  put_at(j, "training.dtype", t.master_weights_dtype || is_fp32 ? "float32" : "bfloat16");
  put_at(j, "training.mixed_precision_param", is_fp32 ? "float32" : "bfloat16");
  put_at(j, "training.mixed_precision_reduce", "float32");
  if (t.offload.optimizer || t.offload.parameters) put_at(j, "training.enable_cpu_offload", true);
  write_parallelism(plan, j);
  write_recompute(t.recompute, j);
  put_at(j, "compile.enable", is_compiled);
  if (is_compiled) put_at(j, "compile.components", Json::array({"model", "loss"}));

  Export out;
  out.files.push_back({"torchtitan.toml", dump_toml(j, "torchtitan 0.2: torchrun ... -m torchtitan.train --job.config_file torchtitan.toml\nWritten by wireplan; data, learning rate and checkpoints are yours to add.")});
  const Parallel& p = plan.parallel;
  if (p.data_sharding == DataSharding::ddp && p.data > 1 && p.tensor * p.pipeline > 1)
    out.notes.push_back({Severity::warning, "parallel.data_sharding", "torchtitan's DDP runs without tensor and pipeline parallelism only: it refuses this layout. Nearest: fsdp"});
  if (!j.contains("model") || !j["model"].contains("name"))
    out.notes.push_back({Severity::warning, "model", "torchtitan has no flavor of this model: register its sizes as one and name it in [model]"});
  else if (model_of(plan.model.id)->layers != plan.model.num_layers)
    out.notes.push_back({Severity::warning, "model", "the flavor has another number of layers than this model"});
  return out;
}

void read_precision(ConfigReader& r, bool shards, bool only_ddp, bool is_known) {
  const std::string stored = r.text("training.dtype", "float32"), used = r.text("training.mixed_precision_param", "bfloat16"),
                    reduced = r.text("training.mixed_precision_reduce", "float32");
  constexpr Word kTypes[] = {{"float32", "fp32"}, {"bfloat16", "bf16"}};
  for (const auto& [key, value] : {std::pair<std::string_view, const std::string&>{"training.dtype", stored}, {"training.mixed_precision_param", used}, {"training.mixed_precision_reduce", reduced}})
    if (our_word(kTypes, value).empty()) r.fail(key, "float32 | bfloat16", std::string(key) + " must be float32 or bfloat16");
  const bool is_bf16 = our_word(kTypes, stored) == "bf16";
  const bool is_mixed = shards || only_ddp || !is_known;
  if (!is_mixed && our_word(kTypes, used) != our_word(kTypes, stored))
    r.note(Severity::warning, "training.parameter_dtype", "mixed precision takes effect with FSDP, or where there is data parallelism alone: this run computes in " + stored);
  const std::string_view computes = is_mixed ? our_word(kTypes, used) : our_word(kTypes, stored);
  const char* from = "training.dtype, training.mixed_precision_param";
  r.give("training.parameter_dtype", Json(computes), from);
  r.give("training.gradient_dtype", is_bf16 ? "bf16" : "fp32", from);
  r.give("training.master_weights_dtype", is_bf16 || computes == "fp32" ? Json(nullptr) : Json("fp32"), from);
  r.give("training.optimizer_state_dtype", is_bf16 ? "bf16" : "fp32", from);
  if (shards) r.give("training.details.reduce_dtype", Json(our_word(kTypes, reduced)), "training.mixed_precision_reduce");

  const Json* converters = r.find("model.converters");
  if (converters == nullptr) return;
  Json list = converters->is_array() ? *converters : Json::array({*converters});
  for (const Json& one : list) {
    const std::string name = one.is_string() ? one.get<std::string>() : "";
    if (const std::string_view dtype = our_word(kConverters, name); !dtype.empty())
      r.give("training.parameter_dtype", Json(dtype), "model.converters");
    else if (!name.empty())
      r.leave("model.converters", KeyEffect::changes, "a converter that wireplan does not model");
  }
}

void read_pipeline(ConfigReader& r, Count pipeline, Count local, Count layers) {
  if (pipeline < 2) {
    r.give("training.micro_batch_size", local, r.has("training.batch_size") ? "training.batch_size" : "training.local_batch_size");
    for (const char* key : {"parallelism.pipeline_parallel_schedule", "parallelism.pipeline_parallel_microbatch_size", "parallelism.pipeline_parallel_layers_per_stage"})
      if (r.has(key)) r.leave(key, KeyEffect::none, "there is no pipeline");
    return;
  }
  const std::string schedule = r.text("parallelism.pipeline_parallel_schedule", "1F1B");
  const std::string_view ours = our_word(kSchedules, schedule);
  if (ours.empty())
    r.leave("parallelism.pipeline_parallel_schedule", KeyEffect::changes, "a schedule that wireplan does not model; 1F1B stands in");
  else
    r.give("parallel.pipeline_schedule", Json(ours), "parallelism.pipeline_parallel_schedule");
  const Count micro = r.count("parallelism.pipeline_parallel_microbatch_size", 1);
  if (local % micro != 0)
    r.fail("parallelism.pipeline_parallel_microbatch_size", "a divisor of training.local_batch_size " + std::to_string(local),
           "the local batch of " + std::to_string(local) + " does not split into micro-batches of " + std::to_string(micro) + ". Nearest: 1");
  r.give("training.micro_batch_size", micro, "parallelism.pipeline_parallel_microbatch_size");
  if (ours != "interleaved") return;
  // Looped schedules have two stages a rank unless layers_per_stage says otherwise.
  const Count per_stage = r.count("parallelism.pipeline_parallel_layers_per_stage", 0);
  if (per_stage == 0) return r.give("parallel.virtual_stages", 2, "default of torchtitan");
  if (layers == 0) {
    r.leave("parallelism.pipeline_parallel_layers_per_stage", KeyEffect::changes, "the model's number of layers is not known here; two stages a rank stand in");
    return r.give("parallel.virtual_stages", 2, "default of torchtitan");
  }
  const Count stages = stages_of(layers, per_stage);
  if (stages % pipeline != 0 || stages == pipeline)
    r.fail("parallelism.pipeline_parallel_layers_per_stage", "stages that are a multiple of " + std::to_string(pipeline) + ", two a rank at least",
           std::to_string(layers) + " layers and the two ends make " + std::to_string(stages) + " stages of " + std::to_string(per_stage) + ", which " + std::to_string(pipeline) + " ranks cannot loop over");
  else
    r.give("parallel.virtual_stages", stages / pipeline, "parallelism.pipeline_parallel_layers_per_stage");
}

void read_recompute(ConfigReader& r) {
  const std::string mode = r.text("activation_checkpoint.mode", "selective");
  const char* key = "activation_checkpoint.mode";
  if (mode == "none" || mode == "full") {
    r.give("training.recompute", mode, key);
    if (r.has("activation_checkpoint.selective_ac_option")) r.leave("activation_checkpoint.selective_ac_option", KeyEffect::none, "only with mode selective");
    return;
  }
  if (mode == "memory_budget") return r.leave(key, KeyEffect::changes, "a budget of memory decides what is kept: wireplan does not model it; nothing recomputed stands in");
  if (mode != "selective") return r.fail(key, "none | selective | full", "activation_checkpoint.mode must be none, selective or full. Nearest: selective");
  const std::string option = r.text("activation_checkpoint.selective_ac_option", "2");
  Count n = 0;
  for (const char c : option) n = c >= '0' && c <= '9' && n >= 0 && n < 100'000 ? n * 10 + (c - '0') : -1;
  if (option == "op") r.give("training.recompute", "selective", "activation_checkpoint.selective_ac_option");
  else if (n == 1) r.give("training.recompute", "full", "activation_checkpoint.selective_ac_option");
  else if (n > 1) r.give("training.recompute", Json{{"every", n}}, "activation_checkpoint.selective_ac_option");
  else r.fail("activation_checkpoint.selective_ac_option", "op, or a whole number of layers", "selective_ac_option must be \"op\" or a number such as \"2\"");
}

Result<ImportedTrainer> read(const ConfigText& config) {
  if (!config.document.is_object()) return other_syntax(config, "torchtitan", "TOML");
  ConfigReader r(Trainer::torchtitan, config.document);
  r.give("training.implementation", "torchtitan", "torchtitan");
  r.give("parallel.framework", "pytorch", "torchtitan");

  Count layers = 0;
  const std::string name = r.text("model.name", ""), flavor = r.text("model.flavor", "");
  for (const TorchtitanModel& m : kTorchtitanModels)
    if (layers == 0 && m.name == name && m.flavor == flavor) {
      layers = m.layers;
      r.give("model", Json(m.preset), "model.name, model.flavor");
    }
  if (layers == 0) {
    r.out.missing.push_back("model");
    for (const char* key : {"model.name", "model.flavor"})
      if (r.has(key)) r.leave(key, KeyEffect::changes, "wireplan has no preset for this flavor: state the model");
  }

  const char* p = "parallelism.";
  const auto degree = [&](const char* key, Count least = 1) { return r.count(std::string(p) + key, 1, least); };
  const Count tensor = degree("tensor_parallel_degree"), pipeline = degree("pipeline_parallel_degree"), context = degree("context_parallel_degree");
  const Count copies = degree("data_parallel_replicate_degree");
  const Count shards = r.count("parallelism.data_parallel_shard_degree", -1, -1);
  if (shards == 0) r.fail("parallelism.data_parallel_shard_degree", "-1, or 1 and more", "data_parallel_shard_degree 0 shards over no rank. Nearest: -1");
  r.give("parallel.tensor", tensor, "parallelism.tensor_parallel_degree");
  r.give("parallel.pipeline", pipeline, "parallelism.pipeline_parallel_degree");
  r.give("parallel.context", context, "parallelism.context_parallel_degree");
  r.give("parallel.expert", degree("expert_parallel_degree"), "parallelism.expert_parallel_degree");
  r.give("parallel.expert_tensor", degree("expert_tensor_parallel_degree"), "parallelism.expert_tensor_parallel_degree");
  r.give("parallel.sequence_parallel", tensor > 1, "parallelism.tensor_parallel_degree");
  r.give_word("parallel.moe_dispatcher", "parallelism.expert_parallel_comm_backend", kDispatchers, "a dispatcher");

  const bool is_sharded = shards != 1 || context > 1;
  const std::string reshard = r.text("parallelism.fsdp_reshard_after_forward", "default");
  const bool keeps = reshard == "never" || (reshard == "default" && pipeline > 1);
  if (reshard != "never" && reshard != "default" && reshard != "always")
    r.fail("parallelism.fsdp_reshard_after_forward", "default | always | never", "fsdp_reshard_after_forward must be default, always or never. Nearest: default");
  const bool is_hybrid = is_sharded && copies > 1;
  const char* degrees = "parallelism.data_parallel_replicate_degree, parallelism.data_parallel_shard_degree";
  r.give("parallel.data_sharding", is_hybrid ? "hsdp" : !is_sharded ? "ddp" : keeps ? "zero2" : "fsdp", is_sharded && !is_hybrid ? "parallelism.data_parallel_shard_degree, parallelism.fsdp_reshard_after_forward" : degrees);
  if (is_hybrid && keeps) r.leave("parallelism.fsdp_reshard_after_forward", KeyEffect::changes, "wireplan's HSDP gathers again for backward");
  if (shards > 0) {
    r.give("parallel.data", copies * shards, degrees);
    if (is_hybrid) r.give("parallel.shard_group", shards * context, "parallelism.data_parallel_shard_degree, parallelism.context_parallel_degree");
  } else if (is_hybrid)
    r.out.open.replicas = copies;
  // Gradients are reduced as each micro-batch ends; a pipeline holds them back to its last.
  r.give("parallel.gradient_sync", pipeline > 1 ? "last" : "every", "default of torchtitan");
  if (!is_sharded && copies > 1 && tensor * pipeline > 1)
    r.note(Severity::warning, "parallel.data_sharding", "torchtitan's DDP runs without tensor and pipeline parallelism only: it refuses this layout");

  // Older releases say batch_size.
  const bool is_old = r.has("training.batch_size");
  const Count local = r.count(is_old ? "training.batch_size" : "training.local_batch_size", 8);
  read_pipeline(r, pipeline, local, layers);
  const Count global = r.count("training.global_batch_size", -1, -1);
  if (global == 0) r.fail("training.global_batch_size", "-1, or 1 and more", "global_batch_size 0 trains on nothing. Nearest: -1");
  if (global > 0) r.give("training.global_batch_size", global, "training.global_batch_size");
  else if (shards > 0) r.give("training.global_batch_size", local * copies * shards, "training.local_batch_size, the data-parallel degrees");
  else r.out.open.rank_batch = local;
  if (pipeline > 1 && global > 0 && shards > 0 && global > local * copies * shards)
    r.note(Severity::warning, "training.global_batch_size", "torchtitan empties the pipeline after each local batch; wireplan runs all micro-batches of a step through it at once, so its bubble is smaller");
  r.give("training.sequence_length", r.count("training.seq_len", 2048), "training.seq_len");
  read_precision(r, is_sharded, tensor * pipeline == 1, shards > 0);
  if (r.flag("training.enable_cpu_offload", false)) {
    r.give("training.offload.optimizer", true, "training.enable_cpu_offload");
    r.give("training.offload.parameters", true, "training.enable_cpu_offload");
  }
  r.give_word("training.optimizer", "optimizer.name", kOptimizers, "an optimizer");
  if (r.flag("optimizer.early_step_in_backward", false))
    r.give("training.details.optimizer_kernel", "in-backward", "optimizer.early_step_in_backward");
  else if (r.has("optimizer.implementation"))
    r.give_word("training.details.optimizer_kernel", "optimizer.implementation", kKernels, "an implementation");
  else
    r.give("training.details.optimizer_kernel", "fused", "default of torchtitan");
  r.give("training.details.gradient_clipping", true, "torchtitan, by training.max_norm");
  read_recompute(r);
  const bool is_compiled = r.flag("training.compile", r.flag("compile.enable", false));
  r.give("training.kernels", is_compiled ? "compiled" : "eager", r.has("training.compile") ? "training.compile" : "compile.enable");
  if (const Json* parts = r.find("compile.components"); parts != nullptr && is_compiled && parts->is_array() && parts->size() < 2)
    r.leave("compile.components", KeyEffect::changes, "wireplan compiles model and loss together");
  const bool parallel_loss = !r.flag("parallelism.disable_loss_parallel", false);
  if (tensor > 1) r.give("training.details.loss_parallel", parallel_loss, "parallelism.disable_loss_parallel");
  if (r.flag("parallelism.enable_async_tensor_parallel", false)) {
    if (is_compiled && tensor > 1) r.give("parallel.overlap.tensor", true, "parallelism.enable_async_tensor_parallel");
    else r.leave("parallelism.enable_async_tensor_parallel", KeyEffect::none, "only effective when compiled and tensor-parallel");
  }
  r.out.missing.push_back("cluster");
  return r.finish(kNotes);
}

int likeness(const ConfigText& config) {
  if (config.syntax != Syntax::toml) return 0;
  int found = 0;
  for (const char* key : {"job", "model.flavor", "training.seq_len", "training.local_batch_size", "training.batch_size", "parallelism", "activation_checkpoint", "lr_scheduler"})
    found += member_at(config.document, key) != nullptr ? 1 : 0;
  return found;
}

}  // namespace

constexpr TrainerCode kTorchtitan = {write, read, likeness, kReasons};

}  // namespace wireplan
