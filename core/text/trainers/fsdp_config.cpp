#include "core/text/trainers/fsdp_config.hpp"

#include "core/text/trainers/config_writer.hpp"

namespace wireplan {
namespace {

// torch.distributed.fsdp.ShardingStrategy, by name or number.
constexpr Word kStrategies[] = {{"FULL_SHARD", "fsdp"}, {"SHARD_GRAD_OP", "zero2"}, {"NO_SHARD", "ddp"}, {"HYBRID_SHARD", "hsdp"}, {"HYBRID_SHARD_ZERO2", "hsdp"},
                                {"1", "fsdp"}, {"2", "zero2"}, {"3", "ddp"}, {"4", "hsdp"}, {"5", "hsdp"}, {"_HYBRID_SHARD_ZERO2", "hsdp"}};
constexpr Word kWraps[] = {{"TRANSFORMER_BASED_WRAP", "block"}, {"NO_WRAP", "none"}};

bool is_hybrid_zero2(std::string_view strategy) { return strategy == "5" || strategy.ends_with("_ZERO2") || strategy.ends_with("_zero2"); }

}  // namespace

void read_fsdp(ConfigReader& r, const FsdpDefaults& defaults, const FsdpAround& around) {
  const auto key = [&](const char* name) {
    const std::string with = std::string("fsdp_config.fsdp_") + name;
    return r.has(with) ? with : std::string("fsdp_config.") + name;
  };
  const auto from = [&](const std::string& k) { return r.has(k) ? k : std::string(defaults.from); };

  const std::string version_key = key("version");
  const Count version = r.count(version_key, defaults.version);
  if (version > 2) return r.fail(version_key, "1 or 2", "there is no FSDP version " + std::to_string(version) + ". Nearest: 2");
  r.give("training.details.fsdp_version", version, from(version_key));
  r.give("training.details.reduce_dtype", r.out.plan.contains("training") && r.out.plan["training"].value("parameter_dtype", "") == "fp32" ? "fp32"
                                          : r.out.plan["training"].value("parameter_dtype", "") == "fp16" ? "fp16" : "bf16", "the mixed precision of FSDP");

  const std::string reshard_key = key("reshard_after_forward"), strategy_key = key("sharding_strategy");
  std::string sharding = "fsdp", said = std::string(defaults.from);
  if (version == 2) {
    const bool reshards = r.flag(reshard_key, true);
    sharding = around.copies > 1 ? "hsdp" : reshards ? "fsdp" : "zero2";
    said = around.copies > 1 ? "parallelism_config" : from(reshard_key);
    if (around.copies > 1 && !reshards) r.leave(reshard_key, KeyEffect::changes, "wireplan's HSDP gathers again for backward");
    if (r.has(strategy_key)) r.leave(strategy_key, KeyEffect::none, "version 2 has reshard_after_forward instead");
  } else {
    std::string strategy = around.strategy, k = "fsdp";
    if (r.has(strategy_key)) strategy = r.text(strategy_key, ""), k = strategy_key;
    else if (const Json* reshard = r.find(reshard_key); reshard != nullptr && !reshard->is_boolean()) strategy = r.text(reshard_key, ""), k = reshard_key;
    if (!strategy.empty()) {
      const std::string_view ours = our_word(kStrategies, strategy);
      if (ours.empty()) return r.fail(k, "FULL_SHARD | SHARD_GRAD_OP | NO_SHARD | HYBRID_SHARD | HYBRID_SHARD_ZERO2", "there is no sharding strategy " + value_text(Json(strategy)) + ". Nearest: FULL_SHARD");
      sharding = ours;
      said = k;
      if (is_hybrid_zero2(strategy)) r.note(Severity::warning, "parallel.data_sharding", "HYBRID_SHARD_ZERO2 keeps parameters gathered until backward; wireplan's HSDP gathers them again");
    }
    if (const std::string prefetch_key = key("backward_prefetch"); true) {
      const std::string prefetch = r.text(prefetch_key, "NO_PREFETCH");
      const bool is_pre = our_word(std::array<Word, 2>{{{"BACKWARD_PRE", "1"}, {"1", "1"}}}, prefetch) == "1";
      r.give("training.details.fsdp_backward_prefetch", is_pre, from(prefetch_key));
      if (our_word(std::array<Word, 2>{{{"BACKWARD_POST", "1"}, {"2", "1"}}}, prefetch) == "1") r.leave(prefetch_key, KeyEffect::changes, "BACKWARD_POST is not modelled; no prefetch stands in");
    }
    r.give("training.details.fsdp_use_orig_params", r.flag(key("use_orig_params"), defaults.use_orig_params), from(key("use_orig_params")));
    if (r.flag(key("forward_prefetch"), false)) r.leave(key("forward_prefetch"), KeyEffect::changes, "an explicit prefetch in forward is not modelled");
  }
  r.give("parallel.data_sharding", sharding, said);
  if (sharding == "hsdp") {
    if (around.shards > 0) r.give("parallel.shard_group", around.shards * around.context, "parallelism_config");
    else if (around.copies > 1) r.out.open.replicas = around.copies;
    else r.out.open.shards_node = true;
  }
  // accelerate.accumulate() holds gradients back until the last micro-batch unless sync_each_batch is set.
  r.give("parallel.gradient_sync", "last", defaults.from);

  const std::string wrap_key = key("auto_wrap_policy"), wrap = r.text(wrap_key, defaults.wrap);
  if (const std::string_view unit = our_word(kWraps, wrap); !unit.empty()) r.give("parallel.fsdp_unit", Json(unit), from(wrap_key));
  else r.leave(wrap_key, KeyEffect::changes, "units by size are not modelled; a block stands in");

  const std::string offload_key = r.has(key("offload_params")) ? key("offload_params") : key("cpu_offload");
  if (r.flag(offload_key, false)) {
    r.give("training.offload.parameters", true, offload_key);
    r.give("training.offload.optimizer", true, offload_key);
  }
  r.give("training.load", r.flag(key("cpu_ram_efficient_loading"), defaults.rank0_loads) ? "rank0" : "every-rank", from(key("cpu_ram_efficient_loading")));
  const std::string state_key = key("state_dict_type"), state = r.text(state_key, version == 2 ? "SHARDED_STATE_DICT" : "FULL_STATE_DICT");
  r.give("training.checkpoint", our_word(std::array<Word, 2>{{{"FULL_STATE_DICT", "1"}, {"1", "1"}}}, state) == "1" ? "full" : "sharded", from(state_key));
  if (r.flag(key("activation_checkpointing"), false)) r.give("training.recompute", "full", key("activation_checkpointing"));
  if (r.flag(key("activation_checkpointing_offload"), false)) r.give("training.offload.activations", true, key("activation_checkpointing_offload"));
}

Json fsdp_document(const Plan& plan, std::string_view prefix) {
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  Json j = Json::object();
  const auto set = [&](std::string_view name, Json value) { j[std::string(prefix) + std::string(name)] = std::move(value); };
  const bool is_first = t.switches.fsdp_version == 1;
  set("version", t.switches.fsdp_version);
  if (is_first) {
    const bool per_node = p.data_sharding == DataSharding::hsdp;
    const char* strategy = per_node ? "HYBRID_SHARD" : p.data_sharding == DataSharding::zero2 ? "SHARD_GRAD_OP" : "FULL_SHARD";
    // Accelerate has it under its old name, transformers under the new one.
    set(prefix.empty() ? "reshard_after_forward" : "sharding_strategy", strategy);
    set("backward_prefetch", t.switches.fsdp_backward_prefetch ? "BACKWARD_PRE" : "NO_PREFETCH");
    set("use_orig_params", t.switches.fsdp_use_orig_params);
  } else
    set("reshard_after_forward", p.data_sharding != DataSharding::zero2);
  set("auto_wrap_policy", p.fsdp_unit.kind == FsdpUnit::Kind::none ? "NO_WRAP" : "TRANSFORMER_BASED_WRAP");
  set(prefix.empty() ? "cpu_offload" : "offload_params", t.offload.parameters || t.offload.optimizer);
  set("activation_checkpointing", t.recompute.kind != RecomputeKind::none);
  if (t.offload.activations && !is_first) set("activation_checkpointing_offload", true);
  set("cpu_ram_efficient_loading", t.load != Load::every_rank);
  set("state_dict_type", t.checkpoint == Checkpoint::full ? "FULL_STATE_DICT" : "SHARDED_STATE_DICT");
  return j;
}

void give_precision(ConfigReader& r, std::string_view type, std::string_view loaded, bool is_fsdp, std::string_view from) {
  const std::string said(from);
  if (type == "no" || (!is_fsdp && loaded == type)) {
    const std::string_view own = loaded.empty() ? "fp32" : loaded;
    if (loaded.empty() && type == "no") r.note(Severity::info, "training.parameter_dtype", "without mixed precision a run trains in the type that its model is loaded in; fp32 stands in");
    r.give("training.parameter_dtype", Json(own), said);
    r.give("training.gradient_dtype", Json(own), said);
    r.give("training.master_weights_dtype", nullptr, said);
    r.give("training.optimizer_state_dtype", Json(own), said);
    return;
  }
  r.give("training.parameter_dtype", Json(type), said);
  r.give("training.gradient_dtype", "fp32", said);
  r.give("training.master_weights_dtype", "fp32", said);
  r.give("training.optimizer_state_dtype", "fp32", said);
}

std::string_view mixed_precision(const Training& t) {
  const bool is_small = t.parameter_dtype == DType::bf16 || t.parameter_dtype == DType::fp16 || t.parameter_dtype == DType::fp8;
  return is_small && t.master_weights_dtype ? name_of(t.parameter_dtype) : std::string_view("no");
}

}  // namespace wireplan
