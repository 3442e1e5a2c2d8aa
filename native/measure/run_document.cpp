#include "native/measure/run_document.hpp"

#include <algorithm>
#include <string_view>

#include "core/base/format.hpp"
#include "core/count/messages.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/preset_list.hpp"
#include "native/files.hpp"

namespace wireplan {

BytesPerSecond RunRow::bus_bandwidth() const { return algorithm_bandwidth() * bus_factor(call.op, static_cast<int>(ranks.size())); }

std::optional<double> RunRow::error() const {
  if (!is_ok() || !predicted || median <= 0) return std::nullopt;
  return predicted->value.value / median - 1;
}

bool is_bad(const RunRow& row) { return row.report.outcome == CallOutcome::failed || row.wrong.value_or(0) > 0; }

namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(plain_text(text, 200)); }

Json write_row(const RunRow& row) {
  Json j = Json::object(), ranks = Json::array();
  for (int r : row.ranks) ranks.push_back(r);
  put(j, "op", name_of(row.call.op));
  put(j, "ranks", std::move(ranks));
  put(j, "size_bytes", row.size);
  put(j, "count", static_cast<double>(row.call.count));
  put(j, "dtype", name_of(row.call.type));
  put(j, "redop", reduces(row.call.op) ? Json(name_of(row.call.redop)) : Json(nullptr));
  put(j, "root", has_root(row.call.op) ? Json(row.call.root) : Json(nullptr));
  put(j, "in_place", row.call.in_place);
  put(j, "iterations", row.iterations);
  if (row.is_ok()) {
    Json time = Json::object();
    put(time, "min", row.least);
    put(time, "median", row.median);
    put(time, "p95", row.p95);
    put(j, "time_s", std::move(time));
    put(j, "algorithm_bandwidth_bytes_per_s", row.algorithm_bandwidth());
    put(j, "bus_bandwidth_bytes_per_s", row.bus_bandwidth());
  } else {
    for (const char* key : {"time_s", "algorithm_bandwidth_bytes_per_s", "bus_bandwidth_bytes_per_s"}) put(j, key, nullptr);
  }
  put(j, "wrong", row.wrong ? Json(static_cast<double>(*row.wrong)) : Json(nullptr));
  put(j, "predicted_s", row.predicted ? number(row.predicted->value.value) : Json(nullptr));
  const std::optional<double> error = row.error();
  put(j, "error", error ? number(*error) : Json(nullptr));
  put(j, "status", name_of(row.report.outcome));
  put(j, "message", text_or_null(row.report.message));
  return j;
}

}  // namespace

Json write_environment(const Surroundings& run) {
  Json environment = Json::object(), variables = Json::object(), hosts = Json::array(), gpus = Json::array();
  for (const std::string& h : run.facts.hosts) hosts.push_back(plain_text(h, 200));
  for (const std::string& g : run.facts.gpus) gpus.push_back(plain_text(g, 200));
  for (const auto& [name, value] : run.variables) variables[name] = plain_text(value, 200);
  put(environment, "date", run.date);
  put(environment, "backend", run.facts.name);
  put(environment, "hosts", std::move(hosts));
  put(environment, "gpus", std::move(gpus));
  put(environment, "driver", text_or_null(run.facts.driver));
  put(environment, "nccl", text_or_null(run.facts.nccl));
  put(environment, "mpi", text_or_null(run.facts.mpi));
  put(environment, "launch", run.launch);
  put(environment, "variables", std::move(variables));
  return environment;
}

Json write_run(const MeasuredRun& run) {
  Json j = Json::object(), rows = Json::array();
  for (const RunRow& row : run.rows) rows.push_back(write_row(row));
  put(j, "schema", "wireplan.run/1");
  put(j, "engine", kEngineVersion);
  put(j, "complete", run.is_complete);
  put(j, "environment", write_environment(run));
  put(j, "cluster", run.cluster);
  put(j, "rows", std::move(rows));
  return j;
}

Errors RunFile::write(const MeasuredRun& run) {
  if (failed_ || path_.empty()) return {};
  Errors errors = write_file("--output", path_, dump_json(write_run(run)));
  failed_ = !errors.empty();
  return errors;
}

std::vector<std::pair<std::string, std::string>> steering_variables(const char* const* environment) {
  constexpr std::string_view kPrefixes[] = {"NCCL_", "UCX_", "OMPI_MCA_", "CUDA_", "FI_", "NVSHMEM_", "RDMAV_"};
  constexpr std::string_view kOfLauncher[] = {"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir", "OMPI_MCA_pmix", "OMPI_MCA_shmem_RUNTIME"};  // addresses of this start
  constexpr std::string_view kSecrets[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"};
  std::vector<std::pair<std::string, std::string>> found;
  for (; environment && *environment; ++environment) {
    const std::string_view text(*environment);
    const std::size_t sign = text.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, sign);
    const auto is_in_name = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::none_of(std::begin(kPrefixes), std::end(kPrefixes), begins) || std::any_of(std::begin(kOfLauncher), std::end(kOfLauncher), begins)) continue;
    if (std::any_of(std::begin(kSecrets), std::end(kSecrets), is_in_name)) continue;
    found.emplace_back(std::string(name), std::string(text.substr(sign + 1, 200)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace wireplan
