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

// What channel c is, on every node: order of ranks of its ring and of its chain.
struct Channel { std::vector<std::vector<int>> ring, tree; };

std::vector<int> in_order(const std::vector<int>& ranks, const std::vector<int>& order) {
  std::vector<int> ordered;
  for (const int g : order) ordered.push_back(ranks[at(g)]);
  return ordered;
}

// Rule 10: channels found are doubled always, and once more on Hopper and newer across nodes.
int joined_channels(const Decision& d) {
  const int channels = std::min(2 * std::min(d.ring.channels, d.tree.channels), kMostChannels);
  return d.least_compute_capability >= 90 && d.nccl_nodes() > 1 && d.ring.intra > 45 && channels < 16 ? 2 * channels : channels;
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
    const std::size_t place = d.kind_of(node).tree.pattern == Pattern::tree || second ? 0 : 1;
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
  return std::max({std::min(joined_channels(d), environment.max_channels), environment.min_channels, least});
}

void connect(Decision& d, const Environment& environment, int least) {
  const int found = std::min(d.ring.channels, d.tree.channels);
  const int nodes = d.nccl_nodes();
  std::vector<Channel> channels(at(found));
  for (int n = 0; n < nodes; ++n) {
    const Node& kind = d.kind_of(n);
    const std::vector<int> ranks = d.ranks_of(n);
    for (int c = 0; c < found; ++c) {
      // Rule 12: where rings cross NICs, odd nodes swap each pair of channels.
      const int swapped = d.ring.cross_nic == 2 && found % 2 == 0 && n % 2 == 1 ? c ^ 1 : c;
      channels[at(c)].ring.push_back(in_order(ranks, kind.ring.order[at(swapped)]));
      channels[at(c)].tree.push_back(in_order(ranks, kind.tree.order[at(c)]));
    }
  }
  struct Built { std::vector<int> ring; Links tree; };
  std::vector<Built> built;
  for (std::size_t half = 0; half < 2; ++half)  // the second half with the second tree
    for (const Channel& c : channels) built.push_back({ring_of(c, d.ranks), tree_of(d, c, half)});
  const auto copy_up_to = [&](int wanted) {
    const std::size_t start = built.size();
    while (static_cast<int>(built.size()) < wanted) built.push_back(built[built.size() - start]);
  };
  const int joined = joined_channels(d);
  if (static_cast<int>(built.size()) > joined) built.resize(at(joined));
  copy_up_to(joined);
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
