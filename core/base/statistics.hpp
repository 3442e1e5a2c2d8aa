// What a list of numbers says as a whole.
#pragma once

#include <optional>
#include <vector>

namespace wireplan {

// The value below which the share q of the list lies, between neighbours in proportion: with the list in order, x(k) at
// k = q·(n - 1). q = 0.5 is the median. 0 for an empty list. Test: tests/core/base/statistics_test.cpp.
double quantile(std::vector<double> values, double q);

// Places from 1 upwards in rising order; equal values share the mean of their places.
std::vector<double> ranks_of(const std::vector<double>& values);

// Spearman's rank correlation: Pearson's of the ranks. Nothing where it is not defined: fewer than two pairs, or all values of
// one list equal. Valid for lists of the same length. Test: tests/core/base/statistics_test.cpp.
std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace wireplan
