#include "core/answer/placement_note.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"

namespace wireplan {

std::vector<int> nearest_to(const PreparedCluster& cluster, int start, std::vector<int> others, std::size_t size) {
  std::vector<int> group{start};
  std::vector<double> far(others.size());  // from all of the group so far
  while (group.size() < size && !others.empty()) {
    for (std::size_t i = 0; i < others.size(); ++i) {
      const PreparedCluster::Route& way = cluster.route(group.back(), others[i]);
      far[i] += static_cast<double>(way.kind) * 16 + way.count - way.rate.value / 1e13;
    }
    const auto nearest = std::min_element(far.begin(), far.end()) - far.begin();
    group.push_back(others[static_cast<std::size_t>(nearest)]);
    others.erase(others.begin() + nearest);
    far.erase(far.begin() + nearest);
  }
  return group;
}

std::vector<std::vector<int>> nearest_groups(const PreparedCluster& cluster, std::vector<int> gpus, std::size_t size) {
  std::vector<std::vector<int>> groups;
  sort(gpus);
  while (!gpus.empty()) {
    const int start = gpus.front();
    gpus.erase(gpus.begin());
    groups.push_back(nearest_to(cluster, start, gpus, size));
    for (int g : groups.back()) gpus.erase(std::remove(gpus.begin(), gpus.end(), g), gpus.end());
  }
  return groups;
}

std::optional<Note> placement_note(const Plan& p, const PreparedCluster& cluster, const StepCost& cost) {
  constexpr double kClearly = 1.5;
  const auto tensor = std::find_if(cost.messages.begin(), cost.messages.end(), [](const MessageCost& c) { return c.message.group == GroupKind::tensor; });
  if (tensor == cost.messages.end() || cluster.switched || p.cluster.gpus_per_node > 16 || tensor->nodes > 1 || tensor->groups < 2 || tensor->ring.bus_bandwidth.value <= 0) return {};
  const std::size_t size = static_cast<std::size_t>(p.parallel.tensor);
  GroupShape shape;
  shape.ranks = shape.per_node = static_cast<int>(size);
  shape.local = nearest_groups(cluster, used_gpus(p.cluster, p.cluster.gpus_per_node), size);
  if (shape.local.back().size() != size) return {};
  const RingOnWiring better = ring_on_wiring(cluster, shape);
  if (better.bus_bandwidth < kClearly * tensor->ring.bus_bandwidth) return {};
  std::string listed;
  for (std::size_t i = 0; i < size && i < 8; ++i) listed += (i ? ", " : "") + std::to_string(shape.local.front()[i]);
  return Note{Severity::warning, "parallel.placement",
              "tensor groups talk over " + tensor->ring.bottleneck + " at " + format_rate(tensor->ring.bus_bandwidth) + "; on GPUs nearest to each other (" + listed +
                  (size > 8 ? ", …" : "") + " and so on) they would have " + format_rate(better.bus_bandwidth) + ": ask for the best placement"};
}

}  // namespace wireplan
