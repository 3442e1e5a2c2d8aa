// Small judges that every validate() of this folder is made of: each adds an Error when a value is not as it must be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/model.hpp"

namespace wireplan {

// "a.b"; a prefix that is empty or ends in ':' ("models/llama-3-8b:") takes no point.
std::string joined_path(std::string_view prefix, std::string_view key);

// A product of counts as a double: never wraps, exact up to 2^53.
template <class... Counts>
constexpr double product_of(Counts... counts) {
  return (1.0 * ... * static_cast<double>(counts));
}

// Divisors of n from 1 to `limit`, rising. n >= 1.
std::vector<Count> divisors_of(Count n, Count limit);

// The values of `candidates` (rising, not empty) next to `value`: "2 or 4", or the one nearest where there is but one side.
std::string nearest_of(const std::vector<Count>& candidates, Count value);

// Adds to one list of errors under one prefix.
class Checks {
 public:
  Checks(Errors& errors, std::string prefix) : errors_(errors), prefix_(std::move(prefix)) {}

  // low <= value <= high, and not NaN. True when it holds.
  bool range(std::string_view key, double value, double low, double high);
  // Any other error: `value` as JSON text.
  void fail(std::string_view key, std::string value, std::string limit, std::string text);
  void require(bool holds, std::string_view key, std::string value, std::string limit, std::string text) {
    if (!holds) fail(key, std::move(value), std::move(limit), std::move(text));
  }
  std::string path(std::string_view key) const { return joined_path(prefix_, key); }

 private:
  Errors& errors_;
  std::string prefix_;
};

std::string quoted(std::string_view text);  // as JSON text, for Error::value; no escapes beyond quotes and backslashes

}  // namespace wireplan
