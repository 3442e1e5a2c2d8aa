// What a fit of the step's time says, as tables for people. Errors: predicted / measured seconds - 1.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "tools/fit/step_rows.hpp"

namespace wireplan {

// ln(predicted / measured) of every row.
struct StepErrors {
  std::vector<double> before;    // with the constants as they are
  std::vector<double> fitted;    // with those fitted on all rows
  std::vector<double> left_out;  // with those fitted on all other sources; empty: not asked for
};

// Errors by source, of all rows, and the median over sources; how layouts are ranked.
std::string source_table(const StepRows& rows, const StepErrors& errors);

// The same by source in Markdown, as docs/accuracy.md holds it: median / 90th percentile / worst of the absolute errors.
std::string source_markdown(const StepRows& rows, const StepErrors& errors);

// Of each constant: prior, value before and after, how well it is known against its prior, how much the time depends on it, which
// sources decide it. One that no row decides is marked.
std::string constants_table(const StepRows& rows, const LeastSquares& problem, const LeastSquaresFit& fit);

// {"rows": [{"id", "as_shipped", "left_out"}], "ranking"}: predicted / measured - 1 of the seconds of each row, and how well layouts are ordered.
Json errors_json(const StepRows& rows, const StepErrors& errors);

// Of each source, worst first: what it reaches when it is fitted alone, and the constants that alone would take most of its error
// away, with the change it asks of them (at most a factor of 10). What no constant takes away is missing in the form of the model.
std::string directions_table(StepRows& rows, const LeastSquares& problem, const LeastSquaresFit& fit);

// The rows farthest off, with both errors.
std::string worst_rows(const StepRows& rows, const StepErrors& errors, std::size_t count);

}  // namespace wireplan
