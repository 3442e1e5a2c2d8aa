// Writing of links: the plan as a document, less what reading would fill in by itself.
#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/deflate.hpp"
#include "core/text/link.hpp"
#include "core/text/link_keys.hpp"
#include "core/text/plan_defaults.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_model.hpp"
#include "core/text/read_node.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kLongValue = 200;  // a list whose text is longer goes into j=

// The defaults of a plan that states `plan`'s model, cluster and whatever other defaults depend on.
Json defaults_beside(const Plan& plan, const Presets& presets) {
  Plan base;
  base.model = plan.model;
  base.cluster = plan.cluster;
  base.training.micro_batch_size = plan.training.micro_batch_size;
  base.training.implementation = plan.training.implementation;
  base.training.parameter_dtype = plan.training.parameter_dtype;
  base.training.gradient_dtype = plan.training.gradient_dtype;
  base.parallel.framework = plan.parallel.framework;
  base.parallel.sequence_parallel = plan.parallel.sequence_parallel;
  base.parallel.data_sharding = plan.parallel.data_sharding;
  base.parallel.tensor = plan.parallel.tensor;
  base.parallel.pipeline = plan.parallel.pipeline;
  base.parallel.context = plan.parallel.context;
  base.parallel.deepspeed = plan.parallel.deepspeed;
  PlanStated stated;
  stated.parallel.data_sharding = stated.training.implementation = true;
  ReadLog log;
  fill_defaults(base, stated, presets, log);
  Json document = write_plan(base);

  // Those fields themselves are compared with what they are when left out.
  Plan bare;
  bare.model.opaque = OpaqueModel{};
  bare.cluster = plan.cluster;
  bare.parallel.framework = plan.parallel.framework;
  bare.parallel.deepspeed = plan.parallel.deepspeed;
  fill_defaults(bare, {}, presets, log);
  document["training"]["micro_batch_size"] = 1;
  document["training"]["parameter_dtype"] = name_of(bare.training.parameter_dtype);
  document["training"]["gradient_dtype"] = name_of(bare.training.gradient_dtype);
  document["parallel"]["sequence_parallel"] = false;
  document["training"]["implementation"] = bare.training.implementation;
  document["parallel"]["framework"] = name_of(Framework{});
  document["parallel"]["data_sharding"] = name_of(bare.parallel.data_sharding);
  for (const char* key : {"tensor", "pipeline", "context"}) document["parallel"][key] = 1;
  document["parallel"]["deepspeed"] = nullptr;
  return document;
}

// What may be left out of a model that is an object; the other fields must be stated.
Json model_defaults(const Model& model) {
  Model usual;
  usual.o_bias = model.mlp_bias;
  if (model.moe) {
    usual.moe = MixtureOfExperts{};
    usual.moe->shared_intermediate_size = model.moe->num_shared_experts * model.moe->intermediate_size;
  }
  if (model.mla) usual.mla = LatentAttention{};
  Json j = write_model(usual);
  for (const char* key :
       {"hidden_size", "num_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
        "mlp", "vocab_size", "tie_word_embeddings", "norm", "qkv_bias", "mlp_bias", "position"})
    j.erase(key);
  if (model.moe)
    for (const char* key : {"num_experts", "experts_per_token", "intermediate_size"}) j["moe"].erase(key);
  if (model.mla)
    for (const char* key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}) j["mla"].erase(key);
  return j;
}

Json cluster_defaults(const Cluster& cluster) {
  Json node = write_node(Node{});
  for (const char* key : {"gpu", "gpus", "wiring"}) node.erase(key);
  node["numa_nodes"] = cluster.node.sockets;
  Json j = Json::object();
  j["nodes"] = 1;
  j["node"] = cluster.node.id.empty() ? std::move(node) : Json(cluster.node.id);
  j["gpus_per_node"] = cluster.node.gpus;
  return j;
}

struct Field {
  std::string path;
  Json value;
};

bool is_packed_whole(std::string_view path) {
  return path == "parallel.deepspeed" || path == "cluster.profile" || path == "cluster.assumed";
}

// Leaves of `json` that differ from `base`, in order.
void differences(const Json& json, const Json* base, const std::string& path, std::vector<Field>& out) {
  for (auto it = json.begin(); it != json.end(); ++it) {
    const Json* other = nullptr;
    if (base != nullptr && base->is_object()) {
      const auto found = base->find(it.key());
      if (found != base->end()) other = &*found;
    }
    if (other != nullptr ? *other == *it : it->is_null()) continue;
    std::string place = joined_path(path, it.key());
    const bool whole = is_packed_whole(place) || place == "training.recompute" || it->empty();
    if (it->is_object() && !whole)
      differences(*it, other, place, out);
    else
      out.push_back({std::move(place), *it});
  }
}

// The text that reading turns into this value again.
std::string value_of(const Field& field) {
  const Json& value = field.value;
  if (field.path == "training.recompute" && value.is_object())
    return value.begin().key() + "~" + dump_json_compact(value.begin().value());
  if (!value.is_string()) return value.is_null() ? "null" : dump_json_compact(value);
  const std::string& text = value.get_ref<const std::string&>();
  return parse_json(text) ? dump_json_compact(value) : text;  // "123" is text, 123 a number
}

std::string short_cluster(const Cluster& cluster) {
  std::string text = cluster.node.id;
  const bool all = cluster.gpus_per_node == cluster.node.gpus;
  const bool named = cluster.network && !cluster.network->shorthand.empty();
  if (cluster.nodes > 1 || named || !all) text += "~" + format_exact(cluster.nodes);
  if (named) text += "~" + cluster.network->shorthand;
  if (!all) text += "~" + format_exact(cluster.gpus_per_node);
  return text;
}

struct LinkParts {
  std::string readable;
  Json packed = Json::object();
};

LinkParts parts_of(const Plan& plan, const Presets& presets) {
  LinkParts parts;
  Json base = defaults_beside(plan, presets);
  if (plan.model.id.empty()) base["model"] = model_defaults(plan.model);
  base["cluster"] = cluster_defaults(plan.cluster);
  std::vector<Field> fields;
  differences(write_plan(plan), &base, "", fields);

  parts.readable = "#v=1";
  if (!plan.model.id.empty()) parts.readable += "&m=" + percent_encoded(plan.model.id);
  const bool is_short = !plan.cluster.node.id.empty();
  if (is_short) {
    parts.readable += "&c=" + percent_encoded(short_cluster(plan.cluster));
    std::erase_if(fields, [](const Field& f) {
      return f.path == "cluster.nodes" || f.path == "cluster.gpus_per_node" ||
             (f.path == "cluster.network" && f.value.is_string());
    });
  }
  for (const ShortKey& key : kShortKeys) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.path == key.path; });
    if (found == fields.end()) continue;
    const std::string text = found->value.is_boolean() ? (found->value.get<bool>() ? "1" : "0") : value_of(*found);
    parts.readable += "&" + std::string(key.key) + "=" + percent_encoded(text);
    fields.erase(found);
  }
  for (const Field& field : fields) {
    const std::string text = value_of(field);
    if (is_packed_whole(field.path) || (field.value.is_structured() && text.size() > kLongValue)) {
      // set_path reads JSON, and this is JSON.
      set_path(parts.packed, field.path, dump_json_compact(field.value));
    } else {
      parts.readable += "&" + field.path + "=" + percent_encoded(text);
    }
  }
  return parts;
}

std::string whole_link(const LinkParts& parts) {
  if (parts.packed.empty()) return parts.readable;
  return parts.readable + "&j=" + base64url(deflated(dump_json_compact(parts.packed)));
}

}  // namespace

std::string format_link(const Plan& plan, const Presets& presets) {
  std::string link = whole_link(parts_of(plan, presets));
  return link.size() <= kMaxLink ? link : std::string();
}

Errors unlinkable(const Plan& plan, const Presets& presets) {
  const LinkParts parts = parts_of(plan, presets);
  const std::string link = whole_link(parts);
  if (link.size() <= kMaxLink) return {};
  const std::string size = format_count(static_cast<double>(link.size())),
                    most = format_count(static_cast<double>(kMaxLink));
  // The part that takes most.
  std::string largest;
  std::size_t taken = 0;
  for (const char* path :
       {"cluster.profile", "cluster.node", "parallel.placement", "parallel.deepspeed", "cluster.assumed", "model"}) {
    Json here = write_plan(plan);
    for (std::string_view rest = path; !rest.empty() && here.is_object();) {
      const std::string key(rest.substr(0, rest.find('.')));
      rest.remove_prefix(std::min(rest.size(), key.size() + 1));
      Json next = here.contains(key) ? here[key] : Json(nullptr);
      here = std::move(next);
    }
    const std::size_t length = deflated(dump_json_compact(here)).size();
    if (length <= taken) continue;
    taken = length;
    largest = path;
  }
  return {{largest, size + " bytes", "a link of at most " + most + " bytes",
           "the plan does not fit into a link: " + size + " bytes, at most " + most +
               ". Nearest: share the document, or leave out " + largest}};
}

}  // namespace wireplan
