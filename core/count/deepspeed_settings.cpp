#include "core/count/deepspeed_settings.hpp"

#include <nlohmann/json.hpp>

namespace wireplan {
namespace {

using Json = nlohmann::ordered_json;  // the one instantiation of the whole core

void read(const Json& object, const char* key, double& value, double automatic) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if (found->is_number() && found->get<double>() >= 0)
    value = found->get<double>();
  else if (found->is_string() && found->get_ref<const std::string&>() == "auto" && automatic > 0)
    value = automatic;
}

void read(const Json& object, const char* key, bool& value) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_boolean()) value = found->get<bool>();
}

bool offloads(const Json& zero, const char* key) {
  const auto found = zero.find(key);
  if (found == zero.end() || !found->is_object()) return false;
  const auto device = found->find("device");
  return device != found->end() && device->is_string() && device->get_ref<const std::string&>() != "none";
}

}  // namespace

DeepSpeedSettings deepspeed_settings(const Plan& plan) {
  DeepSpeedSettings s;
  s.overlap = plan.parallel.data_sharding == DataSharding::zero3;
  s.offload_optimizer = plan.training.offload.optimizer;
  s.offload_parameters = plan.training.offload.parameters;
  const std::string& implementation = plan.training.implementation;  // "<id>@<date>"
  const std::size_t at = implementation.find('@');
  s.recent = at == std::string::npos || implementation.compare(at + 1, 4, "2025") >= 0;
  if (plan.parallel.deepspeed.empty()) return s;
  const Json config = Json::parse(plan.parallel.deepspeed, nullptr, false);
  if (!config.is_object()) return s;
  const auto found = config.find("zero_optimization");
  if (found == config.end() || !found->is_object()) return s;
  const Json& zero = *found;
  const double h = static_cast<double>(plan.model.hidden_size);
  read(zero, "reduce_bucket_size", s.reduce_bucket, h * h);
  read(zero, "stage3_prefetch_bucket_size", s.prefetch_bucket, 0.9 * h * h);
  read(zero, "stage3_max_live_parameters", s.max_live, 0);
  read(zero, "stage3_max_reuse_distance", s.max_reuse, 0);
  read(zero, "stage3_param_persistence_threshold", s.persistence_threshold, 10 * h);
  read(zero, "sub_group_size", s.sub_group, 0);
  read(zero, "overlap_comm", s.overlap);
  read(zero, "round_robin_gradients", s.round_robin);
  read(zero, "contiguous_gradients", s.contiguous);
  read(zero, "reduce_scatter", s.reduce_scatter);
  read(zero, "memory_efficient_linear", s.efficient_linear);
  read(zero, "zero_hpz_partition_size", s.hpz, 0);
  s.offload_optimizer = s.offload_optimizer || offloads(zero, "offload_optimizer");
  s.offload_parameters = s.offload_parameters || offloads(zero, "offload_param");
  return s;
}

Count secondary_ranks(const Plan& plan) {
  if (plan.parallel.data_sharding != DataSharding::zero3) return 1;
  if (plan.parallel.deepspeed.find("zero_hpz_partition_size") == std::string::npos) return 1;  // spares the parsing
  const double ranks = deepspeed_settings(plan).hpz;
  return ranks >= 1 && ranks <= 1e9 ? static_cast<Count>(ranks) : 1;
}

}  // namespace wireplan
