#include "core/text/read_training.hpp"

namespace wireplan {
namespace {

constexpr std::array<std::string_view, 3> kSimpleRecompute = {"none", "selective", "full"};

Recompute read_recompute(Reader& r) {
  Recompute recompute;
  const Json* json = r.find("recompute");
  if (json == nullptr) return recompute;
  constexpr std::string_view kAllowed = "none | selective | full | {\"full_layers\": n} | {\"every\": n}";
  if (json->is_object()) {
    Reader o(r.log(), *json, r.path("recompute"));
    if (o.read("full_layers", recompute.n)) recompute.kind = RecomputeKind::full_layers;
    const bool both = recompute.kind == RecomputeKind::full_layers && o.has("every");
    if (o.read("every", recompute.n)) recompute.kind = RecomputeKind::every;
    if (both || json->empty()) r.fail_type("recompute", *json, std::string(kAllowed));
    o.finish();
    return recompute;
  }
  for (std::size_t i = 0; json->is_string() && i < kSimpleRecompute.size(); ++i) {
    if (json->get_ref<const std::string&>() != kSimpleRecompute[i]) continue;
    recompute.kind = static_cast<RecomputeKind>(i);
    return recompute;
  }
  const auto words = json->is_string() ? nearest_words(json->get_ref<const std::string&>(), kSimpleRecompute)
                                       : std::vector<std::string_view>{};
  r.fail("recompute", *json, std::string(kAllowed),
         r.path("recompute") + " cannot be " + value_text(*json) +
             (words.empty() ? ". Nearest: " + std::string(kAllowed) : did_you_mean(words)));
  return recompute;
}

Lora read_lora(ReadLog& log, const Json& json, std::string path) {
  Lora lora;
  Reader r(log, json, std::move(path));
  r.require("rank", "a whole number");
  r.read("rank", lora.rank);
  r.require("targets", "a list of " + names_listed<LoraTarget>());
  if (const Json* targets = r.stated("targets")) {
    if (!targets->is_array())
      r.fail_type("targets", *targets, "a list of " + names_listed<LoraTarget>());
    else
      for (std::size_t i = 0; i < targets->size(); ++i) {
        LoraTarget target{};
        if (r.name("targets." + std::to_string(i), &(*targets)[i], target)) lora.targets.push_back(target);
      }
  }
  r.read_dtype("base_dtype", lora.base_dtype, kLoraBaseDtypes);
  DType storage{};
  if (r.dtype_stated("quant_storage", storage, kStateDtypes)) lora.quant_storage = storage;
  r.finish();
  return lora;
}

struct Switch {
  std::string_view key;
  std::optional<bool> Details::* value;
};
constexpr Switch kSwitches[] = {{"autocast", &Details::autocast},
                                {"gradient_clipping", &Details::gradient_clipping},
                                {"repeat_kv", &Details::repeat_kv},
                                {"padding", &Details::padding},
                                {"logits_kept", &Details::logits_kept},
                                {"loss_recompute", &Details::loss_recompute},
                                {"loss_parallel", &Details::loss_parallel},
                                {"gradient_as_bucket_view", &Details::gradient_as_bucket_view},
                                {"reshard_last_unit", &Details::reshard_last_unit},
                                {"fsdp_backward_prefetch", &Details::fsdp_backward_prefetch},
                                {"fsdp_use_orig_params", &Details::fsdp_use_orig_params},
                                {"frozen_embedding", &Details::frozen_embedding},
                                {"stragglers", &Details::stragglers}};

struct Number {
  std::string_view key;
  std::optional<Count> Details::* value;
};
constexpr Number kNumbers[] = {{"loss_chunks", &Details::loss_chunks},
                               {"bucket_bytes", &Details::bucket_bytes},
                               {"fsdp_version", &Details::fsdp_version}};

template <class E>
void read_choice(Reader& r, std::string_view key, std::optional<E>& out) {
  E value{};
  if (r.name_stated(key, value)) out = value;
}

Json write_details(const Details& d) {
  Json j = Json::object();
  for (const Switch& s : kSwitches)
    if (d.*s.value) j[std::string(s.key)] = *(d.*s.value);
  for (const Number& n : kNumbers)
    if (d.*n.value) j[std::string(n.key)] = *(d.*n.value);
  if (d.optimizer_kernel) j["optimizer_kernel"] = name_of(*d.optimizer_kernel);
  if (d.norm_kernel) j["norm_kernel"] = name_of(*d.norm_kernel);
  if (d.attention_kernel) j["attention_kernel"] = name_of(*d.attention_kernel);
  if (d.fsdp_units) j["fsdp_units"] = name_of(*d.fsdp_units);
  if (d.built) j["built"] = name_of(*d.built);
  if (d.reduce_dtype) j["reduce_dtype"] = name_of(*d.reduce_dtype);
  if (d.adapter_dtype) j["adapter_dtype"] = name_of(*d.adapter_dtype);
  if (d.lora_dropout) j["lora_dropout"] = number(*d.lora_dropout);
  return j;
}

Json write_recompute(const Recompute& recompute) {
  switch (recompute.kind) {
    case RecomputeKind::none:
      return "none";
    case RecomputeKind::selective:
      return "selective";
    case RecomputeKind::full:
      return "full";
    case RecomputeKind::full_layers:
      return Json{{"full_layers", recompute.n}};
    case RecomputeKind::every:
      return Json{{"every", recompute.n}};
  }
  return nullptr;
}

}  // namespace

Details read_details(ReadLog& log, const Json& json, std::string path) {
  Details d;
  Reader r(log, json, std::move(path));
  for (const Switch& s : kSwitches) {
    bool value = false;
    if (r.read_stated(s.key, value)) d.*s.value = value;
  }
  for (const Number& n : kNumbers) {
    Count value = 0;
    if (r.read_stated(n.key, value)) d.*n.value = value;
  }
  read_choice(r, "optimizer_kernel", d.optimizer_kernel);
  read_choice(r, "norm_kernel", d.norm_kernel);
  read_choice(r, "attention_kernel", d.attention_kernel);
  read_choice(r, "fsdp_units", d.fsdp_units);
  read_choice(r, "built", d.built);
  DType dtype{};
  if (r.dtype_stated("reduce_dtype", dtype, kGradientDtypes)) d.reduce_dtype = dtype;
  if (r.dtype_stated("adapter_dtype", dtype, kAdapterDtypes)) d.adapter_dtype = dtype;
  double dropout = 0;
  if (r.read_stated("lora_dropout", dropout)) d.lora_dropout = dropout;
  r.finish();
  return d;
}

Training read_training(Reader& r, TrainingStated& stated) {
  Training t;
  r.read("sequence_length", t.sequence_length);
  double mean = 0;
  if (r.read_stated("sequence_length_mean", mean)) t.sequence_length_mean = mean;
  r.read("micro_batch_size", t.micro_batch_size);
  stated.global_batch_size = r.stated("global_batch_size") != nullptr;
  r.read_stated("global_batch_size", t.global_batch_size);
  r.read_dtype("parameter_dtype", t.parameter_dtype, kParameterDtypes);
  r.read_dtype("gradient_dtype", t.gradient_dtype, kGradientDtypes);
  if (const Json* master = r.find("master_weights_dtype")) {
    DType dtype = DType::fp32;
    if (master->is_null())
      t.master_weights_dtype.reset();
    else if (!master->is_string() || master->get_ref<const std::string&>() != name_of(dtype))
      r.fail_type("master_weights_dtype", *master, "null | fp32");
  }
  r.read_name("optimizer", t.optimizer);
  r.read_dtype("optimizer_state_dtype", t.optimizer_state_dtype, kStateDtypes);
  t.recompute = read_recompute(r);
  r.read_name("attention", t.attention);
  r.read_name("loss", t.loss);
  stated.kernels = r.stated("kernels") != nullptr;
  r.name_stated("kernels", t.kernels);
  stated.cuda_graphs = r.read_stated("cuda_graphs", t.cuda_graphs);
  stated.implementation = r.stated("implementation") != nullptr;
  r.read_stated("implementation", t.implementation);
  if (const Json* details = r.stated("details")) {
    t.details = read_details(r.log(), *details, r.path("details"));
    if (*t.details == Details{}) t.details.reset();
  }
  r.read("hidden_dropout", t.hidden_dropout);
  r.read("attention_dropout", t.attention_dropout);
  if (const Json* lora = r.stated("lora")) t.lora = read_lora(r.log(), *lora, r.path("lora"));
  if (const Json* json = r.stated("offload")) {
    Reader offload(r.log(), *json, r.path("offload"));
    stated.offload_optimizer = offload.read("optimizer", t.offload.optimizer);
    stated.offload_parameters = offload.read("parameters", t.offload.parameters);
    offload.read("activations", t.offload.activations);
    offload.finish();
  }
  r.read_name("load", t.load);
  r.read_name("checkpoint", t.checkpoint);
  return t;
}

Json write_training(const Training& t) {
  Json j = Json::object();
  j["sequence_length"] = t.sequence_length;
  j["sequence_length_mean"] = t.sequence_length_mean ? number(*t.sequence_length_mean) : Json(nullptr);
  j["micro_batch_size"] = t.micro_batch_size;
  j["global_batch_size"] = t.global_batch_size;
  j["parameter_dtype"] = name_of(t.parameter_dtype);
  j["gradient_dtype"] = name_of(t.gradient_dtype);
  j["master_weights_dtype"] = t.master_weights_dtype ? Json(name_of(*t.master_weights_dtype)) : Json(nullptr);
  j["optimizer"] = name_of(t.optimizer);
  j["optimizer_state_dtype"] = name_of(t.optimizer_state_dtype);
  j["recompute"] = write_recompute(t.recompute);
  j["attention"] = name_of(t.attention);
  j["loss"] = name_of(t.loss);
  j["kernels"] = name_of(t.kernels);
  j["cuda_graphs"] = t.cuda_graphs;
  j["implementation"] = t.implementation;
  j["details"] = t.details ? write_details(*t.details) : Json(nullptr);
  j["hidden_dropout"] = number(t.hidden_dropout);
  j["attention_dropout"] = number(t.attention_dropout);
  j["lora"] = nullptr;
  if (t.lora) {
    Json lora = Json::object();
    lora["rank"] = t.lora->rank;
    lora["targets"] = Json::array();
    for (const LoraTarget target : t.lora->targets) lora["targets"].push_back(name_of(target));
    lora["base_dtype"] = name_of(t.lora->base_dtype);
    lora["quant_storage"] = t.lora->quant_storage ? Json(name_of(*t.lora->quant_storage)) : Json(nullptr);
    j["lora"] = std::move(lora);
  }
  Json offload = Json::object();
  offload["optimizer"] = t.offload.optimizer;
  offload["parameters"] = t.offload.parameters;
  offload["activations"] = t.offload.activations;
  j["offload"] = std::move(offload);
  j["load"] = name_of(t.load);
  j["checkpoint"] = name_of(t.checkpoint);
  return j;
}

}  // namespace wireplan
