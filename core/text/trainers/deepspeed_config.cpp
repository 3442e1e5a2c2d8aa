#include "core/text/trainers/deepspeed_config.hpp"

#include "core/base/format.hpp"
#include "core/text/trainers/config_writer.hpp"

namespace wireplan {
namespace {

constexpr Word kOptimizers[] = {{"AdamW", "adamw"}, {"Adam", "adam"}, {"Lion", "lion"}, {"Muon", "muon"}, {"SGD", "sgd"}, {"FusedAdam", "adamw"}, {"DeepSpeedCPUAdam", "adamw"}};
constexpr Word kTypes[] = {{"fp32", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}};
constexpr std::string_view kStages[] = {"ddp", "zero1", "zero2", "zero3"};

// Of zero_optimization: what parallel.deepspeed carries, with DeepSpeed's defaults (core/count/deepspeed_settings.hpp).
struct Size {
  const char* key;
  double otherwise;
};
constexpr Size kSizes[] = {{"reduce_bucket_size", 5e8}, {"stage3_prefetch_bucket_size", 5e7}, {"stage3_max_live_parameters", 1e9}, {"stage3_max_reuse_distance", 1e9},
                           {"stage3_param_persistence_threshold", 1e5}, {"sub_group_size", 1e9}, {"zero_hpz_partition_size", 1}};
struct Switch {
  const char* key;
  bool otherwise;
};
constexpr Switch kSwitches[] = {{"round_robin_gradients", false}, {"contiguous_gradients", true}, {"reduce_scatter", true}, {"memory_efficient_linear", true}};

int stage_of(DataSharding sharding) {
  return sharding == DataSharding::zero1 ? 1 : sharding == DataSharding::zero2 ? 2 : shards_parameters(sharding) ? 3 : 0;
}

constexpr KeyNote kNotes[] = {
    {"steps_per_print", KeyEffect::none, "how often it logs"},
    {"wall_clock_breakdown", KeyEffect::changes, "timers synchronise the GPU"},
    {"memory_breakdown", KeyEffect::none, "what is logged"},
    {"dump_state", KeyEffect::none, "what is logged"},
    {"scheduler", KeyEffect::none, "the learning rate"},
    {"optimizer", KeyEffect::none, "a number of the optimizer"},
    {"fp16", KeyEffect::none, "how the loss is scaled"},
    {"bf16", KeyEffect::changes, "a finer switch of the bf16 optimizer"},
    {"amp", KeyEffect::changes, "Apex AMP is not modelled"},
    {"torch_autocast", KeyEffect::changes, "autocast inside DeepSpeed is not modelled"},
    {"data_types", KeyEffect::changes, "wireplan takes gradients' type from grad_accum_dtype alone"},
    {"communication_data_type", KeyEffect::changes, "wireplan reduces in the gradients' type"},
    {"prescale_gradients", KeyEffect::none, "an order of division"},
    {"gradient_predivide_factor", KeyEffect::none, "an order of division"},
    {"sparse_gradients", KeyEffect::changes, "sparse gradients of embeddings are not modelled"},
    {"zero_allow_untested_optimizer", KeyEffect::none, "what DeepSpeed refuses"},
    {"zero_force_ds_cpu_optimizer", KeyEffect::none, "which CPU optimizer runs"},
    {"zero_optimization", KeyEffect::changes, "a key of ZeRO that wireplan does not model"},
    {"zero_optimization.allgather_partitions", KeyEffect::changes, "wireplan gathers parameters by all-gather"},
    {"zero_optimization.allgather_bucket_size", KeyEffect::changes, "wireplan gathers the updated parameters at once"},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save", KeyEffect::none, "what saving gathers"},
    {"zero_optimization.stage3_gather_fp16_weights_on_model_save", KeyEffect::none, "what saving gathers"},
    {"zero_optimization.elastic_checkpoint", KeyEffect::none, "what saving writes"},
    {"zero_optimization.load_from_fp32_weights", KeyEffect::none, "what loading reads"},
    {"zero_optimization.ignore_unused_parameters", KeyEffect::none, "what DeepSpeed refuses"},
    {"zero_optimization.offload_optimizer", KeyEffect::changes, "buffers of the offload; wireplan counts what moves"},
    {"zero_optimization.offload_param", KeyEffect::changes, "buffers of the offload; wireplan counts what moves"},
    {"zero_optimization.log_trace_cache_warnings", KeyEffect::none, "what is logged"},
    {"activation_checkpointing", KeyEffect::changes, "decides how deepspeed.checkpointing recomputes where the model's code calls it: state training.recompute"},
    {"tensor_parallel", KeyEffect::changes, "DeepSpeed's own tensor parallelism: state parallel.tensor"},
    {"sequence_parallel_size", KeyEffect::changes, "Ulysses sequence parallelism is not modelled"},
    {"pipeline", KeyEffect::changes, "the pipeline is the model's code: state parallel.pipeline"},
    {"aio", KeyEffect::changes, "NVMe is not modelled"},
    {"flops_profiler", KeyEffect::none, "profiling, which wireplan does not count"},
    {"tensorboard", KeyEffect::none, "what is logged"},
    {"wandb", KeyEffect::none, "what is logged"},
    {"csv_monitor", KeyEffect::none, "what is logged"},
    {"comms_logger", KeyEffect::none, "what is logged"},
    {"checkpoint", KeyEffect::none, "how checkpoints are written"},
    {"autotuning", KeyEffect::none, "a search of DeepSpeed's"},
    {"elasticity", KeyEffect::changes, "a batch that follows the number of GPUs: state the batch"},
    {"compression_training", KeyEffect::changes, "compression is not modelled"},
    {"curriculum_learning", KeyEffect::changes, "sequences that grow are not modelled"},
    {"data_efficiency", KeyEffect::changes, "sequences that grow are not modelled"},
    {"progressive_layer_drop", KeyEffect::changes, "dropped layers are not modelled"},
    {"moe", KeyEffect::changes, "experts are the model's matter"},
    {"train_batch_size", KeyEffect::none, "follows from micro-batch, accumulation and GPUs"},
    {"local_rank", KeyEffect::none, "set by the launcher"},
    {"seed", KeyEffect::none, "decides no byte and no time of a step"},
};

void write_precision(const Training& t, Json& j) {
  const bool is_fp16 = t.parameter_dtype == DType::fp16, is_16_bit = t.parameter_dtype != DType::fp32;
  for (const char* key : {"bf16", "fp16"})
    if (j.contains(key) && (is_16_bit ? (key[0] == 'f') != is_fp16 : true)) j.erase(key);
  if (!is_16_bit) return;
  const std::string part = is_fp16 ? "fp16" : "bf16";
  put_at(j, part + ".enabled", true);
  if (!t.master_weights_dtype && !is_fp16) {
    put_at(j, "bf16.bf16_master_weights_and_grads", true);
    if (t.optimizer_state_dtype == DType::bf16) put_at(j, "bf16.bf16_optimizer_states", true);
  }
  if (t.gradient_dtype != t.parameter_dtype) put_at(j, "data_types.grad_accum_dtype", std::string(name_of(t.gradient_dtype)));
}

void read_precision(ConfigReader& r, const std::string& at) {
  const Json* bf16_key = r.find(at + "bf16.enabled");
  const Json* fp16_key = r.find(at + "fp16.enabled");
  const auto is_auto = [](const Json* key) { return key != nullptr && is_word(*key, "auto"); };
  const bool bf16 = r.flag(at + "bf16.enabled", r.flag(at + "bfloat16.enabled", false)), fp16 = r.flag(at + "fp16.enabled", false);
  if (!bf16 && !fp16 && (is_auto(bf16_key) || is_auto(fp16_key))) return;
  if (bf16 && fp16) return r.fail(at + "fp16.enabled", "one of bf16 and fp16", "bf16 and fp16 are both enabled. Nearest: bf16");
  const std::string type = bf16 ? "bf16" : fp16 ? "fp16" : "fp32", from = at + (bf16 ? "bf16.enabled" : fp16 ? "fp16.enabled" : "bf16, fp16: neither is enabled");
  r.give("training.parameter_dtype", type, from);
  const bool no_master = r.flag(at + "bf16.bf16_master_weights_and_grads", false) && bf16;
  const bool small_states = r.flag(at + "bf16.bf16_optimizer_states", false) && no_master;
  r.give("training.master_weights_dtype", no_master || type == "fp32" ? Json(nullptr) : Json("fp32"), no_master ? at + "bf16.bf16_master_weights_and_grads" : from);
  r.give("training.optimizer_state_dtype", small_states ? "bf16" : "fp32", small_states ? at + "bf16.bf16_optimizer_states" : from);
  std::string gradients = r.text(at + "data_types.grad_accum_dtype", "");
  if (gradients.empty()) return r.give("training.gradient_dtype", type, from);
  if (our_word(kTypes, gradients).empty()) return r.fail(at + "data_types.grad_accum_dtype", "fp32 | bf16 | fp16", "grad_accum_dtype must be fp32, bf16 or fp16. Nearest: fp32");
  r.give("training.gradient_dtype", Json(our_word(kTypes, gradients)), at + "data_types.grad_accum_dtype");
}

// train_batch_size = micro-batch × accumulation × data-parallel ranks.  [deepspeed-config] Batch Size Related Parameters
void read_batch(ConfigReader& r, const std::string& at) {
  const std::string total_key = at + "train_batch_size", micro_key = at + "train_micro_batch_size_per_gpu", steps_key = at + "gradient_accumulation_steps";
  const Count total = r.count(total_key, 0), micro = r.count(micro_key, 0), steps = r.count(steps_key, 0);
  if (micro > 0) r.give("training.micro_batch_size", micro, micro_key);
  if (total > 0) r.give("training.global_batch_size", total, total_key);
  if (total > 0 && micro > 0 && steps > 0) {
    const double once = static_cast<double>(micro) * static_cast<double>(steps);
    if (once > static_cast<double>(total) || total % (micro * steps) != 0)
      return r.fail(total_key, "a multiple of " + format_exact(once),
                    "train_batch_size " + std::to_string(total) + " is no multiple of train_micro_batch_size_per_gpu " + std::to_string(micro) + " × gradient_accumulation_steps " + std::to_string(steps));
    return r.give("parallel.data", total / (micro * steps), total_key + " / (" + micro_key + " × " + steps_key + ")");
  }
  if (micro > 0 && total == 0) r.out.open.rank_batch = micro * (steps > 0 ? steps : 1);
  if (micro == 0 && total == 0 && steps > 0) r.out.open.accumulation = steps;
  if (micro == 0) {
    r.out.missing.push_back("training.micro_batch_size");
    if (total > 0) r.note(Severity::info, "training.micro_batch_size", "DeepSpeed works the micro-batch out from train_batch_size and the number of GPUs: state it");
  }
}

Json rest_of(const Json& config, bool is_stage3) {
  const Json* zero = config.is_object() ? member_at(config, "zero_optimization") : nullptr;
  Json rest = Json::object();
  if (zero == nullptr || !zero->is_object()) return nullptr;
  for (const Size& s : kSizes)
    if (auto found = zero->find(s.key); found != zero->end() && !found->is_null() && *found != s.otherwise) rest[s.key] = *found;
  for (const Switch& s : kSwitches)
    if (auto found = zero->find(s.key); found != zero->end() && !found->is_null() && *found != s.otherwise) rest[s.key] = *found;
  if (auto found = zero->find("overlap_comm"); found != zero->end() && !found->is_null() && *found != is_stage3) rest["overlap_comm"] = *found;
  if (rest.empty()) return nullptr;
  return Json{{"zero_optimization", std::move(rest)}};
}

}  // namespace

std::span<const KeyNote> deepspeed_notes() { return kNotes; }

Json deepspeed_rest(const Json& config, const Plan& plan) { return rest_of(config, plan.parallel.data_sharding == DataSharding::zero3); }

Json deepspeed_document(const Plan& plan) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  Json own = Json::object();
  if (Result<Json> given = parse_json(p.deepspeed); !p.deepspeed.empty() && given && given.value().is_object()) own = std::move(given.value());
  Json j = Json::object();
  put(j, "train_batch_size", t.global_batch_size);
  put(j, "train_micro_batch_size_per_gpu", t.micro_batch_size);
  put(j, "gradient_accumulation_steps", micro_batches(plan));
  j = overlaid(std::move(own), j);
  write_precision(t, j);
  if (!j.contains("gradient_clipping")) put(j, "gradient_clipping", t.switches.gradient_clipping ? 1.0 : 0.0);
  if (const std::string_view type = their_word(kOptimizers, name_of(t.optimizer)); t.optimizer != Optimizer::adamw && !type.empty()) {
    put_at(j, "optimizer.type", std::string(type));
    if (t.optimizer == Optimizer::adam) put_at(j, "optimizer.params.adam_w_mode", false);
  }
  const int stage = stage_of(p.data_sharding);
  const bool has_overlap = member_at(j, "zero_optimization.overlap_comm") != nullptr;
  put_at(j, "zero_optimization.stage", stage);
  if (stage > 0 && !has_overlap && p.overlap.gradient_reduce != (stage == 3)) put_at(j, "zero_optimization.overlap_comm", p.overlap.gradient_reduce);
  const std::pair<const char*, bool> moved[] = {{"offload_optimizer", t.offload.optimizer}, {"offload_param", t.offload.parameters}};
  for (const auto& [key, is_moved] : moved) {
    Json& zero = j["zero_optimization"];
    if (is_moved && !(zero.contains(key) && zero[key].is_object() && zero[key].contains("device") && !is_word(zero[key]["device"], "none")))
      zero[key]["device"] = "cpu";
    else if (!is_moved)
      zero.erase(key);
  }
  return j;
}

void read_deepspeed(ConfigReader& r, const std::string& at, const Json& config) {
  r.give("parallel.framework", "deepspeed", "DeepSpeed");
  const std::string zero = at + "zero_optimization";
  const Count stage = config.is_object() && member_at(config, "zero_optimization") != nullptr && member_at(config, "zero_optimization")->is_boolean()
                          ? (r.flag(zero, false) ? 1 : 0)  // before 0.3: true is stage 1
                          : r.count(zero + ".stage", 0, 0);
  if (stage > 3) return r.fail(zero + ".stage", "0 to 3", "the stage must be 0, 1, 2 or 3. Nearest: 3");
  r.give("parallel.data_sharding", Json(kStages[stage]), zero + ".stage");
  read_precision(r, at);
  read_batch(r, at);
  const std::pair<const char*, const char*> moved[] = {{"offload_optimizer", "training.offload.optimizer"}, {"offload_param", "training.offload.parameters"}};
  for (const auto& [key, path] : moved) {
    const std::string device_key = zero + '.' + key + ".device", device = r.text(device_key, r.has(zero + '.' + key) ? "cpu" : "none");
    if (device != "cpu" && device != "nvme" && device != "none") r.fail(device_key, "cpu | nvme | none", "the device must be cpu, nvme or none. Nearest: cpu");
    if (device != "none") r.give(path, true, device_key);
    if (device == "nvme") r.note(Severity::warning, path, "NVMe is read as host memory; its speed is not modelled");
  }
  // What is read of the rest goes along as it is.
  for (const Size& s : kSizes)
    if (const Json* size = r.find(zero + '.' + s.key); size != nullptr && !is_word(*size, "auto") && !(size->is_number() && size->get<double>() >= 0 && size->get<double>() <= 1e15))
      r.fail(zero + '.' + s.key, "0 to 1e15, or \"auto\"", zero + '.' + s.key + " is no number of elements");
  for (const Switch& s : kSwitches) r.flag(zero + '.' + s.key, s.otherwise);
  if (const Json* overlap = r.find(zero + ".overlap_comm"); overlap != nullptr && r.flag(zero + ".overlap_comm", false) != (stage == 3))
    r.give("parallel.overlap.gradient_reduce", stage != 3, zero + ".overlap_comm");
  if (Json rest = rest_of(config, stage == 3); !rest.is_null()) r.give("parallel.deepspeed", std::move(rest), zero);

  const std::string clip_key = at + "gradient_clipping";
  const Json* clip = r.find(clip_key);
  if (clip != nullptr && is_word(*clip, "auto")) r.leave(clip_key, KeyEffect::changes, "\"auto\" is filled in by transformers from its own arguments: import those");
  else if (clip != nullptr && !clip->is_number()) r.fail(clip_key, "a number", "gradient_clipping must be a number");
  else r.give("training.details.gradient_clipping", clip != nullptr && clip->get<double>() > 0, clip == nullptr ? "default of DeepSpeed" : clip_key);

  const std::string optimizer = r.text(at + "optimizer.type", "");
  if (optimizer.empty()) return;
  const std::string_view ours = our_word(kOptimizers, optimizer);
  if (ours.empty()) r.leave(at + "optimizer.type", KeyEffect::changes, "an optimizer that wireplan does not model; AdamW stands in");
  else if (ours == "adam" && r.flag(at + "optimizer.params.adam_w_mode", true)) r.give("training.optimizer", "adamw", at + "optimizer.type, with adam_w_mode");
  else r.give("training.optimizer", Json(ours), at + "optimizer.type");
}

}  // namespace wireplan
