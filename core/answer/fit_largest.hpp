// The largest micro-batch, or the longest sequence, that still fits.
#pragma once

#include <string>

#include "core/answer/estimate.hpp"
#include "core/base/format.hpp"

namespace wireplan {

enum class FitField : unsigned char { micro_batch_size, sequence_length };
template <> inline constexpr std::array<std::string_view, 2> kNames<FitField> = {"micro_batch_size", "sequence_length"};

// What keeps the value from growing: memory; or there is no larger one to try, since the global batch holds no more or a plan may not have more.
enum class FitLimit : unsigned char { memory, batch, range };
template <> inline constexpr std::array<std::string_view, 3> kNames<FitLimit> = {"memory", "batch", "range"};

struct LargestFit {
  FitField field{};
  Count largest = 0;       // 0: not even the smallest fits
  Count next = 0;          // the next larger value there is, 0: none
  Bytes next_need;         // of that
  FitLimit limit = FitLimit::memory;
  bool moves_batch = false;  // the global batch was a default, one micro-batch a rank, and goes along
  Plan plan;               // with the largest value; where none fits with the smallest
  Estimate estimate;       // of that
};

// what: the largest value whose need fits the GPU (need.value <= capacity) and whose host memory fits.
// micro_batch_size: the global batch stays, so the values are the divisors of the sequences of a rank; where the plan did not state a global
// batch, which is then one micro-batch a rank, every whole number, and the batch goes along.
// sequence_length: multiples of context; the global batch stays, in sequences. A mean length stays where it is not longer.
// valid: validate(plan) passed. kind: exact over the estimate, whose need grows with either value.  test: fit_largest_test.cpp.
LargestFit fit_largest(const Plan& plan, FitField field, const Constants& constants);

// "At most micro-batches of 4 sequences: 71.0 GB of 85.1 GB; the next, 8, would need 98.3 GB. The global batch stays 64: …"
std::string fit_text(const LargestFit& fit, ByteUnit unit);

}  // namespace wireplan
