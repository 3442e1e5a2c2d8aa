// Hugging Face's TrainingArguments, and the model and adapter arguments that stand beside them in scripts' files, as YAML or JSON; out
// also as Python.
// source: [training-arguments]; transformers 5.24 training_args.py, trl's ModelConfig and SFTConfig
#include "core/text/trainers/config_writer.hpp"
#include "core/text/trainers/deepspeed_config.hpp"
#include "core/text/trainers/fsdp_config.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

struct Optim {
  std::string_view theirs, ours, kernel;  // kernel "": the plan's own
};
constexpr Optim kOptims[] = {{"adamw_torch_fused", "adamw", "fused"}, {"adamw_torch", "adamw", "foreach"}, {"sgd", "sgd", ""}, {"adafactor", "adafactor", ""},
                             {"adamw_bnb_8bit", "adamw-8bit", ""}, {"adamw_8bit", "adamw-8bit", ""}, {"paged_adamw_8bit", "adamw-8bit-paged", ""}, {"lion_32bit", "lion", ""}, {"adamw_hf", "adamw", "loop"}};
constexpr Word kTypes[] = {{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}};
constexpr Word kAttentions[] = {{"sdpa", "flash"}, {"flash_attention_2", "flash"}, {"flash_attention_3", "flash"}, {"eager", "eager"}};
constexpr Word kTargets[] = {{"q_proj", "q"}, {"k_proj", "k"}, {"v_proj", "v"}, {"o_proj", "o"}, {"gate_proj", "gate"}, {"up_proj", "up"}, {"down_proj", "down"}};

constexpr std::string_view kLogging = "what is logged, saved or evaluated, and when";
constexpr KeyNote kNotes[] = {
    {"output_dir", KeyEffect::none, kLogging}, {"overwrite_output_dir", KeyEffect::none, kLogging}, {"run_name", KeyEffect::none, kLogging}, {"report_to", KeyEffect::none, kLogging},
    {"logging_steps", KeyEffect::none, kLogging}, {"logging_strategy", KeyEffect::none, kLogging}, {"logging_first_step", KeyEffect::none, kLogging}, {"log_level", KeyEffect::none, kLogging},
    {"save_strategy", KeyEffect::none, kLogging}, {"save_steps", KeyEffect::none, kLogging}, {"save_total_limit", KeyEffect::none, kLogging}, {"save_only_model", KeyEffect::none, kLogging},
    {"eval_strategy", KeyEffect::none, kLogging}, {"evaluation_strategy", KeyEffect::none, kLogging}, {"eval_steps", KeyEffect::none, kLogging}, {"do_eval", KeyEffect::none, kLogging}, {"do_train", KeyEffect::none, kLogging},
    {"per_device_eval_batch_size", KeyEffect::none, kLogging}, {"push_to_hub", KeyEffect::none, kLogging}, {"hub_model_id", KeyEffect::none, kLogging}, {"hub_strategy", KeyEffect::none, kLogging},
    {"learning_rate", KeyEffect::none, "a number of the optimizer"}, {"weight_decay", KeyEffect::none, "a number of the optimizer"}, {"adam_beta1", KeyEffect::none, "a number of the optimizer"},
    {"adam_beta2", KeyEffect::none, "a number of the optimizer"}, {"adam_epsilon", KeyEffect::none, "a number of the optimizer"}, {"lr_scheduler_type", KeyEffect::none, "the learning rate"},
    {"lr_scheduler_kwargs", KeyEffect::none, "the learning rate"}, {"warmup_ratio", KeyEffect::none, "the learning rate"}, {"warmup_steps", KeyEffect::none, "the learning rate"},
    {"num_train_epochs", KeyEffect::none, "the length of the run"}, {"max_steps", KeyEffect::none, "the length of the run"}, {"seed", KeyEffect::none, "decides no byte and no time of a step"},
    {"tf32", KeyEffect::changes, "TF32 speeds fp32 products; wireplan takes the GPU's rate of the type"},
    {"optim_args", KeyEffect::none, "numbers of the optimizer"}, {"optim_target_modules", KeyEffect::changes, "an optimizer of parts of the model is not modelled"},
    {"torch_compile_backend", KeyEffect::changes, "a mode of the compiler"}, {"torch_compile_mode", KeyEffect::changes, "a mode of the compiler"},
    {"gradient_checkpointing_kwargs", KeyEffect::changes, "a reentrant checkpoint runs a layer to its end again"},
    {"liger_kernel_config", KeyEffect::changes, "which of Liger's kernels run"}, {"neftune_noise_alpha", KeyEffect::none, "noise on the embeddings"},
    {"torch_empty_cache_steps", KeyEffect::changes, "emptying the allocator's cache takes time"}, {"auto_find_batch_size", KeyEffect::changes, "a batch that shrinks until it fits: state the batch"},
    {"dataloader_num_workers", KeyEffect::none, "the data loader"}, {"dataloader_pin_memory", KeyEffect::none, "the data loader"}, {"remove_unused_columns", KeyEffect::none, "the data loader"},
    {"group_by_length", KeyEffect::changes, "sequences of like length: state training.sequence_length_mean"}, {"packing", KeyEffect::changes, "unpacked sequences are padded: state training.sequence_length_mean"},
    {"dataset_name", KeyEffect::none, "the data"}, {"dataset_mixture", KeyEffect::none, "the data"}, {"dataset_mixer", KeyEffect::none, "the data"}, {"dataset_num_proc", KeyEffect::none, "the data"}, {"chat_template", KeyEffect::none, "the data"},
    {"model_revision", KeyEffect::none, "which weights"}, {"trust_remote_code", KeyEffect::none, "which weights"}, {"use_cache", KeyEffect::none, "generation"},
    {"ddp_timeout", KeyEffect::none, "timeouts"}, {"ddp_find_unused_parameters", KeyEffect::changes, "a search through the graph each step"}, {"ddp_broadcast_buffers", KeyEffect::none, "no buffers of size"},
    {"lora_alpha", KeyEffect::none, "a factor"}, {"fsdp_config", KeyEffect::changes, "a key of FSDP that wireplan does not model"}, {"fsdp_transformer_layer_cls_to_wrap", KeyEffect::none, "the name of a block"},
    {"fsdp_config.transformer_layer_cls_to_wrap", KeyEffect::none, "the name of a block"}, {"fsdp_config.sync_module_states", KeyEffect::none, "a broadcast when the run begins"},
    {"deepspeed", KeyEffect::changes, "a key of DeepSpeed that wireplan does not model"}, {"accelerator_config", KeyEffect::none, "how batches are dealt out"},
};

constexpr Reason kReasons[] = {
    {"training.sequence_length", "max_length of SFTConfig, or the data"},
    {"training.sequence_length_mean", "the data decides it"},
    {"training.parameter_dtype", "bf16 or fp16; else the model trains in the type that it is loaded in (dtype=...)"},
    {"training.gradient_dtype", "follows from bf16, fp16 and the type that the model is loaded in"},
    {"training.master_weights_dtype", "follows from bf16, fp16 and the type that the model is loaded in"},
    {"training.optimizer_state_dtype", "follows from the type that the model is loaded in"},
    {"training.optimizer", "optim has no such optimizer"},
    {"training.recompute", "gradient_checkpointing recomputes all layers"},
    {"training.attention", "attn_implementation of the model"},
    {"training.loss", "use_liger_kernel computes the loss by parts; else all logits at once"},
    {"training.kernels", "torch_compile, or Liger's kernels"},
    {"training.implementation", "the Trainer runs Hugging Face's code"},
    {"training.lora", "LoraConfig of peft, in the training code"},
    {"training.load", "fsdp_config.cpu_ram_efficient_loading: rank 0 loads, or every rank does"},
    {"training.offload", "FSDP moves parameters and optimizer together"},
    {"parallel.framework", "the Trainer runs with PyTorch or DeepSpeed"},
    {"parallel.data_sharding", "the Trainer has DDP, FSDP and DeepSpeed's stages"},
    {"parallel.shard_group", "version 1 shards over a node; version 2 by parallelism_config, in Python alone"},
    {"parallel.tensor", "parallelism_config, in Python alone"},
    {"parallel.context", "parallelism_config, in Python alone"},
    {"parallel.sequence_parallel", "the model's tensor-parallel plan decides it"},
    {"parallel.pipeline", "the Trainer has no pipeline"},
    {"parallel.deepspeed", "the plan's overlap stands as overlap_comm in DeepSpeed's configuration, where it has buffers of its own"},
    {"parallel.placement", "the launch decides which GPU a rank gets (CUDA_VISIBLE_DEVICES)"},
};

constexpr FsdpDefaults kDefaults = {.from = "default of transformers", .version = 2, .wrap = "TRANSFORMER_BASED_WRAP", .use_orig_params = true, .rank0_loads = false};

std::string optim_of(const Training& t) {
  const std::string_view kernel = name_of(t.switches.optimizer_kernel);
  const Optim* found = nullptr;
  for (const Optim& o : kOptims)
    if (o.ours == name_of(t.optimizer) && (found == nullptr || o.kernel == kernel)) found = &o;
  return found == nullptr ? t.optimizer == Optimizer::sgd_momentum ? "sgd" : "adamw_torch_fused" : std::string(found->theirs);
}

Result<Export> write(const Plan& plan) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  if (p.framework == Framework::megatron)
    return Error{"to", "\"training-arguments\"", "a plan with parallel.framework pytorch or deepspeed", "the plan trains with megatron. Nearest: --to megatron"};
  const bool is_deepspeed = p.framework == Framework::deepspeed;
  const bool is_fsdp = !is_deepspeed && (shards_parameters(p.data_sharding) || p.data_sharding == DataSharding::zero2);
  Json j = Json::object();
  put(j, "output_dir", "out");
  put(j, "per_device_train_batch_size", t.micro_batch_size);
  put(j, "gradient_accumulation_steps", micro_batches(plan));
  const std::string_view precision = is_deepspeed ? name_of(t.parameter_dtype) : mixed_precision(t);
  put(j, "bf16", precision == "bf16");
  if (precision == "fp16") put(j, "fp16", true);
  put(j, "optim", optim_of(t));
  if (t.optimizer == Optimizer::sgd_momentum) put(j, "optim_args", "momentum=0.9");
  put(j, "max_grad_norm", t.switches.gradient_clipping ? 1.0 : 0.0);
  // Under FSDP its own recomputation spares a second gather.
  if (!is_fsdp) {
    put(j, "gradient_checkpointing", t.recompute.kind != RecomputeKind::none);
    if (t.recompute.kind != RecomputeKind::none) j["gradient_checkpointing_kwargs"] = Json{{"use_reentrant", t.switches.reentrant_checkpoint}};
  }
  if (t.kernels == Kernels::compiled) put(j, "torch_compile", true);
  if (t.loss == Loss::chunked) put(j, "use_liger_kernel", true);
  if (is_fsdp) {
    put(j, "fsdp", true);
    j["fsdp_config"] = fsdp_document(plan, "");
  } else if (!is_deepspeed && t.details && t.details->bucket_bytes)
    put(j, "ddp_bucket_cap_mb", *t.details->bucket_bytes / (1 << 20));
  if (is_deepspeed) j["deepspeed"] = deepspeed_document(plan);
  if (!is_deepspeed && p.gradient_sync == GradientSync::every && micro_batches(plan) > 1)
    put_at(j, "accelerator_config.gradient_accumulation_kwargs.sync_each_batch", true);
  Export out;
  out.files.push_back({"training_args.yaml", dump_yaml(j, "TrainingArguments of transformers 5: TrlParser or HfArgumentParser(TrainingArguments).parse_yaml_file(...)\nWritten by wireplan; learning rate, data and checkpoints are yours to add.")});
  out.files.push_back({"training_args.py", dump_python(j, "Written by wireplan; learning rate, data and checkpoints are yours to add.", "from transformers import TrainingArguments\n\ntraining_args = TrainingArguments")});
  out.notes.push_back({Severity::info, "model", "the model and its data stay in the training code"});
  return out;
}

void read_lora(ConfigReader& r) {
  if (!r.flag("use_peft", false)) return;
  Json lora = Json::object();
  lora["rank"] = r.count("lora_r", 16);
  Json targets = Json::array();
  const Json* given = r.find("lora_target_modules");
  const Json list = given == nullptr ? Json::array({"q_proj", "v_proj"}) : given->is_array() ? *given : Json::array({*given});
  for (const Json& one : list) {
    const std::string name = one.is_string() ? one.get<std::string>() : "";
    if (name == "all-linear")
      for (const Word& w : kTargets) targets.push_back(std::string(w.ours));
    else if (const std::string_view target = our_word(kTargets, name); !target.empty()) targets.push_back(std::string(target));
    else r.leave("lora_target_modules", KeyEffect::changes, "modules that wireplan has no name for");
  }
  lora["targets"] = std::move(targets);
  lora["base_dtype"] = r.flag("load_in_4bit", false) ? "nf4" : r.flag("load_in_8bit", false) ? "int8" : "bf16";
  r.give("training.lora", std::move(lora), "use_peft, lora_r, lora_target_modules, load_in_4bit, load_in_8bit");
  if (double dropout = 0; r.has("lora_dropout")) {
    const Json* d = r.find("lora_dropout");
    if (d->is_number()) dropout = d->get<double>();
    r.give("training.details.lora_dropout", dropout, "lora_dropout");
  }
}

// `fsdp: true`, or the older words "full_shard auto_wrap offload".
bool read_fsdp_words(ConfigReader& r, FsdpAround& around) {
  const Json* given = r.find("fsdp");
  if (given == nullptr || *given == false || is_word(*given, "")) return false;
  if (given->is_boolean()) return true;
  std::string words;
  if (given->is_array()) {
    for (const Json& one : *given) words += (one.is_string() ? one.get<std::string>() : "") + ' ';
  } else
    words = r.text("fsdp", "");
  constexpr Word kOld[] = {{"full_shard", "FULL_SHARD"}, {"shard_grad_op", "SHARD_GRAD_OP"}, {"no_shard", "NO_SHARD"}, {"hybrid_shard", "HYBRID_SHARD"}, {"hybrid_shard_zero2", "HYBRID_SHARD_ZERO2"}, {"true", "FULL_SHARD"}};
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    const std::string word = words.substr(start, end - start);
    if (const std::string_view strategy = our_word(kOld, word); !strategy.empty()) around.strategy = strategy;
    else if (word == "offload") {
      r.give("training.offload.parameters", true, "fsdp");
      r.give("training.offload.optimizer", true, "fsdp");
    } else if (!word.empty() && word != "auto_wrap")
      r.fail("fsdp", "true, or full_shard | shard_grad_op | no_shard | hybrid_shard | hybrid_shard_zero2 | offload | auto_wrap", "fsdp has no word " + value_text(Json(word)) + ". Nearest: true");
    start = end + 1;
  }
  return true;
}

// "org/Name" as the id that a preset of it would have.
std::string preset_like(std::string_view name) {
  std::string id(name.substr(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1));
  for (char& c : id) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return id;
}

Result<ImportedTrainer> read(const ConfigText& config) {
  if (!config.document.is_object()) return other_syntax(config, "TrainingArguments", "YAML or JSON");
  ConfigReader r(Trainer::training_arguments, config.document);
  const std::string model = r.text("model_name_or_path", "");
  if (!model.empty()) r.give("model", preset_like(model), "model_name_or_path");
  else r.out.missing.push_back("model");
  r.give("training.implementation", "huggingface", "transformers");

  const Count micro = r.count("per_device_train_batch_size", 8), steps = r.count("gradient_accumulation_steps", 1);
  r.give("training.micro_batch_size", micro, r.has("per_device_train_batch_size") ? "per_device_train_batch_size" : "default of transformers");
  r.out.open.rank_batch = micro * steps;
  const char* length = r.has("max_length") ? "max_length" : r.has("max_seq_length") ? "max_seq_length" : "model_max_length";
  if (r.has(length)) r.give("training.sequence_length", r.count(length, 4096), length);
  else r.out.missing.push_back("training.sequence_length");
  r.out.missing.push_back("cluster");

  const Json* deepspeed = r.find("deepspeed");
  FsdpAround around;
  const bool is_fsdp = read_fsdp_words(r, around);
  const bool bf16 = r.flag("bf16", false), fp16 = r.flag("fp16", false);
  if (bf16 && fp16) r.fail("fp16", "one of bf16 and fp16", "bf16 and fp16 are both true. Nearest: bf16");
  const char* type_key = r.has("dtype") ? "dtype" : "torch_dtype";
  const std::string loaded = r.text(type_key, "");
  const std::string_view loaded_type = our_word(kTypes, loaded);
  if (!loaded.empty() && loaded_type.empty()) r.leave(type_key, KeyEffect::changes, "the type of the checkpoint; fp32 stands in: state bfloat16, float16 or float32");
  if (deepspeed != nullptr && deepspeed->is_object()) {
    read_deepspeed(r, "deepspeed.", *deepspeed);
    // "auto" there means these arguments.
    if (!r.out.plan["training"].contains("parameter_dtype")) {
      const char* type = bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
      r.give("training.parameter_dtype", type, "bf16, fp16");
      r.give("training.gradient_dtype", type, "bf16, fp16");
      r.give("training.master_weights_dtype", bf16 || fp16 ? Json("fp32") : Json(nullptr), "bf16, fp16");
    }
    r.give("training.micro_batch_size", micro, "per_device_train_batch_size");
  } else {
    r.give("parallel.framework", deepspeed == nullptr ? "pytorch" : "deepspeed", deepspeed == nullptr ? "transformers" : "deepspeed");
    give_precision(r, bf16 ? "bf16" : fp16 ? "fp16" : "no", loaded_type, is_fsdp, "bf16, fp16, dtype");
    if (deepspeed != nullptr) {
      r.leave("deepspeed", KeyEffect::changes, "DeepSpeed's own configuration decides the stage: import that file; stage 0 stands in");
      r.give("parallel.data_sharding", "ddp", "deepspeed");
      r.out.missing.push_back("parallel.data_sharding");
    } else if (is_fsdp)
      read_fsdp(r, kDefaults, around);
    else {
      r.give("parallel.data_sharding", "ddp", "transformers");
      if (r.has("ddp_bucket_cap_mb")) r.give("training.details.bucket_bytes", r.count("ddp_bucket_cap_mb", 25) * (1 << 20), "ddp_bucket_cap_mb");
    }
  }
  if (r.flag("accelerator_config.gradient_accumulation_kwargs.sync_each_batch", false)) r.give("parallel.gradient_sync", "every", "accelerator_config.gradient_accumulation_kwargs.sync_each_batch");

  const std::string optim = r.text("optim", "adamw_torch_fused"), optim_from = r.has("optim") ? "optim" : "default of transformers";
  const Optim* known = nullptr;
  for (const Optim& o : kOptims)
    if (o.theirs == optim) known = &o;
  if (known == nullptr) r.leave("optim", KeyEffect::changes, "an optimizer that wireplan does not model; AdamW stands in");
  else {
    const bool has_momentum = known->ours == "sgd" && r.text("optim_args", "").find("momentum") != std::string::npos;
    r.give("training.optimizer", has_momentum ? "sgd-momentum" : std::string(known->ours), optim_from);
    if (!known->kernel.empty()) r.give("training.details.optimizer_kernel", Json(known->kernel), optim_from);
  }
  if (const Json* norm = r.find("max_grad_norm"); norm == nullptr || norm->is_number())
    r.give("training.details.gradient_clipping", norm == nullptr || norm->get<double>() > 0, norm == nullptr ? "default of transformers" : "max_grad_norm");
  else
    r.fail("max_grad_norm", "a number", "max_grad_norm must be a number");
  for (const char* key : {"gradient_checkpointing", "activation_checkpointing"})
    if (r.flag(key, false)) r.give("training.recompute", "full", key);
  r.give("training.kernels", r.flag("torch_compile", false) ? "compiled" : "eager", "torch_compile");
  if (r.flag("use_liger_kernel", r.flag("use_liger", false))) {
    r.give("training.loss", "chunked", "use_liger_kernel");
    r.give("training.details.norm_kernel", "fused", "use_liger_kernel");
  }
  r.give_word("training.attention", "attn_implementation", kAttentions, "an attention");
  read_lora(r);
  return r.finish(kNotes);
}

int likeness(const ConfigText& config) {
  int found = 0;
  for (const char* key : {"per_device_train_batch_size", "gradient_checkpointing", "output_dir", "learning_rate", "num_train_epochs", "lr_scheduler_type", "optim", "model_name_or_path", "max_grad_norm", "save_strategy"})
    found += config.document.is_object() && member_at(config.document, key) != nullptr ? 1 : 0;
  return found;
}

}  // namespace

constexpr TrainerCode kTrainingArguments = {write, read, likeness, kReasons};

}  // namespace wireplan
