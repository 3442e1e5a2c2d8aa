// Lightning: a Trainer with its strategy, in Python.
// source: https://github.com/Lightning-AI/pytorch-lightning, src/lightning/pytorch/trainer/trainer.py and strategies/ of release 2.5
#include <utility>

#include "core/base/format.hpp"
#include "core/text/capture.hpp"
#include "core/text/log_text.hpp"
#include "core/text/trainers/deepspeed_config.hpp"
#include "core/text/trainers/python_text.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

constexpr Word kShardings[] = {{"FULL_SHARD", "fsdp"}, {"SHARD_GRAD_OP", "zero2"}, {"NO_SHARD", "ddp"}, {"HYBRID_SHARD", "hsdp"}, {"_HYBRID_SHARD_ZERO2", "hsdp"}};
constexpr Word kOptimizers[] = {{"AdamW", "adamw"}, {"Adam", "adamw"}, {"FusedAdam", "adamw"}, {"DeepSpeedCPUAdam", "adamw"}, {"AdamW8bit", "adamw-8bit"}, {"PagedAdamW8bit", "adamw-8bit-paged"}, {"Lion", "lion"}, {"Adafactor", "adafactor"}};
// Of Trainer and of the strategies: the type of the arithmetic, whether fp32 weights stay beside it.
struct Precision {
  std::string_view name, type;
  bool mixed;
};
constexpr Precision kPrecisions[] = {{"bf16-mixed", "bf16", true}, {"16-mixed", "fp16", true}, {"bf16-true", "bf16", false}, {"16-true", "fp16", false}, {"32-true", "fp32", false}, {"transformer-engine", "fp8", true}, {"bf16", "bf16", true}, {"16", "fp16", true}, {"32", "fp32", false}};

constexpr KeyNote kNotes[] = {{"trainer", KeyEffect::none, "how long, what is logged and saved"},
                              {"strategy", KeyEffect::unknown, "wireplan does not know this key"},
                              {"strategy.timeout", KeyEffect::none, "a timeout"},
                              {"strategy.process_group_backend", KeyEffect::none, "NCCL, as wireplan takes it"},
                              {"strategy.limit_all_gathers", KeyEffect::none, "wireplan takes gathers as limited"},
                              {"strategy.find_unused_parameters", KeyEffect::changes, "a walk over the graph in every step"},
                              {"strategy.static_graph", KeyEffect::none, "decides no byte"},
                              {"strategy.mixed_precision", KeyEffect::changes, "types of its own beside Trainer's precision"},
                              {"strategy.device_mesh", KeyEffect::changes, "the mesh decides the groups: state parallel.shard_group"},
                              {"trainer.sync_batchnorm", KeyEffect::changes, "statistics of a batch norm travel in every layer"},
                              {"deepspeed", KeyEffect::unknown, "wireplan does not know this key"}};

constexpr Reason kReasons[] = {
    {"training.sequence_length", "the data decides it"}, {"training.sequence_length_mean", "the data decides it"}, {"training.attention", "the model's code decides it"}, {"training.loss", "the model's code decides it"}, {"training.kernels", "the training code compiles (torch.compile)"},
    {"training.implementation", "the file does not say whose code the model is"}, {"training.hidden_dropout", "the model's code decides it"}, {"training.attention_dropout", "the model's code decides it"}, {"training.lora", "the model's code adds adapters"}, {"training.cuda_graphs", "the training code captures them"},
    {"training.optimizer", "configure_optimizers() of the module makes it"}, {"training.parameter_dtype", "Trainer's precision is 32, bf16 or fp16, mixed or true, or transformer-engine"}, {"training.gradient_dtype", "gradients have the type of the stored weights"},
    {"training.master_weights_dtype", "mixed precision stores fp32 weights, true precision none"}, {"training.optimizer_state_dtype", "states have the type of the stored weights"}, {"training.recompute", "FSDP's activation_checkpointing_policy takes whole layers; else the model's code decides"},
    {"training.offload", "FSDP moves parameters and optimizer together, DeepSpeed each; activations stay"}, {"training.load", "configure_model() of the module decides it"}, {"training.checkpoint", "the strategy's state_dict_type says it where it has one"}, {"training.details", "Lightning has no key for it"},
    {"parallel.data_sharding", "Lightning has DDP, FSDP (FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD), DeepSpeed and ModelParallelStrategy"}, {"parallel.shard_group", "HYBRID_SHARD shards over the GPUs of a node"}, {"parallel.fsdp_unit", "auto_wrap_policy wraps layers"},
    {"parallel.pipeline", "Lightning has no pipeline"}, {"parallel.pipeline_schedule", "Lightning has no pipeline"}, {"parallel.virtual_stages", "Lightning has no pipeline"}, {"parallel.context", "Lightning has no context parallelism"}, {"parallel.expert", "the model's code spreads experts"}, {"parallel.expert_tensor", "the model's code spreads experts"},
    {"parallel.tensor", "ModelParallelStrategy splits layers, without DeepSpeed"}, {"parallel.sequence_parallel", "configure_model() of the module decides it"}, {"parallel.order", "ranks of a tensor group are neighbours"}, {"parallel.placement", "the launch decides which GPU a rank gets (CUDA_VISIBLE_DEVICES)"},
    {"parallel.gradient_sync", "DDP and FSDP reduce with the last micro-batch"}, {"parallel.overlap", "DDP and FSDP overlap always"}, {"parallel.moe_dispatcher", "the model's code spreads experts"}, {"parallel.deepspeed", "DeepSpeedStrategy alone takes it"},
};

// --- in ------------------------------------------------------------------------------------------------------------------------------

struct Found {
  Json document = Json::object();  // "trainer", "strategy", "deepspeed", "data"
  std::string strategy;            // "fsdp", "FSDPStrategy"
  std::string optimizer;
  int count = 0;
};

// Keywords as values: names by their last word, everything that is no value as text.
Json plain(const Json& value) {
  if (!value.is_object()) return value;
  if (const std::string word = python_word(value); !word.empty()) return word;
  if (value.contains("items")) return value.at("items");
  if (value.contains("call")) return value.at("call");
  return value.contains("code") ? value.at("code") : Json(nullptr);
}

void look_inside(const Json& value, Found& found) {
  if (!value.is_object() || !value.contains("call")) return;
  const std::string& callee = value.at("call").get_ref<const std::string&>();
  const std::string_view word = std::string_view(callee).substr(callee.rfind('.') == std::string::npos ? 0 : callee.rfind('.') + 1);
  const Json& keywords = value.at("keywords");
  if (word == "Trainer" || word == "Fabric") {
    if (found.document.contains("trainer")) return;  // the first
    Json trainer = Json::object();
    for (auto it = keywords.begin(); it != keywords.end(); ++it) {
      if (it.key() != "strategy") trainer[it.key()] = plain(it.value());
      else if (it.value().is_object() && it.value().contains("call")) {
        const std::string& made = it.value().at("call").get_ref<const std::string&>();
        found.strategy = made.substr(made.rfind('.') == std::string::npos ? 0 : made.rfind('.') + 1);
        const Json& options = it.value().at("keywords");
        for (auto o = options.begin(); o != options.end(); ++o) found.document["strategy"][o.key()] = plain(o.value());
      } else found.strategy = python_word(it.value());
    }
    for (const char* key : {"devices", "num_nodes", "accumulate_grad_batches", "precision", "accelerator"}) found.count += trainer.contains(key);
    found.count += keywords.contains("strategy");
    found.document["trainer"] = std::move(trainer);
  } else if (word == "DataLoader" && keywords.contains("batch_size") && !found.document.contains("data")) {
    found.document["data"]["batch_size"] = plain(keywords.at("batch_size"));
  } else if (!our_word(kOptimizers, word).empty() && found.optimizer.empty()) {
    found.optimizer = word;
  }
}

Found found_in(const ConfigText& config) {
  Found found;
  if (config.syntax == Syntax::json) return found;
  for (const PythonStatement& s : read_python(plain_capture(config.text))) look_inside(s.value, found);
  return found;
}

class Reading {
 public:
  Reading(ConfigReader& r, const Found& found) : r_(r), found_(found) {}

  void read() {
    devices();
    strategy();
    batch();
    if (!found_.optimizer.empty()) r_.give("training.optimizer", our_word(kOptimizers, found_.optimizer), found_.optimizer);
    for (const char* path : {"model", "training.sequence_length"}) r_.out.missing.emplace_back(path);
    r_.out.missing.emplace_back(gpus_ > 0 ? "cluster.node" : "cluster");
  }

 private:
  void devices() {
    nodes_ = r_.count("trainer.num_nodes", 1);
    const Json* devices = r_.find("trainer.devices");
    if (devices == nullptr) return;
    if (devices->is_array()) gpus_ = static_cast<Count>(devices->size());
    else if (devices->is_string() && whole_number(devices->get_ref<const std::string&>())) gpus_ = static_cast<Count>(*whole_number(devices->get_ref<const std::string&>()));
    else if (devices->is_number() && devices->get<double>() >= 1) gpus_ = r_.count("trainer.devices", 0);
    else r_.leave("trainer.devices", KeyEffect::changes, "all GPUs of the node: state cluster.gpus_per_node");
    if (gpus_ < 1 || gpus_ > 1'000'000) {
      gpus_ = 0;
      return;
    }
    r_.give("cluster.nodes", nodes_, r_.has("trainer.num_nodes") ? "trainer.num_nodes" : "default of Lightning");
    r_.give("cluster.gpus_per_node", gpus_, "trainer.devices");
    if (devices->is_array()) {
      bool whole = true;
      for (const Json& d : *devices) whole = whole && d.is_number_integer() && d.get<double>() >= 0 && d.get<double>() < 1e6;
      if (whole) r_.give("cluster.gpus", *devices, "trainer.devices");
    }
  }

  void precision(bool is_fsdp) {
    const std::string given = r_.text("trainer.precision", "32-true");
    const std::string from = r_.has("trainer.precision") ? "trainer.precision" : "default of Lightning: precision";
    for (const Precision& p : kPrecisions) {
      if (p.name != given) continue;
      r_.give("training.parameter_dtype", p.type, from);
      const Json stored = p.mixed ? Json("fp32") : Json(p.type);
      r_.give("training.gradient_dtype", stored, from);
      r_.give("training.master_weights_dtype", p.mixed ? Json("fp32") : Json(nullptr), from);
      r_.give("training.optimizer_state_dtype", stored, from);
      if (is_fsdp && p.mixed) r_.note(Severity::warning, "training.parameter_dtype", "with FSDP and " + given + " Lightning gathers fp32 weights and casts where they are used; the plan gathers " + std::string(p.type));
      return;
    }
    r_.fail("trainer.precision", "32-true | bf16-mixed | bf16-true | 16-mixed | 16-true | transformer-engine", "there is no precision " + value_text(Json(given)) + ". Nearest: bf16-mixed");
  }

  void strategy() {
    const std::string_view s = found_.strategy;
    const std::string from = s.empty() ? "default of Lightning: strategy" : "strategy " + std::string(s);
    if (s == "DeepSpeedStrategy" || s.starts_with("deepspeed")) return deepspeed();
    r_.give("parallel.framework", "pytorch", from);
    if (s == "FSDPStrategy" || s.starts_with("fsdp")) {
      fsdp(from);
      return precision(true);
    }
    if (s == "ModelParallelStrategy") {
      model_parallel(from);
      return precision(true);
    }
    precision(false);
    r_.give("parallel.data_sharding", "ddp", from);
    r_.give("parallel.gradient_sync", "last", "default of Lightning");
    if (s == "DDPStrategy") {
      if (r_.has("strategy.gradient_as_bucket_view")) r_.give("training.details.gradient_as_bucket_view", r_.flag("strategy.gradient_as_bucket_view", false), "strategy.gradient_as_bucket_view");
      if (r_.has("strategy.bucket_cap_mb")) r_.give("training.details.bucket_bytes", r_.count("strategy.bucket_cap_mb", 25) * 1'048'576, "strategy.bucket_cap_mb");
    } else if (!s.empty() && s != "auto" && !s.starts_with("ddp") && s != "SingleDeviceStrategy") {
      r_.note(Severity::warning, "parallel.data_sharding", "the strategy " + shown_name(s) + " is not known; DDP stands in");
    }
  }

  void fsdp(const std::string& from) {
    const std::string sharding = r_.text("strategy.sharding_strategy", "FULL_SHARD");
    const std::string_view ours = our_word(kShardings, sharding);
    if (ours.empty()) return r_.fail("strategy.sharding_strategy", "FULL_SHARD | SHARD_GRAD_OP | NO_SHARD | HYBRID_SHARD", "there is no sharding strategy " + value_text(Json(sharding)) + ". Nearest: FULL_SHARD");
    r_.give("parallel.data_sharding", ours, r_.has("strategy.sharding_strategy") ? "strategy.sharding_strategy" : from);
    r_.give("parallel.gradient_sync", "last", "default of Lightning");
    if (ours == "hsdp") r_.out.open.shards_node = true;
    r_.give("training.details.fsdp_version", 1, from);
    const bool wraps = r_.find("strategy.auto_wrap_policy") != nullptr;
    r_.give("parallel.fsdp_unit", wraps ? "block" : "none", wraps ? "strategy.auto_wrap_policy" : "default of Lightning: auto_wrap_policy");
    if (!wraps) r_.note(Severity::info, "parallel.fsdp_unit", "without auto_wrap_policy the model is one unit unless its configure_model() wraps parts");
    if (r_.find("strategy.activation_checkpointing_policy") != nullptr || r_.find("strategy.activation_checkpointing") != nullptr) r_.give("training.recompute", "full", "strategy.activation_checkpointing_policy");
    const Json* offload = r_.find("strategy.cpu_offload");
    if (found_.strategy == "fsdp_cpu_offload" || (offload != nullptr && *offload != Json(false))) {
      r_.give("training.offload.parameters", true, offload != nullptr ? "strategy.cpu_offload" : from);
      r_.give("training.offload.optimizer", true, offload != nullptr ? "strategy.cpu_offload" : from);
    }
    r_.give("training.checkpoint", r_.text("strategy.state_dict_type", "full") == "sharded" ? "sharded" : "full", r_.has("strategy.state_dict_type") ? "strategy.state_dict_type" : "default of Lightning: state_dict_type");
    if (r_.has("strategy.use_orig_params")) r_.give("training.details.fsdp_use_orig_params", r_.flag("strategy.use_orig_params", true), "strategy.use_orig_params");
    if (r_.has("strategy.backward_prefetch")) r_.give("training.details.fsdp_backward_prefetch", r_.text("strategy.backward_prefetch", "") == "BACKWARD_PRE", "strategy.backward_prefetch");
  }

  void model_parallel(const std::string& from) {
    r_.give("parallel.data_sharding", "fsdp", from);
    r_.give("parallel.gradient_sync", "last", "default of Lightning");
    r_.give("training.details.fsdp_version", 2, from);
    const auto size = [&](const char* key, Count otherwise) {
      const Json* n = r_.find(key);
      return n == nullptr || n->is_string() ? otherwise : r_.count(key, otherwise);
    };
    // "auto": tensor groups are nodes.
    const Count tensor = size("strategy.tensor_parallel_size", gpus_), data = size("strategy.data_parallel_size", nodes_);
    if (tensor > 0) r_.give("parallel.tensor", tensor, r_.has("strategy.tensor_parallel_size") ? "strategy.tensor_parallel_size" : from);
    else r_.out.missing.emplace_back("parallel.tensor");
    r_.give("parallel.data", data, r_.has("strategy.data_parallel_size") ? "strategy.data_parallel_size" : from);
    r_.give("training.checkpoint", r_.flag("strategy.save_distributed_checkpoint", true) ? "sharded" : "full", from);
  }

  void deepspeed() { read_deepspeed(r_, "deepspeed.", found_.document.at("deepspeed")); }

  void batch() {
    const Count accumulated = r_.count("trainer.accumulate_grad_batches", 1);
    if (r_.has("data.batch_size") && r_.find("data.batch_size")->is_number()) r_.give("training.micro_batch_size", r_.count("data.batch_size", 1), "DataLoader batch_size");
    else r_.out.missing.emplace_back("training.micro_batch_size");
    r_.out.open.accumulation = accumulated;
    if (r_.has("trainer.gradient_clip_val")) {
      const Json* clip = r_.find("trainer.gradient_clip_val");
      r_.give("training.details.gradient_clipping", clip->is_number() && clip->get<double>() > 0, "trainer.gradient_clip_val");
    }
  }

  ConfigReader& r_;
  const Found& found_;
  Count nodes_ = 1, gpus_ = 0;
};

// The configuration that DeepSpeedStrategy makes of its keywords.
Json deepspeed_of(const Found& found) {
  const Json* strategy = member_at(found.document, "strategy");
  if (strategy != nullptr && strategy->contains("config") && strategy->at("config").is_object()) return strategy->at("config");
  Json zero = Json::object(), config = Json::object();
  const std::string_view s = found.strategy;
  zero["stage"] = s.find("stage_1") != std::string_view::npos ? 1 : s.find("stage_3") != std::string_view::npos ? 3 : 2;
  if (s.find("offload") != std::string_view::npos) zero["offload_optimizer"] = Json{{"device", "cpu"}};
  if (s.find("stage_3_offload") != std::string_view::npos) zero["offload_param"] = Json{{"device", "cpu"}};
  if (strategy != nullptr)
    for (auto it = strategy->begin(); it != strategy->end(); ++it) {
      if (it.key() == "offload_optimizer" || it.key() == "offload_parameters") {
        if (it.value() == Json(true)) zero[it.key() == "offload_optimizer" ? "offload_optimizer" : "offload_param"] = Json{{"device", "cpu"}};
      } else if (it.key() == "zero_optimization") {
        if (it.value() == Json(false)) zero["stage"] = 0;
      } else zero[it.key()] = it.value();
    }
  config["zero_optimization"] = std::move(zero);
  const Json* precision = member_at(found.document, "trainer.precision");
  const std::string given = precision != nullptr && precision->is_string() ? precision->get<std::string>() : precision != nullptr && precision->is_number() ? dump_json_compact(*precision).substr(0, 2) : "32";
  if (given.starts_with("bf16")) config["bf16"] = Json{{"enabled", true}};
  if (given.starts_with("16")) config["fp16"] = Json{{"enabled", true}};
  return config;
}

Result<ImportedTrainer> read(const ConfigText& config) {
  Found found = found_in(config);
  if (!found.document.contains("trainer")) return other_syntax(config, "Lightning", "Python with a Trainer(...)");
  if (found.strategy == "DeepSpeedStrategy" || found.strategy.starts_with("deepspeed")) {
    found.document["deepspeed"] = deepspeed_of(found);
    found.document.erase("strategy");
    if (found.document["trainer"].contains("precision")) found.document["trainer"].erase("precision");
  }
  ConfigReader r(Trainer::lightning, found.document);
  Reading(r, found).read();
  return r.finish(kNotes);
}

int likeness(const ConfigText& config) { return found_in(config).count; }

// --- out -----------------------------------------------------------------------------------------------------------------------------

std::string python_dictionary(const Json& value, const std::string& indent) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (!value.is_object()) return dump_json_compact(value);
  std::string text = "{\n";
  for (auto it = value.begin(); it != value.end(); ++it) text += indent + "    " + dump_json_compact(Json(it.key())) + ": " + python_dictionary(it.value(), indent + "    ") + ",\n";
  return text + indent + "}";
}

std::string strategy_text(const Plan& plan) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  if (p.framework == Framework::deepspeed) {
    Json config = deepspeed_document(plan);
    for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"}) config.erase(key);  // Trainer's
    return "DeepSpeedStrategy(config=" + python_dictionary(config, "    ") + ")";
  }
  if (p.tensor > 1)
    return "ModelParallelStrategy(\n        data_parallel_size=" + std::to_string(p.data) + ",\n        tensor_parallel_size=" + std::to_string(p.tensor) + ",\n        save_distributed_checkpoint=" + (t.checkpoint == Checkpoint::sharded ? "True" : "False") + ",\n    )";
  const char* sharding = p.data_sharding == DataSharding::fsdp ? "FULL_SHARD" : p.data_sharding == DataSharding::zero2 ? "SHARD_GRAD_OP" : p.data_sharding == DataSharding::hsdp ? "HYBRID_SHARD" : nullptr;
  if (sharding == nullptr) {
    std::string text = "DDPStrategy(";
    if (t.details && t.details->gradient_as_bucket_view) text += std::string("gradient_as_bucket_view=") + (*t.details->gradient_as_bucket_view ? "True" : "False");
    return text + ")";
  }
  std::string text = "FSDPStrategy(\n        sharding_strategy=\"" + std::string(sharding) + "\",\n";
  if (p.fsdp_unit.kind != FsdpUnit::Kind::none) text += "        auto_wrap_policy={Block},\n";
  if (t.recompute.kind != RecomputeKind::none) text += "        activation_checkpointing_policy={Block},\n";
  if (t.offload.parameters || t.offload.optimizer) text += "        cpu_offload=True,\n";
  return text + "        state_dict_type=\"" + std::string(name_of(t.checkpoint)) + "\",\n    )";
}

Result<Export> write(const Plan& plan) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  if (p.framework == Framework::megatron)
    return Error{"parallel.framework", "\"megatron\"", "pytorch | deepspeed", "Lightning trains plans of framework pytorch or deepspeed, not megatron. Nearest: --to megatron"};
  const bool mixed = t.master_weights_dtype.has_value();
  const std::string_view precision = t.parameter_dtype == DType::fp8 ? "transformer-engine" : t.parameter_dtype == DType::fp16 ? (mixed ? "16-mixed" : "16-true") : t.parameter_dtype == DType::fp32 ? "32-true" : mixed ? "bf16-mixed" : "bf16-true";
  const std::string strategy = strategy_text(plan);
  const std::string kind = strategy.substr(0, strategy.find('('));
  std::string text = "# Lightning's Trainer of the plan.\nimport lightning as L\nfrom lightning.pytorch.strategies import " + kind + "\nfrom torch.utils.data import DataLoader\n\nfrom your_training import Block, dataset, module  # the model's layer, the data, the LightningModule\n\ntrainer = L.Trainer(\n    accelerator=\"gpu\",\n";
  const Cluster& c = plan.cluster;
  if (c.gpus.empty()) text += "    devices=" + std::to_string(c.gpus_per_node) + ",\n";
  else {
    std::string list;
    for (const int g : used_gpus(c)) list += (list.empty() ? "" : ", ") + std::to_string(g);
    text += "    devices=[" + list + "],\n";
  }
  text += "    num_nodes=" + std::to_string(c.nodes) + ",\n    precision=\"" + std::string(precision) + "\",\n    accumulate_grad_batches=" + std::to_string(micro_batches(plan)) + ",\n";
  if (t.details && t.details->gradient_clipping) text += std::string("    gradient_clip_val=") + (*t.details->gradient_clipping ? "1.0" : "0.0") + ",\n";
  text += "    strategy=" + strategy + ",\n)\n\nif __name__ == \"__main__\":\n    batches = DataLoader(dataset, batch_size=" + std::to_string(t.micro_batch_size) + ")\n    trainer.fit(module, batches)\n";
  Export out;
  out.files.push_back({"lightning_trainer.py", std::move(text)});
  out.notes.push_back({Severity::info, "model", "model, data and optimizer stay in the training code"});
  return out;
}

}  // namespace

const TrainerCode kLightning{write, read, likeness, kReasons};

}  // namespace wireplan
