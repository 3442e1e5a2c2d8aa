#include "core/text/preset_list.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/text/read_node.hpp"
#include "core/text/reader.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

enum class Shown : unsigned char { text, count, parameters, gibibytes, rate, tflops };

struct Fact {
  std::string_view key;      // in the list
  std::string_view path;     // in the preset, dotted
  std::string_view title;    // in text and Markdown
  Shown shown = Shown::text;
};

struct Kind {
  std::string_view name, what;
  std::vector<Fact> facts;
};

std::vector<Kind> kinds() {
  return {{"scenarios", "whole plans to begin with", {{"model", "plan.model", "model"}, {"node", "plan.cluster.node", "node"}, {"nodes", "plan.cluster.nodes", "nodes", Shown::count}}},
          {"models",
           "decoder transformers by their shape",
           {{"exact_parameters", "exact_parameters", "parameters", Shown::parameters},
            {"published_parameters", "published_parameters", "published", Shown::parameters},
            {"num_layers", "num_layers", "layers", Shown::count},
            {"hidden_size", "hidden_size", "hidden", Shown::count},
            {"vocab_size", "vocab_size", "vocabulary", Shown::count}}},
          {"gpus",
           "GPUs: capacity, dense peaks, links",
           {{"architecture", "architecture", "architecture"},
            {"memory_bytes", "memory_bytes", "memory", Shown::gibibytes},
            {"hbm_bytes_per_s", "hbm_bytes_per_s", "bandwidth", Shown::rate},
            {"bf16_flops_per_s", "bf16_flops_per_s", "bf16, dense", Shown::tflops}}},
          {"nodes",
           "machines and cloud instances: GPUs and how they are wired",
           {{"gpu", "gpu", "GPU"}, {"gpus", "gpus", "GPUs", Shown::count}, {"wiring", "wiring.kind", "wiring"}, {"network", "network", "network"}}},
          {"networks", "fabrics between nodes", {{"latency_s", "latency_s", "latency, s"}, {"gpudirect", "gpudirect", "GPUDirect"}}},
          {"implementations", "code bases that train, by release", {{"frameworks", "frameworks", "frameworks"}, {"kernels", "kernels", "kernels"}}},
          {"architectures", "how a model's config.json is read, by model_type", {{"like", "like", "as"}}},
          {"clusters", "whole clusters", {}},
          {"measurements", "constants the estimates rest on, with their data sets", {{"date", "date", "date"}}}};
}

const Json* at(const Json& json, std::string_view path) {
  const Json* here = &json;
  while (!path.empty()) {
    std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), key.size() + 1));
    if (!here->is_object()) return nullptr;
    auto it = here->find(std::string(key));
    if (it == here->end()) return nullptr;
    here = &it.value();
  }
  return here;
}

// A part of a plan that is written out instead of named has no short text.
Json fact_value(const Json* value) { return value == nullptr ? Json(nullptr) : value->is_object() ? Json("own") : *value; }

std::string shown(const Json& value, Shown how) {
  if (value.is_null()) return "";
  if (value.is_number()) {
    const double v = value.get<double>();
    switch (how) {
      case Shown::count: return format_count(v);
      case Shown::parameters: return format_parameters(v);
      case Shown::gibibytes: return format_bytes_with_unit(Bytes(v), ByteUnit::GiB);
      case Shown::rate: return format_rate(BytesPerSecond(v));
      case Shown::tflops: return format_flops_rate(v / 1e12);
      case Shown::text: break;
    }
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string text;
    for (const Json& element : value) text += (text.empty() ? "" : ", ") + shown(element, how);
    return text;
  }
  return dump_json_compact(value);
}

Error unknown_kind(std::string_view kind) {
  std::vector<std::string_view> names;
  for (const Kind& k : kinds()) names.push_back(k.name);
  return {"kind", value_text(Json(kind)), listed(names), value_text(Json(kind)) + " is no kind of presets" + did_you_mean(nearest_words(kind, names))};
}

}  // namespace

Json preset_kinds(const Presets& presets) {
  Json list = Json::array();
  for (const Kind& k : kinds()) {
    Json entry;
    put(entry, "kind", k.name);
    put(entry, "count", static_cast<std::int64_t>(presets.ids(k.name).size()));
    put(entry, "what", k.what);
    list.push_back(std::move(entry));
  }
  Json j;
  put(j, "kinds", std::move(list));
  return j;
}

Result<Json> preset_list(const Presets& presets, std::string_view kind) {
  for (const Kind& k : kinds()) {
    if (k.name != kind) continue;
    Json list = Json::array();
    for (std::string_view id : presets.ids(kind)) {
      Result<Json> preset = preset_document(presets, kind, id);
      if (!preset) return preset.errors();
      const Json& document = preset.value();
      const Json* name = at(document, "name");
      Json entry;
      put(entry, "id", id);
      put(entry, "name", fact_value(name != nullptr ? name : at(document, "title")));
      for (const Fact& f : k.facts) put(entry, std::string(f.key).c_str(), fact_value(at(document, f.path)));
      put(entry, "verified", fact_value(at(document, "verified")));
      put(entry, "source", fact_value(at(document, "source")));
      list.push_back(std::move(entry));
    }
    Json j;
    put(j, "kind", kind);
    put(j, "presets", std::move(list));
    return j;
  }
  return unknown_kind(kind);
}

Result<Json> preset_document(const Presets& presets, std::string_view kind, std::string_view id) {
  bool known = false;
  for (const Kind& k : kinds()) known = known || k.name == kind;
  if (!known) return unknown_kind(kind);
  std::string_view text = presets.text(kind, id);
  if (text.empty()) return unknown_preset("id", kind, id, presets);
  Result<Json> document = parse_json(text);
  if (document) return document;
  Errors errors = document.errors();
  for (Error& e : errors) e.path = std::string(kind) + '/' + std::string(id) + (e.path.empty() ? "" : '.' + e.path);
  return errors;
}

std::string render_preset_list(const Json& list, RenderFormat format) {
  Table table;
  auto add_column = [&](std::string_view title, Shown how) {
    table.columns.push_back({std::string(title), how != Shown::text});
  };
  if (list.contains("kinds")) {
    for (const char* title : {"kind", "count", "what"}) add_column(title, Shown::text);
    for (const Json& k : list.at("kinds")) table.rows.push_back({shown(k.at("kind"), Shown::text), shown(k.at("count"), Shown::count), shown(k.at("what"), Shown::text)});
  } else {
    std::vector<Fact> facts{{"id", "", "id"}, {"name", "", "name"}};
    for (const Kind& k : kinds())
      if (k.name == list.at("kind").get_ref<const std::string&>()) facts.insert(facts.end(), k.facts.begin(), k.facts.end());
    // How far a preset was checked and its source are long: in plain text they stand on lines of their own.
    if (format != RenderFormat::text) facts.insert(facts.end(), {{"verified", "", "verified"}, {"source", "", "source"}});
    for (const Fact& f : facts) add_column(format == RenderFormat::csv ? f.key : f.title, f.shown);
    for (const Json& p : list.at("presets")) {
      table.rows.emplace_back();
      for (const Fact& f : facts) table.rows.back().push_back(shown(p.at(std::string(f.key)), format == RenderFormat::csv ? Shown::text : f.shown));
    }
  }
  if (format == RenderFormat::csv) {
    std::vector<std::string> titles;
    for (const auto& c : table.columns) titles.push_back(c.title);
    std::string text = csv_line(titles);
    for (const auto& row : table.rows) text += csv_line(row);
    return text;
  }
  Sheet sheet(format == RenderFormat::markdown);
  sheet.table(table);
  if (format == RenderFormat::markdown || list.contains("kinds")) return sheet.text();

  // One line under each row of the table: "checked: …; source: …".
  std::string text;
  std::size_t row = 0, start = 0;
  const std::string& lines = sheet.text();
  for (std::size_t end = lines.find('\n'); end != std::string::npos; start = end + 1, end = lines.find('\n', start), ++row) {
    text += lines.substr(start, end - start + 1);
    if (row == 0) continue;
    const Json& p = list.at("presets")[row - 1];
    std::string foot;
    if (!p.at("verified").is_null()) foot = "checked: " + shown(p.at("verified"), Shown::text);
    if (!p.at("source").is_null()) foot += (foot.empty() ? "source: " : "; source: ") + shown(p.at("source"), Shown::text);
    if (!foot.empty()) text += "      " + wrapped(foot, kTextWidth - 6, 6) + '\n';
  }
  return text;
}

}  // namespace wireplan
