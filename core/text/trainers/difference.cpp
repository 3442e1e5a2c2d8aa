#include "core/text/trainers/difference.hpp"

#include "core/count/deepspeed_settings.hpp"
#include "core/describe/defaults.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_parallel.hpp"
#include "core/text/read_training.hpp"
#include "core/text/trainers/config_writer.hpp"
#include "core/text/trainers/deepspeed_config.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

bool is_whole_leaf(std::string_view path) {
  return path == "training.recompute" || path == "training.lora" || path == "parallel.placement" || path == "parallel.deepspeed";
}

void collect(const Json& value, const std::string& path, std::vector<PlanLeaf>& leaves) {
  if (!value.is_object() || is_whole_leaf(path)) {
    leaves.push_back({path, value});
    return;
  }
  for (auto it = value.begin(); it != value.end(); ++it) collect(it.value(), path + '.' + it.key(), leaves);
}

// A field whose value decides nothing in this plan.
bool means_nothing(const Plan& plan, std::string_view path) {
  const Parallel& p = plan.parallel;
  const Training& t = plan.training;
  if (path == "parallel.gradient_sync") return micro_batches(plan) == 1 || p.data * p.context == 1;
  if (path == "parallel.sequence_parallel" || path == "parallel.overlap.tensor") return p.tensor == 1;
  if (path == "parallel.pipeline_schedule" || path == "parallel.overlap.pipeline") return p.pipeline == 1;
  if (path == "parallel.virtual_stages")
    return p.pipeline == 1 || p.pipeline_schedule == PipelineSchedule::zb_v || p.pipeline_schedule == PipelineSchedule::dualpipe || p.pipeline_schedule == PipelineSchedule::dualpipe_v;
  if (path == "parallel.expert" || path == "parallel.expert_tensor" || path == "parallel.moe_dispatcher") return !plan.model.moe;
  if (path == "parallel.fsdp_unit" || path == "parallel.overlap.parameter_gather")
    return !shards_parameters(p.data_sharding) && p.data_sharding != DataSharding::zero2;
  if (path.starts_with("parallel.overlap.gradient_reduce")) return p.data * p.context == 1;
  if (path == "training.load" || path == "training.checkpoint") return p.data * p.context * p.tensor * p.pipeline == 1;
  if (path == "training.details.fsdp_version" || path == "training.details.fsdp_backward_prefetch" || path == "training.details.fsdp_use_orig_params" || path == "training.details.fsdp_units" || path == "training.details.reshard_last_unit")
    return p.framework != Framework::pytorch || (!shards_parameters(p.data_sharding) && p.data_sharding != DataSharding::zero2);
  if (path == "training.optimizer_state_dtype") return t.optimizer == Optimizer::adamw_8bit || t.optimizer == Optimizer::adamw_8bit_paged;
  return false;
}

// The value that a plan document without the field has.
Json default_of(const Plan& plan, std::string_view path) {
  for (const Assumption& a : plan.assumed) {
    const bool is_it = path == a.path || (path.starts_with(a.path) && path.size() > a.path.size() && path[a.path.size()] == '.');
    if (!is_it) continue;
    const Json document = write_plan(plan);
    const Json* value = member_at(document, path);
    return value == nullptr ? Json(nullptr) : *value;
  }
  Plan usual;
  usual.parallel.framework = plan.parallel.framework;
  usual.parallel.data_sharding = plan.parallel.data_sharding;
  usual.parallel.sequence_parallel = plan.parallel.sequence_parallel;
  usual.parallel.data = plan.parallel.data;
  usual.parallel.gradient_sync = default_gradient_sync(usual.parallel.framework, usual.parallel.data_sharding, plan.parallel.pipeline);
  usual.training.parameter_dtype = plan.training.parameter_dtype;
  usual.training.gradient_dtype = plan.training.gradient_dtype;
  usual.parallel.overlap = default_overlap(usual.parallel, plan.training);
  usual.training.implementation = plan.parallel.framework == Framework::megatron ? "megatron-core" : "huggingface";
  Json document = Json::object();
  document["training"] = write_training(usual.training);
  document["parallel"] = write_parallel(usual.parallel);
  // Of formats only the fields themselves are defaults of a document.
  document["training"]["parameter_dtype"] = name_of(Training{}.parameter_dtype);
  document["training"]["gradient_dtype"] = name_of(Training{}.gradient_dtype);
  document["parallel"]["data_sharding"] = name_of(Parallel{}.data_sharding);
  document["parallel"]["framework"] = name_of(Parallel{}.framework);
  const Json* value = member_at(document, path);
  return value == nullptr ? Json(nullptr) : *value;
}

// A detail that the plan's code base has anyway.
bool is_switched_so(const Plan& plan, const PlanLeaf& leaf) {
  constexpr std::string_view kDetails = "training.details.";
  if (!leaf.path.starts_with(kDetails)) return false;
  ReadLog log;
  Switches with = plan.training.switches;
  apply(read_details(log, Json{{leaf.path.substr(kDetails.size()), leaf.value}}, "details"), with);
  return log.errors.empty() && with == plan.training.switches;
}

const Json* value_of(const std::vector<PlanLeaf>& leaves, std::string_view path) {
  for (const PlanLeaf& leaf : leaves)
    if (leaf.path == path) return &leaf.value;
  return nullptr;
}

std::string_view reason_of(std::span<const Reason> reasons, std::string_view path) {
  const Reason* found = nullptr;
  for (const Reason& r : reasons)
    if (path.starts_with(r.path) && (path.size() == r.path.size() || path[r.path.size()] == '.') && (found == nullptr || r.path.size() > found->path.size()))
      found = &r;
  return found == nullptr ? std::string_view() : found->text;
}

struct Difference {
  std::string path;
  Json before, after;
  bool is_stated;  // by the files; else left open
};

std::vector<Difference> differences(const Plan& plan, const ImportedTrainer& imported) {
  Json onto = Json::object();
  const Json document = write_plan(plan);
  for (const char* part : {"model", "cluster"}) onto[part] = document.at(part);
  const std::vector<PlanLeaf> before = plan_leaves(document), after = plan_leaves(completed(imported, onto));
  std::vector<Difference> found;
  for (const PlanLeaf& leaf : before) {
    if (means_nothing(plan, leaf.path) || leaf.path == "training.details") continue;  // null: its parts are looked at below
    const Json* stated = value_of(after, leaf.path);
    // Left open, data follows from the cluster and the other degrees, which are compared themselves.
    if (stated == nullptr && leaf.path == "parallel.data") continue;
    Json is = stated != nullptr ? *stated : default_of(plan, leaf.path), was = leaf.value;
    if (leaf.path == "parallel.deepspeed") {
      is = deepspeed_rest(is, plan);
      was = deepspeed_rest(was, plan);
    }
    if (is != was) found.push_back({leaf.path, leaf.value, std::move(is), stated != nullptr});
  }
  for (const PlanLeaf& leaf : after)
    if (value_of(before, leaf.path) == nullptr && !leaf.value.is_null() && !means_nothing(plan, leaf.path) && !is_switched_so(plan, leaf))
      found.push_back({leaf.path, nullptr, leaf.value, true});
  return found;
}

}  // namespace

std::vector<PlanLeaf> plan_leaves(const Json& document) {
  std::vector<PlanLeaf> leaves;
  for (const char* part : {"training", "parallel"})
    if (const Json* value = member_at(document, part); value != nullptr) collect(*value, part, leaves);
  return leaves;
}

Json overlaid(Json onto, const Json& parts) {
  if (!onto.is_object() || !parts.is_object()) return parts;
  for (auto it = parts.begin(); it != parts.end(); ++it) {
    Json& here = onto[it.key()];
    // Objects whose keys are alternatives are taken whole.
    here = it.key() == "recompute" || it.key() == "lora" || it.key() == "deepspeed" ? it.value() : overlaid(std::move(here), it.value());
  }
  return onto;
}

Json completed(const ImportedTrainer& parts, const Json& onto) {
  Json document = onto.is_object() ? onto : Json::object();
  put(document, "schema", "wireplan.plan/1");
  if (Json* layout = document.contains("parallel") ? &document["parallel"] : nullptr; layout != nullptr && layout->is_object())
    for (const char* key : {"data", "data_sharding", "shard_group", "gradient_sync", "overlap", "deepspeed"}) layout->erase(key);
  if (Json* recipe = document.contains("training") ? &document["training"] : nullptr; recipe != nullptr && recipe->is_object())
    for (const char* key : {"kernels", "implementation"}) recipe->erase(key);
  // A batch that the configuration decides in part is not mixed with another's.
  const bool decides_batch = parts.open.rank_batch > 0 || parts.open.accumulation > 0 || member_at(parts.plan, "training.micro_batch_size") != nullptr;
  if (decides_batch && document.contains("training") && document["training"].is_object()) document["training"].erase("global_batch_size");
  if (document.contains("cluster") && document["cluster"].is_string() && parts.plan.contains("cluster"))
    document["cluster"] = Json{{"node", document["cluster"]}};
  document = overlaid(std::move(document), parts.plan);

  const auto number_at = [&](const char* path, Count otherwise) {
    const Json* value = member_at(document, path);
    const double n = value != nullptr && value->is_number() ? value->get<double>() : 0;
    return n >= 1 && n <= 1e9 ? static_cast<Count>(n) : otherwise;
  };
  const Count others = number_at("parallel.tensor", 1) * number_at("parallel.pipeline", 1);
  Count per_node = number_at("cluster.gpus_per_node", 0);
  if (per_node == 0) per_node = number_at("cluster.node.gpus", 0);
  const Count gpus = per_node * number_at("cluster.nodes", 1);
  if (parts.open.shards_node && per_node > 0) put_at(document, "parallel.shard_group", per_node);
  if (parts.open.replicas > 0 && gpus > 0 && gpus % (parts.open.replicas * others) == 0)
    put_at(document, "parallel.shard_group", gpus / (parts.open.replicas * others));
  const Count context = number_at("parallel.context", 1), split = others * context;
  const Count data = number_at("parallel.data", gpus > 0 && gpus % split == 0 ? gpus / split : 0);
  const Count rank_batch = parts.open.rank_batch > 0 ? parts.open.rank_batch : parts.open.accumulation * number_at("training.micro_batch_size", 1);
  if (rank_batch > 0 && data > 0) put_at(document, "training.global_batch_size", rank_batch * data);
  return document;
}

void add_inexpressible(const Plan& plan, Trainer trainer, std::span<const Reason> reasons, Export& exported) {
  if (exported.files.empty()) return;
  const Result<ImportedTrainer> imported = import_trainer(exported.files.front().text, trainer);
  if (!imported) {  // a fault of the writer, which tests look for
    for (const Error& e : imported.errors()) exported.notes.push_back({Severity::error, e.path, e.text});
    return;
  }
  for (const Difference& d : differences(plan, imported.value())) {
    bool is_listed = false;
    for (const Inexpressible& i : exported.inexpressible) is_listed = is_listed || i.path == d.path;
    if (is_listed) continue;
    const std::string_view reason = reason_of(reasons, d.path);
    std::string text = reason.empty() ? std::string(trainer_label(trainer)) + " has no key for it" : std::string(reason);
    text += d.is_stated ? "; the files make it " + value_text(d.after) : "; left to its default, " + value_text(d.after);
    exported.inexpressible.push_back({d.path, value_text(d.before), std::move(text)});
  }
}

Result<std::vector<RoundTripDifference>> round_trip(const Plan& plan, Trainer trainer, const Presets& presets) {
  const Result<Export> exported = export_plan(plan, trainer);
  if (!exported) return exported.errors();
  const Result<ImportedTrainer> imported = import_trainer(exported.value().files.front().text, trainer);
  if (!imported) return imported.errors();
  Json onto = Json::object();
  const Json document = write_plan(plan);
  for (const char* part : {"model", "cluster"}) onto[part] = document.at(part);
  const Result<Plan> back = read_plan(completed(imported.value(), onto), presets);
  if (!back) return back.errors();
  const std::vector<PlanLeaf> before = plan_leaves(document), after = plan_leaves(write_plan(back.value()));
  std::vector<RoundTripDifference> found;
  for (const PlanLeaf& leaf : before) {
    const Json* now = value_of(after, leaf.path);
    if (leaf.path == "training.details") continue;  // null: its parts are looked at below
    const Json is = now == nullptr ? Json(nullptr) : *now;
    if (is != leaf.value && !means_nothing(plan, leaf.path)) found.push_back({leaf.path, leaf.value, is});
  }
  for (const PlanLeaf& leaf : after)
    if (value_of(before, leaf.path) == nullptr && !leaf.value.is_null() && !means_nothing(plan, leaf.path) && !is_switched_so(plan, leaf)) found.push_back({leaf.path, nullptr, leaf.value});
  return found;
}

std::vector<std::string> changed_lines(const Plan& before, const Plan& after, Trainer trainer) {
  std::vector<std::string> lines;
  const TrainerCode* code = trainer_code(trainer);
  if (code == nullptr) return lines;
  const Result<Export> old = code->write(before), now = code->write(after);
  if (!old || !now) return lines;
  const auto lines_of = [](const ExportedFile& file) {
    std::vector<std::string_view> all;
    for (std::string_view rest = file.text; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
      if (!line.empty()) all.push_back(line);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return all;
  };
  for (const ExportedFile& file : now.value().files) {
    std::vector<std::string_view> had;
    for (const ExportedFile& f : old.value().files)
      if (f.name == file.name) had = lines_of(f);
    for (const std::string_view line : lines_of(file)) {
      bool is_old = false;
      for (const std::string_view h : had) is_old = is_old || h == line;
      if (!is_old) lines.emplace_back(line);
    }
  }
  return lines;
}

}  // namespace wireplan
