#include <algorithm>
#include <string>

#include "core/answer/placement.hpp"
#include "core/base/format.hpp"

namespace wireplan {

namespace {

std::string listed(const std::vector<int>& gpus) {
  std::string text;
  for (std::size_t i = 0; i < gpus.size() && i < 16; ++i) text += (i == 0 ? "" : gpus.size() == 2 ? "–" : ", ") + std::to_string(gpus[i]);
  return text + (gpus.size() > 16 ? ", …" : "");
}

// Groups of two and more; of an embedding kind most are single GPUs.
std::string listed(const std::vector<std::vector<int>>& groups) {
  std::string text;
  int shown = 0;
  for (const std::vector<int>& g : groups) {
    if (g.size() < 2 || ++shown > 8) continue;
    text += (text.empty() ? "" : g.size() == 2 ? ", " : "; ") + listed(g);
  }
  return text + (shown > 8 ? "; …" : "");
}

// "inside the bridged pairs": by the farthest way that any of the groups takes.
std::string where(const MappedGroup& group, const PreparedCluster& cluster) {
  PathKind farthest = PathKind::self;
  for (const std::vector<int>& gpus : group.gpus)
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (std::size_t j = 0; j < gpus.size(); ++j)
        if (!group.is_walk || j == i + 1) farthest = std::max(farthest, cluster.route(gpus[i], gpus[j]).kind);
  switch (farthest) {
    case PathKind::self: return "across nodes";
    case PathKind::nvlink: return group.link_class == "bridge" ? "inside the bridged pairs" : "over direct links";
    case PathKind::nvswitch: return "over the NVSwitch";
    case PathKind::pcie_switch: return "behind one PCIe switch each";
    case PathKind::host_bridge: return "inside one socket each";
    case PathKind::sockets: return "across sockets";
    case PathKind::host_memory: case PathKind::none: break;
  }
  return "through host memory";
}

// The kind of groups that gains most: by what shows of it, then by its time.
std::size_t most_gaining(const PlacementAnswer& a) {
  std::size_t most = 0;
  const auto gain = [&](std::size_t i) { return std::pair(a.current.groups[i].exposed - a.best.groups[i].exposed, a.current.groups[i].time - a.best.groups[i].time); };
  for (std::size_t i = 1; i < a.best.groups.size(); ++i)
    if (gain(i) > gain(most)) most = i;
  return most;
}

std::string caveat(const PlacementAnswer& a) {
  switch (a.certainty) {
    case Certainty::apart: return "That holds however far these wires are from the prediction, inside its band.";
    case Certainty::same_constants:
      return "The bands of the two overlap, but both are timed with the same constants for their links, and an error of those moves both alike: the ranking holds, the gain lies between " +
             format_seconds(a.gain_low) + " and " + format_seconds(a.gain_high) + '.';
    case Certainty::open: break;
  }
  return "The bands of the two overlap and different kinds of links are compared, so the ranking may turn round: measure both.";
}

}  // namespace

std::string placement_text(const Plan& plan, const PlacementAnswer& a, const PreparedCluster& cluster) {
  if (a.current.groups.empty()) return "Nothing travels between GPUs: any mapping is as good.";
  const std::string how_many = format_count(a.compared) + (a.compared == 1 ? " mapping" : " mappings");
  if (!a.is_better) {
    if (cluster.switched && plan.cluster.nodes == 1) return "Every GPU reaches every other through the NVSwitch: any mapping on a node is as good.";
    return a.exact ? "The ranks sit as well as they can: none of " + how_many + " that differ is faster." : "No better mapping was found among " + how_many + " that were tried.";
  }
  const std::size_t most = most_gaining(a);
  const MappedGroup &then = a.best.groups[most], &now = a.current.groups[most];
  std::string dimension(name_of(then.dimension));
  dimension.front() = static_cast<char>(dimension.front() - 'a' + 'A');
  std::string text = dimension + " groups " + where(then, cluster);
  if (const std::string gpus = listed(then.gpus); !gpus.empty()) text += ", GPUs " + gpus;
  if (a.best.order != a.current.order) text += ", with order " + a.best.order;
  text += ": ";
  const Seconds before = a.current.time.value, after = a.best.time.value;
  if (after < before) {
    text += "a step takes " + format_seconds(after) + " instead of " + format_seconds(before) + ", " + format_percent(before / after - 1) + " faster. ";
  } else {
    text += "the step takes as long, but messages take " + format_seconds(a.best.communication) + " instead of " + format_seconds(a.current.communication) + ". ";
  }
  text += "They have " + format_rate(then.bandwidth) + " over " + (then.bottleneck.empty() ? "their links" : then.bottleneck) + " instead of " + format_rate(now.bandwidth) + " over " +
          (now.bottleneck.empty() ? "theirs" : now.bottleneck) + ". ";
  if (after < before) text += caveat(a);
  else text.pop_back();
  if (!a.exact) text += " A local search over " + how_many + " found it; a better one is not ruled out.";
  return text;
}

std::string subset_text(const PlacementAnswer& a, int node_gpus) {
  const Subsets& s = a.subsets;
  if (a.subset_size < 2 || a.subset_size >= node_gpus) return "";
  const std::string of = std::to_string(a.subset_size) + " of " + std::to_string(node_gpus) + " GPUs";
  if (s.all_equal) return "Any " + of + " are as good: every pair meets in the NVSwitch alone.";
  const Subset& best = s.best.front();
  const std::string rate = format_rate(best.bus_bandwidth) + " in a ring, over " + best.bottleneck;
  if (best.gpus == s.first.gpus) return "The first " + of + " are the best: " + rate + '.';
  std::string text = "Of " + of + " the best are " + listed(best.gpus) + ": " + rate;
  if (best.bus_bandwidth > s.first.bus_bandwidth) text += "; the first " + std::to_string(a.subset_size) + " have " + format_rate(s.first.bus_bandwidth) + ", over " + s.first.bottleneck;
  else text += ", as the first " + std::to_string(a.subset_size) + " have, which lie farther from each other";
  return text + '.' + (s.exact ? "" : " Not every subset was tried.");
}

}  // namespace wireplan
