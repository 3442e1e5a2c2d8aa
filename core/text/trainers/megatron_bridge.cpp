// NeMo Megatron-Bridge: a recipe with its fields set anew, in Python; read from Python, from overrides on a command line
// (model.tensor_model_parallel_size=8) and from the YAML that a run writes of its configuration.
// source: [megatron-bridge] src/megatron/bridge/training/config.py, mixed_precision.py, recipes/
#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/capture.hpp"
#include "core/text/trainers/megatron_arguments.hpp"
#include "core/text/trainers/megatron_fields.hpp"
#include "core/text/trainers/python_text.hpp"
#include "core/text/trainers/shell.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

constexpr std::string_view kSections[] = {"model", "train", "ddp", "optimizer", "mixed_precision", "comm_overlap", "dataset", "tokenizer", "checkpoint", "scheduler", "logger", "validation", "dist", "rng", "profiling", "peft"};

// Fields whose name differs from Megatron-LM's argument; others of these sections have it.
struct Renamed {
  std::string_view theirs, ours;
  bool inverts = false;
};
constexpr Renamed kRenamed[] = {{"model.num_moe_experts", "num_experts"}, {"model.gated_linear_unit", "swiglu"}, {"model.share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", true}, {"model.layernorm_zero_centered_gamma", "apply_layernorm_1p"},
                                {"dataset.sequence_length", "seq_length"}, {"dataset.seq_length", "seq_length"}, {"checkpoint.ckpt_format", "ckpt_format"}, {"tokenizer.vocab_size", ""}, {"tokenizer.tokenizer_type", ""},
                                {"ddp.grad_reduce_in_fp32", "grad_reduce_in_bf16", true}, {"mixed_precision.grad_reduce_in_fp32", "grad_reduce_in_bf16", true}, {"optimizer.clip_grad", "clip_grad"}, {"model.fp8_param", "fp8_param_gather"}};

// Recipes by name, and the presets they are of.
struct Recipe {
  std::string_view preset, function, module;
};
constexpr Recipe kRecipes[] = {{"llama-3-8b", "llama3_8b_pretrain_config", "llama"}, {"llama-3-70b", "llama3_70b_pretrain_config", "llama"}, {"llama-3.1-8b", "llama31_8b_pretrain_config", "llama"}, {"llama-3.1-70b", "llama31_70b_pretrain_config", "llama"},
                               {"llama-3.1-405b", "llama31_405b_pretrain_config", "llama"}, {"llama-3.2-1b", "llama32_1b_pretrain_config", "llama"}, {"llama-3.2-3b", "llama32_3b_pretrain_config", "llama"}, {"qwen3-8b", "qwen3_8b_pretrain_config", "qwen"},
                               {"qwen3-30b-a3b", "qwen3_30b_a3b_pretrain_config", "qwen"}, {"qwen3-235b-a22b", "qwen3_235b_a22b_pretrain_config", "qwen"}, {"deepseek-v3", "deepseek_v3_pretrain_config", "deepseek"}};
// Models by the name they are loaded from.
constexpr Word kHubModels[] = {{"meta-llama/Meta-Llama-3-8B", "llama-3-8b"}, {"meta-llama/Meta-Llama-3-70B", "llama-3-70b"}, {"meta-llama/Llama-3.1-8B", "llama-3.1-8b"}, {"meta-llama/Llama-3.1-70B", "llama-3.1-70b"}, {"meta-llama/Llama-3.1-405B", "llama-3.1-405b"},
                               {"meta-llama/Llama-3.2-1B", "llama-3.2-1b"}, {"meta-llama/Llama-3.2-3B", "llama-3.2-3b"}, {"Qwen/Qwen3-8B", "qwen3-8b"}, {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"}, {"Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b"},
                               {"deepseek-ai/DeepSeek-V3", "deepseek-v3"}, {"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"}};

// Names of recipes for mixed precision: what they set.
struct Precision {
  std::string_view name, format;
  bool narrow_first_last = false;
};
constexpr Precision kPrecisions[] = {{"bf16_mixed", "bf16"}, {"fp16_mixed", "fp16"}, {"bf16_with_fp8_delayed_scaling_mixed", "fp8"}, {"bf16_with_fp8_current_scaling_mixed", "fp8", true}, {"bf16_with_fp8_subchannel_scaling_mixed", "fp8"},
                                     {"bf16_with_mxfp8_mixed", "mxfp8"}, {"bf16_with_nvfp4_mixed", "nvfp4"}, {"bf16_with_fp8_mixed", "fp8"}};
constexpr Word kTorchTypes[] = {{"float32", "fp32"}, {"float", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"}, {"uint8", "fp8"}};

constexpr KeyNote kNotes[] = {{"scheduler", KeyEffect::none, "a schedule of the learning rate"}, {"logger", KeyEffect::none, "what is logged"}, {"validation", KeyEffect::none, "validation is not part of a training step"}, {"checkpoint", KeyEffect::none, "when and where checkpoints are written"},
                              {"dataset", KeyEffect::none, "data"}, {"tokenizer", KeyEffect::none, "the tokenizer"}, {"dist", KeyEffect::none, "timeouts and the like"}, {"rng", KeyEffect::none, "seeds"}, {"profiling", KeyEffect::none, "profiling, which wireplan does not count"},
                              {"peft", KeyEffect::changes, "adapters: state training.lora of the plan"}, {"optimizer", KeyEffect::none, "a number of the optimizer"}, {"train", KeyEffect::none, "the length of the run, or what the host does beside it"}, {"comm_overlap", KeyEffect::changes, "how a transfer overlaps"},
                              {"ddp", KeyEffect::changes, "how gradients travel"}, {"mixed_precision", KeyEffect::changes, "the recipe of narrow formats"}, {"model", KeyEffect::unknown, "wireplan does not know this field"}};

constexpr Reason kReasons[] = {
    {"training.sequence_length_mean", "recipes pack sequences to full length"},
    {"training.parameter_dtype", "mixed_precision names bf16, fp16, fp8, mxfp8 or nvfp4"},
    {"training.gradient_dtype", "gradients are summed in fp32, or in bf16 with grad_reduce_in_fp32 off"},
    {"training.master_weights_dtype", "Megatron-Core keeps fp32 master weights beside 16-bit parameters"},
    {"training.optimizer_state_dtype", "states are fp32, or 16 bit with the precision-aware optimizer, which shards them"},
    {"training.optimizer", "Megatron-Core has Adam, SGD and Muon"},
    {"training.recompute", "Megatron-Core recomputes attention, the first layers of a stage, or every layer in units of n"},
    {"training.loss", "Megatron-Core computes the loss over all logits at once, fused or not"},
    {"training.lora", "state cfg.peft with Megatron-Bridge's LoRA"},
    {"training.hidden_dropout", "the model's provider says it"},
    {"training.attention_dropout", "the model's provider says it"},
    {"parallel.data_sharding", "Megatron-Core has DDP, the distributed optimizer and Megatron-FSDP"},
    {"parallel.order", "ranks run tp-cp-ep-dp-pp, or tp-cp-ep-pp-dp with use_tp_pp_dp_mapping"},
    {"parallel.placement", "the launch decides which GPU a rank gets (CUDA_VISIBLE_DEVICES)"},
    {"parallel.gradient_sync", "gradients are reduced with the last micro-batch"},
    {"parallel.pipeline_schedule", "Megatron-Core has 1F1B and its interleaved form"},
    {"parallel.virtual_stages", "virtual stages are those of the interleaved schedule"},
};

bool is_section(std::string_view name) { return std::find(std::begin(kSections), std::end(kSections), name) != std::end(kSections); }

// --- in ------------------------------------------------------------------------------------------------------------------------------

struct Settings {
  Json values = Json::object();  // by Megatron-LM's names; others below their section
  std::vector<std::string> unresolved;
  std::string recipe, hub_model;
  std::vector<Note> notes;
  int known = 0;

  void set(std::string_view section, std::string_view key, const Json& given) {
    const std::string dotted = std::string(section) + '.' + std::string(key);
    std::string name(key);
    bool inverts = false, is_own = section == "model" || section == "ddp" || section == "optimizer" || section == "mixed_precision" || section == "train" || section == "comm_overlap";
    for (const Renamed& r : kRenamed)
      if (r.theirs == dotted) {
        name = r.ours;
        inverts = r.inverts;
        is_own = !r.ours.empty();
      }
    is_own = is_own && (is_megatron_argument(name) || name == "fp8_param_gather");
    // The formats of a mixed precision are set over those of the gradients' own.
    if (dotted == "ddp.grad_reduce_in_fp32" && has_precision) return;
    if (dotted == "mixed_precision.grad_reduce_in_fp32") has_precision = true;
    Json value = given;
    if (const std::string word = python_word(value); !value.is_string() && !word.empty()) {
      const std::string_view type = our_word(kTorchTypes, word);
      value = type.empty() ? Json(word) : Json(type);
      if (type.empty() && value != "auto" && !(given.is_object() && given.at("name").get_ref<const std::string&>().find('.') != std::string::npos)) value = Json::object();
    }
    if (value.is_string())
      if (const std::string& text = value.get_ref<const std::string&>(); text.starts_with("torch.")) value = std::string(our_word(kTorchTypes, std::string_view(text).substr(6)));
    if (!is_own) {
      if (value.is_object() && value.contains("code")) value = value.at("code");
      if (!value.is_object()) values[std::string(section)][std::string(key)] = value;
      return;
    }
    ++known;
    std::erase(unresolved, name);
    if (value.is_object() || (value.is_array() && name != "recompute_modules" && name != "moe_layer_freq" && name != "window_size")) {
      unresolved.push_back(name);
      values.erase(name);
      return;
    }
    if (inverts && value.is_boolean()) value = !value.get<bool>();
    if (name == "num_query_groups" && value.is_number()) values["group_query_attention"] = true;
    values[name] = std::move(value);
  }

  // mixed_precision as a name.
  void set_precision(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    for (const Precision& p : kPrecisions) {
      if (p.name != name) continue;
      ++known;
      has_precision = true;
      values["bf16"] = p.format != "fp16";
      values["fp16"] = p.format == "fp16";
      values["grad_reduce_in_bf16"] = false;
      if (p.format == "fp8" || p.format == "mxfp8") {
        values["fp8"] = p.format == "fp8" ? "hybrid" : "e4m3";
        values["fp8_recipe"] = p.format == "fp8" ? "delayed" : "mxfp8";
        values["fp8_param_gather"] = true;
      }
      if (p.format == "nvfp4") values["fp4"] = "e2m1";
      if (p.narrow_first_last) values["first_last_layers_bf16"] = true;
      return;
    }
    notes.push_back({Severity::warning, "training.parameter_dtype", "there is no mixed precision recipe " + value_text(Json(name))});
  }

  bool has_precision = false;
};

void take_statement(const PythonStatement& s, Settings& out) {
  // "cfg.model.x", "model.x", "cfg.mixed_precision"
  const std::size_t last = s.target.rfind('.');
  const std::string_view key = std::string_view(s.target).substr(last == std::string::npos ? 0 : last + 1);
  const std::string_view front = last == std::string::npos ? std::string_view() : std::string_view(s.target).substr(0, last);
  const std::string_view section = front.substr(front.rfind('.') == std::string_view::npos ? 0 : front.rfind('.') + 1);
  const auto keywords = [&](std::string_view into) {
    const Json& k = s.value.at("keywords");
    for (auto it = k.begin(); it != k.end(); ++it) out.set(into, it.key(), it.value());
  };
  if (key == "mixed_precision") {
    if (s.value.is_string()) out.set_precision(s.value.get<std::string>());
    else if (is_python_call(s.value, "MixedPrecisionConfig")) keywords("mixed_precision");
    else if (s.value.is_object() && s.value.contains("call")) {
      const std::string& callee = s.value.at("call").get_ref<const std::string&>();
      const Json& arguments = s.value.at("arguments");
      if (!arguments.empty() && arguments[0].is_string()) out.set_precision(arguments[0].get<std::string>());
      else out.set_precision(callee.substr(callee.rfind('.') == std::string::npos ? 0 : callee.rfind('.') + 1));
    }
  } else if (key == "comm_overlap" && is_python_call(s.value, "CommOverlapConfig")) {
    keywords("comm_overlap");
  } else if (is_section(section)) {
    out.set(section, key, s.value);
  }
  // AutoBridge.from_hf_pretrained("…").to_megatron_provider() ends behind its first call.
  if (s.value.is_object() && s.value.contains("call")) {
    const std::string& callee = s.value.at("call").get_ref<const std::string&>();
    if (callee.ends_with("_pretrain_config") || callee.ends_with("_sft_config") || callee.ends_with("_peft_config")) out.recipe = callee.substr(callee.rfind('.') == std::string::npos ? 0 : callee.rfind('.') + 1);
  }
  if (s.value.is_object() && s.value.contains("code")) {
    const std::string& code = s.value.at("code").get_ref<const std::string&>();
    if (const std::size_t at = code.find("from_hf_pretrained(\""); at != std::string::npos) out.hub_model = code.substr(at + 20, code.find('"', at + 20) - at - 20);
  }
}

Settings of_python(std::string_view text) {
  Settings out;
  std::string function;
  std::size_t skipped = 0;
  bool begun = false;
  for (const PythonStatement& s : read_python(text)) {
    if (begun && !s.function.empty() && s.function != function) {
      ++skipped;
      continue;
    }
    take_statement(s, out);
    if (out.known > 0 && !begun) {
      begun = true;
      function = s.function;
    }
  }
  if (skipped > 0) out.notes.push_back({Severity::info, "", "the text has several functions; " + function + ", the first that sets fields, is read"});
  if (out.recipe.empty() && !function.empty()) out.recipe = function;
  return out;
}

Settings of_words(const std::vector<std::string>& words) {
  Settings out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('='), point = word.find('.');
    if (equals == std::string::npos || point > equals) continue;
    std::string_view path = std::string_view(word).substr(0, equals);
    while (path.starts_with('+')) path.remove_prefix(1);
    const std::vector<PythonStatement> read = read_python("x.x = " + word.substr(equals + 1));
    const std::size_t last = path.rfind('.');
    if (last == std::string_view::npos || !is_section(path.substr(0, last))) continue;
    Json value = read.empty() ? Json(nullptr) : read.front().value;
    // Hydra's words: true, null, plain text.
    if (const std::string plain = python_word(value); !value.is_string() && !plain.empty()) value = plain == "true" ? Json(true) : plain == "false" ? Json(false) : plain == "null" ? Json(nullptr) : Json(plain);
    out.set(path.substr(0, last), path.substr(last + 1), value);
  }
  return out;
}

Settings of_document(const Json& document) {
  Settings out;
  if (const auto precision = document.find("mixed_precision"); precision != document.end() && precision->is_string()) out.set_precision(precision->get<std::string>());
  for (const std::string_view section : kSections) {
    const auto found = document.find(std::string(section));
    if (found == document.end() || !found->is_object()) continue;
    for (auto it = found->begin(); it != found->end(); ++it)
      if (!it.key().starts_with('_')) {
        // {"_target_": …}, {"_call_": true, "_args_": …}: code.
        out.set(section, it.key(), it.value().is_object() ? Json::object() : it.value());
      }
  }
  return out;
}

Settings settings_of(const ConfigText& config) {
  Settings best;
  if (config.document.is_object()) best = of_document(config.document);
  if (config.syntax == Syntax::json) return best;
  const std::string text = plain_capture(config.text);
  Settings python = of_python(text);
  if (python.known > best.known) best = std::move(python);
  const Result<ShellText> shell = read_shell(text);
  if (!shell) return best;
  for (const ShellCommand& c : shell.value().commands) {
    Settings words = of_words(c.words);
    if (words.known > best.known) best = std::move(words);
  }
  return best;
}

Result<ImportedTrainer> read(const ConfigText& config) {
  Settings settings = settings_of(config);
  if (settings.known == 0 && settings.unresolved.empty()) return other_syntax(config, "Megatron-Bridge", "a recipe in Python, overrides such as model.tensor_model_parallel_size=8, or the YAML of a run");
  // Megatron-Bridge's own words for what Megatron-LM has as flags.
  if (settings.values.contains("data_parallel_sharding_strategy") && !settings.values.contains("use_megatron_fsdp")) settings.values.erase("data_parallel_sharding_strategy");
  ConfigReader r(Trainer::megatron_bridge, settings.values);
  for (Note& n : settings.notes) r.out.notes.push_back(std::move(n));
  read_megatron_fields(r, {&settings.values, settings.unresolved, false});
  std::string_view preset = our_word(kHubModels, settings.hub_model);
  for (const Recipe& recipe : kRecipes)
    if (preset.empty() && std::string_view(recipe.function).substr(0, recipe.function.rfind("_pretrain")) == std::string_view(settings.recipe).substr(0, std::min(settings.recipe.size(), recipe.function.rfind("_pretrain"))) &&
        settings.recipe.substr(std::min(settings.recipe.size(), recipe.function.rfind("_pretrain"))).starts_with('_'))
      preset = recipe.preset;
  if (!r.out.plan.contains("model") && !preset.empty()) {
    r.give("model", Json(preset), settings.hub_model.empty() ? settings.recipe : settings.hub_model);
    std::erase(r.out.missing, "model");
  }
  r.note(Severity::info, "", "what the recipe sets and this text does not say is not known here: import the YAML that the run writes of its configuration for all of it");
  for (const std::string& name : settings.unresolved) r.out.unread.push_back({name, "null", KeyEffect::changes, "its value is worked out by code"});
  std::vector<KeyNote> notes(std::begin(kNotes), std::end(kNotes));
  for (const KeyNote& n : megatron_key_notes()) {
    notes.push_back(n);
  }
  return r.finish(notes);
}

int likeness(const ConfigText& config) {
  const Settings settings = settings_of(config);
  return settings.known;
}

// --- out -----------------------------------------------------------------------------------------------------------------------------

class Lines {
 public:
  std::string text;
  void set(std::string_view field, std::string_view value) { ((((text += "cfg.") += field) += " = ") += value) += '\n'; }
  void set(std::string_view field, Count n) { set(field, std::to_string(n)); }
  void set(std::string_view field, int n) { set(field, std::to_string(n)); }
  void set(std::string_view field, bool on) { set(field, on ? "True" : "False"); }
  void set(std::string_view field, const char* word) { set(field, std::string_view(word)); }
  void head(std::string_view words) { ((text += "\n# ") += words) += '\n'; }
};

void write_fields(const Plan& plan, Lines& l) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  const bool interleaves = p.pipeline > 1 && p.pipeline_schedule == PipelineSchedule::interleaved && p.virtual_stages > 1;
  l.head("How it is split.");
  l.set("model.tensor_model_parallel_size", p.tensor);
  l.set("model.sequence_parallel", p.sequence_parallel && p.tensor > 1);
  l.set("model.pipeline_model_parallel_size", p.pipeline);
  l.set("model.virtual_pipeline_model_parallel_size", interleaves ? std::to_string(p.virtual_stages) : "None");
  if (p.pipeline > 1) l.set("model.pipeline_dtype", "torch.bfloat16");
  l.set("model.context_parallel_size", p.context);
  if (plan.model.moe) {
    l.set("model.expert_model_parallel_size", p.expert);
    l.set("model.expert_tensor_parallel_size", p.expert_tensor);
    l.set("model.moe_token_dispatcher_type", "\"" + std::string(name_of(p.moe_dispatcher)) + "\"");
  }
  if (p.order == "tp-cp-ep-pp-dp") l.set("dist.use_tp_pp_dp_mapping", true);
  l.head("Data parallelism.");
  l.set("ddp.use_distributed_optimizer", p.data_sharding != DataSharding::ddp);
  l.set("optimizer.use_distributed_optimizer", p.data_sharding != DataSharding::ddp);
  l.set("ddp.use_megatron_fsdp", shards_parameters(p.data_sharding));
  if (shards_parameters(p.data_sharding)) {
    l.set("ddp.data_parallel_sharding_strategy", "\"optim_grads_params\"");
    l.set("checkpoint.ckpt_format", "\"fsdp_dtensor\"");
  }
  if (p.shard_group > 0 && p.shard_group < p.data * p.context && p.data_sharding != DataSharding::ddp) l.set("ddp.num_distributed_optimizer_instances", p.data * p.context / p.shard_group);
  l.set("ddp.overlap_grad_reduce", p.overlap.gradient_reduce);
  l.set("ddp.overlap_param_gather", p.overlap.parameter_gather && p.overlap.gradient_reduce && p.data_sharding != DataSharding::ddp);
  l.set("comm_overlap", "CommOverlapConfig(tp_comm_overlap=" + std::string(p.overlap.tensor && p.sequence_parallel && p.tensor > 1 ? "True" : "False") + (interleaves ? std::string(", overlap_p2p_comm=") + (p.overlap.pipeline ? "True" : "False") : "") + ")");
  l.head("A step.");
  l.set("train.micro_batch_size", t.micro_batch_size);
  l.set("train.global_batch_size", t.global_batch_size);
  l.set("model.seq_length", t.sequence_length);
  l.set("dataset.sequence_length", t.sequence_length);
  const char* precision = t.parameter_dtype == DType::fp16 ? "fp16_mixed" : t.parameter_dtype == DType::fp8 ? "bf16_with_fp8_delayed_scaling_mixed" : t.parameter_dtype == DType::mxfp8 ? "bf16_with_mxfp8_mixed" : t.parameter_dtype == DType::nvfp4 ? "bf16_with_nvfp4_mixed" : "bf16_mixed";
  if (t.parameter_dtype == DType::fp32) l.set("mixed_precision", "MixedPrecisionConfig(fp32=True, bf16=False)");
  else {
    l.set("mixed_precision", "get_mixed_precision_config(\"" + std::string(precision) + "\")");
    l.set("mixed_precision.grad_reduce_in_fp32", t.gradient_dtype == DType::fp32);
    if (t.parameter_dtype == DType::fp8 || t.parameter_dtype == DType::mxfp8) l.set("mixed_precision.fp8_param_gather", false);
    if (t.parameter_dtype == DType::mxfp8) l.set("mixed_precision.reuse_grad_buf_for_mxfp8_param_ag", false);
  }
  const bool is_sgd = t.optimizer == Optimizer::sgd || t.optimizer == Optimizer::sgd_momentum;
  l.set("optimizer.optimizer", is_sgd ? "\"sgd\"" : t.optimizer == Optimizer::muon ? "\"muon\"" : "\"adam\"");
  if (is_sgd) l.set("optimizer.sgd_momentum", t.optimizer == Optimizer::sgd ? "0.0" : "0.9");
  const bool narrow = (t.optimizer_state_dtype == DType::bf16 || t.optimizer_state_dtype == DType::fp16) && p.data_sharding != DataSharding::ddp && !is_sgd;
  l.set("optimizer.use_precision_aware_optimizer", narrow || t.offload.optimizer);
  const char* states = !narrow ? "torch.float32" : t.optimizer_state_dtype == DType::bf16 ? "torch.bfloat16" : "torch.float16";
  l.set("optimizer.exp_avg_dtype", states);
  l.set("optimizer.exp_avg_sq_dtype", states);
  l.set("optimizer.optimizer_cpu_offload", t.offload.optimizer);
  if (t.details && t.details->gradient_clipping) l.set("optimizer.clip_grad", *t.details->gradient_clipping ? "1.0" : "0.0");
  l.set("model.cross_entropy_loss_fusion", t.loss != Loss::logits_fp32);
  const AttentionKernel kernel = t.details && t.details->attention_kernel ? *t.details->attention_kernel : AttentionKernel::math;
  if (t.attention == Attention::eager) l.set("model.attention_backend", "AttnBackend.unfused");
  else if (kernel == AttentionKernel::flash || kernel == AttentionKernel::cudnn) l.set("model.attention_backend", kernel == AttentionKernel::flash ? "AttnBackend.flash" : "AttnBackend.fused");
  else l.set("model.attention_backend", "AttnBackend.auto");
  l.set("model.hidden_dropout", format_exact(t.hidden_dropout));
  l.set("model.attention_dropout", format_exact(t.attention_dropout));
  l.set("model.cuda_graph_impl", t.cuda_graphs ? "\"transformer_engine\"" : "\"none\"");
  l.head("Memory for time.");
  const bool full = t.recompute.kind != RecomputeKind::none && t.recompute.kind != RecomputeKind::selective;
  l.set("model.recompute_granularity", full ? "\"full\"" : t.recompute.kind == RecomputeKind::selective ? "\"selective\"" : "None");
  if (full) {
    l.set("model.recompute_method", t.recompute.kind == RecomputeKind::full_layers ? "\"block\"" : "\"uniform\"");
    l.set("model.recompute_num_layers", t.recompute.kind == RecomputeKind::full ? 1 : t.recompute.n);
  }
}

Result<Export> write(const Plan& plan) {
  if (plan.parallel.framework != Framework::megatron)
    return Error{"parallel.framework", value_text(Json(name_of(plan.parallel.framework))), "megatron", "Megatron-Bridge trains plans of framework megatron, not " + std::string(name_of(plan.parallel.framework)) + ". Nearest: parallel.framework megatron, or another trainer"};
  if (plan.model.opaque) return Error{"model", value_text(Json(plan.model.name)), "a transformer", "Megatron-Bridge's recipes are of transformers; this model is given by its totals alone"};
  const Recipe* recipe = nullptr;
  for (const Recipe& candidate : kRecipes)
    if (candidate.preset == plan.model.id) recipe = &candidate;
  Export out;
  Lines l;
  l.text = "# Megatron-Bridge: a recipe with the plan's fields set over its own.\nimport torch\nfrom megatron.core.transformer.enums import AttnBackend\n";
  if (recipe != nullptr) l.text += "from megatron.bridge.recipes." + std::string(recipe->module) + " import " + std::string(recipe->function) + "\n";
  l.text += "from megatron.bridge.training.comm_overlap import CommOverlapConfig\nfrom megatron.bridge.training.gpt_step import forward_step\nfrom megatron.bridge.training.mixed_precision import MixedPrecisionConfig, get_mixed_precision_config\nfrom megatron.bridge.training.pretrain import pretrain\n";
  if (recipe != nullptr) l.text += "\ncfg = " + std::string(recipe->function) + "()\n";
  else {
    l.text += "from your_recipes import recipe  # a recipe of this model: none that comes with Megatron-Bridge is known here\n\ncfg = recipe()\n";
    out.inexpressible.push_back({"model", value_text(Json(plan.model.id.empty() ? plan.model.name : plan.model.id)), "no recipe of Megatron-Bridge is known for this model; the file takes one of yours"});
  }
  write_fields(plan, l);
  l.text += "\nif __name__ == \"__main__\":\n    pretrain(cfg, forward_step)\n";
  out.files.push_back({"megatron_bridge.py", std::move(l.text)});
  return out;
}

}  // namespace

const TrainerCode kMegatronBridge{write, read, likeness, kReasons};

}  // namespace wireplan
