#include "core/text/hf_config.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/count/parameters.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_model.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostNotes = 20, kMostNamed = 12, kMostDifferences = 6;

bool contains_any(std::string_view key, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (key.find(part) != std::string_view::npos) return true;
  return false;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

// What people take for a model's configuration.
Error not_a_config(const Json& document) {
  const auto has = [&](const char* key) { return document.contains(key); };
  std::string what = "it has no model_type";
  if (has("peft_type")) what = "it is the configuration of an adapter; state training.lora in the plan, and import the config.json of the base model";
  else if (has("_class_name") || has("_diffusers_version")) what = "it is a configuration of diffusers, not of a decoder transformer; state such a model as an opaque one";
  else if (has("tokenizer_class") || has("added_tokens_decoder")) what = "it is the configuration of a tokenizer";
  else if (has("weight_map")) what = "it is the index of a model's weights, which belongs to --weights";
  else if (has("dim") && has("n_layers")) what = "it is a params.json, which does not say how the model is built";
  return {"model_type", "", "a model_type of transformers", "this is not the config.json of a model: " + what + ". Nearest: the file config.json beside the weights"};
}

struct Parts {  // of the document: the language model, and what holds it
  const Json* config = nullptr;
  const Json* outer = nullptr;
  std::string path, type;
};

Parts language_model(const Json& document, const std::string& hint) {
  Parts parts{&document, nullptr, "", text_of(document, "model_type")};
  for (const char* key : {"text_config", "llm_config", "language_config"})
    if (const auto inner = document.find(key); inner != document.end() && inner->is_object() && !inner->empty()) {
      parts = {&*inner, &document, key, text_of(*inner, "model_type")};
      break;
    }
  if (!hint.empty()) parts.type = hint;
  return parts;
}

class Importer {
 public:
  Importer(const Architecture& architecture, const Parts& parts, ImportedModel& out)
      : architecture_(architecture), parts_(parts), out_(out), reader_(architecture, *parts.config, parts.outer, parts.path) {}

  // The model object, and where each field comes from.
  Json model() {
    Json model = Json::object();
    read_members(architecture_.model, "model", model);
    settle(model);
    return model;
  }

  void remarks() {
    for (const Json& remark : architecture_.remarks)
      if (remark.contains("if") && remark.contains("text") && reader_.holds(remark.at("if")))
        reader_.notes.push_back({Severity::warning, parts_.path, remark.at("text").is_string() ? remark.at("text").get<std::string>() : ""});
  }

  // Keys that nothing asked for: those that may change the shape one by one, the rest in a line.
  void unread() {
    const std::vector<std::string_view> known = keys_read(architecture_);
    std::vector<std::string_view> ignored(architecture_.ignored.begin(), architecture_.ignored.end());
    sort(ignored);
    std::vector<std::string> rest;
    std::size_t noted = 0;
    const auto look = [&](const Json& config, const std::string& path, const std::vector<std::string_view>& read) {
      for (auto it = config.begin(); it != config.end(); ++it) {
        const std::string_view key = it.key();
        if (std::binary_search(read.begin(), read.end(), key) || std::binary_search(ignored.begin(), ignored.end(), key)) continue;
        const bool is_off = it->is_null() || *it == false || *it == 0 || (it->is_structured() && it->empty()) || *it == "";
        std::string name = value_text(Json(joined_path(path, key)));
        name = name.substr(1, name.size() - 2);
        if (is_off || !contains_any(key, architecture_.architectural)) {
          rest.push_back(std::move(name));
        } else if (++noted <= kMostNotes) {
          reader_.notes.push_back({Severity::warning, name, name + " = " + value_text(*it) + " is not read. If it changes sizes or the number of tensors, the count is wrong by that"});
        }
      }
    };
    look(*parts_.config, parts_.path, known);
    if (parts_.outer != nullptr) look(*parts_.outer, "", {"llm_config", "language_config", "tie_word_embeddings"});
    if (noted > kMostNotes) reader_.notes.push_back({Severity::warning, "", format_count(static_cast<double>(noted - kMostNotes)) + " more keys that may change the shape are not read"});
    if (rest.empty()) return;
    const std::size_t all = rest.size();
    if (all > kMostNamed) rest.resize(kMostNamed);
    reader_.notes.push_back({Severity::info, "", "not read, and not known to change the shape: " + joined(rest) + (all > kMostNamed ? " and " + format_count(static_cast<double>(all - kMostNamed)) + " more" : "")});
  }

  ModelConfigReader& reader() { return reader_; }

 private:
  void read_members(const Json& members, const std::string& path, Json& into) {
    for (auto it = members.begin(); it != members.end(); ++it) {
      const std::string here = path + '.' + it.key();
      const bool is_part = it->is_object() && (it.key() == "moe" || it.key() == "mla" || it.key() == "sliding_window_pattern");
      if (is_part) {
        Json part = Json::object();
        read_members(*it, here, part);
        into[it.key()] = std::move(part);
        continue;
      }
      ReadValue read = reader_.value(*it);
      const std::vector<std::string>& keys = read.keys.empty() ? read.absent : read.keys;
      if (!read.value.is_null() || !keys.empty())
        out_.fields.push_back({here, read.value, read.origin(), joined(keys), read.keys.empty() ? "" : reader_.path(read.keys.front())});
      if (!read.value.is_null()) into[it.key()] = std::move(read.value);
    }
  }

  void drop(const std::string& path) {
    for (std::size_t i = 0; i < out_.fields.size();)
      if (out_.fields[i].path.starts_with(path) && (out_.fields[i].path.size() == path.size() || out_.fields[i].path[path.size()] == '.'))
        out_.fields.erase(out_.fields.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
  }

  // Parts that are not there; a window of which every layer is an exception is none.
  void settle(Json& model) {
    const auto is_none = [](const Json& part, const char* key) { return !part.contains(key) || part.at(key).is_null() || part.at(key) == 0; };
    const auto remove = [&](const char* key) {
      model.erase(key);
      drop(std::string("model.") + key);
    };
    if (model.contains("moe") && is_none(model.at("moe"), "num_experts")) remove("moe");
    if (model.contains("mla") && is_none(model.at("mla"), "kv_lora_rank")) remove("mla");
    if (!model.contains("sliding_window_pattern")) return;
    Json& pattern = model["sliding_window_pattern"];
    const bool is_global = pattern.contains("global_every") && pattern.at("global_every") == 1;
    if (is_global && model.contains("sliding_window")) remove("sliding_window");
    if (is_global || is_none(model, "sliding_window") || is_none(pattern, "global_every")) remove("sliding_window_pattern");
  }

  const Architecture& architecture_;
  const Parts& parts_;
  ImportedModel& out_;
  ModelConfigReader reader_;
};

// Errors of the model, with the key of the file that is behind them.
void name_keys(Errors& errors, const std::vector<ConfigField>& fields, bool is_known) {
  Errors first;  // of each path: what is said of a key is not said again of the field it feeds
  for (Error& e : errors) {
    for (const ConfigField& field : fields) {
      if (field.path != e.path || field.config_path.empty()) continue;
      e.text += " (" + field.path + " is read from " + field.from + ")";
      e.path = field.config_path;
      break;
    }
    if (!is_known && e.path.starts_with("model.") && e.text.find("is missing") != std::string::npos) e.text += ". Nearest: --set " + e.path + "=…";
    bool is_new = true;
    for (const Error& known : first) is_new = is_new && (e.path.empty() || known.path != e.path);
    if (is_new) first.push_back(std::move(e));
  }
  errors = std::move(first);
}

void find_presets(ImportedModel& out, const Presets& presets) {
  const Json here = write_model(out.model);
  std::size_t fewest = kMostDifferences + 1;
  for (const std::string_view id : presets.ids("models")) {
    const Result<Model> found = presets.model(id);
    if (!found || found.value().opaque) continue;
    const Model& m = found.value();
    if (m.hidden_size != out.model.hidden_size || m.num_layers != out.model.num_layers) continue;
    NearPreset near{std::string(id), {}};
    const Json there = write_model(m);
    for (auto it = here.begin(); it != here.end(); ++it) {
      if (it.key() == "name" || !there.contains(it.key()) || there.at(it.key()) == *it) continue;
      const Json& other = there.at(it.key());
      if (it->is_object() && other.is_object()) {
        for (auto part = it->begin(); part != it->end(); ++part)
          if (other.contains(part.key()) && other.at(part.key()) != *part) near.differences.push_back({"model." + it.key() + '.' + part.key(), *part, other.at(part.key())});
      } else {
        near.differences.push_back({"model." + it.key(), *it, other});
      }
    }
    if (near.differences.empty()) out.presets.emplace_back(id);
    if (near.differences.size() >= fewest) continue;
    fewest = near.differences.size();
    out.nearest = std::move(near);
  }
  if (!out.presets.empty()) out.nearest.reset();
}

// "meta-llama/Llama-3.1-8B" -> "Llama-3.1-8B"; else the architecture and the count.
std::string model_name(const Json& document, const ImportedModel& out) {
  std::string path = text_of(document, "_name_or_path");
  while (path.ends_with('/')) path.pop_back();
  std::string name = path.substr(path.find_last_of("/\\") + 1);  // npos + 1: all of it
  const bool is_plain = !name.empty() && name.size() <= 60 && name != "." && std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
  return is_plain ? name : out.architecture + " " + format_parameters(count_parameters(out.model).total);
}

// Sizes are the model: where the file leaves them out, the class's stand in, which is seldom meant but in parts of a multimodal model.
void note_standard_sizes(ImportedModel& out, bool is_part) {
  std::vector<std::string> left_out;
  for (const ConfigField& f : out.fields)
    for (const char* size : {"model.hidden_size", "model.num_layers", "model.num_attention_heads", "model.intermediate_size", "model.vocab_size"})
      if (f.origin == FieldOrigin::standard && f.path == size) left_out.push_back(f.from + " = " + value_text(f.value));
  if (!left_out.empty()) out.notes.push_back({is_part ? Severity::info : Severity::warning, "", "sizes that the file leaves out are those of the class: " + joined(left_out)});
}

void note_storage(const Json& document, const Parts& parts, ImportedModel& out) {
  for (const Json* config : {parts.config, parts.outer}) {
    if (config == nullptr) continue;
    for (const char* key : {"torch_dtype", "dtype"})
      if (out.stored_dtype.empty()) out.stored_dtype = text_of(*config, key);
    const auto quantised = config->find("quantization_config");
    if (quantised == config->end() || !quantised->is_object() || out.is_quantised) continue;
    out.is_quantised = true;
    const std::string method = text_of(*quantised, "quant_method");
    out.notes.push_back({Severity::info, "quantization_config", "the weights are stored quantised" + (method.empty() ? "" : " (" + method + ")") + "; parameters are counted as before that, and a plan's dtypes say what training keeps"});
  }
  if (!out.stored_dtype.empty()) {
    std::string dtype = value_text(Json(out.stored_dtype));
    dtype = dtype.substr(1, dtype.size() - 2);
    out.stored_dtype = dtype.starts_with("torch.") ? dtype.substr(6) : dtype;
  }
  if (parts.outer == nullptr && document.contains("vision_config"))
    out.notes.push_back({Severity::warning, "vision_config", "the language model is read; what sees images is not, and its parameters are not counted"});
  if (parts.outer == nullptr) return;
  for (auto it = parts.outer->begin(); it != parts.outer->end(); ++it)
    if (it.key() != parts.path && it.key().ends_with("_config") && it->is_object() && it.key() != "quantization_config" && it.key() != "compression_config")
      out.notes.push_back({Severity::warning, it.key(), "the language model (" + parts.path + ") is read; " + it.key() + " is not, and its parameters are not counted"});
}

}  // namespace

bool looks_like_config(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{' && text.find("\"wireplan.") == std::string_view::npos &&
         (text.find("\"model_type\"") != std::string_view::npos || text.find("\"architectures\"") != std::string_view::npos || text.find("\"num_hidden_layers\"") != std::string_view::npos);
}

Result<ImportedModel> import_config(std::string_view text, const Presets& presets, const ConfigHints& hints) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed) return parsed.errors();
  const Json& document = parsed.value();
  if (!document.is_object()) return Error{"", value_text(document), "an object", "a config.json is an object, not " + value_text(document)};
  if (document.contains("peft_type")) return not_a_config(document);
  if (const auto type = document.find("model_type"); hints.model_type.empty() && type != document.end() && !type->is_string())
    return Error{"model_type", value_text(*type), "a name", "model_type must be a name, not " + value_text(*type)};
  Parts parts = language_model(document, hints.model_type);
  if (text_of(document, "model_type").empty() && parts.type.empty()) return not_a_config(document);

  Result<Architecture> outer = architecture_of(hints.model_type.empty() ? text_of(document, "model_type") : hints.model_type, presets);
  if (!outer) return outer.errors();
  if (parts.type.empty()) parts.type = outer.value().text.empty() ? text_of(document, "model_type") : outer.value().text;
  Result<Architecture> found = architecture_of(parts.type, presets);
  if (!found) return found.errors();
  const Architecture& architecture = found.value();
  const std::string type = value_text(Json(parts.type));
  if (const auto both = document.find("is_encoder_decoder"); !architecture.other.empty() || (both != document.end() && *both == true))
    return Error{joined_path(parts.path, "model_type"), type, "a decoder transformer",
                 "a model of type " + type + " is " + (architecture.other.empty() ? "an encoder with a decoder" : architecture.other) + ", and plans know decoder transformers. Nearest: an opaque model, {\"kind\":\"opaque\",\"parameters\":…,\"units\":…}"};

  ImportedModel out;
  out.model_type = parts.type;
  out.architecture = architecture.is_known ? architecture.name : "model of type " + type.substr(1, type.size() - 2);
  out.source = architecture.source;
  note_storage(document, parts, out);
  Importer importer(architecture, parts, out);
  Json model = importer.model();
  note_standard_sizes(out, parts.outer != nullptr);
  importer.remarks();
  importer.unread();

  Errors errors = importer.reader().errors;
  Json plan = Json::object();
  plan["model"] = std::move(model);
  for (const auto& [path, value] : hints.fields) {
    if (!path.starts_with("model.")) {
      errors.push_back({path, value_text(Json(value)), "a path that starts with model.", value_text(Json(path)) + " is no field of a model. Nearest: model.hidden_size"});
      continue;
    }
    for (Error& e : set_path(plan, path, value)) errors.push_back(std::move(e));
    std::size_t i = 0;
    while (i < out.fields.size() && out.fields[i].path != path) ++i;
    if (i == out.fields.size()) out.fields.push_back({path, nullptr, FieldOrigin::given, "", ""});
    out.fields[i] = {path, Json(value), FieldOrigin::given, "", ""};
  }
  ReadLog log;
  Reader r(log, plan.at("model"), "model");
  out.model = read_model(r, false);
  r.finish();
  const std::size_t read_errors = errors.size();
  for (Error& e : log.finished()) errors.push_back(std::move(e));
  if (errors.empty()) errors = validate(out.model, "model");
  name_keys(errors, out.fields, architecture.is_known);
  if (!errors.empty()) {
    if (!architecture.is_known && errors.size() > read_errors)
      errors.insert(errors.begin(), Error{joined_path(parts.path, "model_type"), type, "a model_type that is known (wireplan presets architectures)",
                                          "model_type " + type + " is not known; what its keys say is read, and the rest must be stated, or --model-type say which one it is built as" + did_you_mean(nearest_architectures(parts.type, presets))});
    return errors;
  }
  for (Note& n : importer.reader().notes) out.notes.push_back(std::move(n));
  if (!architecture.is_known)
    out.notes.insert(out.notes.begin(), Note{Severity::warning, joined_path(parts.path, "model_type"), "model_type " + type + " is not known: sizes are read by the keys most models share, how it is built is as was stated"});
  out.model.name = model_name(document, out);
  find_presets(out, presets);
  return out;
}

Json write_imported_model(const ImportedModel& m) {
  const ModelParameters count = count_parameters(m.model);
  Json fields = Json::array(), presets = Json::array(), notes = Json::array();
  for (const ConfigField& f : m.fields) {
    Json one = Json::object();
    put(one, "path", f.path);
    put(one, "value", f.value);
    put(one, "origin", name_of(f.origin));
    put(one, "from", f.from);
    fields.push_back(std::move(one));
  }
  for (const std::string& id : m.presets) presets.push_back(id);
  for (const Note& n : m.notes) {
    Json one = Json::object();
    put(one, "severity", name_of(n.severity));
    put(one, "path", n.path);
    put(one, "text", n.text);
    notes.push_back(std::move(one));
  }
  Json j = Json::object();
  put(j, "schema", "wireplan.model/1");
  put(j, "model", write_model(m.model));
  put(j, "model_type", m.model_type);
  put(j, "architecture", m.architecture);
  put(j, "source", m.source);
  put(j, "parameters", count.total);
  put(j, "active_parameters", count.active);
  put(j, "presets", std::move(presets));
  put(j, "nearest", nullptr);
  if (m.nearest) {
    Json near = Json::object(), list = Json::array();
    for (const NearPreset::Difference& d : m.nearest->differences) {
      Json one = Json::object();
      put(one, "path", d.path);
      put(one, "here", d.here);
      put(one, "preset", d.preset);
      list.push_back(std::move(one));
    }
    put(near, "id", m.nearest->id);
    put(near, "differences", std::move(list));
    put(j, "nearest", std::move(near));
  }
  put(j, "stored_dtype", nullptr);
  if (!m.stored_dtype.empty()) put(j, "stored_dtype", m.stored_dtype);
  put(j, "fields", std::move(fields));
  put(j, "notes", std::move(notes));
  return j;
}

}  // namespace wireplan
