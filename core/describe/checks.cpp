#include "core/describe/checks.hpp"

#include "core/base/format.hpp"

namespace wireplan {

std::string joined_path(std::string_view prefix, std::string_view key) {
  if (key.empty()) return std::string(prefix.ends_with(':') ? prefix.substr(0, prefix.size() - 1) : prefix);
  std::string path(prefix);
  if (!prefix.empty() && !prefix.ends_with(':')) path += '.';
  return path += key;
}

std::vector<Count> divisors_of(Count n, Count limit) {
  std::vector<Count> small, large;
  for (Count i = 1; i <= n / i; ++i) {
    if (n % i != 0) continue;
    if (i <= limit) small.push_back(i);
    if (i != n / i && n / i <= limit) large.push_back(n / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::string nearest_of(const std::vector<Count>& candidates, Count value) {
  std::string below, above;
  for (const Count c : candidates) {
    if (c <= value) below = format_exact(static_cast<double>(c));
    if (c > value && above.empty()) above = format_exact(static_cast<double>(c));
  }
  return below.empty() ? above : above.empty() ? below : below + " or " + above;
}

bool Checks::range(std::string_view key, double value, double low, double high) {
  if (value >= low && value <= high) return true;
  const std::string given = value == value ? format_exact(value) : "NaN";
  const std::string least = format_exact(low), most = format_exact(high);
  fail(key, given, least + " to " + most,
       std::string(key) + " " + given + " is out of range. Nearest: " + (value > high ? most : least));
  return false;
}

void Checks::fail(std::string_view key, std::string value, std::string limit, std::string text) {
  errors_.push_back({path(key), std::move(value), std::move(limit), std::move(text)});
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result += '"';
}

}  // namespace wireplan
