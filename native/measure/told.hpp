// What one process tells the others after a step: how it went, and numbers as their bytes.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "native/measure/backend.hpp"

namespace wireplan {

struct Told {
  Report report;
  std::vector<double> numbers;

  std::string text() const {
    std::string t(1, static_cast<char>('0' + static_cast<int>(report.outcome)));
    const std::uint64_t count = numbers.size();
    t.append(reinterpret_cast<const char*>(&count), sizeof count);
    t.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
    return t + report.message;
  }
  static Told of(const std::string& t) {
    Told told;
    std::uint64_t count = 0;
    if (t.size() < 1 + sizeof count) return {{CallOutcome::failed, "a process said nothing"}, {}};
    std::memcpy(&count, t.data() + 1, sizeof count);
    if (t[0] < '0' || t[0] > '2' || count > (t.size() - 1 - sizeof count) / sizeof(double)) return {{CallOutcome::failed, "a process said something that cannot be read"}, {}};
    const std::size_t start = 1 + sizeof count, bytes = static_cast<std::size_t>(count) * sizeof(double);
    told.report.outcome = static_cast<CallOutcome>(t[0] - '0');
    told.numbers.resize(static_cast<std::size_t>(count));
    std::memcpy(told.numbers.data(), t.data() + start, bytes);
    told.report.message = t.substr(start + bytes);
    return told;
  }
};

}  // namespace wireplan
