// What was measured, row by row (wireplan.run/1), and the file that holds it while it grows.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/json.hpp"
#include "native/measure/backend.hpp"

namespace wireplan {

// One size of one operation on one group.
struct RunRow {
  Call call;
  std::vector<int> ranks;       // in the order of their places
  Bytes size;                   // as CallSize::size
  int iterations = 0;
  double least = 0, median = 0, p95 = 0;  // seconds of a call, over the iterations
  std::optional<std::uint64_t> wrong;     // elements; nothing: not looked at
  std::optional<Range<Seconds>> predicted;
  Report report;

  bool is_ok() const { return report.outcome == CallOutcome::ok; }
  BytesPerSecond algorithm_bandwidth() const { return median > 0 ? size / Seconds(median) : BytesPerSecond(); }
  BytesPerSecond bus_bandwidth() const;
  std::optional<double> error() const;  // predicted / measured - 1
};

struct Surroundings {
  BackendFacts facts;
  std::string date, launch;
  std::vector<std::pair<std::string, std::string>> variables;  // of the environment, that change what is measured
};
Json write_environment(const Surroundings& surroundings);

struct MeasuredRun : Surroundings {
  Json cluster;                                                // as it was stated, or null
  std::vector<RunRow> rows;
  bool is_complete = false;
};

// wireplan.run/1. Rows that are not ok have no times.
Json write_run(const MeasuredRun& run);

// Whether a row is wrong or failed: the run is then no success.
bool is_bad(const RunRow& row);

// The file of -o: replaced as a whole after every row, so that whoever reads it, whenever the program ends, finds a whole document.
class RunFile {
 public:
  explicit RunFile(std::string path) : path_(std::move(path)) {}
  // Errors name --output: the first one only, the measuring goes on.
  Errors write(const MeasuredRun& run);
  bool is_sound() const { return !failed_; }

 private:
  std::string path_;
  bool failed_ = false;
};

// NCCL_*, UCX_*, OMPI_MCA_*, CUDA_* and what else steers a library, sorted by name; values cut at 200 characters, nothing that looks like a secret.
std::vector<std::pair<std::string, std::string>> steering_variables(const char* const* environment);

}  // namespace wireplan
