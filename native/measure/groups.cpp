#include "native/measure/groups.hpp"

#include <algorithm>
#include <charconv>

#include "core/text/json.hpp"

namespace wireplan {
namespace {

bool read_whole(std::string_view text, int& value) {
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && rest == text.data() + text.size();
}

std::string divisors_of(int ranks) {
  std::string text;
  for (int n = 2; n <= ranks; ++n)
    if (ranks % n == 0) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

}  // namespace

Result<Groups> listed_group(const std::string& text, int ranks) {
  const auto wrong = [&](const std::string& why) {
    return Error{"--group", value_text(Json(text)), "at least two of the ranks 0 to " + std::to_string(ranks - 1) + ", each once", "--group " + value_text(Json(text)) + ": " + why + ". Nearest: 0,1"};
  };
  std::vector<int> group;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    int rank = -1;
    if (!read_whole(std::string_view(text).substr(start, end - start), rank)) return wrong(value_text(Json(text.substr(start, end - start))) + " is no rank");
    if (rank < 0 || rank >= ranks) return wrong("there is no rank " + std::to_string(rank) + " among " + std::to_string(ranks));
    if (std::find(group.begin(), group.end(), rank) != group.end()) return wrong("rank " + std::to_string(rank) + " stands there twice");
    group.push_back(rank);
    start = end + 1;
  }
  if (group.size() < 2 && text != "0") return wrong("one rank has nobody to talk to");
  return Groups{group};
}

Result<Groups> named_groups(const std::string& text, int ranks) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const bool neighbours = name == "tp" || name == "cp" || name == "ep", apart = name == "dp" || name == "pp";
  int n = 0;
  const bool is_number = sign != std::string::npos && read_whole(std::string_view(text).substr(sign + 1), n);
  if ((!neighbours && !apart) || !is_number || n < 2 || n > ranks || ranks % n != 0)
    return Error{"--groups", value_text(Json(text)), "tp, cp, ep, dp or pp, =, and a divisor of " + std::to_string(ranks) + " from 2 on: " + divisors_of(ranks),
                 "--groups " + value_text(Json(text)) + " does not cut " + std::to_string(ranks) + " ranks into equal groups. Nearest: tp=" + (ranks % 2 == 0 ? "2" : std::to_string(ranks))};
  Groups groups;
  const int count = ranks / n;
  for (int g = 0; g < count; ++g) {
    std::vector<int> group;
    for (int i = 0; i < n; ++i) group.push_back(neighbours ? g * n + i : g + i * count);
    groups.push_back(std::move(group));
  }
  return groups;
}

Groups pairs_of(int ranks) {
  Groups pairs;
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b) pairs.push_back({a, b});
  return pairs;
}

}  // namespace wireplan
