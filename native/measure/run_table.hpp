// A run as text: nccl-tests' columns, then what is predicted.
#pragma once

#include <string>

#include "core/text/render.hpp"
#include "native/measure/run_document.hpp"

namespace wireplan {

// The lines above the rows, and one of two rows of the same size (in_place null where it was not measured so; either may be).
std::string run_head(const MeasuredRun& run);
std::string run_line(const RunRow* out_of_place, const RunRow* in_place);

// The whole run; Markdown, or CSV with a line for each row and full precision.
std::string render_run(const MeasuredRun& run, RenderFormat format);

// Bus bandwidth of every two ranks, as a square, in GB/s.
std::string pairs_square(const MeasuredRun& run, Bytes size, int ranks);

}  // namespace wireplan
