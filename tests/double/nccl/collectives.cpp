#include "tests/double/nccl/collectives.hpp"

#include <algorithm>
#include <cstring>

#include "native/measure/elements.hpp"
#include "tests/double/nccl/machine.hpp"

namespace wireplan_double {

double ring_time(wireplan::Collective op, double bytes, const std::vector<int>& ranks) {
  const auto n = static_cast<double>(ranks.size());
  if (ranks.size() < 2) return 0;
  double slowest = machine().link(ranks.back(), ranks.front());
  for (std::size_t i = 0; i + 1 < ranks.size(); ++i) slowest = std::min(slowest, machine().link(ranks[i], ranks[i + 1]));
  double steps = n - 1, share = 1;
  if (op == wireplan::Collective::all_reduce) steps = 2 * (n - 1), share = 2 * (n - 1) / n;
  if (op == wireplan::Collective::all_gather || op == wireplan::Collective::reduce_scatter) share = (n - 1) / n;
  return machine().latency * steps + share * bytes / slowest;
}

double exchange_time(const std::vector<std::vector<Transfer>>& sends, const std::vector<int>& ranks) {
  double peers = 0, longest = 0;
  std::vector<double> in(ranks.size(), 0);
  for (std::size_t m = 0; m < sends.size(); ++m) {
    double out = 0, count = 0;
    for (const Transfer& t : sends[m]) {
      const auto peer = static_cast<std::size_t>(t.peer);
      if (peer == m) continue;
      const double seconds = static_cast<double>(t.bytes) / machine().link(ranks[m], ranks[peer]);
      out += seconds;
      in[peer] += seconds;
      ++count;
    }
    peers = std::max(peers, count);
    longest = std::max(longest, out);
  }
  for (const double i : in) longest = std::max(longest, i);
  return machine().latency * peers + longest;
}

void reduce_elements(wireplan::ElementType type, wireplan::Reduction redop, const std::vector<const unsigned char*>& from, std::uint64_t first, std::uint64_t count, unsigned char* result) {
  using wireplan::Reduction;
  for (std::uint64_t i = 0; i < count; ++i) {
    double value = wireplan::read_element(type, from[0], first + i);
    for (std::size_t m = 1; m < from.size(); ++m) {
      const double other = wireplan::read_element(type, from[m], first + i);
      switch (redop) {
        case Reduction::prod: value *= other; break;
        case Reduction::min: value = std::min(value, other); break;
        case Reduction::max: value = std::max(value, other); break;
        default: value += other; break;
      }
    }
    if (redop == Reduction::avg) value /= static_cast<double>(from.size());
    wireplan::write_element(type, result, i, value);
  }
}

}  // namespace wireplan_double
