#include "core/cost/nccl/connect.hpp"

#include <algorithm>

namespace wireplan::nccl {
namespace {

constexpr int kMostChannels = 64;

// A binary tree in which odd ranks are leaves: the lowest set bit of a rank is its height.
TreePlace binary_tree(int nodes, int node) {
  TreePlace place;
  int bit = 1;
  while (bit < nodes && (bit & node) == 0) bit <<= 1;
  if (node == 0) {
    if (nodes > 1) place.down1 = bit >> 1;
    return place;
  }
  place.up = (node ^ bit) | (bit << 1);
  if (place.up >= nodes) place.up = node ^ bit;
  place.is_second_child = node > place.up;
  int step = bit >> 1;
  if (step == 0) return place;
  place.down0 = node - step;
  place.down1 = node + step;
  while (place.down1 >= nodes) {
    place.down1 = step == 0 ? -1 : node + step;
    step >>= 1;
  }
  return place;
}

// What channel c is, on every node: order of ranks of its ring and of its chain.
struct Channel { std::vector<std::vector<int>> ring, tree; };

std::vector<int> ranks_of(const Decision& d, int node, const std::vector<int>& order) {
  const Node& kind = d.nodes[static_cast<std::size_t>(d.node_kind[static_cast<std::size_t>(node)])];
  // Nodes of a kind differ by their place in the list of ranks alone.
  std::vector<int> of_node;
  for (int r = 0; r < d.ranks; ++r)
    if (d.node_of_rank[static_cast<std::size_t>(r)] == node) of_node.push_back(r);
  std::vector<int> sorted = kind.ranks;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> ranks;
  for (const int g : order) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), kind.ranks[static_cast<std::size_t>(g)]);
    ranks.push_back(of_node[static_cast<std::size_t>(at - sorted.begin())]);
  }
  return ranks;
}

std::vector<int> ring_of(const Channel& channel, int ranks) {
  std::vector<int> next(static_cast<std::size_t>(ranks), -1);
  const std::size_t nodes = channel.ring.size();
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::vector<int>& own = channel.ring[n];
    for (std::size_t i = 0; i + 1 < own.size(); ++i) next[static_cast<std::size_t>(own[i])] = own[i + 1];
    next[static_cast<std::size_t>(own.back())] = channel.ring[(n + 1) % nodes].front();
  }
  std::vector<int> ring{0};
  while (static_cast<int>(ring.size()) < ranks && next[static_cast<std::size_t>(ring.back())] != 0) ring.push_back(next[static_cast<std::size_t>(ring.back())]);
  return ring;
}

std::vector<int> tree_of(const Decision& d, const Channel& channel, std::size_t which) {
  std::vector<int> parent(static_cast<std::size_t>(d.ranks), -1);
  const int nodes = d.nccl_nodes();
  // To which of its ranks the children of a node connect, by how its own search went (rule 11): a tree's first rank takes both, a
  // balanced tree's second one the first child.
  const auto child_end = [&](int node, bool second) {
    const std::vector<int>& own = channel.tree[static_cast<std::size_t>(node)];
    const Node& kind = d.nodes[static_cast<std::size_t>(d.node_kind[static_cast<std::size_t>(node)])];
    const std::size_t at = kind.tree.pattern == Pattern::tree || second ? 0 : 1;
    return own[std::min(at, own.size() - 1)];
  };
  for (int n = 0; n < nodes; ++n) {
    const std::vector<int>& own = channel.tree[static_cast<std::size_t>(n)];
    for (std::size_t i = 1; i < own.size(); ++i) parent[static_cast<std::size_t>(own[i])] = own[i - 1];
    const TreePlace place = double_tree(nodes, n)[which];
    if (place.up >= 0) parent[static_cast<std::size_t>(own.front())] = child_end(place.up, place.is_second_child);
  }
  return parent;
}

template <class Group>
void add_to(std::vector<Group>& groups, std::vector<int> Group::*member, int channel, std::vector<int> value) {
  for (Group& g : groups)
    if (g.*member == value) {
      g.channels.push_back(channel);
      return;
    }
  Group g;
  g.channels = {channel};
  g.*member = std::move(value);
  groups.push_back(std::move(g));
}

}  // namespace

std::array<TreePlace, 2> double_tree(int nodes, int node) {
  const bool shifts = nodes % 2 == 1;
  TreePlace second = binary_tree(nodes, shifts ? (node - 1 + nodes) % nodes : nodes - 1 - node);
  for (int* n : {&second.up, &second.down0, &second.down1})
    if (*n >= 0) *n = shifts ? (*n + 1) % nodes : nodes - 1 - *n;
  return {binary_tree(nodes, node), second};
}

void connect(Decision& d, const Environment& environment) {
  const int found = std::min(d.ring.channels, d.tree.channels);
  const int nodes = d.nccl_nodes();
  std::vector<Channel> channels(static_cast<std::size_t>(found));
  for (int c = 0; c < found; ++c)
    for (int n = 0; n < nodes; ++n) {
      const Node& kind = d.nodes[static_cast<std::size_t>(d.node_kind[static_cast<std::size_t>(n)])];
      // Rule 12: where rings cross NICs, odd nodes swap each pair of channels.
      const int swapped = d.ring.cross_nic == 2 && found % 2 == 0 && n % 2 == 1 ? c ^ 1 : c;
      channels[static_cast<std::size_t>(c)].ring.push_back(ranks_of(d, n, kind.ring.order[static_cast<std::size_t>(swapped)]));
      channels[static_cast<std::size_t>(c)].tree.push_back(ranks_of(d, n, kind.tree.order[static_cast<std::size_t>(c)]));
    }
  struct Built { std::vector<int> ring, tree; };
  std::vector<Built> built;
  for (std::size_t half = 0; half < 2; ++half)  // rule 10: always doubled once more, the second half with the second tree
    for (const Channel& c : channels) built.push_back({ring_of(c, d.ranks), tree_of(d, c, half)});
  const auto copy_up_to = [&](int wanted) {
    const std::size_t start = built.size();
    while (static_cast<int>(built.size()) < wanted) built.push_back(built[built.size() - start]);
  };
  if (static_cast<int>(built.size()) > kMostChannels) built.resize(kMostChannels);
  if (d.least_compute_capability >= 90 && nodes > 1 && d.ring.intra > 45 && built.size() < 16) copy_up_to(static_cast<int>(built.size()) * 2);
  if (static_cast<int>(built.size()) > environment.max_channels) built.resize(static_cast<std::size_t>(environment.max_channels));
  copy_up_to(environment.min_channels);
  d.channels = static_cast<int>(built.size());
  for (int c = 0; c < d.channels; ++c) {
    add_to(d.rings, &Ring::order, c, built[static_cast<std::size_t>(c)].ring);
    add_to(d.trees, &Tree::parent, c, built[static_cast<std::size_t>(c)].tree);
  }
}

}  // namespace wireplan::nccl
