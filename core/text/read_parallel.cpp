#include "core/text/read_parallel.hpp"

namespace wireplan {
namespace {

FsdpUnit read_unit(Reader& r) {
  FsdpUnit unit;
  const Json* json = r.find("fsdp_unit");
  if (json == nullptr) return unit;
  if (json->is_number()) {
    unit.kind = FsdpUnit::Kind::layers;
    r.read("fsdp_unit", json, unit.layers);
  } else if (*json == "none")
    unit.kind = FsdpUnit::Kind::none;
  else if (*json != "block")
    r.fail_type("fsdp_unit", *json, "\"block\", \"none\" or a number of layers");
  return unit;
}

std::vector<int> read_placement(Reader& r) {
  std::vector<int> placement;
  const Json* json = r.stated("placement");
  if (json == nullptr) return placement;
  if (!json->is_array() || json->empty()) {
    r.fail_type("placement", *json, "null, or a list with the GPU of each rank");
    return placement;
  }
  placement.reserve(json->size());
  for (std::size_t i = 0; i < json->size(); ++i) {
    int gpu = 0;
    if (!r.read("placement." + std::to_string(i), &(*json)[i], gpu)) return {};
    placement.push_back(gpu);
  }
  return placement;
}

// The keys of a DeepSpeed configuration that decide anything here; DeepSpeed has more, and they are its own matter.
void check_deepspeed(Reader& r, const Json& json) {
  constexpr double kMost = 1e15;  // elements; beyond any model
  Reader top(r.log(), json, r.path("deepspeed"));
  const Json* given = top.stated("zero_optimization");
  if (given == nullptr) return;
  Reader zero(r.log(), *given, top.path("zero_optimization"));
  for (const std::string_view key : {"reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_max_live_parameters", "stage3_max_reuse_distance",
                                     "stage3_param_persistence_threshold", "sub_group_size", "zero_hpz_partition_size"}) {
    const Json* size = zero.stated(key);
    if (size == nullptr || *size == "auto") continue;
    const double value = size->is_number() ? size->get<double>() : -1;
    if (!(value >= 0 && value <= kMost))
      zero.fail(key, *size, "0 to 1e15, or \"auto\"",
                zero.path(key) + " " + value_text(*size) + " is no number of elements. Nearest: " + (value > kMost ? "1e15" : "\"auto\""));
  }
  bool flag = false;
  for (const std::string_view key : {"overlap_comm", "round_robin_gradients", "contiguous_gradients", "reduce_scatter", "memory_efficient_linear"})
    zero.read_stated(key, flag);
  for (const std::string_view key : {"offload_optimizer", "offload_param"}) {
    const Json* offload = zero.stated(key);
    if (offload == nullptr) continue;
    Reader o(r.log(), *offload, zero.path(key));
    const Json* device = o.stated("device");
    if (device != nullptr && *device != "cpu" && *device != "nvme" && *device != "none")
      o.fail_type("device", *device, "cpu | nvme | none");
  }
}

}  // namespace

Parallel read_parallel(Reader& r, ParallelStated& stated) {
  Parallel p;
  const bool framework_known = r.read_name("framework", p.framework) || !r.has("framework");
  stated.data_sharding = r.stated("data_sharding") != nullptr;
  const bool sharding_known = r.name_stated("data_sharding", p.data_sharding) || !stated.data_sharding;
  if (r.read_stated("shard_group", p.shard_group) && p.shard_group == 0)
    r.fail("shard_group", 0, "null, or 1 and more", r.path("shard_group") + " 0 shards over no rank. Nearest: null");
  p.fsdp_unit = read_unit(r);
  stated.data = r.stated("data") != nullptr;
  r.read_stated("data", p.data);
  r.read("tensor", p.tensor);
  r.read("pipeline", p.pipeline);
  r.read("context", p.context);
  r.read("expert", p.expert);
  r.read_stated("expert_tensor", p.expert_tensor);
  r.read("sequence_parallel", p.sequence_parallel);
  const bool schedule_known = r.read_name("pipeline_schedule", p.pipeline_schedule) || !r.has("pipeline_schedule");
  r.read("virtual_stages", p.virtual_stages);
  r.read("order", p.order);
  p.placement = read_placement(r);
  stated.gradient_sync = r.name_stated("gradient_sync", p.gradient_sync);
  if (const Json* json = r.stated("overlap")) {
    Reader overlap(r.log(), *json, r.path("overlap"));
    stated.gradient_reduce = overlap.read_stated("gradient_reduce", p.overlap.gradient_reduce);
    stated.parameter_gather = overlap.read_stated("parameter_gather", p.overlap.parameter_gather);
    stated.tensor = overlap.read_stated("tensor", p.overlap.tensor);
    stated.pipeline = overlap.read_stated("pipeline", p.overlap.pipeline);
    overlap.finish();
  }
  stated.moe_dispatcher = r.name_stated("moe_dispatcher", p.moe_dispatcher);
  if (const Json* json = r.stated("deepspeed")) {
    if (json->is_object()) {
      p.deepspeed = dump_json_compact(*json);
      check_deepspeed(r, *json);
    } else
      r.fail_type("deepspeed", *json, "null, or a DeepSpeed configuration");
  }
  // Rules that hang on a field with an error of its own would only confuse.
  if (!framework_known) p.deepspeed.clear();
  if (!framework_known || !sharding_known) {
    p.data_sharding = DataSharding::ddp;
    p.shard_group = 0;
  }
  if (!schedule_known) p.virtual_stages = 1;
  return p;
}

Json write_parallel(const Parallel& p) {
  Json j = Json::object();
  put(j, "framework", name_of(p.framework));
  put(j, "data_sharding", name_of(p.data_sharding));
  put_or_null(j, "shard_group", p.shard_group);
  put(j, "fsdp_unit",
      p.fsdp_unit.kind == FsdpUnit::Kind::block  ? Json("block")
      : p.fsdp_unit.kind == FsdpUnit::Kind::none ? Json("none")
                                                 : Json(p.fsdp_unit.layers));
  put(j, "data", p.data);
  put(j, "tensor", p.tensor);
  put(j, "pipeline", p.pipeline);
  put(j, "context", p.context);
  put(j, "expert", p.expert);
  put(j, "expert_tensor", p.expert_tensor);
  put(j, "sequence_parallel", p.sequence_parallel);
  put(j, "pipeline_schedule", name_of(p.pipeline_schedule));
  put(j, "virtual_stages", p.virtual_stages);
  put(j, "order", p.order);
  put(j, "placement", p.placement.empty() ? Json(nullptr) : Json(p.placement));
  put(j, "gradient_sync", name_of(p.gradient_sync));
  Json overlap = Json::object();
  put(overlap, "gradient_reduce", p.overlap.gradient_reduce);
  put(overlap, "parameter_gather", p.overlap.parameter_gather);
  put(overlap, "tensor", p.overlap.tensor);
  put(overlap, "pipeline", p.overlap.pipeline);
  put(j, "overlap", std::move(overlap));
  put(j, "moe_dispatcher", name_of(p.moe_dispatcher));
  put(j, "deepspeed", nullptr);
  if (!p.deepspeed.empty()) {
    Result<Json> configuration = parse_json(p.deepspeed);
    if (configuration) put(j, "deepspeed", std::move(configuration.value()));
  }
  return j;
}

}  // namespace wireplan
