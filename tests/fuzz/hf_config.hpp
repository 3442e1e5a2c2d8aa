// What must hold of any text taken for a model's configuration or weights; "" or the first fault.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "core/count/parameters.hpp"
#include "core/text/hf_config.hpp"
#include "core/text/hf_weights.hpp"
#include "core/text/read_model.hpp"
#include "core/text/render_model.hpp"

namespace wireplan::testing {

inline std::string errors_fault(const Errors& errors) {
  if (errors.empty()) return "no value and no error";
  for (const Error& e : errors)
    if (e.text.empty() || e.value.size() > 80) return "an error without text, or with a long value: " + e.path;
  return "";
}

inline const Presets& fuzz_presets() {
  static const Presets presets;
  return presets;
}

inline std::string hf_config_fault(std::string_view text) {
  looks_like_config(text);
  const Result<ImportedModel> found = import_config(text, fuzz_presets());
  if (!found) return errors_fault(found.errors());
  const ImportedModel& m = found.value();
  if (!validate(m.model, "model").empty()) return "the model is not sound";
  const double count = count_parameters(m.model).total;
  if (!std::isfinite(count) || count <= 0) return "no count";
  const Result<Json> written = parse_json(dump_json(write_imported_model(m)));
  if (!written) return "the document is no JSON";
  ReadLog log;
  Reader r(log, written.value().at("model"), "model");
  Model again = read_model(r, false);
  r.finish();
  if (!log.errors.empty()) return "the model does not read back";
  again.name = m.model.name;
  if (again != m.model) return "the model reads back differently";
  render_imported_model(m, nullptr, RenderFormat::text);
  return "";
}

inline std::string hf_weights_fault(std::string_view text) {
  if (const Result<std::size_t> bytes = safetensors_header_bytes(text); !bytes && errors_fault(bytes.errors()) != "") return errors_fault(bytes.errors());
  const Result<StoredWeights> found = read_stored_weights(text);
  if (!found) return errors_fault(found.errors());
  static const ImportedModel model = import_config(R"({"model_type":"llama","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":32})", fuzz_presets()).value();
  for (const char* dtype : {"bfloat16", ""}) {
    const WeightsCheck check = check_weights(model.model, found.value(), dtype, false);
    if (!std::isfinite(check.stored) || check.stored < 0) return "stored is no count";
    double parts = 0;
    for (const WeightsCheck::Part& p : check.parts) parts += p.stored;
    if (check.by_tensor && parts != check.stored) return "parts do not add up";
    if (check.agrees != (check.stored == check.counted)) return "agreement without equality";
    dump_json(write_weights_check(check));
    render_imported_model(model, &check, RenderFormat::markdown);
  }
  return "";
}

}  // namespace wireplan::testing
