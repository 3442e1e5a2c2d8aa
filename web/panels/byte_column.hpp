// Bytes in a column of numbers that keeps one unit and one number of decimals.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/format.hpp"

namespace wireplan {

inline double unit_bytes(ByteUnit unit) { return unit == ByteUnit::GB ? 1e9 : 1073741824.0; }

// One where any of the values reaches 10, else two.
inline int decimals_of(const std::vector<Bytes>& column, ByteUnit unit) {
  const auto is_long = [&](Bytes b) { return b.value >= 9.995 * unit_bytes(unit); };
  return std::any_of(column.begin(), column.end(), is_long) ? 1 : 2;
}

inline std::string in_column(Bytes b, ByteUnit unit, int decimals) {
  return format_fixed(b.value / unit_bytes(unit), decimals);
}

// 1, 2 or 5 times a power of ten, about six of them.
inline double tick_step(double most) {
  double step = 1e-3;
  for (int i = 0; step * 9 < most && i < 60; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  return step;
}

}  // namespace wireplan
