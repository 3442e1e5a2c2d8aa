#include "core/text/plan_defaults.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"
#include "core/describe/defaults.hpp"

namespace wireplan {
namespace {

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }
std::string framework_text(const Plan& plan) {
  return "default of framework " + std::string(name_of(plan.parallel.framework));
}

// What a DeepSpeed configuration decides; null: it does not say.
struct DeepSpeedChoices {
  Json stage, overlap, optimizer_device, parameter_device;
};

DeepSpeedChoices choices_of(const std::string& configuration) {
  DeepSpeedChoices choices;
  if (configuration.empty()) return choices;
  const Result<Json> json = parse_json(configuration);
  if (!json || !json.value().is_object()) return choices;
  const auto member = [](const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? Json(nullptr) : *found;
  };
  const Json zero = member(json.value(), "zero_optimization");
  if (!zero.is_object()) return choices;
  choices.stage = member(zero, "stage");
  choices.overlap = member(zero, "overlap_comm");
  choices.optimizer_device = member(member(zero, "offload_optimizer"), "device");
  choices.parameter_device = member(member(zero, "offload_param"), "device");
  return choices;
}

void fill_sharding(Plan& plan, const PlanStated& stated, const DeepSpeedChoices& choices, ReadLog& log) {
  Parallel& p = plan.parallel;
  if (choices.stage.is_null()) return;
  const double stage = choices.stage.is_number() ? choices.stage.get<double>() : -1;
  const std::string path = "parallel.deepspeed.zero_optimization.stage";
  if (!(stage == 0 || stage == 1 || stage == 2 || stage == 3)) {
    log.add({path, value_text(choices.stage), "0 to 3",
             path + " must be 0, 1, 2 or 3, not " + value_text(choices.stage) + ". Nearest: 3"});
    return;
  }
  constexpr DataSharding kStages[] = {DataSharding::ddp, DataSharding::zero1, DataSharding::zero2, DataSharding::zero3};
  const DataSharding sharding = kStages[static_cast<int>(stage)];
  if (!stated.parallel.data_sharding) {
    p.data_sharding = sharding;
    log.assume("parallel.data_sharding", name_of(sharding), "the stage of the DeepSpeed configuration");
  } else if (p.data_sharding != sharding) {
    log.add({path, value_text(choices.stage), "the stage of data_sharding " + std::string(name_of(p.data_sharding)),
             path + " " + value_text(choices.stage) + " contradicts data_sharding " +
                 std::string(name_of(p.data_sharding)) + ". Nearest: data_sharding " + std::string(name_of(sharding))});
  }
}

void fill_offload(Plan& plan, const PlanStated& stated, const DeepSpeedChoices& choices, ReadLog& log) {
  const auto is_device = [](const Json& device) { return device.is_string() && device != "none"; };
  Offload& offload = plan.training.offload;
  if (!stated.training.offload_optimizer && is_device(choices.optimizer_device)) {
    offload.optimizer = true;
    log.assume("training.offload.optimizer", true, "offload_optimizer of the DeepSpeed configuration");
  }
  if (!stated.training.offload_parameters && is_device(choices.parameter_device)) {
    offload.parameters = true;
    log.assume("training.offload.parameters", true, "offload_param of the DeepSpeed configuration");
  }
}

void fill_data(Plan& plan, const PlanStated& stated, ReadLog& log) {
  Parallel& p = plan.parallel;
  const Count gpus = total_gpus(plan.cluster);
  const double others = product_of(p.tensor, p.pipeline, p.context);
  if (stated.parallel.data || log.number_missing || gpus < 1 || !(others >= 1)) return;
  if (gpus > 1e8) {  // more than a cluster may have, which is said elsewhere
    log.number_missing = true;
    return;
  }
  if (others > static_cast<double>(gpus)) return;  // the product rule says what is wrong, with data 1
  const Count rest = static_cast<Count>(others);
  p.data = gpus / rest;
  log.assume("parallel.data", p.data,
             text_of(gpus) + (gpus == 1 ? " GPU" : " GPUs") + " / (tensor " + text_of(p.tensor) + " × pipeline " +
                 text_of(p.pipeline) + " × context " + text_of(p.context) + ")");
}

void fill_batch(Plan& plan, const PlanStated& stated, ReadLog& log) {
  Training& t = plan.training;
  if (stated.training.global_batch_size || log.number_missing) return;
  const double batch = product_of(t.micro_batch_size, plan.parallel.data);
  if (!(batch >= 1 && batch <= 1e15)) return;
  t.global_batch_size = static_cast<Count>(batch);
  log.assume("training.global_batch_size", t.global_batch_size,
             "micro_batch_size " + text_of(t.micro_batch_size) + " × data " + text_of(plan.parallel.data));
}

std::string recipe_text(const Plan& plan) {
  return framework_text(plan) + " in " + std::string(name_of(plan.training.parameter_dtype)) + " with bf16 gradients, as NVIDIA's recipes set it";
}

// Captured kernels, and dispatch of each token once to a rank.  [megatron-bridge] performance recipes
void fill_recipe(Plan& plan, const PlanStated& stated, ReadLog& log) {
  if (!follows_vendor_recipes(plan.parallel.framework, plan.training)) return;
  if (!stated.training.cuda_graphs) {
    plan.training.cuda_graphs = true;
    log.assume("training.cuda_graphs", true, recipe_text(plan));
  }
  if (!stated.parallel.moe_dispatcher && plan.model.moe) {
    plan.parallel.moe_dispatcher = MoeDispatcher::flex;
    log.assume("parallel.moe_dispatcher", name_of(MoeDispatcher::flex), recipe_text(plan));
  }
}

void fill_overlap(Plan& plan, const PlanStated& stated, const DeepSpeedChoices& choices, const Presets& presets, ReadLog& log) {
  Parallel& p = plan.parallel;
  if (!stated.parallel.gradient_sync) {
    const std::string_view id = implementation_id(plan.training.implementation);
    const Result<Implementation> implementation = presets.implementation(id);
    const bool has_own = implementation && implementation.value().gradient_sync && p.framework == Framework::pytorch;
    plan.left_open.gradient_sync = true;
    if (has_own) plan.left_open.usual_sync = implementation.value().gradient_sync;
    p.gradient_sync = has_own ? *implementation.value().gradient_sync : default_gradient_sync(p.framework, p.data_sharding, p.pipeline);
    log.assume("parallel.gradient_sync", name_of(p.gradient_sync),
               has_own ? "default of implementation " + std::string(id)
                       : framework_text(plan) + " with data_sharding " + std::string(name_of(p.data_sharding)) + (p.pipeline > 1 && p.framework == Framework::pytorch ? " and a pipeline" : ""));
  }
  Overlap usual = default_overlap(p, plan.training);
  const bool is_recipe = follows_vendor_recipes(p.framework, plan.training);
  std::string why = is_recipe ? recipe_text(plan) : framework_text(plan);
  if (choices.overlap.is_boolean()) {
    usual.gradient_reduce = choices.overlap.get<bool>();
    why += ", overlap_comm of the DeepSpeed configuration";
  }
  const struct {
    std::string_view key;
    bool stated;
    bool Overlap::* value;
    bool LeftOpen::* open;
  } parts[] = {{"gradient_reduce", stated.parallel.gradient_reduce, &Overlap::gradient_reduce, &LeftOpen::gradient_reduce},
               {"parameter_gather", stated.parallel.parameter_gather, &Overlap::parameter_gather, &LeftOpen::parameter_gather},
               {"tensor", stated.parallel.tensor, &Overlap::tensor, &LeftOpen::tensor},
               {"pipeline", stated.parallel.pipeline, &Overlap::pipeline, &LeftOpen::pipeline}};
  Json filled = Json::object();
  for (const auto& part : parts) {
    if (part.stated) continue;
    plan.left_open.*part.open = !(choices.overlap.is_boolean() && part.value == &Overlap::gradient_reduce);
    p.overlap.*part.value = usual.*part.value;
    filled[std::string(part.key)] = usual.*part.value;
  }
  if (!filled.empty()) log.assume("parallel.overlap", filled, why);
}

void fill_implementation(Plan& plan, const PlanStated& stated, const Presets& presets, ReadLog& log) {
  Training& t = plan.training;
  if (!stated.training.implementation) {
    t.implementation = plan.parallel.framework == Framework::megatron ? "megatron-core" : "huggingface";
    log.assume("training.implementation", t.implementation, framework_text(plan));
  }
  const std::string_view id = implementation_id(t.implementation);
  const Result<Implementation> implementation = presets.implementation(id);
  if (!implementation) return;  // an unknown one has an error already
  if (!stated.training.kernels) {
    t.kernels = implementation.value().kernels;
    log.assume("training.kernels", name_of(t.kernels), "default of implementation " + std::string(id));
  }
  fill_switches(plan, implementation.value());
}

}  // namespace

void fill_switches(Plan& plan, const Implementation& any) {
  Training& t = plan.training;
  const std::size_t id = implementation_id(t.implementation).size();
  const std::string_view release = std::string_view(t.implementation).substr(std::min(id + 1, t.implementation.size()));
  const Implementation implementation = variant_of(any, plan.cluster.node.gpu.architecture, release, t.kernels);
  Switches& s = t.switches = implementation.switches;
  static_assert(std::tuple_size_v<decltype(s.losses)> == kNames<Loss>.size());
  s.losses = implementation.loss;
  s.loss = s.losses[static_cast<std::size_t>(t.loss)];
  const bool has_master = t.master_weights_dtype.has_value();
  s.autocast = default_autocast(plan);
  // Reductions of a mixed precision policy; without one, in the type of the parameters.
  if (!has_master && !t.lora) s.reduce_dtype = t.parameter_dtype == DType::fp32 ? DType::fp32 : DType::bf16;
  if (t.parameter_dtype == DType::fp32) s.reduce_dtype = DType::fp32;
  if (t.details) apply(*t.details, s);
}

std::string_view implementation_id(std::string_view implementation) {
  return implementation.substr(0, implementation.find('@'));
}

void fill_defaults(Plan& plan, const PlanStated& stated, const Presets& presets, ReadLog& log) {
  const DeepSpeedChoices choices = choices_of(plan.parallel.deepspeed);
  fill_sharding(plan, stated, choices, log);
  fill_offload(plan, stated, choices, log);
  fill_data(plan, stated, log);
  fill_batch(plan, stated, log);
  fill_overlap(plan, stated, choices, presets, log);
  fill_recipe(plan, stated, log);
  fill_implementation(plan, stated, presets, log);
  Model& m = plan.model;
  if (!m.opaque && m.id.empty() && m.position == Position::learned && m.max_position_embeddings == 0) {
    m.max_position_embeddings = plan.training.sequence_length;
    log.assume("model.max_position_embeddings", m.max_position_embeddings,
               "sequence_length, since positions are learned");
  }
}

}  // namespace wireplan
