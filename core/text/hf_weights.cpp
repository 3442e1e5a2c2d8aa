#include "core/text/hf_weights.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"

namespace wireplan {
namespace {

constexpr double kMostElements = 1e15;

double bytes_of(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64" || dtype == "float64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32" || dtype == "float32") return 4;
  if (dtype == "BF16" || dtype == "F16" || dtype == "I16" || dtype == "U16" || dtype == "bfloat16" || dtype == "float16") return 2;
  return dtype.starts_with("F8") || dtype == "I8" || dtype == "U8" || dtype == "BOOL" || dtype.starts_with("float8") ? 1 : 0;
}

Error wrong_tensor(const std::string& name, const Json& value, const std::string& limit) {
  std::string path = value_text(Json(name));
  path = path.substr(1, path.size() - 2);
  return {path, value_text(value), limit, "tensor " + path + " has " + value_text(value) + ", not " + limit};
}

// Fills in the tensor; false where it is not one.
bool read_tensor(const Json& stated, StoredTensor& tensor, double& end) {
  if (!stated.is_object() || !stated.contains("dtype") || !stated.at("dtype").is_string() || !stated.contains("shape") || !stated.at("shape").is_array()) return false;
  tensor.dtype = stated.at("dtype").get<std::string>();
  tensor.elements = 1;
  for (const Json& size : stated.at("shape")) {
    if (!size.is_number()) return false;
    const double n = size.get<double>();
    if (!(n >= 0) || n != std::floor(n)) return false;
    tensor.elements *= n;
    if (tensor.elements > kMostElements) return false;
  }
  if (const auto offsets = stated.find("data_offsets"); offsets != stated.end() && offsets->is_array() && offsets->size() == 2 && (*offsets)[1].is_number())
    end = std::max(end, std::min((*offsets)[1].get<double>(), kMostElements * 8));
  return true;
}

bool holds(std::string_view name, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

// The number after "layers", "h", "blocks" …; −1 where the tensor belongs to no layer.
Count layer_of(std::string_view name) {
  std::string_view before;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    const bool is_number = !part.empty() && part.size() <= 6 && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number && (before == "layers" || before == "h" || before == "blocks" || before == "layer" || before == "block")) {
      Count n = 0;
      for (const char c : part) n = n * 10 + (c - '0');
      return n;
    }
    before = part;
  }
  return -1;
}

enum class Place : unsigned char { embedding, layer, head, rest, images, buffer, scale, packed, beyond };

Place place_of(const StoredTensor& t, const Model& m, Count layer) {
  const std::string_view name = t.name;
  if (holds(name, {"vision", "visual", "image_newline", "multi_modal", "mm_projector", "audio", "embed_audio", "connector", "patch_embed", "perceiver"})) return Place::images;
  if (holds(name, {"inv_freq", "masked_bias", "rotary_pos_emb", "rotary_emb", "position_ids"}) || name.ends_with(".attn.bias") || name.ends_with(".attention.bias")) return Place::buffer;
  if (name.ends_with("_scale") || name.ends_with("_scale_inv") || name.ends_with("_scales") || name.ends_with(".scales") || name.ends_with("zeros") || name.ends_with("g_idx") || name.ends_with(".absmax") || holds(name, {".quant_map", ".quant_state", ".nested_"})) return Place::scale;
  if (name.ends_with("_blocks") || name.ends_with(".qweight") || (t.dtype == "U8" && name.ends_with(".weight"))) return Place::packed;
  if (layer >= m.num_layers) return Place::beyond;
  if (layer >= 0) return Place::layer;
  if (name.starts_with("lm_head") || name.starts_with("embed_out") || holds(name, {".lm_head.", ".embed_out.", "output_layer."}) || name == "output.weight" || name == "model.output.weight") return Place::head;
  if (holds(name, {"embed", "wte", "wpe"})) return Place::embedding;
  return Place::rest;
}

std::string count_text(double n) { return format_count(std::abs(n)); }

void leave_out(WeightsCheck& check, const std::string& what, const StoredTensor& tensor) {
  std::size_t i = 0;
  while (i < check.left_out.size() && check.left_out[i].what != what) ++i;
  if (i == check.left_out.size()) check.left_out.push_back({what, 0, 0, tensor.name});
  check.left_out[i].elements += tensor.elements;
  ++check.left_out[i].tensors;
}

const char* left_out_name(Place place) {
  switch (place) {
    case Place::images: return "towers for images or sound, and what joins them to the model";
    case Place::buffer: return "masks and tables, which are no parameters";
    case Place::scale: return "scales of quantised weights";
    case Place::packed: return "quantised weights, several in one stored element";
    default: return "layers beyond num_layers";
  }
}

void check_layers(WeightsCheck& check, const Model& m, const ModelParameters& count, const std::vector<double>& layers) {
  Count differ = 0, first = -1;
  for (Count i = 0; i < m.num_layers; ++i) {
    const double counted = (is_moe_layer(m, i) ? count.moe_layer : count.dense_layer).total();
    if (layers[static_cast<std::size_t>(i)] == counted) continue;
    if (differ++ == 0) first = i;
  }
  if (differ == 0) return;
  const double stored = layers[static_cast<std::size_t>(first)], counted = (is_moe_layer(m, first) ? count.moe_layer : count.dense_layer).total();
  check.notes.push_back(count_text(static_cast<double>(differ)) + " of " + count_text(static_cast<double>(m.num_layers)) + " layers differ; the first is layer " + format_exact(static_cast<double>(first)) + ": stored " +
                        count_text(stored) + ", counted " + count_text(counted) + " (" + (stored > counted ? "+" : "−") + count_text(stored - counted) + ")");
}

}  // namespace

Result<std::size_t> safetensors_header_bytes(std::string_view bytes) {
  if (bytes.size() < kSafetensorsLengthBytes) return Error{"", "", "8 bytes and a header", "this is no .safetensors file: it is shorter than 8 bytes"};
  double length = 0;
  for (std::size_t i = kSafetensorsLengthBytes; i-- > 0;) length = length * 256 + static_cast<unsigned char>(bytes[i]);
  if (length >= 2 && length <= static_cast<double>(kMaxDocumentBytes)) return static_cast<std::size_t>(length);
  return Error{"", format_exact(length), "2 to " + format_count(static_cast<double>(kMaxDocumentBytes)) + " bytes of header",
               "this is no .safetensors file, or its header is too long: its first 8 bytes say " + format_count(length) + " bytes, and at most " + format_count(static_cast<double>(kMaxDocumentBytes)) + " are read. Nearest: the index, model.safetensors.index.json"};
}

Result<StoredWeights> read_stored_weights(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed) return parsed.errors();
  const Json& document = parsed.value();
  if (!document.is_object()) return Error{"", value_text(document), "a header of .safetensors, or an index", "weights are an object, not " + value_text(document)};
  StoredWeights weights;
  if (const auto map = document.find("weight_map"); map != document.end()) {
    weights.is_index = true;
    if (!map->is_object()) return Error{"weight_map", value_text(*map), "an object", "weight_map must be an object, not " + value_text(*map)};
    if (const auto metadata = document.find("metadata"); metadata != document.end() && metadata->is_object() && metadata->contains("total_size")) {
      const Json& total = metadata->at("total_size");
      if (!total.is_number() || !(total.get<double>() >= 0) || total.get<double>() > kMostElements * 8)
        return Error{"metadata.total_size", value_text(total), "bytes, 0 to 8e15", "metadata.total_size must be a number of bytes, not " + value_text(total)};
      weights.total_bytes = total.get<double>();
    }
    std::vector<std::string_view> files;
    for (const Json& file : *map)
      if (file.is_string()) files.push_back(file.get_ref<const std::string&>());
    sort(files);
    files.erase(std::unique(files.begin(), files.end()), files.end());
    weights.files.assign(files.begin(), files.end());
    return weights;
  }
  for (auto it = document.begin(); it != document.end(); ++it) {
    if (it.key() == "__metadata__") continue;
    StoredTensor tensor{it.key(), "", 0};
    if (!read_tensor(*it, tensor, weights.data_bytes)) return wrong_tensor(it.key(), *it, "a dtype and a shape of whole numbers, as headers of .safetensors have");
    weights.total_bytes += tensor.elements * bytes_of(tensor.dtype);
    weights.tensors.push_back(std::move(tensor));
  }
  if (weights.tensors.empty()) return Error{"", value_text(document), "a header with tensors, or an index with weight_map", "there are no tensors in it. Nearest: model.safetensors, or model.safetensors.index.json"};
  return weights;
}

WeightsCheck check_weights(const Model& m, const StoredWeights& weights, std::string_view stored_dtype, bool is_quantised) {
  const ModelParameters count = count_parameters(m);
  WeightsCheck check;
  check.counted = count.total;
  if (weights.tensors.empty()) {
    const double bytes = bytes_of(stored_dtype);
    if (weights.total_bytes <= 0) {
      check.notes.emplace_back("the index says no metadata.total_size: nothing to compare with");
    } else if (bytes == 0 || is_quantised) {
      check.notes.push_back(std::string("the index has ") + count_text(weights.total_bytes) + " bytes, and " + (is_quantised ? "quantised weights" : "a config.json without torch_dtype") + " do not say how many parameters that are. Nearest: the files beside the index");
    } else {
      check.stored = std::floor(weights.total_bytes / bytes);
      check.agrees = check.stored == check.counted;
      if (!check.agrees && m.tie_word_embeddings && check.stored - check.counted == static_cast<double>(m.vocab_size) * static_cast<double>(m.hidden_size))
        check.notes.emplace_back("the difference is the head, which is stored although it is the embedding (tie_word_embeddings)");
    }
    return check;
  }
  check.by_tensor = true;
  WeightsCheck::Part embedding{"embedding", count.embedding, 0}, inner{"layers", count.total - count.embedding - count.head - count.final_norm, 0}, head{"head", count.head, 0}, rest{"final norm", count.final_norm, 0};
  std::vector<double> layers(static_cast<std::size_t>(m.num_layers), 0.0);
  const StoredTensor* odd = nullptr;
  for (const StoredTensor& tensor : weights.tensors) {
    const Count layer = layer_of(tensor.name);
    const Place place = place_of(tensor, m, layer);
    if (place == Place::embedding) {
      embedding.stored += tensor.elements;
    } else if (place == Place::layer) {
      inner.stored += tensor.elements;
      layers[static_cast<std::size_t>(layer)] += tensor.elements;
    } else if (place == Place::head && m.tie_word_embeddings && tensor.elements > static_cast<double>(m.vocab_size)) {
      leave_out(check, "a head that is the embedding (tie_word_embeddings)", tensor);
    } else if (place == Place::head) {
      head.stored += tensor.elements;
    } else if (place == Place::rest) {
      rest.stored += tensor.elements;
      if (odd == nullptr) odd = &tensor;
    } else {
      leave_out(check, left_out_name(place), tensor);
      if (place == Place::packed) is_quantised = true;
    }
  }
  // The norm after the embedding and position tables count with the embedding, whatever they are called.
  for (const WeightsCheck::Part& part : {embedding, inner, head, rest}) {
    check.stored += part.stored;
    check.parts.push_back(part);
  }
  check.agrees = check.stored == check.counted;
  if (is_quantised && !check.agrees) check.notes.emplace_back("the weights are stored quantised: stored elements are not parameters");
  if (check.agrees) return check;
  check_layers(check, m, count, layers);
  if (rest.stored != rest.counted && odd != nullptr) check.notes.push_back("outside layers, embedding and head stands " + odd->name);
  if (head.counted > 0 && head.stored == 0) check.notes.emplace_back("no head is stored: it may be tied (model.tie_word_embeddings=true), or lie in another file");
  return check;
}

Json write_weights_check(const WeightsCheck& check) {
  Json parts = Json::array(), left_out = Json::array(), notes = Json::array();
  for (const WeightsCheck::Part& p : check.parts) {
    Json one = Json::object();
    put(one, "part", p.name);
    put(one, "counted", p.counted);
    put(one, "stored", p.stored);
    parts.push_back(std::move(one));
  }
  for (const WeightsCheck::LeftOut& l : check.left_out) {
    Json one = Json::object();
    put(one, "what", l.what);
    put(one, "elements", l.elements);
    put(one, "tensors", l.tensors);
    put(one, "example", l.example);
    left_out.push_back(std::move(one));
  }
  for (const std::string& n : check.notes) notes.push_back(n);
  Json j = Json::object();
  put(j, "agrees", check.agrees);
  put(j, "by_tensor", check.by_tensor);
  put(j, "counted", check.counted);
  put(j, "stored", check.stored);
  put(j, "parts", std::move(parts));
  put(j, "left_out", std::move(left_out));
  put(j, "notes", std::move(notes));
  return j;
}

}  // namespace wireplan
