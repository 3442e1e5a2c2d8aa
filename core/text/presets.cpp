#include "core/text/presets.hpp"

#include <algorithm>

#include "core/answer/search_space.hpp"
#include "core/base/sort.hpp"
#include "core/text/embedded_presets.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_constants.hpp"
#include "core/text/read_gpu.hpp"
#include "core/text/read_model.hpp"
#include "core/text/read_nccl_release.hpp"
#include "core/text/read_network.hpp"
#include "core/text/read_node.hpp"
#include "core/text/read_training.hpp"

namespace wireplan {
namespace {

std::string prefix_of(std::string_view kind, std::string_view id) {
  return std::string(kind) + "/" + std::string(id) + ":";
}

// Rows of the embedded table of one kind; the table is sorted by kind, then id.
std::pair<const EmbeddedPreset*, const EmbeddedPreset*> rows_of(std::string_view kind) {
  const EmbeddedPreset* const begin = kEmbeddedPresets;
  const EmbeddedPreset* const end = kEmbeddedPresets + kEmbeddedPresetCount;
  const auto first =
      std::lower_bound(begin, end, kind, [](const EmbeddedPreset& p, std::string_view k) { return p.kind < k; });
  const auto last =
      std::upper_bound(first, end, kind, [](std::string_view k, const EmbeddedPreset& p) { return k < p.kind; });
  return {first, last};
}

Result<Json> loaded_text(const Presets& presets, std::string_view kind, std::string_view id) {
  const std::string_view text = presets.text(kind, id);
  const std::string path = joined_path(prefix_of(kind, id), "");
  if (text.empty()) return unknown_preset(path, kind, id, presets);
  Result<Json> json = parse_json(text);
  if (json) return json;
  Errors errors = json.errors();
  for (Error& error : errors) error.path = path;
  return errors;
}

// Parses one preset and reads it with `read(Reader&)`; every key it did not ask for is an error.
template <class Read>
auto loaded(const Presets& presets, std::string_view kind, std::string_view id, Read read)
    -> Result<decltype(read(std::declval<Reader&>()))> {
  const Result<Json> json = loaded_text(presets, kind, id);
  if (!json) return json.errors();
  ReadLog log;
  Reader reader(log, json.value(), prefix_of(kind, id));
  auto value = read(reader);
  reader.finish();
  if (!log.errors.empty()) return log.finished();
  return value;
}

template <class T>
Result<T> validated(Result<T> result, const std::string& prefix) {
  if (!result) return result;
  Errors errors = validate(result.value(), prefix);
  if (!errors.empty()) return errors;
  return result;
}

// Bytes per logit: {"<loss>": {"forward", "kept", "backward", "gradient"}}.
void read_loss_bytes(Reader& r, const Json& json, std::array<LossBytes, kNames<Loss>.size()>& out) {
  Reader kinds(r.log(), json, r.path("loss_bytes"));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Json* one = kinds.stated(kNames<Loss>[i]);
    if (one == nullptr) continue;
    Reader bytes(r.log(), *one, kinds.path(kNames<Loss>[i]));
    for (const char* key : {"forward", "kept", "backward", "gradient"}) bytes.require(key, "bytes per logit");
    bytes.read("forward", out[i].forward);
    bytes.read("kept", out[i].kept);
    bytes.read("backward", out[i].backward);
    bytes.read("gradient", out[i].gradient);
    bytes.finish();
  }
  kinds.finish();
}

// What a document and each of its variants may state.
void read_switches(Reader& r, Variant& v) {
  if (const Json* details = r.stated("details")) v.details = read_details(r.log(), *details, r.path("details"));
  if (const Json* loss = r.stated("loss_bytes")) read_loss_bytes(r, *loss, v.loss);
  const auto read = [&](const char* key, auto& to) {
    typename std::remove_reference_t<decltype(to)>::value_type value{};
    if (r.read(key, value)) to = value;
  };
  read("reentrant_checkpoint", v.reentrant_checkpoint);
  read("tables_per_layer", v.tables_per_layer);
  read("logits_in_fp32", v.logits_in_fp32);
  read("fused_weight_gradients", v.fused_weight_gradients);
  read("batch_has_mask", v.batch_has_mask);
  read("separate_adapter_units", v.separate_adapter_units);
  read("keeps_quantised_inputs", v.keeps_quantised_inputs);
  read("first_flash_attention", v.first_flash_attention);
  read("workspace_bytes", v.workspace_bytes);
  read("grouped_workspace_bytes", v.grouped_workspace_bytes);
  read("elementwise_traffic", v.elementwise_traffic);
}

void put(const Variant& v, Implementation& i) {
  apply(v.details, i.switches);
  for (std::size_t k = 0; k < v.loss.size(); ++k)
    if (v.loss[k].forward > 0) i.loss[k] = v.loss[k];
  const auto put_one = [](const auto& from, auto& to) {
    if (from) to = *from;
  };
  put_one(v.reentrant_checkpoint, i.switches.reentrant_checkpoint);
  put_one(v.tables_per_layer, i.switches.tables_per_layer);
  put_one(v.logits_in_fp32, i.switches.logits_in_fp32);
  put_one(v.fused_weight_gradients, i.switches.fused_weight_gradients);
  put_one(v.batch_has_mask, i.switches.batch_has_mask);
  put_one(v.separate_adapter_units, i.switches.separate_adapter_units);
  put_one(v.keeps_quantised_inputs, i.switches.keeps_quantised_inputs);
  put_one(v.first_flash_attention, i.switches.first_flash_attention);
  put_one(v.workspace_bytes, i.switches.workspace_bytes);
  put_one(v.grouped_workspace_bytes, i.switches.grouped_workspace_bytes);
  put_one(v.elementwise_traffic, i.switches.elementwise_traffic);
}

void read_variants(Reader& r, Implementation& implementation) {
  const Json* list = r.stated("variants");
  if (list == nullptr) return;
  if (!list->is_array()) return r.fail_type("variants", *list, "a list of variants");
  for (std::size_t i = 0; i < list->size(); ++i) {
    Reader one(r.log(), (*list)[i], r.path("variants." + std::to_string(i)));
    Variant v;
    one.read("architecture", v.architecture);
    one.read("from", v.from);
    one.read("until", v.until);
    Kernels kernels{};
    if (one.read_name("kernels", kernels)) v.kernels = kernels;
    read_switches(one, v);
    one.finish();
    implementation.variants.push_back(std::move(v));
  }
}

// A list of names of an enumeration.
template <class E>
void read_choice(Reader& r, std::string_view key, NameSet<E>& choice) {
  r.require(key, "a list of " + names_listed<E>());
  const Json* json = r.stated(key);
  if (json == nullptr) return;
  if (!json->is_array()) return r.fail_type(key, *json, "a list of " + names_listed<E>());
  choice = {};
  for (std::size_t i = 0; i < json->size(); ++i)
    if (E value{}; r.name(std::string(key) + "." + std::to_string(i), &(*json)[i], value)) choice.set(value);
}

// What of a layout the code base has at all.
void read_abilities(Reader& r, Abilities& can) {
  r.require("can", "an object");
  const Json* json = r.stated("can");
  if (json == nullptr) return;
  Reader o(r.log(), *json, r.path("can"));
  std::string text;
  o.require("source", "text");
  o.read("source", text);
  NameSet<Vary> splits;
  read_choice(o, "splits", splits);
  can.tensor = splits.has(Vary::tensor);
  can.pipeline = splits.has(Vary::pipeline);
  can.context = splits.has(Vary::context);
  can.expert = splits.has(Vary::expert);
  can.offload = splits.has(Vary::offload);
  read_choice(o, "data_sharding", can.data_sharding);
  o.read("ddp_beside_other_splits", can.mixes_ddp);
  read_choice(o, "pipeline_schedule", can.pipeline_schedule);
  read_choice(o, "recompute", can.recompute);
  read_choice(o, "loss", can.loss);
  o.finish();
}

Implementation read_implementation(Reader& r) {
  Implementation implementation;
  std::string text;
  for (const std::string_view key : {"name", "source"}) r.require(key, "text");
  r.read("name", implementation.name);
  for (const std::string_view key : {"source", "verified", "note"}) r.read(key, text);
  r.require("kernels", names_listed<Kernels>());
  r.read_name("kernels", implementation.kernels);
  r.read_name("modules", implementation.switches.modules);
  r.read("loss_in_forward", implementation.switches.loss_in_forward);
  GradientSync sync{};
  if (r.read_name("gradient_sync", sync)) implementation.gradient_sync = sync;
  read_abilities(r, implementation.can);
  Variant whole;
  read_switches(r, whole);
  put(whole, implementation);
  read_variants(r, implementation);
  r.require("frameworks", "a list of frameworks");
  for (const std::string_view key : {"frameworks", "default_for"}) {
    const Json* json = r.stated(key);
    if (json == nullptr) continue;
    if (!json->is_array()) {
      r.fail_type(key, *json, "a list of frameworks");
      continue;
    }
    for (std::size_t i = 0; i < json->size(); ++i) {
      Framework framework{};
      if (r.name(std::string(key) + "." + std::to_string(i), &(*json)[i], framework) && key == "frameworks")
        implementation.frameworks.push_back(framework);
    }
  }
  return implementation;
}

template <class T>
void append_errors(Errors& to, const Result<T>& result) {
  if (!result) to.insert(to.end(), result.errors().begin(), result.errors().end());
}

// A scenario holds a whole plan.
bool read_scenario(Reader& r, std::string_view id, const Presets& presets) {
  std::string text, unit;
  for (const std::string_view key : {"title", "source"}) {
    r.require(key, "text");
    r.read(key, text);
  }
  for (const std::string_view key : {"description", "note"}) r.read(key, text);
  if (r.read("unit", unit) && unit != "GB" && unit != "GiB") r.fail_type("unit", *r.find("unit"), "GB | GiB");
  r.require("plan", "a plan document");
  if (const Json* json = r.stated("plan")) {
    const Result<Plan> plan = read_plan(*json, presets);
    if (!plan)
      for (Error error : plan.errors()) {
        error.path = joined_path(prefix_of("scenarios", id), error.path.empty() ? "plan" : "plan." + error.path);
        r.log().add(std::move(error));
      }
  }
  return true;
}

}  // namespace

Implementation variant_of(Implementation implementation, std::string_view architecture, std::string_view release, Kernels kernels) {
  for (const Variant& v : implementation.variants) {
    if (!v.architecture.empty() && architecture.find(v.architecture) == std::string_view::npos) continue;
    if (v.kernels && *v.kernels != kernels) continue;
    const bool is_dated = !v.from.empty() || !v.until.empty();
    if (is_dated && (release.empty() || release < v.from || (!v.until.empty() && release >= v.until))) continue;
    put(v, implementation);
  }
  return implementation;
}

Presets::Presets() = default;

void Presets::add(std::string kind, std::string id, std::string json) {
  added_[std::move(kind)][std::move(id)] = std::move(json);
}

std::vector<std::string_view> Presets::ids(std::string_view kind) const {
  std::vector<std::string_view> all;
  const auto [first, last] = rows_of(kind);
  for (const EmbeddedPreset* p = first; p != last; ++p) all.push_back(p->id);
  if (const auto added = added_.find(kind); added != added_.end())
    for (const auto& [id, json] : added->second) all.push_back(id);
  sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string_view Presets::text(std::string_view kind, std::string_view id) const {
  if (const auto added = added_.find(kind); added != added_.end())
    if (const auto found = added->second.find(id); found != added->second.end()) return found->second;
  const auto [first, last] = rows_of(kind);
  const auto found =
      std::lower_bound(first, last, id, [](const EmbeddedPreset& p, std::string_view i) { return p.id < i; });
  return found != last && found->id == id ? found->json : std::string_view{};
}

std::vector<std::string_view> Presets::nearest(std::string_view kind, std::string_view id) const {
  const std::vector<std::string_view> all = ids(kind);
  return nearest_words(id, all);
}

Result<Model> Presets::model(std::string_view id) const {
  Result<Model> model = loaded(*this, "models", id, [](Reader& r) { return read_model(r, true); });
  if (model) model.value().id = id;
  return validated(std::move(model), prefix_of("models", id));
}

Result<Gpu> Presets::gpu(std::string_view id) const {
  Result<Gpu> gpu = loaded(*this, "gpus", id, [](Reader& r) { return read_gpu(r, true); });
  if (gpu) gpu.value().id = id;
  return validated(std::move(gpu), prefix_of("gpus", id));
}

Result<Node> Presets::node(std::string_view id) const {
  Result<Node> node = loaded(*this, "nodes", id, [&](Reader& r) { return read_node(r, true, *this); });
  if (node) node.value().id = id;
  return validated(std::move(node), prefix_of("nodes", id));
}

Result<Implementation> Presets::implementation(std::string_view id) const {
  Result<Implementation> implementation =
      loaded(*this, "implementations", id, [](Reader& r) { return read_implementation(r); });
  if (implementation) implementation.value().id = id;
  return implementation;
}

Result<LinkConstants> Presets::expected_links() const {
  auto links = loaded(*this, "measurements", "links", read_link_constants);
  Result<nccl::Release> release = nccl_release(nccl::kDefaultRelease);
  if (!release) return release.errors();
  if (links) links.value().nccl = std::make_shared<const nccl::Release>(std::move(release.value()));
  return links;
}

Result<Constants> Presets::constants() const {
  auto links = expected_links();
  if (links) {
    auto fit = loaded(*this, "measurements", "link_fit", [&](Reader& r) { read_link_fit(r, links.value()); return true; });
    if (!fit) links = fit.errors();
  }
  auto efficiency = loaded(*this, "measurements", "efficiency", read_efficiency_constants);
  auto memory = loaded(*this, "measurements", "memory", read_memory_constants);
  Errors errors;
  append_errors(errors, links);
  append_errors(errors, efficiency);
  append_errors(errors, memory);
  if (!errors.empty()) return errors;
  return Constants{std::move(links.value()), std::move(efficiency.value()), std::move(memory.value())};
}

Result<nccl::Release> Presets::nccl_release(std::string_view version) const { return loaded(*this, "nccl", version, read_nccl_release); }

Errors Presets::check_all() const {
  Errors errors;
  for (const std::string_view id : ids("models")) append_errors(errors, model(id));
  for (const std::string_view id : ids("gpus")) append_errors(errors, gpu(id));
  for (const std::string_view id : ids("nodes")) append_errors(errors, node(id));
  for (const std::string_view id : ids("implementations")) append_errors(errors, implementation(id));
  for (const std::string_view id : ids("networks")) {
    const auto fabric = value_named<Fabric>(id);
    const std::string path = "networks/" + std::string(id);
    if (!fabric)
      errors.push_back({path, value_text(Json(id)), names_listed<Fabric>(),
                        path + " names no fabric. Nearest: " + names_listed<Fabric>()});
    else
      append_errors(errors, loaded(*this, "networks", id, [&](Reader& r) { return read_fabric(r, *fabric); }));
  }
  for (const std::string_view id : ids("scenarios"))
    append_errors(errors, loaded(*this, "scenarios", id, [&](Reader& r) { return read_scenario(r, id, *this); }));
  for (const std::string_view id : ids("clusters")) {
    const Result<Json> json = loaded_text(*this, "clusters", id);
    append_errors(errors, json);
    if (json) append_errors(errors, read_cluster(json.value(), *this, "clusters/" + std::string(id)));
  }
  append_errors(errors, constants());
  for (const std::string_view id : ids("nccl")) append_errors(errors, nccl_release(id));
  // Documents that other parts of the product read: here only that they are JSON.
  for (const std::string_view kind : {"measurements", "languages", "references", "architectures"})
    for (const std::string_view id : ids(kind)) append_errors(errors, loaded_text(*this, kind, id));
  return errors;
}

}  // namespace wireplan
