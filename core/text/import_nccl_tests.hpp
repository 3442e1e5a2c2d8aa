// Logs of nccl-tests (all_reduce_perf and its siblings) as measurements: text of every release, and the file of -J.
//
// What is taken: out-of-place times (in-place where there are none), as seconds against nccl-tests' size. Bandwidth columns only
// settle what is ambiguous: before June 2020 all_gather and reduce_scatter printed algbw already multiplied by (n-1)/n.
// What is not: sizes of 0, points with wrong results, a first size slower than twice the second (warm-up), tables of CPU time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/profile.hpp"
#include "core/text/json.hpp"

namespace wireplan {

struct ImportedMeasurements {
  Profile profile;
  std::vector<Note> notes;             // what was left out, and what the reader should know of the rest
  std::vector<std::string> gpu_names;  // as the log has them, each once
};

// True for text that has a table of nccl-tests, or its JSON.
bool looks_like_nccl_tests(std::string_view text);

// `op` holds for tables that do not say what they measured. Refused with errors: text without a table, tables whose operation or
// number of ranks cannot be told. Bounded: 100,000 rows, 1,000 tables; work grows with the length of the text.
Result<ImportedMeasurements> import_nccl_tests(std::string_view text, std::optional<Collective> op = std::nullopt);

// {"profile","gpus","notes"}
Json write_measurements(const ImportedMeasurements& measured);

// Notes that `points` (sizes rising) call for as a whole: a first size that is warm-up, which is taken away, and points more than
// 25 % slower than a larger size, which stay.
std::vector<Note> tidy_points(std::vector<MeasuredCurve::Point>& points, const std::string& name);

// "all_reduce_perf", "./build/sendrecv_perf_mpi": what the program of that name measures.
std::optional<Collective> operation_of_program(std::string_view name);

}  // namespace wireplan
