#include "core/text/wiring_tree.hpp"

#include <cstddef>

namespace wireplan {

WiringTree wiring_tree(const WiringGraph& graph) {
  const std::size_t count = graph.components.size();
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const auto kind = [&](int c) { return graph.components[at(c)].kind; };
  struct Neighbour { int component, link; };
  std::vector<std::vector<Neighbour>> neighbours(count);
  for (std::size_t i = 0; i < graph.links.size(); ++i) {
    const Link& l = graph.links[i];
    if (l.kind != LinkKind::pcie && l.kind != LinkKind::c2c) continue;
    neighbours[at(l.a)].push_back({l.b, static_cast<int>(i)});
    neighbours[at(l.b)].push_back({l.a, static_cast<int>(i)});
  }
  WiringTree tree{{}, std::vector<std::vector<int>>(count), std::vector<int>(count, -1), std::vector<int>(count, -1)};
  std::vector<bool> placed(count, false);
  const auto grow = [&](std::vector<int> queue) {
    for (int c : queue) placed[at(c)] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int c = queue[i];
      for (bool gpus : {true, false})
        for (const Neighbour& n : neighbours[at(c)]) {
          if (placed[at(n.component)] || (kind(n.component) == ComponentKind::gpu) != gpus) continue;
          placed[at(n.component)] = true;
          tree.above[at(n.component)] = c;
          tree.link_above[at(n.component)] = n.link;
          tree.below[at(c)].push_back(n.component);
          queue.push_back(n.component);
        }
    }
  };
  // All sockets at once, so that each chip comes below the nearest; what no socket holds by its own root or switch.
  for (ComponentKind top : {ComponentKind::cpu, ComponentKind::root, ComponentKind::pcie_switch}) {
    std::vector<int> found;
    for (std::size_t c = 0; c < count; ++c)
      if (graph.components[c].kind == top && !placed[c]) found.push_back(static_cast<int>(c));
    if (top == ComponentKind::cpu) {
      tree.tops.insert(tree.tops.end(), found.begin(), found.end());
      grow(found);
      continue;
    }
    for (int c : found) {
      if (placed[at(c)]) continue;
      tree.tops.push_back(c);
      grow({c});
    }
  }
  for (std::size_t c = 0; c < count; ++c)
    if (!placed[c] && (graph.components[c].kind == ComponentKind::gpu || graph.components[c].kind == ComponentKind::nic)) tree.tops.push_back(static_cast<int>(c));
  return tree;
}

}  // namespace wireplan
