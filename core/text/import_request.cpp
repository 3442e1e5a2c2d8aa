#include "core/text/import_request.hpp"

#include "core/text/import_nccl_log.hpp"
#include "core/text/import_nccl_tests.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

Result<Json> answer_import_nccl_tests(const Json& request) {
  ReadLog log;
  Reader r(log, request, "");
  std::string text;
  Collective op{};
  r.require("text", "the log of nccl-tests, or its JSON");
  r.read("text", text);
  const bool has_op = r.name_stated("op", op);
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<ImportedMeasurements> found = import_nccl_tests(text, has_op ? std::optional(op) : std::nullopt);
  if (!found) return found.errors();
  return write_measurements(found.value());
}

Result<Json> answer_import_nccl_log(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  std::string text;
  r.require("text", "a log written with NCCL_DEBUG=INFO");
  r.read("text", text);
  const Json* stated = r.stated("cluster");
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<NcclLog> found = read_nccl_log(text);
  if (!found) return found.errors();
  if (stated == nullptr) return write_nccl_log(found.value());
  Result<Cluster> cluster = read_cluster(*stated, presets, "cluster");
  if (!cluster) return cluster.errors();
  Result<Constants> constants = presets.constants();
  if (!constants) return constants.errors();
  return write_nccl_log(found.value(), compare_with_cluster(found.value(), prepare(cluster.value(), constants.value().links)));
}

}  // namespace wireplan
