// Files of runs (wireplan.runs/1): one JSON object a line, each a measurement and what was run.
#pragma once

#include <string_view>

#include "core/answer/accuracy.hpp"
#include "core/base/error.hpp"
#include "core/text/presets.hpp"
#include "core/text/read_nccl_case.hpp"

namespace wireplan {

// Errors, with path "line 3", for lines that are no JSON object and for a file without a line. A row that says something this
// version cannot use (an invalid plan, a metric it does not know, NCCL's decisions on a file it does not get) is no error: it, or that part of it, is named
// in `skipped`. Keys that are not known are allowed. Blank lines are passed over. More than 20,000 rows, or 500,000 measured points,
// are an error.
Result<Runs> read_runs(std::string_view lines, const Presets& presets, const TopologyText& topology = {});

}  // namespace wireplan
