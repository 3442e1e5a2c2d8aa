// Estimates as CSV: one line for each plan, one column for each value of the estimate document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

// RFC 4180 with a header. A column is named by the path in the estimate document, rows of communication by their name, and
// carries its unit: "memory.states.parameters [bytes]". A value that a plan does not have is an empty field.
std::string estimates_as_csv(const std::vector<const Plan*>& plans, const std::vector<const Estimate*>& estimates);

// Unit of a number of the estimate document by its path: "bytes", "s", "bytes/s", "tokens/s", "TFLOP/s", "FLOP"; "" for counts
// and shares.
std::string_view unit_of(std::string_view path);

}  // namespace wireplan
