// What must hold of any decision of NCCL.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/cost/nccl/decision.hpp"

namespace wireplan::testing {

// What is wrong, "" where all holds.
inline std::string decision_fault(const nccl::Decision& d, const nccl::Release& of) {
  if (d.channels < 1 || d.channels > 64) return "channels";
  std::vector<int> all(static_cast<std::size_t>(d.ranks));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> channels;
  for (const nccl::Ring& ring : d.rings) {
    std::vector<int> sorted = ring.order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != all) return "a ring does not visit each rank once";
    if (ring.order.front() != 0) return "a ring does not begin with rank 0";
    channels.insert(channels.end(), ring.channels.begin(), ring.channels.end());
  }
  std::sort(channels.begin(), channels.end());
  all.resize(static_cast<std::size_t>(d.channels));
  std::iota(all.begin(), all.end(), 0);
  if (channels != all) return "a channel has no ring, or two";
  for (const nccl::Tree& tree : d.trees) {
    std::vector<int> children(tree.parent.size(), 0);
    int roots = 0;
    for (std::size_t r = 0; r < tree.parent.size(); ++r) {
      int at = static_cast<int>(r);
      for (int steps = 0; at >= 0; at = tree.parent[static_cast<std::size_t>(at)])
        if (++steps > d.ranks) return "a tree has a circle";
      if (tree.parent[r] < 0) ++roots;
      else if (++children[static_cast<std::size_t>(tree.parent[r])] > 3) return "a rank has more than three children";
    }
    if (roots != 1) return "a tree has not one root";
  }
  for (int op = 0; op < nccl::kOperations; ++op)
    for (double size = 1; size < 1e11; size *= 16) {
      const nccl::Choice choice = nccl::choice_at(d, of, static_cast<nccl::Operation>(op), size);
      if (choice.is_none) return "no choice, though nothing is forbidden";
      if (!std::isfinite(choice.time_us) || choice.time_us <= 0) return "a time is none";
      if (choice.channels < 1 || choice.channels > choice.most_channels || choice.most_channels > 64 || choice.threads < 32) return "channels or threads of a choice";
    }
  return "";
}

}  // namespace wireplan::testing
