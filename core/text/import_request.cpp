#include "core/text/import_request.hpp"

#include "core/text/hf_config.hpp"
#include "core/text/hf_weights.hpp"
#include "core/text/import_nccl_log.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_run.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

Result<Json> answer_import_nccl_tests(const Json& request) {
  ReadLog log;
  Reader r(log, request, "");
  std::string text;
  Collective op{};
  r.require("text", "the log of nccl-tests, its JSON, or a run");
  r.read("text", text);
  const bool has_op = r.name_stated("op", op);
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<ImportedMeasurements> found = import_measurements(text, has_op ? std::optional(op) : std::nullopt);
  if (!found) return found.errors();
  return write_measurements(found.value());
}

Result<Json> answer_import_nccl_log(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  std::string text;
  r.require("text", "a log written with NCCL_DEBUG=INFO");
  r.read("text", text);
  Json machine = Json::object();
  for (const char* key : {"cluster", "xml"})
    if (const Json* stated = r.stated(key); stated != nullptr) machine[key] = *stated;
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<NcclLog> found = read_nccl_log(text);
  if (!found) return found.errors();
  if (machine.empty()) return write_nccl_log(found.value());
  Result<NcclBesideLog> both = asked_nccl_beside_log(machine, found.value(), presets);
  if (!both) return both.errors();
  return write_nccl_log(found.value(), &both.value().comparison);
}

Result<Json> answer_import_config(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  std::string text, weights;
  ConfigHints hints;
  r.require("text", "a model's config.json");
  r.read("text", text);
  const bool has_weights = r.read_stated("weights", weights);
  r.read_stated("model_type", hints.model_type);
  if (const Json* edits = r.stated("set"); edits != nullptr) {
    if (!edits->is_array()) r.fail_type("set", *edits, "an array of [path, value]");
    for (const Json& edit : *edits) {
      if (!edit.is_array() || edit.size() != 2 || !edit[0].is_string()) {
        r.fail_type("set", edit, "an array of [path, value]");
        break;
      }
      hints.fields.emplace_back(edit[0].get<std::string>(), edit[1].is_string() ? edit[1].get<std::string>() : dump_json_compact(edit[1]));
    }
  }
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<ImportedModel> found = import_config(text, presets, hints);
  if (!found) return found.errors();
  Json document = write_imported_model(found.value());
  if (!has_weights) return document;
  Result<StoredWeights> stored = read_stored_weights(weights);
  if (!stored) return stored.errors();
  put(document, "weights", write_weights_check(check_weights(found.value().model, stored.value(), found.value().stored_dtype, found.value().is_quantised)));
  return document;
}

}  // namespace wireplan
