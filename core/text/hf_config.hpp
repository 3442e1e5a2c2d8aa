// A model out of the config.json that lies beside its weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/describe/dtype.hpp"
#include "core/describe/model.hpp"
#include "core/text/hf_architecture.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

struct ConfigField {
  std::string path;  // of the plan: "model.hidden_size"
  Json value;
  FieldOrigin origin = FieldOrigin::constant;
  std::string from;  // key or keys; "" for what is the same in all models of the architecture
  std::string config_path;  // of the first key, as the file has it
};

struct NearPreset {
  std::string id;
  struct Difference {
    std::string path;
    Json here, preset;
  };
  std::vector<Difference> differences;  // of what decides size and shape; names apart
};

struct ImportedModel {
  Model model;  // valid
  std::string model_type, architecture, source;
  std::vector<ConfigField> fields;
  std::vector<std::string> presets;    // that are this model, field by field
  std::optional<NearPreset> nearest;   // where none is
  std::string stored_dtype;            // torch_dtype as written, "" where it is not stated
  bool is_quantised = false;           // weights are stored in another form than parameters are counted in
  std::vector<Note> notes;
};

struct ConfigHints {
  std::string model_type;                                   // read as this one; "" as the file says
  std::vector<std::pair<std::string, std::string>> fields;  // "model.mlp", "swiglu": over what is read
};

// True when the text is a JSON object with the keys of a model's configuration.
bool looks_like_config(std::string_view text);

// what: the model object of a plan. A key that is left out counts as the class of transformers has it, which the field's origin says.
// Multimodal files are read for their language model. An unknown model_type is read by the keys most share, and what they do not say is an
// error that names the field of the plan; so is what is no decoder transformer. Keys that were not understood are notes.
// valid: count; the parameter counts of published configurations are met exactly.  test: tests/core/text/hf_config_test.cpp.
Result<ImportedModel> import_config(std::string_view text, const Presets& presets, const ConfigHints& hints = {});

Json write_imported_model(const ImportedModel& imported);

}  // namespace wireplan
