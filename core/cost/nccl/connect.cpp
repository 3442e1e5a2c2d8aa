#include "core/cost/nccl/connect.hpp"

#include <algorithm>

namespace wireplan::nccl {
namespace {

// Of the numbers from `from` to below `to` the one that the highest power of two divides: there is only one. -1: there are none.
int most_even(int from, int to) {
  const auto first_multiple = [&](int step) { return (from + step - 1) / step * step; };
  if (from >= to) return -1;
  int step = 1;
  while (first_multiple(2 * step) < to) step *= 2;
  return first_multiple(step);
}

// [two-tree]: an in-order tree, each part of it the numbers of an interval below the most even of them; so odd ones are leaves. 0 is
// above them all.
TreePlace in_order_place(int nodes, int node) {
  if (node == 0) return {-1, -1, most_even(1, nodes)};
  TreePlace place{0, -1, -1};
  for (int from = 1, to = nodes;;) {
    const int top = most_even(from, to);
    if (top == node) {
      place.down0 = most_even(from, node);
      place.down1 = most_even(node + 1, to);
      return place;
    }
    place.up = top;
    (node < top ? to : from) = node < top ? top : top + 1;
  }
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
  // To which of its ranks the children of a node connect, by how its own search went: a tree's first rank takes both, a
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
  // The second is the first with its nodes numbered so that odd change places with even: backwards, or one on where their count is odd.
  const bool is_odd = nodes % 2 == 1;
  const auto first_of = [&](int n) { return is_odd ? (n + nodes - 1) % nodes : nodes - 1 - n; };
  const auto second_of = [&](int n) { return n < 0 ? -1 : is_odd ? (n + 1) % nodes : nodes - 1 - n; };
  const TreePlace second = in_order_place(nodes, first_of(node));
  return {in_order_place(nodes, node), TreePlace{second_of(second.up), second_of(second.down0), second_of(second.down1)}};
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
