#include "core/cost/nccl/connect.hpp"

#include <algorithm>

namespace wireplan::nccl {
namespace {

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

std::size_t at(int i) { return static_cast<std::size_t>(i); }

const Node& kind_of(const Decision& d, int node) { return d.nodes[at(d.node_kind[at(node)])]; }

// What channel c is, on every node: order of ranks of its ring and of its chain.
struct Channel { std::vector<std::vector<int>> ring, tree; };

std::vector<int> ranks_of(const Decision& d, int node, const std::vector<int>& order) {
  const Node& kind = kind_of(d, node);
  // Nodes of a kind differ by their place in the list of ranks alone.
  std::vector<int> of_node;
  for (int r = 0; r < d.ranks; ++r)
    if (d.node_of_rank[at(r)] == node) of_node.push_back(r);
  std::vector<int> sorted = kind.ranks;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> ranks;
  for (const int g : order) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), kind.ranks[at(g)]);
    ranks.push_back(of_node[static_cast<std::size_t>(place - sorted.begin())]);
  }
  return ranks;
}

std::vector<int> ring_of(const Channel& channel, int ranks) {
  std::vector<int> next(at(ranks), -1);
  const std::size_t nodes = channel.ring.size();
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::vector<int>& own = channel.ring[n];
    for (std::size_t i = 0; i + 1 < own.size(); ++i) next[at(own[i])] = own[i + 1];
    next[static_cast<std::size_t>(own.back())] = channel.ring[(n + 1) % nodes].front();
  }
  std::vector<int> ring{0};
  while (static_cast<int>(ring.size()) < ranks && next[static_cast<std::size_t>(ring.back())] != 0) ring.push_back(next[static_cast<std::size_t>(ring.back())]);
  return ring;
}

struct Links { std::vector<int> parent; std::vector<std::array<int, 3>> children; };

Links tree_of(const Decision& d, const Channel& channel, std::size_t which) {
  Links tree{std::vector<int>(at(d.ranks), -1), std::vector<std::array<int, 3>>(at(d.ranks), {-1, -1, -1})};
  const int nodes = d.nccl_nodes();
  // To which of its ranks the children of a node connect, by how its own search went (rule 11): a tree's first rank takes both, a
  // balanced tree's second one the first child.
  const auto child_end = [&](int node, bool second) {
    const std::vector<int>& own = channel.tree[at(node)];
    const std::size_t place = kind_of(d, node).tree.pattern == Pattern::tree || second ? 0 : 1;
    return own[std::min(place, own.size() - 1)];
  };
  const auto hang = [&](int child, int parent) {
    tree.parent[at(child)] = parent;
    *std::find(tree.children[at(parent)].begin(), tree.children[at(parent)].end() - 1, -1) = child;
  };
  for (int n = 0; n < nodes; ++n) {
    const std::vector<int>& own = channel.tree[at(n)];
    for (std::size_t i = 1; i < own.size(); ++i) hang(own[i], own[i - 1]);
  }
  for (int n = 0; n < nodes; ++n) {
    const TreePlace place = double_tree(nodes, n)[which];
    if (place.down0 >= 0) hang(channel.tree[at(place.down0)].front(), child_end(n, false));
    if (place.down1 >= 0) hang(channel.tree[at(place.down1)].front(), child_end(n, true));
  }
  return tree;
}

// Equal channels stand together.
template <class Group, class Same>
void add_to(std::vector<Group>& groups, int channel, Group group, Same same) {
  for (Group& g : groups)
    if (same(g, group)) {
      g.channels.push_back(channel);
      return;
    }
  group.channels = {channel};
  groups.push_back(std::move(group));
}

}  // namespace

std::array<TreePlace, 2> double_tree(int nodes, int node) {
  const bool shifts = nodes % 2 == 1;
  TreePlace second = binary_tree(nodes, shifts ? (node - 1 + nodes) % nodes : nodes - 1 - node);
  for (int* n : {&second.up, &second.down0, &second.down1})
    if (*n >= 0) *n = shifts ? (*n + 1) % nodes : nodes - 1 - *n;
  return {binary_tree(nodes, node), second};
}

int connected_channels(const Decision& d, const Environment& environment, int least) {
  int channels = std::min(2 * std::min(d.ring.channels, d.tree.channels), kMostChannels);  // rule 10: always doubled once more
  if (d.least_compute_capability >= 90 && d.nccl_nodes() > 1 && d.ring.intra > 45 && channels < 16) channels *= 2;
  return std::max({std::min(channels, environment.max_channels), environment.min_channels, least});
}

void connect(Decision& d, const Environment& environment, int least) {
  const int found = std::min(d.ring.channels, d.tree.channels);
  const int nodes = d.nccl_nodes();
  std::vector<Channel> channels(at(found));
  for (int c = 0; c < found; ++c)
    for (int n = 0; n < nodes; ++n) {
      const Node& kind = kind_of(d, n);
      // Rule 12: where rings cross NICs, odd nodes swap each pair of channels.
      const int swapped = d.ring.cross_nic == 2 && found % 2 == 0 && n % 2 == 1 ? c ^ 1 : c;
      channels[at(c)].ring.push_back(ranks_of(d, n, kind.ring.order[at(swapped)]));
      channels[at(c)].tree.push_back(ranks_of(d, n, kind.tree.order[at(c)]));
    }
  struct Built { std::vector<int> ring; Links tree; };
  std::vector<Built> built;
  for (std::size_t half = 0; half < 2; ++half)  // the second half with the second tree
    for (const Channel& c : channels) built.push_back({ring_of(c, d.ranks), tree_of(d, c, half)});
  const auto copy_up_to = [&](int wanted) {
    const std::size_t start = built.size();
    while (static_cast<int>(built.size()) < wanted) built.push_back(built[built.size() - start]);
  };
  if (static_cast<int>(built.size()) > kMostChannels) built.resize(kMostChannels);
  if (d.least_compute_capability >= 90 && nodes > 1 && d.ring.intra > 45 && built.size() < 16) copy_up_to(static_cast<int>(built.size()) * 2);
  if (static_cast<int>(built.size()) > environment.max_channels) built.resize(at(environment.max_channels));
  copy_up_to(environment.min_channels);
  copy_up_to(least);
  d.channels = static_cast<int>(built.size());
  for (int c = 0; c < d.channels; ++c) {
    const Built& b = built[at(c)];
    add_to(d.rings, c, Ring{{}, b.ring}, [](const Ring& x, const Ring& y) { return x.order == y.order; });
    add_to(d.trees, c, Tree{{}, b.tree.parent, b.tree.children}, [](const Tree& x, const Tree& y) { return x.parent == y.parent; });
  }
}

}  // namespace wireplan::nccl
